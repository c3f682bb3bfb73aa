"""Further starts where one is cheap and not enough: sets of several pieces, on which a method stays where it begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..functions import Binary, Box, CappedSimplex, KBinary, NonNegative, Nonsmooth, Stiefel
from ..methods import AcceleratedIPDS, Method
from ..problem import Block, Problem
from ..status import Status
from .flips import exchanged
from .starting import drawn, prototype
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

STARTS = {"fast": 1, "balanced": 8, "thorough": 24}
"""Starts by the effort of `AcceleratedIPDS`; "auto" is balanced."""
STOPPED = (Status.INTERRUPTED, Status.CALLBACK)
"""Ends that somebody asked for: no further start after them."""
SMALL = 5000
"""Entries of all blocks up to which a start is cheap."""


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


def best_of(
    problem: Problem,
    first: Result,
    count: int,
    again: Callable[[Problem, Sequence[Array] | None, float], Result],
    limit: float | None,
    seed: Any,
) -> Result:
    """The best of `first` and of further starts; `again(problem, x0, seconds used)` solves from one.

    The first of these is the answer of the convex relaxation, where a discrete set has one; the others are drawn; the
    last is what exchanges of entries of discrete blocks make of the best (`flips`), where that is lower.
    """
    found = [first]
    for start in _starts(problem, count - 1, again, lambda: sum(r.seconds for r in found), seed):
        used = sum(r.seconds for r in found)
        if first.status in STOPPED or (limit is not None and used >= limit):
            break
        found.append(again(problem, start, used))
    if first.status not in STOPPED:
        clock = Stopwatch(sum(r.seconds for r in found), limit)
        point = exchanged(problem, min(found, key=_rank).x, clock.over)
        if point is not None:
            found.append(again(problem, point, clock.seconds()))
    best = min(found, key=_rank)
    best.starts, best.seconds = len(found), sum(r.seconds for r in found)
    return best


def _rank(result: Result) -> tuple[bool, bool, float]:
    return result.status is Status.DIVERGED, not result.success, result.fun


def _starts(
    problem: Problem, count: int, again: Callable[..., Result], used: Callable[[], float], seed: Any
) -> Iterator[tuple[Array, ...]]:
    relaxed = [_relaxed(block.h) for block in problem.blocks]
    if count > 0 and any(relaxed):
        blocks = [
            Block(f=b.f, h=h or b.h, A=A, shape=b.shape)
            for b, h, A in zip(problem.blocks, relaxed, problem.operators, strict=True)
        ]
        if all(block.h.is_convex for block in blocks):
            yield again(Problem(blocks, problem.b), None, used()).x
            count -= 1
    like, rng = prototype(problem), np.random.default_rng(seed)
    for _ in range(count):
        yield drawn(problem, like, rng, lambda block, zero: not block.h.is_convex or block.f is not None)


def _relaxed(h: Nonsmooth) -> Nonsmooth | None:
    """The convex hull of a discrete set."""
    if isinstance(h, KBinary) and h.k > 0:
        return CappedSimplex(float(h.k))
    return Box(h.lo, h.hi) if isinstance(h, Binary) else None
