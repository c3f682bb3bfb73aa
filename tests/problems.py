"""Small problems shared by the tests, each with what a slow reference needs beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ipds import Block, Parameters, Problem
from ipds.functions import (
    L0,
    L1,
    L21,
    Box,
    Cardinality,
    LeastSquares,
    PCAVariance,
    PhaseRetrieval,
    Quadratic,
    Stiefel,
    smooth,
)
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    RiemannianALM,
    Subgradient,
)
from ipds.operators import Operator

METHODS: dict[str, Any] = {
    "auto": "auto",
    "practical": IPDS("practical"),
    "sound": IPDS("sound"),
    "accelerated": AcceleratedIPDS(),
    "radmm": RADMM("tuned"),
    "spgm": SPGM("tuned"),
    "subgradient": Subgradient("tuned"),
    "fixed": FixedPenaltyADMM("he-yuan-2012", force=True),
    "rialm": RiemannianALM(),
    "manpg": ManPG(),
}
"""Every method, as well tuned as it is."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def matrix_of(map_: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The matrix on flattened blocks of `shape` of an operator, or of an array that stands for a diagonal map."""
    if not isinstance(map_, Operator):
        assert map_.shape == shape
        return np.diag(map_.reshape(-1))
    matrix = np.zeros((math.prod(map_.output_shape(shape)), math.prod(shape)))
    for column, e in zip(matrix.T, np.eye(matrix.shape[1]), strict=True):
        column[:] = map_.apply(e.reshape(shape)).reshape(-1)
    return matrix


def take(states: Iterator[Any], count: int) -> list[Any]:
    return list(islice(states, count))


def start_of(problem: Problem, seed: int = 1) -> tuple[list[np.ndarray], np.ndarray]:
    """A random starting point, inside the domains."""
    g = rng(seed)
    x0 = [block.h.prox(g.standard_normal(block.shape), 1.0) for block in problem.blocks]
    return x0, g.standard_normal(problem.shape)


def conditioned(rows: int, columns: int, kappa: float, seed: int = 0) -> np.ndarray:
    """A full-rank matrix whose A Aᵀ has extreme eigenvalues 1 and kappa."""
    g = rng(seed)
    u = np.linalg.qr(g.standard_normal((rows, rows)))[0]
    v = np.linalg.qr(g.standard_normal((columns, rows)))[0]
    return u * np.sqrt(np.linspace(1.0, kappa, rows)) @ v.T


def concave(n: int, seed: int = 0) -> Quadratic:
    """An indefinite quadratic: smooth, nonconvex, with known Lipschitz constant."""
    M = rng(seed).standard_normal((n, n))
    return Quadratic((M + M.T) / math.sqrt(8 * n))


def sparse_pca(d: int = 12, r: int = 3, rho: float = 0.3, seed: int = 0) -> Problem:
    """BI, smooth concave f on the last block."""
    D = rng(seed).standard_normal((30, d))
    return Problem(
        [
            Block(h=Stiefel(), A=-1.0, shape=(d, r), name="Y"),
            Block(f=PCAVariance(D), h=L1(rho), A=1.0, shape=(d, r), name="V"),
        ]
    )


def robust_regression(m: int = 40, d: int = 15, s: int = 4, seed: int = 0) -> Problem:
    """BI, no smooth terms, nonconvex first block."""
    g = rng(seed)
    G = g.standard_normal((m, d))
    truth = np.zeros(d)
    truth[:s] = 3.0
    y = G @ truth + 10 * (g.random(m) < 0.1) * g.standard_normal(m)
    return Problem(
        [Block(h=Cardinality(s), A=-G, shape=d, name="v"), Block(h=L1(1.0), shape=m, name="y")], b=-y
    )


def surjective(kappa: float = 3.0, m: int = 6, n: int = 14, smooth: bool = True, seed: int = 0) -> Problem:
    """SU: a wide last A of condition kappa, a box before it."""
    g = rng(seed)
    return Problem(
        [
            Block(h=Box(0.0, 1.0), A=g.standard_normal((m, 5)), shape=5, name="u"),
            Block(
                f=concave(n, seed) if smooth else None,
                h=L1(0.5),
                A=conditioned(m, n, kappa, seed),
                shape=n,
                name="w",
            ),
        ],
        b=g.standard_normal(m),
    )


