"""Practical IPDS: its penalty follows the residual."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import (
    L0,
    L1,
    Box,
    LeastSquares,
    Linear,
)


def piecewise_constant(g):
    f = LeastSquares(np.eye(100), np.repeat([0, 2, -1, 1.0], 25) + 0.3 * g.standard_normal(100))
    D = np.diff(np.eye(100), axis=0)
    return Problem([Block(h=L0(0.5), A=-1.0, shape=99), Block(f=f, A=D, shape=100)])


def basis_pursuit(g):
    A = g.standard_normal((10, 30))
    return Problem([Block(h=L1(1.0), A=A, shape=30)], b=A[:, :3].sum(axis=1))


def linear_program(g):
    A, cost = g.standard_normal((20, 40)), 0.1 * g.standard_normal(40)
    return Problem([Block(f=Linear(cost), h=Box(0, 1), A=A, shape=40)], b=A @ np.full(40, 0.5))


@pytest.mark.parametrize(
    ("build", "seeds", "limit"),
    [
        (piecewise_constant, (1, 2, 3), 1000),
        (basis_pursuit, (2, 3, 7, 8), 4000),
        (linear_program, (2, 3, 8), 4000),
    ],
)
def test_practical_ipds_balances_its_penalty(build, seeds, limit):
    """Moves in the kernel of A were not seen, so that β outgrew them; with blocks that jump for ever it stood still."""
    for seed in seeds:
        assert solve(build(np.random.default_rng(seed)), method="ipds", max_iter=limit, seed=0).success
