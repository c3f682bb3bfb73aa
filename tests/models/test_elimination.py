"""Supports of all sizes from one fit: features leave one by one."""

import itertools

import numpy as np
import pytest

from ipds.models import RobustSparseRegressor, _trials
from ipds.models._support import squares_left


def left(G: np.ndarray, y: np.ndarray) -> float:
    rest = y - G @ np.linalg.lstsq(G, y, rcond=None)[0]
    return float(rest @ rest)


@pytest.mark.parametrize("fixed", [0, 1])
def test_squares_are_those_of_the_best_supports_where_columns_are_orthogonal(fixed):
    rng = np.random.default_rng(0)
    G = np.linalg.qr(rng.standard_normal((30, 6 + fixed)))[0] * rng.uniform(0.1, 10, 6 + fixed)
    y = G @ rng.standard_normal(6 + fixed) + rng.standard_normal(30)
    found = squares_left(G, y, 6)
    for size in range(7):
        choices = itertools.combinations(range(6), size)
        best = min(left(G[:, [*S, *range(6, 6 + fixed)]], y) for S in choices)
        assert found[size] == pytest.approx(best)


def test_equal_columns_leave_first_and_perfect_fits_leave_nothing():
    rng = np.random.default_rng(1)
    G = rng.standard_normal((40, 6))
    G[:, 3] = G[:, 0]
    y = G[:, :3] @ [3.0, -2.0, 1.0]
    found = squares_left(G, y, 6)
    assert found[3] < 1e-24 * (y @ y) < found[2]
    assert np.all(np.diff(found) <= 0)


def test_more_columns_than_rows():
    G = np.random.default_rng(2).standard_normal((3, 5))
    assert squares_left(G, G[:, 0], 5)[-1] < 1e-20


def test_many_samples_are_judged_by_all_of_them(monkeypatch):
    """Coefficients too small for the samples that coarse fits see are found with all of them."""
    monkeypatch.setattr(_trials, "ROWS", 200)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 12))
    y = 3 * X[:, 0] - 2 * X[:, 5] + 0.12 * X[:, 9] + rng.standard_normal(4000)
    y[:200] += 50
    model = RobustSparseRegressor().fit(X, y)
    assert model.support_.tolist() == [0, 5, 9]
    assert model.result_.success
