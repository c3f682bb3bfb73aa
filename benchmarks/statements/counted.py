"""Without convexity, in raw units, in several blocks, or by functions of the modeller's own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy

from ipds import Block, Problem, Variable, minimize
from ipds.functions import L0, Box, Cardinality, LeastSquares, NonNegative, Nonsmooth, Sum, smooth
from ipds.modelling import sum_squares

from .statement import Answer, Data, Statement, below, timed


def columns(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((30, 9)) + 0.5 * rng.standard_normal((30, 1))
    return Data(
        G=G, y=G @ np.abs(rng.standard_normal(9)) + rng.standard_normal(30), unit=10 ** rng.uniform(-3, 3, 9)
    )


def budget(d: Data) -> Problem:
    """½‖G x - y‖² over three entries x ≥ 0 with Σ x ≤ 2, G and x in units of their own."""
    sums = scipy.sparse.csr_array(np.ones((1, 9))) @ scipy.sparse.diags_array(d.unit).tocsr()
    few = Block(f=LeastSquares(d.G * d.unit, d.y), h=Sum(Cardinality(3), NonNegative()), A=sums, shape=9)
    return Problem([few, Block(h=NonNegative(), shape=1)], b=np.array([2.0]))


def budget_oracle(d: Data) -> Answer:
    """All 84 supports, with a slack for the budget, which is a heavy row."""

    def best() -> float:
        heavy, found = 1e5, []
        for s in map(list, itertools.combinations(range(9), 3)):
            rows = np.block([[d.G[:, s], np.zeros((30, 1))], [np.full((1, 4), heavy)]])
            x = scipy.optimize.nnls(rows, np.append(d.y, 2 * heavy))[0]
            found.append(0.5 * float(np.sum((d.G[:, s] @ x[:3] - d.y) ** 2)))
        return min(found)

    return timed(best)


def fit_value(d: Data, x: Any) -> float:
    return 0.5 * float(np.sum((d.G @ (d.unit * x[0]) - d.y) ** 2))


def budget_missed(d: Data, x: Any) -> float:
    few = float(np.count_nonzero(x[0]) > 3)
    return max(below(d.unit * x[0]), float(d.unit @ x[0]) / 2 - 1, few)


def counted_split(d: Data) -> Problem:
    """½‖G x - y‖² between bounds, and a price for every entry of a copy."""
    x = Block(f=LeastSquares(d.G * d.unit, d.y), h=Box(-1 / d.unit, 1 / d.unit), shape=9)
    return Problem([x, Block(h=L0(4.0), A=-1.0, shape=9)], b=np.zeros(9))


def counted_split_oracle(d: Data) -> Answer:
    """Least squares between bounds on all 512 supports."""

    def best() -> float:
        supports = (list(s) for k in range(1, 10) for s in itertools.combinations(range(9), k))
        costs = (scipy.optimize.lsq_linear(d.G[:, s], d.y, (-1, 1)).cost + 4.0 * len(s) for s in supports)
        return min(0.5 * float(d.y @ d.y), *costs)

    return timed(best)


def machines(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    ranges = {"bend": (0.05, 0.5), "each": (1, 3), "room": (3, 8), "on": (2, 12)}
    d = Data(**{name: rng.uniform(*ends, 10) for name, ends in ranges.items()})
    d.demand = 0.5 * d.room.sum()
    return d


def loads(d: Data) -> Problem:
    """Loads of ten machines, with a price for each that runs, and bent costs."""
    x = Variable(10, name="x")
    objective = sum_squares(np.sqrt(d.bend) * x) + d.each @ x + L0(d.on)(x)
    return minimize(objective, [x.sum() >= d.demand, x >= 0, x <= d.room])


def loads_oracle(d: Data) -> Answer:
    """All sets of machines, and for each the price of a unit at which its loads add up to the demand."""

    def cheapest(s: np.ndarray) -> float:
        def load(price: float) -> np.ndarray:
            return np.clip((price - d.each[s]) / (2 * d.bend[s]), 0.0, d.room[s])

        x = load(scipy.optimize.brentq(lambda price: load(price).sum() - d.demand, 0.0, 100.0, xtol=1e-12))
        return float(d.bend[s] @ x**2 + d.each[s] @ x + d.on[s].sum())

    def best() -> float:
        sets = (np.array(s) for k in range(1, 11) for s in itertools.combinations(range(10), k))
        return min(cheapest(s) for s in sets if d.room[s].sum() >= d.demand)

    return timed(best)


def loads_value(d: Data, x: Any) -> float:
    return float(d.bend @ x[0] ** 2 + d.each @ x[0] + d.on[x[0] != 0].sum())


def loads_missed(d: Data, x: Any) -> float:
    return max(below(x[0]), below(d.room - x[0]), 1 - float(x[0].sum()) / d.demand)


class Wrong(Nonsmooth):
    """How many entries are below 1."""

    def __call__(self, x: Any) -> float:
        return float(np.sum(x < 1 - 1e-6))

    def prox(self, v: Any, step: float) -> Any:
        return np.where((v >= 1) | ((1 - v) ** 2 > 2 * step), v, 1.0)


def labelled(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((16, 2))
    y = np.where(points @ [1.0, 0.7] + 0.6 * rng.standard_normal(16) > 0, 1.0, -1.0)
    return Data(G=y[:, None] * points, h=Wrong())


def wrong_oracle(d: Data) -> Answer:
    """Lines next to those through a point."""

    def best() -> float:
        turns = ((i, j) for i in (1, -1) for j in (1, -1))
        lines = (i * np.array([-g[1], g[0]]) + 1e-7 * j * g for (i, j), g in itertools.product(turns, d.G))
        return min(int(np.sum(d.G @ w <= 0)) for w in lines)

    return timed(best)


def of_products(d: Data) -> Problem:
    """h(G x), h being the modeller's own."""
    rows = len(d.G)
    return Problem([Block(A=d.G, shape=d.G.shape[1]), Block(h=d.h, A=-1.0, shape=rows)], b=np.zeros(rows))


