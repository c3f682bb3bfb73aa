"""Stages: what a reduced problem is smoothed by, and for how long.

A run goes from stage to stage; within one, Φ stays the same. Most stages end with a dual step. Some end otherwise:

- *Cooling.* The smoothing s = 1/(βc²) + μ shrinks by a factor from stage to stage, without dual steps, until it is
  cold. Runs in which h_j outweighs f begin with one, `HOT`, in which h_j is smoothed by `h.soften`: it finds in 20
  iterations what took 60 without, and lower objectives.
- *Annealing.* Where a smooth f competes with h_j over a nonconvex set, and dual steps have not settled it in `patience`
  iterations, the run starts again with a strong smoothing (μ large, z = 0), cools, which finds better basins, and
  sharpens the result by `ROUNDS` dual steps. That is a cycle; an effort is a list of them. Cycles begin at the best
  point so far and cool slowly. On manifolds they cool in a few stages, long enough to settle most of each, and begin
  also at random points, and midway between a result and the best point before.
- *Weights.* Where f_i is far from convex, h_i counts ω_i times at first, and less from stage to stage. Dual steps come
  once it counts once: a multiplier of another problem is worth none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array, asarray, fetch, magnitude, norm
from ..._arrays.compiling import pure
from ...operators import Identity
from ...problem import Problem, sum_products
from ..base import Products, is_lipschitz, size_of_block
from .reduced import (
    Arrays,
    Place,
    Point,
    ReducedProblem,
    adjoints,
    block_from_equation,
    full_multiplier,
    locate,
    total,
)


class Begin(Enum):
    """Where a cycle of an annealing begins."""

    BEST = "at the best point so far"
    ANEW = "at a random point"
    MIDWAY = "midway between the point just found and the best one before"


class Cycle(NamedTuple):
    """One cooling: smoothing from `hot` to `cold` (in units of ‖x_j‖/C_h), by a factor every `inner` steps."""

    hot: float
    factor: float
    inner: int
    cold: float = 0.2
    begin: Begin = Begin.BEST


HOT = Cycle(6.0, 0.3, 30, 0.06)
"""The cooling at the start of a run in which h_j outweighs f."""


class Effort(NamedTuple):
    """Speed against the quality of the basin; all numbers are free of scale."""

    growth: float
    """Factor of β at a dual step after which the constraint still lags."""
    patience: tuple[tuple[float, float], ...]
    """(iterations, relative residual): annealing starts, where it applies, after so many of them if dual steps leave so
    much of the equation."""
    cycles: tuple[Cycle, ...]
    meetings: tuple[Cycle, ...] = ()
    """The cycles where every block that remains is on a manifold."""
    exhaustive: bool = False
    """Whether all cycles are run even where a point is certified before."""


DEEP, HIGH, WARM, MILD = (
    Cycle(2.0, 0.95, 30),
    Cycle(1.5, 0.93, 20),
    Cycle(1.0, 0.93, 20),
    Cycle(0.5, 0.92, 20),
)
CYCLES = (MILD, WARM, MILD, DEEP, MILD, HIGH, MILD)
BRIEF, LONGER = Cycle(0.6, 0.5, 100, 0.25), Cycle(0.8, 0.375, 150, 0.25)
ANEW, MIDWAY = Cycle(0.8, 0.72, 100, 0.25, Begin.ANEW), BRIEF._replace(begin=Begin.MIDWAY)
MEETINGS = (BRIEF, LONGER, *(ANEW, MIDWAY, MIDWAY) * 5)
PATIENCE = (40, 0.1), (60, 0.005), (100, 0.001), (200, 0.0)
EFFORTS = {
    "fast": Effort(1.05, (), ()),
    "balanced": Effort(1.05, PATIENCE, CYCLES, MEETINGS),
    "thorough": Effort(1.05, ((100, 0.0),), CYCLES * 2, MEETINGS * 2, exhaustive=True),
}
INNER, STRETCHED = 10, 400
"""Steps at most between two dual steps, at first and after all stretching."""
LENIENT = 1000
"""Stages that may end before their tolerance, and dual steps in a row that may leave β as it is without a smaller
residual: more than runs of usual length make. In the limit neither goes on for ever, which a theorem asks."""
LOOSE, TIGHT = 0.1, 0.0005
"""What may be left of the gradient, in units of the first one, at a first dual step and while an annealing cools."""
ROUNDS = 12
"""Dual steps after the cooling of an annealing."""
SHARP = 10
"""β while μ shrinks, and after the last annealing, is this many times what the coldest smoothing needs."""
SPREAD = 0.5
"""Share of its largest slope with which h_j must count at a start for a hot one; .8 at a Gaussian one, for ℓ1."""
HEAVY, TRIALS, LIGHTER = 0.1, 60, 0.7
"""First weight of an h_i in units of the one at which it outweighs the gradient of f_i; proxes to find that at most;
factor of the weight from stage to stage."""


class Stage(NamedTuple):
    """What a reduced problem is smoothed by at present, and where in the schedule that is."""

    beta: float
    mu: float
    weights: tuple[float, ...]
    """ω_i ≥ 1, by which the h_i count."""
    tolerance: float
    """The stage ends where no more than this is left of the gradient."""
    cooling: bool
    """Whether the smoothing shrinks at the end of the stage, in place of a dual step."""
    cycle: int = -1
    """Annealing we are in; -1 before the first."""
    rounds: int = 0
    """Dual steps since the last cooling."""
    feasibility: float = math.inf
    """‖Ax - b‖ at the last dual step."""
    relative: float = 0.0
    """The same in units of what the equation adds up; 0 before the first dual step."""
    most: float = float(INNER)
    """Steps between dual steps at most, until `LENIENT` stages have been cut."""
    cut: int = 0
    """Stages that ended before their tolerance."""
    lowest: float = math.inf
    """The smallest ‖Ax - b‖ at a dual step since the last cooling; one that is a little smaller is none."""
    held: int = 0
    """Dual steps since the last smaller one, or the last growth of β."""

    def ended(self, left: float) -> Stage:
        """The stage where `left` remains of the gradient; the last that is cut hands that on as the tolerance."""
        if left <= self.tolerance:
            return self
        cut = self.cut + 1
        return self._replace(cut=cut, tolerance=left if cut == LENIENT else self.tolerance)

    @property
    def exhausted(self) -> bool:
        """Whether β should have grown, and could not: it is at its ceiling."""
        return self.held > LENIENT

    @property
    def heavy(self) -> bool:
        """Whether some h_i still counts more than once."""
        return max(self.weights) > 1


class Turn(Enum):
    """How a stage ends."""

    RESTART = "all has vanished under the weights: from the start again, without them"
    COOL = "a smaller smoothing"
    ANNEAL = "from the best point again, with a strong smoothing"
    LIGHTEN = "lighter weights"
    SHARPEN = "a dual step"


@dataclass(frozen=True)
class Schedule:
    """What decides how the stages follow each other; fixed during a run."""

    effort: Effort
    c: float
    """A_jᵀA_j = c²·I."""
    unit: float
    """‖x_j‖/C_h: the smoothing at which the kinks of h_j are as wide as its arguments; inf where h_j is a set."""
    slope: float
    """‖∇Φ‖ at the start: the scale of tolerances."""
    may_anneal: bool
    transition: Cycle
    """The cooling before any annealing, for runs that begin with one."""

    def smoothing(self, stage: Stage) -> float:
        """s = 1/(βc²) + μ."""
        return 1 / (stage.beta * self.c**2) + stage.mu

    def cycle_of(self, stage: Stage) -> Cycle:
        """The cycle by which a cooling stage cools."""
        return self.transition if stage.cycle < 0 else self.effort.cycles[stage.cycle]

    def origin(self, stage: Stage) -> Begin:
        """Where the cycle of a stage begins; after the last one, at the best point."""
        return self.effort.cycles[stage.cycle].begin if self.is_transient(stage) else Begin.BEST

    def most_steps(self, stage: Stage) -> float:
        """Steps of a stage at most; ∞ once enough were cut: from then on each one reaches its tolerance."""
        if stage.cooling:
            return self.cycle_of(stage).inner
        return int(stage.most) if stage.cut < LENIENT else math.inf

    def is_transient(self, stage: Stage) -> bool:
        """Whether an annealing is under way."""
        return 0 <= stage.cycle < len(self.effort.cycles)

    def is_settled(self, stage: Stage) -> bool:
        """Whether no annealing is owed any more, and every h_i counts once."""
        owed = self.effort.exhaustive and self.may_anneal and stage.cycle < len(self.effort.cycles)
        return not owed and not stage.heavy

    def is_soft(self, stage: Stage) -> bool:
        """Whether h_j is softened: while an annealing cools, and from a hot start."""
        return stage.cooling and (self.is_transient(stage) or self.transition == HOT)

    def turn(self, stage: Stage, t: int) -> Turn:
        """How a stage that is over at iteration t ends, unless all has vanished under its weights."""
        if stage.cooling:
            cycle = self.cycle_of(stage)
            cold = self.smoothing(stage) * cycle.factor <= cycle.cold * self.unit
            return Turn.SHARPEN if cold else Turn.COOL
        if stage.heavy:
            return Turn.LIGHTEN
        if self.may_anneal and stage.cycle < len(self.effort.cycles):
            lost = any(t >= after and stage.relative >= left for after, left in self.effort.patience)
            ends = lost if stage.cycle < 0 else stage.rounds >= ROUNDS
            return Turn.ANNEAL if ends else Turn.SHARPEN
        return Turn.SHARPEN

    def cool(self, stage: Stage) -> Stage:
        """The next smaller smoothing."""
        return self._smooth(stage, self.smoothing(stage) * self.cycle_of(stage).factor)

    def anneal(self, stage: Stage) -> Stage:
        """The hot stage of the next cycle; after the last one a sharp stage, for good."""
        stage = stage._replace(cycle=stage.cycle + 1)
        if self.is_transient(stage):
            stage = stage._replace(cooling=True, tolerance=TIGHT * self.slope)
            return self._smooth(stage, self.cycle_of(stage).hot * self.unit)
        beta = SHARP / (self.effort.cycles[-1].cold * self.unit * self.c**2)
        return stage._replace(beta=beta, mu=0.0, tolerance=LOOSE * self.slope)

    def sharpen(self, stage: Stage) -> Stage:
        """The stage whose dual steps follow a cooling: the same smoothing, all of it in β; any other as it is."""
        if not stage.cooling:
            return stage
        beta = 1 / (self.smoothing(stage) * self.c**2)
        fresh = stage._replace(lowest=math.inf, held=0)
        return fresh._replace(cooling=False, rounds=0, mu=0.0, beta=beta, tolerance=LOOSE * self.slope)

    def _smooth(self, stage: Stage, s: float) -> Stage:
        """Total smoothing s, almost all of it in μ."""
        beta = max(stage.beta, SHARP / (self.cycle_of(stage).cold * self.unit * self.c**2))
        return stage._replace(beta=beta, mu=s - 1 / (beta * self.c**2))


def lighten(stage: Stage, x: Arrays) -> tuple[Stage, bool]:
    """The stage with lighter weights, and whether a block has vanished under its own: then with none at all."""
    if not stage.heavy:
        return stage, False
    vanished = any(weight > 1 and norm(xi) == 0 for weight, xi in zip(stage.weights, x, strict=True))
    weights = [1.0 if vanished else max(1.0, LIGHTER * weight) for weight in stage.weights]
    return stage._replace(weights=tuple(weights)), vanished


def first_weights(R: ReducedProblem, place: Place) -> tuple[float, ...]:
    """ω_i: `HEAVY` of the weight at which h_i would outweigh ∇f_i entirely, where f_i has no global curvature bound.

    Such an f (a quartic, say) is far from convex at a start that is far away: there a heavier h_i, which keeps x_i
    simple, leads to better minima.
    """
    weights = []
    for block, slope in zip(R.blocks, place.gradients, strict=True):
        steepest, weight = block.h.lipschitz(block.shape), 0.0
        if block.f is not None and not is_lipschitz(block.f) and 0 < steepest < math.inf:
            weight = norm(slope) / steepest
            for _ in range(TRIALS):
                if norm(block.h.prox(slope, weight)) == 0:
                    break
                weight *= 1.2
            else:
                weight = 0.0  # h_i has its minimum elsewhere than at 0
        weights.append(max(1.0, HEAVY * weight))
    return tuple(weights)


def has_meetings(R: ReducedProblem) -> bool:
    """Whether random points, and those midway between two, are points to begin at: on manifolds, f finite on them."""
    finite = all(f is None or f.domain is None for f in (R.f, *(block.f for block in R.blocks)))
    return finite and all(block.h.is_manifold for block in R.blocks)


def begin_cycle(R: ReducedProblem, begin: Begin, number: int, found: Arrays, before: Arrays) -> Arrays:
    """Where cycle `number` begins, if not at the best point: at a random one, or midway between `found` and the best
    one `before`, which share most of what is good in them; cooling settles what they disagree in.
    """
    if begin is Begin.ANEW:
        rng, like = np.random.default_rng(number), zip(R.blocks, found, strict=True)
        return tuple([block.h.prox(asarray(rng.standard_normal(xi.shape), xi), 1.0) for block, xi in like])
    pairs = zip(R.blocks, found, before, strict=True)
    return tuple([block.h.prox(0.5 * (block.h.mirror(xi, yi) + yi), 1.0) for block, xi, yi in pairs])


def kink_width(problem: Problem, j: int, x0: Arrays, products: Products = ()) -> float:
    """‖x_j‖/C_h, the smoothing at which the kinks of h_j are as wide as its arguments; inf where h_j has none.

    `products` are the A_i x0_i, where they are known.
    """
    steepest = problem.blocks[j].h.lipschitz(problem.blocks[j].shape)
    if not 0 < steepest < math.inf:
        return math.inf
    return size_of_block(problem, j, x0, products) / steepest or math.inf


def is_spread(R: ReducedProblem, x_j: Array) -> bool:
    """Whether h_j(x_j) is at least `SPREAD` of C_h‖x_j‖, so that few entries are at its kinks: no start to keep."""
    steepest = R.h.lipschitz(tuple(x_j.shape)) * norm(x_j)
    return 0 < steepest < math.inf and float(R.h(x_j)) >= SPREAD * steepest


class DualStepNorms(NamedTuple):
    """What a dual step is judged by."""

    residual: float
    """‖Ax - b‖."""
    size: float
    """The larger of ‖Σ_{i≠j} A_i x_i‖ and ‖A_j x̆‖; ‖Σ|A_i||x_i|‖ where both shall vanish."""
    adjoints_z: tuple[float, ...]
    """‖A_iᵀz‖."""


def dual_step_norms(R: ReducedProblem, point: Point) -> DualStepNorms:
    """The norms at a point, fetched at once."""
    residual, others, own, *pulls = fetch(pure(_dual_step_norms, R, point, like=point.z))
    return DualStepNorms(residual, max(others, own), tuple(pulls))


def _dual_step_norms(R: ReducedProblem, point: Point) -> tuple[Any, ...]:
    others, own = total(R, point.place), R.A.apply(point.x_breve)
    terms = others
    if R.cancelling is not None and type(others) is np.ndarray:
        terms = sum_products([op.apply(abs(x)) for op, x in zip(R.cancelling, point.x, strict=True)], 0.0)
    norms = magnitude(sum_products((others, own), R.b)), magnitude(terms), magnitude(own)
    return (*norms, *map(magnitude, adjoints(R, point.z, point.adjoints_z)))


def feasible_value(R: ReducedProblem, place: Place) -> float:
    """The objective at the feasible point with x_j = y(x), where the f_i are values."""
    others = [block.h(xi) for block, xi in zip(R.blocks, place.x, strict=True) if not block.h.is_set]
    return float(sum(place.f) + place.f_j + sum(others) + R.h(block_from_equation(R, place)))


def restore_zeros(R: ReducedProblem, point: Point) -> Point:
    """The point with the x_i that x̆ asks for: on a manifold, nearest to A_i⁻¹(b - A_j x̆); as it was elsewhere.

    Where h_j is smoothed, x_i has many small entries in place of zeros; this one has those of x̆, nearly.
    """
    (block, *more), (op, *_) = R.blocks, R.operators
    if more or not block.h.is_manifold or not isinstance(op, Identity) or op.scale == 0:
        return point
    x = block.h.prox((R.b - R.A.apply(point.x_breve)) * (1 / op.scale), 1.0)
    place = locate(R, (x,))
    return point._replace(place=place, z=full_multiplier(point.reduced_multiplier, place.force))
