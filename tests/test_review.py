"""Cases found by reading the package with fresh eyes: each failed once."""

import pickle

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares, smooth


def squared_hinge(n: int):
    """½‖(1 - x)₊‖²: quadratic for x ≤ 1, zero beyond."""
    return smooth(
        lambda x: 0.5 * float((np.maximum(0, 1 - x) ** 2).sum()),
        lambda x: -np.maximum(0, 1 - x),
        lipschitz=1.0,
    )


def huber(n: int):
    """Quadratic in [-1, 1], linear beyond."""
    return smooth(
        lambda x: float(np.where(abs(x) <= 1, 0.5 * x**2, abs(x) - 0.5).sum()),
        lambda x: np.clip(x, -1, 1),
        lipschitz=1.0,
    )


@pytest.mark.parametrize("loss", [squared_hinge, huber])
@pytest.mark.parametrize("tol", [1e-4, 1e-12])
def test_a_piecewise_quadratic_given_as_two_callables_is_not_taken_for_a_quadratic(loss, tol):
    G = np.random.default_rng(0).standard_normal((40, 6))
    pull = LeastSquares(G, G @ np.full(6, 4.0))
    problem = Problem([Block(f=loss(6), A=-1.0, shape=6), Block(f=pull, h=L1(0.01), shape=6)])
    result = solve(problem, [np.full(6, 0.1)] * 2, tol=tol, max_iter=500)
    at_restored = problem.objective(problem.restore(result.x))
    assert result.fun == pytest.approx(at_restored, rel=1e-12)
    assert result.history["objective"][-1] == result.fun
    reference = solve(problem, method="ipds", tol=1e-9)
    assert result.fun == pytest.approx(reference.fun, rel=1e-4)


def test_a_result_can_be_pickled():
    problem = Problem([Block(h=L1(0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    result = solve(problem)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[1], result.x[1])
    assert again.certificate == result.certificate
