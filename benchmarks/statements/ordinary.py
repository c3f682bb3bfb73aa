"""Ordinary problems in forms that once failed or crawled: trajectories, designs, cones, polynomials, own functions."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem, Variable, minimize
from ipds.functions import LeastSquares, Linf, Quadratic, SecondOrderCone, Simplex, smooth
from ipds.modelling import concatenate, log_det, norm1, sum_squares

from .statement import Answer, Data, Statement, cvx, linear_program, off, timed


def waypoints(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(
        D=100 * np.diff(np.eye(120), 3, axis=0), at=[0, 40, 80, 119], points=3 * rng.standard_normal((4, 2))
    )


def least_jerk(d: Data) -> Problem:
    """A trajectory in the plane through four points, in a box."""
    p = Variable((120, 2), name="p")
    return minimize(sum_squares(d.D @ p), [p[d.at] == d.points, p <= 12, p >= -12])


def least_jerk_oracle(d: Data) -> Answer:
    p = cp.Variable((120, 2))
    return cvx(cp.sum_squares(d.D @ p), [p[d.at] == d.points, cp.abs(p) <= 12])


def spline(d: Data) -> Problem:
    """The same without bounds, by hand."""
    f = LeastSquares(np.sqrt(2.0) * d.D, np.zeros((117, 2)))
    return Problem([Block(f=f, A=np.eye(120)[d.at], shape=(120, 2))], b=d.points)


def spline_oracle(d: Data) -> Answer:
    free = np.delete(np.arange(120), d.at)

    def least() -> float:
        rest = d.D[:, d.at] @ d.points
        return float(np.sum((d.D[:, free] @ np.linalg.lstsq(d.D[:, free], -rest, rcond=None)[0] + rest) ** 2))

    return timed(least)


def jerk_value(d: Data, x: Any) -> float:
    return float(np.sum((d.D @ x[0]) ** 2))


def through(d: Data, x: Any) -> float:
    return off(x[0][d.at] - d.points, d.points)


def sites(seed: int) -> Data:
    V = np.random.default_rng(seed).standard_normal((30, 5))
    return Data(V=V, moments=np.array([np.outer(v, v).ravel() for v in V]).T)


def least_trace(d: Data) -> Problem:
    """Shares of measurements with the least trace of the inverse: a function of the caller's on the simplex."""

    def inverse(w: np.ndarray) -> np.ndarray:
        return np.linalg.inv(d.V.T @ (w[:, None] * d.V))

    def trace(w: np.ndarray) -> float:
        return float(np.trace(inverse(w)))

    f = smooth(trace, lambda w: -np.sum((d.V @ inverse(w)) ** 2, axis=1))
    return Problem([Block(f=f, h=Simplex(), shape=30)])


def least_trace_oracle(d: Data) -> Answer:
    w = cp.Variable(30)
    return cvx(cp.tr_inv(d.V.T @ cp.diag(w) @ d.V), [w >= 0, cp.sum(w) == 1])


def trace_value(d: Data, x: Any) -> float:
    return float(np.trace(np.linalg.inv(d.V.T @ (x[0][:, None] * d.V))))


def determinant(d: Data) -> Problem:
    """The determinant of the same matrix, as an affine expression."""
    w = Variable(30, name="w")
    return minimize(-log_det((d.moments @ w).reshape((5, 5))), [w >= 0, w.sum() == 1])


def determinant_oracle(d: Data) -> Answer:
    w = cp.Variable(30)
    return cvx(-cp.log_det(d.V.T @ cp.diag(w) @ d.V), [w >= 0, cp.sum(w) == 1])


def determinant_value(d: Data, x: Any) -> float:
    return -float(np.linalg.slogdet(d.V.T @ (x[0][:, None] * d.V))[1])


def shares(d: Data, x: Any) -> float:
    return max(abs(float(x[0].sum()) - 1.0), -min(float(x[0].min()), 0.0))


