"""Linear models with a convex structured penalty: least squares or logistic loss, shared by fused and group lasso."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from .._arrays import threads_for_data
from ..functions import L1, LeastSquares, Logistic, Nonsmooth, Zero
from ..problem import Block, Problem
from ..result import Result
from ._base import Linear, fitting
from ._path import Point, Tuned
from ._scaling import column_means, less_means, scaled

LOSSES = ("squared", "logistic")
NEWTON = 30
"""Steps at most of the logistic regression on what alpha does not penalise."""


class Penalty(NamedTuple):
    """h(A w) + Σ own_j |w_j|."""

    A: Any
    """Acts on the coefficients alone: a number or a sparse matrix."""
    h: Nonsmooth
    own: float
    """Weight of the ℓ1 norm of the coefficients themselves."""


def _is_classifier(model: Any) -> bool:
    return bool(model.loss == "logistic")


@dataclass(eq=False, repr=False)
class StructuredLinear(Linear, Tuned):
    """min_{w,t} loss(X w + t; y)/m + penalty(w); a regressor with loss="squared", a classifier with "logistic".

    loss is ½‖·‖² or Σ c_i log(1 + exp(-y_i(Xw + t)_i)) for two classes as y = ±1, c the weights of the classes; of
    K > 2 classes, each against the rest, with K columns of w that the penalty takes together. Solved, times m, as
    min f(w, t) + h(u) over -A w + u = 0; the intercept t rides in the block of w.
    """

    accepts_sparse = True
    _: KW_ONLY
    loss: str = "squared"
    fit_intercept: bool = True
    class_weight: Any = None
    cv: Any = 5
    standardize: Any = "auto"

    coef_: np.ndarray = field(init=False)
    intercept_: Any = field(init=False)

    @abstractmethod
    def _penalty(self, d: int, columns: int, alpha: float) -> Penalty:
        """The penalty on d coefficients, or an array of d x columns, with weight alpha."""

    @abstractmethod
    def _cleaned(self, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        """w with the structure that u shows made exact: u has exact zeros where A w has small numbers."""

    @abstractmethod
    def _free(self, d: int) -> Any:
        """Directions that alpha does not penalise, as the columns of a sparse matrix."""

    @abstractmethod
    def _dual(self, slope: np.ndarray) -> float:
        """An alpha whose penalty outweighs `slope`, the descent of the loss at the unpenalised model."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _is_classifier(self):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def problem(self, X: Any, y: Any) -> Problem:
        """The optimisation problem behind `fit`; its objective is m times that of the model."""
        model = self._aside()
        X, target = model._prepared(X, y)
        return model._problem(X, target, model._chosen_alpha(X, target))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to samples X (dense or sparse) and y: numbers, or classes with loss="logistic"."""
        X, target = self._prepared(X, y)
        self.alpha_ = self._chosen_alpha(X, target)
        result = self._solve(self._problem(X, target, self.alpha_))
        w, t = self._unpacked(X, target, result)
        self.coef_ = self._in_units_of_X(w)
        self.intercept_ = t if w.ndim == 2 else float(t)
        score = np.asarray(X @ w) + t
        self.quality_ = self._figures(target, score)
        if self.result_.success and np.all(np.ptp(score, axis=0) <= 1e-9 * np.abs(score).max()):
            advice = "lower alpha" if not isinstance(self.alpha, str) else "no part of X explains the target"
            self._warn(f"the fit is constant, nothing of X is used; {advice}")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """X w + t, or the class it stands for."""
        score = self._linear(X)
        if not _is_classifier(self):
            return score
        return self.classes_[_classes(score)]

    def score(self, X: Any, y: Any) -> float:
        """R², or accuracy for classes."""
        from sklearn.metrics import accuracy_score, r2_score  # not needed to fit, and slow to load

        return float((accuracy_score if _is_classifier(self) else r2_score)(y, self.predict(X)))

    @available_if(_is_classifier)
    def decision_function(self, X: Any) -> np.ndarray:
        """X w + t: positive for the second class; of more classes, a column each."""
        return self._linear(X)

    @available_if(_is_classifier)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; of more than two, those of each against the rest, brought to sum 1."""
        p = expit(self._linear(X))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        p = np.maximum(p, 1e-300)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _figures(self, target: np.ndarray, score: np.ndarray) -> dict[str, float]:
        """How well the scores of the training samples fit."""
        count = {"nonzero coefficients": int(np.count_nonzero(self.coef_))}
        if _is_classifier(self):
            return {"accuracy": float(np.mean(_classes(score) == _classes(target))), **count}
        residual = np.abs(target - score)
        return {
            "R²": r_squared(target, score),
            "median absolute error": float(np.median(residual)),
            **count,
        }

    def _prepared(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, target = self._validated(X, y)
        self.feature_scales_ = self._scales(X, self.fit_intercept)
        return scaled(X, self.feature_scales_), target

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        self._choice("loss", self.loss, LOSSES)
        X, y = self._validated_pair(X, y, numeric=not _is_classifier(self))
        if not _is_classifier(self):
            return X, np.asarray(y, dtype=float)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"loss='logistic' needs at least two classes, y has {len(self.classes_)} class")
        self.class_weights_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if len(self.classes_) == 2:
            return X, 2.0 * codes - 1.0
        return X, np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def _centre(self, X: Any, target: np.ndarray) -> tuple[np.ndarray, float]:
        """(means of the columns, level of y) to be taken out: then least squares needs no intercept."""
        if not self.fit_intercept:
            return np.zeros(X.shape[1]), 0.0
        level = 0.0 if _is_classifier(self) else float(target.mean())
        return column_means(X), level

    def _problem(self, X: Any, target: np.ndarray, alpha: float) -> Problem:
        (m, d), (means, level) = X.shape, self._centre(X, target)
        columns = target.shape[1:]
        penalty = self._penalty(d, math.prod(columns), m * alpha)
        A, own = penalty.A, np.full((d, *columns), m * penalty.own)
        if self.fit_intercept and _is_classifier(self):  # a column of ones
            ones = np.ones((m, 1))
            X = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
            means, own = np.append(means, 0.0), np.concatenate([own, np.zeros((1, *columns))])
            rows = sp.csr_array(A) if sp.issparse(A) else A * sp.eye_array(d, format="csr")
            A = sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], 1))]))
        size = A.shape[0] if sp.issparse(A) else d
        G = less_means(X, means)
        f = (
            Logistic(G, target, self._weights(target))
            if _is_classifier(self)
            else LeastSquares(G, target - level)
        )
        h = L1(own) if own.any() else Zero()
        return Problem(
            [
                Block(f=f, h=h, A=-A, shape=(X.shape[1], *columns), name="w"),
                Block(h=penalty.h, A=1.0, shape=(size, *columns), name="u"),
            ]
        )

    def _weights(self, target: np.ndarray) -> Any:
        """Weights of the samples, in the shape of the target; 1 where classes have none."""
        if self.class_weight is None:
            return 1.0
        weights = self.class_weights_[_classes(target)]
        return weights if target.ndim == 1 else np.repeat(weights[:, None], target.shape[1], axis=1)

    def _unpacked(self, X: Any, target: np.ndarray, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """(w, t) of a solution."""
        (means, level), d = self._centre(X, target), X.shape[1]
        x, u = (np.asarray(block) for block in result.x)
        w = self._cleaned(x[:d], u)
        # the one row beyond the coefficients, if any, is the intercept of the centred data
        return w, level + x[d:].sum(axis=0) - means @ w

    def _losses(self, target: np.ndarray, score: np.ndarray) -> np.ndarray:
        if not _is_classifier(self):
            return 0.5 * (score - target) ** 2
        losses = self._weights(target) * np.logaddexp(0.0, -target * score)
        return losses if losses.ndim == 1 else losses.sum(axis=1)

    def _criterion(self, X: Any, target: np.ndarray, point: Point) -> float:
        """m log(2·loss/m), or 2·loss of classes, + k(log m + 2γ log d) for k degrees of freedom (`extended_bic`)."""
        m, d = X.shape
        k = self._degrees(point.w)
        loss = 2 * float(self._losses(target, self._scores(X, point)).sum())
        if _is_classifier(self):
            return loss + k * per_degree(m, d)
        return extended_bic(loss, float(np.sum((target - target.mean()) ** 2)), k, m, d)

    def _degrees(self, w: np.ndarray) -> int:
        """Degrees of freedom: the nonzero coefficients."""
        return int(np.count_nonzero(w))

    def _largest_alpha(self, X: Any, target: np.ndarray) -> float:
        m, d = X.shape
        Z = np.asarray((X @ self._free(d)).todense() if sp.issparse(X) else X @ self._free(d).toarray())
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(m)])
        if _is_classifier(self):
            columns, weights = target.reshape(m, -1), np.reshape(self._weights(target) + 0 * target, (m, -1))
            residual = np.column_stack(
                [logistic_residual(Z, y, c) for y, c in zip(columns.T, weights.T, strict=True)]
            ).reshape(target.shape)
        else:
            residual = target - Z @ np.linalg.lstsq(Z, target, rcond=None)[0]
        return self._dual(np.asarray(X.T @ residual) / m)


