"""Cones, logarithms and networks, small ones: where a program made for them takes a millisecond or ten."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Problem, Variable, minimize
from ipds.functions import PSD, L2Ball, NegativeLog, RowSimplex
from ipds.modelling import nuclear, sum_squares

from .statement import Answer, Data, Statement, below, cvx, linear_program, off


def graph(seed: int) -> Data:
    W = np.triu(np.random.default_rng(seed).random((8, 8)) < 0.5, 1) * 1.0
    return Data(L=0.25 * (np.diag((W + W.T).sum(1)) - W - W.T), i=np.arange(8))


def largest_cut(d: Data) -> Problem:
    """The semidefinite relaxation of the largest cut."""
    X = Variable((8, 8), name="X")
    return minimize(-(d.L * X).sum() + PSD()(X), [X[d.i, d.i] == 1])


def largest_cut_oracle(d: Data) -> Answer:
    X = cp.Variable((8, 8), symmetric=True)
    return cvx(-cp.sum(cp.multiply(d.L, X)), [X >> 0, cp.diag(X) == 1])


def cut_violation(d: Data, x: Any) -> float:
    lowest = float(np.linalg.eigvalsh(0.5 * (x[0] + x[0].T))[0])
    return max(off(np.diag(x[0]) - 1, 1.0), -min(lowest, 0.0))


def sensed(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((10, 30))
    return Data(A=A, b=A @ np.outer(rng.standard_normal(6), rng.standard_normal(5)).ravel())


def least_nuclear(d: Data) -> Problem:
    """The matrix of the least nuclear norm under ten equations."""
    X = Variable((6, 5), name="X")
    return minimize(nuclear(X), [d.A @ X.reshape((30,)) == d.b])


def least_nuclear_oracle(d: Data) -> Answer:
    X = cp.Variable((6, 5))
    return cvx(cp.normNuc(X), [d.A @ cp.vec(X, order="C") == d.b])


def returns(seed: int) -> Data:
    return Data(R=1.02 + 0.1 * np.random.default_rng(seed).standard_normal((60, 10)))


def growth(d: Data) -> Problem:
    """Shares with the largest mean logarithm of what they return."""
    x = Variable(10, name="x")
    return minimize(NegativeLog()(d.R @ x), [x >= 0, x.sum() == 1])


def growth_oracle(d: Data) -> Answer:
    x = cp.Variable(10)
    return cvx(-cp.sum(cp.log(d.R @ x)), [x >= 0, cp.sum(x) == 1])


def mixtures(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.random((15, 4))
    return Data(A=A, Y=rng.dirichlet(np.ones(4), 10) @ A.T + 0.03 * rng.standard_normal((10, 15)))


def unmixed(d: Data) -> Problem:
    """Every row a mixture of four: shares in a simplex each."""
    X = Variable((10, 4), name="X")
    return minimize(sum_squares(X @ d.A.T - d.Y) + RowSimplex()(X))


def unmixed_oracle(d: Data) -> Answer:
    X = cp.Variable((10, 4))
    return cvx(cp.sum_squares(X @ d.A.T - d.Y), [X >= 0, cp.sum(X, axis=1) == 1])


def start(seed: int) -> Data:
    A, B = np.eye(4) + np.diag([0.3, 0.3], 2), np.vstack([0.045 * np.eye(2), 0.3 * np.eye(2)])
    return Data(A=A, B=B, x0=np.append(np.random.default_rng(seed).standard_normal(2), [0.0, 0.0]))


def thrust(d: Data) -> Problem:
    """A path to the origin by twelve thrusts of bounded length."""
    X, U = Variable((13, 4), name="X"), Variable((12, 2), name="U")
    balls = [L2Ball(1.0)(U[k]) for k in range(12)]
    cost = sum_squares(X) + 0.1 * sum_squares(U) + sum(balls[1:], balls[0])
    return minimize(cost, [X[0] == d.x0, X[1:] == X[:-1] @ d.A.T + U @ d.B.T])


def thrust_oracle(d: Data) -> Answer:
    X, U = cp.Variable((13, 4)), cp.Variable((12, 2))
    rows = [X[0] == d.x0, X[1:] == X[:-1] @ d.A.T + U @ d.B.T, cp.norm(U, 2, axis=1) <= 1]
    return cvx(cp.sum_squares(X) + 0.1 * cp.sum_squares(U), rows)


def thrust_violation(d: Data, x: Any) -> float:
    path = off(x[0][1:] - x[0][:-1] @ d.A.T - x[1] @ d.B.T, x[0])
    return max(path, off(x[0][0] - d.x0, d.x0), float(np.linalg.norm(x[1], axis=1).max()) - 1.0)


def network(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    tail = np.concatenate([np.arange(400), rng.integers(0, 400, 1600)])
    head = (tail + np.concatenate([np.ones(400, int), rng.integers(1, 400, 1600)])) % 400
    arcs, supply = np.arange(2000), rng.standard_normal(400)
    data = np.concatenate([np.ones(2000), -np.ones(2000)])
    A = sp.csr_array((data, (np.concatenate([tail, head]), np.concatenate([arcs, arcs]))), shape=(400, 2000))
    return Data(A=A, b=supply - supply.mean(), c=rng.random(2000), cap=10 + 5 * rng.random(2000))


def flow(d: Data) -> Problem:
    """The cheapest flow in a network without an order."""
    x = Variable(2000, name="x")
    return minimize(d.c @ x, [d.A @ x == d.b, x >= 0, x <= d.cap])


def flow_oracle(d: Data) -> Answer:
    return linear_program(d.c, A_eq=d.A, b_eq=d.b, bounds=np.stack([0 * d.cap, d.cap], axis=1))


STATEMENTS = [
    Statement(
        "largest cut, relaxed",
        graph,
        largest_cut,
        largest_cut_oracle,
        lambda d, x: -float(np.sum(d.L * x[0])),
        cut_violation,
    ),
    Statement(
        "least nuclear norm, ten equations",
        sensed,
        least_nuclear,
        least_nuclear_oracle,
        lambda d, x: float(np.linalg.norm(x[0], "nuc")),
        lambda d, x: off(d.A @ x[0].ravel() - d.b, d.b),
    ),
    Statement(
        "growth of shares, logarithms",
        returns,
        growth,
        growth_oracle,
        lambda d, x: -float(np.log(d.R @ x[0]).sum()),
        lambda d, x: max(abs(float(x[0].sum()) - 1.0), below(x[0])),
    ),
    Statement(
        "mixtures, rows on simplexes",
        mixtures,
        unmixed,
        unmixed_oracle,
        lambda d, x: float(np.sum((x[0] @ d.A.T - d.Y) ** 2)),
        lambda d, x: max(off(x[0].sum(1) - 1.0, np.ones(10)), below(x[0])),
    ),
    Statement(
        "twelve bounded thrusts",
        start,
        thrust,
        thrust_oracle,
        lambda d, x: float(np.sum(x[0] ** 2) + 0.1 * np.sum(x[1] ** 2)),
        thrust_violation,
    ),
    Statement(
        "cheapest flow, 400 nodes",
        network,
        flow,
        flow_oracle,
        lambda d, x: float(d.c @ x[0]),
        lambda d, x: max(off(d.A @ x[0] - d.b, d.b), below(x[0]), below(-x[0], -d.cap)),
    ),
]
