"""Discrete blocks beside what is piecewise linear or convex: answers of branch and bound, and proofs."""

import itertools

import numpy as np
import pytest
import scipy.optimize

import ipds.solving.solve as solving
from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Binary, Box, KBinary, LeastSquares, Linear, Quadratic, Sphere
from ipds.functions.composed import Weighted
from ipds.modelling import norm1, sum_squares
from ipds.solving.programs import program_of
from ipds.solving.stopping import Stopwatch


def commitment(seed, curved):
    rng = np.random.default_rng(seed)
    n, T = 3, 3
    on, each, bend = rng.uniform(10, 30, n), rng.uniform(1, 3, n), rng.uniform(0.05, 0.5, n) * curved
    lo, hi = rng.uniform(1, 3, n), rng.uniform(6, 10, n)
    demand = rng.uniform(0.3, 0.8, T) * hi.sum()
    P, Z = Variable((n, T)), Variable((n, T))
    objective = (on[:, None] * Z).sum() + (each[:, None] * P).sum() + Binary()(Z)
    if curved:
        objective = objective + sum_squares(np.sqrt(bend)[:, None] * P)
    rows = [P.sum(axis=0) == demand, P - np.diag(hi) @ Z <= 0, P - np.diag(lo) @ Z >= 0]

    def best_hour(d):
        values = []
        for y in map(np.array, itertools.product([0.0, 1.0], repeat=n)):
            if lo @ y <= d <= hi @ y:
                found = scipy.optimize.minimize(
                    lambda p: each @ p + bend @ p**2,
                    np.clip(np.full(n, d / n), lo * y, hi * y),
                    jac=lambda p: each + 2 * bend * p,
                    bounds=list(zip(lo * y, hi * y, strict=True)),
                    constraints={"type": "eq", "fun": lambda p: p.sum() - d, "jac": lambda p: np.ones(n)},
                    method="SLSQP",
                )
                values.append(found.fun + on @ y)
        return min(values)

    return minimize(objective, rows), sum(map(best_hour, demand))


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_machines_are_switched_as_enumeration_would(seed, curved):
    problem, best = commitment(seed, curved)
    result = solve(problem)
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-4)
    assert "nothing is lower" in result.message


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_units_of_things_and_of_money_do_not_matter(unit):
    rng = np.random.default_rng(5)
    weight, value, x = unit * rng.uniform(1, 10, (2, 20)), rng.uniform(1, 10, 20) / unit, Variable(20)
    room = 0.4 * weight.sum(axis=1)
    result = solve(minimize(-value @ x + Binary()(x), [weight @ x <= room]))
    rows = scipy.optimize.LinearConstraint(weight / unit, -np.inf, room / unit)
    best = scipy.optimize.milp(
        -value * unit, constraints=rows, integrality=1, bounds=scipy.optimize.Bounds(0, 1)
    )
    assert result.success
    assert result.fun * unit == pytest.approx(best.fun)


def test_two_values_that_are_not_zero_and_one_and_a_number_of_ones():
    rng = np.random.default_rng(0)
    G, y = rng.standard_normal((8, 6)), rng.standard_normal(8)
    signs = np.array(list(itertools.product([-1.0, 2.0], repeat=6)))
    x = Variable(6)
    result = solve(minimize(norm1(G @ x - y) + Binary(-1.0, 2.0)(x)))
    assert result.fun == pytest.approx(np.min(np.abs(signs @ G.T - y).sum(axis=1)))
    assert "branch and bound" in result.message
    ones = np.array([p for p in itertools.product([0.0, 1.0], repeat=6) if sum(p) == 2])
    chosen = Problem([Block(h=KBinary(2), A=-G, shape=6), Block(h=L1(1.0), shape=8)], b=-y)
    assert solve(chosen).fun == pytest.approx(np.min(np.abs(ones @ G.T - y).sum(axis=1)))


def test_what_is_no_program():
    G, y = np.eye(3), np.ones(3)
    sphere = [Block(h=Binary(), A=-1.0, shape=3), Block(h=Sphere(1.0), shape=3)]
    assert program_of(Problem(sphere)) is None
    assert program_of(Problem([Block(f=Quadratic(-1.0), h=Binary(), shape=3)])) is None
    assert program_of(Problem([Block(f=LeastSquares(G, y), h=L1(1.0), shape=3)])) is None


def test_the_bound_of_tangents_lies_below_every_value():
    rng = np.random.default_rng(1)
    G, y = rng.standard_normal((8, 5)), rng.standard_normal(8)
    problem = Problem(
        [Block(f=LeastSquares(G, y), h=Binary(-1.0, 2.0), A=-1.0, shape=5), Block(h=L1(0.3), shape=5)]
    )
    program = program_of(problem)
    assert program is not None
    points = np.array(list(itertools.product([-1.0, 2.0], repeat=5)))
    best = min(0.5 * np.sum((G @ p - y) ** 2) + 0.3 * np.abs(p).sum() for p in points)
    tangents = []
    for p in points[::3]:
        tangents += program.tangents((p, p))
        _, bound, _ = program.least(tangents, 1000, Stopwatch())
        assert bound <= best * (1 + 1e-9)
    for p in points:
        tangents += program.tangents((p, p))
    assert program.least(tangents, 1000, Stopwatch())[1] == pytest.approx(best)


def knapsack(n, rows, seed=0):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 1000, (rows, n)).astype(float)
    value = weight.sum(axis=0) + rng.integers(0, 50, n)
    blocks = [Block(f=Linear(-value), h=Binary(), A=weight, shape=n), Block(h=Box(0.0, 1e9), shape=rows)]
    return Problem(blocks, b=np.floor(weight.sum(axis=1) / 2))


