"""How many coefficients a robust regression takes: by the extended BIC of its inliers, or by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._lad import robust_scale, smallest_sum, weighted_quantile
from ._trials import Samples, Trials

if TYPE_CHECKING:
    from .robust_regression import RobustSparseRegressor

FIRST = 4
"""Coefficients of the first fit."""
TINY = 1e-12
"""What is added to the squares of unit columns, so that equal ones are told apart."""
Scores = dict[int, tuple[float, float]]
"""s -> (criterion, margin within which it cannot tell)."""
Criterion = Callable[[list[int]], Scores]


def chosen_size(model: RobustSparseRegressor, samples: Samples, design: Any) -> int:
    """s as given, or the best by the criterion asked for."""
    m, d, given = int(samples.c.sum()), samples.X.shape[1], model.sparsity
    if isinstance(given, str) and given == "bic":
        model.selection_ = bic_scores(model, samples, design)
        return min(model.selection_, key=model.selection_.__getitem__)
    if not isinstance(given, str | list | tuple | np.ndarray):
        return model._count("sparsity", given, d, "features")
    if isinstance(given, str):
        if given != "cv":
            raise ValueError(
                "RobustSparseRegressor: sparsity must be an integer, a list of them, 'cv' or 'bic', "
                f"got {given!r}"
            )
        candidates = _doubling(max(1, min(d, m // 4)))
    else:
        candidates = [model._count("sparsity", s, d, "features") for s in given]
        if not candidates:
            raise ValueError("RobustSparseRegressor: sparsity is an empty list; give at least one candidate")
    criterion = _cv_error(model, samples)
    if isinstance(given, str):
        candidates = _until_worse(criterion, candidates)
    scores = criterion(candidates)
    if isinstance(given, str):
        scores = _narrow(criterion, candidates, scores)
    model.selection_ = {s: score for s, (score, _) in scores.items()}
    return _best(scores)


def _cv_error(model: RobustSparseRegressor, samples: Samples) -> Criterion:
    """Median absolute error on held-out samples, in which outliers do not count, over the folds."""
    from sklearn.model_selection import check_cv  # slow to load

    folds = min(model.cv, len(samples.y)) if isinstance(model.cv, int) else model.cv
    splits = list(check_cv(folds).split(samples.X, samples.y))
    trials = [Trials(model) for _ in splits]
    known: Scores = {}

    def error(s: int) -> tuple[float, float]:
        errors = []
        for trial, (train, test) in zip(trials, splits, strict=True):
            own, held = samples.at(train), samples.at(test)
            fitted = trial(own, s, model._standardised(own))
            errors.append(weighted_quantile(np.abs(held.residuals(*fitted)), 0.5, held.c))
        return float(np.mean(errors)), float(np.std(errors) / math.sqrt(len(errors)))

    def scores(candidates: list[int]) -> Scores:
        known.update({s: error(s) for s in candidates if s not in known})
        return {s: known[s] for s in candidates}

    return scores


def _until_worse(criterion: Criterion, candidates: list[int]) -> list[int]:
    """The candidates up to the second in a row above the best score so far: fits with far too many are slow."""
    for k in range(3, len(candidates)):
        scores = [score for score, _ in criterion(candidates[:k]).values()]
        if min(scores[-2:]) > min(scores[:-2]):
            return candidates[:k]
    return candidates


def _narrow(criterion: Criterion, candidates: list[int], scores: Scores) -> Scores:
    """Scores of more s around the best, with the gap to its neighbours halved until every s beside it is known."""
    while True:
        best = _best(scores)
        place = candidates.index(best)
        beside = candidates[max(0, place - 1)], candidates[min(len(candidates) - 1, place + 1)]
        between = {(best + other) // 2 for other in beside} | {(best + other + 1) // 2 for other in beside}
        if between <= set(candidates):
            return scores
        candidates = sorted({*candidates, *between})
        scores = criterion(candidates)


def _best(scores: Scores) -> int:
    """The smallest s within the margin of the best score."""
    score, margin = min(scores.values())
    return min(s for s, (value, _) in scores.items() if value <= score + margin)


def _doubling(top: int) -> list[int]:
    """1, 2, 4, … and `top`."""
    return sorted({2**k for k in range(top.bit_length()) if 2**k <= top} | {top})


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
