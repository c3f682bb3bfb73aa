"""Entries that are 0 or within bounds, beside rows: answers of branch and bound over switches, and proofs."""

import itertools

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L0, Binary, Box, Cardinality, NonNegative, Quadratic, RowCardinality, Sum
from ipds.modelling import norm1, sum_squares, term
from ipds.solving.pieces import ends_of, is_entrywise_set, pieces_of
from ipds.solving.switching import switches_of


def machines(seed, n=8):
    rng = np.random.default_rng(seed)
    bend, each, room, on = (rng.uniform(lo, hi, n) for lo, hi in [(0.05, 0.5), (1, 3), (3, 8), (2, 12)])
    return bend, each, room, on, 0.5 * room.sum()


def cheapest(bend, each, room, demand):
    """Σ bend x² + each x of 0 ≤ x ≤ room with Σ x = demand, by its one multiplier."""
    if room.sum() < demand:
        return np.inf

    def load(price):
        return np.clip((price - each) / (2 * bend), 0.0, room)

    x = load(scipy.optimize.brentq(lambda price: load(price).sum() - demand, -1e3, 1e3, xtol=1e-14))
    return float(bend @ x**2 + each @ x)


def best_of_all(seed, cost, sizes):
    bend, each, room, on, demand = machines(seed)
    sets = (np.array(s) for k in sizes for s in itertools.combinations(range(len(on)), k))
    return min(cheapest(bend[s], each[s], room[s], demand) + cost * on[s].sum() for s in sets)


@pytest.mark.parametrize("seed", range(4))
def test_machines_with_a_price_for_running_are_those_of_enumeration(seed):
    bend, each, room, on, demand = machines(seed)
    x = Variable(8)
    objective = sum_squares(np.sqrt(bend) * x) + each @ x + L0(on)(x)
    result = solve(minimize(objective, [x.sum() >= demand, x >= 0, x <= room]))
    assert result.success
    assert result.fun == pytest.approx(best_of_all(seed, 1.0, range(1, 9)), rel=1e-5)
    assert "nothing is lower" in result.message


@pytest.mark.parametrize("seed", range(3))
def test_a_few_machines_are_those_of_enumeration(seed):
    bend, each, room, _, demand = machines(seed)
    x = Variable(8)
    objective = sum_squares(np.sqrt(bend) * x) + each @ x + Cardinality(5)(x)
    result = solve(minimize(objective, [x.sum() >= demand, x >= 0, x <= room]))
    assert result.success
    assert result.fun == pytest.approx(best_of_all(seed, 0.0, [5]), rel=1e-5)
    assert "nothing is lower" in result.message


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_fixed_charges_are_those_of_branch_and_bound_in_any_unit(unit):
    rng = np.random.default_rng(3)
    each, weight = rng.random(12), 0.5 + rng.random(12)
    x = Variable(12)
    result = solve(minimize(each / unit @ x + L0(3.0)(x), [weight @ x >= 6 * unit, x >= 0, x <= 2 * unit]))
    rows = [
        scipy.optimize.LinearConstraint(np.append(weight, np.zeros(12)), lb=6),
        scipy.optimize.LinearConstraint(np.hstack([np.eye(12), -2 * np.eye(12)]), ub=0),
    ]
    best = scipy.optimize.milp(
        np.append(each, np.full(12, 3.0)),
        constraints=rows,
        integrality=np.repeat([0, 1], 12),
        bounds=scipy.optimize.Bounds(0, np.repeat([2.0, 1.0], 12)),
    )
    assert result.success
    assert result.fun == pytest.approx(best.fun, rel=1e-6)
    assert "nothing is lower" in result.message


def test_losses_and_gains_of_few_entries_in_each_row():
    rng = np.random.default_rng(0)
    target = rng.standard_normal((3, 4))
    X = Variable((3, 4))
    problem = minimize(
        sum_squares(X - target) + RowCardinality(2)(X), [X >= -1, X <= 1, X.sum(axis=0) <= 0.5, X.sum() == 0]
    )
    assert switches_of(problem) is not None
    result = solve(problem)
    best = np.inf
    for kept in itertools.product(list(itertools.combinations(range(4), 2)), repeat=3):
        on = np.zeros((3, 4))
        for row, some in zip(on, kept, strict=True):
            row[list(some)] = 1.0
        inside = minimize(sum_squares(X - target), [-on <= X, on >= X, X.sum(axis=0) <= 0.5, X.sum() == 0])
        best = min(best, solve(inside).fun)
    assert result.success
    assert np.count_nonzero(result.value(X), axis=1).max() <= 2
    assert result.fun == pytest.approx(best, rel=1e-4)


