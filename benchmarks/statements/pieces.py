"""Discrete in other words: sets and losses of the modeller's own, permutations, changes counted, ranks in raw units."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy

from ipds import Problem, Variable, minimize
from ipds.functions import L0, Binary, Rank, Stiefel
from ipds.modelling import diff, sum_squares, term

from .statement import Answer, Data, Statement, below, off, timed


class Amount:
    """Nothing, or between two numbers; its author says no more than that."""

    def __init__(self, lo: float, hi: float):
        self.lo, self.hi = lo, hi

    def __call__(self, x: np.ndarray) -> float:
        return 0.0 if self.missed(x) < 1e-9 else np.inf

    def missed(self, x: np.ndarray) -> float:
        return float(np.max(np.minimum(np.abs(x), np.abs(x - np.clip(x, self.lo, self.hi)))))

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        near = np.clip(v, self.lo, self.hi)
        return np.where(np.abs(v) <= np.abs(v - near), 0.0, near)


class Truncated:
    """Σ min(r², 1)."""

    is_convex = False

    def __call__(self, r: np.ndarray) -> float:
        return float(np.minimum(r**2, 1.0).sum())

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        near = v / (1 + 2 * step)
        return np.where(near**2 + (v - near) ** 2 / (2 * step) < 1.0, near, v)


def foods(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.uniform(0, 5, (5, 16))
    return Data(A=A, need=0.4 * A.sum(axis=1), price=rng.uniform(1, 5, 16))


def diet(d: Data) -> Problem:
    x = Variable(16, name="x")
    return minimize(d.price @ x + term(Amount(0.5, 2.0), x), [d.A @ x >= d.need])


def diet_oracle(d: Data) -> Answer:
    eye, rows = np.eye(16), scipy.optimize.LinearConstraint

    def best() -> float:
        return scipy.optimize.milp(
            np.r_[d.price, np.zeros(16)],
            constraints=[
                rows(np.c_[d.A, 0 * d.A], d.need, np.inf),
                rows(np.c_[eye, -2 * eye], -np.inf, 0),
                rows(np.c_[eye, -0.5 * eye], 0, np.inf),
            ],
            integrality=np.r_[np.zeros(16), np.ones(16)],
            bounds=scipy.optimize.Bounds(0, np.r_[np.full(16, np.inf), np.ones(16)]),
        ).fun

    return timed(best)


def weighed(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((20, 15))
    return Data(T=T, W=np.outer(10 ** rng.uniform(-1, 1, 20), 10 ** rng.uniform(-2, 2, 15)))


def low_rank(d: Data) -> Problem:
    X = Variable((20, 15), name="X")
    return minimize(sum_squares(d.W * X - d.T) + Rank(3)(X))


def low_rank_oracle(d: Data) -> Answer:
    return timed(lambda: float(np.sum(np.linalg.svd(d.T, compute_uv=False)[3:] ** 2)))


def trails(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = np.c_[np.ones(24), rng.standard_normal(24)]
    y = G @ rng.standard_normal(2) + 0.2 * rng.standard_normal(24)
    y[:10] = 20 * rng.choice([-1, 1]) + 8 * rng.standard_normal(10)
    return Data(G=G, y=y)


def truncated(d: Data) -> Problem:
    x = Variable(2, name="x")
    return minimize(term(Truncated(), 1e3 * (d.G @ x) - d.y))


def truncated_oracle(d: Data) -> Answer:
    """From the line through each pair of points, refitted to those near it."""

    def best() -> float:
        found = np.inf
        for pair in map(list, itertools.combinations(range(24), 2)):
            x = np.linalg.solve(d.G[pair], d.y[pair])
            for _ in range(20):
                near = np.abs(d.G @ x - d.y) < 1
                x = np.linalg.lstsq(d.G[near], d.y[near], rcond=None)[0]
            found = min(found, float(np.minimum((d.G @ x - d.y) ** 2, 1).sum()))
        return found

    return timed(best)


def tasks(seed: int) -> Data:
    return Data(C=np.random.default_rng(seed).standard_normal((8, 8)))


def permutation(d: Data) -> Problem:
    X = Variable((8, 8), name="X")
    return minimize((d.C * X).sum() + Stiefel()(X), [X >= 0])


def permutation_oracle(d: Data) -> Answer:
    return timed(lambda: float(d.C[scipy.optimize.linear_sum_assignment(d.C)].sum()))


def switched(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    K = np.maximum(0.0, 1 - np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 2.5)
    return Data(K=K, y=K @ np.repeat(rng.integers(0, 2, 4), 3) + 0.3 * rng.standard_normal(12))


def changes(d: Data) -> Problem:
    x = Variable(12, name="x")
    return minimize(0.5 * sum_squares(d.K @ x - d.y) + 0.4 * L0(1.0)(diff(x)) + Binary()(x))


def changes_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.K @ x[0] - d.y) ** 2) + 0.4 * np.count_nonzero(np.diff(np.round(x[0]))))


def changes_oracle(d: Data) -> Answer:
    """All 4,096."""

    def best() -> float:
        points = np.array(list(itertools.product([0.0, 1.0], repeat=12)))
        fits = 0.5 * np.sum((points @ d.K.T - d.y) ** 2, axis=1)
        return float(np.min(fits + 0.4 * np.count_nonzero(np.diff(points, axis=1), axis=1)))

    return timed(best)


STATEMENTS = [
    Statement(
        "none or a range, own set",
        foods,
        diet,
        diet_oracle,
        lambda d, x: float(d.price @ x[0]),
        lambda d, x: max(Amount(0.5, 2.0).missed(x[0]), below(d.A @ x[0], d.need)),
        convex=False,
    ),
    Statement(
        "rank 3, units of rows and columns",
        weighed,
        low_rank,
        low_rank_oracle,
        lambda d, x: float(np.sum((d.W * x[0] - d.T) ** 2)),
        lambda d, x: float(np.linalg.svd(d.W * x[0], compute_uv=False)[3] > 1e-6),
        convex=False,
    ),
    Statement(
        "truncated squares, own loss",
        trails,
        truncated,
        truncated_oracle,
        lambda d, x: float(np.minimum((1e3 * (d.G @ x[0]) - d.y) ** 2, 1).sum()),
        convex=False,
    ),
    Statement(
        "permutation, orthonormal",
        tasks,
        permutation,
        permutation_oracle,
        lambda d, x: float(np.sum(d.C * x[0])),
        lambda d, x: max(off(x[0].T @ x[0] - np.eye(8), np.eye(8)), below(x[0])),
        convex=False,
    ),
    Statement(
        "changes of switches",
        switched,
        changes,
        changes_oracle,
        changes_value,
        lambda d, x: float(np.max(np.abs(x[0] * (1 - x[0])))),
        convex=False,
    ),
]
