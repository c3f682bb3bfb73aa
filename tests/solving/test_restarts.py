"""Further starts where one is not enough: how many, and that they help."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.optimize

import ipds.solving.solve as solving
from ipds import Block, DivergenceError, Problem, Status, Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    L2,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    KBinary,
    LeastSquares,
    LHalf,
    Linear,
    NonNegative,
    Quadratic,
    Sphere,
    Stiefel,
)
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces.restricted import Restricted
from ipds.modelling import quad_form, sum_squares, term
from ipds.solving.flips import exchanged
from ipds.solving.minima import starts_for
from ipds.solving.relaxing import convex_start, reweighted
from ipds.solving.restarts import lowest_of
from ipds.solving.starts import Search
from ipds.solving.stopping import Stopwatch


def signs(seed: int) -> tuple[Problem, float]:
    """Least squares over {-1, 1}^10, and its least value by enumeration."""
    g = np.random.default_rng(seed)
    G = g.standard_normal((30, 10))
    y = G @ g.choice([-1.0, 1.0], 10) + 0.5 * g.standard_normal(30)
    points = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
    best = 0.5 * float(np.min(np.sum((points @ G.T - y) ** 2, axis=1)))
    return Problem([Block(f=LeastSquares(G, y), h=Binary(-1.0, 1.0), shape=10)]), best


@pytest.mark.parametrize("seed", range(4))
def test_binary_problems_leave_their_start(seed):
    problem, best = signs(seed)
    result = solve(problem)
    assert 2 < result.starts <= 8  # until three walks agree
    assert set(np.unique(result.x[0])) <= {-1.0, 1.0}
    assert result.fun == pytest.approx(best, rel=1e-9)
    assert solve(problem, method=AcceleratedIPDS("fast")).starts == 1
    assert solve(problem, [np.ones(10)]).starts == 1


def test_rotations_and_reflections_are_both_tried():
    """min ‖R - Q‖₁ over orthonormal R has the answer Q, whatever its determinant."""
    for seed in range(4):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
        problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(4, 4)), Block(h=L1(1.0), shape=(4, 4))], b=-Q)
        result = solve(problem, seed=0)
        assert result.starts == 8
        np.testing.assert_allclose(result.x[0], Q, atol=1e-2)


def test_how_many():
    convex = Problem([Block(f=Quadratic(1.0), h=NonNegative(), shape=3)])
    tall = Problem([Block(h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(1.0), shape=(6, 2))])
    signed = Problem(
        [Block(h=Stiefel(), A=-1.0, shape=(6, 2)), Block(f=Linear(1.0), h=NonNegative(), shape=(6, 2))]
    )
    large = Problem([Block(f=Quadratic(1.0), h=Binary(), shape=6000)])
    assert [starts_for(p, None) for p in (convex, tall, signed, large)] == [1, 1, 8, 1]
    assert starts_for(signed, AcceleratedIPDS("thorough")) == 24


def test_the_time_limit_counts_all_starts():
    problem, _ = signs(0)
    result = solve(problem, time_limit=0.0)
    assert result.starts == 1


def chosen(seed: int, k: int = 4, size: int = 12) -> tuple[Problem, float]:
    """Least squares over the choices of k out of `size`, and its least value by enumeration."""
    g = np.random.default_rng(seed)
    G = g.standard_normal((8, size))
    x = np.zeros(size)
    x[g.choice(size, k, replace=False)] = 1
    y = G @ x + 0.3 * g.standard_normal(8)
    best = min(
        0.5 * np.sum((G[:, list(c)].sum(axis=1) - y) ** 2) for c in itertools.combinations(range(size), k)
    )
    return Problem([Block(f=LeastSquares(G, y), h=KBinary(k), shape=size)]), float(best)


@pytest.mark.parametrize("seed", range(4))
def test_choices_of_k_are_the_best_ones(seed):
    problem, best = chosen(seed)
    result = solve(problem)
    assert result.success
    assert KBinary(4).contains(result.x[0])
    assert result.fun == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("lo", [0.0, -1.0])
def test_no_exchange_of_two_entries_lowers_an_answer(lo):
    """Block-2 stationary: judged here by trying all flips of one and of two entries."""
    g = np.random.default_rng(6)
    G = g.standard_normal((15, 24))
    y = G @ g.choice([lo, 1.0], 24) + 0.2 * g.standard_normal(15)
    problem = Problem([Block(h=Binary(lo, 1.0), A=-G, shape=24), Block(h=L1(1.0), shape=15)], b=-y)
    result = solve(problem)
    value = np.abs(G @ result.x[0] - y).sum()
    assert result.success
    assert result.fun == pytest.approx(value, rel=1e-9)
    for some in [(i,) for i in range(24)] + list(itertools.combinations(range(24), 2)):
        x = result.x[0].copy()
        x[list(some)] = lo + 1.0 - x[list(some)]
        assert np.abs(G @ x - y).sum() >= value * (1 - 1e-9)


def test_exchanges_start_from_any_point_and_leave_it_as_it_is():
    problem, best = signs(1)
    start = -np.ones(10)
    found = exchanged(problem, (start,), lambda: False)
    assert found is not None
    assert problem.objective(found) < problem.objective((start,))
    np.testing.assert_array_equal(start, -np.ones(10))
    assert exchanged(problem, found, lambda: False) is None
    assert exchanged(problem, (start,), lambda: True) is None
    assert problem.objective(found) >= best * (1 - 1e-12)
    coupled = Problem([Block(h=Binary(), A=-1.0, shape=3), Block(h=Binary(), shape=3)])
    assert exchanged(coupled, (np.zeros(3), np.zeros(3)), lambda: False) is None  # no block takes up the rest


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [np.ones(12), None], ids=["at most five", "weights"])
def test_a_knapsack_is_filled_well(weights, seed):
    """Inequalities count: no exchange of two things that fits is better, and the best choice is nearly met."""
    g = np.random.default_rng(seed)
    value, weight = g.uniform(1, 10, 12), g.uniform(1, 10, 12) if weights is None else weights
    room = 5.0 if weights is not None else 0.5 * weight.sum()
    x = Variable(12, name="x")
    result = minimize(-(value @ x) + Binary()(x), [weight @ x <= room]).solve()
    points = np.array(list(itertools.product([0.0, 1.0], repeat=12)))
    points = points[points @ weight <= room]
    chosen = result.value(x)
    assert result.success
    assert weight @ chosen <= room * (1 + 1e-9)
    assert -result.fun == pytest.approx(value @ chosen)
    near = points[np.abs(points - chosen).sum(axis=1) <= 2]
    assert np.max(near @ value) <= -result.fun * (1 + 1e-9)
    assert -result.fun >= 0.98 * np.max(points @ value)


def test_exchanges_first_meet_the_sets_of_other_blocks():
    """Taken too much: what leaves the room comes first, then what earns most."""
    value, weight = np.array([4.0, 3.0, 2.0]), np.array([3.0, 2.0, 2.0])
    blocks = [Block(f=Linear(-value), h=Binary(), A=-weight[None], shape=3), Block(h=Box(0.0, 4.0), shape=1)]
    found = exchanged(Problem(blocks), (np.ones(3), np.array([7.0])), lambda: False)
    assert found is not None
    np.testing.assert_array_equal(found[0], [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(found[1], [4.0])


def test_a_relaxation_that_is_discrete_itself_ends_the_search():
    """Cones are no rows of a program for branch and bound."""
    y, x = np.array([0.9, 0.2, 1.3]), Variable(3, name="x")
    result = solve(minimize(L2(1.0)(x - np.round(y)) + Binary()(x)), seed=0)
    assert result.fun == pytest.approx(0.0, abs=1e-9)
    assert result.starts == 2
    assert "nothing is lower" in result.message


@pytest.mark.parametrize("constant", [0.0, -1e6])
def test_a_constant_in_the_objective_proves_nothing(constant):
    """Machines at 10 or 3 a piece, where a fifth of one is enough: the relaxation pays for that fifth alone."""
    x, y = Variable(2, name="x"), Variable(2, name="y")
    price = Linear([10.0, 3.0])(y) + Linear([1.0, 2.5])(x) + 0.5 * sum_squares(x) + constant
    result = solve(minimize(price + Binary()(y), [x <= 5 * y, x >= 0, x.sum() >= 1.0]), seed=0)
    assert result.fun - constant == pytest.approx(3.0 + 2.5 + 0.5, rel=1e-3)
    assert "branch and bound rules all else out" in result.message


def test_a_relaxation_that_is_not_convex_proves_nothing():
    Q = np.random.default_rng(0).normal(size=(12, 12))
    result = solve(Problem([Block(f=Quadratic(Q + Q.T), h=Binary(), shape=12)]), seed=0)
    assert "nothing is lower" not in result.message
    assert result.starts > 2


@pytest.mark.parametrize("penalty", [L0(1.0), LHalf(1.0)], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_concave_penalties_under_an_equation_start_from_the_convex_one(penalty, seed):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(20, 40)), np.zeros(40)
    x[rng.choice(40, 4, replace=False)] = rng.normal(size=4)
    result = solve(Problem([Block(h=penalty, A=A, shape=40)], b=A @ x), seed=0)
    assert result.success
    np.testing.assert_allclose(result.x[0], x, atol=1e-3)
    assert convex_start(Problem([Block(f=LeastSquares(A, A @ x), h=penalty, shape=40)])) is None


def test_many_unknowns_under_an_equation_start_from_the_convex_problem():
    """Any point that meets the equation is critical for ℓ0: the first answer has twenty times as many entries."""
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((80, 300)), np.zeros(300)
    x[:8] = rng.standard_normal(8) + 2
    result = solve(Problem([Block(h=L0(1.0), A=A, shape=300)], b=A @ x), seed=0)
    assert result.success
    assert np.count_nonzero(np.abs(result.x[0]) > 1e-6) == 8


def test_weights_follow_from_the_last_answer():
    """The fewest entries under an equation, where neither first-order steps nor ℓ1 alone find them."""
    rng = np.random.default_rng([4242, 5])
    A, x = rng.standard_normal((14, 30)), np.zeros(30)
    x[rng.choice(30, 4, replace=False)] = 2 * rng.standard_normal(4)
    unknown = Variable(30)
    problem = minimize(L0(2.0)(unknown), [A @ unknown == A @ x])
    large = np.zeros(30)
    large[3] = -5.0
    weights = reweighted(problem, (large, np.zeros(14))).blocks[0].h.lam
    np.testing.assert_allclose(weights[[3, 4]], [2.0 * 0.5 / 5.5, 2.0])
    result = solve(problem, seed=0)
    assert result.success
    np.testing.assert_allclose(result.value(unknown), x, atol=1e-4)


def test_a_saddle_is_no_answer_where_another_start_falls_without_end():
    x = Variable(5)
    result = solve(minimize(quad_form(x, np.diag([1.0, -1.0, 1.0, 1.0, 1.0]))), seed=0)
    assert not result.success
    assert result.status is Status.DIVERGED
    assert "without end" in result.message
    with pytest.raises(DivergenceError):  # a concave quadratic: not by Newton steps to its maximum, either
        solve(minimize(-1.0 * sum_squares(x)), seed=0)
    bounded = solve(minimize(quad_form(x, np.diag([1.0, -1.0, 1.0, 1.0, 1.0])), [x <= 2, x >= -1]), seed=0)
    assert bounded.success
    assert bounded.fun == pytest.approx(-4.0, abs=1e-3)


@pytest.mark.parametrize("seed", [1, 3])
def test_residuals_of_which_some_count_for_nothing(seed):
    """Capped absolute values of a residual: first-order steps from zero fail, those from least deviations do not."""
    rng = np.random.default_rng(seed)
    G, x = rng.standard_normal((40, 4)), 2 * rng.standard_normal(4)
    y = G @ x + 0.02 * rng.standard_normal(40)
    y[:12] += 10 * rng.standard_normal(12)
    result = solve(Problem([Block(A=G, shape=4), Block(h=CappedL1(1.0, 1.0), A=-1.0, shape=40)], b=y), seed=0)
    assert result.success
    np.testing.assert_allclose(result.x[0], x, atol=0.05)


@pytest.mark.parametrize("seed", [0, 3])
def test_shares_that_are_none_or_at_least_so_large(seed, monkeypatch):
    """A failure of the first start is not the last word where others are cheap; a short limit of the caller is."""
    rng = np.random.default_rng(seed)
    factors = 0.5 * rng.standard_normal((8, 3))
    Q, gain = factors @ factors.T + np.diag(rng.uniform(0.2, 1, 8)), rng.uniform(0, 1, 8)

    class NoneOrSome:
        is_convex = False

        def __call__(self, x):
            return 0.0 if np.all((x == 0) | ((x >= 0.15) & (x <= 0.5))) else np.inf

        def prox(self, v, step):
            some = np.clip(v, 0.15, 0.5)
            return np.where((some - v) ** 2 < v**2, some, 0.0)

    share = Variable(8)
    problem = minimize(
        0.5 * quad_form(share, Q) - gain @ share + term(NoneOrSome(), share), [share.sum() == 1]
    )
    by_switches = solve(problem, seed=0)
    monkeypatch.setattr("ipds.solving.solve.switches_of", lambda problem: None)
    result = solve(problem, seed=0)
    assert result.success
    assert result.starts > 1
    assert by_switches.fun <= result.fun + 1e-4 * abs(result.fun)
    assert solve(problem, seed=0, max_iter=20).starts == 1


def test_vertices_between_bounds_are_tried():
    rng = np.random.default_rng(2)
    B, c = rng.normal(size=(8, 8)), 3 * rng.normal(size=8)
    points = np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    best = np.min(-0.5 * np.sum((points @ B) ** 2, axis=1) + points @ c)
    problem = Problem([Block(f=Quadratic(-B @ B.T, c), h=Box(0.0, 1.0), shape=8)])
    result = solve(problem, seed=0)
    assert 3 <= result.starts <= 9
    assert result.fun == pytest.approx(best)
    assert solve(problem, method=AcceleratedIPDS(), seed=0).starts == 1


def test_few_loadings_on_a_sphere():
    """Every eigenvector of every part of a covariance is critical; the start chooses one."""
    rng = np.random.default_rng(1003)
    X = rng.normal(size=(100, 14))
    X[:, :4] += 1.5 * rng.normal(size=(100, 1))
    S, v = np.cov(X.T), Variable(14, name="v")
    result = solve(minimize(-quad_form(v, S) + Sphere()(v) + Cardinality(4)(v)), seed=0)
    parts = itertools.combinations(range(14), 4)
    assert result.starts >= 3
    assert result.fun == pytest.approx(min(-np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in parts))


def subset(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(20, 10))
    y = G[:, :3] @ [3.0, -2.0, 2.0] + 0.1 * rng.normal(size=20)
    return Problem([Block(f=LeastSquares(G, y), h=Cardinality(3), shape=10)])


def test_starts_share_one_presolve(monkeypatch):
    """Once for the problem, once for the convex one near it, however many starts there are."""
    calls = []
    own = solving.rewrite
    monkeypatch.setattr(solving, "rewrite", lambda p, **given: calls.append(p) or own(p, **given))
    assert solve(subset(0), seed=0).starts >= 3
    assert len(calls) == 2


def test_further_starts_are_limited_by_their_work(monkeypatch):
    """By iterations and points looked at, never by the clock: a slow machine finds the same."""
    problem, runs = subset(1), []
    first = solve(problem, [np.zeros(10)], seed=0)

    def again(other, x, used, most):
        runs.append(most)
        return solve(other, x, seed=0, **({} if most is None else {"max_iter": most}))

    result = lowest_of(problem, first, 8, again, None, 0)
    assert result.starts == 3
    assert runs == [300, 300, 300]  # the convex one, too
    first.nit = 1000
    runs.clear()
    lowest_of(problem, first, 8, again, None, 0)
    assert runs == [1000, 1000, 1000]
    slow = iter(np.arange(1e6))
    monkeypatch.setattr("time.process_time", lambda: float(next(slow)))
    np.testing.assert_array_equal(solve(problem, seed=0).x[0], result.x[0])


def test_kicks_end_after_so_many_points():
    search = Search(subset(0), [], None, Stopwatch(), trials=2)
    assert [search.late() for _ in range(3)] == [False, False, True]
    assert not search.over()
    search.left = 0
    assert search.over()


@pytest.mark.parametrize("seed", range(4))
def test_counts_between_bounds_are_exchanged_on_their_faces(seed):
    rng = np.random.default_rng([3, seed])
    G, x = rng.standard_normal((20, 8)) + 0.5, Variable(8)
    y = G @ np.where(np.arange(8) < 3, 1.5, 0.0) + 0.5 * rng.standard_normal(20)
    result = solve(minimize(0.5 * sum_squares(G @ x - y) + L0(1.5)(x), [x >= 0, x <= 1.2]), seed=0)
    supports = (list(s) for k in range(9) for s in itertools.combinations(range(8), k))
    best = min(
        1.5 * len(s)
        + (scipy.optimize.lsq_linear(G[:, s], y, (0, 1.2), tol=1e-12).cost if s else 0.5 * float(y @ y))
        for s in supports
    )
    assert result.success
    assert result.fun <= best * (1 + 1e-6)
    assert "finished on its face" in result.method


def test_a_feasible_point_that_is_clearly_lower_comes_before_a_certified_one():
    problem = Problem([Block(f=LeastSquares(np.eye(2), np.ones(2)), h=Cardinality(1), shape=2)])
    poor, lower, outside = (solve(problem, seed=0) for _ in range(3))
    lower.update(success=False, status=Status.MAX_ITER, fun=0.9 * poor.fun)
    outside.update(success=False, status=Status.MAX_ITER, fun=0.1 * poor.fun)
    outside.certificate = dataclasses.replace(poor.certificate, rows=1e-3)
    search = Search(problem, [poor, lower, outside], lambda *_: poor, Stopwatch())
    assert search.lowest() == [lower]
    lower.fun = 0.999 * poor.fun
    assert search.lowest() == [poor]


def test_a_support_is_solved_for_once(monkeypatch):
    asked = []
    original = Restricted._anew
    monkeypatch.setattr(
        Restricted,
        "_anew",
        lambda own, x, z, far: (
            asked.append(b"".join(f.label.tobytes() for f in own.faces.values())) or original(own, x, z, far)
        ),
    )
    rng = np.random.default_rng(0)
    G, x = rng.standard_normal((25, 10)), Variable(10)
    problem = minimize(0.5 * sum_squares(G @ x - G[:, 0]) + Cardinality(3)(x), [x.sum() == 1])
    assert solve(problem, seed=0).success
    assert len(asked) > 10
    assert len(set(asked)) == len(asked)
