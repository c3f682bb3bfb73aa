"""The level that cuts the entries of an array down to a given sum: for simplexes, ℓ1 balls and the largest entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, is_jax, namespace
from .scalar import floor_at_zero

SHORT = 1000
"""Entries that are sorted sooner than Newton's steps are taken."""
_COUNTS = np.arange(1.0, SHORT + 1)


def simplex_level(a: Array, total: float) -> float:
    """The τ with Σ (a_i - τ)₊ = total > 0, for a 1-d array: Newton on a convex, piecewise linear function.

    After one step from anywhere it rises to τ in finitely many; a sample of the entries says where to begin. Short
    arrays are sorted instead.
    Michelot, A finite algorithm for finding the projection of a point onto the simplex, JOTA 50 (1986).
    """
    xp = namespace(a)
    if is_jax(a):
        return _level_by_sorting(xp, a, total)
    if xp is np:
        a = a.astype(np.float64, copy=False)
    size, top = a.shape[0], float(xp.max(a))
    if xp is np and size <= SHORT:
        # relative to the largest, and no farther below it than τ can be: no sum overflows
        a = np.sort(np.maximum(a - top, -total))[::-1]
        levels = (a.cumsum() - total) / _COUNTS[:size]
        return top + float(levels[max(int(np.count_nonzero(a > levels)), 1) - 1])
    level = simplex_level(a[::64], total / 64) if size > 20_000 else top - total
    level = min(level, top - min(total, abs(top) + total) * 1e-6)  # some entry must be above it
    used, room = -1, np.empty_like(a) if xp is np else None
    while True:
        excess = floor_at_zero(xp, np.subtract(a, level, out=room) if xp is np else a - level)
        inside = excess > 0
        count = int(xp.count_nonzero(inside))
        if count in (used, 0):  # the same entries as before: exact. None: total vanishes next to the entries
            return level
        change = (float(xp.sum(excess)) - total) / count
        if used >= 0 and change <= 0:  # from the second step on τ rises, until only rounding moves it
            return level
        level += change
        if room is not None and used >= 0 and 4 * count < a.shape[0]:  # from here on τ rises: drop the rest
            a, room = a[inside], room[:count]
        used = count


def _level_by_sorting(xp: Any, a: Array, total: Any) -> Array:
    """The same without a loop of unknown length: the k largest entries are above τ = (their sum - total)/k."""
    a = xp.flip(xp.sort(a))
    levels = (xp.cumulative_sum(a) - total) / xp.arange(1, a.shape[0] + 1, dtype=a.dtype)
    return xp.take(levels, xp.maximum(xp.count_nonzero(a > levels), 1) - 1)
