"""The table of docs/from_sklearn.md: estimators of scikit-learn written out as models."""

import numpy as np
import pytest
from sklearn.covariance import GraphicalLasso
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    QuantileRegressor,
    Ridge,
)
from sklearn.svm import SVC

from ipds import Variable, minimize, solve
from ipds.functions import L1
from ipds.modelling import diff, hinge, log_det, logistic, norm1, norm21, quantile, sum_squares

rng = np.random.default_rng(0)
n, d = 61, 5
X = rng.normal(size=(n, d))
y = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=n)
Y = np.stack([y, X @ rng.normal(size=d) + rng.normal(size=n)], axis=1)
labels = np.sign(y + rng.normal(size=n))
w, b, W = Variable(d, name="w"), Variable(name="b"), Variable((d, 2), name="W")
K, x = Variable((d, d), name="K"), Variable(n, name="x")
empirical = np.cov(X, rowvar=False, bias=True)
alpha, r, C = 0.2, 0.3, 0.7
plain = {"fit_intercept": False, "tol": 1e-10}
squares = sum_squares(X @ w - y)

ROWS = {
    "Ridge": (
        squares + alpha * sum_squares(w),
        (),
        w,
        lambda: Ridge(alpha, fit_intercept=False).fit(X, y).coef_,
    ),
    "Lasso": (squares / (2 * n) + alpha * norm1(w), (), w, lambda: Lasso(alpha, **plain).fit(X, y).coef_),
    "ElasticNet": (
        squares / (2 * n) + alpha * r * norm1(w) + alpha * (1 - r) / 2 * sum_squares(w),
        (),
        w,
        lambda: ElasticNet(alpha, l1_ratio=r, **plain).fit(X, y).coef_,
    ),
    "MultiTaskLasso": (
        sum_squares(X @ W - Y) / (2 * n) + alpha * norm21(W),
        (),
        W,
        lambda: MultiTaskLasso(alpha, **plain).fit(X, Y).coef_.T,
    ),
    "positive": (
        squares,
        [w >= 0],
        w,
        lambda: LinearRegression(positive=True, fit_intercept=False).fit(X, y).coef_,
    ),
    "QuantileRegressor": (
        quantile(y - X @ w - b, 0.7) / n + 0.05 * norm1(w),
        (),
        w,
        lambda: QuantileRegressor(quantile=0.7, alpha=0.05).fit(X, y).coef_,
    ),
    "LogisticRegression": (
        C * logistic(-labels * (X @ w + b)) + 0.5 * sum_squares(w),
        (),
        w,
        lambda: LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, labels).coef_[0],
    ),
    "SVC": (
        C * hinge(labels * (X @ w + b)) + 0.5 * sum_squares(w),
        (),
        w,
        lambda: SVC(kernel="linear", C=C, tol=1e-8).fit(X, labels).coef_[0],
    ),
    "IsotonicRegression": (
        sum_squares(x - y),
        [diff(x) >= 0],
        x,
        lambda: IsotonicRegression().fit_transform(np.arange(n), y),
    ),
    "GraphicalLasso": (
        (empirical * K).sum() - log_det(K) + L1(alpha * (1 - np.eye(d)))(K),
        (),
        K,
        lambda: GraphicalLasso(alpha, tol=1e-9, enet_tol=1e-9).fit(X).precision_,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_model_is_the_estimator(name):
    objective, constraints, variable, theirs = ROWS[name]
    result = solve(minimize(objective, constraints), tol=1e-6)
    assert result.success
    expected = theirs()
    assert result.value(variable) == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())
