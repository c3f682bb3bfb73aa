"""How many coefficients a robust regression takes: by the extended BIC of its inliers, or by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._bic import bic_scores
from ._lad import weighted_quantile
from ._trials import Samples, Trials

if TYPE_CHECKING:
    from .robust_regression import RobustSparseRegressor

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
        scores = _narrowed(criterion, candidates, scores)
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


def _narrowed(criterion: Criterion, candidates: list[int], scores: Scores) -> Scores:
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
