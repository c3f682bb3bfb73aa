"""Blocks written by hand with matrices where numbers would do: identities, copies, maps known by their products."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Block, Problem
from ipds.functions import L1, Box, Linear, Linf, NonNegative, SumSquares

from .statement import Answer, Data, Statement, below, cvx, linear_program, off


def table(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(A=rng.standard_normal((40, 12)), y=rng.standard_normal(40))


def deviations(d: Data) -> Problem:
    """Least absolute deviations with a penalty, the residual by an identity matrix."""
    return Problem([Block(h=L1(0.5), A=d.A, shape=12), Block(h=L1(1.0), A=np.eye(40), shape=40)], b=d.y)


def deviations_oracle(d: Data) -> Answer:
    x = cp.Variable(12)
    return cvx(0.5 * cp.norm1(x) + cp.norm1(d.A @ x - d.y))


def deviations_value(d: Data, x: Any) -> float:
    return float(0.5 * np.abs(x[0]).sum() + np.abs(d.A @ x[0] - d.y).sum())


def plan(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = sp.random(200, 300, 0.05, random_state=seed, data_rvs=rng.random, format="csr") + 0.1 * sp.eye(
        200, 300
    )
    return Data(A=A.tocsr(), b=A @ rng.random(300) + rng.random(200), c=-rng.random(300))


def slacks(d: Data) -> Problem:
    """A linear program with a slack for every row, by a sparse identity."""
    x = Block(f=Linear(d.c), h=Box(0.0, 5.0), A=d.A, shape=300)
    return Problem([x, Block(h=NonNegative(), A=sp.identity(200), shape=200)], b=d.b)


def slacks_violation(d: Data, x: Any) -> float:
    return max(off(np.maximum(d.A @ x[0] - d.b, 0), d.b), below(x[0]), below(5 - x[0]))


def copied(d: Data) -> Problem:
    """Least absolute deviations of x in a box, whose copy must not be negative: two stacked equations."""
    eye, nothing = np.eye(12), np.zeros((12, 40))
    return Problem(
        [
            Block(h=Box(-2.0, 2.0), A=np.vstack([eye, d.A]), shape=12),
            Block(h=NonNegative(), A=np.vstack([-eye, np.zeros((40, 12))]), shape=12),
            Block(h=L1(1.0), A=np.vstack([nothing, -np.eye(40)]), shape=40),
        ],
        b=np.r_[np.zeros(12), d.y],
    )


def copied_oracle(d: Data) -> Answer:
    eye = np.eye(40)
    rows = np.block([[d.A, -eye], [-d.A, -eye]])
    bounds = [(0, 2)] * 12 + [(0, None)] * 40
    return linear_program(np.r_[np.zeros(12), np.ones(40)], A_ub=rows, b_ub=np.r_[d.y, -d.y], bounds=bounds)


class Products:
    """A map of the caller's own."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix

    def apply(self, x: np.ndarray) -> np.ndarray:
        """M x."""
        return self.matrix @ x

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """Mᵀy."""
        return self.matrix.T @ y


def largest(d: Data) -> Problem:
    """The largest error beside squares and an ℓ1 norm of a copy, by a map of the caller's own."""
    eye, nothing = np.eye(12), np.zeros((12, 40))
    return Problem(
        [
            Block(h=SumSquares(0.1), A=Products(np.vstack([eye, d.A])), shape=12),
            Block(h=L1(0.02), A=np.vstack([-eye, np.zeros((40, 12))]), shape=12),
            Block(h=Linf(1.0), A=np.vstack([nothing, -np.eye(40)]), shape=40),
        ],
        b=np.r_[np.zeros(12), d.y],
    )


def largest_oracle(d: Data) -> Answer:
    x = cp.Variable(12)
    return cvx(0.1 * cp.sum_squares(x) + 0.02 * cp.norm1(x) + cp.norm_inf(d.A @ x - d.y))


def largest_value(d: Data, x: Any) -> float:
    return float(0.1 * x[0] @ x[0] + 0.02 * np.abs(x[0]).sum() + np.abs(d.A @ x[0] - d.y).max())


STATEMENTS = [
    Statement("LAD and L1, identity matrix", table, deviations, deviations_oracle, deviations_value),
    Statement(
        "LP 200x300, sparse slacks",
        plan,
        slacks,
        lambda d: linear_program(d.c, A_ub=d.A, b_ub=d.b, bounds=(0, 5)),
        lambda d, x: float(d.c @ x[0]),
        slacks_violation,
    ),
    Statement(
        "LAD in a box, nonnegative copy",
        table,
        copied,
        copied_oracle,
        lambda d, x: float(np.abs(d.A @ x[0] - d.y).sum()),
        lambda d, x: max(below(x[0]), below(2 - x[0])),
    ),
    Statement("largest error, squares, own map", table, largest, largest_oracle, largest_value),
]
