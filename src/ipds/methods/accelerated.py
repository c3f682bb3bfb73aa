"""Accelerated IPDS: a block eliminated, the others moved jointly by spectral prox-gradient steps.

With Φ, s and z⁺ as in `reduction.py`, every iteration is one step of the reduced problem min Φ(x) + Σ h_i(x_i),

    x_i ← prox_{h_i}(x_i - α_i∇_iΦ(x), α_i),

with Barzilai-Borwein lengths and a nonmonotone line search; on a manifold along the tangent part of the gradient. Every
few steps the multiplier moves, z ← z⁺, and the penalty β grows if the constraint lags behind.

Where a smooth f competes with h_n over a nonconvex set, and that has not settled it in `patience` iterations, the run
*anneals*: from its best point it starts again with a strongly smoothed h_n (μ large, z = 0), lets the smoothing shrink
slowly, which finds better basins, and sharpens the result by dual steps as before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from .._array import Array, add_scaled, dot, norm, precision
from ..errors import AssumptionError
from ..problem import Block, Problem
from .base import Method, State, lipschitz_at, size_of_block
from .composite import assemble, length
from .reduction import (
    Arrays,
    Point,
    Reduction,
    curvatures,
    eliminable,
    eliminate,
    evaluate,
    resmooth,
    restored_value,
    verified,
    without,
)
from .spectral import Reference, barzilai_borwein


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
    "balanced": Effort(1.05, 450, CYCLES),
    "thorough": Effort(1.05, 100, CYCLES * 2, exhaustive=True),
}
HASTE = 100
"""Dual steps in which β may grow although stationarity lags behind the constraint."""
ROUNDS, SHARPEN = 12, 1.1
"""Dual steps after an annealing, and the growth of β in each."""
CEILING = 1e9
"""β does not grow beyond this multiple of the first: where that is not enough, the constraint cannot be met."""
SHARP_START, SHARP_GROWTH = 10.0, 2.0
"""First penalty (in units of C_h/‖x_n‖) and growth where no smooth f competes with h_n: its kinks decide at once."""
INNER = 10
"""Steps at most between two dual steps."""
SMOOTHER = 0.4
TRANSITION = 0.7, 20
"""First penalty in units of the natural one where h_n outweighs f; factor and steps of the way between the two."""
LAG = 0.8
"""β grows where a dual step leaves more than this fraction of the residual (unless that is rounding)."""
ROUNDING = 50
"""Relative differences up to this many units of the dtype's precision count as none."""

VERIFY = 16
"""Iterations between trials whether what looks like a quadratic is one."""


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
    may_anneal: bool
    first: float
    """The first penalty."""
    tau: tuple[float, ...]
    """Steps of the blocks relative to each other: α·τ_i, against different curvatures."""
    point: Point
    z: Any
    """Multiplier of the augmented Lagrangian (the number 0 while annealing)."""
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
    cycle: int = -1
    """Annealing we are in; -1 before the first."""
    cooling: Cycle | None = None
    """How the smoothing shrinks at present; None while dual steps sharpen the point."""
    rounds: int = 0
    """Dual steps since the last annealing."""
    incumbent: tuple[float, Arrays] = (math.inf, ())
    """The best point between annealings, by the objective with the constraint solved for x_n."""

    @property
    def settled(self) -> bool:
        """Whether no annealing is owed any more."""
        return not (self.effort.exhaustive and self.may_anneal and self.cycle < len(self.effort.cycles))

    @property
    def transient(self) -> bool:
        """Whether an annealing is under way."""
        return 0 <= self.cycle < len(self.effort.cycles)

    @property
    def s(self) -> float:
        """Total smoothing s = 1/(βc²) + μ."""
        return 1 / (self.beta * self.reduction.c**2) + self.mu


