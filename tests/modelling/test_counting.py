"""Counts of what takes two values are ℓ1 norms, and so no function that is not convex beside the discrete set."""

import itertools

import numpy as np
import pytest

from ipds import Variable, minimize
from ipds.functions import L0, Binary, Cardinality, Jumps
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
