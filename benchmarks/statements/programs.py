"""Programs: linear, quadratic, entropic; portfolios, transport, designs."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Block, Problem
from ipds.functions import (
    L1,
    Affine,
    Box,
    Linear,
    NonNegative,
    Quadratic,
    Separable,
    Simplex,
    Translated,
)
from ipds.operators import FlatStack, SumOver

from .statement import Answer, Data, Statement, below, cvx, linear_program, off


def random_lp(seed: int, m: int, n: int) -> Data:
    """Feasible and bounded: c = Aᵀy + s with s ≥ 0 complementary to a point x ≥ 0."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    basic = rng.random(n) < 0.3
    x, s = np.where(basic, rng.random(n), 0.0), np.where(basic, 0.0, rng.random(n))
    return Data(A=A, b=A @ x, c=A.T @ rng.standard_normal(m) + s, n=n, m=m)


def lp(d: Data) -> Problem:
    return Problem([Block(f=Linear(d.c), h=NonNegative(), A=d.A, shape=d.n)], b=d.b)


def lp_affine(d: Data) -> Problem:
    return Problem(
        [Block(f=Linear(d.c), h=NonNegative(), A=-1.0, shape=d.n), Block(h=Affine(d.A, d.b), shape=d.n)]
    )


def lp_stacked(d: Data) -> Problem:
    """x ≥ 0 by a copy, A x = b by its rows: two equations, one below the other."""
    A = sp.vstack([sp.csr_array(d.A), sp.eye_array(d.n)])
    copy = sp.vstack([sp.csr_array((d.m, d.n)), -sp.eye_array(d.n)])
    return Problem(
        [Block(f=Linear(d.c), A=A, shape=d.n), Block(h=NonNegative(), A=copy, shape=d.n)],
        b=np.concatenate([d.b, np.zeros(d.n)]),
    )


def lp_separable(d: Data) -> Problem:
    """One block u = (A x, x) with two functions."""
    A = sp.vstack([sp.csr_array(d.A), sp.eye_array(d.n)])
    h = Separable([(slice(0, d.m), Box(d.b, d.b)), (slice(d.m, d.m + d.n), NonNegative())])
    return Problem([Block(f=Linear(d.c), A=-A, shape=d.n), Block(h=h, shape=d.m + d.n)])


def lp_oracle(d: Data) -> Answer:
    return linear_program(d.c, A_eq=d.A, b_eq=d.b, bounds=(0, None))


def lp_value(d: Data, x: Any) -> float:
    return float(d.c @ x[0])


def lp_violation(d: Data, x: Any) -> float:
    return max(off(d.A @ x[0] - d.b, d.b), below(x[0]))