class AcceleratedIPDS(Method):
    """IPDS with one block eliminated in closed form.

    Needs a block with convex h and A = c·I (or a bijective A with AᵀA = c²·I); its f, if any, moves to the others.

    Parameters
    ----------
    effort : "fast", "balanced" (fast at first, patient where that has not settled it) or "thorough".
    beta0 : first penalty; default: scale-free, from C_h, ‖x_n⁰‖ and the curvature of f.
    """

    def __init__(self, effort: str = "balanced", beta0: float | None = None):
        if effort not in EFFORTS:
            raise ValueError(f"AcceleratedIPDS: effort must be one of {list(EFFORTS)}, got {effort!r}")
        if beta0 is not None and not (math.isfinite(beta0) and beta0 > 0):
            raise ValueError(f"AcceleratedIPDS: beta0 must be positive and finite, got {beta0}")
        self.effort = effort
        self.beta0 = beta0
        self.name = f"AcceleratedIPDS(effort={effort!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """Eliminate a block; choose the first penalty and step."""
        j = eliminable(problem)
        if j is None:
            raise AssumptionError(
                "AcceleratedIPDS needs a block with convex h and A = c·I (or an isometry) to eliminate; "
                "state the problem so that one exists, or use IPDS"
            )
        R, effort = eliminate(problem, j, x0), EFFORTS[self.effort]
        x = tuple([into_domain(block, xi) for block, xi in zip(R.blocks, without(x0, j), strict=True)])
        gentle = any(block.f is not None for block in problem.blocks)
        unit = kink_width(problem, R, x0)
        own_bend = lipschitz_at(problem.blocks[j].f, x0[j])[0]
        bends = [own_bend, *(lipschitz_at(block.f, xi)[0] for block, xi in zip(R.blocks, x, strict=True))]
        natural = (max(1 / unit, *bends) if gentle else SHARP_START / unit) / R.c**2
        beta = natural = natural if natural > 0 else self.beta0 or 1 / R.c**2
        first = self.beta0
        if first is None and gentle and 1 / unit >= max(bends):  # h_n outweighs f: begin a little smoother
            first = SMOOTHER * natural
        cooling = None
        if first is not None and math.isfinite(unit):  # between `first` and the natural penalty by degrees
            beta, last = min(first, natural), max(first, natural)
            cooling = Cycle(math.nan, *TRANSITION, 1 / (last * unit * R.c**2))
        s = 1 / (beta * R.c**2)
        point = evaluate(R, x, R.b - z0 / beta, s)
        if point.push is not None and norm(z0) > 0:
            # a given z0 is that of the problem as stated, in which f_j has not moved
            z0 = z0 - point.push
            point = resmooth(R, point, R.b - z0 / beta, s)
        target = R.b - z0 / beta
        curved = [max(curvature, 1e-12 / s) for curvature in curvatures(R, point, s, own_bend)]
        largest = max(curved)
        slope, eps = length(point.g), precision(point.z)
        memory = Memory(
            R,
            effort,
            effort.growth if gentle and math.isfinite(unit) else SHARP_GROWTH,
            unit,
            slope,
            eps,
            gentle and math.isfinite(unit) and any(not block.h.is_convex for block in R.blocks),
            beta,
            tuple(largest / curvature for curvature in curved),
            point,
            z0,
            target,
            beta,
            0.0,
            1 / (largest * len(curved)),
            Reference(point.value),
            0.1 * slope,
            cooling=cooling,
        )
        return assemble(0, R, point, [(xi, 1.0) for xi in x], (point.u, s), beta, 0.0, memory, memory.settled)

    def step(self, problem: Problem, state: State) -> State:
        """One prox-gradient step on the reduced problem; every few steps a dual step."""
        m: Memory = state.memory
        if state.t % VERIFY == VERIFY - 1:
            m = _verified(m)
        R, p, alpha = m.reduction, m.point, m.alpha
        level = m.reference.value + ROUNDING * m.eps * abs(m.reference.value)
        for _ in range(20):
            steps = [alpha * ti for ti in m.tau]
            v = [add_scaled(xi, -step, gi) for xi, gi, step in zip(p.x, p.g, steps, strict=True)]
            x = tuple([block.h.prox(vi, step) for block, vi, step in zip(R.blocks, v, steps, strict=True)])
            q = evaluate(R, x, m.target, m.s)
            moves = [a - b for a, b in zip(x, p.x, strict=True)]
            squares = [float(dot(a, a)) for a in moves]
            moved = sum([square / ti for square, ti in zip(squares, m.tau, strict=True)])
            if q.value <= level - 1e-4 * moved / alpha:
                break
            alpha *= 0.25
        changes = [a - b for a, b in zip(q.g, p.g, strict=True)]
        crossed = [float(dot(a, b)) for a, b in zip(moves, changes, strict=True)]
        bends = [float(dot(a, a)) for a in changes]
        bent = sum([bend * ti for bend, ti in zip(bends, m.tau, strict=True)])
        following = barzilai_borwein(moved, sum(crossed), bent, long=state.t % 2 == 1) or alpha
        following = max(min(following, 1e4 * alpha), 1e-4 * alpha, 1e-200)
        m = m._replace(point=q, alpha=following, reference=m.reference.seen(q.value), inner=m.inner + 1)
        new = assemble(
            state.t + 1,
            R,
            q,
            list(zip(v, steps, strict=True)),
            (q.u, m.s),
            m.beta,
            m.mu,
            m,
            m.settled,
            m.transient,
        )
        # with s_i ∈ ∂h_i from the prox, ∇_iΦ + s_i = change of the gradient - move/step: its norm needs no new array
        rest = 0.0
        for block, gi, step, mm, mc, cc in zip(R.blocks, q.g, steps, squares, crossed, bends, strict=True):
            pushed = mm / step / step
            apart = max(cc - 2 * mc / step + pushed, 4 * m.eps * (cc + pushed))  # at least its own rounding
            rest += float(dot(gi, gi)) if block.h.is_manifold else apart
        rest = math.sqrt(rest)
        if rest <= m.tolerance or m.inner >= (m.cooling.inner if m.cooling else INNER):
            return replace(new, memory=_next_stage(m, state.t + 1, rest))
        return new

    def parameters_of(self, state: State) -> Effort:
        """The numbers behind the effort."""
        return state.memory.effort


def into_domain(block: Block, x: Array) -> Array:
    """x, or its projection where h is a set that it lies outside of: no search could compare values there."""
    return x if not block.h.is_set or block.h(x) == 0 else block.h.prox(x, 1.0)


def kink_width(problem: Problem, R: Reduction, x0: Arrays) -> float:
    """‖x_n‖/C_h; inf where h_n is constant or a set."""
    size, slope = size_of_block(problem, R.j, x0), R.h.lipschitz(problem.blocks[R.j].shape)
    return size / slope if 0 < slope < math.inf and size > 0 else math.inf


def _verified(m: Memory) -> Memory:
    """The same place, with every f that turns out not to be quadratic evaluated in full from here on."""
    R = verified(m.reduction, m.point)
    if R is m.reduction:
        return m
    point = evaluate(R, m.point.x, m.target, m.s)
    return m._replace(reduction=R, point=point, reference=Reference(point.value))


def _next_stage(m: Memory, t: int, rest: float) -> Memory:
    """A dual step, or a new smoothing; Φ is evaluated anew, without any product A_i x_i."""
    before = m.s
    if m.cooling and m.s * m.cooling.factor > m.cooling.cold * m.unit:
        return _resmooth(_smoothing(m, m.s * m.cooling.factor), before)
    if m.may_anneal and not m.cooling and m.cycle < len(m.effort.cycles):
        waiting = t < m.effort.patience if m.cycle < 0 else m.rounds < ROUNDS
        if not waiting:
            return _anneal(m)
    if m.cooling:  # cold enough: from here on the multiplier does the rest
        beta = 1 / (m.s * m.reduction.c**2)
        m = m._replace(cooling=None, rounds=0, mu=0.0, beta=beta, tolerance=0.1 * m.slope)
    return _resmooth(_dual_step(m, rest), before)


def _anneal(m: Memory) -> Memory:
    """Begin the next annealing from the best point so far; after the last, return to that point for good."""
    R, p, before, cycle = m.reduction, m.point, m.s, m.cycle + 1
    value = restored_value(R, p)
    incumbent = (value, p.x) if value < m.incumbent[0] else m.incumbent
    m = m._replace(incumbent=incumbent, cycle=cycle, z=0.0, inner=0)
    if cycle < len(m.effort.cycles):
        cooling = m.effort.cycles[cycle]
        m = _smoothing(m._replace(cooling=cooling, tolerance=0.002 * m.slope), cooling.hot * m.unit)
    else:
        m = m._replace(
            beta=10 / (m.effort.cycles[-1].cold * m.unit * R.c**2), mu=0.0, tolerance=0.1 * m.slope
        )
    m = m._replace(target=R.b)
    point = evaluate(R, incumbent[1], m.target, m.s)
    return m._replace(point=point, alpha=m.alpha * min(1.0, m.s / before), reference=Reference(point.value))


def _smoothing(m: Memory, s: float) -> Memory:
    """Total smoothing s, almost all of it in μ."""
    assert m.cooling is not None
    beta = max(m.beta, 10 / (m.cooling.cold * m.unit * m.reduction.c**2))
    return m._replace(beta=beta, mu=s - 1 / (beta * m.reduction.c**2))


def _resmooth(m: Memory, before: float) -> Memory:
    """The reduced function at the same x for the new (z, β, μ)."""
    R, p = m.reduction, m.point
    m = m._replace(target=R.b - m.z / m.beta)
    q = resmooth(R, p, m.target, m.s)
    # where the smoothing shrinks, the curvature grows by as much
    return m._replace(point=q, alpha=m.alpha * min(1.0, m.s / before), reference=Reference(q.value), inner=0)


def _dual_step(m: Memory, rest: float) -> Memory:
    """z ← -d/c, and β grows where the constraint lags behind stationarity."""
    R, p = m.reduction, m.point
    placed = R.own.apply(p.x_breve)
    feasibility = norm(p.total + placed - R.b)
    scale = max(norm(p.total), norm(placed))
    # at first the constraint may hurry ahead; in the long run it must not
    balance = 1.0 if m.cycle >= 0 or m.rounds > HASTE else 0.1
    lags = (
        feasibility > max(LAG * m.feasibility, ROUNDING * m.eps * scale)
        and feasibility * length(p.pulls) > balance * rest * scale
    )
    growth = m.growth if lags else 1.0
    if m.transient:
        growth = SHARPEN
    return m._replace(
        z=p.split,
        feasibility=feasibility,
        beta=min(m.beta * growth, max(m.beta, CEILING * m.first)),
        rounds=m.rounds + 1,
        tolerance=max(0.7 * m.tolerance, 5000 * m.eps * m.slope),
    )
