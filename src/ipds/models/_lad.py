"""Least absolute deviations, exactly: the refit of a support, the projection on a subspace; quantiles with weights."""

from __future__ import annotations

import numpy as np

from ..methods.faces.pivots import least_deviations

COLUMNS = 30
"""Columns up to which a solution is some exchanges of the basis away."""


def least_absolute_deviations(
    G: np.ndarray, y: np.ndarray, start: np.ndarray | None = None, exact: bool = True
) -> np.ndarray:
    """argmin_w ‖G w - y‖₁ for a dense G with few columns, from a guess of w (by default least squares).

    One column: a weighted median. More: from vertex to vertex (Barrodale & Roberts, SIAM J. Numer. Anal. 1973), and
    where that does not end the dual linear program max ⟨y, d⟩ over Gᵀd = 0, |d| ≤ 1, whose multipliers are w; or
    the guess, unless `exact`.

    >>> least_absolute_deviations(np.ones((3, 1)), np.array([1.0, 2.0, 90.0]))
    array([2.])
    """
    if G.shape[1] == 0:
        return np.zeros(0)
    if G.shape[1] == 1:
        return np.array([_weighted_median(G[:, 0], y)])
    size, scales = np.abs(y).max(), np.sqrt(np.einsum("ij,ij->j", G, G))
    if size == 0:
        return np.zeros(G.shape[1])
    scales = np.where(scales > 0, scales, 1.0)
    start = np.linalg.lstsq(G, y, rcond=None)[0] if start is None else start
    if G.shape[1] <= COLUMNS:
        ones = np.ones(len(y))
        vertex = least_deviations(G / scales, -y / size, -ones, ones, start * scales / size)
        if vertex is not None:
            return np.asarray(vertex.v * size / scales)
    if not exact:
        return start
    from scipy.optimize import linprog  # slow to load

    found = linprog(-y / size, A_eq=(G / scales).T, b_eq=np.zeros(G.shape[1]), bounds=(-1, 1), method="highs")
    if not found.success:  # numerical trouble only: the program is feasible (d = 0) and bounded
        return np.linalg.lstsq(G, y, rcond=None)[0]
    return -found.eqlin.marginals * size / scales


def _weighted_median(g: np.ndarray, y: np.ndarray) -> float:
    """argmin_w Σ|g_i w - y_i|: the median of y_i/g_i with weights |g_i|."""
    used = g != 0
    if not used.any():
        return 0.0
    ratios, weights = y[used] / g[used], np.abs(g[used])
    order = np.argsort(ratios)
    total = np.cumsum(weights[order])
    return float(ratios[order][np.searchsorted(total, 0.5 * total[-1])])


def weighted_quantile(values: np.ndarray, share: float, weights: np.ndarray) -> float:
    """`np.quantile` of a sample in which every value occurs as often as its weight says.

    >>> values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 0.0])
    >>> weighted_quantile(values, 0.75, weights), np.quantile([1.0, 1.0, 3.0], 0.75)
    (2.0, np.float64(2.0))
    """
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    ends = np.cumsum(weights[order])
    place = share * max(ends[-1] - 1.0, 0.0)
    below = np.floor(place)
    low, high = (
        values[order][min(np.searchsorted(ends, p, side="right"), len(order) - 1)] for p in (below, below + 1)
    )
    return float(low + (place - below) * (high - low))


def smallest_sum(sizes: np.ndarray, weights: np.ndarray) -> float:
    """The sum of the smallest half of the sizes, each as often as its weight says."""
    order = np.argsort(sizes)
    ends = np.cumsum(weights[order])
    taken = np.clip((ends[-1] + 1) // 2 - (ends - weights[order]), 0.0, weights[order])
    return float(taken @ sizes[order])


def robust_scale(residual: np.ndarray, weights: np.ndarray) -> float:
    """1.4826 × the median of |residual| over the samples that are not interpolated."""
    size = np.abs(residual)
    moved = size > 1e-12 * size.max(initial=0.0)
    if weights[moved].sum() < 0.5 * weights.sum():  # an exact fit of most samples: no noise
        return 0.0
    return 1.4826 * weighted_quantile(size[moved], 0.5, weights[moved])
