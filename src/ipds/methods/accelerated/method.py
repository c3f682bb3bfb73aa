"""Accelerated IPDS: a block eliminated, the others moved jointly by spectral prox-gradient steps.

The reduced problem min Φ(x) + Σ h_i(x_i) is that of `reduced.py`; `search.py` has the lengths of the steps, and
`annealing.py` says what Φ is smoothed by, and when that changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..._arrays import Array, fetch, is_double, magnitude, precision
from ..._arrays.compiling import pure
from ...deadline import late
from ...errors import AssumptionError
from ...functions.recognising import own_of_user
from ...problem import Block, Problem
from ...theory.state import State
from ...theory.structure import eliminable
from ..base import Method, bend_of, require_positive
from .annealing import (
    EFFORTS,
    HOT,
    LENIENT,
    LOOSE,
    STRETCHED,
    Begin,
    Cycle,
    DualStepNorms,
    Effort,
    Schedule,
    Stage,
    Turn,
    begin_cycle,
    dual_step_norms,
    feasible_value,
    first_weights,
    has_meetings,
    is_spread,
    kink_width,
    lighten,
    restore_zeros,
)
from .reduced import (
    Arrays,
    Known,
    Place,
    ReducedProblem,
    adjoints,
    counted,
    eliminate,
    exact,
    insert,
    known_at,
    locate,
    resmooth,
    snapshot,
    value_at,
    without,
)
from .search import ROUNDING, SHORTEST, Reference, Search, curvatures, reduced_step, span, steepness
from .single import in_single, rounded, widened

SHARP_START, SHARP_GROWTH, SHARP_FAR = 5.0, 2.0, 0.05
"""First penalty (in units of C_h/‖x_j‖), growth, and the residual above which it grows at every dual step, where no
smooth f competes with h_j: its kinks decide at once."""
SMOOTHER, TRANSITION = 0.4, (0.7, 20)
"""First penalty in units of the natural one where h_j outweighs f; factor and steps of the way between the two."""
LAG, HASTE = 0.8, 100
"""β grows where a dual step leaves more than LAG of the residual; in HASTE dual steps although stationarity lags."""
SHARPEN, CEILING = 1.1, 1e9
"""Growth of β in the dual steps of an annealing; β at most in units of the first: where that is not enough, the
constraint cannot be met."""
JUMPING = 50
"""Dual steps without a smaller residual after which β grows where a caller's own prox may jump: with steps that are too
long it leaves out points between which it jumps, and minima among them."""
TIGHTER, TIGHTEST = 0.7, 5000
"""Factor of the tolerance from dual step to dual step; its end, in units of precision·‖∇Φ‖ at the start."""


@dataclass(frozen=True)
class Setup:
    """What stays fixed during a run."""

    reduced: ReducedProblem
    schedule: Schedule
    tau: tuple[float, ...]
    """Steps of the blocks relative to each other: α·τ_i, against different curvatures."""
    eps: float
    """Precision of the dtype."""
    rounds: bool
    """Whether arrays are of NumPy in double precision, and single precision may stand for it."""
    growth: float
    """Factor of β at a dual step after which the constraint still lags."""
    far: float
    """Relative residual above which β grows at every dual step."""
    beta0: float
    """The first penalty."""
    lengths: tuple[float, float]
    """Between which every search starts that does not go on with another."""
    lenient: int = LENIENT
    """Dual steps in a row without a smaller residual after which it grows."""
    stretch: float = 1.0
    """Factor of the steps between dual steps after one that leaves stationarity behind."""

    def phi(self, stage: Stage) -> ReducedProblem:
        """The reduced problem, its h_j softened while an annealing or a hot start cools."""
        if not self.schedule.is_soft(stage):
            return self.reduced
        return self.annealed if self.schedule.is_transient(stage) else self.reduced.softened

    @cached_property
    def annealed(self) -> ReducedProblem:
        """What an annealing cools, in single precision where it can be."""
        R = self.reduced.annealed
        return (in_single(R, self.schedule) if self.rounds else None) or R


class Incumbent(NamedTuple):
    """The point to go back to: where an annealing starts, and where all began while weights may make it vanish."""

    value: float
    """The objective with the constraint solved for x_j; inf before the first annealing."""
    x: Arrays


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    known: Known
    """The blocks that remain, and the f_i there."""
    gradient: Arrays
    """∇_iΦ(x); its tangent part on manifolds."""
    target: Array
    """b - z/β."""
    warm: tuple[Any, ...]
    """What the next prox of each block may start from."""
    search: Search
    stage: Stage
    incumbent: Incumbent

    @property
    def x(self) -> Arrays:
        """The blocks that remain."""
        return self.known.x


class AcceleratedIPDS(Method):
    """IPDS with one block eliminated in closed form.

    Needs a block j with convex h and A = c·I (or a bijective A with AᵀA = c²·I); its f, if any, moves to the others.

        u = (b - Σ_{i≠j} A_i x_i - z/β)/c,  s = 1/(βc²) + μ,  x̆_j = prox_{h_j}(u, s),  d = (u - x̆_j)/s
        Φ(x) = Σ_{i≠j} f_i(x_i) + h_j(x̆_j) + s‖d‖²/2,  ∇_iΦ = ∇f_i(x_i) - A_iᵀd/c

        reduced step  x_i ← prox_{ω_i h_i}(x_i - ατ_i∇_iΦ, ατ_i), α of Barzilai-Borwein length, nonmonotone search
        dual step     z ← -d/c, once little is left of the gradient, or, a thousand times, after a few reduced steps
        growth        β ← growth·β at a dual step, where the equation lags behind stationarity, or for a thousand

    On manifolds the tangent part of ∇_iΦ is used. Where a smooth f competes over a nonconvex set the smoothing may be
    raised again and lowered slowly (annealing, by `h.soften`), and it is large at first where h_j outweighs f; where
    f_i has no global Lipschitz constant, h_i counts ω_i > 1 times at first; else μ = 0 and ω_i = 1. These end, and what
    remains has a theorem (docs/theory.md): every tolerance is met, or β reaches its ceiling.

    Parameters
    ----------
    effort : "fast", "balanced" (fast at first, patient where that has not settled it) or "thorough".
    beta0 : first penalty; default: scale-free, from C_h, ‖x_j⁰‖ and the curvature of f.
    stretch : factor by which the steps between dual steps grow, from 10 up to 400, where one leaves stationarity at
        more than twice the feasibility; pays for tangent steps on matrices of a fixed rank.

    References: Barzilai & Borwein, IMA J. Numer. Anal. 8 (1988) and Zhang & Hager, SIOPT 14 (2004) for the steps.
    """

    presolves = True

    def __init__(self, effort: str = "balanced", beta0: float | None = None, stretch: float = 1.0):
        if effort not in EFFORTS:
            raise ValueError(f"AcceleratedIPDS: effort must be one of {list(EFFORTS)}, got {effort!r}")
        require_positive("AcceleratedIPDS", beta0=beta0, stretch=stretch)
        self.effort = effort
        self.beta0, self.stretch = beta0, stretch
        self.name = f"AcceleratedIPDS(effort={effort!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """Eliminate a block; choose the first penalty, weights and step."""
        j = eliminable(problem)
        if j is None:
            raise AssumptionError(
                "AcceleratedIPDS needs a block with convex h and A = c·I (or an isometry) to eliminate; "
                "state the problem so that one exists, or use IPDS"
            )
        R, effort, given = eliminate(problem, j), EFFORTS[self.effort], magnitude(z0)
        x = tuple([into_domain(block, xi) for block, xi in zip(R.blocks, without(x0, j), strict=True)])
        place = locate(R, x)
        unit = kink_width(problem, j, insert(x, j, x0[j]), insert(place.products, j, None))
        is_given = float(given) > 0  # a number still to come is there with those of the unit
        if is_given:  # a start with a multiplier is no random one: dual steps are given their time
            effort = effort._replace(patience=effort.patience[-1:])
        gentle = any(block.f is not None for block in problem.blocks)
        bend = bend_of(R.f, x0[j])
        slopes = zip(R.blocks, x, place.gradients, strict=True)
        bends = [bend_of(block.f, xi, df) for block, xi, df in slopes]
        beta, transition = self._first_penalty(R, unit, [bend, *bends], gentle, x, x0[j])
        phi, s = R.softened if transition == HOT else R, 1 / (beta * R.c**2)
        # a given z0 is that of the problem as stated, in which f_j has not moved
        moved = place.force is not None and is_given
        target = R.b - (z0 - place.force if moved else z0) / beta
        weights = first_weights(R, place)
        point = resmooth(phi, place, target, s, weights)
        slope = math.hypot(*fetch([magnitude(g) for g in point.gradient]))
        # near a solution little is left of the gradient: the forces that cancel are its unit
        if is_given:
            forces = adjoints(R, z0 if point.z is None else point.z, point.adjoints_z)
            slope = max(slope, math.hypot(*fetch([magnitude(force) for force in forces])))
        may_anneal = gentle and math.isfinite(unit) and any(not block.h.is_convex for block in R.blocks)
        if has_meetings(R):
            effort = effort._replace(cycles=effort.meetings)
        curved = [max(curvature, 1e-12 / s) for curvature in curvatures(R, point, s, bend, bends)]
        largest = max(curved)
        alpha = max(1 / (largest * len(curved)), SHORTEST)
        setup = Setup(
            reduced=R,
            schedule=Schedule(
                effort, R.c, unit, slope, may_anneal, transition or Cycle(math.nan, *TRANSITION)
            ),
            tau=tuple(largest / curvature for curvature in curved),
            eps=precision(target),
            rounds=is_double(target),
            growth=effort.growth if gentle and math.isfinite(unit) else SHARP_GROWTH,
            far=math.inf if gentle else SHARP_FAR,
            beta0=beta,
            lengths=span(alpha),
            lenient=JUMPING
            if any(own_of_user(block.h) and not block.h.is_convex for block in R.blocks)
            else LENIENT,
            stretch=self.stretch,
        )
        carry = Carry(
            t=0,
            known=known_at(R, point.place),
            gradient=point.gradient,
            target=target,
            warm=tuple([block.h.warm_start(xi) for block, xi in zip(R.blocks, x, strict=True)]),
            search=Search(alpha, alpha, Reference(float(point.value)), 0),
            stage=Stage(beta, 0.0, weights, LOOSE * slope, cooling=transition is not None),
            incumbent=Incumbent(math.inf, x),
        )
        return setup, carry

    def _first_penalty(
        self, R: ReducedProblem, unit: float, bends: list[float], gentle: bool, x: Arrays, x_j: Array
    ) -> tuple[float, Cycle | None]:
        """β⁰, and the cooling that a run begins with.

        Where h_j outweighs f: from the `HOT` start, or, where x_j is at the kinks of h_j already, a little smoother
        than natural. Where a penalty is given: from it to the natural one, or back.
        """
        natural = (max(1 / unit, *bends) if gentle else SHARP_START / unit) / R.c**2
        if natural <= 0:
            natural = self.beta0 or steepness(R, x) or 1 / R.c**2
        first = self.beta0
        if first is None and gentle and 1 / unit >= max(bends):
            if is_spread(R, x_j):
                return 1 / (HOT.hot * unit * R.c**2), HOT
            first = SMOOTHER * natural
        if first is None or not math.isfinite(unit):
            return natural, None
        cold = 1 / (max(first, natural) * unit * R.c**2)
        return min(first, natural), Cycle(math.nan, *TRANSITION, cold)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """A reduced step; at the end of a stage a dual step, or another smoothing."""
        return self.steps(setup, [carry], 0)

    def steps(self, setup: Setup, held: list[Carry], until: int) -> tuple[Carry, State]:
        """Steps up to iteration `until`; earlier States are not made."""
        state = None
        while state is None:
            carry, state = self._advance(setup, held.pop(), until)
            held.append(carry)
            del carry  # so that nobody else holds it while the next step runs
        carry = held.pop()
        return (rounded(carry, float) if setup.phi(carry.stage).single else carry), state

    def _advance(self, setup: Setup, carry: Carry, until: int) -> tuple[Carry, State | None]:
        """The carry after a step, and its State; None before iteration `until`, unless it is late."""
        R, schedule, stage, t = setup.reduced, setup.schedule, carry.stage, carry.t + 1
        s, target, incumbent = schedule.smoothing(stage), carry.target, carry.incumbent

        # x_i ← prox_{ω_i h_i}(x_i - ατ_i∇_iΦ, ατ_i)
        point, prox_points, warm, search, stationarity_norm = reduced_step(setup, carry)
        goes_on = stationarity_norm > stage.tolerance and search.inner < schedule.most_steps(stage)
        start = None
        if goes_on:  # after a search that has found no decrease from where it began, with what is left of it
            start = (
                (carry.known, carry.gradient)
                if search.refused
                else (known_at(R, point.place), point.gradient)
            )
        del carry  # where the caller has let go of it, its arrays make room for what follows
        turn = None if goes_on else schedule.turn(stage, t)
        leaves = turn is Turn.ANNEAL  # what is found here is checked first
        is_shown = t >= until or leaves or late()
        # cooling goes on from what was found, whether it is shown or not
        cooled = point.place if turn is Turn.COOL else None
        if point.x_breve is None and (is_shown or turn is Turn.SHARPEN):
            place = widened(R, point.x) if setup.phi(stage).single else point.place
            point = resmooth(R, place, target, s, stage.weights)._replace(gradient=())
            del place
        state = None
        if is_shown:
            shown = restore_zeros(R, point) if schedule.is_transient(stage) else point
            flags = {"transient": schedule.is_transient(stage), "exhausted": stage.exhausted, "due": leaves}
            flags["settled"], flags["bounded"] = schedule.is_settled(stage), shown is point
            state = snapshot(t, R, shown, prox_points, s, stage.beta, stage.mu, **flags)
            del shown
        if math.isinf(incumbent.value) and not stage.heavy:
            incumbent = Incumbent(math.inf, point.x)
        if start is not None:
            return Carry(t, *start, target, warm, search, stage, incumbent), state

        place, before = point.place if cooled is None else cooled, stage.weights
        stage, vanished = lighten(stage, point.x)
        turn = Turn.RESTART if vanished else turn
        if turn is Turn.LIGHTEN:  # Φ and its gradient stay
            stage = stage._replace(tolerance=TIGHTER * stage.tolerance)
            lighter = [new - old for new, old in zip(stage.weights, before, strict=True)]
            (value,) = fetch([counted(place, point.value, lighter)])
            search = Search(search.usual, search.usual, Reference(value), 0)
            start = known_at(R, place), point.gradient
            return Carry(t, *start, target, warm, search, stage, incumbent), state
        if turn is Turn.SHARPEN:  # z ← -d/c, β ← growth·β
            z = point.reduced_multiplier
            stage = schedule.sharpen(stage.ended(stationarity_norm))
            stage = grow(setup, stage, dual_step_norms(R, point), stationarity_norm)
        elif turn is Turn.COOL:  # z = β(b - target) as before
            z, stage = stage.beta * (R.b - target), schedule.cool(stage)
        else:  # z ← 0, x ← the incumbent, or where the cycle begins
            z, x = 0.0 * target, None
            if turn is Turn.ANNEAL:
                place = exact(R, point).place
                stage, value = schedule.anneal(stage), feasible_value(R, place)
                origin = schedule.origin(stage)
                if origin is not Begin.BEST:
                    x = begin_cycle(R, origin, stage.cycle, place.x, incumbent.x)
                incumbent = Incumbent(value, place.x) if value < incumbent.value else incumbent
            x = incumbent.x if x is None else x
            place = place if place.x is x else locate(R, x)
        del point, prox_points, target, start
        value, gradient = begin(setup, stage, place, z)
        alpha = search.usual * min(1.0, schedule.smoothing(stage) / s)  # the curvature grows as s shrinks
        search = Search(alpha, alpha, Reference(value), 0)
        known, target = known_at(R, place), R.target(z, stage.beta)
        return Carry(t, known, gradient, target, warm, search, stage, incumbent), state

    def may_smooth(self, setup: Setup) -> bool:
        """Whether it may anneal."""
        return setup.schedule.may_anneal and bool(setup.schedule.effort.cycles)

    def parameters_of(self, setup: Setup) -> Effort:
        """The numbers behind the effort."""
        return setup.schedule.effort


def into_domain(block: Block, x: Array) -> Array:
    """x, or its projection where h is a set that it lies outside of: no search could compare values there."""
    return x if not block.h.is_set or block.h(x) == 0 else block.h.prox(x, 1.0)


def begin(setup: Setup, stage: Stage, place: Place, z: Array) -> tuple[float, Arrays]:
    """The value and the gradient of the Φ of a stage, at a place and with the multiplier given."""
    s = setup.schedule.smoothing(stage)
    value, gradient = pure(value_at, setup.phi(stage), place, z, stage.beta, s, stage.weights, like=z)
    (value,), gradient = fetch((value,), gradient)
    return value, gradient


def grow(setup: Setup, stage: Stage, norms: DualStepNorms, stationarity_norm: float) -> Stage:
    """The stage after a dual step: β grows where the constraint lags behind stationarity; the tolerance shrinks."""
    rounding, force = ROUNDING * setup.eps * norms.size, math.hypot(*norms.adjoints_z)
    # at first the constraint may hurry ahead; in the long run it must not, nor wait for ever
    balance = 1.0 if stage.cycle >= 0 or stage.rounds > HASTE else 0.1
    lags = (
        norms.residual > max(LAG * stage.feasibility, rounding)
        and norms.residual * force > balance * stationarity_norm * norms.size
    )
    smaller = norms.residual <= max(LAG * stage.lowest, rounding)
    held = 0 if smaller else stage.held + 1
    lags = lags or held > setup.lenient
    growth = setup.growth if lags or norms.residual > setup.far * norms.size else 1.0
    if setup.schedule.is_transient(stage):
        growth = SHARPEN
    beta = min(stage.beta * growth, max(stage.beta, CEILING * setup.beta0))
    lagging = stationarity_norm * norms.size > 2 * norms.residual * force
    return stage._replace(
        most=min(float(STRETCHED), setup.stretch * stage.most) if lagging else stage.most,
        beta=beta,
        lowest=min(norms.residual, stage.lowest) if smaller else stage.lowest,
        held=0 if beta > stage.beta else held,
        tolerance=max(TIGHTER * stage.tolerance, TIGHTEST * setup.eps * setup.schedule.slope),
        rounds=stage.rounds + 1,
        feasibility=norms.residual,
        relative=norms.residual / norms.size if norms.size > 0 else 0.0,
    )
