"""Where steps went to and fro, or hardly moved: plans, grids, paths with outliers, landings, own functions."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem, Variable, minimize
from ipds.functions import L1, Box, SecondOrderCone, smooth
from ipds.modelling import concatenate, diff, entropy, huber, kl_div, norm21, norm_inf, sum_squares

from .statement import Answer, Data, Statement, below, cvx, off


def masses(seed: int) -> Data:
    rng, t = np.random.default_rng(seed), np.linspace(0, 1, 15)
    a, b = rng.dirichlet(np.ones(15), 2)
    return Data(a=a, b=b, C=(t[:, None] - t) ** 2)


def agreed(d: Data, price: float) -> np.ndarray:
    """The plan by Sinkhorn's rounds in logarithms, masses that do not agree at a price: CVXPY makes entries < 0."""
    f, g, share = np.zeros(15), np.zeros(15), 1 / (1 / price + 1 / 0.01)
    for _ in range(5000):
        f = share * (np.log(d.b) - np.log(np.exp((g - d.C) / 0.01 - 1).sum(axis=1)))
        g = share * (np.log(d.a) - np.log(np.exp((f[:, None] - d.C) / 0.01 - 1).sum(axis=0)))
    return np.exp((f[:, None] + g - d.C) / 0.01 - 1)


def plan(d: Data) -> Problem:
    """Transport with little entropy: most of the plan is below 1e-30."""
    P = Variable((15, 15), name="P")
    return minimize((d.C * P).sum() - 0.01 * entropy(P), [P.sum(axis=0) == d.a, P.sum(axis=1) == d.b])


def plan_oracle(d: Data) -> Answer:
    P = cp.Variable((15, 15))
    spread = cp.sum(cp.multiply(d.C, P)) - 0.01 * cp.sum(cp.entr(P))
    answer = cvx(spread, [cp.sum(P, axis=0) == d.a, cp.sum(P, axis=1) == d.b])
    return answer._replace(value=plan_value(d, [agreed(d, np.inf)]))


def plan_value(d: Data, x: Any) -> float:
    return float(np.sum(d.C * x[0]) + 0.01 * np.sum(x[0] * np.log(x[0])))


def plan_violation(d: Data, x: Any) -> float:
    return max(off(x[0].sum(axis=0) - d.a, d.a), off(x[0].sum(axis=1) - d.b, d.b))


def priced_plan(d: Data) -> Problem:
    """The same with a price for masses that do not agree."""
    P = Variable((15, 15), name="P")
    sides = 0.5 * kl_div(P.sum(axis=0), d.a) + 0.5 * kl_div(P.sum(axis=1), d.b)
    return minimize((d.C * P).sum() - 0.01 * entropy(P) + sides)


def priced_plan_oracle(d: Data) -> Answer:
    P = cp.Variable((15, 15))
    sides = cp.sum(cp.kl_div(cp.sum(P, axis=0), d.a)) + cp.sum(cp.kl_div(cp.sum(P, axis=1), d.b))
    answer = cvx(cp.sum(cp.multiply(d.C, P)) - 0.01 * cp.sum(cp.entr(P)) + 0.5 * sides)
    return answer._replace(value=priced_plan_value(d, [agreed(d, 0.5)]))


def priced_plan_value(d: Data, x: Any) -> float:
    sides = (x[0].sum(axis=0), d.a), (x[0].sum(axis=1), d.b)
    return plan_value(d, x) + sum(0.5 * float(np.sum(p * np.log(p / q) - p + q)) for p, q in sides)


def lines(seed: int) -> Data:
    rng, n = np.random.default_rng(seed), 20
    ends = [(i, (i + 1) % n) for i in range(n)] + [(i, (i + 7) % n) for i in range(0, n, 3)]
    tail, head = np.array(ends).T
    m = len(ends)
    return Data(
        B=np.eye(n)[tail] - np.eye(n)[head],
        plants=np.eye(n)[:, rng.choice(n, 6, False)],
        strength=rng.uniform(5, 20, m),
        limit=rng.uniform(25, 50, m),
        cost=rng.uniform(10, 50, 6),
        demand=rng.uniform(5, 15, n),
    )


