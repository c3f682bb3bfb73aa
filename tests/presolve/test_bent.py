"""Elastic nets are an L1 norm and a square: the problem as stated is solved and certified all the same."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, ElasticNet, LeastSquares, Quadratic
from ipds.modelling import norm1, sum_squares

RNG = np.random.default_rng(8)
G, Y = RNG.standard_normal((30, 6)), RNG.standard_normal(30)
LAM, MU = np.linspace(0.5, 2.0, 6), np.linspace(0.0, 3.0, 6)
C = RNG.standard_normal((2, 6))


def alone():
    x = Block(f=LeastSquares(G, Y), h=ElasticNet(LAM, MU), A=-1.0, shape=6, name="x")
    return Problem([x, Block(shape=6)])


def on_the_other_block():
    return Problem(
        [
            Block(f=LeastSquares(G, Y), A=-2.0, shape=6),
            Block(h=ElasticNet(LAM / 2, MU / 4), shape=6, name="x"),
        ]
    )


def on_the_residual():
    x = Block(h=L1(0.5), A=-G, shape=6, name="v")
    return Problem([x, Block(h=ElasticNet(0.3, 1.0), shape=30, name="x")], b=-Y)


def of_two_blocks():
    first = Block(h=ElasticNet(0.5, 1.0), A=-G[:, :2], shape=2, name="x")
    second = Block(h=ElasticNet(1.0, 0.0), A=-G[:, 2:], shape=4, name="y")
    return Problem([first, second, Block(f=Quadratic(1.0), shape=30)], b=-Y)


@pytest.mark.parametrize("made", [alone, on_the_other_block, on_the_residual, of_two_blocks])
def test_the_answer_is_that_without_presolve(made):
    problem = made()
    result, other = solve(problem, tol=1e-9), solve(problem, tol=1e-9, presolve=False)
    assert "the square in h of block 'x' became a smooth term" in result.presolve
    assert "block 'y'" not in result.presolve, "an elastic net without a square stays as it is"
    assert result.success
    assert other.success
    assert result.fun == pytest.approx(other.fun, rel=1e-8)
    for x, y in zip(result.x, other.x, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)
    np.testing.assert_allclose(result.z, other.z, atol=1e-5)
    for block, q, (v, step) in zip(problem.blocks, result.state.q, result.state.prox_points, strict=True):
        np.testing.assert_allclose(block.h.prox(v, step), q, atol=1e-12)


def test_a_solution_is_where_it_starts_again():
    problem = on_the_residual()
    first = solve(problem, tol=1e-9)
    assert solve(problem, first.x, first.z, tol=1e-8).nit <= 2


def test_beside_inequalities_it_is_a_penalty_and_a_square():
    x = Variable(6, name="x")
    limits = [C @ x <= 0.1, x >= -0.2]
    whole = minimize(0.5 * sum_squares(G @ x - Y) + ElasticNet(0.7, 2.0)(x), limits)
    parts = minimize(0.5 * sum_squares(G @ x - Y) + 0.7 * norm1(x) + sum_squares(x), limits)
    first, second = whole.solve(tol=1e-8), parts.solve(tol=1e-8)
    assert first.success
    assert first.fun == pytest.approx(second.fun, rel=1e-8)
    np.testing.assert_allclose(first.value(x), second.value(x), atol=1e-6)
