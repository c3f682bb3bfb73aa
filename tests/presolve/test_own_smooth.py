"""Smooth functions of the caller's that do not say whether they are convex: those that seem so are rewritten."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import Box, LeastSquares, Logistic, Simplex, smooth
from ipds.presolve import presolve
from ipds.theory.bending import FIRST, LOOKS

RNG = np.random.default_rng(4)
LOSS = Logistic(RNG.standard_normal((12, 6)), np.sign(RNG.standard_normal(12)))
G, Y, UNITS = RNG.standard_normal((9, 6)), RNG.standard_normal(9), 10.0 ** np.linspace(-1, 1, 6)


def stated(f):
    """No block has A = c·I, and f is beside another one on the block that the equation is solved for."""
    first = Block(f=f, h=Simplex(3.0), A=np.diag(UNITS), shape=6, name="x")
    return Problem([first, Block(f=LeastSquares(G, Y), h=Box(-5.0, 5.0), A=-np.eye(6), shape=6, name="v")])


def test_one_that_seems_convex_is_rewritten_and_solved_like_one_that_says_so():
    own = stated(smooth(lambda x: LOSS(x), lambda x: LOSS.grad(x)))
    result, known = solve(own, tol=1e-7), solve(stated(LOSS), tol=1e-7)
    assert "the smooth term of block 'v' moved to 'x'" in result.presolve
    assert result.success
    assert result.nit <= 50
    assert result.fun == pytest.approx(known.fun, rel=1e-7)
    np.testing.assert_allclose(result.x[0], known.x[0], atol=1e-4)


def test_one_that_bends_down_is_left_as_it_is():
    own = stated(smooth(lambda x: -0.5 * float(x @ x), lambda x: -x))
    assert "moved" not in presolve(own).report


def test_where_the_form_does_not_hang_on_it_nobody_looks():
    asked = []

    def slope(x):
        asked.append(x)
        return LOSS.grad(x)

    f = smooth(lambda x: LOSS(x), slope)
    asked.clear()
    presolve(Problem([Block(f=f, h=Simplex(3.0), A=-1.0, shape=6), Block(shape=6)]))
    assert not asked


def test_one_on_a_simplex_is_solved_by_interior_point_steps():
    """The least trace of an inverse: semismooth steps took more gradients."""
    V, n, asked = RNG.standard_normal((20, 4)), 20, []

    def inverse(w):
        return np.linalg.inv(V.T @ (w[:, None] * V))

    def slope(w):
        asked.append(w)
        return -np.sum((V @ inverse(w)) ** 2, axis=1)

    f = smooth(lambda w: float(np.trace(inverse(w))), slope)
    problem = Problem([Block(f=f, h=Simplex(), shape=n)])
    asked.clear()
    assert "became an equation" in presolve(problem).report
    before = len(asked)
    assert before == FIRST * (n + 1 + 3)  # and three that tell that entries are tied
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.starts == 1
    after = (FIRST + LOOKS[0]) * (n + 1 + 3)  # in the units that steps are taken in, and at the answer
    assert len(asked) - before - after <= 10 * 2 * n, "of ten second derivatives"