def uncertain(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    shapes = 0.2 * rng.standard_normal((12, 8, 8))
    return Data(A=rng.standard_normal((12, 8)), b=1 + rng.random(12), c=rng.standard_normal(8), shapes=shapes)


def robust_lp(d: Data) -> Problem:
    """min cᵀx, aᵀx ≤ b for all a in an ellipsoid: a cone for each row."""
    x = Variable(8, name="x")
    cones = [
        SecondOrderCone()(concatenate([(d.b[i] - d.A[i] @ x).reshape((1,)), d.shapes[i] @ x]))
        for i in range(12)
    ]
    return minimize(d.c @ x + sum(cones[1:], cones[0]), [x >= -5, x <= 5])


def robust_lp_oracle(d: Data) -> Answer:
    x = cp.Variable(8)
    rows = [d.A[i] @ x + cp.norm(d.shapes[i] @ x) <= d.b[i] for i in range(12)]
    return cvx(d.c @ x, [*rows, cp.abs(x) <= 5])


def robust_lp_violation(d: Data, x: Any) -> float:
    reach = d.A @ x[0] + np.linalg.norm(d.shapes @ x[0], axis=1)
    return off(np.maximum(reach - d.b, 0.0), d.b)


def curve(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    t = np.linspace(-1, 1, 200)
    return Data(t=t, A=np.vander(t, 13), y=1e3 * np.exp(t) * np.sin(5 * t + 0.3 * rng.standard_normal()))


def polynomial(d: Data) -> Problem:
    """The polynomial of degree 12 with the least largest error, by its powers."""
    x = Variable(13, name="x")
    return minimize(Linf(1.0)(d.A @ x - d.y))


def polynomial_oracle(d: Data) -> Answer:
    V, ones = np.polynomial.chebyshev.chebvander(d.t, 12), np.ones((200, 1))
    rows = np.block([[V, -ones], [-V, -ones]])
    return linear_program(
        np.append(np.zeros(13), 1.0), A_ub=rows, b_ub=np.append(d.y, -d.y), bounds=(None, None)
    )


def cut(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((60, 20))
    return Data(G=G, y=3 * G[:, 0] + 0.2 * rng.standard_normal(60))


class Absolute:
    """2‖x‖₁ as somebody writes it: a value, a prox, nothing else."""

    def __call__(self, x: np.ndarray) -> float:
        return float(2 * np.abs(x).sum())

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return np.sign(v) * np.maximum(np.abs(v) - 2 * step, 0.0)


def own_penalty(d: Data) -> Problem:
    return Problem([Block(h=Absolute(), A=d.G, shape=20), Block(f=Quadratic(1.0), A=-1.0, shape=60)], b=d.y)


def own_penalty_oracle(d: Data) -> Answer:
    x = cp.Variable(20)
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + 2 * cp.norm1(x))


def own_penalty_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[0] - d.y) ** 2) + 2 * np.abs(x[0]).sum())


def raw_covariance(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    units = np.array([1.0, 10.0, 0.1, 100.0])
    S = np.cov((rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4))) * units, rowvar=False)
    s = np.sqrt(np.diag(S))
    return Data(S=S, s=s, W=0.1 * np.outer(s, s) * (1 - np.eye(4)))


def raw_inverse(d: Data) -> Problem:
    """A sparse inverse covariance of columns in units of their own, the diagonal without a penalty."""
    K = Variable((4, 4), name="K")
    return minimize((d.S * K).sum() - log_det(K) + norm1(d.W * K))


def raw_inverse_oracle(d: Data) -> Answer:
    K, C = cp.Variable((4, 4), symmetric=True), d.S / np.outer(d.s, d.s)
    penalty = 0.1 * cp.sum(cp.multiply(1 - np.eye(4), cp.abs(K)))
    return cvx(cp.trace(C @ K) - cp.log_det(K) + penalty).beside(2 * float(np.log(d.s).sum()))


def raw_inverse_value(d: Data, x: Any) -> float:
    K = x[0]
    return float(np.sum(d.S * K) - np.linalg.slogdet(K)[1] + np.sum(d.W * np.abs(K)))


STATEMENTS = [
    Statement("least jerk through points", waypoints, least_jerk, least_jerk_oracle, jerk_value, through),
    Statement("spline by hand", waypoints, spline, spline_oracle, jerk_value, through),
    Statement("A-optimal design, own f", sites, least_trace, least_trace_oracle, trace_value, shares),
    Statement("D-optimal design, log_det", sites, determinant, determinant_oracle, determinant_value, shares),
    Statement(
        "robust LP, twelve cones",
        uncertain,
        robust_lp,
        robust_lp_oracle,
        lambda d, x: float(d.c @ x[0]),
        robust_lp_violation,
    ),
    Statement(
        "polynomial of degree 12",
        curve,
        polynomial,
        polynomial_oracle,
        lambda d, x: float(np.abs(d.A @ x[0] - d.y).max()),
    ),
    Statement("lasso, own h without flags", cut, own_penalty, own_penalty_oracle, own_penalty_value),
    Statement(
        "graphical lasso, raw units", raw_covariance, raw_inverse, raw_inverse_oracle, raw_inverse_value
    ),
]
