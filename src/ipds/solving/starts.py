"""The starts of one problem and what they came to; points that are certified where they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..errors import AssumptionError, DivergenceError
from ..functions import Box
from ..methods.faces.restricted import assembled
from ..problem import Block, Problem
from ..status import Status
from ..theory.certificate import certify, subgradients
from ..theory.objective import objective, size_of
from ..theory.state import State
from .inventing import prototype
from .minima import discrete
from .remarks import certified
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

STOPPED = (Status.INTERRUPTED, Status.CALLBACK)
"""Ends that somebody asked for: no further start after them."""
RELAXED = 1000
"""Iterations of a convex problem, whose answer is a start, at most: one with an optimum of 0 may not end by itself."""
TRIALS = 20_000
"""Points that kicks of entries, or walks over corners of the caller's own functions, may look at, in all."""
ROUNDED = 1e-12
"""Objectives as near as this, in units of the largest of the first run, differ by rounding alone."""
CLEARLY, EXACT = 1e-2, 1e-12
"""By what fraction of itself an objective is clearly lower than another, and how far off the rows of an equation may be
that holds to rounding."""
BOTTOMLESS = 1e6
"""How much lower a start that diverges has to come than all that the first one saw, for a problem without a minimum."""
FRUITLESS = (AssumptionError, DivergenceError, ValueError, ArithmeticError)
"""Errors of a start that leads nowhere."""
AGREED = 1e-6
"""Relative differences of objectives up to which starts end at one value."""

Again = Callable[[Problem, "Sequence[Array] | None", float, "int | None"], "Result"]
"""(problem, x0, seconds used, iterations at most) ↦ the result of one run."""


@dataclass
class Search:
    """The starts of a problem and what they came to, the first one first."""

    problem: Problem
    found: list[Result]
    again: Again
    clock: Stopwatch
    most: int | None = None
    """Iterations of a further start at most."""
    left: float = math.inf
    """Iterations of all of them."""
    trials: int = TRIALS
    """Points that kicks and walks may still look at."""
    others: int = 0
    """Starts that were left before a run."""
    fell: bool = False
    """Whether the objective fell without end from one of them."""

    def over(self) -> bool:
        """Whether no other start is made."""
        return self.clock.over() or self.left <= 0

    def late(self) -> bool:
        """Whether kicks and walks end; to be asked once before each point they look at."""
        self.trials -= 1
        return self.trials < 0 or self.clock.over()

    def answer_of(self, other: Problem) -> Result | None:
        """What a convex problem comes to, in no more iterations than a further start, or than are worth a start."""
        try:
            return self.again(other, None, self.clock.seconds(), min(self.most or RELAXED, RELAXED))
        except FRUITLESS:
            return None

    def attempt(self, start: Sequence[Array]) -> None:
        """One run from there."""
        try:
            result = self.again(self.problem, start, self.clock.seconds(), self.most)
        except DivergenceError as error:
            self.fell = self.fell or self._is_far_below(error.result)
            return
        except FRUITLESS:
            return
        self.left = 0 if result.status in STOPPED else self.left - result.nit
        self.fell = self.fell or (not result.success and self._is_far_below(result))
        self.found.append(result)

    def _is_far_below(self, result: Result | None) -> bool:
        """Whether a point is feasible, and lower than the first answer by many times all that was seen there."""
        if result is None or not math.isfinite(result.fun):
            return False
        seen = self.found[0].history["objective"]
        size = float(np.max(np.abs(seen[np.isfinite(seen)]), initial=abs(self.found[0].fun)))
        far = max(float(np.linalg.norm(x)) for x in result.x)
        return bool(result.fun < -BOTTOMLESS * (1 + size) and result.certificate.feasibility <= 1e-3 * far)

    def lowest(self) -> list[Result]:
        """Those that end at the lowest value, the first of them first.

        Certified ones, unless another that meets the equation to rounding is clearly lower: they are no minima then.
        """
        best = min(self.found, key=_rank)
        clearly = best.fun - CLEARLY * size_of(self.problem, best.fun)
        lower = [r for r in self.found if _is_feasible(r) and r.fun < clearly]
        best, among = min(lower, key=lambda r: r.fun, default=best), lower or self.found
        seen = self.found[0].history["objective"]
        size = float(np.max(np.abs(seen[np.isfinite(seen)]), initial=0.0))
        most = best.fun + AGREED * size_of(self.problem, best.fun) + ROUNDED * size
        return [r for r in among if r.success == best.success and r.fun <= most]

    def answer(self) -> Result:
        """The first of the lowest, with what all took."""
        best = self.lowest()[0]
        best.starts, best.seconds = len(self.found) + self.others, self.clock.seconds()
        if self.fell:
            best.update(success=False, status=Status.DIVERGED)
            best.message = f"{Status.DIVERGED.value}; from another start the objective falls without end"
        return best


