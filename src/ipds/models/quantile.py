"""Sparse quantile regression: linear quantiles with few coefficients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._arrays import threads_for_data
from ..functions import L1, Quantile
from ..problem import Block, Problem
from ..result import Result
from ._base import Linear, fitting
from ._linear import per_degree
from ._path import TRIAL, Point, Tuned
from ._scaling import column_means, less_means, scaled

LARGE = 20_000
"""Samples up to which all of them choose alpha; of more, as many at random do."""
ENTRIES, FIRST, ROUNDS = 1_000_000, 50, 10
"""Entries of X beyond which solves begin with few features, how many at first, and times that others are added."""


@dataclass(eq=False, repr=False)
class SparseQuantileRegressor(RegressorMixin, Linear, Tuned):
    """A linear model of the τ-quantile of y, by few features.

        min_{w,t} Σ_i ρ_τ(y_i - (X w)_i - t)/m + α‖w‖₁,   ρ_τ(r) = max(τ r, (τ - 1) r)

    Solved, times m, as min αm‖w‖₁ + Σ ρ_τ(u_i) over X w + t + u = y, columns of X centred. Newton steps touch only the
    samples near their quantile, so that 100,000 samples of 100 features take seconds.

    Parameters
    ----------
    quantile : τ in (0, 1); 0.5 is the median, least absolute deviations.
    alpha : weight of the ℓ1 norm: a number; "bic", by the Bayesian criterion 2 m log(loss) + k log m (Lee, Noh & Park,
        JASA 2014; extended where features are many); or "cv", the largest one within a standard error of the smallest
        cross-validated loss. Chosen on 20,000 samples at random where there are more. `alpha_max(X, y)` is where no
        coefficient is left, `path(X, y)` fits 20 below it.
    fit_intercept : whether t is free; else 0. cv : folds or a splitter, for alpha="cv".
    standardize : penalise the coefficients of features divided by their standard deviations; "auto" where units differ
        by more than a factor 10. `coef_` is in the units of X.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_, intercept_ : of the linear model. support_ : indices of nonzero coefficients. alpha_ : in force.
    selection_ : dict alpha -> criterion, where it was chosen. result_, n_iter_ : of the solve.

    Quantiles for an interval are two models, such as 0.05 and 0.95.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 5))
    >>> y = 2 * X[:, 1] + rng.exponential(size=300)
    >>> model = SparseQuantileRegressor(0.9).fit(X, y)
    >>> model.support_, round(float(np.mean(y <= model.predict(X))), 2)
    (array([1]), 0.9)

    Reference: Koenker & Bassett, *Regression quantiles*, Econometrica 1978; Belloni & Chernozhukov, *ℓ1-penalized
    quantile regression in high-dimensional sparse models*, Ann. Statist. 2011.
    """

    accepts_sparse = True
    quantile: float = 0.5
    alpha: Any = "bic"
    _: KW_ONLY
    fit_intercept: bool = True
    cv: Any = 5
    standardize: Any = "auto"

    def problem(self, X: Any, y: Any) -> Problem:
        """The optimisation problem behind `fit`; its objective is m times that of the model."""
        model = self._aside()
        X, target = model._prepared(X, y)
        return model._problem(X, target, model._chosen_alpha(*model._sample(X, target)))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any) -> SparseQuantileRegressor:
        """Fit to samples X (dense or sparse) and targets y."""
        X, target = self._prepared(X, y)
        self.alpha_ = self._chosen_alpha(*self._sample(X, target))
        problem = self._problem(X, target, self.alpha_)
        x0, z0 = None, None
        if self.checkpoint is None and not self._warm(problem):
            x0, z0 = self._on_few_features(X, target, self.alpha_, None, trial=self.max_iter)
        w, t = self._unpacked(X, target, self._solve(problem, x0, z0))
        self.coef_, self.intercept_ = self._in_units_of_X(w), t
        self.support_ = np.flatnonzero(self.coef_)
        residual = target - (np.asarray(X @ w) + t)
        self.quality_ = {
            "share below": float(np.mean(residual <= 1e-9 * np.abs(target).max())),
            "mean loss": float(self._losses(target, target - residual).mean()),
            "nonzero coefficients": len(self.support_),
        }
        if self.result_.success and not len(self.support_):
            advice = (
                "lower alpha" if not isinstance(self.alpha, str) else "no feature helps by that criterion"
            )
            self._warn(f"the fit is constant, nothing of X is used; {advice}")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The quantile X w + t."""
        return self._linear(X)

    def _prepared(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        tau = self._nonnegative("quantile", self.quantile)
        if not 0 < tau < 1:
            raise ValueError(
                f"SparseQuantileRegressor: quantile must lie between 0 and 1, got {self.quantile}"
            )
        X, y = self._validated_pair(X, y)
        self.feature_scales_ = self._scales(X, self.fit_intercept)
        return scaled(X, self.feature_scales_), np.asarray(y, dtype=float)

    def _sample(self, X: Any, target: np.ndarray) -> tuple[Any, np.ndarray]:
        """The samples that choose alpha."""
        if len(target) <= LARGE or not isinstance(self.alpha, str):
            return X, target
        rows = np.random.default_rng(0).choice(len(target), LARGE, replace=False)
        return X[rows], target[rows]

    def _means(self, X: Any) -> np.ndarray:
        return column_means(X) if self.fit_intercept else np.zeros(X.shape[1])

    def _problem(self, X: Any, target: np.ndarray, alpha: float) -> Problem:
        m, d = X.shape
        G = less_means(X, self._means(X))
        blocks = [Block(h=L1(alpha * m), A=G, shape=d, name="w")]
        if self.fit_intercept:
            blocks.append(Block(A=np.ones((m, 1)), shape=1, name="t"))
        return Problem([*blocks, Block(h=Quantile(self.quantile), shape=m, name="u")], b=target)

    def _unpacked(self, X: Any, target: np.ndarray, result: Result) -> tuple[np.ndarray, float]:
        w = np.asarray(result.x[0])
        return w, float(result.x[1][0] - self._means(X) @ w) if self.fit_intercept else 0.0

    def _at(self, X: Any, target: np.ndarray, alpha: float, start: Any) -> Point:
        """The solution for one alpha, to the tolerance of a comparison."""
        x, z = self._on_few_features(X, target, alpha, start, trial=TRIAL, tol=self._coarse)
        if x is None:
            return super()._at(X, target, alpha, start)
        t = float(x[1][0] - self._means(X) @ x[0]) if self.fit_intercept else 0.0
        return Point(x[0], t, (x, z))

    def _on_few_features(
        self, X: Any, target: np.ndarray, alpha: float, start: Any, **options: Any
    ) -> tuple[Any, Any]:
        """(x, z) of the problem of few features, at which no other one wants a coefficient; (None, None) for small X.

        At a solution |x_jᵀz| ≤ αm for the centred columns x_j. From that for a larger alpha, the features that break
        this bound come first, else the steepest; then those that break it, until none does.
        """
        (m, d), means = X.shape, self._means(X)
        if m * d <= ENTRIES or d <= 2 * FIRST:
            return None, None
        x, z = start or (None, self._constant_slopes(target))
        few = np.zeros(d, dtype=bool) if x is None else np.asarray(x[0]) != 0
        found = None
        for _ in range(ROUNDS):
            slopes = np.abs(np.asarray(X.T @ z) - means * z.sum()) / m
            least = alpha * (1 + self.tol) if x is not None else np.partition(slopes, d - FIRST)[d - FIRST]
            new = ~few & (slopes >= least)
            if found is not None and not new.any():
                break
            few |= new
            if not few.any() or (found is None and 2 * few.sum() > d):
                return None, None
            x0, z0 = (None, None) if x is None else ([x[0][few], *x[1:]], z)
            found = self._solve(self._problem(X[:, few], target, alpha), x0, z0, **options)
            w = np.zeros(d)
            w[few] = found.x[0]
            x, z = [w, *found.x[1:]], np.asarray(found.z)
        return x, z

    def _losses(self, target: np.ndarray, score: np.ndarray) -> np.ndarray:
        residual = target - score
        return np.maximum(self.quantile * residual, (self.quantile - 1.0) * residual)

    def _criterion(self, X: Any, target: np.ndarray, point: Point) -> float:
        m, d = X.shape
        k = int(np.count_nonzero(point.w))
        loss = float(self._losses(target, self._scores(X, point)).mean())
        if 2 * k > m:
            return float("inf")
        return 2 * m * float(np.log(max(loss, 1e-12 * np.abs(target).max(), 1e-300))) + k * per_degree(m, d)

    def _largest_alpha(self, X: Any, target: np.ndarray) -> float:
        """max_j |x_jᵀd|/m with d the slopes of the loss at the best constant, those of ties balanced."""
        slopes = self._constant_slopes(target)
        G = np.asarray(X.T @ slopes) - self._means(X) * slopes.sum()
        return float(np.abs(G).max(initial=0.0)) / len(target)

    def _constant_slopes(self, target: np.ndarray) -> np.ndarray:
        """Of the loss of each sample at the best constant."""
        level = (
            float(np.quantile(target, self.quantile, method="inverted_cdf")) if self.fit_intercept else 0.0
        )
        residual = target - level
        slopes = np.where(residual > 0, self.quantile, self.quantile - 1.0)
        ties = residual == 0
        if self.fit_intercept and ties.any():  # Σ slopes = 0 at the best constant
            slopes[ties] = -slopes[~ties].sum() / ties.sum()
        return slopes