def few(h, A, b, f=None):
    return switches_of(Problem([Block(f=f, h=h, A=np.asarray(A), shape=np.shape(A)[1])], b=np.asarray(b)))


def test_bounds_are_those_that_rows_leave():
    rows = [[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.5]]
    found = few(Sum(L0(1.0), NonNegative()), rows, [4.0, 1.0])
    assert found is None  # the last two may grow together
    found = few(Sum(L0(1.0), Box(0.0, np.array([np.inf, np.inf, 3.0, np.inf]))), rows, [4.0, 1.0])
    np.testing.assert_allclose(found.program.problem.blocks[0].h.hi, [4.0, 2.0, 3.0, 8.0])
    assert np.isinf(found.left[0].upper[1, 0])  # what is solved for has its own bounds alone


def test_there_are_no_switches_without_bounds_or_where_an_entry_cannot_be_0():
    assert few(Cardinality(1), [[1.0, 1.0]], [1.0]) is None
    assert few(Sum(L0(1.0), Box(1.0, 2.0)), [[1.0, 1.0]], [2.0]) is None
    assert few(NonNegative(), [[1.0, 1.0]], [2.0]) is None
    assert few(Sum(L0(1.0), Box(0.0, 1.0)), np.ones((1, 61)), [2.0]) is None
    assert switches_of(Problem([Block(h=Sum(L0(1.0), Box(0.0, 1.0)), shape=3)])) is None


@pytest.mark.parametrize("diagonal", [True, False])
def test_tangents_are_below_what_they_stand_for_wherever_switches_are(diagonal):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((5, 5))
    Q = np.diag(rng.uniform(0.1, 2.0, 5)) if diagonal else M @ M.T + 2.0 * np.eye(5)
    f = Quadratic(Q, rng.standard_normal(5))
    switches = few(Sum(L0(1.0), Box(-1.0, 2.0)), np.ones((1, 5)), [1.0], f)
    program, (bowl,) = switches.program, switches.program.bowls
    assert np.linalg.eigvalsh(Q - np.diag(bowl.d))[0] > -1e-8
    sizes = [int(np.prod(block.shape)) for block in program.problem.blocks]
    ends = np.cumsum(sizes)
    for trial in range(40):
        x, y = rng.uniform(-1, 2, 5), rng.uniform(0, 1, 5)
        at = [np.zeros(n) for n in sizes]
        at[0], at[bowl.switches] = y * x, y if trial % 2 else np.ones(5)
        on = rng.integers(0, 2, 5)
        x = on * rng.uniform(-1, 2, 5)
        v = np.zeros(program.cost.size)
        v[:5] = x / program.unit[:5]
        v[ends[bowl.switches] - 5 : ends[bowl.switches]] = on
        v[bowl.column : bowl.column + 5] = 0.5 * bowl.d * x**2 / program.size
        v[program.curved[0]] = (f(x) - 0.5 * bowl.d @ x**2) / program.size
        for row, least in program.tangents(at):
            assert row @ v >= least - 1e-9


def test_an_entry_that_rows_keep_from_0_is_on():
    result = solve(
        Problem([Block(h=Sum(L0(np.array([3.0, 1.0])), Box(0.0, 1.0)), A=np.ones((1, 2)), shape=2)], b=1.5)
    )
    assert result.success
    assert result.fun == 4.0
    assert "nothing is lower" in result.message


class Range:
    """0 or between two numbers, known by its prox alone."""

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    def __call__(self, x):
        apart = np.minimum(np.abs(x), np.abs(x - np.clip(x, self.lo, self.hi)))
        return 0.0 if np.max(apart) < 1e-9 else np.inf

    def prox(self, v, step):
        near = np.clip(v, self.lo, self.hi)
        return np.where(np.abs(v) <= np.abs(v - near), 0.0, near)


class Whole:
    """Whole numbers."""

    def __call__(self, x):
        return 0.0 if np.max(np.abs(x - np.round(x))) < 1e-9 else np.inf

    def prox(self, v, step):
        return np.round(v)


class Shrunk:
    """Σ √|x|, by a grid: no set."""

    def __call__(self, x):
        return float(np.sqrt(np.abs(x)).sum())

    def prox(self, v, step):
        points = np.linspace(0, 1, 2001).reshape(-1, *(1 for _ in v.shape)) * v
        best = np.argmin(np.sqrt(np.abs(points)) + (points - v) ** 2 / (2 * step), axis=0)
        return np.take_along_axis(points, best[None], axis=0)[0]


