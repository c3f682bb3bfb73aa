"""Linear and quadratic programs, transport, portfolios, control, geometry, in both languages."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from convex_case import Case, case

from ipds import Variable, minimize
from ipds.functions import (
    Entropy,
    L1Ball,
    LinfBall,
    NegativeLog,
    Quadratic,
    Simplex,
)
from ipds.modelling import (
    entropy,
    kl_div,
    norm1,
    norm21,
    quad_form,
    sum_squares,
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
