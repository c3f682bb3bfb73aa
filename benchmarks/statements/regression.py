"""Regression: robust, sparse, constrained; raw tables and clean ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.optimize
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from ipds import Block, Problem
from ipds.functions import (
    L1,
    ElasticNet,
    GroupL2,
    Hinge,
    HuberLoss,
    LeastSquares,
    Logistic,
    NonNegative,
    Quadratic,
    Quantile,
)
from ipds.operators import Identity, Matrix, Stack

from .statement import Answer, Data, Statement, cvx, sparse_vector, timed

TABLES: dict[str, Callable[..., Any]] = {
    "wine": load_wine,
    "diabetes": load_diabetes,
    "cancer": load_breast_cancer,
}


def table(name: str, seed: int) -> Data:
    """A data set as it comes, nine tenths of its rows: a column to predict, the others and a constant."""
    options = {"scaled": False} if name == "diabetes" else {}
    X, y = TABLES[name](return_X_y=True, **options)
    if name == "wine":
        X, y = X[:, 1:], X[:, 0]
    rows = np.random.default_rng(seed).permutation(len(y))[: len(y) * 9 // 10]
    return Data(G=np.column_stack([X[rows], np.ones(len(rows))]), y=y[rows].astype(float))


def planted(
    seed: int, m: int, n: int, k: int, noise: float = 0.3, condition: float = 1.0, units: float = 0.0
) -> Data:
    """y = G x + noise with k nonzero entries; `units` scales columns by 10^±units, `condition` that of G."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n))
    if condition > 1:
        u, _, vt = np.linalg.svd(G, full_matrices=False)
        G = u * np.geomspace(np.sqrt(m), np.sqrt(m) / condition, min(m, n)) @ vt
    y = G @ sparse_vector(rng, n, k) + noise * rng.standard_normal(m)
    lam = 0.1 * float(np.abs(G.T @ y).max())
    s = 10 ** rng.uniform(-units, units, n)
    return Data(G=G * s, y=y, lam=lam, weights=lam * s, plain=G, s=s)


# ---------------------------------------------------------------- least absolute deviations


def lad(d: Data) -> Problem:
    return Problem([Block(A=-d.G, shape=d.G.shape[1]), Block(h=L1(1.0), shape=len(d.y))], b=-d.y)


def lad_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(cp.norm1(d.G @ x - d.y))


def lad_value(d: Data, x: Any) -> float:
    return float(np.abs(d.G @ x[0] - d.y).sum())


def lads() -> list[Statement]:
    draws: dict[str, Callable[[int], Data]] = {
        "raw wine": lambda s: table("wine", s),
        "raw diabetes": lambda s: table("diabetes", s),
        "raw breast cancer": lambda s: table("cancer", s),
        "200x20": lambda s: planted(s, 200, 20, 20),
        "2000x60": lambda s: planted(s, 2000, 60, 60),
        "condition 1e6": lambda s: planted(s, 300, 40, 40, condition=1e6),
        "columns 1e±3": lambda s: planted(s, 300, 40, 40, units=3),
    }
    return [Statement(f"LAD, {name}", draw, lad, lad_oracle, lad_value) for name, draw in draws.items()]


# ---------------------------------------------------------------- lasso


def lasso_value(d: Data, x: np.ndarray) -> float:
    return float(0.5 * np.sum((d.G @ x - d.y) ** 2) + np.sum(d.weights * np.abs(x)))


def lasso_oracle(d: Data) -> Answer:
    """On the problem in good units."""
    x = cp.Variable(d.G.shape[1])
    return cvx(0.5 * cp.sum_squares(d.plain @ x - d.y) + d.lam * cp.norm1(x))


def lasso_forms(d: Data) -> dict[str, tuple[Problem, int]]:
    """The same lasso in five forms, and which block is x."""
    (m, n), h, fit = d.G.shape, L1(d.weights), LeastSquares(d.G, d.y)
    rows, columns = sp.eye_array(m), sp.eye_array(n)
    return {
        "alone": (Problem([Block(f=fit, h=h, shape=n)]), 0),
        "split": (Problem([Block(f=fit, A=-1.0, shape=n), Block(h=h, shape=n)]), 1),
        "residual": (Problem([Block(h=h, A=-d.G, shape=n), Block(f=Quadratic(1.0), shape=m)], b=-d.y), 0),
        "fit last": (Problem([Block(h=h, A=1.0, shape=n), Block(f=fit, A=-1.0, shape=n)]), 0),
        "stacked": (
            Problem(
                [
                    Block(A=Stack([Matrix(-d.G), Identity(-1.0)], shape=n), shape=n),
                    Block(f=Quadratic(1.0), A=sp.vstack([rows, sp.csr_array((n, m))]), shape=m),
                    Block(h=h, A=sp.vstack([sp.csr_array((m, n)), columns]), shape=n),
                ],
                b=np.concatenate([-d.y, np.zeros(n)]),
            ),
            2,
        ),
    }


