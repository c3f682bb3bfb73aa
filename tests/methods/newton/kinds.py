"""Small convex problems in canonical form, each with the same problem in CVXPY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ipds import Block, Problem
from ipds.functions import (
    L1,
    L2,
    Box,
    Composed,
    ElasticNet,
    GroupL2,
    Hinge,
    Huber,
    HuberLoss,
    L2Ball,
    LeastSquares,
    Linear,
    Linf,
    Logistic,
    NonNegative,
    Nuclear,
    Quadratic,
    Quantile,
    Simplex,
    SmoothSum,
    Stacked,
    Sum,
    Zero,
)


@dataclass
class Kind:
    """f(v) + Σ_k h_k(M_k v + c_k) as rows (M, c, h), M None for I; `cvx(cp, v)` as (objective, constraints)."""

    n: int
    f: Any
    rows: list[tuple[Any, Any, Any]]
    cvx: Callable[[Any, Any], tuple[Any, list[Any]]]
    shapes: tuple[Any, ...] = ()
    """Of the rows, where they are no vectors."""


def made(kind: Kind, columns: np.ndarray | None = None) -> Problem:
    """As a canonical problem; with `columns`, in the variable v/columns."""
    d = np.ones(kind.n) if columns is None else columns
    matrices = [sp.csr_array(sp.diags_array(d)) if M is None else M * d for M, _, _ in kind.rows]
    heights = [M.shape[0] for M in matrices]
    c = np.concatenate([np.zeros(m) + ci for (_, ci, _), m in zip(kind.rows, heights, strict=True)])
    shapes = kind.shapes or tuple(heights)
    h = Stacked([(hi, shape) for (_, _, hi), shape in zip(kind.rows, shapes, strict=True)])
    is_sparse = any(sp.issparse(M) for M in matrices)
    M = sp.vstack(matrices, format="csr") if is_sparse else np.vstack(matrices)
    f = kind.f if columns is None or kind.f is None else Composed(kind.f, sp.diags_array(d).tocsr())
    return Problem([Block(f=f, A=-M, shape=kind.n), Block(h=h, A=1.0, shape=M.shape[0])], b=c)


def differences(n: int, order: int = 1) -> Any:
    """Differences of that order, as a sparse matrix."""
    D = sp.eye_array(n, format="csr")
    for k in range(order):
        D = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - k - 1, n - k)).tocsr() @ D
    return sp.csr_array(D)


EQUAL, POSITIVE = Box(0.0, 0.0), NonNegative()


def _regression(r: Any, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    A = r.standard_normal((m, n))
    return A, A @ (r.standard_normal(n) * (r.random(n) < 0.4)) + r.standard_normal(m)


def lasso(r: Any) -> Kind:
    A, b = _regression(r, 15, 30)
    return Kind(
        30,
        LeastSquares(A, b),
        [(None, 0, L1(3.0))],
        lambda cp, v: (_half(cp, A @ v - b) + 3 * cp.norm1(v), []),
    )


def _half(cp: Any, u: Any) -> Any:
    return 0.5 * cp.sum_squares(u)


def duplicate_columns(r: Any) -> Kind:
    A, b = _regression(r, 30, 15)
    A = np.c_[A, A[:, :5]]
    return Kind(20, LeastSquares(A, b), [(None, 0, POSITIVE)], lambda cp, v: (_half(cp, A @ v - b), [v >= 0]))


def absolute_deviations(r: Any) -> Kind:
    A, b = _regression(r, 40, 6)
    return Kind(6, None, [(A, -b, L1())], lambda cp, v: (cp.norm1(A @ v - b), []))


def quantile(r: Any) -> Kind:
    A, b = _regression(r, 40, 6)
    loss = lambda cp, u: cp.sum(cp.maximum(0.9 * u, -0.1 * u))  # noqa: E731
    return Kind(6, None, [(A, -b, Quantile(0.9))], lambda cp, v: (loss(cp, A @ v - b), []))


def support_vectors(r: Any) -> Kind:
    Z = r.standard_normal((40, 5)) + 0.3
    loss = lambda cp, v: 2 * cp.sum(cp.pos(1 - Z @ v))  # noqa: E731
    return Kind(5, Quadratic(np.eye(5)), [(Z, 0, Hinge(2.0))], lambda cp, v: (_half(cp, v) + loss(cp, v), []))


def trend(r: Any) -> Kind:
    y, D = np.cumsum(r.standard_normal(60)), differences(60, 2)
    f = LeastSquares(sp.eye_array(60, format="csr"), y)
    return Kind(60, f, [(D, 0, L1(2.0))], lambda cp, v: (_half(cp, v - y) + 2 * cp.norm1(D @ v), []))


def fused(r: Any) -> Kind:
    (A, b), D = _regression(r, 15, 30), differences(30)
    rows = [(D, 0, L1(0.7)), (None, 0, L1(0.3))]
    return Kind(
        30,
        LeastSquares(A, b),
        rows,
        lambda cp, v: (_half(cp, A @ v - b) + 0.7 * cp.norm1(D @ v) + 0.3 * cp.norm1(v), []),
    )


def dependent_equations(r: Any) -> Kind:
    A = r.standard_normal((8, 25))
    A = np.vstack([A, A[:2] - A[2:4]])
    b, c = A @ (r.random(25) * (r.random(25) < 0.4)), A.T @ r.standard_normal(10) + r.random(25)
    rows = [(A, -b, EQUAL), (None, 0, POSITIVE)]
    return Kind(25, Linear(c), rows, lambda cp, v: (c @ v, [A @ v == b, v >= 0]))


def linear_program(r: Any) -> Kind:
    A, B, x = r.standard_normal((5, 20)), r.standard_normal((12, 20)), r.uniform(-1, 1, 20)
    b, d, c = A @ x, B @ x + r.random(12) * (r.random(12) < 0.5), r.standard_normal(20)
    rows = [(A, -b, EQUAL), (B, -d, Box(-np.inf, 0.0)), (None, 0, Box(-1.0, 1.0))]
    return Kind(20, Linear(c), rows, lambda cp, v: (c @ v, [A @ v == b, B @ v <= d, v >= -1, v <= 1]))


def transport(r: Any) -> Kind:
    N, C, a, b = 6, r.random((6, 6)), r.random(6), r.random(6)
    rhs = np.r_[a / a.sum(), b / b.sum()]
    A = sp.csr_array(
        sp.vstack([sp.kron(sp.eye_array(N), np.ones((1, N))), sp.kron(np.ones((1, N)), sp.eye_array(N))])
    )
    rows = [(A, -rhs, EQUAL), (None, 0, POSITIVE)]
    return Kind(36, Linear(C.ravel()), rows, lambda cp, v: (C.ravel() @ v, [A @ v == rhs, v >= 0]))


def portfolio(r: Any) -> Kind:
    F = r.standard_normal((4, 30)) / 3
    S, mu = F.T @ F + np.diag(0.05 + 0.1 * r.random(30)), 0.1 * r.random(30)
    rows = [(np.ones((1, 30)), -1.0, EQUAL), (None, 0, POSITIVE)]
    risk = lambda cp, v: 0.5 * cp.quad_form(v, cp.psd_wrap(S)) - mu @ v  # noqa: E731
    return Kind(30, Quadratic(S, -mu), rows, lambda cp, v: (risk(cp, v), [cp.sum(v) == 1, v >= 0]))


def simplex(r: Any) -> Kind:
    A, b = _regression(r, 20, 12)
    sets = lambda cp, v: [cp.sum(v) == 1, v >= 0]  # noqa: E731
    return Kind(
        12, LeastSquares(A, b), [(None, 0, Simplex())], lambda cp, v: (_half(cp, A @ v - b), sets(cp, v))
    )


def box(r: Any) -> Kind:
    B, q = r.standard_normal((15, 25)), 3 * r.standard_normal(25)
    form = lambda cp, v: _half(cp, B @ v) + q @ v  # noqa: E731
    return Kind(
        25, Quadratic(B.T @ B, q), [(None, 0, Box(-1.0, 1.0))], lambda cp, v: (form(cp, v), [v >= -1, v <= 1])
    )


def basis_pursuit(r: Any) -> Kind:
    A = r.standard_normal((10, 30))
    b = A @ (r.standard_normal(30) * (r.random(30) < 0.1))
    return Kind(30, None, [(A, -b, EQUAL), (None, 0, L1())], lambda cp, v: (cp.norm1(v), [A @ v == b]))


def dantzig(r: Any) -> Kind:
    A, b = _regression(r, 12, 20)
    G, h = A.T @ A, A.T @ b
    rows = [(G, -h, Box(-1.0, 1.0)), (None, 0, L1())]
    return Kind(20, None, rows, lambda cp, v: (cp.norm1(v), [cp.norm_inf(G @ v - h) <= 1]))


def logistic(r: Any) -> Kind:
    A = np.c_[r.standard_normal((40, 8)), np.ones(40)]
    y = np.sign(A @ r.standard_normal(9) + r.standard_normal(40))
    loss = lambda cp, v: cp.sum(cp.logistic(-cp.multiply(y, A @ v)))  # noqa: E731
    rows = [(sp.eye_array(8, 9, format="csr"), 0, L1(0.5))]
    return Kind(9, Logistic(A, y), rows, lambda cp, v: (loss(cp, v) + 0.5 * cp.norm1(v[:-1]), []))


def groups(r: Any) -> Kind:
    A, b = _regression(r, 15, 24)
    parts = [np.arange(4 * k, 4 * k + 4) for k in range(5)]  # the last four entries are free
    norms = lambda cp, v: 2 * sum(cp.norm(v[g]) for g in parts)  # noqa: E731
    return Kind(
        24,
        LeastSquares(A, b),
        [(None, 0, GroupL2(2.0, parts))],
        lambda cp, v: (_half(cp, A @ v - b) + norms(cp, v), []),
    )


def isotropic(r: Any) -> Kind:
    N = 8
    y = (r.standard_normal((N, N)) + np.outer(np.arange(N) > 3, np.ones(N))).ravel()
    D = sp.vstack([differences(N), sp.csr_array((1, N))])
    M = sp.csr_array(sp.vstack([sp.kron(D, sp.eye_array(N)), sp.kron(sp.eye_array(N), D)]))
    h = GroupL2(0.6, [np.array([k, N * N + k]) for k in range(N * N)])
    total = lambda cp, v: cp.sum(cp.norm(cp.reshape(M @ v, (2, N * N), order="C"), 2, axis=0))  # noqa: E731
    f = LeastSquares(sp.eye_array(N * N, format="csr"), y)
    return Kind(N * N, f, [(M, 0, h)], lambda cp, v: (_half(cp, v - y) + 0.6 * total(cp, v), []))


def root_lasso(r: Any) -> Kind:
    A, b = _regression(r, 15, 20)
    rows = [(A, -b, L2()), (None, 0, L1(0.4))]
    return Kind(20, None, rows, lambda cp, v: (cp.norm(A @ v - b) + 0.4 * cp.norm1(v), []))


def elastic_net(r: Any) -> Kind:
    A, b = _regression(r, 15, 30)
    h = ElasticNet(0.4, 0.3)
    own = lambda cp, v: 0.4 * cp.norm1(v) + 0.15 * cp.sum_squares(v)  # noqa: E731
    return Kind(30, LeastSquares(A, b), [(None, 0, h)], lambda cp, v: (_half(cp, A @ v - b) + own(cp, v), []))


def ball(r: Any) -> Kind:
    A, b = _regression(r, 20, 8)
    rows = [(A, -b, L1()), (None, 0, L2Ball(0.3))]
    return Kind(8, None, rows, lambda cp, v: (cp.norm1(A @ v - b), [cp.norm(v) <= 0.3]))


def huber_loss(r: Any) -> Kind:
    A, b = _regression(r, 30, 8)
    loss = lambda cp, v: 0.5 * cp.sum(cp.huber(A @ v - b, 0.5))  # noqa: E731
    return Kind(
        8, HuberLoss(A, b, 0.5), [(None, 0, L1(0.6))], lambda cp, v: (loss(cp, v) + 0.6 * cp.norm1(v), [])
    )


def huber_rows(r: Any) -> Kind:
    A, b = _regression(r, 30, 8)
    h = Huber(0.7, 0.5)
    x = np.linspace(-2, 2, 5)
    factor = h(x) / (0.5 * np.sum(np.where(np.abs(x) <= 0.5, x * x, np.abs(x) - 0.25)))
    loss = lambda cp, v: 0.5 * factor * cp.sum(cp.huber(A @ v - b, 0.5))  # noqa: E731
    return Kind(
        8, Quadratic(0.1 * np.eye(8)), [(A, -b, h)], lambda cp, v: (0.1 * _half(cp, v) + loss(cp, v), [])
    )


def kink_in_box(r: Any) -> Kind:
    A, b = _regression(r, 15, 20)
    rows = [(None, 0, Sum(L1(0.5), Box(-0.2, 0.3)))]
    return Kind(
        20,
        LeastSquares(A, b),
        rows,
        lambda cp, v: (_half(cp, A @ v - b) + 0.5 * cp.norm1(v), [v >= -0.2, v <= 0.3]),
    )


def kink_at_bound(r: Any) -> Kind:
    (A, b), G = _regression(r, 15, 20), r.standard_normal((6, 20))
    rows = [(None, 0, Sum(L1(0.5), POSITIVE)), (G, 0, Zero()), (G, -1.0, Sum(L1(1.0), Box(-2.0, 0.5)))]
    sets = lambda v: [v >= 0, G @ v >= -1, G @ v <= 1.5]  # noqa: E731
    return Kind(
        20,
        LeastSquares(A, b),
        rows,
        lambda cp, v: (_half(cp, A @ v - b) + 0.5 * cp.sum(v) + cp.norm1(G @ v - 1), sets(v)),
    )


def largest_residual(r: Any) -> Kind:
    A, b = _regression(r, 20, 6)
    return Kind(
        6,
        Quadratic(0.2 * np.eye(6)),
        [(A, -b, Linf(2.0))],
        lambda cp, v: (0.2 * _half(cp, v) + 2 * cp.norm_inf(A @ v - b), []),
    )


def sum_of_smooth(r: Any) -> Kind:
    (A, b), B, c = _regression(r, 6, 25), r.standard_normal((9, 25)), r.standard_normal(25)
    f = SmoothSum([LeastSquares(A, b), Composed(LeastSquares(np.eye(9), np.ones(9)), B, 0.5), Linear(c)])
    value = lambda cp, v: _half(cp, A @ v - b) + _half(cp, B @ v - 0.5) + c @ v  # noqa: E731
    return Kind(25, f, [(None, 0, Box(-1.0, 1.0))], lambda cp, v: (value(cp, v), [v >= -1, v <= 1]))


def nuclear(r: Any) -> Kind:
    X, seen = r.standard_normal((7, 2)) @ r.standard_normal((2, 6)), r.random((7, 6)) < 0.6
    P = sp.csr_array(sp.eye_array(42, format="csr")[np.flatnonzero(seen)])
    value = lambda cp, v: _half(cp, P @ v - X[seen]) + 0.5 * cp.normNuc(cp.reshape(v, (7, 6), order="C"))  # noqa: E731
    rows = [(None, 0, Nuclear(0.5))]
    return Kind(42, LeastSquares(P, X[seen]), rows, lambda cp, v: (value(cp, v), []), ((7, 6),))


KINDS = (
    lasso,
    duplicate_columns,
    absolute_deviations,
    quantile,
    support_vectors,
    trend,
    fused,
    dependent_equations,
    linear_program,
    transport,
    portfolio,
    simplex,
    box,
    basis_pursuit,
    dantzig,
    logistic,
    groups,
    isotropic,
    root_lasso,
    elastic_net,
    ball,
    huber_loss,
    huber_rows,
    kink_in_box,
    kink_at_bound,
    largest_residual,
    sum_of_smooth,
    nuclear,
)