def _classes(score: np.ndarray) -> np.ndarray:
    """Numbers of the classes that the scores stand for."""
    return np.asarray((score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1))


def r_squared(target: np.ndarray, score: np.ndarray, weights: np.ndarray | None = None) -> float:
    """1 - Σ c(y - score)²/Σ c(y - ȳ)² for weights c."""
    left = np.average((target - score) ** 2, weights=weights)
    spread = np.average((target - np.average(target, weights=weights)) ** 2, weights=weights)
    return 1.0 - float(left) / max(float(spread), 1e-300)


def per_degree(m: int, d: int) -> float:
    """What a degree of freedom costs: log m + 2γ log d, γ = max(0, 1 - log m/(2 log d)) (Chen & Chen 2008)."""
    gamma = max(0.0, 1.0 - math.log(m) / (2 * math.log(d))) if d > 1 else 0.0
    return math.log(m) + 2 * gamma * math.log(max(d, 1))


def extended_bic(squares: float, total: float, k: int, m: int, d: int) -> float:
    """m log(squares/m) + k(log m + 2γ log d); infinite where k exceeds half of the samples."""
    if 2 * k > m:
        return math.inf
    return m * math.log(max(squares, 1e-12 * total, 1e-300) / m) + k * per_degree(m, d)


def logistic_residual(Z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """c(y₊ - p) of the logistic regression of the labels y = ±1 on the columns of Z, by Newton's method."""
    positive, a = (y > 0).astype(float), np.zeros(Z.shape[1])
    for _ in range(NEWTON):
        p = expit(Z @ a)
        slope = Z.T @ (weights * (positive - p))
        H = (Z.T * (weights * p * (1 - p))) @ Z
        step = np.linalg.solve(H + (1e-10 * np.trace(H) + 1e-12) * np.eye(len(a)), slope)
        a = a + step * min(1.0, 5.0 / max(1e-300, float(np.abs(step).max(initial=0.0))))
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return np.asarray(weights * (positive - expit(Z @ a)))
