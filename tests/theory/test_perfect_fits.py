"""Perfect fits and zero solutions are certified; fits that are almost perfect not before they are right."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L1, L2, Box, Cardinality, LeastSquares, NonNegative, Quadratic, Rank
from ipds.operators import Sampling
from ipds.theory.certificate import certificate
from ipds.theory.fixed import alone

g = np.random.default_rng(0)
G, x = g.standard_normal((30, 8)), g.standard_normal(8)
sparse = np.where(np.arange(8) < 3, x, 0.0)
LOW = g.standard_normal((20, 2)) @ g.standard_normal((2, 15))
SEEN = g.random(LOW.shape) < 0.7
COUNT = int(SEEN.sum())

FITS = {
    "squares": ([Block(f=LeastSquares(G, G @ x), shape=8)], None, x),
    "squares of residuals": ([Block(A=-G, shape=8), Block(f=Quadratic(1.0), shape=30)], -G @ x, x),
    "squares in a box": (
        [Block(f=LeastSquares(G, G @ x), A=-1.0, shape=8), Block(h=Box(-9, 9), shape=8)], 0.0, x,
    ),
    "squares and signs": (
        [Block(f=LeastSquares(G, G @ abs(sparse)), A=-1.0, shape=8), Block(h=NonNegative(), shape=8)],
        0.0,
        abs(sparse),
    ),
    "squares and cardinality": (
        [Block(f=LeastSquares(G, G @ sparse), A=-1.0, shape=8), Block(h=Cardinality(3), shape=8)], 0.0, sparse,
    ),
    "absolute values": ([Block(A=-G, shape=8), Block(h=L1(1.0), shape=30)], -G @ x, x),
    "a norm": ([Block(A=-G, shape=8), Block(h=L2(1.0), shape=30)], -G @ x, x),
    "completion, one block": (
        [Block(f=LeastSquares(Sampling(SEEN), LOW[SEEN]), h=Rank(2), shape=LOW.shape)], None, LOW,
    ),
    "completion, split": (
        [Block(f=LeastSquares(Sampling(SEEN), LOW[SEEN]), h=Rank(2), A=-1.0, shape=LOW.shape), Block(shape=LOW.shape)],
        0.0,
        LOW,
    ),
    "completion, residuals": (
        [Block(h=Rank(2), A=Sampling(SEEN), shape=LOW.shape), Block(f=Quadratic(1.0), shape=COUNT)], LOW[SEEN], LOW,
    ),
    "no solution but zero": ([Block(f=LeastSquares(G, G @ x), h=L1(1e4), shape=8)], None, 0.0 * x),
    "zero, split": ([Block(f=LeastSquares(G, G @ x), A=-1.0, shape=8), Block(h=L1(1e4), shape=8)], 0.0, 0.0 * x),
    "nothing at all": ([Block(f=LeastSquares(G, 0.0 * G @ x), A=-1.0, shape=8), Block(shape=8)], 0.0, 0.0 * x),
    "an idle block": (
        [Block(f=LeastSquares(G, G @ x), A=-1.0, shape=8), Block(h=Box(-9, 9), shape=8), Block(A=0.0, shape=8)], 0.0, x,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_certified(name):
    blocks, b, truth = FITS[name]
    problem = Problem(blocks) if b is None else Problem(blocks, b=b)
    result = solve(problem, seed=0, max_iter=2000)
    assert result.success
    assert np.linalg.norm(result.x[0] - truth) <= 1e-5 * max(1.0, np.linalg.norm(truth))


class Amplitudes:
    """½‖|u| - a‖², with the data in h."""

    is_convex = False

    def __init__(self, a):
        self.a = a

    def __call__(self, u):
        return 0.5 * float(np.sum((abs(u) - self.a) ** 2))

    def prox(self, v, step):
        return np.where(v < 0, -1.0, 1.0) * (abs(v) + step * self.a) / (1 + step)


@pytest.mark.parametrize("noise", [0.0, 1e-2, 1e-4])
def test_data_in_an_own_h_that_is_not_convex(noise):
    a = abs(G @ x) + noise * g.random(30)
    problem = Problem([Block(A=G, shape=8), Block(h=Amplitudes(a), A=-1.0, shape=30)], b=0.0)
    result = solve(problem, seed=0, max_iter=2000)
    near = np.linalg.lstsq(G, np.sign(G @ x) * a, rcond=None)[0]  # of the right signs
    least = 0.5 * np.linalg.norm(abs(G @ near) - a) ** 2
    assert result.success
    assert 0.5 * np.linalg.norm(abs(G @ result.x[0]) - a) ** 2 <= least * (1 + 1e-3) + 1e-9 * (a @ a)


def test_an_own_h_that_is_not_defined_at_zero_has_no_cost_there():
    class Away(Amplitudes):
        def __call__(self, u):
            if not u.any():
                raise RuntimeError("not at zero")
            return super().__call__(u)

    problem = Problem([Block(A=G, shape=8), Block(h=Away(np.ones(30)), A=-1.0, shape=30)], b=0.0)
    assert alone(problem, (np.ones(8), np.ones(30))) == (0.0, 0.0)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_a_residual_of_the_equation_that_is_as_large_as_a_small_misfit_is_no_success(noise):
    """G q - y = u with u of the size of the noise: an error of that size in the rows is all of the objective."""
    y = G @ x + noise * g.standard_normal(30)
    problem = Problem([Block(A=-G, shape=8), Block(f=Quadratic(1.0), shape=30)], b=-y)
    best = np.linalg.lstsq(G, y, rcond=None)[0]
    u = G @ best - y
    right = certificate(problem, (best, u), -u, (0 * best, 0 * u))
    wrong = certificate(problem, (best, 0.3 * u), -0.3 * u, (0 * best, 0 * u))
    assert right.relative < 1e-6
    assert wrong.relative > 1e-4


def test_a_force_that_rounding_swallows_in_one_block_is_measured_in_the_others():
    """The second block's own forces are 1e13 times those of the equation, which no gradient can resolve there."""
    H = g.standard_normal((30, 8))
    blocks = [
        Block(f=LeastSquares(G, G @ x), A=1.0, shape=8),
        Block(f=LeastSquares(1e6 * H, 1e6 * H @ x), A=1.0, shape=8),
        Block(h=L1(0.1), shape=8),
    ]
    result = solve(Problem(blocks, b=2.5), seed=0)
    assert result.success
    v = (
        2.5 - result.x[0] - x
    )  # the second block is x, and the first minimises ½‖G(w - x)‖² + 0.1‖2.5 - w - x‖₁
    slope = G.T @ (G @ (result.x[0] - x))
    assert np.all(np.abs(slope) <= 0.1 + 1e-5)
    np.testing.assert_allclose(slope[np.abs(v) > 1e-6], 0.1 * np.sign(v[np.abs(v) > 1e-6]), atol=1e-5)