def grid(d: Data) -> Problem:
    """Plants on a grid: flows have limits, and angles are wherever these lead."""
    p, angle, flow = Variable(6, name="p"), Variable(20, name="angle"), Variable(len(d.limit), name="flow")
    balance = [d.plants @ p - d.B.T @ flow == d.demand, flow == d.strength * (d.B @ angle)]
    return minimize(
        d.cost @ p + 0.01 * sum_squares(p) + Box(-d.limit, d.limit)(flow) + Box(0.0, 120.0)(p), balance
    )


def grid_oracle(d: Data) -> Answer:
    p, angle = cp.Variable(6), cp.Variable(20)
    flow = cp.multiply(d.strength, d.B @ angle)
    limits = [cp.abs(flow) <= d.limit, p >= 0, p <= 120]
    return cvx(d.cost @ p + 0.01 * cp.sum_squares(p), [d.plants @ p - d.B.T @ flow == d.demand, *limits])


def grid_violation(d: Data, x: Any) -> float:
    p, flow = x[0], next(part for part in x[1:] if len(part) == len(d.limit))
    return max(off(d.plants @ p - d.B.T @ flow - d.demand, d.demand), below(p), below(d.limit - np.abs(flow)))


def path(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.standard_normal((200, 2)), axis=0) + rng.standard_normal((200, 2))
    y[::15] += 20
    return Data(y=y)


def smoothed(d: Data) -> Problem:
    """A path by satellite, a few points of which are far off."""
    X = Variable((200, 2), name="X")
    return minimize(huber(X - d.y, 1.0) + 2 * sum_squares(diff(diff(X, axis=0), axis=0)))


def smoothed_oracle(d: Data) -> Answer:
    X = cp.Variable((200, 2))
    return cvx(0.5 * cp.sum(cp.huber(X - d.y, 1.0)) + 2 * cp.sum_squares(cp.diff(X, 2, axis=0)))


def smoothed_value(d: Data, x: Any) -> float:
    a = np.abs(x[0] - d.y)
    return float(np.where(a <= 1, 0.5 * a * a, a - 0.5).sum() + 2 * np.sum(np.diff(x[0], 2, axis=0) ** 2))