def limits_of(monkeypatch, **options):
    """The time limits that branch and bound is given, one for each call, while a problem is solved."""
    given, milp = [], scipy.optimize.milp

    def recorded(*args, **own):
        given.append(own["options"].get("time_limit"))
        return milp(*args, **own)

    monkeypatch.setattr(scipy.optimize, "milp", recorded)
    result = solve(knapsack(12, 2), **options)
    assert result.success
    return given


def test_branch_and_bound_is_given_half_of_the_time_that_is_left(monkeypatch):
    (given,) = limits_of(monkeypatch, time_limit=1000.0)
    assert 400 < given <= 500


def test_what_came_before_counts(monkeypatch):
    monkeypatch.setattr(solving, "Stopwatch", lambda limit=None: Stopwatch(200.0, limit))
    (given,) = limits_of(monkeypatch, time_limit=1000.0)
    assert 300 < given <= 400


def test_without_a_limit_there_is_none(monkeypatch):
    assert limits_of(monkeypatch) == [None]


@pytest.fixture
def doubtful(monkeypatch):
    """Branch and bound finds what it finds and proves nothing; the list grows by one for each of its runs."""
    runs, milp = [], scipy.optimize.milp

    def unsure(*args, **own):
        found = milp(*args, **own)
        found.mip_dual_bound -= 10.0
        runs.append(found)
        return found

    monkeypatch.setattr(scipy.optimize, "milp", unsure)
    return runs


def test_what_branch_and_bound_found_and_did_not_prove_is_not_thrown_away(doubtful):
    problem = knapsack(25, 3)
    result = solve(problem)
    assert len(doubtful) == 1
    x, _, _ = program_of(problem).least([], 2000, Stopwatch())
    assert result.success
    assert "nothing is lower" not in result.message
    assert result.fun <= problem.objective(x)


def test_a_linear_program_is_searched_once(doubtful):
    problem, best = commitment(0, curved=False)
    assert solve(problem).fun == pytest.approx(best, rel=1e-4)
    assert len(doubtful) == 1
    solve(problem, callback=lambda intermediate_result: None)  # one run is followed first
    assert len(doubtful) == 2


def test_the_answer_at_a_multiplier_is_kept(monkeypatch):
    problem = knapsack(6, 2)
    plain, other = solve(problem), solve(problem)
    monkeypatch.setattr(solving.Call, "near", lambda *_: plain)
    monkeypatch.setattr(solving, "by_program", lambda *_: (other, True))
    monkeypatch.setattr(solving, "best_of", lambda problem, first, *_: first)
    assert solve(problem, z0=plain.z) is plain


def small_knapsack(convert):
    blocks = [
        Block(
            f=Linear(convert([-4.0, -5.0, -9.0, -1.0])),
            h=Binary(),
            A=convert([[3.0, 5.0, 7.0, 2.0]]),
            shape=4,
        ),
        Block(h=Box(0.0, 1e3), A=convert([[1.0]]), shape=1),
    ]
    return Problem(blocks, b=convert([9.0]))


def test_answers_have_the_precision_of_the_problem():
    problem = small_knapsack(lambda v: np.array(v, np.float32))
    result = solve(problem)
    assert "branch and bound" in result.message
    assert result.success
    assert result.fun == pytest.approx(-10)
    assert {v.dtype for v in (*result.x, result.z)} == {np.dtype(np.float32)}


@pytest.mark.parametrize(("library", "name"), [("torch", "tensor"), ("jax.numpy", "asarray")])
def test_arrays_of_other_libraries_stay_there(library, name):
    convert = getattr(pytest.importorskip(library), name)
    near = [Block(f=Linear(convert([1.0, -2.0])), h=Binary(), A=-1.0, shape=2), Block(h=L1(1.0), shape=2)]
    assert program_of(Problem(near)) is None
    problem = small_knapsack(convert)
    result = solve(problem)
    assert type(result.x[0]) is type(problem.b)
    assert result.success


def chosen_columns(seed, constant):
    """Least squares of few columns: x_k ≠ 0 only where u_k = 1, and u costs its sum and a constant."""
    rng = np.random.default_rng(seed)
    n = 5
    G, y, eye = rng.standard_normal((8, n)), 2 * rng.standard_normal(8), np.eye(n)
    cost = Weighted(Linear(1.0), 1.0, constant)
    blocks = [
        Block(f=LeastSquares(G, y), A=np.vstack([eye, -eye]), shape=n),
        Block(f=cost, h=Binary(), A=np.vstack([-3 * eye, -3 * eye]), shape=n),
        Block(h=Box(-1e3, 0.0), A=-1.0, shape=2 * n),
    ]
    return Problem(blocks, b=np.zeros(2 * n))


@pytest.mark.parametrize("constant", [-1000.0, 1000.0])
def test_constants_change_neither_answers_nor_bounds_but_for_themselves(constant):
    for seed in range(3):
        plain, moved = solve(chosen_columns(seed, 0.0)), solve(chosen_columns(seed, constant))
        assert plain.success
        assert moved.success
        assert np.array_equal(moved.x[1], plain.x[1])
        assert moved.fun - constant == pytest.approx(plain.fun, rel=1e-4)
    w, v = np.array([3.0, 5.0, 7.0, 2.0]), np.array([4.0, 5.0, 9.0, 1.0])
    blocks = [
        Block(f=Weighted(Linear(-v), 1.0, constant), h=Binary(), A=w[None], shape=4),
        Block(h=Box(0.0, 1e3), A=np.ones((1, 1)), shape=1),
    ]
    program = program_of(Problem(blocks, b=np.array([9.0])))
    assert program is not None
    assert program.least([], 1000, Stopwatch())[1] == pytest.approx(constant - 10)
