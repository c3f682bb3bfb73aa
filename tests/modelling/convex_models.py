"""Convex models written for ipds and for CVXPY, side by side.

A case is a function of a random generator that returns `Case(ipds problem, CVXPY problem, pairs of variables)`; the
constraints of both are listed in the same order. Data are random and in general position, so that the multipliers of
most are unique; `duals=False` marks those where they are not, or where CVXPY knows the constraint in another form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Variable, minimize
from ipds.functions import (
    L1,
    PSD,
    ElasticNet,
    Entropy,
    GroupL2,
    L1Ball,
    L2Ball,
    LeastSquares,
    Linf,
    LinfBall,
    NegativeLog,
    Poisson,
    Quadratic,
    Simplex,
    SquaredHinge,
)
from ipds.modelling import (
    concatenate,
    diff,
    entropy,
    hinge,
    huber,
    kl_div,
    log_det,
    logistic,
    norm1,
    norm2,
    norm21,
    nuclear,
    quad_form,
    quantile,
    sum_squares,
    total_variation,
)


@dataclass(frozen=True)
class Case:
    """A model in both languages; `pairs` are the variables with a unique solution."""

    problem: Any
    reference: cp.Problem
    pairs: list[tuple[Any, cp.Variable]] = field(default_factory=list)
    duals: bool = True


Build = Callable[[np.random.Generator], Case]
CASES: dict[str, Build] = {}


def case(build: Build) -> Build:
    """Enter a model in the table."""
    CASES[build.__name__] = build
    return build


def regression(rng: np.random.Generator, m: int = 30, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A design and a response that few columns explain."""
    G = rng.normal(size=(m, n))
    return G, G[:, :3] @ [3.0, -2.0, 1.0] + 0.3 * rng.normal(size=m)


@case
def least_squares(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(sum_squares(G @ x - y)), cp.Problem(cp.Minimize(cp.sum_squares(G @ r - y))), [(x, r)]
    )


@case
def ridge(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(0.5 * sum_squares(G @ x - y) + 3 * sum_squares(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ r - y) + 3 * cp.sum_squares(r))),
        [(x, r)],
    )


@case
def lasso(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(0.5 * sum_squares(G @ x - y) + 4.0 * norm1(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ r - y) + 4 * cp.norm1(r))),
        [(x, r)],
    )


@case
def elastic_net(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(LeastSquares(G, y)(x) + ElasticNet(2.0, 3.0)(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ r - y) + 2 * cp.norm1(r) + 1.5 * cp.sum_squares(r))),
        [(x, r)],
    )


@case
def nonnegative_least_squares(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(0.5 * sum_squares(G @ x - y), [x >= 0]),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ r - y)), [r >= 0]),
        [(x, r)],
    )


@case
def bounded_least_squares(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    low, high = -np.full(12, 0.5), np.linspace(0.1, 1.2, 12)
    return Case(
        minimize(sum_squares(G @ x - y), [low <= x, x <= high]),
        cp.Problem(cp.Minimize(cp.sum_squares(G @ r - y)), [low <= r, r <= high]),
        [(x, r)],
    )


@case
def constrained_lasso(rng):
    G, y = regression(rng)
    C, E = rng.normal(size=(2, 12)), rng.normal(size=(3, 12))
    d, e = C @ rng.normal(size=12), E @ np.ones(12)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(0.5 * sum_squares(G @ x - y) + 2.0 * norm1(x), [C @ x == d, E @ x <= e, x >= -2]),
        cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(G @ r - y) + 2 * cp.norm1(r)), [C @ r == d, E @ r <= e, r >= -2]
        ),
        [(x, r)],
    )


@case
def least_absolute_deviations(rng):
    G, y = regression(rng, 31)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(minimize(norm1(G @ x - y)), cp.Problem(cp.Minimize(cp.norm1(G @ r - y))), [(x, r)])


@case
def sparse_least_absolute_deviations(rng):
    G, y = regression(rng, 31)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(norm1(G @ x - y) + 2.5 * norm1(x)),
        cp.Problem(cp.Minimize(cp.norm1(G @ r - y) + 2.5 * cp.norm1(r))),
        [(x, r)],
    )


