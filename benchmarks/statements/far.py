"""Data far from 0, and own functions of sums: where steps on what is rounding never ended, or too much was asked."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Block, Problem, Variable, minimize
from ipds.functions import Box, Huber, LeastSquares, Quadratic, SmoothSum, Translated, smooth
from ipds.modelling import diff, sum_squares
from ipds.operators import SumOver

from .statement import Answer, Data, Statement, cvx, off


def prices(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    D = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(2998, 3000)).tocsr()
    return Data(y=1e5 + np.cumsum(rng.standard_normal(3000)), D=D)


def trend(d: Data) -> Problem:
    """The trend of a price, by matrices: its second differences weigh 1600."""
    near = LeastSquares(np.sqrt(2.0) * sp.eye_array(3000), np.sqrt(2.0) * d.y)
    return Problem([Block(f=SmoothSum([near, LeastSquares(np.sqrt(3200.0) * d.D, 0.0)]), shape=3000)])


def trend_oracle(d: Data) -> Answer:
    x = cp.Variable(3000)
    return cvx(cp.sum_squares(x - (d.y - 1e5)) + 1600 * cp.sum_squares(d.D @ x))


def trend_value(d: Data, x: Any) -> float:
    return float(np.sum((x[0] - d.y) ** 2) + 1600 * np.sum((d.D @ x[0]) ** 2))


def temperatures(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    days = np.arange(1500)
    y = 293 + 8 * np.sin(2 * np.pi * days / 365) + 2 * rng.standard_normal(1500)
    return Data(y=y, seen=(rng.random(1500) < 0.8) * 1.0)


def season(d: Data) -> Problem:
    """A smooth season through temperatures in kelvin, a fifth of which are missing."""
    x = Variable(1500, name="x")
    return minimize(sum_squares(d.seen * (x - d.y)) + 1e4 * sum_squares(diff(diff(x))))


def season_oracle(d: Data) -> Answer:
    x = cp.Variable(1500)
    fit = cp.sum_squares(cp.multiply(d.seen, x - (d.y - 293)))
    return cvx(fit + 1e4 * cp.sum_squares(cp.diff(x, 2)))


def season_value(d: Data, x: Any) -> float:
    return float(np.sum((d.seen * (x[0] - d.y)) ** 2) + 1e4 * np.sum(np.diff(x[0], 2) ** 2))


def fixes(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    path = np.array([4.5e5, 5.2e6]) + np.cumsum(10 * rng.standard_normal((120, 2)), axis=0)
    y = path + 5 * rng.standard_normal((120, 2))
    wrong = rng.random(120) < 0.1
    y[wrong] += 300 * rng.standard_normal((int(wrong.sum()), 2))
    return Data(y=y, D=np.diff(np.eye(120), 2, axis=0))


def track(d: Data) -> Problem:
    """A track through points in metres on a map, a tenth of which are far off."""
    near = Block(h=Translated(Huber(1.0, 10.0), d.y), A=d.D, shape=(120, 2))
    return Problem([near, Block(f=Quadratic(10.0), A=-1.0, shape=(118, 2))], b=0.0)


def track_oracle(d: Data) -> Answer:
    x = cp.Variable((120, 2))
    apart = x - (d.y - d.y.mean(axis=0))
    return cvx(0.5 * cp.sum(cp.huber(apart, 10)) + 5 * cp.sum_squares(d.D @ x))


def track_value(d: Data, x: Any) -> float:
    r = np.abs(x[0] - d.y)
    return float(np.where(r <= 10, r**2 / 2, 10 * r - 50).sum() + 5 * np.sum((d.D @ x[0]) ** 2))


def roads(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    pairs = [
        (i, j) for i in range(12) for j in range(12) if i != j and (rng.random() < 0.25 or j == (i + 1) % 12)
    ]
    N = np.zeros((12, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        N[i, k], N[j, k] = 1, -1
    ends = np.zeros((12, 3))
    for k in range(3):
        ends[rng.choice(12, 2, replace=False), k] = 20.0, -20.0
    count = len(pairs)
    return Data(N=N, ends=ends, free=rng.uniform(1, 5, count), room=rng.uniform(5, 20, count))


def streams(d: Data) -> Problem:
    """Three kinds of streams over roads on which the time grows by the fourth power of their sum."""

    def value(y: np.ndarray) -> float:
        return float(np.sum(d.free * (y + 0.03 * d.room * (y / d.room) ** 5)))

    time = smooth(value, lambda y: d.free * (1 + 0.15 * (y / d.room) ** 4))
    x = Variable((d.N.shape[1], 3), name="x")
    return minimize(time(x.sum(axis=1)), [x >= 0, d.N @ x == d.ends])


def streams_oracle(d: Data) -> Answer:
    x = cp.Variable((d.N.shape[1], 3))
    y = cp.sum(x, axis=1)
    slow = cp.multiply(0.03 * d.free * d.room, cp.power(cp.multiply(1 / d.room, y), 5))
    return cvx(d.free @ y + cp.sum(slow), [x >= 0, d.N @ x == d.ends])


def streams_value(d: Data, x: Any) -> float:
    y = x[0].sum(axis=1)
    return float(np.sum(d.free * (y + 0.03 * d.room * (y / d.room) ** 5)))


def streams_violation(d: Data, x: Any) -> float:
    return max(off(d.N @ x[0] - d.ends, d.ends), off(np.minimum(x[0], 0.0), x[0]))


def cars(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(base=300 + 100 * np.sin(np.arange(24) / 12 * np.pi), need=rng.uniform(5, 40, 20))


def charging(d: Data) -> Problem:
    """Cars charged in the valleys of a load, by the function and the gradient of somebody who did not say more."""

    def value(x: np.ndarray) -> float:
        return 0.5 * float(np.sum((d.base + x.sum(axis=0)) ** 2))

    f = smooth(value, lambda x: np.tile(d.base + x.sum(axis=0), (20, 1)))
    return Problem([Block(f=f, h=Box(0.0, 7.0), A=SumOver((20, 24), 1), shape=(20, 24))], b=d.need)


def charging_oracle(d: Data) -> Answer:
    x = cp.Variable((20, 24))
    load = 0.5 * cp.sum_squares(d.base + cp.sum(x, axis=0))
    return cvx(load, [x >= 0, x <= 7, cp.sum(x, axis=1) == d.need])


def charging_value(d: Data, x: Any) -> float:
    return 0.5 * float(np.sum((d.base + x[0].sum(axis=0)) ** 2))


def charging_violation(d: Data, x: Any) -> float:
    return max(off(x[0].sum(axis=1) - d.need, d.need), off(x[0] - np.clip(x[0], 0.0, 7.0), x[0]))


STATEMENTS = [
    Statement("trend of prices at 1e5, by hand", prices, trend, trend_oracle, trend_value),
    Statement("season in kelvin with gaps", temperatures, season, season_oracle, season_value),
    Statement("track on a map, points far off", fixes, track, track_oracle, track_value),
    Statement(
        "streams on roads, own times", roads, streams, streams_oracle, streams_value, streams_violation
    ),
    Statement(
        "charging in valleys, own load", cars, charging, charging_oracle, charging_value, charging_violation
    ),
]
