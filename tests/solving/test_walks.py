"""Walks over discrete sets: what flips come to against the objective itself, where they end against other solvers."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    Binary,
    Box,
    KBinary,
    LeastSquares,
    Linear,
    NonNegative,
    Quadratic,
    SumSquares,
    smooth,
)
from ipds.modelling import quad_form, sum_squares, term
from ipds.solving.flips import Merit, follower
from ipds.solving.walks import _ground, walked


def knapsack(seed: int, n: int, m: int) -> tuple[Problem, float]:
    """max vᵀx over 0-1 vectors with A x ≤ c, and its value by branch and bound."""
    rng = np.random.default_rng(seed)
    v, A = rng.integers(5, 40, n).astype(float), rng.integers(3, 30, (m, n)).astype(float)
    c = 0.4 * A.sum(axis=1)
    problem = Problem([Block(f=Linear(-v), h=Binary(), A=A, shape=n), Block(h=NonNegative(), shape=m)], b=c)
    room = scipy.optimize.LinearConstraint(A, -np.inf, c)
    best = scipy.optimize.milp(
        -v, constraints=room, integrality=np.ones(n), bounds=scipy.optimize.Bounds(0, 1)
    )
    return problem, float(best.fun)


def cases():
    rng = np.random.default_rng(1)
    G, y, W = rng.standard_normal((6, 5)), rng.standard_normal(6), rng.standard_normal((5, 5))
    last = {"free": SumSquares(0.5), "deviations": L1(2.0), "bounds": Box(-1.0, 2.0)}
    signs, some = Binary(-1.0, 1.0), KBinary(2)
    yield "alone", Problem([Block(f=Quadratic(W + W.T), h=signs, shape=5)])
    yield "fit", Problem([Block(f=LeastSquares(G, y), h=some, shape=5)])
    for (name, h), own in itertools.product(last.items(), (signs, some)):
        u = Block(h=h, A=-2.0, shape=6)
        yield f"{name} {own}", Problem([Block(f=Linear(y[:5]), h=own, A=G, shape=5), u], b=y)
    bounded = Block(f=Quadratic(W + W.T), h=Box(-2.0, 2.0), A=-1.0, shape=5)
    yield "f on the copy", Problem([Block(h=signs, shape=5), bounded])


@pytest.mark.parametrize(("name", "problem"), list(cases()))
def test_what_flips_come_to(name, problem):
    block = problem.blocks[0]
    x = block.h.prox(np.array([0.3, 1.2, -0.4, 0.9, 0.1]), 1.0)
    merit = Merit(problem, follower(problem) if len(problem.blocks) > 1 else None)
    full = merit.restored((x, *[np.zeros(b.shape) for b in problem.blocks[1:]]))
    ground, g = _ground(problem, 0, merit.follower, full)
    u = full[1] if len(full) > 1 else np.zeros(0)
    before = merit(full)
    left, rise, moves = ground.flips(x, u, g)
    assert moves.shape == ((2, 6) if isinstance(block.h, KBinary) else (1, 5))
    for k, entries in enumerate(moves.T):
        other = x.copy()
        other[entries] = sum(ground.values) - other[entries]
        assert block.h(other) == 0
        expected = merit((other, *full[1:]))
        assert left[k] == pytest.approx(expected[0], abs=1e-9)
        assert rise[k] == pytest.approx(expected[1] - before[1], abs=1e-9)


@pytest.mark.parametrize(("name", "problem"), list(cases()))
def test_the_best_of_few_points(name, problem):
    block = problem.blocks[0]
    merit = Merit(problem, follower(problem) if len(problem.blocks) > 1 else None)
    start = (block.h.prox(np.zeros(5), 1.0), np.zeros(6))[: len(problem.blocks)]
    found = walked(problem, start, lambda: False)
    low = -1.0 if isinstance(block.h, Binary) else 0.0
    points = [np.array(p) for p in itertools.product([low, 1.0], repeat=5)]
    every = [merit((p, *start[1:])) for p in points if block.h(p) == 0]
    assert merit(found) == pytest.approx(min(every), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_knapsacks_of_several_rows_are_the_best_ones(seed):
    problem, best = knapsack(seed, 25, 3)
    result = solve(problem, seed=0)
    assert result.success
    assert result.fun == pytest.approx(best, abs=1e-6)
    assert result.starts <= 8


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_cut(seed):
    """Of 40 nodes, against 300 descents from random points."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((40, 40)) < 0.3, 1).astype(float)
    W = W + W.T
    best = 0.0
    for _ in range(300):
        x = rng.choice([-1.0, 1.0], 40)
        while (change := -x * (W @ x)).min() < 0:
            x[np.argmin(change)] *= -1
        best = min(best, 0.5 * x @ W @ x)
    result = solve(Problem([Block(f=Quadratic(W), h=Binary(-1.0, 1.0), shape=40)]), seed=0)
    assert result.success
    assert result.fun <= best


