"""Exchanges on discrete sets: flip one or two entries of an answer for as long as that lowers the objective.

Every point of {lo, hi}ⁿ is critical, so a certificate cannot tell a poor one from a good one. A point that no choice of
k entries improves is block-k stationary, which says more (Yuan, A block coordinate descent method for nonsmooth
composite optimization under orthogonality constraints, ICLR 2026, for the rows of orthonormal matrices); here k = 2,
and 4 where an equation, as that of an assignment, asks for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._arrays import to_dense
from ..functions import Binary, KBinary, Nonsmooth, Stacked
from ..operators import Identity
from ..problem import Problem
from .inventing import NEAR

ENTRIES = 500
"""Entries of a block up to which every one of them is tried."""
PAIRED = 16
"""Entries of either value, those whose flips cost least, of which pairs are tried."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""
BALANCED, TRIED = 100_000, 300
"""Pairs of entries of one value, and flips of two of these, up to which they are listed, and are tried one by one."""
ROUNDED = 1e-9
"""What is rounding of a sum of columns."""

Arrays = tuple[np.ndarray, ...]


def exchanged(problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool]) -> Arrays | None:
    """A lower point that differs in entries of discrete blocks; None where x is the lowest next to itself.

    Asks for a problem without an equation, or for a convex block that can be moved to satisfy it, A = c·I. Where that
    block has to stay in a set (an inequality, say), points that leave it less come before lower ones. What was found
    when `late()` is returned.

    >>> from ipds import Block
    >>> from ipds.functions import L1
    >>> problem = Problem([Block(h=Binary(), A=-1.0, shape=2), Block(h=L1(1.0), shape=2)], b=np.array([-0.9, 0.1]))
    >>> exchanged(problem, (np.zeros(2), np.array([-0.9, 0.1])), lambda: False)[0]
    array([1., 0.])
    """
    moved_along = None if problem.unconstrained else follower(problem)
    at = [i for i, block in enumerate(problem.blocks) if isinstance(block.h, Binary | KBinary)]
    at = [i for i in at if math.prod(x[i].shape) <= ENTRIES]
    known = problem.unconstrained or moved_along is not None
    if not (known and at and all(type(xi) is np.ndarray for xi in x)):
        return None
    start = tuple(problem.blocks[i].h.prox(xi, 1.0) if i in at else xi for i, xi in enumerate(x))
    merit = Merit(problem, moved_along)
    found, value = start, merit(start)
    moved = math.isfinite(value[1])
    while moved and not late():
        moved = False
        for i in at:
            better = _next(merit, found, value, i, late)
            if better is not None:
                found, value, moved = *better, True
    return None if found is start else merit.restored(found)


def follower(problem: Problem) -> int | None:
    """The block that the equation is solved for: one that is finite everywhere, else the last with a convex h."""
    if problem.restorable is not None:
        return problem.restorable
    pairs = enumerate(zip(problem.blocks, problem.operators, strict=True))
    fit = [i for i, (b, op) in pairs if b.h.is_convex and isinstance(op, Identity) and op.scale]
    return fit[-1] if fit else None


@dataclass(frozen=True, eq=False)
class Merit:
    """(by how much blocks leave their sets, the objective) where block `follower` satisfies the equation.

    Pairs compare as Python's do: what is feasible comes first.
    """

    problem: Problem
    follower: int | None

    def restored(self, x: Arrays) -> Arrays:
        """x with the equation satisfied."""
        restored = None if self.follower is None else self.problem.restore(x, at=self.follower)
        return x if restored is None else restored

    def __call__(self, x: Arrays) -> tuple[float, float]:
        blocks, full = self.problem.blocks, self.restored(x)
        value = sum(float(b.f(xi)) for b, xi in zip(blocks, full, strict=True) if b.f is not None)
        left = 0.0
        for i, (block, xi) in enumerate(zip(blocks, full, strict=True)):
            if i == self.follower:
                outside, own = _outside(block.h, xi)
                left, value = left + outside, value + own
            elif not block.h.is_set:  # the others stay where they are, in their sets
                value += float(block.h(xi))
        return left, math.inf if math.isnan(value) else value


def lower_than(value: tuple[float, float]) -> tuple[float, float]:
    """Below this, a merit is lower than `value`."""
    return (1 - LOWER) * value[0], value[1] - LOWER * abs(value[1])