def lassos() -> list[Statement]:
    def statement(name: str, draw: Callable[[int], Data], form: str) -> Statement:
        return Statement(
            f"lasso, {name}, {form}",
            draw,
            lambda d: lasso_forms(d)[form][0],
            lasso_oracle,
            lambda d, x: lasso_value(d, x[lasso_forms(d)[form][1]]),
        )

    small = [
        statement("200x100", lambda s: planted(s, 200, 100, 10), form)
        for form in ("alone", "split", "residual", "fit last", "stacked")
    ]
    return [
        *small,
        statement("300x1000", lambda s: planted(s, 300, 1000, 15), "alone"),
        statement("300x1000", lambda s: planted(s, 300, 1000, 15), "residual"),
        statement("columns 1e±3", lambda s: planted(s, 200, 100, 10, units=3), "split"),
        statement("columns 1e±4", lambda s: planted(s, 200, 100, 10, units=4), "residual"),
        statement("condition 1e6", lambda s: planted(s, 200, 100, 10, condition=1e6), "alone"),
        Statement("lasso, raw diabetes", raw_lasso_data, raw_lasso, raw_lasso_oracle, raw_lasso_value),
    ]


def raw_lasso_data(seed: int) -> Data:
    d = table("diabetes", seed)
    d.weights = np.append(np.full(d.G.shape[1] - 1, 10.0), 0.0)
    return d


def raw_lasso(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem([Block(h=L1(d.weights), A=-d.G, shape=n), Block(f=Quadratic(1.0), shape=len(d.y))], b=-d.y)


def raw_lasso_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + 10 * cp.norm1(x[:-1]))


def raw_lasso_value(d: Data, x: Any) -> float:
    return lasso_value(d, x[0])


# ---------------------------------------------------------------- other penalties, losses and constraints


def elastic_net(d: Data) -> Problem:
    return Problem([Block(f=LeastSquares(d.G, d.y), h=ElasticNet(d.lam, 1.0), shape=d.G.shape[1])])


def elastic_net_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + d.lam * cp.norm1(x) + 0.5 * cp.sum_squares(x))


def elastic_net_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + d.lam * np.abs(x[0]).sum() + 0.5 * np.sum(x[0] ** 2))


def nnls_split(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem([Block(f=LeastSquares(d.G, d.y), A=-1.0, shape=n), Block(h=NonNegative(), shape=n)])


def nnls_residual(d: Data) -> Problem:
    return Problem(
        [Block(h=NonNegative(), A=-d.G, shape=d.G.shape[1]), Block(f=Quadratic(1.0), shape=len(d.y))], b=-d.y
    )


def nnls_oracle(d: Data) -> Answer:
    return timed(lambda: 0.5 * scipy.optimize.nnls(d.G, d.y, maxiter=100_000)[1] ** 2)


def nnls_value(block: int) -> Callable[[Data, Any], float]:
    return lambda d, x: float(0.5 * np.sum((d.G @ np.maximum(x[block], 0.0) - d.y) ** 2))


def quantile(d: Data) -> Problem:
    return Problem([Block(A=d.G, shape=d.G.shape[1]), Block(h=Quantile(0.9), shape=len(d.y))], b=d.y)


def quantile_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    r = d.y - d.G @ x
    return cvx(cp.sum(cp.maximum(0.9 * r, -0.1 * r)))


def quantile_value(d: Data, x: Any) -> float:
    r = d.y - d.G @ x[0]
    return float(np.maximum(0.9 * r, -0.1 * r).sum())


def huber(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem([Block(f=HuberLoss(d.G, d.y, 1.0), A=-1.0, shape=n), Block(h=L1(d.lam / 10), shape=n)])


def huber_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    return cvx(0.5 * cp.sum(cp.huber(d.G @ x - d.y, 1.0)) + d.lam / 10 * cp.norm1(x))


def huber_value(d: Data, x: Any) -> float:
    r = np.abs(d.G @ x[0] - d.y)
    return float(np.where(r <= 1, 0.5 * r**2, r - 0.5).sum() + d.lam / 10 * np.abs(x[0]).sum())


def labelled(seed: int, m: int, n: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n))
    return Data(G=G, labels=np.where(G @ rng.standard_normal(n) + rng.standard_normal(m) > 0, 1.0, -1.0))


def svm(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem(
        [
            Block(f=Quadratic(1.0), A=-d.labels[:, None] * d.G, shape=n),
            Block(h=Hinge(1.0), shape=len(d.labels)),
        ]
    )


def svm_oracle(d: Data) -> Answer:
    w = cp.Variable(d.G.shape[1])
    return cvx(0.5 * cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(d.labels, d.G @ w))))