@pytest.mark.parametrize("mean", [0.0, 1e2])
def test_a_perfect_fit_is_as_exact_as_rounding_allows(mean):
    """What rounding of a gradient leaves is no misfit, however small the tolerance."""
    X = G + mean
    result = solve(Problem([Block(f=LeastSquares(X, X @ x), shape=8)]), tol=1e-9, max_iter=200)
    assert result.success
    np.testing.assert_allclose(result.x[0], x, rtol=1e-7)


@pytest.mark.parametrize("mean", [1e2, 1e4])
def test_a_misfit_that_is_small_beside_the_data_is_right_before_it_is_certified(mean):
    """Columns with one mean: of two coefficients that move against each other the data show only the spread."""
    X, y = (
        G[:, :2] + mean,
        (G[:, :2] + mean) @ [1.0, 2.0] + 0.3 * np.random.default_rng(1).standard_normal(30),
    )
    problem = Problem([Block(f=LeastSquares(X, y), h=L1(1e-3), shape=2)])
    best = np.linalg.lstsq(X, y - 1e-3 * np.linalg.pinv(X).T.sum(axis=1))[0]
    for q, right in ((best + np.linalg.eigh(X.T @ X)[1][:, 0], False), (best, True)):
        found = certificate(problem, (q,), np.zeros(problem.shape), (np.full(2, 1e-3),))
        assert (found.relative < 1e-4) is right
