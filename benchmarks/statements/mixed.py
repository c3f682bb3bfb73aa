"""Sums of several kinds of terms and variables, in forms that interior-point steps once could not take."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_wine

from ipds import Problem, Variable, minimize
from ipds.functions import CappedSimplex, ElasticNet, L2Ball, Linf, Poisson
from ipds.modelling import diff, huber, logistic, norm1, norm2, sum_squares

from .statement import Answer, Data, Statement, below, cvx, off


def transfers(seed: int) -> Data:
    x0 = np.array([1e3, 5.0]) * (1 + 0.3 * np.random.default_rng(seed).standard_normal(2))
    return Data(A=np.array([[1, 1e-3], [-0.02, 0.98]]), B=np.array([[0, 1e-2]]), x0=x0)


def transfer(d: Data) -> Problem:
    """The least energy to rest, in kilometres and hours."""
    u, x = Variable((60, 1), name="u"), Variable((61, 2), name="x")
    return minimize(sum_squares(u), [x[0] == d.x0, x[1:] == x[:-1] @ d.A.T + u @ d.B, x[60] == [0.0, 0.0]])


def transfer_oracle(d: Data) -> Answer:
    u, x = cp.Variable((60, 1)), cp.Variable((61, 2))
    return cvx(cp.sum_squares(u), [x[0] == d.x0, x[1:] == x[:-1] @ d.A.T + u @ d.B, x[60] == 0])


def transfer_violation(d: Data, x: Any) -> float:
    u, x = x[0], x[1]
    return off(np.vstack([x[1:] - x[:-1] @ d.A.T - u @ d.B, x[:1] - d.x0, x[-1:]]), x)


def seasons(seed: int) -> Data:
    rng, t = np.random.default_rng(seed), np.arange(120)
    y = 0.05 * t + np.sin(2 * np.pi * t / 12) + 0.2 * rng.standard_normal(120)
    y[::17] += 6
    return Data(y=y, E=np.tile(np.eye(12), (10, 1)))


def seasonal(d: Data) -> Problem:
    """A trend of lines, a season, and few outliers."""
    s, q, o = Variable(120, name="s"), Variable(12, name="q"), Variable(120, name="o")
    fit = 0.5 * sum_squares(d.y - s - d.E @ q - o)
    return minimize(fit + 10 * norm1(diff(diff(s))) + 0.5 * norm1(o), [q.sum() == 0])


def seasonal_oracle(d: Data) -> Answer:
    s, q, o = cp.Variable(120), cp.Variable(12), cp.Variable(120)
    fit = 0.5 * cp.sum_squares(d.y - s - d.E @ q - o)
    return cvx(fit + 10 * cp.norm1(cp.diff(s, 2)) + 0.5 * cp.norm1(o), [cp.sum(q) == 0])


def seasonal_value(d: Data, x: Any) -> float:
    s, q, o = x[:3]
    fit = 0.5 * np.sum((d.y - s - d.E @ q - o) ** 2)
    return float(fit + 10 * np.abs(np.diff(s, 2)).sum() + 0.5 * np.abs(o).sum())


def bottles(seed: int) -> Data:
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:140]
    return Data(X=X[rows], y=y[rows].astype(float))


def huber_net(d: Data) -> Problem:
    """A Huber loss with an elastic net in bounds, on raw columns."""
    w, b = Variable(13, name="w"), Variable(name="b")
    return minimize(huber(d.X @ w + b - d.y, 0.3) + ElasticNet(0.5, 0.2)(w), [w >= -0.5, w <= 0.5])


def huber_net_oracle(d: Data) -> Answer:
    w, b = cp.Variable(13), cp.Variable()
    loss = 0.5 * cp.sum(cp.huber(d.X @ w + b - d.y, 0.3))
    return cvx(loss + 0.5 * cp.norm1(w) + 0.1 * cp.sum_squares(w), [cp.abs(w) <= 0.5])


def huber_net_value(d: Data, x: Any) -> float:
    w, b = x[:2]
    a = np.abs(d.X @ w + b - d.y)
    loss = np.where(a <= 0.3, 0.5 * a * a, 0.3 * a - 0.045)
    return float(loss.sum() + 0.5 * np.abs(w).sum() + 0.1 * (w @ w))


def few_counts(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.random((400, 60)) * (rng.random((400, 60)) < 0.2) + 1e-3
    return Data(A=A, y=rng.poisson(A @ ((rng.random(60) < 0.3) * rng.random(60))).astype(float))


def counts(d: Data) -> Problem:
    """A Poisson likelihood where half of the counts are 0."""
    x = Variable(60, name="x")
    return minimize(Poisson(d.y)(d.A @ x), [x >= 0])


def counts_oracle(d: Data) -> Answer:
    x, seen = cp.Variable(60), d.y > 0
    return cvx(cp.sum(d.A @ x) - d.y[seen] @ cp.log(d.A[seen] @ x), [x >= 0])


def counts_value(d: Data, x: Any) -> float:
    mean, seen = d.A @ x[0], d.y > 0
    return float(mean.sum() - d.y[seen] @ np.log(mean[seen]))


def switches(seed: int) -> Data:
    noise = 0.3 * np.random.default_rng(seed).standard_normal(40)
    return Data(y=np.sign(np.sin(np.arange(40) / 6) + noise), A=np.array([[1.0, 1.0], [0.0, 1.0]]))


def classified(d: Data) -> Problem:
    """A path that classifies signs: a logistic loss of states, and equations."""
    x, w = Variable((40, 2), name="x"), Variable((39, 2), name="w")
    return minimize(logistic(-d.y * x[:, 0]) + 2 * sum_squares(w), [x[1:] == x[:-1] @ d.A.T + w])


def classified_oracle(d: Data) -> Answer:
    x, w = cp.Variable((40, 2)), cp.Variable((39, 2))
    loss = cp.sum(cp.logistic(-cp.multiply(d.y, x[:, 0])))
    return cvx(loss + 2 * cp.sum_squares(w), [x[1:] == x[:-1] @ d.A.T + w])


def classified_value(d: Data, x: Any) -> float:
    return float(np.logaddexp(0.0, -d.y * x[0][:, 0]).sum() + 2 * np.sum(x[1] ** 2))


def loads(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(base=500 + 200 * rng.random(36), want=50 * rng.random(36))


def peak(d: Data) -> Problem:
    """The largest load, and comfort by a Huber loss."""
    u = Variable(36, name="u")
    return minimize(5 * Linf(1.0)(d.base + u) + huber(u - d.want, 10.0), [u >= 0, u.sum() == d.want.sum()])


def peak_oracle(d: Data) -> Answer:
    u = cp.Variable(36)
    comfort = 0.5 * cp.sum(cp.huber(u - d.want, 10.0))
    return cvx(5 * cp.norm_inf(d.base + u) + comfort, [u >= 0, cp.sum(u) == d.want.sum()])


def peak_value(d: Data, x: Any) -> float:
    a = np.abs(x[0] - d.want)
    return float(5 * np.abs(d.base + x[0]).max() + np.where(a <= 10, 0.5 * a * a, 10 * a - 50).sum())


def exposures(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(A=rng.standard_normal((16, 24)), c=rng.standard_normal(24))


def capped(d: Data) -> Problem:
    """A linear program whose exposures are capped shares."""
    x = Variable(24, name="x")
    return minimize(d.c @ x + CappedSimplex(3.0, 0.5)(d.A @ x), [x >= -1, x <= 1])


def capped_oracle(d: Data) -> Answer:
    x = cp.Variable(24)
    u = d.A @ x
    return cvx(d.c @ x, [u >= 0, u <= 0.5, cp.sum(u) == 3, cp.abs(x) <= 1])


def capped_violation(d: Data, x: Any) -> float:
    u = d.A @ x[0]
    return max(below(u), below(0.5 - u), abs(float(u.sum()) / 3 - 1), float(np.abs(x[0]).max()) - 1)


def centred(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(G=rng.standard_normal((30, 5)), y=3 + rng.standard_normal(30))


def in_a_ball(d: Data) -> Problem:
    """A fit in a ball, with limits in units of their own and a row that centring leaves empty."""
    x = Variable(5, name="x")
    limits = [(x - x.mean()).sum() == 0, 1e4 * x[0] <= 5e6, 1e-3 * (d.G @ x) <= 1e6]
    return minimize(sum_squares(d.G @ x - d.y) + norm2(x) + L2Ball(0.5)(x), limits)


def in_a_ball_oracle(d: Data) -> Answer:
    x = cp.Variable(5)
    return cvx(cp.sum_squares(d.G @ x - d.y) + cp.norm(x), [cp.norm(x) <= 0.5])


def in_a_ball_value(d: Data, x: Any) -> float:
    return float(np.sum((d.G @ x[0] - d.y) ** 2) + np.linalg.norm(x[0]))


STATEMENTS = [
    Statement(
        "least energy to rest, raw units",
        transfers,
        transfer,
        transfer_oracle,
        lambda d, x: float(np.sum(x[0] ** 2)),
        transfer_violation,
    ),
    Statement("trend, season and outliers", seasons, seasonal, seasonal_oracle, seasonal_value),
    Statement("wine with a Huber loss, raw", bottles, huber_net, huber_net_oracle, huber_net_value),
    Statement(
        "few counts, half of them 0",
        few_counts,
        counts,
        counts_oracle,
        counts_value,
        lambda d, x: below(x[0]),
    ),
    Statement(
        "path that classifies signs",
        switches,
        classified,
        classified_oracle,
        classified_value,
        lambda d, x: off(x[0][1:] - x[0][:-1] @ d.A.T - x[1], x[0]),
    ),
    Statement(
        "largest load and Huber comfort",
        loads,
        peak,
        peak_oracle,
        peak_value,
        lambda d, x: max(below(x[0]), abs(float(x[0].sum()) / d.want.sum() - 1)),
    ),
    Statement(
        "capped shares of exposures",
        exposures,
        capped,
        capped_oracle,
        lambda d, x: float(d.c @ x[0]),
        capped_violation,
    ),
    Statement(
        "fit in a ball, limits in large units",
        centred,
        in_a_ball,
        in_a_ball_oracle,
        in_a_ball_value,
        lambda d, x: max(float(np.linalg.norm(x[0])) / 0.5 - 1, 0.0),
    ),
]
