"""Smooth functions of the caller's that do not say whether they are convex: those that seem so are rewritten."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import Box, LeastSquares, Logistic, Simplex, smooth
from ipds.operators import SumOver
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
    # three tell that entries are tied, and one that second derivatives are not the same everywhere
    assert before == FIRST * (n + 1 + 3) + 1
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.starts == 1
    after = (FIRST + LOOKS[0]) * (n + 1 + 3)  # in the units that steps are taken in, and at the answer
    assert len(asked) - before - after <= 10 * 2 * n, "of ten second derivatives"


def asked_for(statement):
    """The gradients of the caller's that a solve asks for, and its result."""
    asked = []

    def slope(y, of):
        asked.append(y)
        return of(y)

    return solve(statement(slope)), len(asked)


def traffic(slope):
    """Three kinds of streams over 40 roads: the time on a road depends on their sum, and bends down below 0."""
    rng, N, roads = np.random.default_rng(3), np.zeros((12, 40)), np.arange(40)
    N[roads % 12, roads] = 1
    N[(roads + 1 + (roads >= 12) * rng.integers(0, 10, 40)) % 12, roads] -= 1
    ends = np.zeros((12, 3))
    ends[[0, 1, 2], range(3)], ends[[6, 9, 11], range(3)] = 5.0, -5.0
    x = Variable((40, 3))
    time = smooth(lambda y: float(np.sum(y + 0.01 * y**5)), lambda y: slope(y, lambda y: 1 + 0.05 * y**4))
    return minimize(time(x.sum(axis=1)), [x >= 0, N @ x == ends])


def test_what_depends_on_sums_is_asked_at_sums():
    result, asked = asked_for(traffic)
    assert result.success
    assert asked < 500  # one for each of 120 entries at every point: 5,100


def valley(slope):
    """Charging of 30 cars in 20 hours; a function that ties all entries of an hour."""

    def total(x):
        return 10.0 + np.arange(20) + x.sum(axis=0)

    squares = smooth(
        lambda x: 0.5 * float(np.sum(total(x) ** 2)),
        lambda x: slope(x, lambda x: np.tile(total(x), (30, 1))),
    )
    return Problem(
        [Block(f=squares, h=Box(0.0, 1.0), A=SumOver((30, 20), 1), shape=(30, 20))], b=np.full(30, 4.0)
    )


def test_minima_that_nobody_would_look_for_are_not_asked_for():
    result, asked = asked_for(valley)
    assert result.success
    assert asked < 10_000  # second derivatives at ten points for whether there are others: 6,000 more
