"""Exchanges on discrete sets: flip one or two entries of an answer for as long as that lowers the objective.

Every point of {lo, hi}ⁿ is critical, so a certificate cannot tell a poor one from a good one. A point that no choice of
k entries improves is block-k stationary, which says more (Yuan, A block coordinate descent method for nonsmooth
composite optimization under orthogonality constraints, ICLR 2026, for the rows of orthonormal matrices); here k = 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..functions import Binary, KBinary, Nonsmooth
from ..problem import Problem

ENTRIES = 500
"""Entries of a block up to which every one of them is tried."""
PAIRED = 16
"""Entries of either value, those whose flips cost least, of which pairs are tried."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""

Arrays = tuple[np.ndarray, ...]


def exchanged(problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool]) -> Arrays | None:
    """A lower point that differs in entries of discrete blocks; None where x is the lowest next to itself.

    Asks for a problem without an equation, or for a block that can be moved to satisfy it (`Problem.restorable`). What
    was found when `late()` is returned.

    >>> from ipds import Block
    >>> from ipds.functions import L1
    >>> problem = Problem([Block(h=Binary(), A=-1.0, shape=2), Block(h=L1(1.0), shape=2)], b=np.array([-0.9, 0.1]))
    >>> exchanged(problem, (np.zeros(2), np.array([-0.9, 0.1])), lambda: False)[0]
    array([1., 0.])
    """
    free = problem.unconstrained or problem.restorable is not None
    at = [i for i, block in enumerate(problem.blocks) if isinstance(block.h, Binary | KBinary)]
    at = [i for i in at if x[i].size <= ENTRIES]
    if not (free and at and all(type(xi) is np.ndarray for xi in x)):
        return None
    start = tuple(problem.blocks[i].h.prox(xi, 1.0) if i in at else xi for i, xi in enumerate(x))
    found, value = start, _value(problem, start)
    moved = math.isfinite(value)
    while moved and not late():
        moved = False
        for i in at:
            better = _next(problem, found, value, i, late)
            if better is not None:
                found, value, moved = *better, True
    return None if found is start else found if problem.unconstrained else problem.restore(found)


def _value(problem: Problem, x: Arrays) -> float:
    """The objective at x, the equation satisfied; sets that are not left count 0, what is not a number counts ∞."""
    x = x if problem.unconstrained else problem.restore(x) or x
    terms = list(zip(problem.blocks, x, strict=True))
    value = sum(float(block.f(xi)) for block, xi in terms if block.f is not None)
    value += sum(float(block.h(xi)) for block, xi in terms if not block.h.is_set)
    return math.inf if math.isnan(value) else value


def _next(
    problem: Problem, x: Arrays, value: float, i: int, late: Callable[[], bool]
) -> tuple[Arrays, float] | None:
    """The lowest point with one entry of block i flipped, or else with two; None where none is lower."""
    h = problem.blocks[i].h
    enough = value - LOWER * abs(value)

    def costs(choices: Iterable[tuple[int, ...]]) -> list[tuple[float, tuple[int, ...]]]:
        return sorted((_value(problem, _flipped(x, i, h, some)), some) for some in choices if not late())

    singles = costs((k,) for k in range(x[i].size))
    trials = singles if isinstance(h, Binary) else []  # a single flip leaves the choices of k
    if not (trials and trials[0][0] < enough):
        trials = costs(_pairs(h, x[i], [k for _, (k,) in singles]))
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
