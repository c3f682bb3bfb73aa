"""Convex instances against CVXPY: objective within 1e-4 relative, success certified."""

import cvxpy as cp
import numpy as np
import pytest

import problems
from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares, Zero
from ipds.operators import FiniteDifference


def sparse_truth(n, k, g):
    x = np.zeros(n)
    x[g.choice(n, k, replace=False)] = g.standard_normal(k) * 3
    return x


def lasso():
    g = problems.rng(1)
    G = g.standard_normal((40, 60)) / np.sqrt(40)
    y = G @ sparse_truth(60, 6, g) + 0.05 * g.standard_normal(40)
    x = cp.Variable(60)
    problem = Problem(
        [Block(f=LeastSquares(G, y), A=-1.0, shape=60, name="x"), Block(h=L1(0.1), shape=60, name="v")]
    )
    return problem, cp.Minimize(0.5 * cp.sum_squares(G @ x - y) + 0.1 * cp.norm1(x)), []


def lasso_split_over_the_data():
    g = problems.rng(2)
    G = g.standard_normal((30, 20))
    y = G @ sparse_truth(20, 4, g) + 0.1 * g.standard_normal(30)
    x = cp.Variable(20)
    loss = LeastSquares(np.eye(30), y)
    problem = Problem([Block(h=L1(1.0), A=-G, shape=20, name="x"), Block(f=loss, shape=30, name="r")])
    return problem, cp.Minimize(0.5 * cp.sum_squares(G @ x - y) + cp.norm1(x)), []


def least_absolute_deviations():
    g = problems.rng(3)
    G = g.standard_normal((60, 10))
    y = G @ g.standard_normal(10) + 5 * (g.random(60) < 0.2) * g.standard_normal(60)
    x = cp.Variable(10)
    problem = Problem([Block(h=Zero(), A=-G, shape=10, name="x"), Block(h=L1(1.0), shape=60, name="r")], b=-y)
    return problem, cp.Minimize(cp.norm1(G @ x - y)), []


def basis_pursuit():
    """min ‖(u, v)‖₁ with G u + H v = y: three blocks, u and v and a slack of heavy ℓ1 weight (an exact penalty)."""
    g = problems.rng(4)
    G, H = g.standard_normal((2, 20, 25)) / np.sqrt(20)
    y = G @ sparse_truth(25, 3, g) + H @ sparse_truth(25, 3, g)
    u, v = cp.Variable(25), cp.Variable(25)
    problem = Problem(
        [
            Block(h=L1(1.0), A=G, shape=25, name="u"),
            Block(h=L1(1.0), A=H, shape=25, name="v"),
            Block(h=L1(20.0), shape=20, name="slack"),
        ],
        b=y,
    )
    return problem, cp.Minimize(cp.norm1(u) + cp.norm1(v)), [G @ u + H @ v == y]


def fused_lasso():
    g = problems.rng(5)
    y = np.repeat([0.0, 2.0, -1.0, 3.0], 15) + 0.3 * g.standard_normal(60)
    x = cp.Variable(60)
    problem = Problem(
        [
            Block(f=LeastSquares(np.eye(60), y), h=L1(0.1), A=FiniteDifference(), shape=60, name="x"),
            Block(h=L1(1.0), A=-1.0, shape=59, name="jumps"),
        ]
    )
    return problem, cp.Minimize(0.5 * cp.sum_squares(x - y) + 0.1 * cp.norm1(x) + cp.norm1(cp.diff(x))), []


INSTANCES = [lasso, lasso_split_over_the_data, least_absolute_deviations, basis_pursuit, fused_lasso]


@pytest.mark.parametrize("build", INSTANCES)
def test_the_default_method_agrees_with_cvxpy(build):
    problem, objective, constraints = build()
    optimum = cp.Problem(objective, constraints).solve(solver=cp.CLARABEL)
    result = solve(problem, tol=1e-6, max_iter=20_000, seed=0)
    assert result.success, result
    assert result.fun == pytest.approx(optimum, rel=1e-4)
