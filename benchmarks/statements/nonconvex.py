"""Without convexity: oracles are planted solutions, enumerations, or the best of many starts of a dedicated method."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import scipy.optimize

from ipds import Block, Problem
from ipds.functions import (
    L0,
    L1,
    MCP,
    SCAD,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    LeastSquares,
    LHalf,
    Linear,
    LogSum,
    NonNegative,
    PCAVariance,
    Quadratic,
    Rank,
    Stiefel,
    Sum,
)
from ipds.operators import Sampling

from .statement import Answer, Data, Statement, off, sparse_vector, timed


def subset(seed: int, units: float = 0.0) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((60, 14))
    y = G @ sparse_vector(rng, 14, 3) + 0.2 * rng.standard_normal(60)
    return Data(G=G * 10 ** rng.uniform(-units, units, 14), y=y)


def best_subset(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), A=-1.0, shape=14), Block(h=Cardinality(3), shape=14)])


def best_subset_residual(d: Data) -> Problem:
    return Problem([Block(h=Cardinality(3), A=-d.G, shape=14), Block(f=Quadratic(1.0), shape=60)], b=-d.y)


def best_subset_oracle(d: Data) -> Answer:
    """All 364 subsets."""

    def best() -> float:
        choices = (d.G[:, list(s)] for s in itertools.combinations(range(14), 3))
        return min(0.5 * float(np.linalg.lstsq(g, d.y, rcond=None)[1][0]) for g in choices)

    return timed(best)


def fit_value(block: int) -> Any:
    return lambda d, x: float(0.5 * np.sum((d.G @ x[block] - d.y) ** 2))


def sparse(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((100, 50))
    x = sparse_vector(rng, 50, 5)
    return Data(G=G, y=G @ x + 0.1 * rng.standard_normal(100), x=x)


def penalised(h: Any) -> Any:
    return lambda d: Problem([Block(f=LeastSquares(d.G, d.y), h=h, shape=50)])


def penalised_value(h: Any) -> Any:
    return lambda d, x: float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + h(x[0]))


def refit(h: Any) -> Any:
    """Least squares on the planted support: a good point of every sparse penalty."""

    def value(d: Data) -> Answer:
        def best() -> float:
            x, support = np.zeros(50), np.flatnonzero(d.x)
            x[support] = np.linalg.lstsq(d.G[:, support], d.y, rcond=None)[0]
            return float(0.5 * np.sum((d.G @ x - d.y) ** 2) + h(x))

        return timed(best)

    return value


def robust(seed: int) -> Data:
    d = sparse(seed)
    rng = np.random.default_rng(seed + 100)
    gross = np.where(rng.random(100) < 0.1, 20 * rng.standard_normal(100), 0.0)
    return Data(G=d.G, y=d.G @ d.x + gross, x=d.x)


def robust_regression(d: Data) -> Problem:
    return Problem([Block(h=Cardinality(5), A=-d.G, shape=50), Block(h=L1(1.0), shape=100)], b=-d.y)


def completion_data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 40))
    return Data(X=X, known=rng.random((40, 40)) < 0.5)


def completion(d: Data) -> Problem:
    f = LeastSquares(Sampling(d.known), d.X[d.known])
    return Problem([Block(f=f, A=-1.0, shape=(40, 40)), Block(h=Rank(3), shape=(40, 40))])


def components(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    loadings = np.zeros((3, 30))
    for k in range(3):
        loadings[k, 10 * k : 10 * k + 5] = 1 / np.sqrt(5)
    X = rng.standard_normal((200, 3)) @ (
        np.array([[6.0], [5.0], [4.0]]) * loadings
    ) + 0.3 * rng.standard_normal((200, 30))
    return Data(X=X, V=loadings.T)


def sparse_pca(d: Data) -> Problem:
    return Problem(
        [
            Block(h=Stiefel(), A=-1.0, shape=(30, 3), name="Y"),
            Block(f=PCAVariance(d.X), h=L1(1.0), A=1.0, shape=(30, 3), name="V"),
        ]
    )


def sparse_pca_value(d: Data, x: Any) -> float:
    return -float(np.sum((d.X @ x[0]) ** 2)) / (2 * len(d.X)) + float(np.abs(x[0]).sum())


def signs(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((40, 12))
    x = rng.choice([-1.0, 1.0], 12)
    return Data(G=G, y=G @ x + rng.standard_normal(40))


def binary(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), h=Binary(-1.0, 1.0), shape=12)])


def binary_oracle(d: Data) -> Answer:
    def best() -> float:
        points = np.array(list(itertools.product([-1.0, 1.0], repeat=12)))
        return float(0.5 * np.min(np.sum((points @ d.G.T - d.y) ** 2, axis=1)))

    return timed(best)


def equation(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(A=rng.standard_normal((4, 9)), b=rng.standard_normal(4))


def basic_solutions(h: Any) -> Any:
    """All of them: a concave penalty under an equation is least at one."""

    def value(d: Data) -> Answer:
        def best() -> float:
            found, point = math.inf, np.zeros(9)
            for support in map(list, itertools.combinations(range(9), 4)):
                x = point.copy()
                x[support] = np.linalg.solve(d.A[:, support], d.b)
                found = min(found, float(h(x)))
            return found

        return timed(best)

    return value


def under_equation(h: Any) -> Statement:
    return Statement(
        f"{type(h).__name__} under an equation",
        equation,
        lambda d: Problem([Block(h=h, A=d.A, shape=9)], b=d.b),
        basic_solutions(h),
        lambda d, x: float(h(x[0])),
        lambda d, x: off(d.A @ x[0] - d.b, d.b),
        convex=False,
    )


def spikes(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((20, 10))
    x = np.abs(sparse_vector(rng, 10, 4))
    return Data(G=G, y=G @ x + 0.5 * rng.standard_normal(20))


def counted_nonnegative(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), h=Sum(L0(2.0), NonNegative()), shape=10)])


def counted_nonnegative_oracle(d: Data) -> Answer:
    """Nonnegative least squares on all 1,024 supports."""

    def best() -> float:
        supports = (list(s) for k in range(11) for s in itertools.combinations(range(10), k))
        return min(
            0.5 * (scipy.optimize.nnls(d.G[:, s], d.y)[1] if s else float(np.linalg.norm(d.y))) ** 2
            + 2.0 * len(s)
            for s in supports
        )

    return timed(best)


def lines(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = np.c_[np.ones(25), rng.uniform(-1, 1, 25)]
    y = G @ [1.0, 2.0] + 0.1 * rng.standard_normal(25)
    others = rng.choice(25, 9, replace=False)
    y[others] = 3 - 3 * G[others, 1] + rng.standard_normal(9)
    return Data(G=G, y=y)


def capped_residuals(d: Data) -> Problem:
    return Problem([Block(A=d.G, shape=2), Block(h=CappedL1(1.0, 0.5), A=-1.0, shape=25)], b=d.y)


def capped_value(d: Data, x: Any) -> float:
    return float(np.minimum(np.abs(d.G @ x[0] - d.y), 0.5).sum())


def capped_oracle(d: Data) -> Answer:
    """All lines through two points."""

    def best() -> float:
        pairs = map(list, itertools.combinations(range(25), 2))
        return min(capped_value(d, [np.linalg.solve(d.G[s], d.y[s])]) for s in pairs)

    return timed(best)


def goods(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1, 10, (2, 20))
    return Data(weight=weight, value=rng.uniform(1, 10, 20), room=0.4 * weight.sum(axis=1))


def knapsack(d: Data) -> Problem:
    things = Block(f=Linear(-d.value), h=Binary(), A=d.weight, shape=20)
    return Problem([things, Block(h=Box(-math.inf, d.room), A=-1.0, shape=2)])


def knapsack_oracle(d: Data) -> Answer:
    rows, bounds = scipy.optimize.LinearConstraint(d.weight, -np.inf, d.room), scipy.optimize.Bounds(0, 1)
    return timed(lambda: scipy.optimize.milp(-d.value, constraints=rows, integrality=1, bounds=bounds).fun)


def switched(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    on, each, lo, hi = (
        rng.uniform(10, 30, 9),
        rng.uniform(1, 3, 9),
        rng.uniform(1, 3, 9),
        rng.uniform(6, 10, 9),
    )
    return Data(on=on, each=each, lo=lo, hi=hi, demand=rng.uniform(0.3, 0.8) * hi.sum())


def commitment(d: Data) -> Problem:
    """p of machines that are on, y = 1: p - hi·y ≤ 0, p - lo·y ≥ 0, Σ p = demand."""
    eye, ones = np.eye(9), np.ones((1, 9))
    p = Block(f=Linear(d.each), A=np.vstack([eye, eye, ones]), shape=9)
    y = Block(f=Linear(d.on), h=Binary(), A=-np.vstack([np.diag(d.hi), np.diag(d.lo), 0 * ones]), shape=9)
    ends = [(np.full(9, -np.inf), np.zeros(9)), (np.zeros(9), np.full(9, np.inf)), ([d.demand], [d.demand])]
    room = Box(*(np.concatenate([np.asarray(pair[k], float) for pair in ends]) for k in (0, 1)))
    return Problem([p, y, Block(h=room, A=-1.0, shape=19)])


def commitment_oracle(d: Data) -> Answer:
    eye = np.eye(9)
    rows = np.block([[eye, -np.diag(d.hi)], [-eye, np.diag(d.lo)], [np.ones((1, 9)), np.zeros((1, 9))]])
    ends = np.r_[np.full(18, -np.inf), d.demand], np.r_[np.zeros(18), d.demand]
    return timed(
        lambda: (
            scipy.optimize.milp(
                np.r_[d.each, d.on],
                constraints=scipy.optimize.LinearConstraint(rows, *ends),
                integrality=np.r_[np.zeros(9), np.ones(9)],
                bounds=scipy.optimize.Bounds(0, np.r_[np.full(9, np.inf), np.ones(9)]),
            ).fun
        )
    )


def switched_off(d: Data, x: Any) -> float:
    """How far the demand is missed, bounds are passed and switches are neither on nor off."""
    passed = max(np.max(x[0] - d.hi * x[1]), np.max(d.lo * x[1] - x[0]), 0.0)
    between = np.max(np.minimum(np.abs(x[1]), np.abs(x[1] - 1)))
    return float(max(abs(x[0].sum() / d.demand - 1), passed / 10, between))


def statements() -> list[Statement]:
    penalties = {"L0": L0(1.0), "MCP": MCP(5.0, 3.0), "SCAD": SCAD(5.0, 3.7)}
    by_penalty = [
        Statement(f"{name} regression", sparse, penalised(h), refit(h), penalised_value(h), convex=False)
        for name, h in penalties.items()
    ]
    return [
        Statement("best subset, split", subset, best_subset, best_subset_oracle, fit_value(1), convex=False),
        Statement(
            "best subset, units 1e±3",
            lambda s: subset(s, 3.0),
            best_subset,
            best_subset_oracle,
            fit_value(1),
            convex=False,
        ),
        Statement(
            "best subset, residual, units 1e±3",
            lambda s: subset(s, 3.0),
            best_subset_residual,
            best_subset_oracle,
            fit_value(0),
            convex=False,
        ),
        *by_penalty,
        Statement(
            "robust best subset",
            robust,
            robust_regression,
            lambda d: timed(lambda: float(np.abs(d.G @ d.x - d.y).sum())),
            lambda d, x: float(np.abs(d.G @ x[0] - d.y).sum()),
            convex=False,
        ),
        Statement(
            "completion of rank 3",
            completion_data,
            completion,
            lambda d: Answer(0.0, 0.0, 0.0),
            lambda d, x: off((x[1] - d.X)[d.known], d.X[d.known]),
            convex=False,
        ),
        Statement(
            "sparse PCA",
            components,
            sparse_pca,
            lambda d: timed(lambda: sparse_pca_value(d, [d.V])),
            sparse_pca_value,
            lambda d, x: off(x[0].T @ x[0] - np.eye(3), np.eye(3)),
            convex=False,
        ),
        Statement("signs", signs, binary, binary_oracle, fit_value(0), convex=False),
        *map(under_equation, (LogSum(1.0, 0.3), LHalf(1.0))),
        Statement(
            "L0, nonnegative",
            spikes,
            counted_nonnegative,
            counted_nonnegative_oracle,
            lambda d, x: float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + 2.0 * np.count_nonzero(x[0])),
            lambda d, x: max(0.0, -float(np.min(x[0]))),
            convex=False,
        ),
        Statement("capped residuals", lines, capped_residuals, capped_oracle, capped_value, convex=False),
        Statement(
            "knapsack, two rows",
            goods,
            knapsack,
            knapsack_oracle,
            lambda d, x: -float(d.value @ x[0]),
            lambda d, x: max(0.0, float(np.max(d.weight @ x[0] / d.room)) - 1),
            convex=False,
        ),
        Statement(
            "machines switched on",
            switched,
            commitment,
            commitment_oracle,
            lambda d, x: float(d.each @ x[0] + d.on @ x[1]),
            switched_off,
            convex=False,
        ),
    ]


STATEMENTS = statements()