def _outside(h: Nonsmooth, u: np.ndarray) -> tuple[float, float]:
    """(how far u is from where a convex h is finite, h of the nearest point there)."""
    if isinstance(h, Stacked):
        pieces = zip(h.parts, h.slices, strict=True)
        parts = [_outside(own, u[place].reshape(shape)) for (own, shape), place in pieces]
        return sum(left for left, _ in parts), sum(value for _, value in parts)
    value = float(h(u))
    if math.isfinite(value):
        return 0.0, value
    near = h.prox(u, 1.0 if h.is_set else NEAR)
    return float(np.linalg.norm(near - u)), float(h(near))


def balanced_flips(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Flips of two entries of either value that leave M x as it is, as columns of four; none where there are many.

    >>> assignments = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1.0]])
    >>> balanced_flips(assignments, np.array([1, 0, 0, 1.0])).ravel()
    array([0, 3, 1, 2])
    """
    key = np.random.default_rng(0).standard_normal(len(M)) @ M  # alike where columns are
    room = ROUNDED * float(np.max(np.abs(key), initial=0.0))
    sides = [np.flatnonzero(side) for side in (x > x.mean(), x < x.mean())]
    if any(len(side) ** 2 > 2 * BALANCED for side in sides):
        return np.zeros((4, 0), int)
    high, low = (side[np.stack(np.triu_indices(len(side), 1))] for side in sides)
    low = low[:, np.argsort(key[low].sum(axis=0))]
    wanted, there = key[high].sum(axis=0), key[low].sum(axis=0)
    first, end = np.searchsorted(there, wanted - room), np.searchsorted(there, wanted + room)
    if np.sum(end - first) > BALANCED:  # pairs times pairs, where many columns are alike
        return np.zeros((4, 0), int)
    which = np.repeat(np.arange(len(wanted)), end - first)
    other = np.arange(len(which)) - np.repeat(np.cumsum(end - first) - end, end - first)
    return np.concatenate([high[:, which], low[:, other]])


def _next(
    merit: Merit, x: Arrays, value: tuple[float, float], i: int, late: Callable[[], bool]
) -> tuple[Arrays, tuple[float, float]] | None:
    """The lowest point with one entry of block i flipped, or else with two, or two of either value that leave the rows
    of the equation as they are; None where none is lower."""
    problem, h = merit.problem, merit.problem.blocks[i].h
    enough = lower_than(value)

    def costs(choices: Iterable[tuple[int, ...]]) -> list[tuple[tuple[float, float], tuple[int, ...]]]:
        return sorted((merit(_flipped(x, i, h, some)), some) for some in choices if not late())

    singles = costs((k,) for k in range(x[i].size))
    trials = singles if isinstance(h, Binary) else []  # a single flip leaves the choices of k
    if not (trials and trials[0][0] < enough):
        trials = costs(_pairs(h, x[i], [k for _, (k,) in singles]))
    M = None if problem.unconstrained else problem.operators[i].as_matrix(x[i].shape)
    if M is not None and not (trials and trials[0][0] < enough):
        moves = balanced_flips(to_dense(M), x[i].ravel())
        trials = costs(map(tuple, moves.T.tolist())) if moves.shape[1] <= TRIED else []
    lowest, entries = trials[0] if trials else (value, ())
    return (_flipped(x, i, h, entries), lowest) if lowest < enough else None


def _pairs(h: Nonsmooth, x: np.ndarray, cheapest: list[int]) -> Iterable[tuple[int, ...]]:
    """Pairs of the entries whose flips cost least that leave x in the set."""
    high = x.ravel() > x.mean()
    sides = [[k for k in cheapest if high[k] == side][:PAIRED] for side in (True, False)]
    return (
        itertools.product(*sides)
        if isinstance(h, KBinary)
        else itertools.combinations([*sides[0], *sides[1]], 2)
    )


def _flipped(x: Arrays, i: int, h: Nonsmooth, entries: Sequence[int]) -> Arrays:
    """x with these entries of block i at their other value."""
    low, high = (h.lo, h.hi) if isinstance(h, Binary) else (0.0, 1.0)
    own = x[i].copy()
    for k in entries:
        own.flat[k] = low + high - own.flat[k]
    return (*x[:i], own, *x[i + 1 :])
