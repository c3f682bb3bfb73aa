"""Fused and overlapping group lasso against CVXPY, and the structure they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV

from ipds.models import FusedLasso, OverlappingGroupLasso

cp = pytest.importorskip("cvxpy")

EDGES = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (6, 7), (2, 7)]
GROUPS = [[0, 1, 2, 3], [2, 3, 4, 5], [5, 6], [7]]


def data(loss: str, m: int = 60, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) + 1.0
    w = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 0.0, 0.0])[:d]
    score = X @ w + 0.5 + 0.3 * rng.standard_normal(m)
    return X, score if loss == "squared" else np.where(score > np.median(score), "yes", "no")


def oracle(
    loss: str, X: np.ndarray, y: np.ndarray, penalty: Any, intercept: bool = True
) -> tuple[Any, Any, float]:
    """Coefficients, intercept and value by CVXPY."""
    m, d = X.shape
    w, t = cp.Variable(d), cp.Variable()
    score = X @ w + (t if intercept else 0.0)
    if loss == "squared":
        fit = 0.5 * cp.sum_squares(score - y)
    else:
        fit = cp.sum(cp.logistic(-cp.multiply(np.where(y == "yes", 1.0, -1.0), score)))
    problem = cp.Problem(cp.Minimize(fit / m + penalty(w)))
    problem.solve(solver=cp.CLARABEL)
    return w.value, t.value, problem.value


def fused(alpha: float, alpha_l1: float, edges: Any) -> Any:
    pairs = np.asarray(edges)
    return lambda w: alpha * cp.norm1(w[pairs[:, 1]] - w[pairs[:, 0]]) + alpha_l1 * cp.norm1(w)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("alpha_l1", [0.0, 0.02])
@pytest.mark.parametrize("edges", [None, EDGES])
@pytest.mark.parametrize("sparse", [False, True])
def test_fused_lasso_agrees_with_cvxpy(loss: str, alpha_l1: float, edges: Any, sparse: bool) -> None:
    X, y = data(loss)
    chain = [(i, i + 1) for i in range(7)]
    w, t, _ = oracle(loss, X, y, fused(0.05, alpha_l1, edges or chain))
    model = FusedLasso(0.05, alpha_l1=alpha_l1, edges=edges, loss=loss)
    model.fit(sp.csr_array(X) if sparse else X, y)
    assert np.allclose(model.coef_, w, atol=1e-4)
    assert model.intercept_ == pytest.approx(float(t), abs=3e-4)
    assert model.result_.success


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("alpha_l1", [0.0, 0.02])
@pytest.mark.parametrize("sparse", [False, True])
def test_group_lasso_agrees_with_cvxpy(loss: str, alpha_l1: float, sparse: bool) -> None:
    X, y = data(loss)
    weights = [np.sqrt(len(g)) for g in GROUPS]

    def penalty(w: Any) -> Any:
        groups = sum(a * cp.norm2(w[g]) for a, g in zip(weights, GROUPS, strict=True))
        return 0.05 * groups + alpha_l1 * cp.norm1(w)

    w, t, _ = oracle(loss, X, y, penalty)
    model = OverlappingGroupLasso(GROUPS, 0.05, alpha_l1=alpha_l1, loss=loss)
    model.fit(sp.csr_array(X) if sparse else X, y)
    assert np.allclose(model.coef_, w, atol=1e-4)
    assert model.intercept_ == pytest.approx(float(t), abs=3e-4)
    assert model.result_.success


def test_adjacency_is_weighted_edges() -> None:
    X, y = data("squared")
    W = np.zeros((8, 8))
    for i, j in EDGES:
        W[i, j] = W[j, i] = 1.0
    by_edges = FusedLasso(0.05, edges=EDGES).fit(X, y)
    for adjacency in (W, W.tolist(), sp.csr_array(W)):
        assert np.allclose(FusedLasso(0.05, adjacency=adjacency).fit(X, y).coef_, by_edges.coef_, atol=1e-5)


def test_without_intercept() -> None:
    X, y = data("squared")
    w, _, _ = oracle("squared", X, y, fused(0.05, 0.0, EDGES), intercept=False)
    model = FusedLasso(0.05, edges=EDGES, fit_intercept=False).fit(X, y)
    assert np.allclose(model.coef_, w, atol=1e-4)
    assert model.intercept_ == 0.0


def test_a_piecewise_constant_signal_is_recovered() -> None:
    rng = np.random.default_rng(0)
    levels = np.repeat([0.0, 2.0, -1.0, 1.0], 50)
    y = levels + 0.3 * rng.standard_normal(200)
    model = FusedLasso(alpha=4.0 / 200, fit_intercept=False).fit(sp.eye_array(200, format="csr"), y)
    assert np.sqrt(np.mean((model.coef_ - levels) ** 2)) < 0.2
    assert len(np.unique(model.segments_)) <= 20
    assert len(np.unique(model.coef_)) <= len(np.unique(model.segments_))


def test_segments_and_groups_are_exact() -> None:
    X, y = data("squared")
    fusedmodel = FusedLasso(0.3, edges=EDGES).fit(X, y)
    for label in np.unique(fusedmodel.segments_):
        assert len(np.unique(fusedmodel.coef_[fusedmodel.segments_ == label])) == 1
    grouped = OverlappingGroupLasso(GROUPS, 0.3).fit(X, y)
    for g in range(len(GROUPS)):
        if g not in grouped.active_groups_:
            assert np.all(grouped.coef_[GROUPS[g]] == 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # steps shrink to rounding there
def test_features_in_no_group_are_free() -> None:
    X, y = data("squared")
    model = OverlappingGroupLasso([[0, 1]], alpha=1e3).fit(X, y)
    ones = np.ones((len(X), 1))
    free = np.linalg.lstsq(np.hstack([X[:, 2:], ones]), y, rcond=None)[0]
    assert np.all(model.coef_[:2] == 0)
    assert np.allclose(model.coef_[2:], free[:-1], atol=1e-4)


def test_the_loss_decides_the_kind_of_estimator() -> None:
    assert is_regressor(FusedLasso())
    assert is_classifier(FusedLasso(loss="logistic"))
    assert not hasattr(FusedLasso(), "predict_proba")
    X, y = data("logistic")
    model = FusedLasso(0.01, loss="logistic").fit(X, y)
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.9
    search = GridSearchCV(FusedLasso(loss="logistic"), {"alpha": [1.0, 0.01]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.01}


def counts(m: int = 80, d: int = 8) -> tuple[sp.csr_array, np.ndarray]:
    """A sparse matrix whose columns lie far from 0: almost parallel to that of an intercept."""
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.poisson(30.0, (m, d)) * (rng.random((m, d)) < 0.95)).astype(float)
    return X, X @ np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0]) + rng.standard_normal(m)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "model", [FusedLasso(0.05), FusedLasso(0.05, edges=EDGES), OverlappingGroupLasso(GROUPS, 0.05)]
)
def test_sparse_data_is_centred_as_dense_data_is(model: Any, loss: str) -> None:
    """As many iterations, and the same fit."""
    X, y = counts()
    y = y if loss == "squared" else (y > np.median(y)).astype(int)
    model = clone(model).set_params(loss=loss, tol=1e-8, random_state=0)
    dense, sparse = clone(model).fit(X.toarray(), y), clone(model).fit(X, y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, rtol=1e-5)


def test_the_lasso_on_sparse_data_is_that_of_scikit_learn() -> None:
    X, y = counts()
    ours = OverlappingGroupLasso(alpha=0.5, tol=1e-9).fit(X, y)
    theirs = Lasso(alpha=0.5, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-5)
