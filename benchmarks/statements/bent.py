"""Without convexity: low ranks in raw units, few levels, quadratics on a sphere, assignments."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.optimize

from ipds import Block, Problem
from ipds.functions import Binary, Box, Jumps, LeastSquares, Quadratic, Rank, Sphere

from .statement import Answer, Data, Statement, below, off, timed


def tasks(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((50, 7))
    Y = G @ rng.standard_normal((7, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((50, 5))
    unit = 10.0 ** rng.uniform(-3, 3, 7)
    return Data(G=G * unit, Y=Y * 10.0 ** rng.uniform(-1, 1, 5), unit=unit)


def reduced_rank(d: Data) -> Problem:
    f = LeastSquares(np.sqrt(2.0) * d.G, np.sqrt(2.0) * d.Y)
    return Problem([Block(f=f, h=Rank(2), shape=(7, 5))])


def reduced_rank_oracle(d: Data) -> Answer:
    """What an orthonormal basis of the columns leaves, and the singular values after the second."""

    def least() -> float:
        P = np.linalg.qr(d.G / d.unit)[0].T @ d.Y
        return float(np.sum(d.Y**2) - np.sum(np.linalg.svd(P, compute_uv=False)[:2] ** 2))

    return timed(least)


def levels(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    w = rng.uniform(0, 2, 30)
    w[rng.choice(30, 5, replace=False)] = 0.0
    return Data(z=np.repeat([0.5, 3.0, 1.0], 10) + 0.5 * rng.standard_normal(30), w=w)


def few_levels(d: Data) -> Problem:
    x = Block(f=Quadratic(np.diag(2 * d.w), -2 * d.w * d.z), h=Jumps(1.5), A=-1.0, shape=30)
    return Problem([x, Block(h=Box(0.0, 4.0), shape=30)], b=np.zeros(30))


def few_levels_oracle(d: Data) -> Answer:
    """The best end of every prefix."""

    def cost(part: slice) -> float:
        w, z = d.w[part], d.z[part]
        level = np.clip(w @ z / max(float(w.sum()), 1e-300), 0.0, 4.0)
        return float(w @ (level**2 - 2 * level * z))

    def least() -> float:
        best = [-1.5]
        for end in range(1, 31):
            best.append(min(best[k] + 1.5 + cost(slice(k, end)) for k in range(end)))
        return best[-1]

    return timed(least)


def few_levels_value(d: Data, x: Any) -> float:
    return float(d.w @ (x[0] ** 2 - 2 * x[0] * d.z) + 1.5 * np.count_nonzero(np.diff(x[0])))


def pairs(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((7, 7))
    return Data(Q=Q + Q.T, c=0.5 * rng.standard_normal(7))


def on_a_sphere(d: Data) -> Problem:
    return Problem([Block(f=Quadratic(d.Q, d.c), h=Sphere(), shape=7)])


def on_a_sphere_value(d: Data, x: Any) -> float:
    return float(0.5 * x[0] @ d.Q @ x[0] + d.c @ x[0])


def on_a_sphere_oracle(d: Data) -> Answer:
    """The multiplier beyond the least eigenvalue at which the point has norm one."""

    def least() -> float:
        w, V = np.linalg.eigh(d.Q)
        g = V.T @ d.c
        mu = scipy.optimize.brentq(lambda m: np.sum((g / (w + m)) ** 2) - 1, -w[0] + 1e-10, 1e4, xtol=1e-14)
        return on_a_sphere_value(d, [-V @ (g / (w + mu))])

    return timed(least)


def places(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(a=rng.standard_normal(5), b=rng.standard_normal(5) + 3.0)


def assignment(d: Data) -> Problem:
    """½‖X a - b‖² over permutations X, row by row."""
    eye, one = np.eye(5), np.ones((1, 5))
    f = LeastSquares(np.kron(eye, d.a), d.b)
    X = Block(f=f, h=Binary(), A=np.vstack([np.kron(eye, one), np.kron(one, eye)]), shape=25)
    return Problem([X, Block(h=Box(0.0, 0.0), shape=10)], b=np.ones(10))


def assignment_oracle(d: Data) -> Answer:
    """All 120 orders."""

    def least() -> float:
        return min(0.5 * float(np.sum((np.array(a) - d.b) ** 2)) for a in itertools.permutations(d.a))

    return timed(least)


def misassigned(d: Data, x: Any) -> float:
    X = np.reshape(x[0], (5, 5))
    return off(X @ X.T - np.eye(5), 1.0) + below(X)


STATEMENTS = [
    Statement(
        "reduced rank, raw units",
        tasks,
        reduced_rank,
        reduced_rank_oracle,
        lambda d, x: float(np.sum((d.G @ x[0] - d.Y) ** 2)),
        lambda d, x: float(np.linalg.svd(x[0] * d.unit[:, None], compute_uv=False)[2] > 1e-6),
        convex=False,
    ),
    Statement(
        "few levels, weights, bounds",
        levels,
        few_levels,
        few_levels_oracle,
        few_levels_value,
        lambda d, x: max(below(x[0]), below(4.0 - x[0])),
        convex=False,
    ),
    Statement(
        "quadratic on a sphere",
        pairs,
        on_a_sphere,
        on_a_sphere_oracle,
        on_a_sphere_value,
        lambda d, x: abs(float(np.linalg.norm(x[0])) - 1),
        convex=False,
    ),
    Statement(
        "nearest assignment",
        places,
        assignment,
        assignment_oracle,
        lambda d, x: 0.5 * float(np.sum((np.reshape(x[0], (5, 5)) @ d.a - d.b) ** 2)),
        misassigned,
        convex=False,
    ),
]
