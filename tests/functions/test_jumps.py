"""The number of jumps: its prox against every segmentation."""

import itertools

import numpy as np
import pytest

from ipds.functions import L0, Jumps
from ipds.functions.checking import STEPS, check_prox

RNG = np.random.default_rng(0)


def best_by_force(v, t):
    """The least t·#jumps(u) + ‖u - v‖²/2 over all ways to cut v into pieces."""
    least = np.inf
    for cuts in itertools.product([False, True], repeat=len(v) - 1):
        pieces = np.split(v, np.flatnonzero(cuts) + 1)
        least = min(least, t * sum(cuts) + sum(np.sum((p - p.mean()) ** 2) / 2 for p in pieces))
    return least


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_prox_is_the_best_of_all_segmentations(size):
    for step, n in itertools.product(STEPS, (2, 5, 9)):
        v = size * np.repeat(RNG.standard_normal(n), 1) + size * RNG.integers(0, 3, n)
        u = Jumps(0.7).prox(v, step)
        value = 0.7 * step * np.count_nonzero(np.diff(u)) + np.sum((u - v) ** 2) / 2
        assert value <= best_by_force(v, 0.7 * step) * (1 + 1e-9) + 1e-18


def test_ties_columns_and_plain_copies():
    v = np.array([1.0, 1.0, 1.0, 2.0])
    np.testing.assert_array_equal(Jumps(0.0).prox(v, 1.0), v)
    np.testing.assert_array_equal(Jumps(1e-9).prox(v, 1.0), v)
    X = RNG.standard_normal((8, 3))
    np.testing.assert_array_equal(
        Jumps(0.2).prox(X, 1.0), np.stack([Jumps(0.2).prox(x, 1.0) for x in X.T], axis=1)
    )
    assert Jumps(2.0)(np.array([0.0, 0.0, 1.0, 0.0])) == 4.0
    assert Jumps(2.0)(X) == L0(2.0)(np.diff(X, axis=0))


def test_globally_as_all_others():
    check_prox(Jumps(0.5), (6,))
    check_prox(Jumps(0.5), (4, 2))


def test_a_long_signal_keeps_its_jumps():
    truth = np.repeat([0.0, 3.0, -1.0, 2.0], 500)
    u = Jumps(2.0).prox(truth + 0.3 * RNG.standard_normal(2000), 1.0)
    assert np.flatnonzero(np.diff(u)) == pytest.approx(np.flatnonzero(np.diff(truth)), abs=2)


@pytest.mark.parametrize("lam", [-1.0, np.nan, "1", None])
def test_arguments(lam):
    with pytest.raises((TypeError, ValueError), match="Jumps: lam"):
        Jumps(lam)
