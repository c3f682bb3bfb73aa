"""Changes of single entries: out of a minimum of an h that is known by its prox alone, or of an f between bounds.

Where a set is of isolated points or of several pieces (integers, 0 or an interval, one entry of each row), every step
that is short leads back to where it began. An entry is moved by as much as entries differ, the prox makes a point of
the set of that, and what is lower is taken; where no single one helps, two entries are moved, one against the other, as
an equation may ask.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..functions import L0
from ..functions.scalar import ScalarPenalty
from ..problem import Block, Problem
from .flips import Arrays, Merit, follower

ENTRIES, PAIRED = 100, 30
"""Entries of a block up to which each is moved, and pairs of them are."""
LENGTHS = 2.0, 1.0, 0.5, 0.25
"""By how much, in units of the largest entry."""
MOVES = 50
"""Moves at most."""
NEAR = 1e-12
"""A step so short that a prox only leads to where h is finite."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""

Moves = Iterable[dict[int, float]]
"""New values of entries."""


def kicked(problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool]) -> Arrays | None:
    """A lower point that differs in entries of blocks with such an h or f; None where no move is lower.

    >>> from ipds import Block
    >>> from ipds.functions import Linear, Box, Quadratic
    >>> problem = Problem([Block(f=Quadratic(-1.0, np.array([0.1, -0.1])), h=Box(-1.0, 1.0), shape=2)])
    >>> kicked(problem, (np.ones(2),), lambda: False)[0]
    array([-1.,  1.])
    """
    moved_along = None if problem.unconstrained else follower(problem)
    at = [i for i, block in enumerate(problem.blocks) if _is_stuck(block) and x[i].size <= ENTRIES]
    if not (at and (problem.unconstrained or moved_along is not None)):
        return None
    merit, found = Merit(problem, moved_along), tuple(x)
    value = merit(found)
    if not math.isfinite(value[1]):
        return None
    start = found
    for _ in range(MOVES):
        better = min(
            (pair for i in at if (pair := _next(merit, found, value, i, late)) is not None),
            key=lambda pair: pair[1],
            default=None,
        )
        if better is None:
            break
        found, value = better
    return None if found is start else merit.restored(found)


def _is_stuck(block: Block) -> bool:
    """Whether short steps may lead nowhere: sets of pieces, concave penalties, an f that bends down in bounds."""
    h, f = block.h, block.f
    if isinstance(h, ScalarPenalty):
        return not h.is_convex and not isinstance(h, L0)  # supports of that one are exchanged on its faces
    if not h.is_convex:
        return not (h.has_faces or h.is_manifold) and h.face(np.zeros(block.shape)) is None
    bounded = bool(np.all(np.isfinite(np.asarray(h.width(block.shape), float))))
    return bounded and f is not None and f.is_convex is not True


def _next(
    merit: Merit, x: Arrays, value: tuple[float, float], i: int, late: Callable[[], bool]
) -> tuple[Arrays, tuple[float, float]] | None:
    """The lowest point with one entry of block i moved, or else with two; None where none is lower."""
    h, own, n = merit.problem.blocks[i].h, x[i].ravel(), x[i].size
    sizes = [sign * length * (float(np.max(np.abs(own))) or 1.0) for length in LENGTHS for sign in (1, -1)]
    enough = (1 - LOWER) * value[0], value[1] - LOWER * abs(value[1])
    singles: Moves = ({k: new} for k in range(n) for new in (*(own[k] + d for d in sizes), 0.0))
    pairs: Moves = (
        {k: own[k] + d, j: own[j] - d}
        for k, j in itertools.combinations(range(n if n <= PAIRED else 0), 2)
        for d in sizes
    )
    for moves in (singles, pairs):
        lowest, best = enough, None
        for move in moves:
            if late():
                return None
            v = x[i].copy()
            v.flat[list(move)] = list(move.values())
            trial = (*x[:i], h.prox(v, 1.0 if h.is_set else NEAR), *x[i + 1 :])
            reached = merit(trial)
            if reached < lowest:
                lowest, best = reached, trial
        if best is not None:
            return best, lowest
    return None
