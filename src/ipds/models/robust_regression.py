"""Robust sparse regression: least absolute deviations with few coefficients."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data, zeros
from ..functions import L1, Cardinality
from ..functions.row_covariance import RowCovariance
from ..operators import Matrix, RowMatrix
from ..problem import Block, Problem
from ._base import Estimator, fitting
from ._dask import aligned, features_of, is_dask
from ._lad import least_absolute_deviations
from ._scaling import column_scales, unit_scales

Scores = dict[int, tuple[float, float]]
"""s -> (criterion, margin within which it cannot tell)."""
Criterion = Callable[[list[int]], Scores]
TRIAL = 500
"""Iterations at most of a fit that only compares values of s."""


class Design(NamedTuple):
    """The columns as the problem takes them, made once for all fits to the same samples."""

    A: Any
    """-G."""
    scales: np.ndarray
    """What the columns were divided by."""
    like: Any
    """An array of the library and distribution that the constraint has."""


class RobustSparseRegressor(RegressorMixin, Estimator):
    """Linear regression with at most s coefficients and gross errors in y.

        min_{v,t} ‖G v + t·1 - y‖₁   subject to   ‖v‖₀ ≤ s

    Solved as min ι(‖v‖₀ ≤ s) + ‖u‖₁ over -G v - t·1 + u = -y, columns of G centred (which changes the
    intercept alone; sparse X stays sparse) and scaled to unit root mean square, so that the choice of support does not
    depend on units.

    Parameters
    ----------
    sparsity : int s; a list of candidates, one of which is chosen by cross-validation; "cv" or "bic" to choose
        among all s up to m/4 by cross-validation, or by the extended BIC m·log(σ²) + s·(log m + 2 log d) (Chen & Chen,
        Biometrika 2008) with σ² the mean squared residual over the inliers. Trial fits take at most 500 iterations.
    fit_intercept : whether t is free; else 0.
    refit : "lad" (least absolute deviations on the support, exact), "ls" (least squares on the support and the
        inliers: more efficient under Gaussian noise) or None (what the solver returned).
    outlier_threshold : samples whose residual exceeds this many robust standard deviations are outliers.
    cv : folds, or a splitter, for the choice by cross-validation: the smallest s whose median absolute error is within
        one standard error of the best.
    standardize : solve in columns of unit root mean square; which coefficients are best does not depend on it, only how
        surely they are found, so "auto" always does.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_, intercept_ : of the linear model. sparsity_ : s in force. support_ : indices of nonzero coefficients.
    residuals_ : y less the prediction, of the training samples. outliers_ : indices of those that are outliers.
    scale_ : robust standard deviation of the noise.
    selection_ : dict s -> criterion (smaller is better), where s was chosen.
    result_, n_iter_ : of the last solve.

    X may be a Dask array cut by rows, with `sparsity` a number: it stays on its workers. After the solve, y, the
    residuals and the chosen columns travel to this process once, for the refit and `outliers_`.
    Constant columns get coefficient 0. `score` is R² like every regressor's, hence itself not robust.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 20))
    >>> y = 3 * X[:, 2] - 2 * X[:, 11] + 1
    >>> y[:8] += 50
    >>> model = RobustSparseRegressor(sparsity=2).fit(X, y)
    >>> model.support_, model.outliers_, round(model.intercept_, 6)
    (array([ 2, 11]), array([0, 1, 2, 3, 4, 5, 6, 7]), 1.0)

    Reference: Yuan, *ADMM for nonconvex optimization under minimal continuity assumption* (IPDS-ADMM);
    Bertsimas, King & Mazumder, *Best subset selection via a modern optimization lens*, Ann. Statist. 2016.
    """

    def __init__(
        self,
        sparsity: Any = "bic",
        *,
        fit_intercept: bool = True,
        refit: str | None = "lad",
        outlier_threshold: float = 3.5,
        cv: Any = 5,
        standardize: Any = "auto",
        method: Any = "auto",
        tol: float = 1e-5,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        progress: bool = False,
        checkpoint: Any = None,
    ):
        self.sparsity = sparsity
        self.fit_intercept = fit_intercept
        self.refit = refit
        self.outlier_threshold = outlier_threshold
        self.cv = cv
        self.standardize = standardize
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def problem(self, X: Any, y: Any, sparsity: int | None = None) -> Problem:
        """The optimisation problem behind `fit`, in the scaled columns; `sparsity`: s where the model has no number."""
        s = self.sparsity if sparsity is None else sparsity
        X, y = self._aside()._validated(X, y)
        d = X.shape[1]
        return self._problem(self._standardised(X), y, self._count("sparsity", s, d, "features"), d)

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any) -> RobustSparseRegressor:
        """Fit to samples X (dense or sparse) and targets y."""
        self._choice("refit", self.refit, ("lad", "ls", None))
        self._nonnegative("outlier_threshold", self.outlier_threshold)
        self.standardize_ = bool(self._choice("standardize", self.standardize, ("auto", True, False)))
        X, y = self._validated(X, y)
        design = self._standardised(X)
        self.sparsity_ = self._chosen(X, y, design)
        self.coef_, self.intercept_ = self._fitted(X, y, self.sparsity_, design)
        residual = np.asarray(y - self._linear(X, self.coef_, self.intercept_))
        self.scale_ = robust_scale(residual)
        limit = max(
            self.outlier_threshold * self.scale_, 1e-9 * float(np.abs(np.asarray(y)).max(initial=0.0))
        )
        inlier = np.abs(residual) <= limit
        self.outliers_ = np.flatnonzero(~inlier)
        self.support_ = np.flatnonzero(self.coef_)
        if self.refit == "ls" and inlier.sum() > len(self.support_):
            w = np.linalg.lstsq(self._design(X, self.support_)[inlier], np.asarray(y)[inlier], rcond=None)[0]
            self._assign(w)
        residual = np.asarray(y - self._linear(X, self.coef_, self.intercept_))
        self.residuals_, size = residual, np.abs(residual)
        self.quality_ = {
            "median absolute error": float(np.median(size)),
            "mean absolute error": float(size.mean()),
            "outliers": len(self.outliers_),
            "nonzero coefficients": len(self.support_),
        }
        if not len(self.support_):
            self._warn("every coefficient is zero: nothing is left but the intercept; raise sparsity")
        return self

    def _terms(self) -> dict[str, dict[str, float]]:
        return {"coefficients": {**self._named(self.coef_), "(intercept)": self.intercept_}}

    def predict(self, X: Any) -> np.ndarray:
        """X v + t."""
        check_is_fitted(self)
        if is_dask(X):
            return features_of(self, X, reset=False) @ self.coef_ + self.intercept_
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=float)
        return self._linear(X, self.coef_, self.intercept_)

    def predict_interval(self, X: Any, coverage: float = 0.9, *, outliers: bool = False) -> np.ndarray:
        """Lower and upper ends, a row per sample, between which a share `coverage` of the targets lies.

        The prediction plus quantiles (1 ± coverage)/2 of the training residuals: of the samples that are no outliers,
        or of all with `outliers=True`.
        """
        if not 0 < self._nonnegative("coverage", coverage) < 1:
            raise ValueError(f"RobustSparseRegressor: coverage must lie between 0 and 1, got {coverage}")
        center = self.predict(X)
        residuals = self.residuals_ if outliers else np.delete(self.residuals_, self.outliers_)
        ends = np.quantile(residuals, [(1 - coverage) / 2, (1 + coverage) / 2])
        return np.asarray(center)[:, None] + ends

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if is_dask(X):
            features_of(self, X, reset=True)
            if not isinstance(self.sparsity, numbers.Integral):
                raise ValueError(
                    f"RobustSparseRegressor: with Dask arrays sparsity must be a number, got {self.sparsity!r}; "
                    "choose it by a fit of a sample of the rows"
                )
            return X, aligned("RobustSparseRegressor", "y", y, X)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=float, y_numeric=True, ensure_min_samples=2
        )
        self._in_range("X", X)
        self._in_range("y", y)
        return X, y

    @staticmethod
    def _linear(X: Any, coef: np.ndarray, intercept: float) -> np.ndarray:
        return np.asarray(X @ coef) + intercept

    def _standardised(self, X: Any) -> Design:
        """The columns centred where there is an intercept, of unit root mean square."""
        if is_dask(X):
            data = RowCovariance("RobustSparseRegressor", X, center=self.fit_intercept, gram=False, data="X")
            scales = unit_scales(data.diagonal / data.samples)
            scales = scales if self.standardize else np.ones_like(scales)
            G = RowMatrix(data.D, data.mean if self.fit_intercept else None, scales)
            return Design(-G, scales, G.matrix)
        centre = np.asarray(X.mean(axis=0)).ravel() if self.fit_intercept else None
        scales = column_scales(X, centre) if self.standardize else np.ones(X.shape[1])
        if sp.issparse(X):
            A: Any = Matrix(sp.csr_array(X @ sp.diags_array(1 / scales)))
            if centre is not None:  # by a map of rank one, so that X stays sparse
                A = A - Matrix(np.ones((X.shape[0], 1))) @ Matrix((centre / scales)[None])
            return Design(-A, scales, scales)
        return Design(Matrix(((0.0 if centre is None else centre) - X) / scales), scales, scales)

    def _problem(self, design: Design, y: Any, s: int, d: int) -> Problem:
        m = y.shape[0]
        blocks = [Block(h=Cardinality(s), A=design.A, shape=d, name="v")]
        if self.fit_intercept:
            blocks.append(Block(A=zeros((m, 1), design.like) - 1.0, shape=1, name="t"))
        return Problem([*blocks, Block(h=L1(1.0), shape=m, name="u")], b=-y)

    def _fitted(
        self, X: Any, y: np.ndarray, s: int, design: Design, trial: bool = False
    ) -> tuple[np.ndarray, float]:
        """(v, t) for one s."""
        found = self._solve(self._problem(design, y, s, X.shape[1]), trial=TRIAL if trial else None)
        v = np.asarray(found.x[0]) / design.scales
        support = np.flatnonzero(v)
        if self.refit is None:
            t = float(np.median(np.asarray(y - X @ v))) if self.fit_intercept else 0.0
            return v, t
        w = least_absolute_deviations(self._design(X, support), np.asarray(y))
        v = np.zeros_like(v)
        v[support] = w[: len(support)]
        return v, float(w[-1]) if self.fit_intercept else 0.0

    def _design(self, X: Any, support: np.ndarray) -> np.ndarray:
        columns = X[:, support]
        columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns)
        return np.column_stack([columns, np.ones(X.shape[0])]) if self.fit_intercept else np.asarray(columns)

    def _assign(self, w: np.ndarray) -> None:
        self.coef_ = np.zeros_like(self.coef_)
        self.coef_[self.support_] = w[: len(self.support_)]
        self.intercept_ = float(w[-1]) if self.fit_intercept else 0.0

    def _chosen(self, X: Any, y: np.ndarray, design: Design) -> int:
        """s as given, or the best by the criterion asked for."""
        m, d = X.shape
        if not isinstance(self.sparsity, str | list | tuple | np.ndarray):
            return self._count("sparsity", self.sparsity, d, "features")
        if isinstance(self.sparsity, str):
            if self.sparsity not in ("cv", "bic"):
                raise ValueError(
                    f"{type(self).__name__}: sparsity must be an integer, a list of them, 'cv' or 'bic', "
                    f"got {self.sparsity!r}"
                )
            candidates = _doubling(max(1, min(d, m // 4)))
        else:
            candidates = [self._count("sparsity", s, d, "features") for s in self.sparsity]
            if not candidates:
                raise ValueError(
                    "RobustSparseRegressor: sparsity is an empty list; give at least one candidate"
                )
        by_bic = isinstance(self.sparsity, str) and self.sparsity == "bic"
        criterion = self._bic(X, y, design) if by_bic else self._cv_error(X, y)
        if isinstance(self.sparsity, str):
            candidates = _until_worse(criterion, candidates)
        scores = criterion(candidates)
        if isinstance(self.sparsity, str):  # between the neighbours of the best, every s
            place = candidates.index(_best(scores))
            low, high = candidates[max(0, place - 1)], candidates[min(len(candidates) - 1, place + 1)]
            step = max(1, (high - low) // 16)
            scores = criterion(sorted({*candidates, *range(low, high + 1, step)}))
        self.selection_ = {s: score for s, (score, _) in scores.items()}
        return _best(scores)

    def _bic(self, X: Any, y: np.ndarray, design: Design) -> Criterion:
        """The criterion on the inliers of whichever fit has the smallest residuals on half of the samples."""
        m, d = X.shape
        residuals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        floor = 1e-24 * float(y @ y) + 1e-300

        def scores(candidates: list[int]) -> Scores:
            for s in candidates:
                if s not in residuals:
                    v, t = self._fitted(X, y, s, design, trial=True)
                    residuals[s] = np.flatnonzero(v), y - self._linear(X, v, t)
            best = min(
                (r for _, r in residuals.values()), key=lambda r: np.sort(np.abs(r))[: (m + 1) // 2].sum()
            )
            inlier = np.abs(best) <= self.outlier_threshold * robust_scale(best) + math.sqrt(floor)
            n = int(inlier.sum())

            def bic(support: np.ndarray) -> float:
                G = self._design(X, support)[inlier]
                left = y[inlier] - G @ np.linalg.lstsq(G, y[inlier], rcond=None)[0]
                return n * math.log((float(left @ left) + floor) / n) + len(support) * (
                    math.log(m) + 2 * math.log(d)
                )

            return {s: (bic(residuals[s][0]), 0.0) for s in candidates}

        return scores

    def _cv_error(self, X: Any, y: np.ndarray) -> Criterion:
        """Median absolute error on held-out samples, in which outliers do not count, over the folds."""
        from sklearn.model_selection import check_cv  # slow to load

        folds = list(check_cv(min(self.cv, len(y)) if isinstance(self.cv, int) else self.cv).split(X, y))
        known: Scores = {}

        def error(s: int) -> tuple[float, float]:
            errors = []
            for train, test in folds:
                own = self._standardised(X[train])
                fitted = self._fitted(X[train], y[train], s, own, trial=True)
                errors.append(np.median(np.abs(y[test] - self._linear(X[test], *fitted))))
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


def _best(scores: Scores) -> int:
    """The smallest s within the margin of the best score."""
    score, margin = min(scores.values())
    return min(s for s, (value, _) in scores.items() if value <= score + margin)


def robust_scale(residual: np.ndarray) -> float:
    """1.4826 × the median of |residual| over the samples that are not interpolated."""
    size = np.abs(residual)
    moved = size[size > 1e-12 * size.max(initial=0.0)]
    if len(moved) < 0.5 * len(size):  # an exact fit of most samples: no noise
        return 0.0
    return float(1.4826 * np.median(moved))


def _doubling(top: int) -> list[int]:
    """1, 2, 4, … and `top`."""
    return sorted({2**k for k in range(top.bit_length()) if 2**k <= top} | {top})
