"""Linear models with a convex structured penalty: least squares or logistic loss, shared by fused and group lasso."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L1, LeastSquares, Logistic, Nonsmooth, Zero
from ..problem import Block, Problem
from ._base import Estimator, fitting
from ._scaling import less_means, scaled

LOSSES = ("squared", "logistic")


class Penalty(NamedTuple):
    """h(A w) + Σ own_j |w_j|."""

    A: Any
    """Acts on the coefficients alone: a number or a sparse matrix."""
    h: Nonsmooth
    own: np.ndarray
    """Weights of |w_j| on the coefficients themselves."""


def _is_classifier(model: Any) -> bool:
    return bool(model.loss == "logistic")


class StructuredLinear(Estimator):
    """min_{w,t} loss(X w + t; y)/m + penalty(w); a regressor with loss="squared", a classifier with "logistic".

    loss is ½‖·‖² or Σ log(1 + exp(-y(Xw + t))) for the two classes as y = ±1. Solved, times m, as
    min f(w, t) + h(u) over -A w + u = 0; the intercept t rides in the block of w.
    """

    loss: str
    fit_intercept: bool
    coef_: np.ndarray
    intercept_: float

    @abstractmethod
    def _penalty(self, d: int, m: int) -> Penalty:
        """The penalty on d coefficients, times m."""

    @abstractmethod
    def _cleaned(self, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        """w with the structure that u shows made exact: u has exact zeros where A w has small numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        if _is_classifier(self):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def problem(self, X: Any, y: Any) -> Problem:
        """The optimisation problem behind `fit`; its objective is m times that of the model."""
        model = self._aside()
        X, target = model._validated(X, y)
        X = scaled(X, model._scales(X, self.fit_intercept))
        means, level = self._centre(X, target)
        return self._problem(X, target - level, means)

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to samples X (dense or sparse) and y: numbers, or two classes with loss="logistic"."""
        X, target = self._validated(X, y)
        self.feature_scales_ = self._scales(X, self.fit_intercept)
        X = scaled(X, self.feature_scales_)
        means, level = self._centre(X, target)
        x, u = self._solve(self._problem(X, target - level, means)).x
        d = X.shape[1]
        w = self._cleaned(np.asarray(x[:d]), np.asarray(u))
        self.coef_ = w / self.feature_scales_
        # the one entry beyond the coefficients, if any, is the intercept of the centred data
        self.intercept_ = float(level + np.sum(x[d:]) - means @ w)
        score = np.asarray(X @ w) + self.intercept_
        self.quality_ = self._figures(target, score)
        if np.ptp(score) <= 1e-9 * np.abs(score).max():
            self._warn("the fit is constant, nothing of X is used; lower alpha")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """X w + t, or the class it stands for."""
        score = self._linear(X)
        if _is_classifier(self):
            return self.classes_[(score > 0).astype(int)]
        return score

    def score(self, X: Any, y: Any) -> float:
        """R², or accuracy for classes."""
        from sklearn.metrics import accuracy_score, r2_score  # not needed to fit, and slow to load

        return float((accuracy_score if _is_classifier(self) else r2_score)(y, self.predict(X)))

    @available_if(_is_classifier)
    def decision_function(self, X: Any) -> np.ndarray:
        """X w + t: positive for the second class."""
        return self._linear(X)

    @available_if(_is_classifier)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two classes."""
        p = expit(self._linear(X))
        return np.column_stack([1 - p, p])

    def _figures(self, target: np.ndarray, score: np.ndarray) -> dict[str, float]:
        """How well the scores of the training samples fit."""
        count = {"nonzero coefficients": int(np.count_nonzero(self.coef_))}
        if _is_classifier(self):
            return {"accuracy": float(np.mean((score > 0) == (target > 0))), **count}
        residual = np.abs(target - score)
        return {
            "R²": 1.0
            - float(residual @ residual) / max(float(np.sum((target - target.mean()) ** 2)), 1e-300),
            "median absolute error": float(np.median(residual)),
            **count,
        }

    def _terms(self) -> dict[str, dict[str, float]]:
        return {"coefficients": {**self._named(self.coef_), "(intercept)": self.intercept_}}

    def _linear(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=float)
        return np.asarray(X @ self.coef_) + self.intercept_

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        self._choice("loss", self.loss, LOSSES)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=float,
            y_numeric=not _is_classifier(self),
            ensure_min_samples=2,
        )
        self._in_range("X", X)
        if not _is_classifier(self):
            self._in_range("y", y)
            return X, np.asarray(y, dtype=float)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            few = " class" if len(self.classes_) == 1 else " classes"
            raise ValueError(
                f"Only binary classification is supported: loss='logistic' needs two classes, "
                f"y has {len(self.classes_)}{few}"
            )
        return X, 2.0 * codes - 1.0

    def _centre(self, X: Any, target: np.ndarray) -> tuple[np.ndarray, float]:
        """(means of the columns, level of y) to be taken out: then least squares needs no intercept."""
        if not self.fit_intercept:
            return np.zeros(X.shape[1]), 0.0
        level = 0.0 if _is_classifier(self) else float(target.mean())
        return np.asarray(X.mean(axis=0)).ravel(), level

    def _problem(self, X: Any, target: np.ndarray, means: np.ndarray) -> Problem:
        m, d = X.shape
        penalty = self._penalty(d, m)
        A, own = penalty.A, penalty.own
        if self.fit_intercept and _is_classifier(self):  # a column of ones
            ones = np.ones((m, 1))
            X = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
            means, own = np.append(means, 0.0), np.append(own, 0.0)
            rows = sp.csr_array(A) if sp.issparse(A) else A * sp.eye_array(d, format="csr")
            A = sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], 1))]))
        size = A.shape[0] if sp.issparse(A) else d
        G = less_means(X, means)
        f = Logistic(G, target) if _is_classifier(self) else LeastSquares(G, target)
        return Problem(
            [
                Block(f=f, h=L1(own) if own.any() else Zero(), A=-A, shape=X.shape[1], name="w"),
                Block(h=penalty.h, A=1.0, shape=size, name="u"),
            ]
        )