@case
def quantile_regression(rng):
    G, y = regression(rng, 37)
    x, r = Variable(12, name="x"), cp.Variable(12)
    e = y - G @ r
    return Case(
        minimize(quantile(y - G @ x, 0.8)),
        cp.Problem(cp.Minimize(cp.sum(cp.maximum(0.8 * e, -0.2 * e)))),
        [(x, r)],
    )


@case
def huber_regression(rng):
    G, y = regression(rng)
    y[:3] += 20
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(huber(G @ x - y, 0.5)),
        cp.Problem(cp.Minimize(0.5 * cp.sum(cp.huber(G @ r - y, 0.5)))),
        [(x, r)],
    )


@case
def chebyshev_fit(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(minimize(Linf(1.0)(G @ x - y)), cp.Problem(cp.Minimize(cp.norm_inf(G @ r - y))), [(x, r)])


@case
def norm_fit_with_a_ball(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(norm2(G @ x - y) + L2Ball(1.5)(x)),
        cp.Problem(cp.Minimize(cp.norm2(G @ r - y)), [cp.norm2(r) <= 1.5]),
        [(x, r)],
        duals=False,
    )


@case
def basis_pursuit(rng):
    A = rng.normal(size=(8, 20))
    b = A[:, :3] @ [1.0, -2.0, 1.5]
    x, r = Variable(20, name="x"), cp.Variable(20)
    return Case(
        minimize(norm1(x), [A @ x == b]), cp.Problem(cp.Minimize(cp.norm1(r)), [A @ r == b]), [(x, r)]
    )


@case
def basis_pursuit_denoising(rng):
    A = rng.normal(size=(8, 20))
    b = A[:, :3] @ [1.0, -2.0, 1.5]
    x, r = Variable(20, name="x"), cp.Variable(20)
    return Case(
        minimize(norm1(x) + L2Ball(0.5)(A @ x - b)),
        cp.Problem(cp.Minimize(cp.norm1(r)), [cp.norm2(A @ r - b) <= 0.5]),
        [(x, r)],
        duals=False,
    )


@case
def linear_program(rng):
    A, x0 = rng.normal(size=(5, 12)), rng.exponential(size=12)
    c = A.T @ rng.normal(size=5) + rng.exponential(size=12)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(c @ x, [A @ x == A @ x0, x >= 0]),
        cp.Problem(cp.Minimize(c @ r), [A @ r == A @ x0, r >= 0]),
        [(x, r)],
    )


@case
def linear_program_with_inequalities(rng):
    A = np.vstack([rng.normal(size=(15, 6)), np.eye(6), -np.eye(6)])
    b = np.concatenate([rng.exponential(size=15) + 1, np.full(12, 3.0)])
    c = rng.normal(size=6)
    x, r = Variable(6, name="x"), cp.Variable(6)
    return Case(minimize(c @ x, [A @ x <= b]), cp.Problem(cp.Minimize(c @ r), [A @ r <= b]), [(x, r)])


@case
def transport(rng):
    cost, a, b = rng.uniform(size=(4, 5)), np.full(4, 0.25), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    X, R = Variable((4, 5), name="X"), cp.Variable((4, 5))
    return Case(
        minimize((cost * X).sum(), [X.sum(axis=1) == a, X.sum(axis=0) == b, X >= 0]),
        cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(cost, R))),
            [cp.sum(R, axis=1) == a, cp.sum(R, axis=0) == b, R >= 0],
        ),
        [(X, R)],
        duals=False,
    )


@case
def entropic_transport(rng):
    cost, a, b = rng.uniform(size=(4, 5)), np.full(4, 0.25), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    X, R = Variable((4, 5), name="X"), cp.Variable((4, 5))
    return Case(
        minimize((cost * X).sum() - 0.1 * entropy(X), [X.sum(axis=1) == a, X.sum(axis=0) == b]),
        cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(cost, R)) - 0.1 * cp.sum(cp.entr(R))),
            [cp.sum(R, axis=1) == a, cp.sum(R, axis=0) == b],
        ),
        [(X, R)],
        duals=False,
    )


@case
def quadratic_program(rng):
    B = rng.normal(size=(10, 10))
    Q, c = B @ B.T + np.eye(10), rng.normal(size=10)
    A, E = rng.normal(size=(2, 10)), rng.normal(size=(4, 10))
    b, e = rng.normal(size=2), rng.normal(size=4)
    x, r = Variable(10, name="x"), cp.Variable(10)
    return Case(
        minimize(0.5 * quad_form(x, Q) + c @ x, [A @ x == b, E @ x >= e]),
        cp.Problem(cp.Minimize(0.5 * cp.quad_form(r, cp.psd_wrap(Q)) + c @ r), [A @ r == b, E @ r >= e]),
        [(x, r)],
    )