def inequalities(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((80, 30))
    x = rng.standard_normal(30)
    tight = rng.random(80) < 0.35
    y = np.where(tight, rng.random(80), 0.0)
    return Data(A=A, b=A @ x + np.where(tight, 0.0, rng.random(80)), c=-A.T @ y)


def lp_slack(d: Data) -> Problem:
    return Problem([Block(f=Linear(d.c), A=d.A, shape=30), Block(h=NonNegative(), shape=80)], b=d.b)


def lp_slack_oracle(d: Data) -> Answer:
    return linear_program(d.c, A_ub=d.A, b_ub=d.b, bounds=(None, None))


def transport_data(seed: int, n: int) -> Data:
    rng = np.random.default_rng(seed)
    a, b = rng.random(n), rng.random(n)
    C = (rng.random((n, 1)) - rng.random((1, n))) ** 2
    return Data(a=a / a.sum(), b=b / b.sum(), C=C, n=n)


def densities(seed: int) -> Data:
    """Two normal densities on a grid, with tails of all orders of magnitude."""
    rng, t = np.random.default_rng(seed), np.linspace(0, 1, 30)
    middles = np.array([0.2, 0.8]) + 0.05 * rng.standard_normal(2)
    a, b = (np.exp(-(((t - middle) / 0.1) ** 2)) for middle in middles)
    return Data(a=a / a.sum(), b=b / b.sum(), C=np.subtract.outer(t, t) ** 2, n=30)


def transport(d: Data) -> Problem:
    """A plan P ≥ 0 with given sums of rows and columns."""
    shape = (d.n, d.n)
    A = FlatStack([SumOver(shape, axis=1), SumOver(shape, axis=0)], shape)
    return Problem([Block(f=Linear(d.C), h=NonNegative(), A=A, shape=shape)], b=np.concatenate([d.a, d.b]))


def transport_oracle(d: Data) -> Answer:
    rows = sp.kron(sp.eye_array(d.n), np.ones((1, d.n)))
    columns = sp.kron(np.ones((1, d.n)), sp.eye_array(d.n))
    right = np.concatenate([d.a, d.b])
    return linear_program(d.C.ravel(), A_eq=sp.vstack([rows, columns]).tocsr(), b_eq=right, bounds=(0, None))


def transport_violation(d: Data, x: Any) -> float:
    P = x[0]
    return max(off(P.sum(1) - d.a, d.a), off(P.sum(0) - d.b, d.b), below(P))


def returns(seed: int, n: int) -> Data:
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, max(3, n // 10)))
    S = F @ F.T / n + np.diag(0.1 + rng.random(n))
    return Data(S=S, mu=0.3 * rng.standard_normal(n), held=np.full(n, 1 / n), n=n, cost=0.02)


def costs(d: Data) -> Problem:
    """Markowitz with costs of trading: w ≥ 0, Σ w = 1, a copy t of w with λ‖t - held‖₁."""
    n = d.n
    A = sp.vstack([np.ones((1, n)), sp.eye_array(n)])
    copy = sp.vstack([sp.csr_array((1, n)), -sp.eye_array(n)])
    trade = Translated(L1(d.cost), d.held)
    return Problem(
        [
            Block(f=Quadratic(d.S, -d.mu), h=NonNegative(), A=A, shape=n),
            Block(h=trade, A=copy, shape=n),
        ],
        b=np.concatenate([[1.0], np.zeros(n)]),
    )


def costs_oracle(d: Data) -> Answer:
    w = cp.Variable(d.n)
    risk = 0.5 * cp.quad_form(w, cp.psd_wrap(d.S)) - d.mu @ w
    return cvx(risk + d.cost * cp.norm1(w - d.held), [w >= 0, cp.sum(w) == 1])


def costs_value(d: Data, x: Any) -> float:
    w = x[0]
    return float(0.5 * w @ d.S @ w - d.mu @ w + d.cost * np.abs(w - d.held).sum())


def budget(d: Data, x: Any) -> float:
    return max(abs(float(x[0].sum()) - 1.0), below(x[0]))


def long_only(d: Data) -> Problem:
    return Problem([Block(f=Quadratic(d.S, -d.mu), h=Simplex(), shape=d.n)])


def long_only_oracle(d: Data) -> Answer:
    w = cp.Variable(d.n)
    return cvx(0.5 * cp.quad_form(w, cp.psd_wrap(d.S)) - d.mu @ w, [w >= 0, cp.sum(w) == 1])


def long_only_value(d: Data, x: Any) -> float:
    return float(0.5 * x[0] @ d.S @ x[0] - d.mu @ x[0])


def box_data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((120, 80))
    return Data(Q=B.T @ B / 120, c=rng.standard_normal(80), A=rng.standard_normal((20, 80)))


def box_qp(d: Data) -> Problem:
    return Problem([Block(f=Quadratic(d.Q, d.c), h=Box(-0.5, 0.5), shape=80)])


def box_qp_oracle(d: Data) -> Answer:
    x = cp.Variable(80)
    return cvx(0.5 * cp.quad_form(x, cp.psd_wrap(d.Q)) + d.c @ x, [cp.abs(x) <= 0.5])


def qp_value(d: Data, x: Any) -> float:
    return float(0.5 * x[0] @ d.Q @ x[0] + d.c @ x[0])


def qp(d: Data) -> Problem:
    """Inequalities A x ≤ 1 by a slack, bounds on x."""
    return Problem(
        [
            Block(f=Quadratic(d.Q, d.c), h=Box(-1.0, 1.0), A=d.A, shape=80),
            Block(h=NonNegative(), A=1.0, shape=20),
        ],
        b=1.0,
    )


def qp_oracle(d: Data) -> Answer:
    x = cp.Variable(80)
    return cvx(0.5 * cp.quad_form(x, cp.psd_wrap(d.Q)) + d.c @ x, [cp.abs(x) <= 1, d.A @ x <= 1])


def centre_data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 8))
    return Data(A=A, b=1 + rng.random(40), norms=np.linalg.norm(A, axis=1))