def svm_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum(x[0] ** 2) + np.maximum(1 - d.labels * (d.G @ x[0]), 0).sum())


def logistic_data(seed: int) -> Data:
    d = table("cancer", seed)
    return Data(G=d.G, labels=2 * d.y - 1, weights=np.append(np.ones(d.G.shape[1] - 1), 0.0))


def clean_logistic_data(seed: int) -> Data:
    d = labelled(seed, 300, 40)
    d.weights = np.full(40, 3.0)
    return d


def logistic(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem([Block(f=Logistic(d.G, d.labels), A=-1.0, shape=n), Block(h=L1(d.weights), shape=n)])


def logistic_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    loss = cp.sum(cp.logistic(-cp.multiply(d.labels, d.G @ x)))
    return cvx(loss + d.weights @ cp.abs(x))


def logistic_value(d: Data, x: Any) -> float:
    return float(np.logaddexp(0, -d.labels * (d.G @ x[1])).sum() + d.weights @ np.abs(x[1]))


def groups(n: int) -> list[list[int]]:
    return [list(range(k, k + 5)) for k in range(0, n, 5)]


def group_lasso(d: Data) -> Problem:
    n = d.G.shape[1]
    return Problem([Block(f=LeastSquares(d.G, d.y), h=GroupL2(d.lam, groups(n)), shape=n)])


def group_lasso_oracle(d: Data) -> Answer:
    n = d.G.shape[1]
    x = cp.Variable(n)
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + d.lam * sum(cp.norm2(x[g]) for g in groups(n)))


def group_lasso_value(d: Data, x: Any) -> float:
    norms = sum(np.linalg.norm(x[0][g]) for g in groups(d.G.shape[1]))
    return float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + d.lam * norms)


def fused(d: Data) -> Problem:
    n = d.G.shape[1]
    D = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - 1, n))
    return Problem(
        [
            Block(f=LeastSquares(d.G, d.y), h=L1(d.lam / 20), A=-D, shape=n),
            Block(h=L1(d.lam / 4), shape=n - 1),
        ]
    )


def fused_oracle(d: Data) -> Answer:
    x = cp.Variable(d.G.shape[1])
    penalty = d.lam / 20 * cp.norm1(x) + d.lam / 4 * cp.norm1(cp.diff(x))
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + penalty)


def fused_value(d: Data, x: Any) -> float:
    penalty = d.lam / 20 * np.abs(x[0]).sum() + d.lam / 4 * np.abs(np.diff(x[0])).sum()
    return float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + penalty)


STATEMENTS = [
    *lads(),
    *lassos(),
    Statement(
        "elastic net, 200x100",
        lambda s: planted(s, 200, 100, 10),
        elastic_net,
        elastic_net_oracle,
        elastic_net_value,
    ),
    Statement("NNLS, split", lambda s: planted(s, 200, 100, 100), nnls_split, nnls_oracle, nnls_value(1)),
    Statement(
        "NNLS, residual 800x300",
        lambda s: planted(s, 800, 300, 300),
        nnls_residual,
        nnls_oracle,
        nnls_value(0),
    ),
    Statement(
        "NNLS, condition 1e6",
        lambda s: planted(s, 200, 60, 60, condition=1e6),
        nnls_split,
        nnls_oracle,
        nnls_value(1),
    ),
    Statement(
        "quantile, raw diabetes", lambda s: table("diabetes", s), quantile, quantile_oracle, quantile_value
    ),
    Statement(
        "quantile, 500x30", lambda s: planted(s, 500, 30, 30), quantile, quantile_oracle, quantile_value
    ),
    Statement("Huber and L1", lambda s: planted(s, 200, 80, 10), huber, huber_oracle, huber_value),
    Statement("support vectors, 400x30", lambda s: labelled(s, 400, 30), svm, svm_oracle, svm_value),
    Statement("logistic and L1, raw breast cancer", logistic_data, logistic, logistic_oracle, logistic_value),
    Statement("logistic and L1, 300x40", clean_logistic_data, logistic, logistic_oracle, logistic_value),
    Statement(
        "group lasso", lambda s: planted(s, 150, 100, 20), group_lasso, group_lasso_oracle, group_lasso_value
    ),
    Statement("fused lasso", lambda s: planted(s, 150, 200, 20), fused, fused_oracle, fused_value),
]
