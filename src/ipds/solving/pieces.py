"""Sets that a caller's prox makes of every entry alone: which intervals and points they are of.

The projection on a union of intervals moves no faster than its argument but for a jump in the middle of every gap.
Where it jumps between points of a grid, halving finds the two ends of the gap, for all entries at once. The intervals
found have to give the prox at other points as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..functions import Nonsmooth

FAR = 1e9
"""How far out a set ends, if it does."""
GRID, HALVINGS = 256, 60
"""Points between the ends of a set at which jumps are looked for, and halvings that find one."""
NEAR = 30
"""Points next to the ends and next to 0, each half as far away as the one before."""
MOST = 32
"""Gaps of an entry at most."""
ASKED, STEPS = 5, (1e-3, 1e3)
"""Points at which a function is asked whether it is a set of entries apart, and steps that are all one to a set."""
TRIALS = 16
"""Points at which what was found has to be the prox, and"""
ROUNDED = 1e-9
"""to which fraction of the range."""


class Pieces(NamedTuple):
    """Interval p of an entry is [lower[p], upper[p]]; where an entry has fewer, the last stands for those missing."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def are_switches(self) -> bool:
        """Whether every entry is 0 or in one interval."""
        return len(self.lower) == 2 and not (self.lower[0].any() or self.upper[0].any())

    def at(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the intervals chosen, one of every entry."""
        low, high = (np.take_along_axis(side, chosen[None], axis=0)[0] for side in self)
        return low, high

    def nearest(self, v: np.ndarray) -> np.ndarray:
        """The projection of v."""
        points = np.clip(v, self.lower, self.upper)
        return np.take_along_axis(points, np.argmin(np.abs(points - v), axis=0)[None], axis=0)[0]


def is_entrywise_set(h: Nonsmooth, x: np.ndarray) -> bool:
    """Whether h is a set that says of each entry alone where it may be, or does so wherever it was asked.

    Callers need not say that theirs is a set: then no step makes a difference, and it costs nothing.
    """
    if h.is_entrywise and h.is_set:
        return True
    rng, size = np.random.default_rng(0), 2 * (float(np.max(np.abs(x), initial=0.0)) or 1.0)
    for _ in range(ASKED):
        v, w = size * rng.standard_normal((2, *x.shape))
        some = rng.random(x.shape) < 0.5
        near = h.prox(v, 1.0)
        if np.any(h.prox(np.where(some, v, w), 1.0) != np.where(some, near, h.prox(w, 1.0))):
            return False
        if not h.is_set and (h(near) != 0 or any(np.any(h.prox(v, step) != near) for step in STEPS)):
            return False
    return True


def ends_of(h: Nonsmooth, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each entry; infinite where there is none."""
    low, high = (
        np.where(h.prox(near, 1.0) == h.prox(2 * near, 1.0), h.prox(near, 1.0), np.sign(near) * np.inf)
        for near in (np.full(shape, -FAR), np.full(shape, FAR))
    )
    return low, high


def pieces_of(h: Nonsmooth, low: np.ndarray, high: np.ndarray) -> Pieces | None:
    """The intervals between finite low and high of a set that says of each entry where it may be; None if it is none.

    >>> from ipds.functions import Binary
    >>> pieces_of(Binary(-1.0, 2.0), np.array([-5.0]), np.array([5.0])).lower.ravel()
    array([-1.,  2.])
    """
    span = high - low
    room = ROUNDED * (span + np.abs(low) + np.abs(high))
    near = span * 0.5 ** np.arange(1, NEAR).reshape(-1, *(1 for _ in low.shape))
    special = [np.clip(v, low, high) for v in (low + near, high - near, near, -near)]
    along = np.sort(np.concatenate([np.linspace(low, high, GRID), *special]), axis=0)
    projected = np.array([h.prox(v, 1.0) for v in along])
    jumps = np.diff(projected, axis=0) > np.diff(along, axis=0) + room
    gaps = int(jumps.sum(axis=0).max(initial=0))
    if gaps > MOST or np.any(np.diff(projected, axis=0) < -room):
        return None
    order = np.argsort(~jumps, axis=0, kind="stable")  # where jumps are, of every entry first
    lower, upper = [projected[0]], []
    for k in range(gaps):
        at = order[k : k + 1]
        is_gap = np.take_along_axis(jumps, at, axis=0)[0]
        left, right = (np.take_along_axis(along, at + side, axis=0)[0] for side in (0, 1))
        below, above = (np.take_along_axis(projected, at + side, axis=0)[0] for side in (0, 1))
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            value = h.prox(np.where(is_gap, middle, low), 1.0)
            goes_right = value - below <= middle - left + room
            left, below = np.where(goes_right, middle, left), np.where(goes_right, value, below)
            right, above = np.where(goes_right, right, middle), np.where(goes_right, above, value)
        upper.append(np.where(is_gap, below, projected[-1]))
        lower.append(np.where(is_gap, above, lower[-1]))
    upper.append(projected[-1])
    found = Pieces(np.array(lower), np.array(upper))
    rng = np.random.default_rng(0)
    trials = [low + rng.random(low.shape) * span for _ in range(TRIALS)]
    return found if all(np.all(np.abs(found.nearest(v) - h.prox(v, 1.0)) <= room) for v in trials) else None