def three_blocks(kappa: float = 1.0, seed: int = 0) -> Problem:
    """BI with a last A of condition kappa; a sparse matrix, an ℓ0 block and a smooth block before it."""
    g = rng(seed)
    m = 10
    loss = LeastSquares(g.standard_normal((12, 6)), g.standard_normal(12))
    return Problem(
        [
            Block(h=L0(0.2), A=sp.random_array((m, 8), density=0.4, rng=g), shape=8, name="a"),
            Block(f=loss, A=g.standard_normal((m, 6)), shape=6, name="c"),
            Block(h=L1(0.7), A=1.5 if kappa == 1.0 else conditioned(m, m, kappa, seed), shape=m, name="e"),
        ],
        b=g.standard_normal(m),
    )


def five_blocks(seed: int = 0) -> Problem:
    """SU with matrix-shaped blocks: number, dense, sparse and matrix-free A; with and without smooth terms."""
    g = rng(seed)
    m, r = 4, 3
    free = g.standard_normal((m * r, 10))
    wide = conditioned(m, 7, 4.0, seed)
    return Problem(
        [
            Block(h=Stiefel(), A=-0.5, shape=(m, r), name="a"),
            Block(f=concave(6, 1), h=Cardinality(5), A=g.standard_normal((m, 6)), shape=(6, r), name="b"),
            Block(h=L21(0.3), A=sp.random_array((m, 5), density=0.5, rng=g), shape=(5, r), name="c"),
            Block(f=concave(10, 2), A=matrix_free(free), shape=10, name="d"),
            Block(f=concave(7, 3), h=L1(0.4), A=wide, shape=(7, r), name="e"),
        ],
        b=g.standard_normal((m, r)),
    )


def data(dtype: Any = float) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of 60 x 40 and noisy products with a vector of five nonzeros."""
    g = np.random.default_rng(1)
    G = g.standard_normal((60, 40))
    truth = np.zeros(40)
    truth[:5] = 3 * g.standard_normal(5)
    return G.astype(dtype), (G @ truth + 0.1 * g.standard_normal(60)).astype(dtype)


def lasso(dtype: Any = float) -> Problem:
    """½‖G x - y‖² + 3‖x‖₁ of these data, split."""
    return Problem([Block(f=LeastSquares(*data(dtype)), A=-1.0, shape=40), Block(h=L1(3.0), shape=40)])


class OwnL1:
    """‖x‖₁ as a caller writes it; what its prox gives passes through `fuse`."""

    is_convex, lipschitz = True, 3.0

    def __init__(self, fuse: Any) -> None:
        self.fuse = fuse

    def __call__(self, x: np.ndarray) -> float:
        return float(np.abs(x).sum())

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return self.fuse(np.sign(v) * np.maximum(np.abs(v) - step, 0.0))


def matrix_free(M: np.ndarray) -> spla.LinearOperator:
    return spla.LinearOperator(M.shape, matvec=lambda x: M @ x, rmatvec=lambda y: M.T @ y, dtype=float)


def dense(A: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The matrix M with vec(A x) = M vec(x), straight from what the user passed, not from the package's operators."""
    if isinstance(A, spla.LinearOperator):
        return np.column_stack([A.matvec(e) for e in np.eye(A.shape[1])])
    if np.ndim(A) == 0 and not sp.issparse(A):
        return float(A) * np.eye(math.prod(shape))
    return np.kron(A.toarray() if sp.issparse(A) else A, np.eye(math.prod(shape[1:])))


@dataclass
class Iterate:
    """What the reference yields."""

    x: list[np.ndarray]
    x_breve: np.ndarray
    z: np.ndarray
    beta: float
    mu: float


def reference(
    problem: Problem, x0: list[np.ndarray], z0: np.ndarray, p: Parameters, beta0: float, count: int
) -> list[Iterate]:
    """Algorithm 1 word for word: dense matrices, every sum recomputed, nothing carried along."""
    A = [dense(block.A, block.shape) for block in problem.blocks]
    L = [0.0 if block.f is None else block.f.lipschitz for block in problem.blocks]
    b = np.broadcast_to(problem.b, problem.shape).ravel()
    lambda_max = np.linalg.eigvalsh(A[-1] @ A[-1].T)[-1]
    x = [xi.ravel() for xi in x0]
    z, n, out = z0.ravel(), len(A), []
    for t in range(count):
        beta = beta0 * (1 + p.xi * t**p.p)
        mu = 1 / (lambda_max * p.delta * beta)
        for i, block in enumerate(problem.blocks):
            g = A[i].T @ (z + beta * (sum(Aj @ xj for Aj, xj in zip(A, x, strict=True)) - b))
            if block.f is not None:
                g = g + block.f.grad(x[i].reshape(block.shape)).ravel()
            w = (p.theta1 if i < n - 1 else p.theta2) * (L[i] + beta * np.linalg.norm(A[i], 2) ** 2)
            c = x[i] - g / w
            if i < n - 1:
                x[i] = block.h.prox(c.reshape(block.shape), 1 / w).ravel()
            else:
                x_breve = block.h.prox(c.reshape(block.shape), mu + 1 / w).ravel()
                x[i] = (x_breve + mu * w * c) / (1 + mu * w)
        z = z + p.sigma * beta * (sum(Aj @ xj for Aj, xj in zip(A, x, strict=True)) - b)
        shaped = [xi.reshape(block.shape) for xi, block in zip(x, problem.blocks, strict=True)]
        out.append(Iterate(shaped, x_breve.reshape(shaped[-1].shape), z.reshape(problem.shape), beta, mu))
    return out


