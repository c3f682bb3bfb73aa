"""The stages of accelerated IPDS: dual steps that sharpen a point, and annealings that look for a better one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._arrays import add_scaled, fetch, norm
from ..._arrays.compiling import pure
from .descent import ROUNDING
from .reduction import Arrays, Point, Reduction, constraint_and_pulls, evaluate, resmooth, restored_value
from .spectral import Reference


class Cycle(NamedTuple):
    """One annealing: smoothing from `hot` to `cold` (in units of ‖x_n‖/C_h), by a factor every `inner` steps."""

    hot: float
    factor: float
    inner: int
    cold: float = 0.2


class Effort(NamedTuple):
    """Speed against the quality of the basin; all numbers are free of scale."""

    growth: float
    """Factor of β at a dual step after which the constraint still lags."""
    patience: float
    """Iterations before annealing starts (where it applies)."""
    cycles: tuple[Cycle, ...]
    exhaustive: bool = False
    """Whether all cycles are run even where a point is certified before."""


DEEP, HIGH, WARM, MILD = (
    Cycle(2.0, 0.95, 30),
    Cycle(1.5, 0.93, 20),
    Cycle(1.0, 0.93, 20),
    Cycle(0.5, 0.92, 20),
)
CYCLES = (MILD, WARM, MILD, DEEP, MILD, HIGH, MILD)
EFFORTS = {
    "fast": Effort(1.05, math.inf, ()),
    "balanced": Effort(1.05, 200, CYCLES),
    "thorough": Effort(1.05, 100, CYCLES * 2, exhaustive=True),
}
TIGHT = 0.0005
"""What is left of the gradient, in units of the first one, when a smoothing has done its part of an annealing."""
LIGHTER = 0.7
"""Factor of the weights ω_i from stage to stage."""
HASTE = 100
"""Dual steps in which β may grow although stationarity lags behind the constraint."""
ROUNDS, SHARPEN = 12, 1.1
"""Dual steps after an annealing, and the growth of β in each."""
CEILING = 1e9
"""β does not grow beyond this multiple of the first: where that is not enough, the constraint cannot be met."""
INNER = 10
"""Steps at most between two dual steps."""
LAG = 0.8
"""β grows where a dual step leaves more than this fraction of the residual (unless that is rounding)."""


class Memory(NamedTuple):
    """What the method carries from step to step."""

    reduction: Reduction
    effort: Effort
    growth: float
    unit: float
    """‖x_n‖/C_h: the smoothing at which the kinks of h_n are as wide as its arguments; inf where h_n is a set."""
    slope: float
    """‖∇Φ‖ at the start: the scale of tolerances."""
    eps: float
    """Precision of the dtype."""
    far: float
    """Relative residual above which β grows at every dual step."""
    may_anneal: bool
    first: float
    """The first penalty."""
    tau: tuple[float, ...]
    """Steps of the blocks relative to each other: α·τ_i, against different curvatures."""
    weights: tuple[float, ...]
    """ω_i ≥ 1, by which the h_i count: where f is far from convex, a heavier h leads to better minima."""
    point: Point
    """Where the next step starts; without a gradient where a stage has changed Φ, to be evaluated then."""
    warm: tuple[Any, ...]
    """What the next prox of each block may start from."""
    target: Any
    """b - z/β."""
    beta: float
    mu: float
    alpha: float
    reference: Reference
    tolerance: float
    feasibility: float = math.inf
    inner: int = 0
    """Steps since the last stage began."""
    due: float | None = None
    """Where the next step begins with a stage: what is left of the gradient."""
    signs: tuple[float, ...] = ()
    """`constraint_and_pulls` there, where it is known."""
    cycle: int = -1
    """Annealing we are in; -1 before the first."""
    cooling: Cycle | None = None
    """How the smoothing shrinks at present; None while dual steps sharpen the point."""
    rounds: int = 0
    """Dual steps since the last annealing."""
    z: Any = None
    """Multiplier of the augmented Lagrangian; None where it is zero, and where no stage will ask for it again."""
    incumbent: tuple[float, Arrays] = (math.inf, ())
    """The best point between annealings, by the objective with the constraint solved for x_n; before, the start."""

    @property
    def heavy(self) -> bool:
        """Whether some h_i still counts more than once."""
        return max(self.weights) > 1

    @property
    def settled(self) -> bool:
        """Whether no annealing is owed any more, and every h_i counts once."""
        owed = self.effort.exhaustive and self.may_anneal and self.cycle < len(self.effort.cycles)
        return not owed and not self.heavy

    @property
    def transient(self) -> bool:
        """Whether an annealing is under way."""
        return 0 <= self.cycle < len(self.effort.cycles)

    @property
    def phi(self) -> Reduction:
        """The reduced problem, h_n softened while an annealing cools."""
        return self.reduction.softened if self.cooling and self.transient else self.reduction

    @property
    def s(self) -> float:
        """Total smoothing s = 1/(βc²) + μ."""
        return 1 / (self.beta * self.reduction.c**2) + self.mu


def ready(m: Memory, t: int) -> Memory:
    """The memory with all that is due at iteration t."""
    if m.due is not None:
        m = next_stage(m, t)
    return m if m.point.g else begin(m)


def next_stage(m: Memory, t: int) -> Memory:
    """A dual step, or a new smoothing; Φ is left for `begin` to evaluate."""
    assert m.due is not None
    before, rest, m = m.s, m.due, m._replace(due=None)
    if m.heavy:
        vanished = [weight > 1 and norm(xi) == 0 for weight, xi in zip(m.weights, m.point.x, strict=True)]
        weights = tuple([1.0 if any(vanished) else max(1.0, LIGHTER * weight) for weight in m.weights])
        m = m._replace(weights=weights)
        if any(vanished):  # too heavy: once more, from the start
            return _at(m, Point(m.incumbent[1], (), (), ()), before)
    if m.cooling and m.s * m.cooling.factor > m.cooling.cold * m.unit:
        return _at(_smoothing(m, m.s * m.cooling.factor), m.point.place(), before)
    if m.may_anneal and not m.cooling and m.cycle < len(m.effort.cycles):
        waiting = t < m.effort.patience if m.cycle < 0 else m.rounds < ROUNDS
        if not waiting:
            return _anneal(m)
    if m.cooling:  # cold enough: from here on the multiplier does the rest
        beta = 1 / (m.s * m.reduction.c**2)
        m = m._replace(cooling=None, rounds=0, mu=0.0, beta=beta, tolerance=0.1 * m.slope)
    return _at(_dual_step(m, rest), m.point.place(), before)


def _anneal(m: Memory) -> Memory:
    """Begin the next annealing from the best point so far; after the last, return to that point for good."""
    R, p, before, cycle = m.reduction, m.point, m.s, m.cycle + 1
    value = float(restored_value(R, p))
    incumbent = (value, p.x) if value < m.incumbent[0] else m.incumbent
    m = m._replace(incumbent=incumbent, cycle=cycle, z=None)
    if cycle < len(m.effort.cycles):
        cooling = m.effort.cycles[cycle]
        m = _smoothing(m._replace(cooling=cooling, tolerance=TIGHT * m.slope), cooling.hot * m.unit)
    else:
        m = m._replace(
            beta=10 / (m.effort.cycles[-1].cold * m.unit * R.c**2), mu=0.0, tolerance=0.1 * m.slope
        )
    return _at(m, Point(incumbent[1], (), (), ()), before)


def _at(m: Memory, place: Point, before: float) -> Memory:
    """A new search from `place`; `before` is the smoothing so far."""
    target = m.reduction.b if m.z is None else add_scaled(m.reduction.b, -1 / m.beta, m.z)
    # only a smoothing that changes comes back to z; a dual step takes that of its point
    m = m._replace(point=place, target=target, z=m.z if m.cooling else None, inner=0)
    # where the smoothing shrinks, the curvature grows by as much
    return m._replace(alpha=m.alpha * min(1.0, m.s / before))


def begin(m: Memory) -> Memory:
    """The reduced function for the (z, β, μ) of a stage: where x is the same, without any product A_i x_i."""
    x = m.point.x
    point = pure(_beginning, m.phi, m.point, m.target, m.s, m.weights, like=x[0])
    (value,), point = fetch((point.value,), point)
    return m._replace(point=point._replace(x=x), reference=Reference(value))


def _beginning(R: Reduction, p: Point, target: Any, s: float, weights: tuple[Any, ...]) -> Point:
    """What a step starts from, less x itself."""
    q = resmooth(R, p, target, s, weights) if p.f else evaluate(R, p.x, target, s, weights)
    return q.bare()._replace(x=())


def _smoothing(m: Memory, s: float) -> Memory:
    """Total smoothing s, almost all of it in μ."""
    assert m.cooling is not None
    beta = max(m.beta, 10 / (m.cooling.cold * m.unit * m.reduction.c**2))
    return m._replace(beta=beta, mu=s - 1 / (beta * m.reduction.c**2))


def _dual_step(m: Memory, rest: float) -> Memory:
    """z ← -d/c, and β grows where the constraint lags behind stationarity."""
    R, p = m.reduction, m.point
    feasibility, rest_of, placed, *pulls = m.signs or fetch(pure(constraint_and_pulls, R, p, like=p.z))
    scale = max(rest_of, placed)
    # at first the constraint may hurry ahead; in the long run it must not
    balance = 1.0 if m.cycle >= 0 or m.rounds > HASTE else 0.1
    lags = (
        feasibility > max(LAG * m.feasibility, ROUNDING * m.eps * scale)
        and feasibility * math.hypot(*pulls) > balance * rest * scale
    )
    growth = m.growth if lags or feasibility > m.far * scale else 1.0
    if m.transient:
        growth = SHARPEN
    return m._replace(
        z=p.split,
        feasibility=feasibility,
        beta=min(m.beta * growth, max(m.beta, CEILING * m.first)),
        rounds=m.rounds + 1,
        tolerance=max(0.7 * m.tolerance, 5000 * m.eps * m.slope),
    )
