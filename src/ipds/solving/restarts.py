"""Further starts where one is cheap and not enough (`minima`): the best of what they come to.

    lowest_of     small problems with several minima: from the answer of a convex problem (`relaxing`), points drawn
                  and moves of single entries (`kicks`), until three starts agree
    best_of       sets of several pieces: from the convex hull, from points drawn and from exchanges (`flips`); beside
                  what is convex, by branch and bound with tangents (`programs`) and by cuts (`cuts`)
    from_convex   what failed under an equation: from the answer of a convex problem alone
    at_corner     objectives that are concave between places: the lowest corner (`corners`)
    at_fit        losses of many residuals in few unknowns: descents from fits of few rows (`exact_fits`)
    by_program    discrete blocks where all else is piecewise linear: branch and bound (`programs`) in the place of a
                  first run; what it does not prove is where `best_of` begins

What they may take is counted in iterations, nodes and points looked at, so that answers do not depend on the machine
unless a limit of time ends them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..functions import Binary, Sum
from ..methods.faces.swaps import column_norms
from ..operators import Operator
from ..problem import Block, Problem
from ..theory.fixed import is_convex
from ..theory.objective import size_of
from .corners import ground_of, lowest_corner
from .cuts import is_mixed, search_by_cuts
from .exact_fits import Loss, exact_fits
from .flips import Merit, exchanged, follower
from .inventing import NEAR, drawn, may_have_minima, prototype
from .kicks import kicked
from .minima import discrete
from .programs import program_of, search_by_program
from .relaxing import as_l1, convex, convex_start, eased, hull, relaxed, reweighted
from .starts import AGREED, STOPPED, Again, Point, Search, certified_at, held_at
from .stopping import Stopwatch
from .walks import walked

if TYPE_CHECKING:
    from ..result import Result

LONG = 1000
"""Iterations after which a failure is one."""
SOON = 10
"""Iterations after which corners are looked at, where minima are corners: steps under an equation may not get there."""
LONGER, SHORT = 1, 300
"""Iterations of a further start at most, in units of those of the first, and where that is less."""
HOPEFUL = 500
"""The same where the first start failed: others that do so take as long, and those that do not take less."""
ALL, ENOUGH = 3, 1500
"""The same for all further starts together."""
AGREEING = 3
"""Starts that end at the lowest value after which no other is tried."""
FITTED = 6
"""Fits of few rows from which descents begin."""
REWEIGHTED = 4
"""Convex problems, each with weights from the answer to the last, before a start under an equation."""
KICKS = 3
"""Rounds of changes of single entries at most."""
BENT = 100
"""Entries up to which second derivatives give their units."""
WAYS, LENGTHS = 5, 10.0 ** np.arange(-6, 7)
"""Directions in which, and how far from 0, an f is looked at where 0 is the answer."""


def from_convex(problem: Problem, first: Result, again: Again) -> Result:
    """`first`, or where this is better, what is found from the answer of a convex problem.

    For what failed after many iterations; under an equation for answers too, which are feasible and no more.
    """
    tried = problem.restorable is None if first.success else first.nit >= LONG
    near = convex_start(problem) if tried and first.status not in STOPPED else None
    if near is None:
        return first
    search = Search(problem, [first], again, Stopwatch(first.seconds))
    answer = search.answer_of(near)
    if answer is None:
        return first
    search.attempt(answer.x)
    return search.answer()


def has_corners(problem: Problem) -> bool:
    """Whether minima are corners."""
    if type(prototype(problem)) is not np.ndarray:
        return False
    ground = ground_of(problem, [np.zeros(block.shape) for block in problem.blocks])
    return ground is not None and ground.is_sure


def at_corner(
    problem: Problem, first: Result, again: Again, tol: float, limit: float | None, seed: Any
) -> tuple[Result, bool]:
    """The best of `first` and of the lowest corner of walks, and whether that is the answer: no other start is made."""
    search = Search(problem, [first], again, Stopwatch(first.seconds, limit))
    if first.status in STOPPED or search.over() or type(prototype(problem)) is not np.ndarray:
        return first, False
    try:
        return _at_corner(search, tol, 0 if seed is None else seed)
    except (ValueError, ArithmeticError):  # an answer is not lost to a search for a better one
        return first, False


def _at_corner(search: Search, tol: float, seed: Any) -> tuple[Result, bool]:
    problem, (first,) = search.problem, search.found
    corner = lowest_corner(problem, first.x, search.late, seed)
    if corner is None:
        return first, False
    most = corner.value + AGREED * size_of(problem, corner.value)
    if first.success and first.fun <= most:
        return first, corner.is_sure
    point = None if corner.z is None else Point(corner.x, corner.slopes, corner.z)
    held = None if point is None else certified_at(search, copy.copy(first), point, tol)
    if held is None:
        search.attempt(corner.x)
    else:
        search.found.append(held)
    best = search.answer()
    return best, best.success and best.fun <= most and corner.is_sure


def at_fit(
    loss: Loss, first: Result, again: Again, tol: float, limit: float | None, seed: Any
) -> tuple[Result, bool]:
    """The best of `first` and of descents from fits of few rows, and whether that is the answer: all fits were seen."""
    search = Search(loss.problem, [first], again, Stopwatch(first.seconds, limit))
    if first.status in STOPPED or search.over():
        return first, False
    try:
        points = exact_fits(loss, FITTED, search.late)
        for point in points:
            held = certified_at(search, copy.copy(first), point, tol)
            search.found += [] if held is None else [held]
    except (ValueError, ArithmeticError):  # an answer is not lost to a search for a better one
        return first, False
    best, lowest = search.answer(), min(points, key=lambda p: loss.value(tuple(p.x)), default=None)
    most = best.fun - AGREED * size_of(search.problem, best.fun)
    if lowest is not None and loss.value(tuple(lowest.x)) < most:  # and not certified where it stands
        search.attempt(lowest.x)
        return search.answer(), False
    return best, best.success and loss.has_few_fits


def lowest_of(
    problem: Problem, first: Result, count: int, again: Again, limit: float | None, seed: Any
) -> Result:
    """The best of `first` and of up to `count` starts of a small problem; fewer where `AGREEING` end at one value.

    The first of them is the answer of the problem with convex functions in the place of others; the next are drawn, in
    units of the entries of `first`, and changed in single entries (`kicks`); so is the best of all, at last.
    """
    nit = first.nit if first.success else LONG
    most, left = max(LONGER * nit, SHORT) if first.success else HOPEFUL, max(ALL * nit, ENOUGH)
    search = Search(problem, [first], again, Stopwatch(first.seconds, limit), most, left)
    if first.status in STOPPED or search.over():
        return first
    near = convex(problem, eased)
    answer = None if near is None else search.answer_of(near)
    if answer is not None and answer.success:
        search.attempt(answer.x)
        if (
            problem.restorable is None
            and not problem.unconstrained
            and any(as_l1(b.h) for b in problem.blocks)
        ):
            search.attempt(_faded(search, answer))
    like, rng = prototype(problem), np.random.default_rng([1, 0 if seed is None else seed])
    units = {id(block): units_of(problem, i, first.x[i]) for i, block in enumerate(problem.blocks)}
    smooth = all(block.h.is_convex or _is_round(block.h) for block in problem.blocks)
    agreeing = AGREEING + smooth  # no moves of entries help there
    for _ in range(count - len(search.found)):
        if len(search.lowest()) >= agreeing or search.over():
            break
        try:
            start = drawn(
                problem,
                like,
                rng.standard_normal,
                may_have_minima,
                turned=lambda block, v: v * units[id(block)],
            )
            start = kicked(problem, start, search.late) or start
        except (ValueError, ArithmeticError):
            continue
        search.attempt(start)
    for _ in range(KICKS):
        point = None if search.over() else kicked(problem, search.lowest()[0].x, search.late)
        if point is None:
            break
        search.attempt(point)
    return search.answer()


def _faded(search: Search, answer: Result) -> Sequence[Array]:
    """Where convex problems end whose weights follow from the answer to the one before."""
    for _ in range(REWEIGHTED):
        near = reweighted(search.problem, answer.x)
        following = None if near is None else search.answer_of(near)
        if following is None or not following.success:
            break
        answer = following
    return answer.x


def _is_round(h: Any) -> bool:
    """Whether h is a manifold, or what a set or a penalty leaves of one."""
    return h.is_manifold or (isinstance(h, Sum) and (_is_round(h.penalty) or _is_round(h.constraint)))


def units_of(problem: Problem, i: int, x: np.ndarray) -> Any:
    """How large the entries of block i are: 1/√(‖A e_j‖² + ∂²f/∂x_j²) at x, times what makes them as long as x.

    Where x is 0, all alike, and so far off that f + h is lowest there.
    """
    f, size = problem.blocks[i].f, float(np.linalg.norm(x))
    if problem.blocks[i].h.is_manifold:
        return 1.0
    if size == 0:
        return _lowest_length(problem.blocks[i])
    squares = column_norms(problem, i) ** 2
    bend = f.hessian(x) if f is not None and x.size <= BENT else None
    if isinstance(bend, Operator):  # known by its products
        bend = np.array([np.ravel(bend.apply(e.reshape(x.shape))) for e in np.eye(x.size)])
    if isinstance(bend, np.ndarray):
        squares = squares + np.abs(np.diag(bend) if bend.ndim == 2 else bend).reshape(x.shape)
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    return float(np.linalg.norm(scale * x)) / scale


def _lowest_length(block: Block) -> float:
    """The length of points drawn at which f + h is lowest; 1 where nothing is lower than at 0, or f is not defined."""
    if block.f is None:
        return 1.0
    ways = np.random.default_rng(0).standard_normal((WAYS, *block.shape)) / math.sqrt(
        max(1, math.prod(block.shape))
    )

    def least(length: float) -> float:
        points = [block.h.prox(length * way, 1.0 if block.h.is_set else NEAR) for way in ways]
        found = [float(block.f(v)) + float(block.h(v)) for v in points]  # type: ignore[misc]
        return min((value for value in found if not math.isnan(value)), default=math.inf)

    try:
        with np.errstate(all="ignore"):
            return min((1.0, *LENGTHS), key=least) if min(map(least, LENGTHS)) < least(0.0) else 1.0
    except (TypeError, ValueError, ArithmeticError):
        return 1.0


def by_program(
    problem: Problem, again: Again, tol: float, used: float, limit: float | None
) -> tuple[Result | None, bool]:
    """What branch and bound finds where all else is piecewise linear, certified, and whether that is the answer.

    None where the problem is no such program, or nothing is found.
    """
    program = program_of(problem)
    if program is None or program.curved:
        return None, False
    search = Search(problem, [], again, Stopwatch(used, limit))
    found, proved = search_by_program(program, [], math.inf, lambda x: held_at(search, x, tol), search.clock)
    if not found:
        return None, False
    best = min(found, key=lambda result: result.fun)
    best.starts, best.seconds = 1, search.clock.seconds()
    return _proved(best, "branch and bound rules all else out") if proved else best, proved


def best_of(
    problem: Problem,
    first: Result,
    count: int,
    again: Again,
    tol: float,
    limit: float | None,
    seed: Any,
    searched: bool,
) -> Result:
    """The best of `first` and of further starts, where sets have several pieces.

    The first of these is what flips of entries of discrete blocks (`walks`, `flips`) make of the answer of the convex
    relaxation, where there is one; the others are drawn, and flipped too, of which only the best is run where a walk
    ended there; the last is what exchanges make of the best. Where the first is as low as the relaxation, nothing is
    lower, and there are no others. Mixed-integer programs are searched by branch and bound, with tangents of what is
    curved; where nothing is and `searched` says that `by_program` has done so, this is not repeated.
    """
    search = Search(problem, [first], again, Stopwatch(first.seconds, limit))
    if first.status in STOPPED or search.over():
        return first
    found, late = search.found, search.clock.over

    def attempt(point: Sequence[Array]) -> None:
        held = held_at(search, point, tol)
        if held is None:
            search.attempt(point)
        else:
            found.append(held)

    near = relaxed(problem, hull)
    answer = None if near is None else search.answer_of(near)
    if near is not None and answer is not None:
        attempt(walked(problem, answer.x, late) or exchanged(problem, answer.x, late) or answer.x)
        room = tol * size_of(problem, answer.fun, found[-1].fun)
        proved = is_convex(near) and answer.success and found[-1].success
        if proved and len(found) > 1 and found[-1].fun <= answer.fun + room:
            return _proved(search.answer(), "the convex relaxation has the same value")
    fixed_at = discrete(problem)
    if answer is not None and fixed_at and is_mixed(problem, fixed_at):
        program, lowest = program_of(problem), search.lowest()[0]
        if program is not None and program.has_inequalities and (program.curved or not searched):
            best = lowest.fun if lowest.success else math.inf
            held, proved = search_by_program(
                program, [answer, lowest], best, lambda x: held_at(search, x, tol), search.clock
            )
            found += held
            if proved:
                return _proved(search.answer(), "branch and bound rules all else out")
            lowest = search.lowest()[0]
        others = list(lowest.x)

        def solved_at(y: list[Array]) -> Result | None:
            for i, yi in zip(fixed_at, y, strict=True):
                others[i] = yi
            return held_at(search, others, tol)

        if lowest.success:
            found += search_by_cuts(problem, fixed_at, [answer, lowest], solved_at, late)
            return search.answer()
    like, rng = prototype(problem), np.random.default_rng(seed)
    merit = Merit(problem, None if problem.unconstrained else follower(problem))
    ended, values = list[tuple[Array, ...]](), list[Any]()
    for _ in range(count - len(found)):
        if search.over() or values.count(min(values, default=None)) >= AGREEING:
            break
        start = drawn(problem, like, rng.standard_normal, may_have_minima, turned=_centred)
        point = walked(problem, start, late)
        if point is None:
            search.attempt(exchanged(problem, start, late) or start)
        else:
            ended.append(point)
            values.append(merit(point))
    point = exchanged(problem, search.lowest()[0].x, late)
    if ended:
        point = ended[values.index(min(values))]
    if point is not None:
        attempt(point)
    search.others = max(0, len(ended) - 1)
    return search.answer()


def _proved(best: Result, why: str) -> Result:
    best.message += f"; here nothing is lower: {why}"
    return best


def _centred(block: Block, v: Array) -> Array:
    """v around the middle of two values, so that either is as likely."""
    h = block.h
    return 0.5 * (h.lo + h.hi) + (h.hi - h.lo) * v if isinstance(h, Binary) else v
