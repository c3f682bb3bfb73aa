"""Trend filtering against CVXPY, its interpolation, weights, choices and the command line's view of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.interpolate import make_interp_spline

from ipds.models import FusedLasso, TrendFilter, load_model, save_model
from ipds.models._divided import chain, dual, integrate, interpolate, nearest

cp = pytest.importorskip("cvxpy")

RNG = np.random.default_rng(0)
EQUAL = np.arange(80.0)
RANDOM = np.cumsum(RNG.lognormal(0.0, 1.0, 80))


def derivatives(t, x, order):
    """[x, v_1, …, v_k], v_j = diag(j/(t_{i+j} - t_i)) D¹ v_{j-1}."""
    found = [x]
    for j in range(1, order + 1):
        found.append(j / (t[j:] - t[:-j]) * np.diff(found[-1]))
    return found


def noisy(t: np.ndarray, seed: int = 0) -> np.ndarray:
    s = (t - t[0]) / np.ptp(t)
    return (
        np.sin(6 * s) + 4 * np.maximum(s - 0.5, 0) + 0.2 * np.random.default_rng(seed).standard_normal(len(t))
    )


def differences(t: np.ndarray, order: int) -> np.ndarray:
    """D^{k+1} as a dense matrix, by the recursion of Tibshirani (2014)."""
    D = np.diff(np.eye(len(t)), axis=0)
    for j in range(1, order + 1):
        D = np.diff(j / (t[j:] - t[:-j])[:, None] * D, axis=0)
    return D


def objective(t: np.ndarray, y: np.ndarray, x: np.ndarray, alpha: float, order: int, c: Any = 1.0) -> float:
    return float(0.5 * np.sum(c * (y - x) ** 2) + alpha * np.abs(differences(t, order) @ x).sum())


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("positions", [EQUAL, RANDOM], ids=["equal", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_that_of_cvxpy(order: int, positions: np.ndarray, weighted: bool) -> None:
    y = noisy(positions)
    c = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    alpha = 0.03 * TrendFilter(order).alpha_max(positions, y)
    model = TrendFilter(order, alpha).fit(positions, y, c)
    x = cp.Variable(len(y))
    variation = cp.norm1(differences(positions, order) @ x)
    oracle = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.multiply(c, cp.square(y - x))) + alpha * variation))
    oracle.solve(solver="CLARABEL")
    assert model.result_.success
    mine = objective(positions, y, model.trend_, alpha, order, c)
    assert mine == pytest.approx(oracle.value, rel=1e-6)
    np.testing.assert_allclose(model.predict(positions), model.trend_, atol=1e-9)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_alpha_max_is_where_the_first_knot_appears(order: int) -> None:
    y = noisy(RANDOM)
    top = TrendFilter(order).alpha_max(RANDOM, y)
    assert len(TrendFilter(order, 1.001 * top).fit(RANDOM, y).knots_) == 0
    assert len(TrendFilter(order, 0.98 * top).fit(RANDOM, y).knots_) > 0


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_pieces_are_polynomials_and_the_knots_are_where_they_meet(order: int) -> None:
    y = noisy(RANDOM)
    model = TrendFilter(order, 0.05 * TrendFilter(order).alpha_max(RANDOM, y)).fit(RANDOM, y)
    assert 0 < len(model.knots_) < 30
    inner = [RANDOM[0], *model.knots_, RANDOM[-1]]
    for low, high in itertools.pairwise(inner):
        inside = np.linspace(low, high, 20)[1:-1]
        fit = np.polynomial.Polynomial.fit(inside, model.predict(inside), order)
        np.testing.assert_allclose(fit(inside), model.predict(inside), atol=1e-7)


def test_divided_differences_are_undone_by_running_sums() -> None:
    for order in range(4):
        x = RNG.standard_normal(len(RANDOM))
        values = derivatives(RANDOM, x, order)
        jumps = np.diff(values[-1])
        np.testing.assert_allclose(jumps, differences(RANDOM, order) @ x, rtol=1e-8)
        first = np.array([v[0] for v in values])
        np.testing.assert_allclose(integrate(RANDOM, jumps, first)[0], x, atol=1e-6)
        whole = chain(RANDOM, order) @ np.concatenate(values)
        np.testing.assert_allclose(whole[-len(jumps) :], jumps, rtol=1e-8)
        assert np.abs(whole[: -len(jumps)]).max(initial=0.0) <= 1e-9 * np.abs(jumps).max()
        slope = differences(RANDOM, order).T @ jumps
        np.testing.assert_allclose(
            dual(RANDOM, slope, order), jumps, rtol=1e-4, atol=1e-4 * np.abs(jumps).max()
        )


def test_polynomials_come_back_from_interpolation() -> None:
    at = np.linspace(RANDOM[0] - 5, RANDOM[-1] + 5, 50)
    for order in range(4):
        p = np.polynomial.Polynomial(RNG.standard_normal(order + 1) / 50.0 ** np.arange(order + 1))
        found = interpolate(RANDOM, derivatives(RANDOM, p(RANDOM), order), at)
        np.testing.assert_allclose(found, p(at), rtol=1e-6)
        jumps = np.zeros(len(RANDOM) - order - 1)
        np.testing.assert_allclose(
            nearest(RANDOM, p(RANDOM), np.ones(80), jumps, order)[0], p(RANDOM), rtol=1e-8
        )


def test_order_one_is_the_broken_line_between_the_samples() -> None:
    y = noisy(RANDOM)
    model = TrendFilter(1, 0.1).fit(RANDOM, y)
    at = np.linspace(RANDOM[0], RANDOM[-1], 300)
    np.testing.assert_allclose(model.predict(at), make_interp_spline(RANDOM, model.trend_, 1)(at), atol=1e-9)


def test_order_zero_is_the_fused_lasso_of_a_signal() -> None:
    y = noisy(EQUAL)
    fused = FusedLasso(2.0 / 80, fit_intercept=False, tol=1e-9).fit(sp.eye_array(80, format="csr"), y)
    trend = TrendFilter(0, 2.0, tol=1e-9).fit(None, y)
    np.testing.assert_allclose(trend.trend_, fused.coef_, atol=1e-6)
    assert len(trend.knots_) == fused.segments_.max()


@pytest.mark.parametrize("alpha", [0.3, "bic"])
def test_a_weight_of_two_is_a_sample_twice_and_of_none_is_none(alpha: Any) -> None:
    y, c = noisy(RANDOM), np.random.default_rng(2).integers(0, 3, 80)
    weighted = TrendFilter(1, alpha).fit(RANDOM, y, sample_weight=c)
    order = np.random.default_rng(3).permutation(int(c.sum()))
    repeated = TrendFilter(1, alpha).fit(np.repeat(RANDOM, c)[order], np.repeat(y, c)[order])
    np.testing.assert_allclose(weighted.trend_, repeated.trend_, atol=1e-7)
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)


def test_samples_at_one_position_count_as_their_weighted_mean() -> None:
    t = np.repeat(np.arange(10.0), 2)
    y = np.random.default_rng(4).standard_normal(20)
    c = np.tile([1, 3], 10)
    weighted = TrendFilter(1, 0.2).fit(t, y, c)
    repeated = TrendFilter(1, 0.2).fit(np.repeat(t, c), np.repeat(y, c))
    means = (y[::2] + 3 * y[1::2]) / 4
    np.testing.assert_allclose(weighted.trend_, repeated.trend_, atol=1e-8)
    np.testing.assert_allclose(weighted.trend_, TrendFilter(1, 0.2 / 4).fit(None, means).trend_, atol=1e-6)


def test_units_of_positions_are_in_alpha_alone() -> None:
    y = noisy(RANDOM)
    for order in (1, 3):
        here, there = TrendFilter(order), TrendFilter(order)
        here.fit(RANDOM, y)
        there.fit(1000.0 * RANDOM + 7e4, y)
        np.testing.assert_allclose(there.trend_, here.trend_, atol=1e-6)
        assert there.alpha_ == pytest.approx(1000.0**order * here.alpha_, rel=1e-6)


@pytest.mark.parametrize("alpha", ["bic", "cv"])
def test_alpha_is_chosen_near_the_best(alpha: str) -> None:
    t = np.linspace(0, 1, 120)
    truth = np.interp(t, [0, 0.2, 0.5, 0.6, 1], [0, 2, 1, 3, 2])
    y = truth + 0.2 * np.random.default_rng(0).standard_normal(120)
    model = TrendFilter(1, alpha).fit(t, y)
    path = model.path(t, y)
    errors = np.sqrt(np.mean((path.coefs - truth) ** 2, axis=1))
    assert np.sqrt(np.mean((model.trend_ - truth) ** 2)) <= 1.5 * errors.min()
    assert path.nonzeros[0] == 0
    assert model.alpha_ in model.selection_


def test_noise_has_no_trend() -> None:
    noise = np.random.default_rng(1).standard_normal(120)
    assert len(TrendFilter(1).fit(None, noise).knots_) <= 2


def test_scores_of_a_path_belong_to_their_own_fits() -> None:
    y = noisy(EQUAL)
    for model, X in (
        (TrendFilter(1), EQUAL),
        (FusedLasso(fit_intercept=False), sp.eye_array(80, format="csr")),
    ):
        path = model.path(X, y)
        alone = [model.path(X, y, [alpha]).scores[0] for alpha in path.alphas[[0, 5, 10]]]
        np.testing.assert_allclose(path.scores[[0, 5, 10]], alone, rtol=1e-3)


def test_few_positions_lower_the_order() -> None:
    model = TrendFilter(3, 0.1).fit([1.0, 2.0, 2.0, 4.0], [1.0, 2.0, 4.0, 3.0])
    assert model.order_ == 1
    assert "allow no more" in str(model.summary)
    assert model.predict([2.0, 5.0]).shape == (2,)


def test_a_line_has_no_knot() -> None:
    model = TrendFilter().fit(EQUAL, 3.0 * EQUAL - 1.0)
    assert len(model.knots_) == 0
    np.testing.assert_allclose(model.predict([100.0]), [299.0], rtol=1e-6)


def test_bad_input_is_named() -> None:
    y = noisy(EQUAL)
    for arguments, model, text in (
        ((EQUAL, y), TrendFilter(4), "order must be one of 0, 1, 2, 3"),
        ((np.ones(80), y), TrendFilter(), "at least 2 different positions"),
        ((RNG.standard_normal((80, 2)), y), TrendFilter(), "one column, got shape"),
        ((EQUAL[:5], y), TrendFilter(), "inconsistent numbers of samples"),
        ((EQUAL, y, -np.ones(80)), TrendFilter(), "[Nn]egative"),
        ((EQUAL[:4], y[:4]), TrendFilter(1, "cv"), "alpha='cv' wants 5 different positions"),
    ):
        with pytest.raises(ValueError, match=text):
            model.fit(*arguments)


def test_a_saved_trend_predicts_alike(tmp_path: Any) -> None:
    y = noisy(RANDOM)
    model = TrendFilter(2).fit(RANDOM, y)
    save_model(model, tmp_path / "trend.ipds")
    back = load_model(tmp_path / "trend.ipds")
    at = np.linspace(0, 90, 33)
    assert np.array_equal(back.predict(at), model.predict(at))
    assert str(back.summary) == str(model.summary)


def test_the_chain_stays_accurate_where_one_matrix_would_not() -> None:
    """Order 3 at 3,000 positions: D⁴ has a condition number of 1e14."""
    t = np.linspace(0, 1, 3000)
    y = noisy(t)
    model = TrendFilter(3)
    model.set_params(alpha=1e-3 * model.alpha_max(t, y)).fit(t, y)
    assert model.result_.success
    truth = np.sin(6 * t) + 4 * np.maximum(t - 0.5, 0)
    assert np.sqrt(np.mean((model.trend_ - truth) ** 2)) < 0.05
