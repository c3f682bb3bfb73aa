"""Which block the equation can be solved for: what methods that eliminate a block, and their theorems, ask."""

from __future__ import annotations

import math

from .._arrays import Shape
from ..functions import (
    PSD,
    Huber,
    L2Ball,
    LogDet,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Scaled,
    SecondOrderCone,
    SquaredHinge,
    Stacked,
)
from ..functions.entrywise import Entrywise
from ..operators import Identity
from ..problem import Problem


def eliminable(problem: Problem) -> int | None:
    """Index of the block to eliminate: convex h, A = c·I (or bijective with AᵀA = c²·I); best without f, then last."""
    fit = []
    for j, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        isometric = bool(op.gram) and math.prod(block.shape) == math.prod(problem.shape)
        if isometric and block.h.is_convex and len(problem.blocks) > 1:
            fit.append((block.f is None, j))
    return max(fit)[1] if fit else None


def solvable(problem: Problem) -> int | None:
    """Index of the block to solve the equation for: A = c·I, h convex and Lipschitz; best without f, then last.

    Its f, if any, must be able to move to the other block: with two blocks it can, as f((b - A x)/c).
    """
    fit = []
    for j, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        fits = isinstance(op, Identity) and op.scale != 0 and block.h.is_convex and len(problem.blocks) > 1
        movable = block.f is None or len(problem.blocks) == 2
        if fits and movable and math.isfinite(block.h.lipschitz(block.shape)):
            fit.append((block.f is None, j))
    return max(fit)[1] if fit else None


def is_convex_canonical(problem: Problem) -> bool:
    """Whether all functions are known to be convex, and the last block has A = c·I."""
    return may_be_convex_canonical(problem) and all(
        b.f is None or bool(b.f.is_convex) for b in problem.blocks
    )


def may_be_convex_canonical(problem: Problem) -> bool:
    """The same where nothing is known of some f: a user's own may be convex without saying so."""
    op = problem.operators[-1]
    canonical = len(problem.blocks) > 1 and isinstance(op, Identity) and op.scale != 0
    return canonical and all(
        b.h.is_convex and (b.f is None or b.f.is_convex is not False) for b in problem.blocks
    )


def is_described(h: Nonsmooth, shape: Shape) -> bool:
    """Whether h is known by its kinks, bounds or norms of groups."""
    if isinstance(h, Stacked):
        return all(is_described(part, own) for part, own in h.parts)
    return h.kinks(shape) is not None or h.groups(shape) is not None


SIDE = 30
"""Rows of a matrix up to which barriers of its eigenvalues are written out."""


def is_interior(h: Nonsmooth, shape: Shape) -> bool:
    """Whether interior-point steps can take h: by its kinks, bounds or norms, or by a barrier."""
    if isinstance(h, Stacked):
        return all(is_interior(part, own) for part, own in h.parts)
    return is_described(h, shape) or has_barrier(h, shape)


def has_barrier(h: Nonsmooth, shape: Shape) -> bool:
    """Whether h is a loss that is smooth where it is finite, or a cone or ball with a barrier."""
    h = _inner(h)
    if isinstance(h, LogDet | PSD | Nuclear):
        return len(shape) == 2 and max(shape) <= SIDE
    return is_loss(h) or isinstance(h, SecondOrderCone) or (isinstance(h, L2Ball) and h.radius > 0)


def is_loss(h: Nonsmooth) -> bool:
    """Whether h is a sum over entries that is smooth where it is finite."""
    h = _inner(h)
    return isinstance(h, Huber) or (isinstance(h, Entrywise) and h.is_differentiable)


def is_piecewise_quadratic(h: Nonsmooth) -> bool:
    """Whether a loss has some faces, on each of which it is quadratic or linear."""
    return isinstance(_inner(h), Huber | SquaredHinge)


def _inner(h: Nonsmooth) -> Nonsmooth:
    """h without factors, units and shifts."""
    while isinstance(h, Scaled) or (isinstance(h, Precomposed) and type(h.a) is float):
        h = h.h
    return h


def idle(problem: Problem) -> list[str]:
    """What to know of sets that constrain nothing, as `RowCardinality(4)` of rows with two entries."""
    blocks = zip(problem.names, problem.blocks, strict=True)
    return [
        f"{b.h!r} holds every block of shape {b.shape}: it does not constrain {n!r}"
        for n, b in blocks
        if b.h.is_idle(b.shape)
    ]
