"""Linear models with a convex structured penalty: least squares or logistic loss, shared by fused and group lasso."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..functions import L1, LeastSquares, Logistic, Nonsmooth, Zero
from ..problem import Block, Problem
from ._base import Estimator

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
        X, target = self._aside()._validated(X, y)
        return self._problem(*self._centred(X, target)[:2])

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to samples X (dense or sparse) and y: numbers, or two classes with loss="logistic"."""
        X, target = self._validated(X, y)
        G, target, means, level = self._centred(X, target)
        x, u = self._solve(self._problem(G, target)).x
        d = X.shape[1]
        self.coef_ = self._cleaned(np.asarray(x[:d]), np.asarray(u))
        self.intercept_ = 0.0
        if self.fit_intercept:
            offset = level if not _is_classifier(self) and not sp.issparse(X) else float(x[d])
            self.intercept_ = float(offset - means @ self.coef_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """X w + t, or the class it stands for."""
        score = self._linear(X)
        if _is_classifier(self):
            return self.classes_[(score > 0).astype(int)]
        return score

    def score(self, X: Any, y: Any) -> float:
        """R², or accuracy for classes."""
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

    def _centred(self, X: Any, target: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, float]:
        """(X and targets with the intercept made easy, column means taken out, level of y taken out)."""
        if not self.fit_intercept or sp.issparse(X):
            return X, target, np.zeros(X.shape[1]), 0.0
        means = X.mean(axis=0)
        level = 0.0 if _is_classifier(self) else float(target.mean())
        return X - means, target - level, means, level

    def _problem(self, X: Any, target: np.ndarray) -> Problem:
        m, d = X.shape
        free = self.fit_intercept and (_is_classifier(self) or sp.issparse(X))
        if free:  # a column of ones; after centring, least squares needs none
            ones = np.ones((m, 1))
            X = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
        penalty = self._penalty(d, m)
        A = penalty.A
        if free:
            rows = sp.csr_array(A) if sp.issparse(A) else A * sp.eye_array(d, format="csr")
            A = sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], 1))]))
        size = A.shape[0] if sp.issparse(A) else d
        f = Logistic(X, target) if _is_classifier(self) else LeastSquares(X, target)
        own = np.append(penalty.own, 0.0) if free else penalty.own
        return Problem(
            [
                Block(f=f, h=L1(own) if own.any() else Zero(), A=-A, shape=X.shape[1], name="w"),
                Block(h=penalty.h, A=1.0, shape=size, name="u"),
            ]
        )
