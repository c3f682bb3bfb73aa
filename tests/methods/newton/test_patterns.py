"""Symmetric matrices of one pattern: whatever the factors, they solve with the matrix, and with the next one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ipds.methods.newton import patterns
from ipds.methods.newton.patterns import Pattern


def star(n, rng):
    """No order of it has a narrow band."""
    return sp.coo_array((rng.standard_normal(n - 1), (np.arange(1, n), np.zeros(n - 1, int))), shape=(n, n))


def chain(n, rng):
    """Neighbours, in an order that hides it."""
    place = rng.permutation(n)
    ends = np.stack([place[1:], place[:-1]])
    return sp.coo_array((rng.standard_normal(n - 1), (ends.max(0), ends.min(0))), shape=(n, n))


def of_entries(lower):
    """A pattern, and the matrix of data on it, for entries below the diagonal."""
    n = lower.shape[0]
    keys = np.unique(np.append(np.arange(n) * (n + 1), lower.row.astype(int) * n + lower.col))
    pattern = Pattern(n, keys)

    def matrix(data):
        half = np.zeros((n, n))
        half[pattern.row, pattern.column] = data
        return half + half.T - np.diag(half.diagonal())

    return pattern, matrix


@pytest.mark.parametrize("entries", [star, chain])
@pytest.mark.parametrize("filled", [patterns.FILLED, 10.0])
@pytest.mark.parametrize("is_definite", [True, False])
def test_solves(monkeypatch, entries, filled, is_definite):
    """With an order that is found for the first of three matrices."""
    monkeypatch.setattr(patterns, "FILLED", filled)
    rng, n = np.random.default_rng(0), 90
    pattern, matrix = of_entries(entries(n, rng))
    for k in range(3):
        data = rng.standard_normal(len(pattern.keys))
        sign = 1.0 if is_definite else rng.choice([-1.0, 1.0], n)
        data[pattern.diagonal] = sign * (1.0 + np.abs(matrix(data)).sum(1))
        solve = (pattern.definite if is_definite else pattern.indefinite)(data)
        g = rng.standard_normal(n)
        np.testing.assert_allclose(matrix(data) @ solve(g), g, atol=1e-12, err_msg=str(k))
    assert pattern.is_banded == (entries is chain)


def test_pivots_need_not_be_on_the_diagonal():
    """A band with zeros there, where entries beside them are not."""
    rng, n = np.random.default_rng(1), 40
    pattern, matrix = of_entries(chain(n, rng))
    data = np.ones(len(pattern.keys))
    data[pattern.diagonal] = 0.0
    g = rng.standard_normal(n)
    np.testing.assert_allclose(matrix(data) @ pattern.indefinite(data)(g), g, atol=1e-12)


@pytest.mark.parametrize("entries", [star, chain])
def test_singular_ones_are_told(entries):
    pattern, _ = of_entries(entries(40, np.random.default_rng(2)))
    with pytest.raises(np.linalg.LinAlgError):
        pattern.indefinite(np.zeros(len(pattern.keys)))


def test_neighbours_in_order_stay_where_they_are():
    """No order is better than one in which the band is as wide as the most neighbours ask for."""
    n = 30
    pattern, _ = of_entries(sp.coo_array(sp.eye_array(n, k=-1)))
    assert pattern.is_banded
    assert pattern.width == 1
    assert pattern.order is None
