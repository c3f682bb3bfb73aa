"""Without convexity: oracles are planted solutions, enumerations, or the best of many starts of a dedicated method."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ipds import Block, Problem
from ipds.functions import (
    L0,
    L1,
    MCP,
    SCAD,
    Binary,
    Cardinality,
    LeastSquares,
    PCAVariance,
    Quadratic,
    Rank,
    Stiefel,
)
from ipds.operators import Sampling

from .statement import Data, Statement, off, sparse_vector, timed


def subset(seed: int, units: float = 0.0) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((60, 14))
    y = G @ sparse_vector(rng, 14, 3) + 0.2 * rng.standard_normal(60)
    return Data(G=G * 10 ** rng.uniform(-units, units, 14), y=y)


def best_subset(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), A=-1.0, shape=14), Block(h=Cardinality(3), shape=14)])


def best_subset_residual(d: Data) -> Problem:
    return Problem([Block(h=Cardinality(3), A=-d.G, shape=14), Block(f=Quadratic(1.0), shape=60)], b=-d.y)


def best_subset_oracle(d: Data) -> tuple[float, float]:
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

    def value(d: Data) -> tuple[float, float]:
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


def binary_oracle(d: Data) -> tuple[float, float]:
    def best() -> float:
        points = np.array(list(itertools.product([-1.0, 1.0], repeat=12)))
        return float(0.5 * np.min(np.sum((points @ d.G.T - d.y) ** 2, axis=1)))

    return timed(best)


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
            lambda d: (0.0, 0.0),
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
    ]


STATEMENTS = statements()
