"""Further starts where one is cheap and not enough: sets of several pieces, on which a method stays where it begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    Sphere,
    Stiefel,
    Sum,
)
from ..functions.scalar import ScalarPenalty
from ..methods import AcceleratedIPDS, Method
from ..methods.faces.restricted import assembled
from ..problem import Block, Problem
from ..status import Status
from ..theory.certificate import certify, subgradients
from ..theory.fixed import is_convex
from ..theory.objective import objective
from ..theory.state import State
from .flips import exchanged
from .remarks import certified
from .starting import drawn, prototype
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

STARTS = {"fast": 1, "balanced": 8, "thorough": 24}
"""Starts by the effort of `AcceleratedIPDS`; "auto" is balanced."""
STOPPED = (Status.INTERRUPTED, Status.CALLBACK)
"""Ends that somebody asked for: no further start after them."""
LONG = 1000
"""Iterations after which a failure is one."""
FEW = 200
"""Entries up to which minima of an f between bounds are looked for from several starts."""
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


def has_many_minima(problem: Problem) -> bool:
    """Whether few entries may have many minima: on a part of a sphere, between bounds under an f that is not convex."""
    return sum(math.prod(block.shape) for block in problem.blocks) <= FEW and any(
        _is_part_of_sphere(block.h) or (block.h.is_convex and _bends_between_bounds(block))
        for block in problem.blocks
    )


def _is_part_of_sphere(h: Nonsmooth) -> bool:
    return isinstance(h, Sum) and any(isinstance(part, Sphere) for part in (h.penalty, h.constraint))


def _bends_between_bounds(block: Block) -> bool:
    known = block.f is not None and block.f.is_convex is False
    return known and bool(np.all(np.isfinite(np.asarray(block.h.width(block.shape), float))))


def from_convex(
    problem: Problem, first: Result, again: Callable[[Problem, Sequence[Array] | None, float], Result]
) -> Result:
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
    concave = [isinstance(b.h, ScalarPenalty) and b.h.has_faces and not b.h.is_convex for b in problem.blocks]
    blocks = [
        Block(f=b.f, h=L1(b.h.lam) if own else b.h, A=A, shape=b.shape)  # type: ignore[attr-defined]
        for b, A, own in zip(problem.blocks, problem.operators, concave, strict=True)
    ]
    relaxed = Problem(blocks, problem.b) if any(concave) else None
    return relaxed if relaxed is not None and is_convex(relaxed) else None


def best_of(
    problem: Problem,
    first: Result,
    count: int,
    again: Callable[[Problem, Sequence[Array] | None, float], Result],
    tol: float,
    limit: float | None,
    seed: Any,
) -> Result:
    """The best of `first` and of further starts; `again(problem, x0, seconds used)` solves from one.

    The first of these is what exchanges of entries of discrete blocks (`flips`) make of the answer of the convex
    relaxation, where there is one; the others are drawn; the last is what exchanges make of the best. Where the first
    is as low as the relaxation, nothing is lower, and there are no others.
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
        start = drawn(problem, like, rng, lambda block, zero: not block.h.is_convex or block.f is not None)
        found.append(again(problem, start, clock.seconds()))
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


def _held(
    problem: Problem, x: Sequence[Array], again: Callable[..., Result], clock: Stopwatch, tol: float
) -> Result | None:
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
