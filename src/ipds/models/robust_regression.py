"""Robust sparse regression: least absolute deviations with few coefficients."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._arrays import threads_for_data, zeros
from ..functions import L1, Cardinality
from ..functions.row_covariance import RowCovariance
from ..operators import Matrix, RowMatrix, as_operator
from ..problem import Block, Problem
from ._base import Linear, fitting
from ._dask import aligned, features_of, is_dask
from ._lad import least_absolute_deviations, robust_scale, weighted_quantile
from ._scaling import column_scales, less_means, scaled, unit_scales
from ._support import chosen_size
from ._trials import Samples

TRIAL, COARSE = 100, 1e-3
"""Iterations at most, and the tolerance at least, of a fit that only compares values of s."""


class Design(NamedTuple):
    """The columns as the problem takes them, made once for all fits to the same samples."""

    A: Any
    """-G."""
    scales: np.ndarray
    """What the columns were divided by."""
    like: Any
    """An array of the library and distribution that the constraint has."""


@dataclass(eq=False, repr=False)
class RobustSparseRegressor(RegressorMixin, Linear):
    """Linear regression with at most s coefficients and gross errors in y.

        min_{v,t} Σ_i c_i |G v + t·1 - y|_i   subject to   ‖v‖₀ ≤ s

    with weights c of the samples, 1 by default. Solved as min ι(‖v‖₀ ≤ s) + Σ c_i|u_i| over -G v - t·1 + u = -y, the
    columns of G centred (which changes the intercept alone; sparse X stays sparse) and scaled to unit root mean
    square, so that the choice of support does not depend on units.

    Parameters
    ----------
    sparsity : int s; a list of candidates, one of which is chosen by cross-validation; "cv" or "bic" to choose
        among all s up to m/4 by cross-validation, or by the extended BIC m·log(σ²) + s·(log m + 2 log d) (Chen & Chen,
        Biometrika 2008) with σ² the mean squared residual over the inliers. Trial fits are coarse; for the BIC there
        are some with 4, 8, … coefficients, and those of every fit leave it one by one.
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
    sample_weight_ : their weights. feature_scales_ : what the columns were divided by.
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

    accepts_sparse = True
    sparsity: Any = "bic"
    _: KW_ONLY
    fit_intercept: bool = True
    refit: str | None = "lad"
    outlier_threshold: float = 3.5
    cv: Any = 5
    standardize: Any = "auto"
    tol: float = 1e-5

    def problem(self, X: Any, y: Any, sparsity: int | None = None, sample_weight: Any = None) -> Problem:
        """The optimisation problem behind `fit`, in the scaled columns, equal samples as one of their total weight.

        sparsity : s where the model has no number.
        """
        s = self.sparsity if sparsity is None else sparsity
        samples = self._aside()._validated(X, y, sample_weight)
        samples = samples if is_dask(X) else samples.merged()
        d = samples.X.shape[1]
        return self._problem(samples, self._standardised(samples), self._count("sparsity", s, d, "features"))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustSparseRegressor:
        """Fit to samples X (dense or sparse) and targets y.

        `sample_weight` are the c_i: a sample of weight 2 counts as two samples, in the refit, the choice of s,
        the scale of the noise and `predict_interval` too. Not for Dask arrays.
        """
        self._choice("refit", self.refit, ("lad", "ls", None))
        self._nonnegative("outlier_threshold", self.outlier_threshold)
        self.standardize_ = bool(self._choice("standardize", self.standardize, ("auto", True, False)))
        given = self._validated(X, y, sample_weight)
        samples = given if is_dask(X) else given.merged()
        design = self._standardised(samples)
        self.feature_scales_ = design.scales
        self.sparsity_ = chosen_size(self, samples, design)
        self.coef_, self.intercept_ = self._fitted(samples, self.sparsity_, design)
        inlier = self._inliers(given)
        self.support_ = np.flatnonzero(self.coef_)
        if self.refit == "ls" and inlier.sum() > len(self.support_):
            root = np.sqrt(given.c[inlier])
            G = self._design(given.X, self.support_)[inlier] * root[:, None]
            self._assign(np.linalg.lstsq(G, np.asarray(given.y)[inlier] * root, rcond=None)[0])
        self.outliers_ = np.flatnonzero(~inlier & (given.c > 0))
        self.sample_weight_, self.residuals_ = given.c, given.residuals(self.coef_, self.intercept_)
        size = np.abs(self.residuals_)
        self.quality_ = {
            "median absolute error": weighted_quantile(size, 0.5, given.c),
            "mean absolute error": float(np.average(size, weights=given.c)),
            "outliers": len(self.outliers_),
            "nonzero coefficients": len(self.support_),
        }
        if not len(self.support_):
            self._warn("every coefficient is zero: nothing is left but the intercept; raise sparsity")
        return self

    def _inliers(self, samples: Samples) -> np.ndarray:
        """Which samples lie within `outlier_threshold` robust standard deviations, `scale_`, of the fit."""
        residual = samples.residuals(self.coef_, self.intercept_)
        self.scale_ = robust_scale(residual, samples.c)
        largest = float(np.abs(np.asarray(samples.y)).max(initial=0.0))
        return np.abs(residual) <= max(self.outlier_threshold * self.scale_, 1e-9 * largest)

    def predict(self, X: Any) -> np.ndarray:
        """X v + t."""
        if not is_dask(X):
            return self._linear(X)
        check_is_fitted(self)
        return features_of(self, X, reset=False) @ self.coef_ + self.intercept_

    def predict_interval(self, X: Any, coverage: float = 0.9, *, outliers: bool = False) -> np.ndarray:
        """Lower and upper ends, a row per sample, between which a share `coverage` of the targets lies.

        The prediction plus quantiles (1 ± coverage)/2 of the training residuals: of the samples that are no outliers,
        or of all with `outliers=True`.
        """
        if not 0 < self._nonnegative("coverage", coverage) < 1:
            raise ValueError(f"RobustSparseRegressor: coverage must lie between 0 and 1, got {coverage}")
        center = self.predict(X)
        counted = self.sample_weight_.copy()
        counted[[] if outliers else self.outliers_] = 0.0
        ends = [
            weighted_quantile(self.residuals_, q, counted) for q in ((1 - coverage) / 2, (1 + coverage) / 2)
        ]
        return np.asarray(center)[:, None] + ends

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> Samples:
        if is_dask(X):
            features_of(self, X, reset=True)
            if not isinstance(self.sparsity, numbers.Integral):
                raise ValueError(
                    f"RobustSparseRegressor: with Dask arrays sparsity must be a number, got {self.sparsity!r}; "
                    "choose it by a fit of a sample of the rows"
                )
            if sample_weight is not None:
                raise ValueError("RobustSparseRegressor: sample_weight is not supported with Dask arrays")
            return Samples(X, aligned("RobustSparseRegressor", "y", y, X), np.ones(X.shape[0]))
        X, y = self._validated_pair(X, y)
        c = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        if np.count_nonzero(c) < 2:
            raise ValueError("RobustSparseRegressor: sample_weight must be positive for two samples at least")
        return Samples(X, y, c)

    def _standardised(self, samples: Samples) -> Design:
        """The columns centred where there is an intercept, of unit root mean square."""
        X, c = samples.X, samples.c
        if is_dask(X):
            data = RowCovariance("RobustSparseRegressor", X, center=self.fit_intercept, gram=False, data="X")
            scales = unit_scales(data.diagonal / data.samples)
            scales = scales if self.standardize else np.ones_like(scales)
            G = RowMatrix(data.D, data.mean if self.fit_intercept else None, scales)
            return Design(-G, scales, G.matrix)
        centre = np.asarray(c @ X).ravel() / c.sum() if self.fit_intercept else None
        scales = column_scales(X, centre, c) if self.standardize else np.ones(X.shape[1])
        if sp.issparse(X):
            A = as_operator(less_means(scaled(X, scales), 0 * scales if centre is None else centre / scales))
            return Design(-A, scales, scales)
        return Design(Matrix(((0.0 if centre is None else centre) - X) / scales), scales, scales)

    def _problem(self, samples: Samples, design: Design, s: int) -> Problem:
        d, m, c = samples.X.shape[1], samples.y.shape[0], samples.c
        blocks = [Block(h=Cardinality(s), A=design.A, shape=d, name="v")]
        if self.fit_intercept:
            blocks.append(Block(A=zeros((m, 1), design.like) - 1.0, shape=1, name="t"))
        loss = L1(1.0) if np.all(c == 1.0) else L1(c)
        return Problem([*blocks, Block(h=loss, shape=m, name="u")], b=-samples.y)

    def _fitted(
        self, samples: Samples, s: int, design: Design, trial: bool = False
    ) -> tuple[np.ndarray, float]:
        """(v, t) for one s."""
        X, y, c = samples
        problem = self._problem(samples, design, s)
        found = self._solve(problem, trial=TRIAL, tol=COARSE) if trial else self._solve(problem)
        v = np.asarray(found.x[0]) / design.scales
        support = np.flatnonzero(v)
        level = weighted_quantile(samples.residuals(v, 0.0), 0.5, c) if self.fit_intercept else 0.0
        if self.refit is None:
            return v, level
        start = np.append(v[support], [level] * self.fit_intercept)
        G = self._design(X, support) * c[:, None]
        w = least_absolute_deviations(G, np.asarray(y) * c, start, exact=not trial)
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
