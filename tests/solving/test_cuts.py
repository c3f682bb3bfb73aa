"""Discrete blocks beside others, by cuts: against enumeration and branch and bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Binary, Box, KBinary, LeastSquares
from ipds.modelling import sum_squares
from ipds.solving import cuts
from ipds.solving.cuts import _around, _cut, is_mixed
from ipds.solving.minima import discrete


def switched(seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """½‖Gx - t‖² + 2·(number of switches that are on), |x_k| ≤ 5 where switch k is."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((30, 8))
    t = G[:, :3] @ [2.0, -1.5, 1.0] + 0.3 * rng.standard_normal(30)
    x, y = Variable(8), Variable(8)
    fit = 0.5 * sum_squares(G @ x - t) + 2.0 * y.sum() + Binary()(y)
    return minimize(fit, [x <= 5 * y, x >= -5 * y]), G, t


def with_switches(G: np.ndarray, t: np.ndarray, on: np.ndarray) -> float:
    columns = G[:, on]
    left = t - columns @ np.linalg.lstsq(columns, t, rcond=None)[0] if on.any() else t
    return 0.5 * float(left @ left) + 2.0 * np.count_nonzero(on)


@pytest.mark.parametrize("seed", range(4))
def test_switches_are_the_best_ones(seed):
    problem, G, t = switched(seed)
    result = solve(problem)
    best = min(with_switches(G, t, np.array(on)) for on in itertools.product([False, True], repeat=8))
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-4)


def test_a_cut_is_below_the_value_everywhere():
    problem, G, t = switched(0)
    at = discrete(problem)
    assert is_mixed(problem, at)
    (i,) = at
    blocks = list(zip(problem.blocks, problem.operators, strict=True))
    on = np.array([1.0, 1, 0, 0, 1, 0, 0, 0])
    fixed = [
        Block(f=b.f, h=Box(on, on) if k == i else b.h, A=A, shape=b.shape) for k, (b, A) in enumerate(blocks)
    ]
    cut = _cut(problem, at, solve(Problem(fixed, problem.b), tol=1e-8))
    assert cut.value == pytest.approx(with_switches(G, t, on == 1), rel=1e-6)
    for other in itertools.product([0.0, 1.0], repeat=8):
        bound = cut.value + (np.array(other) - cut.at) @ cut.slope
        assert bound <= with_switches(G, t, np.array(other) == 1) + 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_lots_are_sized_as_by_branch_and_bound(seed):
    """Stocks and production are solved for; without production in period k nothing is made there."""
    T, rng = 6, np.random.default_rng(seed)
    S, demand = np.tril(np.ones((T, T))), rng.integers(5, 20, T).astype(float)
    most = demand.sum()
    x, stock, y = Variable(T), Variable(T), Variable(T)
    constraints = [x >= 0, stock >= 0, x <= most * y, S @ x - stock == S @ demand]
    result = solve(minimize(25.0 * y.sum() + stock.sum() + Binary()(y), constraints))
    eye, zero = np.eye(T), np.zeros((T, T))
    rows = [
        scipy.optimize.LinearConstraint(np.hstack([S, -eye, zero]), S @ demand, S @ demand),
        scipy.optimize.LinearConstraint(np.hstack([eye, zero, -most * eye]), -np.inf, 0.0),
    ]
    best = scipy.optimize.milp(
        np.repeat([0.0, 1.0, 25.0], T),
        constraints=rows,
        integrality=np.repeat([0, 0, 1], T),
        bounds=scipy.optimize.Bounds(0.0, np.repeat([np.inf, np.inf, 1.0], T)),
    )
    assert result.success
    assert result.fun == pytest.approx(best.fun, rel=1e-4)


def test_points_next_to_a_point(monkeypatch):
    problem = Problem(
        [
            Block(h=Binary(-1.0, 1.0), A=np.eye(5)[:, :2], shape=2),
            Block(h=KBinary(1), A=np.eye(5)[:, 2:], shape=3),
            Block(f=LeastSquares(np.eye(5), np.ones(5)), h=L1(1.0), shape=5),
        ]
    )
    y = np.array([-1.0, 1.0, 0.0, 1.0, 0.0])
    signs, choices = list(itertools.product([-1.0, 1.0], repeat=2)), [tuple(row) for row in np.eye(3)]
    every = {(*s, *c) for s in signs for c in choices}
    rings = [{tuple(point) for point in ring} for ring in _around(problem, [0, 1], y)]
    assert set().union(*rings) == every - {tuple(y)}
    three = {(1.0, -1.0, *c) for c in choices if c != (0.0, 1.0, 0.0)}
    assert rings[2] == three
    assert rings[0] == {point for point in every if point[:2] != (1.0, -1.0)} - rings[1] - {tuple(y)}
    assert len(rings[0]) == 4
    monkeypatch.setattr(cuts, "POINTS", 4 + 6)
    assert len(list(_around(problem, [0, 1], y))) == 2
