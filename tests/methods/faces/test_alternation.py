"""Reweighted least squares on factors: one pass is two weighted fits, and what a whole run of them comes to."""

import numpy as np
import pytest
from gross_errors import matrix, stated

from ipds import Block, Problem, solve
from ipds.functions import L1, Rank
from ipds.functions.fixed_rank import FixedRank, near
from ipds.methods.faces import alternation
from ipds.methods.faces.alternation import (
    Sample,
    alternated,
    exchanged,
    inverse,
    one_pass,
    redescending,
    start,
)
from ipds.methods.faces.passes import Deviations


def posed(masked, shape=(40, 50), r=3, noise=0.1):
    M, _ = matrix(5, shape, r, 0.1, noise)
    observed = (np.random.default_rng(1).random(shape) < 0.7).astype(float) if masked else None
    return M if observed is None else M * observed, Deviations(-2.0, 1.0, observed)


WEIGHTS = [
    (inverse(0.3), lambda a: 1 / np.maximum(a, 0.3)),
    (redescending(0.3), lambda a: 1 / (1 + (a / 0.3) ** 2)),
]


@pytest.mark.parametrize(("weights", "expected"), WEIGHTS)
@pytest.mark.parametrize("at_once", [0, 10**9])  # elimination in all rows at once, and row by row
@pytest.mark.parametrize("rows", [16, 100])  # several pieces, and one
@pytest.mark.parametrize("masked", [False, True])
def test_a_pass_is_a_weighted_fit_of_either_factor(masked, rows, at_once, weights, expected, monkeypatch):
    monkeypatch.setattr(alternation, "ENTRIES", 1)
    monkeypatch.setattr(alternation, "FEWEST", rows)
    monkeypatch.setattr(alternation, "AT_ONCE", at_once)
    data, loss = posed(masked)
    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((40, 3)), rng.standard_normal((50, 3))
    seen = np.ones(data.shape) if loss.observed is None else loss.observed
    u = (data + 2.0 * L @ R.T) * seen
    w = seen * expected(np.abs(u))

    def fit(w, b, F):  # row by row
        return np.array(
            [
                np.linalg.lstsq(-2.0 * F * q[:, None], b_i * q, rcond=None)[0]
                for q, b_i in zip(np.sqrt(w), b, strict=True)
            ]
        )

    found = one_pass(L, R, data, loss, weights)
    assert np.allclose(found.L, fit(w, data, R))
    assert np.allclose(found.R, fit(w.T, data.T, found.L))
    assert found.value == pytest.approx(np.abs(u).sum())
    assert found.largest == np.abs(u).max()


@pytest.mark.parametrize("masked", [False, True])
def test_rows_with_too_few_entries_are_fitted_all_the_same(masked):
    data, _ = posed(masked)
    observed = np.ones(data.shape)
    observed[7, 2:] = 0.0  # two equations for three numbers
    found = one_pass(*near(data, 3).balanced(), data * observed, Deviations(1.0, 1.0, observed), inverse(0.1))
    assert np.all(np.isfinite(found.L))
    assert np.all(np.isfinite(found.R))
    assert np.allclose(found.L[7] @ near(data, 3).balanced()[1][:2].T, data[7, :2], atol=1e-3)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_passes_end_near_the_least_value(masked, noise):
    data, loss = posed(masked, (90, 80), noise=noise)
    places = None if loss.observed is None else np.flatnonzero(loss.observed)
    sample = Sample.of(data, places)
    begun = start(3, np.zeros((1, 1)), data, loss, sample)
    X, epsilon = alternated(begun, data, loss, sample, float(np.abs(data).mean()))
    mask = None if loss.observed is None else loss.observed > 0
    least = solve(stated(data, mask=mask), tol=1e-6).fun
    assert 0 < epsilon < np.median(sample.sizes(-2.0, begun.U * begun.sigma, begun.V))
    assert least * (1 - 1e-9) <= loss.sizes(X, data)[0] <= 1.002 * least


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_passes_go_on_where_the_median_stands_still(seed):
    """Their gains fall by eight at first, and by two from then on: the first ones promise too much."""
    data, loss = matrix(seed, (80, 60), 2, 0.1, noise=1.0)[0], Deviations(-1.0, 1.0, None)
    sample = Sample.of(data, None)
    begun = start(2, np.zeros((1, 1)), data, loss, sample)
    X, _ = alternated(begun, data, loss, sample, float(np.abs(data).mean()))
    assert loss.sizes(X, data)[0] <= 1.001 * solve(stated(data, 2), tol=1e-6).fun


def test_what_is_left_after_passes_whose_median_falls_fast():
    assert alternation._left([100.0, 20.0], [0.2, 0.1], 2) == pytest.approx(0.1 * 80 * 0.2 / 0.8)
    least = alternation._left([100.0, 20.0], [1e-9, 1e-9], 2)  # the median may be that of rows fitted at once
    assert least == pytest.approx(0.1 * 80 * 0.1 / 0.9)
    assert alternation._left([100.0], [0.2], 1) == np.inf


def test_a_series_begins_with_the_passes_of_its_weights():
    values, falls = [100.0, 10.0, 9.0, 8.5, 8.3], [0.3, 0.6, 0.99, 1.0, 1.0]
    assert alternation._left(values[:4], falls[:4], 2) == np.inf
    assert alternation._left(values, falls, 2) == pytest.approx(
        0.2
    )  # 0.5, 0.2: 2/15 in the series, 0.2 at a standstill


