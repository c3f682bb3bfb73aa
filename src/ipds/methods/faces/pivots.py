"""Exact answers to small problems of least absolute deviations, from vertex to vertex.

    min_v Σ max(left_i r_i, right_i r_i),   r = M v + c,   M with few columns

A vertex has as many rows with r_i = 0 as M has columns, the basis T. There y_T = -M_T⁻ᵀ Σ_{i∉T} y_i M_i, y_i being the
slope of row i; the vertex is a solution where left ≤ y_T ≤ right. Else the row that breaks this the most leaves the
basis: v moves along M_T⁻¹e_j until the slope of the objective, which grows at every row that is crossed, is no longer
negative, and the row crossed there takes its place.
Barrodale & Roberts, An improved algorithm for discrete l1 linear approximation, SIAM J. Numer. Anal. 10 (1973).

From a v that is far from a solution, reweighted least squares come first: 12 of them take less time than the exchanges
that they save.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

PIVOTS = 300
"""Exchanges at most: more than three for each column at a usual start; a cycle ends here."""
REFRESH = 40
"""Exchanges after which the inverse of the basis is computed afresh; between, it is updated."""
NEAR = 200
"""Rows looked at first where a direction crosses many."""
SLACK = 1e-9
"""By how much y_T may miss its bounds, in units of the slopes, by rounding."""
REWEIGHTED = 12
"""Least squares from a point that is far from a solution."""
MET = 1e-13
"""Residuals that are rounding, in units of what they are the sum of."""


class Vertex(NamedTuple):
    """A solution."""

    v: np.ndarray
    r: np.ndarray
    """M v + c, with exact zeros in the basis."""
    y: np.ndarray
    """Slopes with Mᵀy = 0 and left ≤ y ≤ right, each one-sided where r_i ≠ 0."""


def least_deviations(
    M: np.ndarray, c: np.ndarray, left: np.ndarray, right: np.ndarray, v: np.ndarray
) -> Vertex | None:
    """A solution, from the rows of smallest |r| at v; None where a basis is singular or the exchanges do not end.

    >>> M, c = np.ones((5, 1)), -np.array([1.0, 2.0, 3.0, 10.0, 50.0])
    >>> least_deviations(M, c, -np.ones(5), np.ones(5), np.zeros(1)).v            # the median
    array([3.])
    """
    m, k = M.shape
    if k > m:
        return None
    basis = np.argpartition(np.abs(M @ v + c), k - 1)[:k]
    width = right - left
    room = SLACK * width
    for pivot in range(PIVOTS):
        if pivot % REFRESH == 0:
            start = _vertex(M, c, basis)
            if start is None:
                return None
            inverse, r = start
        above = r >= 0
        y = np.where(above, right, left)
        y[basis] = 0.0
        own = -(y @ M) @ inverse
        low, high = left[basis], right[basis]
        excess = np.maximum(own - high, low - own) - room[basis]
        j = int(excess.argmax())
        if not excess[j] > 0:
            return _solution(M, c, left, right, basis, above)
        up = own[j] > high[j]
        d = inverse[:, j] if up else -inverse[:, j]
        along = M @ d
        along[basis] = 0.0
        crossed = np.flatnonzero(np.where(above, along < 0, along > 0))
        rates = along[crossed]
        times = -r[crossed] / rates
        slope = high[j] - own[j] if up else own[j] - low[j]
        last = _turn(times, width[crossed] * np.abs(rates), slope)
        if last is None:  # the objective falls for ever
            return None
        new, length = crossed[last], times[last]
        r = r + length * along
        r[basis[j]] = length if up else -length
        r[new] = 0.0
        row = M[new] @ inverse  # B⁻¹ after row j of B was replaced: B⁻¹ - B⁻¹e_j (row - e_jᵀ)/row_j
        row[j] -= 1.0
        inverse = inverse - np.outer(inverse[:, j], row / (row[j] + 1.0))
        basis[j] = new
    return None


def reweighted(
    M: np.ndarray, c: np.ndarray, left: np.ndarray, right: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """v after `REWEIGHTED` steps to the minimiser of a quadratic that touches the objective from above.

        Σ w_i r_i²/2 + (left_i + right_i)/2 r_i,   w_i = (right_i - left_i)/2 / max(|r_i|, the k-th smallest of them)

    Ends early where such a minimiser is not unique.

    >>> M, c = np.ones((5, 1)), -np.array([1.0, 2.0, 3.0, 10.0, 50.0])
    >>> reweighted(M, c, -np.ones(5), np.ones(5), np.array([13.2])).round(1)          # from the mean to the median
    array([3.])
    """
    m, k = M.shape
    bend, tilt = (right - left) / 2, M.T @ ((right + left) / 2)
    for _ in range(REWEIGHTED if k < m else 0):
        size = np.abs(M @ v + c)
        floor = np.partition(size, k)[k]
        if not floor > 0:
            break
        weighted = M.T * (bend / np.maximum(size, floor))
        _, new, failed = scipy.linalg.lapack.dposv(weighted @ M, -(weighted @ c + tilt))
        if failed or not np.all(np.isfinite(new)):
            break
        v = new
    return v


def _turn(times: np.ndarray, rises: np.ndarray, slope: float) -> int | None:
    """Where the slope is no longer negative, having risen at every time up to that one; None where it stays so.

    Among many times the first ones are looked at first: sorting them all is most of an exchange.
    """
    every = np.arange(len(times))
    first = every if len(times) <= 4 * NEAR else np.flatnonzero(times <= np.partition(times, NEAR)[NEAR])
    for rows in (first, every):
        order = rows[times[rows].argsort(kind="stable")]
        last = int((slope + np.cumsum(rises[order])).searchsorted(0.0))
        if last < len(order):
            return int(order[last])
    return None


def _vertex(M: np.ndarray, c: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(M_T⁻¹, r) at the vertex; None where the basis is singular."""
    try:
        inverse = np.linalg.inv(M[basis])
    except np.linalg.LinAlgError:
        return None
    r = c - M @ (inverse @ c[basis])
    r[basis] = 0.0
    return (inverse, r) if np.all(np.isfinite(r)) else None


def _solution(
    M: np.ndarray, c: np.ndarray, left: np.ndarray, right: np.ndarray, basis: np.ndarray, above: np.ndarray
) -> Vertex | None:
    """The vertex, with everything computed afresh; None where rounding had made it look like a solution.

    Where more rows than the basis meet in it (a perfect fit of most data, say), r is rounding there and its sign is
    none: such rows keep the side that the exchanges gave them, and become 0.
    """
    start = _vertex(M, c, basis)
    if start is None:
        return None
    inverse, r = start
    v = -inverse @ c[basis]
    met = np.abs(r) <= MET * (np.abs(c) + np.abs(M) @ np.abs(v))
    y = np.where(np.where(met, above, r >= 0), right, left)
    r[met] = 0.0
    y[basis] = 0.0
    own = -(y @ M) @ inverse
    low, high = left[basis], right[basis]
    if np.any(np.maximum(own - high, low - own) > 100 * SLACK * (high - low)):
        return None
    y[basis] = np.clip(own, low, high)
    return Vertex(v, r, y)