def diet(seed, n=10):
    rng = np.random.default_rng(seed)
    A = rng.uniform(0, 5, (4, n))
    return A, 0.4 * A.sum(axis=1), rng.uniform(1, 5, n)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_amounts_of_none_or_a_range_are_those_of_branch_and_bound(seed, unit):
    A, need, price = diet(seed)
    x = Variable(10)
    problem = minimize(price @ x + term(Range(0.5 * unit, 2.0 * unit), x), [A @ x >= unit * need])
    result = solve(problem)
    eye, rows = np.eye(10), scipy.optimize.LinearConstraint
    best = scipy.optimize.milp(
        np.r_[price, np.zeros(10)],
        constraints=[
            rows(np.c_[A, 0 * A], need, np.inf),
            rows(np.c_[eye, -2 * eye], -np.inf, 0),
            rows(np.c_[eye, -0.5 * eye], 0, np.inf),
        ],
        integrality=np.r_[np.zeros(10), np.ones(10)],
        bounds=scipy.optimize.Bounds(0, np.r_[np.full(10, np.inf), np.ones(10)]),
    ).fun
    assert result.success
    assert result.fun == pytest.approx(unit * best, rel=1e-5)
    assert "nothing is lower" in result.message


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("curved", [False, True])
def test_whole_numbers_under_rows(seed, curved):
    rng = np.random.default_rng(seed)
    G, a = rng.standard_normal((8, 4)), rng.uniform(1, 3, 4)
    y = G @ rng.integers(0, 5, 4) + rng.standard_normal(8)
    x = Variable(4)
    fit = sum_squares if curved else norm1
    result = solve(minimize(fit(G @ x - y) + term(Whole(), x), [a @ x <= 12, x >= 0]))
    points = np.array(list(itertools.product(range(13), repeat=4)), float)
    points = points[points @ a <= 12]
    apart = np.abs(points @ G.T - y)
    best = np.min(np.sum(apart**2 if curved else apart, axis=1))
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-4)


def test_shares_of_none_or_a_range_with_a_curved_cost():
    rng = np.random.default_rng(4)
    F, gain = rng.standard_normal((20, 7)), rng.uniform(0, 1, 7)
    x = Variable(7)
    result = solve(minimize(sum_squares(F @ x) / 20 - gain @ x + term(Range(0.2, 0.5), x), [x.sum() == 1]))
    best = np.inf
    for s in (list(s) for k in (2, 3, 4, 5) for s in itertools.combinations(range(7), k)):
        found = scipy.optimize.minimize(
            lambda z, s=s: np.sum((F[:, s] @ z) ** 2) / 20 - gain[s] @ z,
            np.full(len(s), 1 / len(s)),
            bounds=[(0.2, 0.5)] * len(s),
            constraints=[{"type": "eq", "fun": lambda z: z.sum() - 1}],
            options={"ftol": 1e-12},
        )
        best = min(best, found.fun) if found.success else best
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("h", "lower", "upper"),
    [
        (Range(0.5, 2.0), [0.0, 0.5], [0.0, 2.0]),
        (Range(1e-3, 1.0), [0.0, 1e-3], [0.0, 1.0]),
        (Binary(-1.0, 3.0), [-1.0, 3.0], [-1.0, 3.0]),
        (Box(-1.0, 3.0), [-1.0], [3.0]),
    ],
)
def test_pieces_are_found_by_the_prox(h, lower, upper):
    found = pieces_of(h, *ends_of(h, (3, 2)))
    assert np.allclose(found.lower[..., 1, 1], lower, atol=1e-12)
    assert np.allclose(found.upper[..., 1, 1], upper, atol=1e-12)


def test_pieces_between_ends_that_rows_leave():
    low, high = np.array([-2.5, 0.0]), np.array([1.2, 7.0])
    assert np.isinf(ends_of(Whole(), (2,))).all()
    found = pieces_of(Whole(), low, high)
    assert np.array_equal(np.unique(found.lower[:, 0]), [-2, -1, 0, 1])
    assert np.array_equal(np.unique(found.lower[:, 1]), np.arange(8))
    assert pieces_of(Whole(), 100 * low, 100 * high) is None  # too many


def test_what_is_a_set_of_entries_apart():
    zero = np.zeros((3,))
    assert is_entrywise_set(Problem([Block(h=Range(0.5, 2.0), shape=3)]).blocks[0].h, zero)
    assert not is_entrywise_set(Problem([Block(h=Shrunk(), shape=3)]).blocks[0].h, zero)
    assert not is_entrywise_set(Cardinality(1), zero)


@pytest.mark.parametrize("curved", [False, True])
def test_rows_may_leave_a_single_piece(curved):
    x = Variable(2)
    cost = sum_squares(x - np.array([1.3, 1.4])) if curved else x.sum()
    result = solve(minimize(cost + term(Whole(), x), [x >= 0.6, x <= 1.4, x.sum() >= 1.0]))
    assert result.success
    assert np.array_equal(np.round(result.value(x), 9), [1.0, 1.0])
