"""Programs over shares of a whole: entropy with moments, designs, logarithms, a portfolio that tracks another."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem
from ipds.functions import (
    Affine,
    Box,
    Entropy,
    HalfSpace,
    LeastSquares,
    NonNegative,
    Simplex,
    smooth,
)

from .programs import budget
from .statement import Answer, Data, Statement, cvx, off


def moments(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    t = np.linspace(-1, 1, 100)
    A = np.vstack([np.ones(100), t, t**2])
    p = rng.random(100)
    return Data(A=A, b=A @ (p / p.sum()))


def entropy(d: Data) -> Problem:
    """The distribution of largest entropy with given moments."""
    return Problem([Block(h=Entropy(), A=d.A, shape=100)], b=d.b)


def entropy_oracle(d: Data) -> Answer:
    p = cp.Variable(100)
    return cvx(-cp.sum(cp.entr(p)), [d.A @ p == d.b])


def entropy_value(d: Data, x: Any) -> float:
    p = np.maximum(x[0], 1e-300)
    return float(p @ np.log(p))


def sensors(seed: int) -> Data:
    return Data(G=np.random.default_rng(seed).standard_normal((30, 5)), k=8)


def design(d: Data) -> Problem:
    """D-optimal choice of sensors, relaxed: -log det Σ w_i g_i g_iᵀ, 0 ≤ w ≤ 1, Σ w = k."""

    def information(w: np.ndarray) -> np.ndarray:
        return d.G.T @ (w[:, None] * d.G) + 1e-6 * np.eye(5)

    f = smooth(
        lambda w: -float(np.linalg.slogdet(information(w))[1]),
        lambda w: -np.einsum("ij,jk,ik->i", d.G, np.linalg.inv(information(w)), d.G),
        convex=True,
    )
    total = Affine(np.ones((1, 30)), np.array([float(d.k)]))
    return Problem([Block(f=f, h=Box(0.0, 1.0), A=-1.0, shape=30), Block(h=total, shape=30)])


def design_oracle(d: Data) -> Answer:
    w = cp.Variable(30)
    return cvx(-cp.log_det(d.G.T @ cp.diag(w) @ d.G + 1e-6 * np.eye(5)), [w >= 0, w <= 1, cp.sum(w) == d.k])


def design_value(d: Data, x: Any) -> float:
    w = np.clip(x[0], 0, 1)
    return -float(np.linalg.slogdet(d.G.T @ (w[:, None] * d.G) + 1e-6 * np.eye(5))[1])


def shares(seed: int) -> Data:
    return Data(c=np.random.default_rng(seed).uniform(0.1, 2.0, 20))


def barrier(d: Data) -> Problem:
    """min -Σ c log x on the simplex: steep at the start, solved by x = c/Σc."""
    f = smooth(
        lambda x: -float(d.c @ np.log(np.maximum(x, 0) + 1e-8)),
        lambda x: -d.c / (np.maximum(x, 0) + 1e-8),
        convex=True,
    )
    return Problem([Block(f=f, h=NonNegative(), A=np.ones((1, 20)), shape=20)], b=1.0)


def barrier_oracle(d: Data) -> Answer:
    x = cp.Variable(20)
    return cvx(-d.c @ cp.log(x + 1e-8), [x >= 0, cp.sum(x) == 1])


def barrier_value(d: Data, x: Any) -> float:
    return -float(d.c @ np.log(np.maximum(x[0], 0) + 1e-8))


def replication(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((150, 60))
    w = rng.random(60) * (rng.random(60) < 0.2)
    return Data(G=G, y=G @ (w / w.sum()) + 0.05 * rng.standard_normal(150), a=rng.random(60))


def tracking(d: Data) -> Problem:
    """An index tracked by a portfolio on the simplex, with a limit ⟨a, w⟩ ≤ 0.3."""
    return Problem(
        [
            Block(f=LeastSquares(d.G, d.y), h=Simplex(), A=-1.0, shape=60),
            Block(h=HalfSpace(d.a, 0.3), shape=60),
        ]
    )


def tracking_oracle(d: Data) -> Answer:
    w = cp.Variable(60)
    return cvx(0.5 * cp.sum_squares(d.G @ w - d.y), [w >= 0, cp.sum(w) == 1, d.a @ w <= 0.3])


def tracking_violation(d: Data, x: Any) -> float:
    return max(budget(d, x), max(float(d.a @ x[0]) - 0.3, 0.0) / 0.3)


STATEMENTS = [
    Statement(
        "entropy with moments",
        moments,
        entropy,
        entropy_oracle,
        entropy_value,
        lambda d, x: off(d.A @ x[0] - d.b, d.b),
    ),
    Statement(
        "D-optimal design",
        sensors,
        design,
        design_oracle,
        design_value,
        lambda d, x: abs(x[0].sum() - d.k) / d.k,
    ),
    Statement("logarithms on the simplex", shares, barrier, barrier_oracle, barrier_value, budget),
    Statement(
        "tracking a portfolio",
        replication,
        tracking,
        tracking_oracle,
        lambda d, x: float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2)),
        tracking_violation,
    ),
]
