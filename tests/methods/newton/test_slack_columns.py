"""Slack columns leave the matrix: K without them, with softer rows, solves with the K that they are part of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
import scipy.sparse as sp

from ipds import Variable, minimize, solve
from ipds.methods.newton import cost
from ipds.methods.newton.algebra import Rows, System
from ipds.methods.newton.slack_columns import Softened, slacks_of
from ipds.methods.newton.weights import Weights
from ipds.modelling import hinge, sum_squares

EPS = 1e-6
ROWS, FEW = 120, 15
none = np.empty(0, int)
rng = np.random.default_rng(0)


def stated(is_sparse: bool, sides: int = 1) -> tuple[np.ndarray, int]:
    """[G, ±a …]: a slack in every row for each side."""
    slacks = [sign * np.diag(rng.uniform(0.5, 2.0, ROWS)) for sign in (1.0, -1.0)[:sides]]
    G = np.hstack([rng.standard_normal((ROWS, FEW)), *slacks])
    G = G[:, rng.permutation(G.shape[1])]
    return (sp.csr_array(G) if is_sparse else G), G.shape[1]


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("curved", [False, True])
def test_softer_rows_solve_with_the_whole_matrix(is_sparse, sides, curved):
    G, n = stated(is_sparse, sides)
    weights = 10.0 ** rng.uniform(-6, 6, ROWS) * (rng.random(ROWS) < 0.8)
    W = Weights(weights, ROWS, none, none, np.empty(0), np.empty(0))
    dense = G.toarray() if is_sparse else G
    Q = None
    if curved:  # where no slack is
        Q = np.zeros((n, n))
        many = np.flatnonzero(np.count_nonzero(dense, axis=0) > 1)
        Q[np.ix_(many, many)] = np.eye(len(many)) + 0.1
    system = System(Q, None, Rows(G, none, n), W)
    assert isinstance(system.strategy, Softened)
    assert isinstance(system.strategy.inner, Softened) == (sides == 2)
    K = EPS * np.eye(n) + dense.T @ (weights[:, None] * dense) + (0.0 if Q is None else Q)
    factor, a, b = system.factor(np.empty(0), None, W, EPS), rng.standard_normal(n), rng.standard_normal(ROWS)
    x = factor.refined(a)
    assert np.linalg.norm(K @ x - a) <= 1e-9 * np.linalg.norm(K, 2) * np.linalg.norm(x)
    dv, dy = factor.saddle(a, b, 1e-12, 5)
    left = EPS * dv + dense.T @ dy - a + (0.0 if Q is None else Q @ dv)
    assert np.linalg.norm(left) <= 1e-8 * np.linalg.norm(a)
    on = weights > 0
    assert np.allclose((dense @ dv - b)[on], dy[on] / weights[on], atol=1e-7 * np.abs(dv).max())


def test_columns_that_are_few_or_bent_stay():
    G, n = stated(True)
    assert slacks_of(n, np.eye(n) + 0.1, [G]) is None
    assert slacks_of(n, None, [rng.standard_normal((ROWS, n))]) is None
    assert slacks_of(n, None, [G, np.ones((1, n))]) is None
    assert slacks_of(n, None, []) is None
    assert slacks_of(n, None, [sp.eye_array(n, format="csr")]) is None  # rows that pick entries
    assert cost._without_slacks(n, [(sp.eye_array(n, format="csr"), 0)])[0] == n


def test_expected_shortfall_with_a_slack_for_every_scenario():
    """A K of 3,021 columns was first-order steps' for its size; without slacks it has 21."""
    n, scenarios = 20, 3000
    R = 0.01 * rng.standard_normal((scenarios, n)) + 0.002 * rng.random(n)
    x, worst, beyond = Variable(n, name="x"), Variable(name="worst"), Variable(scenarios, name="beyond")
    problem = minimize(
        worst + 0.004 * beyond.sum(),
        [beyond >= 0, beyond + R @ x + np.ones(scenarios) * worst >= 0, x.sum() == 1, x >= 0],
    )
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.method.startswith("auto: NewtonALM")
    assert result.nit < 60
    c = np.r_[np.zeros(n), 1.0, np.full(scenarios, 0.004)]
    rows = sp.hstack([sp.csr_array(-R), -np.ones((scenarios, 1)), -sp.eye_array(scenarios)])
    found = scipy.optimize.linprog(
        c,
        A_ub=rows,
        b_ub=np.zeros(scenarios),
        A_eq=np.r_[np.ones(n), np.zeros(scenarios + 1)][None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)] + [(0, None)] * scenarios,
    )
    assert result.fun == pytest.approx(found.fun, rel=1e-6)


def test_slacks_are_not_part_of_the_price():
    G, n = stated(True)
    left, maps = cost._without_slacks(n, [(G, 0)])
    assert left == FEW
    assert maps[0][0].shape == (ROWS, FEW)
    full = np.ones((ROWS, n))
    assert cost._without_slacks(n, [(full, 0)]) == (n, [(full, 0)])


def test_support_vectors_by_slacks():
    m, n = 120, 4
    X = rng.standard_normal((m, n)) * np.array([1e-3, 1.0, 1e3, 10.0])
    y = np.sign(X[:, 1] + 0.3 * rng.standard_normal(m))
    w, b, p = Variable(n, name="w"), Variable(name="b"), Variable(m, name="p")
    unit = X.std(axis=0)
    by_slacks = minimize(
        0.5 * sum_squares(unit * w) + 2.0 * p.sum(), [p >= 0, p + y * (X @ w + b) >= np.ones(m)]
    )
    by_hinge = minimize(0.5 * sum_squares(unit * w) + 2.0 * hinge(y * (X @ w + b)))
    assert solve(by_slacks, tol=1e-6).fun == pytest.approx(solve(by_hinge, tol=1e-6).fun, rel=1e-6)
