"""Permutations, rows with one entry, and counts of what takes two values, in words that branch and bound knows."""

import itertools

import numpy as np
import pytest
import scipy.optimize

from ipds import Variable, minimize
from ipds.functions import L0, Binary, Cardinality, Jumps, NonNegative, RowCardinality, RowSimplex, Stiefel
from ipds.modelling import diff, sum_squares


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (-1.0, 1.0), (-300.0, 200.0)])
def test_changes_of_switches_are_counted_as_enumeration_would(seed, lo, hi):
    rng, n = np.random.default_rng(seed), 9
    K = rng.standard_normal((n, n)) / (hi - lo)
    y, lam = K @ rng.choice([lo, hi], n) + 0.4 * rng.standard_normal(n), 0.7
    points = np.array(list(itertools.product([lo, hi], repeat=n)))
    changes = np.count_nonzero(np.diff(points, axis=1), axis=1)
    fits = np.sum((points @ K.T - y) ** 2, axis=1)
    x, z = Variable(n, name="x"), Variable(n, name="z")
    models = [
        minimize(sum_squares(K @ x - y) + Binary(lo, hi)(x) + L0(lam)(diff(x))),
        minimize(L0(lam)(3.0 * x[:-1] - 3.0 * x[1:]) + sum_squares(K @ x - y) + Binary(lo, hi)(x)),
        minimize(sum_squares(K @ x - y) + lam * Jumps(1.0)(x) + Binary(lo, hi)(x)),
        minimize(sum_squares(K @ (lo + (hi - lo) * z) - y) + L0(lam)(diff(z)) + Binary()(z)),
    ]
    for model in models:
        assert model.solve().fun == pytest.approx(np.min(fits + lam * changes), rel=1e-6)
    few = minimize(sum_squares(K @ x - y) + Binary(lo, hi)(x) + Cardinality(2)(diff(x)))
    assert few.solve().fun == pytest.approx(np.min(fits[changes <= 2]), rel=1e-6)


def test_what_is_no_count_of_two_values_stays():
    x, y = Variable(4, name="x"), Variable(4, name="y")
    three_values = minimize(L0(1.0)(x + y) + Binary()(x) + Binary()(y) + sum_squares(x - 0.3))
    other_sizes = minimize(L0(1.0)(np.arange(1.0, 5.0) * x - 1) + Binary()(x) + sum_squares(x - 0.3))
    assert any("L0" in repr(block.h) for block in three_values.blocks)
    assert any("L0" in repr(block.h) for block in other_sizes.blocks)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["bounds", "set", "binary", "copy"])
def test_nonnegative_orthonormal_matrices_are_permutations(seed, form):
    C = np.random.default_rng(seed).standard_normal((7, 7))
    X, Y = Variable((7, 7), name="X"), Variable((7, 7), name="Y")
    cost = (C * X).sum()
    problem = {
        "bounds": lambda: minimize(cost + Stiefel()(X), [X >= 0]),
        "set": lambda: minimize(cost + NonNegative()(X) + Stiefel()(X)),
        "binary": lambda: minimize(1e3 * cost + Stiefel()(X) + Binary()(X)),
        "copy": lambda: minimize(cost + Stiefel()(Y), [X >= 0, X == Y]),
    }[form]()
    result = problem.solve()
    at = scipy.optimize.linear_sum_assignment(C)
    assert result.success
    assert "nothing is lower" in result.message
    assert float(np.sum(C * result.value(X))) == pytest.approx(C[at].sum(), abs=1e-9)
    assert max(problem.violations(result.x).values()) <= 1e-9


def test_orthonormal_columns_of_zeros_and_ones():
    C = np.random.default_rng(5).standard_normal((6, 3))
    X = Variable((6, 3), name="X")
    result = minimize((C * X).sum() + Binary()(X) + Stiefel()(X)).solve()
    at = scipy.optimize.linear_sum_assignment(C)
    assert result.fun == pytest.approx(C[at].sum())
    tall = minimize((C * X).sum() + Stiefel()(X), [X >= 0])  # which may have several entries in a column
    assert any("Stiefel" in repr(block.h) for block in tall.blocks)


@pytest.mark.parametrize("seed", range(3))
def test_one_entry_in_every_row_beside_limits_of_columns(seed):
    rng = np.random.default_rng(seed)
    D, X = rng.uniform(0, 1, (9, 3)), Variable((9, 3), name="X")
    at = scipy.optimize.linear_sum_assignment(np.repeat(D, 3, axis=1))
    best = np.repeat(D, 3, axis=1)[at].sum()
    few = [X.sum(axis=0) <= 6.0]
    for problem in (
        minimize(0.5 * (D * X).sum() + RowCardinality(1)(X) + RowSimplex(2.0)(X), few),
        minimize(0.5 * (D * X).sum() + Binary(0.0, 2.0)(X) + RowSimplex(2.0)(X), few),
        minimize(0.5 * (D * X).sum() + RowSimplex(2.0)(X) + RowCardinality(1)(X) + Binary(0.0, 2.0)(X), few),
    ):
        result = problem.solve()
        assert result.fun == pytest.approx(best)
        assert max(problem.violations(result.x).values()) <= 1e-9