def test_other_forms_are_left_to_exchanges():
    exponential = Block(f=Linear(np.ones(3)), h=Binary(), shape=3)
    two = Problem([exponential, Block(h=Binary(), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    assert walked(two, (np.zeros(3),) * 3, lambda: False) is None
    problem, _ = knapsack(0, 25, 1)
    start = (np.zeros(25), problem.b)
    np.testing.assert_array_equal(walked(problem, start, lambda: True)[0], 0.0)  # no time
    assert not start[0].any()


@pytest.mark.parametrize("seed", range(3))
def test_assignments_are_exchanged_two_for_two(seed):
    """No flip of one or two entries keeps the sums of rows and columns."""
    rng = np.random.default_rng(seed)
    n = 5
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    X = Variable((n, n), name="X")
    sums = [X.sum(axis=0) == 1, X.sum(axis=1) == 1]
    result = solve(minimize(sum_squares(X @ a - b) + Binary()(X), sums), seed=0)
    assert result.success
    assert result.fun == pytest.approx(np.sum((np.sort(a) - np.sort(b)) ** 2))
    Q = rng.standard_normal((n * n, n * n))
    result = solve(minimize(quad_form(X.ravel(), Q + Q.T) + Binary()(X), sums), seed=0)
    points = (np.eye(n)[list(order)].ravel() for order in itertools.permutations(range(n)))
    assert result.fun == pytest.approx(min(2 * v @ Q @ v for v in points))


def test_columns_that_are_alike_take_no_room_for_all_pairs_of_pairs():
    n = 120
    two = np.kron(np.eye(2), np.ones(n // 2))
    x = np.tile(np.arange(n // 2) < n // 4, 2).astype(float)
    W = np.random.default_rng(0).standard_normal((n, n))
    block = Block(f=Quadratic(W + W.T), h=Binary(), A=two, shape=n)
    sums = Block(h=Box(n / 4, n / 4), A=-1.0, shape=2)
    ground, g = _ground(Problem([block, sums]), 0, 1, (x, two @ x))
    tracemalloc.start()
    found = ground.balanced(x, g, lambda: False)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(two @ found, two @ x)
    assert most < 1e8


def test_quadratics_of_fewer_rows_than_entries_are_walked():
    rng = np.random.default_rng(0)
    G = rng.standard_normal((6, 14))
    problem = Problem([Block(f=LeastSquares(G, G @ rng.choice([0.0, 1.0], 14)), h=Binary(), shape=14)])
    (x,) = walked(problem, (np.zeros(14),), lambda: False)
    assert problem.objective((x,)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_assignments_under_a_function_of_ones_own_are_exchanged_by_four(seed):
    rng = np.random.default_rng(seed)
    A, B = (W + W.T for W in rng.uniform(0, 1, (2, 5, 5)))
    X = Variable((5, 5))
    f = smooth(lambda X: float(np.sum(A * (X @ B @ X.T))), lambda X: 2 * A @ X @ B)
    result = solve(minimize(term(f, X) + Binary()(X), [X.sum(axis=0) == 1, X.sum(axis=1) == 1]), seed=0)
    orders = map(list, itertools.permutations(range(5)))
    assert result.fun == pytest.approx(min(float(np.sum(A * B[np.ix_(p, p)])) for p in orders))
