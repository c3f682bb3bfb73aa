"""Further starts where one is cheap and not enough: sets of several pieces, on which a method stays where it begins."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..errors import AssumptionError, DivergenceError
from ..functions import (
    L1,
    Binary,
    Box,
    CappedSimplex,
    KBinary,
    NonNegative,
    Nonsmooth,
    Smooth,
    Stiefel,
    Sum,
    Zero,
)
from ..functions.scalar import ScalarPenalty
from ..methods import AcceleratedIPDS, Method
from ..methods.faces.restricted import assembled
from ..methods.faces.stretches import best_signal
from ..methods.faces.swaps import column_norms
from ..problem import Block, Problem
from ..status import Status
from ..theory.certificate import certify, subgradients
from ..theory.fixed import is_convex
from ..theory.objective import objective
from ..theory.state import State
from .flips import exchanged
from .inventing import drawn, prototype
from .kicks import kicked
from .remarks import certified
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

STARTS = {"fast": 1, "balanced": 8, "thorough": 24}
"""Starts by the effort of `AcceleratedIPDS`; "auto" is balanced."""
STOPPED = (Status.INTERRUPTED, Status.CALLBACK)
"""Ends that somebody asked for: no further start after them."""
LONG = 1000
"""Iterations after which a failure is one."""
FEW, QUICK = 150, 1.0
"""Entries, and seconds of work for a first answer, up to which several starts look for a lower one."""
AGREEING, AGREED = 3, 1e-6
"""Starts that end at the lowest value, relative differences up to this, after which no other is tried."""
ROUNDED = 1e-12
"""Objectives as near as this, in units of the largest of the first run, differ by rounding alone."""
LENGTH = 2.0
"""Seconds of work after which no other is tried, either."""
KICKS = 3
"""Rounds of changes of single entries at most."""
BENT = 100
"""Entries up to which second derivatives give their units."""
CHORDS = 4
"""Pairs of points of each width between which the gradient of an f is looked at."""
SMALL = 5000
"""Entries of all blocks up to which a start is cheap."""

Again = Callable[[Problem, "Sequence[Array] | None", float], "Result"]


def starts_for(problem: Problem, method: Method | None) -> int:
    """How many starts a solve makes: more than one where sets have several pieces and the problem is small.

    Such are `Binary` and `KBinary`, orthonormal columns that are a basis (rotations and reflections), and orthonormal
    columns beside nonnegative ones (every choice of signs).
    """
    if method is not None and not isinstance(method, AcceleratedIPDS):
        return 1
    functions = [block.h for block in problem.blocks]
    frames = [block for block in problem.blocks if isinstance(block.h, Stiefel)]
    square = any(block.shape[0] == block.shape[1] for block in frames)
    signed = bool(frames) and any(isinstance(h, NonNegative) for h in functions)
    discrete = any(isinstance(h, Binary | KBinary) for h in functions)
    if sum(math.prod(block.shape) for block in problem.blocks) > SMALL or not (discrete or square or signed):
        return 1
    return STARTS["balanced" if method is None else method.effort]


def has_many_minima(problem: Problem, first: Result, seconds: float) -> bool:
    """Whether a small problem may have several minima: an h that is not convex, or an f that bends downwards.

    An f that does not say whether it is convex is looked at around the answer `first`, which took `seconds` of work.
    Orthonormal columns are left to annealing; the best signal with few jumps may be known.
    """
    if any(isinstance(block.h, Stiefel) for block in problem.blocks):
        return False
    if sum(math.prod(block.shape) for block in problem.blocks) > FEW or seconds > QUICK:
        return False
    if type(prototype(problem)) is not np.ndarray or best_signal(problem) is not None:
        return False
    return any(
        not block.h.is_convex or (block.f is not None and _bends_down(block.f, x))
        for block, x in zip(problem.blocks, first.x, strict=True)
    )


def _bends_down(f: Smooth, x: np.ndarray) -> bool:
    """Whether f is known not to be convex, or its gradient is not monotone between a few points around x."""
    if f.is_convex is not None:
        return not f.is_convex
    rng, size = np.random.default_rng(0), float(np.max(np.abs(x), initial=0.0)) or 1.0
    for width in np.repeat([0.1, 1.0, 10.0], CHORDS):
        v, w = (x + width * size * rng.standard_normal(x.shape) for _ in range(2))
        if f.domain is not None:
            v, w = f.domain.inside(v), f.domain.inside(w)
        try:
            with np.errstate(all="ignore"):
                rise = float(np.vdot(f.grad(v) - f.grad(w), v - w))
        except (TypeError, ValueError, ArithmeticError):  # not defined so far out
            continue
        if rise < 0:
            return True
    return False


def from_convex(problem: Problem, first: Result, again: Again) -> Result:
    """`first`, or where it failed and this is better, what is found from the answer of a convex problem."""
    relaxed = None if first.success or first.nit < LONG else convex_start(problem)
    if relaxed is None:
        return first
    try:
        answer = again(relaxed, None, first.seconds)
    except (AssumptionError, DivergenceError):
        return first
    other = again(problem, answer.x, first.seconds + answer.seconds)
    best = min(first, other, key=_rank)
    best.starts, best.seconds = 2, first.seconds + answer.seconds + other.seconds
    return best


def convex_start(problem: Problem) -> Problem | None:
    """The problem with `L1` in the place of concave penalties of entries; None where there is none, or that is no help.

    Where an equation has to hold, first-order steps on such a penalty hardly leave the first support that they find.
    """
    free = problem.unconstrained or problem.restorable is not None
    if free or type(prototype(problem)) is not np.ndarray:
        return None
    if sum(math.prod(block.shape) for block in problem.blocks) > SMALL:
        return None
    return _convexified(problem, _as_l1)


def _as_l1(h: Any) -> Nonsmooth | None:
    """`L1` for a concave penalty of entries."""
    return L1(h.lam) if isinstance(h, ScalarPenalty) and h.has_faces and not h.is_convex else None


def _eased(h: Any) -> Nonsmooth | None:
    """What may stand for an h that is not convex: its convex part, `L1` for a concave penalty, or nothing at all."""
    if h.is_convex or h.is_manifold:
        return None
    if isinstance(h, Sum):
        parts = [part for part in (h.penalty, h.constraint) if part.is_convex]
        return parts[0] if len(parts) == 1 else None
    return _as_l1(h) or Zero()


def _convexified(problem: Problem, instead: Callable[[Nonsmooth], Nonsmooth | None]) -> Problem | None:
    """The problem with `instead(h)` for every h that has one; None where none has, or it is not convex then."""
    others = [instead(block.h) for block in problem.blocks]
    blocks = [
        Block(f=b.f, h=h or b.h, A=A, shape=b.shape)
        for b, h, A in zip(problem.blocks, others, problem.operators, strict=True)
    ]
    changed = Problem(blocks, problem.b) if any(h is not None for h in others) else None
    return changed if changed is not None and is_convex(changed) else None


def lowest_of(
    problem: Problem, first: Result, count: int, again: Again, limit: float | None, seed: Any
) -> Result:
    """The best of `first` and of up to `count` starts of a small problem; fewer where `AGREEING` end at one value.

    The first of them is the answer of the problem with convex functions in the place of others; the next are drawn, in
    units of the entries of `first`, and changed in single entries (`kicks`); so is the best of all, at last.
    """
    found, clock, begun = [first], Stopwatch(first.seconds, limit), time.process_time()
    if first.status in STOPPED or clock.over():
        return first

    def attempt(start: Sequence[Array]) -> None:
        try:
            found.append(again(problem, start, clock.seconds()))
        except (AssumptionError, DivergenceError, ValueError, ArithmeticError):  # this start leads nowhere
            return

    def over() -> bool:
        return clock.over() or time.process_time() > begun + LENGTH

    size = ROUNDED * float(np.max(np.abs(first.history["objective"]), initial=0.0))

    def lowest() -> list[Result]:
        """Those that end at the lowest value, the first of them first."""
        best = min(found, key=_rank)
        room = AGREED * abs(best.fun) + size
        return [r for r in found if r.success == best.success and r.fun <= best.fun + room]

    def enough() -> bool:
        return len(lowest()) >= AGREEING or over()

    relaxed = _convexified(problem, _eased)
    if relaxed is not None:
        with suppress(AssumptionError, DivergenceError, ValueError, ArithmeticError):
            answer = again(relaxed, None, clock.seconds())
            if answer.success:
                attempt(answer.x)
    like, rng = prototype(problem), np.random.default_rng([1, 0 if seed is None else seed])
    units = {id(block): units_of(problem, i, first.x[i]) for i, block in enumerate(problem.blocks)}
    tried = len(found)
    while tried < count and not enough():
        tried += 1
        with suppress(ValueError, ArithmeticError):
            start = drawn(problem, like, rng, _is_drawn, turned=lambda block, v: v * units[id(block)])
            attempt(kicked(problem, start, over) or start)
    for _ in range(KICKS):
        point = kicked(problem, lowest()[0].x, over)
        if point is None:
            break
        attempt(point)
    best = lowest()[0]
    best.starts, best.seconds = len(found), clock.seconds()
    return best


def _centred(block: Block, v: Array) -> Array:
    """v around the middle of two values, so that either is as likely."""
    h = block.h
    return 0.5 * (h.lo + h.hi) + (h.hi - h.lo) * v if isinstance(h, Binary) else v


def _is_drawn(block: Block, zero: Array) -> bool:
    return not block.h.is_convex or block.f is not None


def units_of(problem: Problem, i: int, x: np.ndarray) -> Any:
    """How large the entries of block i are: 1/√(‖A e_j‖² + ∂²f/∂x_j²) at x, times what makes them as long as x."""
    f, size = problem.blocks[i].f, float(np.linalg.norm(x))
    if size == 0 or problem.blocks[i].h.is_manifold:
        return 1.0
    squares = column_norms(problem, i) ** 2
    bend = f.hessian(x) if f is not None and x.size <= BENT else None
    if isinstance(bend, np.ndarray):
        squares = squares + np.abs(np.diag(bend) if bend.ndim == 2 else bend).reshape(x.shape)
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    return float(np.linalg.norm(scale * x)) / scale


def best_of(
    problem: Problem, first: Result, count: int, again: Again, tol: float, limit: float | None, seed: Any
) -> Result:
    """The best of `first` and of further starts; `again(problem, x0, seconds used)` solves from one.

    The first of these is what exchanges of entries of discrete blocks (`flips`) make of the answer of the convex
    relaxation, where there is one; the others are drawn, and exchanged too; the last is what exchanges make of the
    best. Where the first is as low as the relaxation, nothing is lower, and there are no others.
    """
    found, clock = [first], Stopwatch(first.seconds, limit)
    if first.status in STOPPED or clock.over():
        return first
    if (relaxed := _relaxation(problem)) is not None:
        answer = again(relaxed, None, clock.seconds())
        point = exchanged(problem, answer.x, clock.over) or answer.x
        rounded = _held(problem, point, again, clock, tol) or again(problem, point, clock.seconds())
        found.append(rounded)
        room = tol * max(abs(answer.fun), abs(rounded.fun))
        proved = is_convex(relaxed) and answer.success and rounded.success
        if proved and rounded.fun <= answer.fun + room:
            rounded.starts, rounded.seconds = len(found), clock.seconds()
            rounded.message += "; nothing is lower: the convex relaxation has the same value"
            return rounded
    like, rng = prototype(problem), np.random.default_rng(seed)
    while len(found) < count and not clock.over():
        start = drawn(problem, like, rng, _is_drawn, turned=_centred)
        found.append(again(problem, exchanged(problem, start, clock.over) or start, clock.seconds()))
    point = exchanged(problem, min(found, key=_rank).x, clock.over)
    if point is not None:
        found.append(_held(problem, point, again, clock, tol) or again(problem, point, clock.seconds()))
    best = min(found, key=_rank)
    best.starts, best.seconds = len(found), clock.seconds()
    return best


def _relaxation(problem: Problem) -> Problem | None:
    """The problem with the convex hulls of its discrete sets; None where there are none, or others are not convex."""
    relaxed = [_relaxed(block.h) for block in problem.blocks]
    if not any(relaxed):
        return None
    blocks = [
        Block(f=b.f, h=h or b.h, A=A, shape=b.shape)
        for b, h, A in zip(problem.blocks, relaxed, problem.operators, strict=True)
    ]
    return Problem(blocks, problem.b) if all(block.h.is_convex for block in blocks) else None


def _held(problem: Problem, x: Sequence[Array], again: Again, clock: Stopwatch, tol: float) -> Result | None:
    """The other blocks solved for, while the discrete ones stay where they are: steps of all blocks may lead away.

    None where that is not certified, or nothing is discrete. Every s is normal to a discrete set, so what is critical
    in the others is critical altogether.
    """
    discrete = [i for i, block in enumerate(problem.blocks) if isinstance(block.h, Binary | KBinary)]
    if not discrete or not all(type(xi) is np.ndarray for xi in x):
        return None
    pairs = list(zip(problem.blocks, problem.operators, strict=True))
    fixed = [problem.blocks[i].h.prox(xi, 1.0) if i in discrete else xi for i, xi in enumerate(x)]
    blocks = [
        Block(f=b.f, h=Box(fixed[i], fixed[i]) if i in discrete else b.h, A=A, shape=b.shape)
        for i, (b, A) in enumerate(pairs)
    ]
    part = Problem(blocks, problem.b)
    result = again(part, fixed, clock.seconds())
    if not (result.success and isinstance(result.state, State)):
        return None
    slopes = list(subgradients(part, result.state))
    for i in discrete:
        (block, A), xi = pairs[i], result.x[i]
        slopes[i] = -A.adjoint(result.z) - (0.0 if block.f is None else block.f.grad(xi))
    state = assembled(problem, result.nit, result.x, tuple(slopes), result.z)
    certificate = None if state is None else certify(problem, state)
    if state is None or certificate is None or not certificate.relative <= tol:
        return None
    result.update(state=state, certificate=certificate, fun=float(objective(problem, state)))
    result.message = "; ".join([result.status.value, *certified(problem, result.x, result.fun, result.nit)])
    result.method = f"{result.method}, discrete blocks by exchanges"
    return problem.answer(result)


def _rank(result: Result) -> tuple[bool, bool, float]:
    return result.status is Status.DIVERGED, not result.success, result.fun


def _relaxed(h: Nonsmooth) -> Nonsmooth | None:
    """The convex hull of a discrete set."""
    if isinstance(h, KBinary) and h.k > 0:
        return CappedSimplex(float(h.k))
    return Box(h.lo, h.hi) if isinstance(h, Binary) else None