@case
def portfolio(rng):
    F = rng.normal(size=(10, 3))
    Q, mu = F @ F.T + np.diag(rng.uniform(0.1, 1.0, 10)), rng.uniform(size=10)
    x, r = Variable(10, name="x"), cp.Variable(10)
    return Case(
        minimize(quad_form(x, Q) - 0.7 * (mu @ x) + 0.05 * norm1(x - 0.1), [x.sum() == 1, x >= 0, x <= 0.3]),
        cp.Problem(
            cp.Minimize(cp.quad_form(r, cp.psd_wrap(Q)) - 0.7 * (mu @ r) + 0.05 * cp.norm1(r - 0.1)),
            [cp.sum(r) == 1, r >= 0, r <= 0.3],
        ),
        [(x, r)],
    )


@case
def minimum_variance(rng):
    F = rng.normal(size=(30, 8))
    x, r = Variable(8, name="x"), cp.Variable(8)
    return Case(
        minimize(Quadratic(F.T @ F)(x) + Simplex()(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(F @ r)), [cp.sum(r) == 1, r >= 0]),
        [(x, r)],
        duals=False,
    )


@case
def support_vector_machine(rng):
    G, labels = rng.normal(size=(40, 5)), np.sign(rng.normal(size=40))
    w, b = Variable(5, name="w"), Variable(name="b")
    v, c = cp.Variable(5), cp.Variable()
    return Case(
        minimize(0.5 * sum_squares(w) + 0.3 * hinge(labels * (G @ w + b))),
        cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(v) + 0.3 * cp.sum(cp.pos(1 - cp.multiply(labels, G @ v + c))))
        ),
        [(w, v)],
    )


@case
def squared_hinge_machine(rng):
    G, labels = rng.normal(size=(40, 5)), np.sign(rng.normal(size=40))
    w, v = Variable(5, name="w"), cp.Variable(5)
    return Case(
        minimize(0.5 * sum_squares(w) + 0.3 * SquaredHinge()(labels * (G @ w))),
        cp.Problem(
            cp.Minimize(
                0.5 * cp.sum_squares(v) + 0.3 * cp.sum_squares(cp.pos(1 - cp.multiply(labels, G @ v)))
            )
        ),
        [(w, v)],
    )


@case
def logistic_regression(rng):
    G, labels = rng.normal(size=(40, 5)), np.sign(rng.normal(size=40))
    w, v = Variable(5, name="w"), cp.Variable(5)
    return Case(
        minimize(logistic(-labels * (G @ w)) + 1.5 * norm1(w)),
        cp.Problem(cp.Minimize(cp.sum(cp.logistic(-cp.multiply(labels, G @ v))) + 1.5 * cp.norm1(v))),
        [(w, v)],
    )


@case
def logistic_regression_with_intercept(rng):
    G, labels = rng.normal(size=(40, 5)), np.sign(rng.normal(size=40) + 0.5)
    w, b, v, c = Variable(5, name="w"), Variable(name="b"), cp.Variable(5), cp.Variable()
    return Case(
        minimize(logistic(-labels * (G @ w + b)) + 0.5 * sum_squares(w)),
        cp.Problem(
            cp.Minimize(cp.sum(cp.logistic(-cp.multiply(labels, G @ v + c))) + 0.5 * cp.sum_squares(v))
        ),
        [(w, v), (b, c)],
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
def group_lasso(rng):
    G, y = regression(rng)
    groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(0.5 * sum_squares(G @ x - y) + GroupL2(6.0, groups)(x)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ r - y) + 6 * sum(cp.norm2(r[g]) for g in groups))),
        [(x, r)],
    )


@case
def overlapping_group_lasso(rng):
    G, y = regression(rng)
    x, r = Variable(12, name="x"), cp.Variable(12)
    return Case(
        minimize(
            0.5 * sum_squares(G @ x - y) + 3.0 * norm2(x[:6]) + 3.0 * norm2(x[3:9]) + 3.0 * norm2(x[6:])
        ),
        cp.Problem(
            cp.Minimize(
                0.5 * cp.sum_squares(G @ r - y) + 3 * (cp.norm2(r[:6]) + cp.norm2(r[3:9]) + cp.norm2(r[6:]))
            )
        ),
        [(x, r)],
    )