def table(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(Y=rng.random((6, 2)) @ rng.random((2, 5)) + 0.1 * rng.random((6, 5)))


def rest(Y: Any, v: Any) -> tuple[Any, Any, Any]:
    """W, H and W H - Y of one vector."""
    W, H = v[:12].reshape(6, 2), v[12:].reshape(2, 5)
    return W, H, W @ H - Y


def factors_fit(Y: Any) -> Any:
    """½‖W H - Y‖² of one vector."""

    def gradient(v: Any) -> Any:
        W, H, R = rest(Y, v)
        return np.concatenate([(R @ H.T).ravel(), (W.T @ R).ravel()])

    return smooth(lambda v: 0.5 * float(np.sum(rest(Y, v)[2] ** 2)), grad=gradient)


def factors(d: Data) -> Problem:
    """Nonnegative W and H in blocks of their own, and f of a copy of both."""
    W, H = (
        Block(h=NonNegative(), A=np.eye(22)[:, cut], shape=n)
        for cut, n in ((slice(12), 12), (slice(12, 22), 10))
    )
    return Problem([W, H, Block(f=factors_fit(d.Y), A=-1.0, shape=22)], b=np.zeros(22))


def factors_oracle(d: Data) -> Answer:
    """The best of 20 starts of L-BFGS between bounds."""

    def best() -> float:
        f, rng = factors_fit(d.Y), np.random.default_rng(0)
        run = {"jac": f.grad, "bounds": [(0, None)] * 22, "options": {"ftol": 1e-14, "maxiter": 5000}}
        return min(scipy.optimize.minimize(f, rng.random(22), **run).fun for _ in range(20))

    return timed(best)


def factors_value(d: Data, x: Any) -> float:
    return 0.5 * float(np.sum((x[0].reshape(6, 2) @ x[1].reshape(2, 5) - d.Y) ** 2))


STATEMENTS = [
    Statement(
        "few entries, budget, units 1e±3", columns, budget, budget_oracle, fit_value, budget_missed, False
    ),
    Statement(
        "L0 of a copy, bounds, units 1e±3",
        columns,
        counted_split,
        counted_split_oracle,
        lambda d, x: fit_value(d, x) + 4.0 * np.count_nonzero(x[0]),
        lambda d, x: max(0.0, float(np.max(np.abs(d.unit * x[0]))) - 1),
        False,
    ),
    Statement(
        "machines, prices for running", machines, loads, loads_oracle, loads_value, loads_missed, False
    ),
    Statement(
        "fewest on the wrong side",
        labelled,
        of_products,
        wrong_oracle,
        lambda d, x: d.h(d.G @ x[0]),
        convex=False,
    ),
    Statement(
        "nonnegative factors",
        table,
        factors,
        factors_oracle,
        factors_value,
        lambda d, x: max(below(x[0]), below(x[1])),
        False,
    ),
]
