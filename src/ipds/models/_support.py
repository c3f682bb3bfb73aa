"""How many coefficients a robust regression takes: by the extended BIC of its inliers, or by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._lad import robust_scale, smallest_sum, weighted_quantile

if TYPE_CHECKING:
    from .robust_regression import RobustSparseRegressor

LARGE, MORE = 2_000_000, 50
"""Entries of X beyond which coarse fits look at few features, and how many besides those they are to choose."""
Scores = dict[int, tuple[float, float]]
"""s -> (criterion, margin within which it cannot tell)."""
Criterion = Callable[[list[int]], Scores]


class Samples(NamedTuple):
    """Features, targets and weights of samples."""

    X: Any
    y: Any
    c: np.ndarray

    def at(self, rows: Any) -> Samples:
        """Some of them."""
        return Samples(self.X[rows], self.y[rows], self.c[rows])

    def merged(self) -> Samples:
        """Those of positive weight, equal ones as one with the sum of their weights.

        Which of many critical points is found depends on rounding: so a weight of two and a sample twice are made the
        same numbers in the same order. Samples that all differ, of weight 1, stay as they are.
        """
        plain = bool(np.all(self.c == 1.0))
        if plain and len(np.unique(self.y)) == len(self.y):
            return self
        X, y, c = self if plain else self.at(np.flatnonzero(self.c > 0))
        keys = list(zip(y.tolist(), _rows(X), strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        is_first = np.array([k == 0 or keys[i] != keys[order[k - 1]] for k, i in enumerate(order)])
        if plain and is_first.all():
            return self
        places = np.flatnonzero(is_first)
        total = np.add.reduceat(c[order], places)
        kept = np.array(order)[places]
        return Samples(X[kept], y[kept], total)

    def residuals(self, v: np.ndarray, t: float) -> np.ndarray:
        """y - X v - t."""
        return np.asarray(self.y - (np.asarray(self.X @ v) + t))


def _rows(X: Any) -> list[bytes]:
    """The numbers of every row, as something to compare."""
    if not sp.issparse(X):
        return [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # + 0.0: -0.0 is 0.0
    X = sp.csr_array(X, copy=True)
    X.eliminate_zeros()
    X.sum_duplicates()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]


def chosen_size(model: RobustSparseRegressor, samples: Samples, design: Any) -> int:
    """s as given, or the best by the criterion asked for."""
    m, d, given = int(samples.c.sum()), samples.X.shape[1], model.sparsity
    if not isinstance(given, str | list | tuple | np.ndarray):
        return model._count("sparsity", given, d, "features")
    if isinstance(given, str):
        if given not in ("cv", "bic"):
            raise ValueError(
                "RobustSparseRegressor: sparsity must be an integer, a list of them, 'cv' or 'bic', "
                f"got {given!r}"
            )
        candidates = _doubling(max(1, min(d, m // 4)))
    else:
        candidates = [model._count("sparsity", s, d, "features") for s in given]
        if not candidates:
            raise ValueError("RobustSparseRegressor: sparsity is an empty list; give at least one candidate")
    by_bic = isinstance(given, str) and given == "bic"
    criterion = _bic(model, samples, design) if by_bic else _cv_error(model, samples)
    if isinstance(given, str):
        candidates = _until_worse(criterion, candidates)
    scores = criterion(candidates)
    if isinstance(given, str):
        scores = _narrowed(criterion, candidates, scores)
    model.selection_ = {s: score for s, (score, _) in scores.items()}
    return _best(scores)


class Trials:
    """Coarse fits with one s after another.

    Of large data they see the features that any of them has chosen so far, and the s + `MORE` along which Σ c_i|r_i|
    falls fastest from the residuals r of the fit with the next smaller s: iterated sure independence screening (Fan &
    Lv, JRSS B 2008). The fit with the s that is chosen sees them all.
    """

    def __init__(self, model: RobustSparseRegressor):
        self.model = model
        self.found: dict[int, tuple[np.ndarray, float]] = {}

    def __call__(self, samples: Samples, s: int, design: Any) -> tuple[np.ndarray, float]:
        """(v, t)."""
        few = self._screened(samples, s, design)
        if few is None:
            self.found[s] = self.model._fitted(samples, s, design, trial=True)
        else:
            own = Samples(samples.X[:, few], samples.y, samples.c)
            chosen, t = self.model._fitted(own, s, self.model._standardised(own), trial=True)
            v = np.zeros(samples.X.shape[1])
            v[few] = chosen
            self.found[s] = v, t
        return self.found[s]

    def _screened(self, samples: Samples, s: int, design: Any) -> np.ndarray | None:
        """The features to look at; None for all."""
        (X, y, c), d = samples, samples.X.shape[1]
        if X.shape[0] * d <= LARGE or s + MORE >= d:
            return None
        level = weighted_quantile(y, 0.5, c) if self.model.fit_intercept else 0.0
        smaller = [k for k in self.found if k < s]
        v, t = self.found[max(smaller)] if smaller else (np.zeros(d), level)
        slopes = np.abs(np.asarray(design.A.adjoint(c * np.sign(samples.residuals(v, t)))))
        steep = np.argpartition(slopes, d - s - MORE)[d - s - MORE :]
        few = np.union1d(steep, np.flatnonzero(sum((v != 0 for v, _ in self.found.values()), np.zeros(d))))
        return few if 2 * len(few) <= d else None


def _bic(model: RobustSparseRegressor, samples: Samples, design: Any) -> Criterion:
    """The criterion on the inliers of whichever fit has the smallest residuals on half of the samples."""
    X, y, c = samples
    m, d = float(c.sum()), X.shape[1]
    residuals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    trial = Trials(model)
    floor = 1e-24 * float(c @ y**2) + 1e-300

    def scores(candidates: list[int]) -> Scores:
        for s in candidates:
            if s not in residuals:
                v, t = trial(samples, s, design)
                residuals[s] = np.flatnonzero(v), samples.residuals(v, t)
        best = min((r for _, r in residuals.values()), key=lambda r: smallest_sum(np.abs(r), c))
        inlier = np.abs(best) <= model.outlier_threshold * robust_scale(best, c) + math.sqrt(floor)
        n, root = float(c[inlier].sum()), np.sqrt(c[inlier])

        def bic(support: np.ndarray) -> float:
            G, target = model._design(X, support)[inlier] * root[:, None], y[inlier] * root
            left = target - G @ np.linalg.lstsq(G, target, rcond=None)[0]
            return n * math.log((float(left @ left) + floor) / n) + len(support) * (
                math.log(m) + 2 * math.log(d)
            )

        return {s: (bic(residuals[s][0]), 0.0) for s in candidates}

    return scores


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
