"""Weights of samples in robust regression: two is twice, none is none, in everything that a fit gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ipds.models import RobustSparseRegressor
from ipds.models._lad import robust_scale, smallest_sum, weighted_quantile
from ipds.models._trials import Samples

cp = pytest.importorskip("cvxpy")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 8)) + 1.0
Y = 3 * X[:, 1] - 2 * X[:, 5] + 0.3 * RNG.standard_normal(70) + 1
Y[:7] += 30
C = RNG.integers(0, 4, 70)


@pytest.mark.parametrize(
    "options", [{}, {"refit": "ls"}, {"refit": None}, {"fit_intercept": False}, {"sparsity": 2}], ids=str
)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_weight_is_a_number_of_copies(options: dict[str, Any], convert: Any) -> None:
    weighted = RobustSparseRegressor(**options).fit(convert(X), Y, sample_weight=C)
    repeated = RobustSparseRegressor(**options).fit(convert(np.repeat(X, C, axis=0)), np.repeat(Y, C))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-9)
    assert weighted.scale_ == pytest.approx(repeated.scale_)
    assert getattr(weighted, "selection_", None) == pytest.approx(getattr(repeated, "selection_", None))
    for outliers in (False, True):
        here, there = (m.predict_interval(X[:3], 0.8, outliers=outliers) for m in (weighted, repeated))
        np.testing.assert_allclose(here, there, atol=1e-9)
    figures = {name: value for name, value in weighted.quality_.items() if name != "outliers"}
    assert figures == pytest.approx({name: repeated.quality_[name] for name in figures})
    assert set(np.repeat(np.arange(70), C)[repeated.outliers_]) == set(weighted.outliers_)


def test_the_refit_minimises_the_weighted_loss() -> None:
    c = RNG.uniform(0.2, 3.0, 70)
    model = RobustSparseRegressor(2).fit(X, Y, c)
    w, t = cp.Variable(2), cp.Variable()
    loss = cp.Problem(cp.Minimize(c @ cp.abs(X[:, model.support_] @ w + t - Y))).solve(solver="CLARABEL")
    assert model.support_.tolist() == [1, 5]
    assert c @ np.abs(model.residuals_) == pytest.approx(loss, rel=1e-7)
    assert model.result_.fun >= loss * (1 - 1e-6)


def test_the_problem_carries_the_weights() -> None:
    h = RobustSparseRegressor(2).problem(X, Y, sample_weight=np.full(70, 3.0)).blocks[-1].h
    assert h(np.ones(70)) == pytest.approx(210.0)


def test_samples_of_no_weight_leave_no_trace() -> None:
    ruined = Y.copy()
    ruined[::5] = 1e6
    c = np.ones(70)
    c[::5] = 0.0
    model = RobustSparseRegressor(2).fit(X, ruined, c)
    alone = RobustSparseRegressor(2).fit(X[c > 0], Y[c > 0])
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-9)
    assert not set(model.outliers_) & set(np.arange(0, 70, 5))
    assert len(model.residuals_) == 70


def test_equal_samples_become_one() -> None:
    twice = Samples(np.repeat(X, 2, axis=0), np.repeat(Y, 2), np.ones(140)).merged()
    assert twice.X.shape == (70, 8)
    assert np.all(twice.c == 2.0)
    same = Samples(X, np.ones(70), np.ones(70))
    assert same.merged() is same


def test_bad_weights_are_named() -> None:
    for c, text in (
        (-np.ones(70), "[Nn]egative"),
        (np.ones(3), "sample_weight"),
        (np.eye(70)[0], "sample_weight must be positive"),
    ):
        with pytest.raises(ValueError, match=text):
            RobustSparseRegressor(2).fit(X, Y, c)


def test_figures_with_weights_are_those_of_copies() -> None:
    values = RNG.standard_normal(40)
    for c in (np.ones(40, int), RNG.integers(0, 5, 40)):
        copies = np.repeat(values, c)
        for q in (0.0, 0.05, 0.37, 0.5, 0.95, 1.0):
            assert weighted_quantile(values, q, c.astype(float)) == pytest.approx(np.quantile(copies, q))
        sizes = np.sort(np.abs(copies))
        assert smallest_sum(np.abs(values), c.astype(float)) == pytest.approx(
            sizes[: (len(sizes) + 1) // 2].sum()
        )
        assert robust_scale(values, c.astype(float)) == pytest.approx(1.4826 * np.median(np.abs(copies)))
