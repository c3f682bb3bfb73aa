"""Losses of which some entries are linear up to a bound: counts of zero in Poisson likelihoods."""

import numpy as np
import pytest

from ipds import Variable, minimize, solve
from ipds.functions import Entropy, KLDivergence, Poisson
from ipds.modelling import norm1


def test_where_a_loss_is_straight():
    where, kinks = Poisson(np.array([0.0, 2.0, 0.0]), exposure=np.array([1.0, 2.0, 3.0])).straight((3,))
    assert where.tolist() == [0, 2]
    assert kinks.left.tolist() == kinks.right.tolist() == [1.0, 3.0]
    assert kinks.lower == 0.0
    assert Poisson(np.ones(3)).straight((3,)) is None
    assert Poisson(0.0).straight((2, 2))[0].size == 4
    assert Entropy().straight((3,)) is None


@pytest.mark.parametrize("loss", [Poisson, KLDivergence])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_few_counts_take_few_steps(loss, weight):
    """Half of the counts are 0; 79 to 111 steps were taken."""
    rng = np.random.default_rng(0)
    A = rng.random((400, 60)) * (rng.random((400, 60)) < 0.2) + 1e-3
    y = rng.poisson(A @ ((rng.random(60) < 0.3) * rng.random(60))).astype(float)
    x = Variable(60, name="x")
    result = solve(minimize(weight * loss(y)(A @ x) + 0.1 * norm1(x), [x >= 0]), tol=1e-6)
    assert np.mean(y == 0) > 0.4
    assert result.success
    assert result.nit <= 15
    found = result.value(x)
    pull = (
        weight * (A.sum(axis=0) - A[y > 0].T @ (y[y > 0] / (A @ found)[y > 0])) + 0.1
    )  # ∇, which x ≥ 0 holds
    assert np.abs(pull[found > 1e-6]).max() <= 1e-4
    assert pull.min() >= -1e-4


def test_no_counts_at_all():
    x = Variable(4, name="x")
    result = solve(minimize(Poisson(np.zeros(6))(np.ones((6, 4)) @ x + 1.0), [x >= -0.1]), tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(6 * 0.6, rel=1e-5)
