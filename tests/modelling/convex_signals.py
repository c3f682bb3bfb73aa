"""Signals, pictures and matrices, in both languages."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from convex_case import Case, case

from ipds import Variable, minimize
from ipds.functions import (
    L1,
    PSD,
    Simplex,
)
from ipds.modelling import (
    concatenate,
    diff,
    log_det,
    norm1,
    norm2,
    nuclear,
    sum_squares,
    total_variation,
)


@case
def fused_lasso(rng):
    y = np.repeat([0.0, 2.0, -1.0], 10) + 0.3 * rng.normal(size=30)
    x, r = Variable(30, name="x"), cp.Variable(30)
    return Case(
        minimize(0.5 * sum_squares(x - y) + 0.8 * total_variation(x) + 0.1 * norm1(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(r - y) + 0.8 * cp.tv(r) + 0.1 * cp.norm1(r))),
        [(x, r)],
    )


@case
def trend_filter(rng):
    y = np.abs(np.linspace(-1, 1, 30)) + 0.05 * rng.normal(size=30)
    D = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(28, 30), format="csr")
    x, r = Variable(30, name="x"), cp.Variable(30)
    return Case(
        minimize(0.5 * sum_squares(x - y) + 0.5 * norm1(D @ x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(r - y) + 0.5 * cp.norm1(D @ r))),
        [(x, r)],
    )


@case
def monotone_regression(rng):
    y = np.linspace(0, 1, 20) + 0.3 * rng.normal(size=20)
    x, r = Variable(20, name="x"), cp.Variable(20)
    return Case(
        minimize(0.5 * sum_squares(x - y), [diff(x) >= 0]),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(r - y)), [cp.diff(r) >= 0]),
        [(x, r)],
    )


@case
def image_denoising(rng):
    Y = np.kron(np.array([[0.0, 1.0], [1.0, 2.0]]), np.ones((4, 4))) + 0.2 * rng.normal(size=(8, 8))
    X, R = Variable((8, 8), name="X"), cp.Variable((8, 8))
    down, right = R[1:, :] - R[:-1, :], R[:, 1:] - R[:, :-1]
    pad_d, pad_r = cp.vstack([down, np.zeros((1, 8))]), cp.hstack([right, np.zeros((8, 1))])
    flat = cp.hstack([cp.reshape(pad_d, (64, 1), order="C"), cp.reshape(pad_r, (64, 1), order="C")])
    return Case(
        minimize(0.5 * sum_squares(X - Y) + 0.3 * total_variation(X)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(R - Y) + 0.3 * cp.sum(cp.norm(flat, 2, axis=1)))),
        [(X, R)],
    )


@case
def robust_pca(rng):
    Y = np.outer(rng.normal(size=6), rng.normal(size=7))
    Y[rng.random(Y.shape) < 0.15] += 3
    L, S, M, T = (
        Variable((6, 7), name="L"),
        Variable((6, 7), name="S"),
        cp.Variable((6, 7)),
        cp.Variable((6, 7)),
    )
    return Case(
        minimize(nuclear(L) + 0.35 * norm1(S), [L + S == Y]),
        cp.Problem(cp.Minimize(cp.normNuc(M) + 0.35 * cp.sum(cp.abs(T))), [M + T == Y]),
        [(L, M), (S, T)],
        duals=False,
    )


@case
def matrix_completion(rng):
    Y, mask = rng.normal(size=(6, 5)), rng.random((6, 5)) < 0.7
    X, R = Variable((6, 5), name="X"), cp.Variable((6, 5))
    return Case(
        minimize(0.5 * sum_squares(X[mask] - Y[mask]) + 0.6 * nuclear(X)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(cp.multiply(mask, R - Y)) + 0.6 * cp.normNuc(R))),
    )


@case
def nearest_correlation(rng):
    C = rng.normal(size=(5, 5))
    C = C + C.T
    X, R = Variable((5, 5), name="X"), cp.Variable((5, 5), symmetric=True)
    return Case(
        minimize(0.5 * sum_squares(X - C) + PSD()(X), [X[range(5), range(5)] == 1]),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(R - C)), [cp.diag(R) == 1, R >> 0]),
        [(X, R)],
    )


@case
def graphical_lasso(rng):
    S = np.cov(rng.normal(size=(20, 4)) @ rng.normal(size=(4, 4)), rowvar=False)
    X, R = Variable((4, 4), name="X"), cp.Variable((4, 4), symmetric=True)
    return Case(
        minimize((S * X).sum() - log_det(X) + 0.2 * norm1(X)),
        cp.Problem(cp.Minimize(cp.trace(S @ R) - cp.log_det(R) + 0.2 * cp.sum(cp.abs(R)))),
        [(X, R)],
    )


@case
def optimal_design(rng):
    V = rng.normal(size=(3, 10))
    columns = sp.csr_array(np.stack([np.outer(v, v).ravel() for v in V.T], axis=1))
    x, r = Variable(10, name="x"), cp.Variable(10)
    return Case(
        minimize(-log_det((columns @ x).reshape(3, 3)) + Simplex()(x)),
        cp.Problem(cp.Minimize(-cp.log_det(V @ cp.diag(r) @ V.T)), [cp.sum(r) == 1, r >= 0]),
        duals=False,
    )


@case
def two_signals(rng):
    A, B, y = rng.normal(size=(20, 5)), rng.normal(size=(20, 4)), rng.normal(size=20)
    x, w, r, s = Variable(5, name="x"), Variable(4, name="w"), cp.Variable(5), cp.Variable(4)
    return Case(
        minimize(sum_squares(A @ x + B @ w - y) + norm1(x) + 2 * norm2(w), [x[:4] + w == 0.1]),
        cp.Problem(
            cp.Minimize(cp.sum_squares(A @ r + B @ s - y) + cp.norm1(r) + 2 * cp.norm2(s)), [r[:4] + s == 0.1]
        ),
        [(x, r), (w, s)],
    )


@case
def joined_expressions(rng):
    A, y = rng.normal(size=(12, 7)), rng.normal(size=12)
    x, w, r, s = Variable(4, name="x"), Variable(3, name="w"), cp.Variable(4), cp.Variable(3)
    return Case(
        minimize(norm1(A @ concatenate([x, w]) - y) + 0.5 * sum_squares(w) + L1(np.arange(1.0, 5.0))(x)),
        cp.Problem(
            cp.Minimize(
                cp.norm1(A @ cp.hstack([r, s]) - y)
                + 0.5 * cp.sum_squares(s)
                + np.arange(1.0, 5.0) @ cp.abs(r)
            )
        ),
        [(x, r), (w, s)],
    )
