"""Residuals that cost more than their multiplier says, and forces that are hidden by others in large units."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, L2, Box, LeastSquares, SumSquares
from ipds.modelling import huber, norm2
from ipds.operators import Matrix
from ipds.theory.certificate import certificate
from ipds.theory.taking import taker, toll


@pytest.mark.parametrize("h", [L1(100.0), L2(100.0), SumSquares(1e10)])
def test_a_residual_counts_by_what_it_costs_where_a_penalty_is_exact(h):
    """½(x - 1)² + h(x - 1): at x = 1 + 1e-8 and u = 0 there is no force, but 100·1e-8 would be paid."""
    blocks = [Block(f=LeastSquares(np.eye(1), np.ones(1) + 1e-4), A=-1.0, shape=1), Block(h=h, shape=1)]
    problem = Problem(blocks, b=-np.ones(1))
    x, u, z = np.array([1 + 1e-8]), np.zeros(1), np.array([1e-8 - 1e-4])
    found = certificate(problem, (x, u), z, (np.zeros(1), -z))
    assert found.rows < 1e-7
    assert float(h(np.array([1e-8]))) == pytest.approx(1e-6)
    assert max(found.blocks) < 1e-3 < found.work


def test_what_has_no_price_takes_nothing():
    problem = Problem([Block(h=Box(0, 1), shape=2), Block(h=L1(1.0), A=Matrix(np.eye(2)), shape=2)], b=0.0)
    q = (np.ones(2), np.zeros(2))
    assert taker(problem) is None
    assert toll(problem, None, q, (None, None)) == 0.0


def test_products_at_hand_need_not_be_made_again():
    """3·|Ax| in the place of 3·|u| at u = 0, where Ax = (2, -1)."""
    A = np.array([[1.0, 1.0], [1.0, -2.0]])
    problem = Problem([Block(A=A, shape=2), Block(h=L1(3.0), A=-1.0, shape=2)], b=0.0)
    q = (np.ones(2), np.zeros(2))
    assert toll(problem, taker(problem), q, (None, None)) == pytest.approx(9.0)
    assert toll(problem, taker(problem), q, (np.array([5.0, 0.0]), None)) == pytest.approx(15.0)


def test_the_objective_at_x_is_the_one_that_was_certified():
    """2e5·‖Ax - y‖ holds exactly, and what is left to choose costs 0.07: x was right to 1e-8, the objective to 2%."""
    g = np.random.default_rng(3)
    A, y, B, c = (
        g.standard_normal((2, 5)),
        g.standard_normal(2),
        g.standard_normal((7, 5)),
        g.standard_normal(7),
    )
    x = Variable(5)
    result = solve(minimize(2e5 * norm2(A @ x - y) + 1e-2 * huber(B @ x - c)))
    v = result.value(x)
    r = np.abs(B @ v - c)
    value = 2e5 * np.linalg.norm(A @ v - y) + 1e-2 * np.where(r <= 1, r**2 / 2, r - 0.5).sum()
    exact = solve(minimize(1e-2 * huber(B @ x - c), [A @ x == y]), tol=1e-8)
    assert result.success
    assert value == pytest.approx(exact.fun, rel=1e-3)


@pytest.mark.parametrize("gap", [1e4, 1e6])
def test_forces_in_small_units_are_not_hidden(gap):
    """Two fits in one vector, the second at 0: its force is 1/gap² of the other's, its loss as large."""
    G = np.diag([gap, 1 / gap])
    f = LeastSquares(G, np.array([1.0, 1.0]))
    problem = Problem([Block(f=f, A=-1.0, shape=2), Block(h=L1(np.array([gap, 1 / gap]) / 10), shape=2)])
    right, wrong = np.array([0.9 / gap, 0.9 * gap]), np.array([0.9 / gap, 0.0])
    for x, accepted in ((right, True), (wrong, False)):
        z = np.array([-gap, -1 / gap]) / 10
        found = certificate(problem, (x, x), z, (np.zeros(2), -z))
        assert (found.relative < 1e-6) == accepted
        assert accepted or found.work > 0.1