@pytest.mark.parametrize("masked", [False, True])
def test_a_pass_in_single_precision_leads_to_the_same_factors(masked):
    data, loss = posed(masked)
    factors = near(data / -2.0, 3).balanced()
    found = one_pass(*factors, data, loss, inverse(0.3))
    coarse = one_pass(*factors, data.astype(np.float32), loss.single(), inverse(0.3))
    for part, other in zip(found, coarse, strict=True):
        assert np.allclose(part, other, rtol=1e-4, atol=1e-4)
    assert coarse.L.dtype == coarse.R.dtype == np.float64


@pytest.mark.parametrize("unit", [1e-40, 1e-12, 1.0, 1e12, 1e40])  # single precision ends at 1e±38
def test_passes_do_not_depend_on_the_unit_of_the_data(unit):
    data, _ = posed(False, (90, 80))
    loss, sample = Deviations(1.0, 1.0, None), Sample.of(unit * data, None)
    begun = start(3, np.zeros((1, 1)), unit * data, loss, sample)
    X, _ = alternated(begun, unit * data, loss, sample, unit * float(np.abs(data).mean()))
    least = solve(stated(data), tol=1e-6).fun
    assert loss.sizes(X, unit * data)[0] <= 1.001 * unit * least


def test_what_single_precision_does_not_tell_apart_is_fitted_in_double(monkeypatch):
    """Errors of 1e-7 in entries of 1: ε goes on to fall, and passes change over."""
    kinds = []
    monkeypatch.setattr(
        alternation, "one_pass", lambda *given: kinds.append(given[2].dtype) or one_pass(*given)
    )
    M = matrix(5, (90, 80), 3, 0.0, 1e-8)[0]
    loss, sample = Deviations(1.0, 1.0, None), Sample.of(M, None)
    X, _ = alternated(start(3, np.zeros((1, 1)), M, loss, sample), M, loss, sample, float(np.abs(M).mean()))
    assert kinds[0] == np.float32
    assert kinds[-1] == np.float64
    assert loss.sizes(X, M)[0] <= 1.01 * np.abs(near(M, 3, powers=3).x - M).sum()


def test_weights_that_fall_off_and_steps_beyond_the_fits_save_passes(monkeypatch):
    """Three of them under a fifth of gross errors; without either, four."""
    passes = []
    monkeypatch.setattr(alternation, "one_pass", lambda *given: passes.append(one_pass(*given)) or passes[-1])
    M, truth = matrix(5, (150, 150), 5, 0.2)
    M = truth + 2 * (M - truth)
    loss, sample = Deviations(1.0, 1.0, None), Sample.of(M, None)
    X, _ = alternated(start(5, np.zeros((1, 1)), M, loss, sample), M, loss, sample, float(np.abs(M).mean()))
    assert len(passes) == 3
    assert loss.sizes(X, M)[0] <= 1.001 * np.abs(M - truth).sum()


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_zero_do_not_make_the_others_gross_errors(seed):
    """The median is that of rows fitted whole at once: weights that fall off with it would leave the others out."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((150, 4)) @ rng.standard_normal((4, 150))
    M[rng.random(150) < 0.6] = 0.0
    gross = np.where(rng.random(M.shape) < 0.1, rng.uniform(-8, 8, M.shape), 0.0)
    data, loss = M + gross, Deviations(1.0, 1.0, None)
    sample = Sample.of(data, None)
    begun = start(4, np.zeros((1, 1)), data, loss, sample)
    X, _ = alternated(begun, data, loss, sample, float(np.abs(data).mean()))
    assert loss.sizes(X, data)[0] <= 1.015 * np.abs(gross).sum()


def test_the_median_is_that_of_what_is_observed():
    data, loss = posed(True, (300, 200))
    seen = np.abs(data[loss.observed > 0])
    sample = Sample.of(data, np.flatnonzero(loss.observed))
    zero = np.zeros((300, 1)), np.zeros((200, 1))
    assert sample.median(1.0, *zero) == pytest.approx(np.median(seen), rel=0.2)
    assert np.mean(seen <= sample.median(1.0, *zero)) == pytest.approx(0.5, abs=0.1)


def test_an_error_worth_more_than_a_column_takes_its_place():
    M, _ = matrix(5, (40, 50), 3, 0.1, 0.1)
    M[11, 22] = -1e5
    result = solve(stated(M), tol=1e-5)
    assert result.success
    assert result.x[0][11, 22] == pytest.approx(-1e5)
    assert result.fun < 2e4  # with the three columns of the others and this entry left it is more than 1e5


def test_what_is_exchanged_is_fitted_and_nothing_else():
    data, loss = posed(False)
    data[11, 22] = 1e6
    X = near(np.clip(data, -9, 9) / -2.0, 3)
    Y = exchanged(X, data, loss)
    kept = FixedRank(X.U[:, :2], X.sigma[:2], X.V[:, :2]).x
    kept[11, 22] = data[11, 22] / -2.0
    assert np.allclose(Y.x, kept, atol=1e-9 * 1e6)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_fitted_whole_is_certified(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((10, 3)) @ rng.standard_normal((3, 8))
    problem = Problem(
        [Block(h=Rank(3), A=-1.0, shape=data.shape), Block(h=L1(1.0), shape=data.shape)], b=-data
    )
    result = solve(problem, max_iter=100)
    assert result.success
    assert result.fun <= 1e-8 * np.abs(data).sum()