def _rank(result: Result) -> tuple[bool, bool, float]:
    return result.status is Status.DIVERGED, not result.success, result.fun


def _is_feasible(result: Result) -> bool:
    """Whether the equation holds to rounding, at a point that is no end of a run to infinity."""
    diverged = result.status is Status.DIVERGED or not math.isfinite(result.fun)
    return not diverged and bool(result.certificate.rows <= EXACT)


def held_at(search: Search, x: Sequence[Array], tol: float) -> Result | None:
    """The other blocks solved for, while the discrete ones stay where they are: steps of all blocks may lead away.

    None where that is not certified, or nothing is discrete. Every s is normal to a discrete set, so what is critical
    in the others is critical altogether.
    """
    problem, fixed_at = search.problem, discrete(search.problem)
    if not fixed_at or not all(type(xi) is np.ndarray for xi in x):
        return None
    pairs = list(zip(problem.blocks, problem.operators, strict=True))
    fixed = [problem.blocks[i].h.prox(xi, 1.0) if i in fixed_at else xi for i, xi in enumerate(x)]
    blocks = [
        Block(f=b.f, h=Box(fixed[i], fixed[i]) if i in fixed_at else b.h, A=A, shape=b.shape)
        for i, (b, A) in enumerate(pairs)
    ]
    part = Problem(blocks, problem.b)
    result = search.again(part, fixed, search.clock.seconds(), None)
    if not (result.success and isinstance(result.state, State)):
        return None
    slopes = list(subgradients(part, result.state))
    for i in fixed_at:
        (block, A), xi = pairs[i], result.x[i]
        slopes[i] = -A.adjoint(result.z) - (0.0 if block.f is None else block.f.grad(xi))
    result.method = f"{result.method}, discrete blocks by exchanges"
    return certified_at(search, result, Point(result.x, tuple(slopes), result.z), tol)


class Point(NamedTuple):
    """Blocks, subgradients s_i ∈ ∂h_i(x_i) and a multiplier."""

    x: Sequence[np.ndarray]
    slopes: Sequence[np.ndarray]
    z: np.ndarray

    def rounded(self, dtype: Any) -> Point:
        """The same in another precision."""
        x, slopes = (tuple(np.asarray(v, dtype) for v in part) for part in (self.x, self.slopes))
        return Point(x, slopes, np.asarray(self.z, dtype))


def certified_at(search: Search, result: Result, point: Point, tol: float) -> Result | None:
    """The result at another point, in the precision of the problem; None where that is not certified."""
    problem = search.problem
    x, slopes, z = point.rounded(prototype(problem).dtype)
    state = assembled(problem, result.nit, tuple(x), tuple(slopes), z)
    certificate = None if state is None else certify(problem, state)
    if state is None or certificate is None or not certificate.relative <= tol:
        return None
    result.update(state=state, certificate=certificate, fun=float(objective(problem, state)))
    result.update(x=state.q, z=state.z, success=True, status=Status.CONVERGED)
    result.message = "; ".join([result.status.value, *certified(problem, result.x, result.fun, result.nit)])
    return problem.answer(result)
