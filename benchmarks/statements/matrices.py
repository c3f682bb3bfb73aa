"""Matrices: completion, robust principal components, correlations, several tasks at once. All convex."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem
from ipds.functions import L1, L21, PSD, Affine, LeastSquares, Linear, LogDet, Nuclear, Quadratic
from ipds.operators import Sampling

from .statement import Answer, Data, Statement, cvx, off


def low_rank(seed: int, n: int, r: int = 2) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r)) @ rng.standard_normal((r, n))
    gross = np.where(rng.random((n, n)) < 0.1, 10 * rng.standard_normal((n, n)), 0.0)
    return Data(
        X=X + 0.05 * rng.standard_normal((n, n)), known=rng.random((n, n)) < 0.6, gross=X + gross, n=n
    )


def completion(d: Data) -> Problem:
    f = LeastSquares(Sampling(d.known), d.X[d.known])
    return Problem([Block(f=f, h=Nuclear(1.0), shape=(d.n, d.n))])


def completion_oracle(d: Data) -> Answer:
    X = cp.Variable((d.n, d.n))
    fit = cp.sum_squares(cp.multiply(d.known, X - d.X))
    return cvx(0.5 * fit + cp.normNuc(X))


def completion_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.X)[d.known] ** 2) + np.linalg.norm(x[0], "nuc"))


def pursuit(d: Data) -> Problem:
    """Robust principal components: L + S = D."""
    shape, lam = (d.n, d.n), 1 / np.sqrt(d.n)
    return Problem([Block(h=Nuclear(1.0), shape=shape), Block(h=L1(lam), shape=shape)], b=d.gross)


def pursuit_oracle(d: Data) -> Answer:
    L = cp.Variable((d.n, d.n))
    return cvx(cp.normNuc(L) + cp.sum(cp.abs(d.gross - L)) / np.sqrt(d.n))


def pursuit_value(d: Data, x: Any) -> float:
    return float(np.linalg.norm(x[0], "nuc") + np.abs(d.gross - x[0]).sum() / np.sqrt(d.n))


def correlation_data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((12, 12))
    C = np.corrcoef(B) + 0.4 * (rng.random((12, 12)) - 0.5)
    C = (C + C.T) / 2
    np.fill_diagonal(C, 1.0)
    return Data(C=C)


def correlation(d: Data) -> Problem:
    """The nearest correlation matrix: positive semidefinite, ones on the diagonal."""
    diagonal = np.zeros((12, 144))
    diagonal[np.arange(12), np.arange(12) * 13] = 1.0
    from ipds.operators import Compose, Matrix, Reshape

    A = Compose(Matrix(diagonal), Reshape((12, 12)))
    return Problem([Block(f=Quadratic(1.0, -d.C), h=PSD(), A=A, shape=(12, 12))], b=1.0)


def correlation_oracle(d: Data) -> Answer:
    X = cp.Variable((12, 12), PSD=True)
    answer = cvx(0.5 * cp.sum_squares(X - d.C), [cp.diag(X) == 1])
    return answer.beside(-0.5 * float(np.sum(d.C**2)))


def correlation_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum(x[0] ** 2) - np.sum(d.C * x[0]))


def tasks(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((80, 30))
    B = np.zeros((30, 5))
    B[:6] = rng.standard_normal((6, 5))
    return Data(G=G, Y=G @ B + 0.3 * rng.standard_normal((80, 5)))


def multitask(d: Data) -> Problem:
    return Problem(
        [Block(f=LeastSquares(d.G, d.Y), A=-1.0, shape=(30, 5)), Block(h=L21(10.0), shape=(30, 5))]
    )


def multitask_oracle(d: Data) -> Answer:
    B = cp.Variable((30, 5))
    return cvx(0.5 * cp.sum_squares(d.G @ B - d.Y) + 10 * cp.sum(cp.norm(B, axis=1)))


def multitask_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[0] - d.Y) ** 2) + 10 * np.linalg.norm(x[0], axis=1).sum())


def reduced_rank(d: Data) -> Problem:
    return Problem(
        [Block(h=Nuclear(8.0), A=-d.G, shape=(30, 5)), Block(f=Quadratic(1.0), shape=(80, 5))], b=-d.Y
    )


def reduced_rank_oracle(d: Data) -> Answer:
    B = cp.Variable((30, 5))
    return cvx(0.5 * cp.sum_squares(d.G @ B - d.Y) + 8 * cp.normNuc(B))


def reduced_rank_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[0] - d.Y) ** 2) + 8 * np.linalg.norm(x[0], "nuc"))


def covariance(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    precision = np.eye(8) + 0.4 * (np.eye(8, k=1) + np.eye(8, k=-1))
    X = rng.multivariate_normal(np.zeros(8), np.linalg.inv(precision), size=200)
    return Data(S=np.cov(X.T), lam=0.1)


def graphical(d: Data) -> Problem:
    """Sparse precision: ⟨S, X⟩ - log det X + λ‖X‖₁."""
    shape = (8, 8)
    return Problem([Block(h=LogDet(), A=-1.0, shape=shape), Block(f=Linear(d.S), h=L1(d.lam), shape=shape)])


def graphical_oracle(d: Data) -> Answer:
    X = cp.Variable((8, 8), symmetric=True)
    return cvx(cp.trace(d.S @ X) - cp.log_det(X) + d.lam * cp.sum(cp.abs(X)))


def graphical_value(d: Data, x: Any) -> float:
    return float(np.sum(d.S * x[0]) - np.linalg.slogdet(x[0])[1] + d.lam * np.abs(x[0]).sum())


def plan(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(Y=rng.standard_normal((10, 8)), total=np.ones((1, 10)))


def columns_sum_to_zero(d: Data) -> Problem:
    """A projection with equations on the columns of a matrix."""
    return Problem(
        [
            Block(f=Quadratic(1.0, -d.Y), h=L1(0.2), A=-1.0, shape=(10, 8)),
            Block(h=Affine(d.total, np.zeros((1, 8))), shape=(10, 8)),
        ]
    )


def columns_oracle(d: Data) -> Answer:
    X = cp.Variable((10, 8))
    answer = cvx(0.5 * cp.sum_squares(X - d.Y) + 0.2 * cp.sum(cp.abs(X)), [cp.sum(X, axis=0) == 0])
    return answer.beside(-0.5 * float(np.sum(d.Y**2)))


STATEMENTS = [
    Statement(
        "matrix completion 20x20", lambda s: low_rank(s, 20), completion, completion_oracle, completion_value
    ),
    Statement(
        "robust principal components 20x20", lambda s: low_rank(s, 20), pursuit, pursuit_oracle, pursuit_value
    ),
    Statement(
        "nearest correlation matrix",
        correlation_data,
        correlation,
        correlation_oracle,
        correlation_value,
        lambda d, x: off(np.diag(x[0]) - 1, np.ones(12)),
    ),
    Statement("rows shared by tasks", tasks, multitask, multitask_oracle, multitask_value),
    Statement("nuclear norm regression", tasks, reduced_rank, reduced_rank_oracle, reduced_rank_value),
    Statement("graphical lasso 8x8", covariance, graphical, graphical_oracle, graphical_value),
    Statement(
        "columns that sum to zero",
        plan,
        columns_sum_to_zero,
        columns_oracle,
        lambda d, x: float(0.5 * np.sum(x[0] ** 2) - np.sum(d.Y * x[0]) + 0.2 * np.abs(x[0]).sum()),
        lambda d, x: off(x[0].sum(0), np.ones(8)),
    ),
]