@case
def multitask_regression(rng):
    G, Y = rng.normal(size=(20, 8)), rng.normal(size=(20, 3))
    X, R = Variable((8, 3), name="X"), cp.Variable((8, 3))
    return Case(
        minimize(0.5 * sum_squares(G @ X - Y) + 3.0 * norm21(X)),
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ R - Y) + 3 * cp.sum(cp.norm(R, 2, axis=1)))),
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
def poisson_regression(rng):
    G = rng.uniform(0.1, 1.0, size=(30, 5))
    y = rng.poisson(G @ np.array([1.0, 2.0, 0.5, 3.0, 1.0])).astype(float)
    x, r = Variable(5, name="x"), cp.Variable(5)
    return Case(
        minimize(Poisson(y)(G @ x), [x >= 0]),
        cp.Problem(cp.Minimize(cp.sum(G @ r) - y @ cp.log(G @ r)), [r >= 0]),
        [(x, r)],
    )


@case
def kullback_leibler(rng):
    A, b = rng.uniform(size=(3, 8)), rng.uniform(0.5, 1.0, size=3)
    q = rng.uniform(0.1, 1.0, size=8)
    x, r = Variable(8, name="x"), cp.Variable(8)
    return Case(
        minimize(kl_div(x, q), [A @ x == b]),
        cp.Problem(cp.Minimize(cp.sum(cp.kl_div(r, q))), [A @ r == b]),
        [(x, r)],
    )


@case
def maximum_entropy(rng):
    a = np.arange(8.0)
    x, r = Variable(8, name="x"), cp.Variable(8)
    return Case(
        minimize(Entropy()(x), [x.sum() == 1, a @ x == 2.5]),
        cp.Problem(cp.Minimize(-cp.sum(cp.entr(r))), [cp.sum(r) == 1, a @ r == 2.5]),
        [(x, r)],
    )


@case
def water_filling(rng):
    a = rng.uniform(0.2, 2.0, size=8)
    x, r = Variable(8, name="x"), cp.Variable(8)
    return Case(
        minimize(NegativeLog()(x + a), [x >= 0, x.sum() == 1.5]),
        cp.Problem(cp.Minimize(-cp.sum(cp.log(r + a))), [r >= 0, cp.sum(r) == 1.5]),
        [(x, r)],
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
def control(rng):
    A, B = np.array([[1.0, 0.2], [0.0, 1.0]]), np.array([[0.0], [0.2]])
    X, U, R, S = (
        Variable((11, 2), name="X"),
        Variable((10, 1), name="U"),
        cp.Variable((11, 2)),
        cp.Variable((10, 1)),
    )
    return Case(
        minimize(
            sum_squares(X) + 0.1 * sum_squares(U),
            [X[0] == [1.0, 0.0], X[1:] == X[:-1] @ A.T + U @ B.T, U <= 1, U >= -1],
        ),
        cp.Problem(
            cp.Minimize(cp.sum_squares(R) + 0.1 * cp.sum_squares(S)),
            [R[0] == np.array([1.0, 0.0]), R[1:] == R[:-1] @ A.T + S @ B.T, S <= 1, S >= -1],
        ),
        [(X, R), (U, S)],
    )


@case
def geometric_median(rng):
    P = rng.normal(size=(15, 3))
    x, r = Variable(3, name="x"), cp.Variable(3)
    ones = np.ones((15, 1))
    return Case(
        minimize(norm21(ones @ x.reshape(1, 3) - P)),
        cp.Problem(cp.Minimize(cp.sum(cp.norm(ones @ cp.reshape(r, (1, 3), order="C") - P, 2, axis=1)))),
        [(x, r)],
    )


@case
def projection_on_intersection(rng):
    y = 2 * rng.normal(size=10)
    x, r = Variable(10, name="x"), cp.Variable(10)
    return Case(
        minimize(0.5 * sum_squares(x - y) + L1Ball(2.0)(x) + LinfBall(0.6)(x), [x.sum() == 0.5]),
        cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(r - y)),
            [cp.norm1(r) <= 2, cp.norm_inf(r) <= 0.6, cp.sum(r) == 0.5],
        ),
        [(x, r)],
        duals=False,
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
