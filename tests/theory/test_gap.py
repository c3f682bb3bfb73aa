"""`certificate.gap`: by how much the objective of a convex problem exceeds the optimum that CVXPY finds."""

from itertools import islice

import cvxpy as cp
import numpy as np
import pytest

from ipds import Block, Problem, iterate, solve
from ipds.functions import L1, Box, HuberLoss, L2Ball, LeastSquares, Linear, Rank, Simplex
from ipds.methods import IPDS
from ipds.theory.certificate import certify

g = np.random.default_rng(3)
G, y, M, c = (
    g.standard_normal((12, 6)),
    g.standard_normal(12),
    g.standard_normal((5, 6)),
    g.standard_normal(6),
)
AT = (1, 3, 10, 30, 100, 300)
"""The iterations at which the gap is compared."""


def optimum(objective, constraints):
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


def boxes():
    x = cp.Variable(6)
    problem = Problem(
        [
            Block(f=LeastSquares(G, y), h=Box(-0.1, 0.2), A=-M, shape=6),
            Block(f=Linear(c[:5]), h=Box(-1, 1), shape=5),
        ]
    )
    objective = 0.5 * cp.sum_squares(G @ x - y) + c[:5] @ (M @ x)
    return problem, optimum(objective, [x >= -0.1, x <= 0.2, cp.abs(M @ x) <= 1])


def simplex_and_ball():
    x, v = cp.Variable(6), cp.Variable(6)
    problem = Problem(
        [
            Block(f=Linear(c), h=Simplex(), A=-1.0, shape=6),
            Block(f=HuberLoss(G, y), h=L2Ball(0.7), shape=6),
        ]
    )
    return problem, optimum(
        c @ x + 0.5 * cp.sum(cp.huber(G @ v - y)), [x == v, x >= 0, cp.sum(x) == 1, cp.norm(v) <= 0.7]
    )


def lasso():
    x = cp.Variable(6)
    problem = Problem([Block(f=LeastSquares(G, y), A=-1.0, shape=6), Block(h=L1(1.0), shape=6)])
    return problem, optimum(0.5 * cp.sum_squares(G @ x - y) + cp.norm1(x), [])


def least_absolute():
    x = cp.Variable(6)
    problem = Problem([Block(A=-G, shape=6), Block(h=L1(1.0), shape=12)], b=-y)
    return problem, optimum(cp.norm1(G @ x - y), [])


def states(problem):
    return [state for state in islice(iterate(problem, method=IPDS()), AT[-1]) if state.t in AT]


@pytest.mark.parametrize("build", [boxes, simplex_and_ball])
def test_a_bound_is_never_below_the_distance(build):
    problem, best = build()
    for state in states(problem):
        found = certify(problem, state)
        assert found.rigorous
        assert problem.objective(state.q) - best <= found.gap + 1e-7 * abs(best)


@pytest.mark.parametrize("build", [lasso, least_absolute])
def test_an_estimate_has_the_right_order(build):
    problem, best = build()
    for state in states(problem)[2:]:
        found = certify(problem, state)
        assert not found.rigorous
        assert problem.objective(state.q) - best <= 10 * found.gap + 1e-7 * best


@pytest.mark.parametrize("build", [boxes, simplex_and_ball, lasso, least_absolute])
def test_a_success_has_a_small_gap_and_prints_it(build):
    problem, best = build()
    result = solve(problem, seed=0)
    assert result.success
    assert abs(result.fun - best) <= max(10 * result.certificate.gap, 1e-6 * abs(best))
    assert result.certificate.gap < 1e-2 * abs(best)
    word = "at most" if result.certificate.rigorous else "about"
    assert f"gap {word} {result.certificate.gap:.2g}" in str(result)


def test_nonconvex_problems_have_none():
    data = np.outer(y, y)
    fit = Block(f=LeastSquares(np.eye(12), data), shape=data.shape)
    problem = Problem([Block(h=Rank(1), A=-1.0, shape=data.shape), fit])
    result = solve(problem, seed=0)
    assert (result.certificate.gap, result.certificate.rigorous) == (None, False)
    assert "gap" not in str(result)
