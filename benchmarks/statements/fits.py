"""Fits by other measures, or under constraints: Dantzig, basis pursuit, Chebyshev, counts, a plane."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem
from ipds.functions import (
    L1,
    L2,
    Box,
    LeastSquares,
    Linf,
    NonNegative,
    Poisson,
)

from .regression import planted
from .statement import Answer, Data, Statement, below, cvx, off


def dantzig(d: Data) -> Problem:
    n = d.G.shape[1]
    gram, right = d.G.T @ d.G, d.G.T @ d.y
    return Problem([Block(h=L1(1.0), A=-gram, shape=n), Block(h=Box(-d.lam, d.lam), shape=n)], b=-right)


def dantzig_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(cp.norm1(x), [cp.norm_inf(d.G.T @ d.G @ x - d.G.T @ d.y) <= d.lam])


def dantzig_violation(d: Data, x: Any) -> float:
    gap = np.abs(d.G.T @ (d.G @ x[0] - d.y)) - d.lam
    return off(np.maximum(gap, 0), d.lam * np.ones(len(gap)))


def pursuit_data(seed: int) -> Data:
    d = planted(seed, 60, 200, 8, noise=0.0)
    return Data(G=d.G, y=d.y)


def pursuit(d: Data) -> Problem:
    return Problem([Block(h=L1(1.0), A=d.G, shape=d.G.shape[1])], b=d.y)


def pursuit_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(cp.norm1(x), [d.G @ x == d.y])


def l1_value(d: Data, x: Any) -> float:
    return float(np.abs(x[0]).sum())


def root_lasso(d: Data) -> Problem:
    return Problem([Block(h=L1(1.0), A=-d.G, shape=d.G.shape[1]), Block(h=L2(4.0), shape=len(d.y))], b=-d.y)


def root_lasso_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(cp.norm1(x) + 4 * cp.norm2(d.G @ x - d.y))


def root_lasso_value(d: Data, x: Any) -> float:
    return float(np.abs(x[0]).sum() + 4 * np.linalg.norm(d.G @ x[0] - d.y))


def chebyshev(d: Data) -> Problem:
    return Problem([Block(A=-d.G, shape=d.G.shape[1]), Block(h=Linf(1.0), shape=len(d.y))], b=-d.y)


def chebyshev_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(cp.norm_inf(d.G @ x - d.y))


def chebyshev_value(d: Data, x: Any) -> float:
    return float(np.abs(d.G @ x[0] - d.y).max())


def counts(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    K = rng.random((120, 60)) * (rng.random((120, 60)) < 0.3)
    return Data(K=K, y=rng.poisson(K @ (np.maximum(rng.standard_normal(60), 0) * 20)).astype(float))


def poisson(d: Data) -> Problem:
    return Problem([Block(h=NonNegative(), A=-d.K, shape=60), Block(h=Poisson(d.y), shape=120)], b=1e-3)


def poisson_oracle(d: Data) -> Answer:
    x = cp.Variable(60)
    u = d.K @ x + 1e-3
    return cvx(cp.sum(u) - d.y @ cp.log(u), [x >= 0])


def poisson_value(d: Data, x: Any) -> float:
    u = d.K @ np.maximum(x[0], 0.0) + 1e-3
    return float(np.sum(u) - d.y @ np.log(u))


def constrained_data(seed: int) -> Data:
    d = planted(seed, 150, 50, 50)
    return Data(G=d.G, y=d.y)


def sum_to_one(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), A=np.ones((1, 50)), shape=50)], b=np.ones(1))


def sum_to_one_oracle(d: Data) -> Answer:
    x = cp.Variable(50)
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y), [cp.sum(x) == 1])


def fit_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2))


STATEMENTS = [
    Statement(
        "Dantzig selector",
        lambda s: planted(s, 100, 60, 6),
        dantzig,
        dantzig_oracle,
        l1_value,
        dantzig_violation,
    ),
    Statement(
        "basis pursuit",
        pursuit_data,
        pursuit,
        pursuit_oracle,
        l1_value,
        lambda d, x: off(d.G @ x[0] - d.y, d.y),
    ),
    Statement(
        "square-root lasso", lambda s: planted(s, 150, 80, 8), root_lasso, root_lasso_oracle, root_lasso_value
    ),
    Statement(
        "Chebyshev fit", lambda s: planted(s, 150, 10, 10), chebyshev, chebyshev_oracle, chebyshev_value
    ),
    Statement(
        "Poisson, nonnegative", counts, poisson, poisson_oracle, poisson_value, lambda d, x: below(x[0])
    ),
    Statement(
        "least squares on a plane",
        constrained_data,
        sum_to_one,
        sum_to_one_oracle,
        fit_value,
        lambda d, x: abs(x[0].sum() - 1),
    ),
]
