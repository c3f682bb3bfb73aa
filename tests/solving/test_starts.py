"""Further starts where one is not enough: how many, and that they help."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L1, Binary, LeastSquares, Linear, NonNegative, Quadratic, Stiefel
from ipds.methods import AcceleratedIPDS
from ipds.solving.starts import starts_for


def signs(seed: int) -> tuple[Problem, float]:
    """Least squares over {-1, 1}^10, and its least value by enumeration."""
    g = np.random.default_rng(seed)
    G = g.standard_normal((30, 10))
    y = G @ g.choice([-1.0, 1.0], 10) + 0.5 * g.standard_normal(30)
    points = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
    best = 0.5 * float(np.min(np.sum((points @ G.T - y) ** 2, axis=1)))
    return Problem([Block(f=LeastSquares(G, y), h=Binary(-1.0, 1.0), shape=10)]), best


@pytest.mark.parametrize("seed", range(4))
def test_binary_problems_leave_their_start(seed):
    problem, best = signs(seed)
    result = solve(problem)
    assert result.starts == 8
    assert set(np.unique(result.x[0])) <= {-1.0, 1.0}
    assert result.fun == pytest.approx(best, rel=1e-9)
    assert solve(problem, method=AcceleratedIPDS("fast")).starts == 1
    assert solve(problem, [np.ones(10)]).starts == 1


def test_rotations_and_reflections_are_both_tried():
    """min ‖R - Q‖₁ over orthonormal R has the answer Q, whatever its determinant."""
    for seed in range(4):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
        problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(4, 4)), Block(h=L1(1.0), shape=(4, 4))], b=-Q)
        result = solve(problem)
        assert result.starts == 8
        np.testing.assert_allclose(result.x[0], Q, atol=1e-2)


def test_how_many():
    convex = Problem([Block(f=Quadratic(1.0), h=NonNegative(), shape=3)])
    tall = Problem([Block(h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(1.0), shape=(6, 2))])
    signed = Problem(
        [Block(h=Stiefel(), A=-1.0, shape=(6, 2)), Block(f=Linear(1.0), h=NonNegative(), shape=(6, 2))]
    )
    large = Problem([Block(f=Quadratic(1.0), h=Binary(), shape=6000)])
    assert [starts_for(p, None) for p in (convex, tall, signed, large)] == [1, 1, 8, 1]
    assert starts_for(signed, AcceleratedIPDS("thorough")) == 24


def test_the_time_limit_counts_all_starts():
    problem, _ = signs(0)
    result = solve(problem, time_limit=0.0)
    assert result.starts == 1
