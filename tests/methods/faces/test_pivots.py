"""Least absolute deviations of many rows: exchanges of the few whose side is not sure, exact for all."""

import numpy as np
import pytest

from ipds.methods.faces import pivots
from ipds.methods.faces.pivots import least_deviations

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
