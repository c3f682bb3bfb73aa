"""Data far from 0 are measured from their mean: what is rounding beside them is not compared with how far they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Huber, LeastSquares, Quadratic, SmoothSum, SumSquares, Translated
from ipds.modelling import diff, huber, sum_squares
from ipds.theory.centres import centre

RNG = np.random.default_rng(5)
WALK = np.cumsum(RNG.standard_normal(2000))
FIXES = np.array([4.5e5, 5.2e6]) + np.cumsum(RNG.standard_normal((80, 2)), axis=0)


def filtered(y):
    """A smooth trend under a series, as one sum of squares by matrices."""
    D = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(len(y) - 2, len(y)))
    near, smooth = LeastSquares(sp.eye_array(len(y)), y), LeastSquares(40.0 * D, np.zeros(len(y) - 2))
    return Problem([Block(f=SmoothSum([near, smooth]), shape=len(y))])


def gaps(y):
    """Every seventh value is missing."""
    x, seen = Variable(len(y)), np.arange(len(y)) % 7 > 0
    return minimize(sum_squares(seen * (x - y)) + 1e4 * sum_squares(diff(diff(x))))


def path(y):
    x = Variable(y.shape)
    return minimize(huber(x - y, 1.0) + 5.0 * sum_squares(diff(diff(x))))


@pytest.mark.parametrize(
    ("model", "data", "offset"), [(filtered, WALK, 1e5), (gaps, WALK, 3e3), (path, FIXES, 0.0)]
)
def test_data_far_from_zero_are_certified_as_near_it(model, data, offset):
    far = solve(model(data + offset), tol=1e-6)
    near = solve(model(data - data.mean(axis=0)), tol=1e-6)
    assert far.success
    assert near.success
    assert far.nit <= near.nit + 20  # on what is rounding steps would never end
    assert far.fun == pytest.approx(near.fun, rel=1e-6)


@pytest.mark.parametrize(
    "block",
    [
        Block(f=LeastSquares(np.eye(3), 1e4 + np.arange(3.0)), h=L1(1.0), shape=3),
        Block(f=LeastSquares(2.0 * sp.eye_array(3), 2e4 + 2 * np.arange(3.0)), shape=3),
        Block(h=SumSquares(1.0, 1e4 + np.arange(3.0)), shape=3),
        Block(f=Quadratic(1.0), h=Translated(Huber(1.0, 1.0), 1e4 + np.arange(3.0)), shape=3),
    ],
)
def test_the_mean_of_what_entries_are_compared_with(block):
    np.testing.assert_allclose(centre(block, np.zeros(3)), 1e4 + 1.0)


@pytest.mark.parametrize("y", [np.arange(3.0), np.full(3, 1e4), [1e4, np.inf, 0.0]])
def test_there_is_none_near_zero_or_of_one_value(y):
    assert centre(Block(h=SumSquares(1.0, np.nan_to_num(y, posinf=0.0)), shape=3), np.zeros(3)) is None


def test_columns_of_data_behind_a_matrix_have_a_centre_each():
    Y = np.array([2e5, -3e6]) + RNG.standard_normal((6, 2))
    d = np.array([1.0, 2.0, 4.0, 0.5, 1.0, 8.0])
    for G in (np.diag(d), sp.diags_array(d)):
        block = Block(f=LeastSquares(G, d[:, None] * Y), shape=(6, 2))
        assert np.allclose(centre(block, Y)[0], Y.mean(axis=0))
