"""Regressions and classifiers, in both languages."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from convex_case import Case, case, regression

from ipds import Variable, minimize
from ipds.functions import (
    ElasticNet,
    GroupL2,
    L2Ball,
    LeastSquares,
    Linf,
    Poisson,
    SquaredHinge,
)
from ipds.modelling import (
    hinge,
    huber,
    logistic,
    norm1,
    norm2,
    norm21,
    quantile,
    sum_squares,
)


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
def poisson_regression(rng):
    G = rng.uniform(0.1, 1.0, size=(30, 5))
    y = rng.poisson(G @ np.array([1.0, 2.0, 0.5, 3.0, 1.0])).astype(float)
    x, r = Variable(5, name="x"), cp.Variable(5)
    return Case(
        minimize(Poisson(y)(G @ x), [x >= 0]),
        cp.Problem(cp.Minimize(cp.sum(G @ r) - y @ cp.log(G @ r)), [r >= 0]),
        [(x, r)],
    )
