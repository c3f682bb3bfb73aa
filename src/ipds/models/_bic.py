"""The extended BIC of robust regressions of all sizes, from few fits: the features of each leave it one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._lad import robust_scale, smallest_sum
from ._trials import Samples, Trials

if TYPE_CHECKING:
    from .robust_regression import RobustSparseRegressor

FIRST = 4
"""Coefficients of the first fit."""
TINY = 1e-12
"""What is added to the squares of unit columns, so that equal ones are told apart."""


def bic_scores(model: RobustSparseRegressor, samples: Samples, design: Any) -> dict[int, float]:
    """s -> n log(σ²) + s (log m + 2 log d), σ² the mean square of the n inliers' residuals.

    Fits with `FIRST`, twice as many coefficients, and so on until the best s is at most half of that. Which samples are
    inliers is told by the fit with the smallest residuals on half of them. Supports of all sizes are what backward
    elimination leaves of those of the fits, each joined by features that pull at its residuals.
    """
    X, y, c = samples
    m, d = float(c.sum()), X.shape[1]
    top = max(1, min(d, int(m) // 4))
    floor = 1e-24 * float(c @ y**2) + 1e-300
    trial, s = Trials(model), min(FIRST, top)
    fits: list[tuple[np.ndarray, np.ndarray]] = []
    while True:
        residuals = samples.residuals(*trial(samples, s, design))
        fits.append((trial.support(samples, s, design, top), residuals))
        best = min((r for _, r in fits), key=lambda r: smallest_sum(np.abs(r), c))
        inlier = np.abs(best) <= model.outlier_threshold * robust_scale(best, c) + math.sqrt(floor)
        n, root = float(c[inlier].sum()), np.sqrt(c[inlier])
        scores: dict[int, float] = {}
        for support, _ in fits:
            G = model._design(X, support)[inlier] * root[:, None]
            for size, left in enumerate(squares_left(G, y[inlier] * root, len(support))):
                score = n * math.log((left + floor) / n) + size * (math.log(m) + 2 * math.log(d))
                if size > 0 or not len(support):
                    scores[max(1, size)] = min(score, scores.get(max(1, size), math.inf))
        if s == top or 2 * min(scores, key=scores.__getitem__) <= s:
            return dict(sorted(scores.items()))
        s = min(2 * s, top)


def squares_left(G: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """min ‖y - G w‖² with 0, 1, …, `count` of the first columns of G, those that leave it last, and all columns after.

    Of those that are left, the one whose leaving costs least leaves: w_j²/(GᵀG)⁻¹_jj.

    >>> squares_left(np.eye(4)[:, :2], np.array([1.0, 3.0, 1.0, 0.0]), 2)
    array([11.,  2.,  1.])
    """
    k = G.shape[1]
    # of G its R, of y what Qᵀy is, then what is left
    triangle: Any = np.linalg.qr(np.column_stack([G, y]), mode="r")
    R, b, beyond = triangle[:k, :k], triangle[:k, k], triangle[k:, k]
    sizes = np.sqrt(np.einsum("ij,ij->j", R, R))
    R = R / np.where(sizes > 0, sizes, 1.0)
    K, g = R.T @ R + TINY * np.eye(k), R.T @ b
    kept, order = np.arange(k), list[int]()
    for free in range(count, 0, -1):
        inverse = np.linalg.inv(K[np.ix_(kept, kept)])
        cost = (inverse @ g[kept]) ** 2 / np.diag(inverse)
        j = int(cost[:free].argmin())
        order.append(int(kept[j]))
        kept = np.delete(kept, j)
    parts = np.zeros(k)  # of b along the columns, each less those before it
    projected = np.linalg.qr(R[:, [*kept, *reversed(order)]])[0].T @ b
    parts[: len(projected)] = projected
    tails = np.cumsum(parts[::-1] ** 2)[::-1]
    return float(beyond @ beyond) + np.append(tails, 0.0)[k - count :]
