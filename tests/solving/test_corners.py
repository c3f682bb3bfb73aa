"""Corners: minima of what is concave between places are found among them, and certified there."""

import itertools

import numpy as np
import pytest

import ipds.solving.restarts as restarts
from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L0, L1, MCP, Box, CappedL1, LHalf, LogSum, Nonsmooth, Quadratic, Sum
from ipds.modelling import norm1, sum_squares, term
from ipds.solving.corners import lowest_corner
from ipds.solving.restarts import at_corner
from ipds.solving.starts import TRIALS
from problems import Missed


def never():
    return False


def basic_solutions(A, b):
    m, n = A.shape
    for support in itertools.combinations(range(n), m):
        x = np.zeros(n)
        x[list(support)] = np.linalg.solve(A[:, support], b)
        yield x


@pytest.mark.parametrize("h", [LHalf(2.0), LogSum(1.0, 0.3), CappedL1(1.0, 0.8), MCP(1.0, 1.5)], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_concave_penalties_under_an_equation_end_at_the_best_basic_solution(h, seed):
    rng = np.random.default_rng(seed)
    A, b, x = rng.standard_normal((4, 9)), rng.standard_normal(4), Variable(9)
    result = solve(minimize(h(x), [A @ x == b]))
    best = min(h(v) for v in basic_solutions(A, b))
    assert result.success
    assert h(result.value(x)) <= best * (1 + 1e-5)
    assert np.allclose(A @ result.value(x), b, atol=1e-5)


def test_robust_losses_of_few_unknowns_end_at_the_best_of_all_exact_fits():
    rng = np.random.default_rng(1)
    G = np.c_[np.ones(25), rng.uniform(-1, 1, 25)]
    y = G @ [1.0, 2.0] + 0.1 * rng.standard_normal(25)
    y[:9] = 3 - 3 * G[:9, 1] + rng.standard_normal(9)
    h, x = CappedL1(1.0, 0.5), Variable(2)
    fits = (np.linalg.solve(G[list(s)], y[list(s)]) for s in itertools.combinations(range(25), 2))
    result = solve(minimize(h(G @ x - y)))
    assert result.success
    assert h(G @ result.value(x) - y) <= min(h(G @ v - y) for v in fits) * (1 + 1e-6)


class Errors:
    """#{u < 1}, known by its value and its prox alone."""

    def __call__(self, u):
        return float(np.sum(u < 1 - 1e-9))

    def prox(self, v, step):
        return np.where((v < 1) & ((1 - v) ** 2 < 2 * step), 1.0, v)


def test_errors_counted_by_an_own_function_are_not_left_where_all_are_errors():
    """Zero is critical, as every point is near which the count is constant."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((20, 2))
    A = np.sign(G @ rng.standard_normal(2) + 0.6 * rng.standard_normal(20))[:, None] * G
    x = Variable(2)
    result = solve(minimize(term(Errors(), A @ x), [x >= -5, x <= 5]))
    edges, ends = np.r_[A, np.eye(2)], [[1.0]] * 20 + [[5.0, -5.0]] * 2
    points = (
        np.linalg.solve(edges[list(s)], aim)
        for s in itertools.combinations(range(22), 2)
        for aim in itertools.product(*(ends[k] for k in s))
    )
    best = min(np.sum(A @ v < 1 - 1e-6) for v in points if np.abs(v).max() <= 5 + 1e-9)
    assert result.success
    assert np.sum(A @ result.value(x) < 1 - 1e-6) <= best


def test_concave_functions_on_polyhedra_end_at_the_best_corner():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A, b, c, x = rng.uniform(0, 1, (7, 4)), rng.uniform(1, 2, 7), rng.standard_normal(4), Variable(4)
        result = solve(minimize(-sum_squares(x - c), [x >= 0, A @ x <= b]))
        rows, ends, best = np.r_[A, -np.eye(4)], np.r_[b, np.zeros(4)], 0.0
        for s in map(list, itertools.combinations(range(11), 4)):
            v = np.linalg.solve(rows[s], ends[s])
            best = min(best, -np.sum((v - c) ** 2)) if np.all(rows @ v <= ends + 1e-9) else best
        assert result.success
        assert -np.sum((result.value(x) - c) ** 2) <= best * (1 - 1e-3)


def test_counts_beside_absolute_residuals_and_bounds():
    rng = np.random.default_rng(3)
    G, x = rng.standard_normal((15, 5)), Variable(5)
    y = G @ [2.0, 0.0, -1.0, 0.0, 0.0] + 0.3 * rng.standard_normal(15)
    problem = minimize(norm1(G @ x - y) + L0(3.0)(x), [x <= 1.5, x >= -1.5])
    corner = lowest_corner(problem, [np.zeros(b.shape) for b in problem.blocks], never)
    assert corner is not None
    assert np.max(np.abs(corner.x[0])) <= 1.5
    assert corner.value == pytest.approx(np.abs(G @ corner.x[0] - y).sum() + 3 * np.sum(corner.x[0] != 0))
    assert solve(problem).fun <= corner.value * (1 + 1e-6)


def test_functions_that_bend_upwards_have_no_corners():
    blocks = [Block(h=LHalf(1.0), A=np.ones((1, 3)), shape=3), Block(f=Quadratic(1.0), shape=1)]
    assert lowest_corner(Problem(blocks, b=np.ones(1)), (np.zeros(3), np.zeros(1)), never) is None


SQUARE = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("h", [LHalf(1.0), L0(1.0)], ids=repr)
@pytest.mark.parametrize(("A", "x"), [(SQUARE, [0.2, 0.6]), (np.zeros((2, 2)), [0.0, 0.0])])
def test_a_corner_without_neighbours(h, A, x):
    """An equation that leaves no choice has one corner, and one that says nothing a single basis, that of no entry."""
    problem = Problem([Block(h=h, A=A, shape=2)], b=A @ x)
    assert np.allclose(lowest_corner(problem, (np.ones(2),), never).x[0], x)
    result = solve(problem)
    assert result.success
    assert np.allclose(result.x[0], x, atol=1e-6)


def test_nothing_bends_and_the_equation_leaves_no_choice():
    problem = Problem([Block(f=Quadratic(-1.0), A=SQUARE, shape=2)], b=np.array([1.0, 2.0]))
    assert lowest_corner(problem, (np.zeros(2),), never) is None
    result = solve(problem, tol=1e-8, seed=0)
    assert result.success
    assert np.allclose(result.x[0], [0.2, 0.6], atol=1e-6)


@pytest.mark.parametrize(
    "error", [np.linalg.LinAlgError("singular"), ValueError("empty"), OverflowError("large")]
)
def test_an_answer_is_not_lost_to_a_search_for_a_better_one(monkeypatch, error):
    def fails(*_):
        raise error

    monkeypatch.setattr(restarts, "lowest_corner", fails)
    A, b, x = np.array([[1.0, 2.0, 2.0], [1.0, 3.0, -1.0]]), np.array([2.0, 3.0]), Variable(3)
    result = solve(minimize(LHalf(1.0)(x), [A @ x == b]))
    assert result.success
    assert np.allclose(A @ result.value(x), b, atol=1e-5)


def test_corners_have_the_precision_of_the_problem():
    A, b = np.array([[1.0, 2.0, 2.0], [1.0, 3.0, -1.0]], np.float32), np.array([2.0, 3.0], np.float32)
    result = solve(Problem([Block(h=Sum(L0(1.0), Box(0.0, 4.0)), A=A, shape=3)], b=b))
    assert result.success
    assert np.allclose(result.x[0], [0, 1, 0], atol=1e-6)
    assert {v.dtype for v in (*result.x, result.z)} == {np.dtype(np.float32)}


class Capped:
    """Σ min(|x|, 1), known by its value and its prox alone, which counts how often its value is asked for."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return float(np.sum(np.minimum(np.abs(x), 1)))

    def prox(self, v, step):
        near = np.sign(v) * np.maximum(np.abs(v) - step, 0)
        lower = 0.5 * (near - v) ** 2 + step * np.minimum(np.abs(near), 1) <= step * np.minimum(np.abs(v), 1)
        return np.where(lower, near, v)


def test_own_functions_are_not_asked_more_often_than_a_search_looks_at_points():
    rng = np.random.default_rng(0)
    A, h = rng.standard_normal((20, 40)), Capped()
    problem = Problem([Block(h=h, A=A, shape=40)], b=A[:, :5].sum(axis=1))
    first = solve(problem, [np.zeros(40)], max_iter=100)
    h.calls = 0
    at_corner(problem, first, lambda *_: first, 1e-4, None, 0)
    assert TRIALS / 2 < h.calls <= TRIALS + 1000


class SubclassErrors(Errors, Nonsmooth):
    """The same of a class of this library."""


def test_a_subclass_of_the_callers_is_as_much_his_own_as_any_object():
    """Lines that part labelled points, with the fewest on the wrong side."""
    rng = np.random.default_rng(3)
    points = rng.standard_normal((16, 2))
    G = np.where(points @ [1.0, 0.7] + 0.6 * rng.standard_normal(16) > 0, 1.0, -1.0)[:, None] * points
    result = solve(Problem([Block(A=G, shape=2), Block(h=SubclassErrors(), A=-1.0, shape=16)]), seed=0)
    turned = [
        sign * np.array([-g[1], g[0]]) + side * 1e-7 * g for g in G for sign in (1, -1) for side in (1, -1)
    ]
    assert result.success
    assert result.fun == min(np.sum(G @ w <= 0) for w in turned)


class Amplitude(Nonsmooth):
    """½ Σ (|x_i| - b_i)²."""

    def __init__(self, b):
        self.b = b

    def __call__(self, x):
        return 0.5 * float(np.sum((np.abs(x) - self.b) ** 2))

    def prox(self, v, step):
        return np.where(v >= 0, 1.0, -1.0) * (np.abs(v) + step * self.b) / (1 + step)


def test_a_prox_that_jumps_over_the_answer_is_taken_with_shorter_steps():
    """|Gx| ≈ b with one product near 0: a prox with a long step leaves out all numbers around 0."""
    rng = np.random.default_rng(0)
    G, truth = rng.standard_normal((30, 5)), rng.standard_normal(5)
    G[0] -= (G[0] @ truth - 0.01) / (truth @ truth) * truth
    b = np.abs(G @ truth)
    b[0] = 0.2
    result = solve(Problem([Block(A=G, shape=5), Block(h=Amplitude(b), A=-1.0, shape=30)]), seed=0)
    assert result.success
    assert result.fun <= Amplitude(b)(G @ truth)


def test_corners_are_looked_at_before_a_run_of_many_iterations():
    rng = np.random.default_rng(0)
    A = np.vstack([np.ones(7), rng.uniform(1, 5, (2, 7))])
    b, x = A @ np.abs(rng.standard_normal(7)), Variable(7)
    result = solve(minimize(LHalf(4.0)(x) + rng.uniform(0, 2, 7) @ x, [x >= 0, A @ x == b]), seed=0)
    assert result.success
    assert result.nit <= restarts.SOON


def test_convex_problems_are_not_walked_over(monkeypatch):
    """Linear programs have corners, too; Newton steps find the lowest in a hundredth of the time."""

    def walk(*_):
        raise AssertionError

    monkeypatch.setattr("ipds.solving.restarts.lowest_corner", walk)
    rng = np.random.default_rng(3)
    G, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    fit = Problem([Block(A=-G, shape=5), Block(h=L1(1.0), shape=40)], b=-y)
    assert solve(fit, seed=0).success


@pytest.mark.parametrize("margin", [1.0, 1e3])
def test_counts_of_ones_own_are_least_at_corners(margin):
    """Flat between its places, so that the lowest corner is the answer, and no run of many iterations follows."""
    rng = np.random.default_rng(2)
    points = rng.standard_normal((16, 2))
    G = np.where(points @ [1.0, 0.7] + 0.6 * rng.standard_normal(16) > 0, 1.0, -1.0)[:, None] * points
    lines = [
        side * np.array([-g[1], g[0]]) + 1e-7 * turn * g for g in G for side in (1, -1) for turn in (1, -1)
    ]
    least = min(int(np.sum(G @ w <= 0)) for w in lines)
    result = solve(Problem([Block(A=G, shape=2), Block(h=Missed(margin), A=-1.0, shape=16)]), seed=0)
    assert result.success
    assert Missed(margin)(G @ result.x[0]) == least
    assert result.nit <= restarts.SOON