def centre(d: Data) -> Problem:
    """The largest ball inside {A x ≤ b}: max r with A x + r‖a_i‖ ≤ b."""
    return Problem(
        [
            Block(A=d.A, shape=8, name="x"),
            Block(f=Linear(-1.0), h=NonNegative(), A=d.norms[:, None], shape=1, name="r"),
            Block(h=NonNegative(), shape=40, name="slack"),
        ],
        b=d.b,
    )


def centre_oracle(d: Data) -> Answer:
    rows = np.column_stack([d.A, d.norms])
    return linear_program(
        np.append(np.zeros(8), -1.0), A_ub=rows, b_ub=d.b, bounds=[(None, None)] * 8 + [(0, None)]
    )


def centre_violation(d: Data, x: Any) -> float:
    return below(d.b - d.A @ x[0] - x[1][0] * d.norms)


STATEMENTS = [
    Statement("LP 40x100, equation", lambda s: random_lp(s, 40, 100), lp, lp_oracle, lp_value, lp_violation),
    Statement(
        "LP 40x100, by Affine", lambda s: random_lp(s, 40, 100), lp_affine, lp_oracle, lp_value, lp_violation
    ),
    Statement(
        "LP 40x100, stacked", lambda s: random_lp(s, 40, 100), lp_stacked, lp_oracle, lp_value, lp_violation
    ),
    Statement(
        "LP 40x100, one Separable",
        lambda s: random_lp(s, 40, 100),
        lp_separable,
        lp_oracle,
        lp_value,
        lp_violation,
    ),
    Statement(
        "LP 150x400, equation", lambda s: random_lp(s, 150, 400), lp, lp_oracle, lp_value, lp_violation
    ),
    Statement(
        "LP with inequalities",
        inequalities,
        lp_slack,
        lp_slack_oracle,
        lp_value,
        lambda d, x: below(d.b - d.A @ x[0]),
    ),
    Statement(
        "transport 15x15",
        lambda s: transport_data(s, 15),
        transport,
        transport_oracle,
        lambda d, x: float(np.sum(d.C * x[0])),
        transport_violation,
    ),
    Statement(
        "transport of a density",
        densities,
        transport,
        transport_oracle,
        lambda d, x: float(np.sum(d.C * x[0])),
        transport_violation,
    ),
    Statement(
        "transport 50x50",
        lambda s: transport_data(s, 50),
        transport,
        transport_oracle,
        lambda d, x: float(np.sum(d.C * x[0])),
        transport_violation,
    ),
    Statement("Markowitz with costs, 50", lambda s: returns(s, 50), costs, costs_oracle, costs_value, budget),
    Statement(
        "Markowitz with costs, 300", lambda s: returns(s, 300), costs, costs_oracle, costs_value, budget
    ),
    Statement(
        "Markowitz, simplex", lambda s: returns(s, 100), long_only, long_only_oracle, long_only_value, budget
    ),
    Statement("QP in a box", box_data, box_qp, box_qp_oracle, qp_value),
    Statement("QP with inequalities", box_data, qp, qp_oracle, qp_value, lambda d, x: below(1 - d.A @ x[0])),
    Statement(
        "Chebyshev centre", centre_data, centre, centre_oracle, lambda d, x: -float(x[1][0]), centre_violation
    ),
]
