"""Entries with a price (ℓ0): those that are not worth it leave, others join, knots move to better places."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L0, L1, LeastSquares, NonNegative
from ipds.modelling import sum_squares


def least_with_bends(y: np.ndarray, price: float) -> float:
    """By exchanges of all knots of a broken line, from none: a strong local search."""
    t = np.arange(len(y))

    def value(knots: list[int]) -> float:
        basis = np.column_stack([np.ones(len(y)), t, *(np.maximum(t - k, 0) for k in knots)])
        return 0.5 * float(np.sum((y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]) ** 2)) + price * len(
            knots
        )

    knots: list[int] = []
    best = value(knots)
    while True:
        rest = [k for k in range(1, len(y) - 1) if k not in knots]
        near = [[*knots, k] for k in rest] + [[a for a in knots if a != k] for k in knots]
        near += [[*(a for a in knots if a != out), k] for out in knots for k in rest]
        lowest, choice = min((value(other), other) for other in near)
        if lowest > best - 1e-9:
            return best
        best, knots = lowest, choice


@pytest.mark.parametrize("seed", range(3))
def test_a_trend_with_few_bends(seed):
    rng = np.random.default_rng(seed)
    y = np.interp(np.arange(40), [0, 13, 27, 39], [0, 5, -3, 2]) + 0.2 * rng.normal(size=40)
    x, D = Variable(40, name="x"), np.diff(np.eye(40), 2, axis=0)
    result = solve(minimize(0.5 * sum_squares(x - y) + 2.0 * L0(1.0)(D @ x)), seed=0)
    found = result.value(x)
    value = 0.5 * np.sum((found - y) ** 2) + 2.0 * np.count_nonzero(np.abs(D @ found) > 1e-7)
    assert result.success
    assert value <= least_with_bends(y, 2.0) * (1 + 1e-6)


def least_with_steps(y: np.ndarray, price: float) -> float:
    """min ½‖x - y‖² + price·#steps over x ≥ 0, by dynamic programming."""
    best = [-price]
    for r in range(1, len(y) + 1):
        levels = [(best[k], y[k:r], max(float(np.mean(y[k:r])), 0.0)) for k in range(r)]
        best.append(min(start + price + 0.5 * float(np.sum((part - m) ** 2)) for start, part, m in levels))
    return best[-1]


def test_steps_of_a_nonnegative_signal():
    rng = np.random.default_rng(5)
    y = np.repeat([2.0, -0.5, 1.0, 3.0], 12) + 0.3 * rng.normal(size=48)
    D = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(47, 48))
    f = LeastSquares(sp.eye_array(48), y)
    problem = Problem([Block(f=f, h=NonNegative(), A=-D, shape=48), Block(h=L0(2.0), shape=47)])
    result = solve(problem, seed=0)
    x = result.x[0]
    value = 0.5 * np.sum((x - y) ** 2) + 2.0 * np.count_nonzero(np.abs(np.diff(x)) > 1e-7)
    assert result.success
    assert value == pytest.approx(least_with_steps(y, 2.0), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_zero_is_left_where_an_entry_is_worth_its_price(seed):
    """x = 0 is a minimum of every ℓ0 penalty."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(60, 15))
    y = 3.0 * G[:, 1] - 2.0 * G[:, 6] + 0.2 * rng.normal(size=60)
    y[:5] += 20.0
    result = solve(Problem([Block(h=L0(10.0), A=-G, shape=15), Block(h=L1(1.0), shape=60)], b=-y), seed=0)
    assert result.success
    assert np.flatnonzero(result.x[0]).tolist() == [1, 6]
