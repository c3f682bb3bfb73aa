"""Statements of ordinary.py and counted.py and some of nonconvex.py as models, and what all models share."""

from __future__ import annotations

import numpy as np
from benchmarks.statements.counted import factors_fit
from benchmarks.statements.ordinary import Absolute

from ipds import Variable, minimize
from ipds.functions import (
    L0,
    Binary,
    CappedL1,
    Cardinality,
    LHalf,
    Linf,
    LogSum,
    SecondOrderCone,
    Simplex,
    smooth,
)
from ipds.modelling import concatenate, log_det, norm1, sum_squares, term


def fit(d, x):
    return 0.5 * sum_squares(d.G @ x - d.y)


def vector(d):
    return Variable(d.G.shape[1], name="x")


def least_jerk(d):
    p = Variable((120, 2), name="p")
    return minimize(sum_squares(d.D @ p), [p[d.at] == d.points, p <= 12, p >= -12]), p


def spline(d):
    p = Variable((120, 2), name="p")
    return minimize(sum_squares(d.D @ p), [p[d.at] == d.points]), p


def least_trace(d):
    w, inverse = Variable(30, name="w"), lambda w: np.linalg.inv(d.V.T @ (w[:, None] * d.V))
    f = smooth(lambda w: np.trace(inverse(w)), lambda w: -np.sum((d.V @ inverse(w)) ** 2, axis=1))
    return minimize(f(w) + Simplex()(w)), w


def determinant(d):
    w = Variable(30, name="w")
    return minimize(-log_det((d.moments @ w).reshape((5, 5))), [w >= 0, w.sum() == 1]), w


def robust_program(d):
    x, rows = Variable(8, name="x"), zip(d.A, d.b, d.shapes, strict=True)
    cones = [concatenate([(b - a @ x).reshape((1,)), M @ x]) for a, b, M in rows]
    return minimize(sum(map(SecondOrderCone(), cones), d.c @ x), [x >= -5, x <= 5]), x


def polynomial(d):
    x = Variable(13, name="x")
    return minimize(Linf(1.0)(d.A @ x - d.y)), x


def own_penalty(d):
    x = vector(d)
    return minimize(fit(d, x) + term(Absolute(), x)), x


def raw_inverse(d):
    K = Variable((4, 4), name="K")
    return minimize((d.S * K).sum() - log_det(K) + norm1(d.W * K)), K


def log_sum_equation(d):
    x = Variable(9, name="x")
    return minimize(LogSum(1.0, 0.3)(x), [d.A @ x == d.b]), x


def half_equation(d):
    x = Variable(9, name="x")
    return minimize(LHalf(1.0)(x), [d.A @ x == d.b]), x


def counted_nonnegative(d):
    x = vector(d)
    return minimize(fit(d, x) + L0(2.0)(x), [x >= 0]), x


def capped(d):
    x = vector(d)
    return minimize(CappedL1(1.0, 0.5)(d.G @ x - d.y)), x


def knapsack(d):
    x = Variable(20, name="x")
    return minimize(-d.value @ x + Binary()(x), [d.weight @ x <= d.room]), x


def commitment(d):
    p, y = Variable(9, name="p"), Variable(9, name="y")
    rows = [p - d.hi * y <= 0, p - d.lo * y >= 0, p.sum() == d.demand]
    return minimize(d.each @ p + d.on @ y + Binary()(y), rows), p, y


def running(d):
    x = Variable(10, name="x")
    cost = sum_squares(np.sqrt(d.bend) * x) + d.each @ x + L0(d.on)(x)
    return minimize(cost, [x.sum() >= d.demand, x >= 0, x <= d.room]), x


def few_within_budget(d):
    x = vector(d)
    fit = 0.5 * sum_squares((d.G * d.unit) @ x - d.y)
    return minimize(fit + Cardinality(3)(x), [x >= 0, d.unit @ x <= 2]), x


def counted_within_bounds(d):
    x = vector(d)
    fit = 0.5 * sum_squares((d.G * d.unit) @ x - d.y)
    return minimize(fit + L0(4.0)(x), [d.unit * x >= -1, d.unit * x <= 1]), x


def of_products(d):
    x = vector(d)
    return minimize(term(d.h, d.G @ x)), x


def nonnegative_factors(d):
    W, H = Variable(12, name="W"), Variable(10, name="H")
    return minimize(factors_fit(d.Y)(concatenate([W, H])), [W >= 0, H >= 0]), W, H


FURTHER = {
    "few entries, budget, units 1e±3": few_within_budget,
    "L0 of a copy, bounds, units 1e±3": counted_within_bounds,
    "fewest on the wrong side": of_products,
    "nonnegative factors": nonnegative_factors,
    "LogSum under an equation": log_sum_equation,
    "LHalf under an equation": half_equation,
    "L0, nonnegative": counted_nonnegative,
    "capped residuals": capped,
    "knapsack, two rows": knapsack,
    "machines switched on": commitment,
    "machines, prices": running,
}