def descents(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(
        place=np.array([50.0, 50, 100]) * rng.uniform(0.8, 1.2, 3),
        speed=np.array([-10.0, 0, -10]) * rng.uniform(0.5, 1.5, 3),
        fall=np.array([0.0, 0.0, -9.8]) * np.ones((30, 1)),
    )


def _moves(V: Any, d: Data) -> tuple[Any, Any, Any, list[Any]]:
    place, speed, thrust = V((31, 3)), V((31, 3)), V((30, 3))
    ends = [place[0] == d.place, speed[0] == d.speed, place[30] == np.zeros(3), speed[30] == np.zeros(3)]
    moves = [
        speed[1:] == speed[:-1] + 0.5 * (thrust + d.fall),
        place[1:] == place[:-1] + 0.25 * (speed[:-1] + speed[1:]),
    ]
    return place, speed, thrust, [*ends, *moves, place[:, 2] >= 0]


def landing(d: Data) -> Problem:
    """The least fuel to land, with a cone for the thrust of each moment."""
    _, _, thrust, rows = _moves(Variable, d)
    limits = SecondOrderCone()(concatenate([25.0 + 0 * thrust[:, :1], thrust], axis=1))
    return minimize(norm21(thrust) + limits, rows)


def landing_oracle(d: Data) -> Answer:
    _, _, thrust, rows = _moves(cp.Variable, d)
    return cvx(cp.sum(cp.norm2(thrust, axis=1)), [*rows, cp.norm2(thrust, axis=1) <= 25])


def thrust_of(x: Any) -> np.ndarray:
    return next(part for part in x if part.shape == (30, 3))


def landing_violation(d: Data, x: Any) -> float:
    thrust, place, speed = thrust_of(x), d.place, d.speed
    for k in range(30):
        after = speed + 0.5 * (thrust[k] + d.fall[k])
        place, speed = place + 0.25 * (speed + after), after
    over = np.maximum(np.linalg.norm(thrust, axis=1) - 25, 0.0)
    return max(off(place, d.place), off(speed, d.speed), off(over, 25.0))


def targets(seed: int) -> Data:
    return Data(target=3.0 * np.random.default_rng(seed).uniform(0.8, 1.2))


def least_peak(d: Data) -> Problem:
    """The least largest thrust to a place and to rest there."""
    x, u = Variable((41, 2), name="x"), Variable((40, 1), name="u")
    moves = x[1:] == x[:-1] @ np.array([[1.0, 0.0], [0.1, 1.0]]) + u @ np.array([[0.005, 0.1]])
    return minimize(
        norm_inf(u) + 0.01 * sum_squares(u), [x[0] == [0.0, 0.0], x[40] == [d.target, 0.0], moves]
    )


def least_peak_oracle(d: Data) -> Answer:
    x, u = cp.Variable((41, 2)), cp.Variable((40, 1))
    moves = x[1:] == x[:-1] @ np.array([[1.0, 0.0], [0.1, 1.0]]) + u @ np.array([[0.005, 0.1]])
    return cvx(cp.norm_inf(u) + 0.01 * cp.sum_squares(u), [x[0] == 0, x[40] == [d.target, 0.0], moves])


def least_peak_value(d: Data, x: Any) -> float:
    u = next(part for part in x if part.shape == (40, 1))
    return float(np.abs(u).max() + 0.01 * np.sum(u * u))


def heavy(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((500, 10))
    return Data(G=G, y=G @ rng.standard_normal(10) + rng.laplace(size=500))


def own_loss(d: Data) -> Problem:
    """Residuals under a loss that somebody wrote, log(eʳ + e⁻ʳ)."""
    f = smooth(lambda r: float(np.logaddexp(r, -r).sum()), np.tanh)
    return Problem([Block(h=L1(), A=d.G, shape=10), Block(f=f, A=-1.0, shape=500)], b=d.y)


def own_loss_oracle(d: Data) -> Answer:
    x = cp.Variable(10)
    r = d.G @ x - d.y
    return cvx(cp.sum(cp.logistic(2 * r) - r) + cp.norm1(x))


def own_loss_value(d: Data, x: Any) -> float:
    r = d.G @ x[0] - d.y
    return float(np.logaddexp(r, -r).sum() + np.abs(x[0]).sum())


def shares_of_power(seed: int) -> Data:
    return Data(c=np.random.default_rng(seed).random(300))


def own_logarithms(d: Data) -> Problem:
    """Power poured over 300 channels, by a function and its gradient."""
    w = Variable(300, name="w")
    f = smooth(lambda w: -float(np.log(d.c + w).sum()), lambda w: -1 / (d.c + w))
    return minimize(f(w), [w >= 0, w.sum() == 10])


def own_logarithms_oracle(d: Data) -> Answer:
    w = cp.Variable(300)
    return cvx(-cp.sum(cp.log(d.c + w)), [w >= 0, cp.sum(w) == 10])


STATEMENTS = [
    Statement("transport with little entropy", masses, plan, plan_oracle, plan_value, plan_violation),
    Statement("transport, masses at a price", masses, priced_plan, priced_plan_oracle, priced_plan_value),
    Statement(
        "plants on a grid with limits",
        lines,
        grid,
        grid_oracle,
        lambda d, x: float(d.cost @ x[0] + 0.01 * x[0] @ x[0]),
        grid_violation,
    ),
    Statement("path with points far off", path, smoothed, smoothed_oracle, smoothed_value),
    Statement(
        "landing, a cone for each moment",
        descents,
        landing,
        landing_oracle,
        lambda d, x: float(np.linalg.norm(thrust_of(x), axis=1).sum()),
        landing_violation,
    ),
    Statement("least largest thrust", targets, least_peak, least_peak_oracle, least_peak_value),
    Statement("own loss of 500 residuals", heavy, own_loss, own_loss_oracle, own_loss_value),
    Statement(
        "own logarithms of 300 shares",
        shares_of_power,
        own_logarithms,
        own_logarithms_oracle,
        lambda d, x: -float(np.log(d.c + x[0]).sum()),
        lambda d, x: max(below(x[0]), abs(float(x[0].sum()) / 10 - 1)),
    ),
]
