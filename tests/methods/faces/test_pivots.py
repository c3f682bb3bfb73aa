"""Least absolute deviations: exchanges, exact, and of many rows those of the few whose side is not sure."""

import numpy as np
import pytest
import scipy

from ipds.methods.faces import pivots
from ipds.methods.faces.pivots import least_deviations, reweighted

ROWS, COLUMNS = 6000, 5


def cases():
    rng = np.random.default_rng(0)
    M = np.column_stack([rng.standard_normal((ROWS, COLUMNS - 1)), np.ones(ROWS)])
    c = rng.standard_normal(ROWS) + np.where(rng.random(ROWS) < 0.1, 30.0, 0.0)
    yield "outliers", M, c
    yield "sorted", M[np.argsort(c)], np.sort(c)
    yield "few values", np.rint(2 * M), c
    heavy = np.vstack([M, 500.0 * np.eye(COLUMNS)])  # an ℓ1 norm
    yield "penalty", heavy, np.append(c, np.zeros(COLUMNS))
    yield "leverage", M * np.exp(1.5 * rng.standard_normal((ROWS, 1))), rng.standard_cauchy(ROWS)


@pytest.mark.parametrize(("M", "c"), [pytest.param(M, c, id=name) for name, M, c in cases()])
@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_few_of_many_rows_lead_to_the_solution(M, c, quantile, monkeypatch):
    counts = []
    exchanged = pivots._exchanged
    monkeypatch.setattr(
        pivots, "_exchanged", lambda rows, *rest: counts.append(len(rows.c)) or exchanged(rows, *rest)
    )
    left, right = np.full(len(c), quantile - 1), np.full(len(c), quantile)
    found = least_deviations(M, c, left, right, np.zeros(COLUMNS))
    assert max(counts) < ROWS / 2
    np.testing.assert_allclose(M @ found.v + c, found.r, atol=1e-10)
    np.testing.assert_allclose(
        M.T @ found.y, 0, atol=1e-7
    )  # with the sides below: a proof that it is a solution
    assert np.all(np.where(found.r > 0, found.y == right, True))
    assert np.all(np.where(found.r < 0, found.y == left, True))
    assert np.all((left <= found.y) & (found.y <= right))


def test_rows_that_a_sample_does_not_show():
    """A column that is zero in nearly all rows, so in the sample: all rows are exchanged then."""
    rng = np.random.default_rng(1)
    M, c = rng.standard_normal((ROWS, 2)), rng.standard_normal(ROWS)
    M[:, 1] = 0.0
    M[:3, 1], c[:3] = 1.0, [100.0, 101.0, 102.0]
    found = least_deviations(M, c, -np.ones(ROWS), np.ones(ROWS), np.zeros(2))
    np.testing.assert_allclose(M.T @ found.y, 0, atol=1e-9)
    assert abs(found.v[1] + 101.0) < 5


@pytest.mark.parametrize("seed", range(20))
def test_exchanges_find_what_linear_programming_finds(seed):
    rng = np.random.default_rng(seed)
    M, c = rng.standard_normal((40, 5)), rng.standard_normal(40)
    left, right = -rng.uniform(0.1, 1, 40), rng.uniform(0.1, 1, 40)
    found = least_deviations(M, c, left, right, rng.standard_normal(5))
    dual = scipy.optimize.linprog(
        -c, A_eq=M.T, b_eq=np.zeros(5), bounds=np.stack([left, right], 1), method="highs"
    )
    assert np.isclose(np.maximum(left * found.r, right * found.r).sum(), -dual.fun)
    assert np.allclose(M @ found.v + c, found.r, atol=1e-12)
    assert np.abs(M.T @ found.y).max() < 1e-11
    assert np.all((left <= found.y) & (found.y <= right))
    assert np.all(
        np.where(found.r > 0, found.y == right, True) & np.where(found.r < 0, found.y == left, True)
    )


@pytest.mark.parametrize("seed", range(5))
def test_reweighted_least_squares_come_near_from_afar(seed):
    rng = np.random.default_rng([8, seed])
    M, c = rng.standard_normal((200, 8)), rng.standard_cauchy(200)
    left, right = -rng.uniform(0.5, 2, 200), rng.uniform(0.5, 2, 200)

    def value(v):
        return np.maximum(left * (M @ v + c), right * (M @ v + c)).sum()

    far = 100 * rng.standard_normal(8)
    near, best = reweighted(M, c, left, right, far), least_deviations(M, c, left, right, far)
    assert value(best.v) <= value(near) <= 1.01 * value(best.v)
    assert np.array_equal(reweighted(M[:8], c[:8], left[:8], right[:8], far), far)  # no row to spare
    assert np.array_equal(reweighted(0 * M, 0 * c, left, right, far), far)


def test_exchanges_give_up_on_what_they_cannot_treat():
    assert least_deviations(np.ones((4, 2)), np.arange(4.0), -np.ones(4), np.ones(4), np.zeros(2)) is None
    assert least_deviations(np.ones((1, 2)), np.ones(1), -np.ones(1), np.ones(1), np.zeros(2)) is None


@pytest.mark.parametrize("seed", range(5))
def test_least_deviations_where_most_rows_are_met(seed):
    """Outliers apart the fit is perfect, so that many bases share one vertex: residuals of 1e-16 have no sign."""
    rng = np.random.default_rng(seed)
    G, v = rng.standard_normal((80, 5)), rng.standard_normal(5)
    c = -(G @ v)
    c[:15] += 10 * rng.standard_normal(15)
    found = least_deviations(G, c, -np.ones(80), np.ones(80), v + 0.1 * rng.standard_normal(5))
    assert found is not None
    np.testing.assert_allclose(found.v, v, rtol=1e-9)
    np.testing.assert_allclose(G.T @ found.y, 0, atol=1e-9)
    assert np.all(np.abs(found.y) <= 1 + 1e-9)
    assert np.count_nonzero(found.r) == 15