def regression_data(m: int, d: int, s: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G, y, v): sparse regression with 15% gross outliers and little noise."""
    g = rng(seed)
    G = g.standard_normal((m, d))
    v = np.zeros(d)
    v[g.choice(d, s, replace=False)] = g.choice([-1, 1], s) * (0.5 + np.abs(g.standard_normal(s)))
    y = G @ v + 0.01 * g.standard_normal(m)
    outliers = g.choice(m, int(0.15 * m), replace=False)
    y[outliers] += 10 * np.linalg.norm(v) * g.standard_normal(len(outliers))
    return G, y, v


def subspace_data(d: int, c: int, inliers: int, outliers: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(G, normals): unit points, the inliers in a subspace of codimension c."""
    g = rng(seed)
    Q = np.linalg.qr(g.standard_normal((d, d)))[0]
    G = np.vstack([g.standard_normal((inliers, d - c)) @ Q[:, c:].T, g.standard_normal((outliers, d))])
    return G / np.linalg.norm(G, axis=1, keepdims=True), Q[:, :c]


def phase_data(
    seed: int, d: int = 24, m: int = 80, k: int = 4, r: int = 6
) -> tuple[PhaseRetrieval, np.ndarray, np.ndarray]:
    """f of a sparse signal's noisy squares, D of D x ≥ 0 with half of the rows active, and a start near the signal."""
    g = np.random.default_rng([5, seed])
    G, x = g.standard_normal((m, d)), np.zeros(d)
    x[g.choice(d, k, replace=False)] = g.choice([-1, 1], k) * (0.5 + np.abs(g.standard_normal(k)))
    x /= np.linalg.norm(x)
    D = g.standard_normal((r, d)) / np.sqrt(d)
    D[: r // 2] -= np.outer(D[: r // 2] @ x, x)
    D[r // 2 :] *= np.sign(D[r // 2 :] @ x)[:, None]
    f = PhaseRetrieval(G, (G @ x) ** 2 + 0.01 * g.standard_normal(m))
    return f, D, x + 0.2 * g.standard_normal(d)


def lowrank_data(n: int, r: int, wrong: float, observed: float, seed: int) -> tuple[np.ndarray, ...]:
    """(L, M, mask): a rank-r matrix, gross errors in a fraction of the entries, the observed ones."""
    g = rng(seed)
    L = g.standard_normal((n, r)) @ g.standard_normal((r, n))
    M = L + (g.random((n, n)) < wrong) * g.uniform(-10, 10, (n, n)) * math.sqrt(r)
    return L, M, g.random((n, n)) < observed


def trade_off(
    d: int = 40, r: int = 4, lam: float = 0.4, calls: dict[str, int] | None = None, quadratic: bool = True
) -> Problem:
    """min -½‖BV‖² + λ‖V‖₁ on the Stiefel manifold, f given as two separate callables."""
    B = np.random.default_rng(0).standard_normal((12, d)) / np.sqrt(12)
    calls = {} if calls is None else calls

    def fun(V):
        calls["value"] = calls.get("value", 0) + 1
        return -0.5 * float(np.vdot(B @ V, B @ V))

    def grad(V):
        calls["grad"] = calls.get("grad", 0) + 1
        return -(B.T @ (B @ V))

    f = smooth(fun, grad, lipschitz=float(np.linalg.norm(B, 2) ** 2), quadratic=quadratic)
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y"), Block(h=L1(lam), shape=(d, r), name="V")]
    )


class Missed:
    """How many entries are below a margin."""

    def __init__(self, margin):
        self.margin = margin

    def __call__(self, x):
        return float(np.sum(x < (1 - 1e-6) * self.margin))

    def prox(self, v, step):
        return np.where((v >= self.margin) | ((self.margin - v) ** 2 > 2 * step), v, self.margin)
