"""Where the cycles of an annealing begin, if not at the best point so far.

At a random point; midway between two results, which share most of what is good in them; or, of orthonormal columns, at
the best point with a poor column exchanged for the best one that is orthogonal to all of them. Minima of sparse
principal components share most of their columns, and differ in a few: those that no cooling exchanges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._arrays import Array, asarray
from ...functions import Stiefel
from ...operators import Identity
from .annealing import Begin, Schedule, Stage
from .reduced import Arrays, ReducedProblem
from .search import barzilai_borwein
from .single import rounded

COOLING, STEPS = (0.8, 0.4, 0.2, 0.1, 0.03), 40
"""Smoothings, in units of ‖x_j‖/C_h, and steps with each, in which a column is found."""
POOR = 6
"""Columns that are exchanged in turns: those without which the objective is lowest."""


class Incumbent(NamedTuple):
    """The point to go back to: where an annealing starts, and where all began while weights may make it vanish."""

    value: float
    """The objective with the constraint solved for x_j; inf before the first annealing."""
    x: Arrays


def has_meetings(R: ReducedProblem) -> bool:
    """Whether random points, and those midway between two, are points to begin at: on manifolds, f finite on them."""
    finite = all(f is None or f.domain is None for f in (R.f, *(block.f for block in R.blocks)))
    return finite and all(block.h.is_manifold for block in R.blocks)


def begin_cycle(
    R: ReducedProblem, schedule: Schedule, stage: Stage, found: Arrays, before: Arrays, best: Arrays
) -> Arrays:
    """Where the cycle of a stage begins, after a result `found`: `best` is the best point, `before` the one before."""
    origin, rng = schedule.origin(stage), np.random.default_rng(stage.cycle)
    if origin is Begin.BEST:
        return best
    if origin is Begin.EXCHANGED and has_columns(R, best):
        x, earlier = best[0], [cycle.begin for cycle in schedule.effort.cycles[: stage.cycle]]
        return (exchanged(R, x, schedule.unit, earlier.count(Begin.EXCHANGED), rng),)
    if origin is Begin.MIDWAY:
        pairs = zip(R.blocks, found, before, strict=True)
        return tuple([block.h.prox(0.5 * (block.h.mirror(xi, yi) + yi), 1.0) for block, xi, yi in pairs])
    like = zip(R.blocks, found, strict=True)
    return tuple([block.h.prox(asarray(rng.standard_normal(xi.shape), xi), 1.0) for block, xi in like])


def has_columns(R: ReducedProblem, x: Arrays) -> bool:
    """Whether x has orthonormal columns, and room for one more, and x_j is x in other units."""
    plain = R.f is None and all(isinstance(op, Identity) for op in (R.A, *R.operators))
    orthonormal = all(isinstance(block.h, Stiefel) and block.f is not None for block in R.blocks)
    return (
        plain and orthonormal and len(x) == 1 and type(x[0]) is np.ndarray and x[0].shape[0] > x[0].shape[1]
    )


def exchanged(R: ReducedProblem, x: Array, unit: float, turn: int, rng: np.random.Generator) -> Array:
    """x with one of its `POOR` columns, in turns, exchanged for the best that is orthogonal to all of them."""
    (block,), near, values = R.blocks, rounded(x) if R.single else x, []
    for k in range(x.shape[1]):
        y = near.copy()
        y[:, k] = 0.0
        values.append(block.f(y) + R.h(_last(R, y)))  # type: ignore[misc]
    k = int(np.argsort(values)[turn % min(POOR, len(values))])
    y = x.copy()
    y[:, k] = best_column(R, near, k, unit, rng)
    return block.h.prox(y, 1.0)


def best_column(R: ReducedProblem, x: Array, k: int, unit: float, rng: np.random.Generator) -> Array:
    """A column orthogonal to all of x for which, in the place of the k-th, the softened objective is low: by steps of
    Barzilai-Borwein length from a random one, the smoothing ever smaller.
    """
    (block,), (op,) = R.blocks, R.operators
    y, ratio = x.copy(), op.scale / R.c  # type: ignore[attr-defined]

    def orthogonal(v: Array) -> Array:
        v = v - x @ (x.T @ v)
        return v - x @ (x.T @ v)

    column = orthogonal(rng.standard_normal(len(x)).astype(x.dtype))
    column /= np.linalg.norm(column)
    bend = block.f.lipschitz or 0.0  # type: ignore[union-attr]
    for share in COOLING:
        s, before = share * unit, None
        step = 1 / (bend + ratio**2 / s)
        for t in range(STEPS):
            y[:, k] = column
            slope = R.h.soften(_last(R, y), s)[1][:, k]
            g = orthogonal(block.f.grad(y)[:, k] - ratio * slope)  # type: ignore[union-attr]
            g -= column * (column @ g)
            size = float(np.linalg.norm(g))
            if size == 0:
                break
            if before is not None:
                move, change = column - before[0], g - before[1]
                products = float(move @ move), float(move @ change), float(change @ change)
                step = barzilai_borwein(*products, long=t % 2 == 1) or step
            before = column, g
            column = orthogonal(column - min(step, 1 / size) * g)
            column /= np.linalg.norm(column)
    return column


def _last(R: ReducedProblem, x: Array) -> Array:
    """The x_j of the equation."""
    return R.invert(R.b - R.operators[0].apply(x))
