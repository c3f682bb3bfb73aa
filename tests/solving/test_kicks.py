"""Several starts of small problems, and changes of single entries, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    MCP,
    Box,
    CappedL1,
    Cardinality,
    LeastSquares,
    LHalf,
    LogSum,
    Quadratic,
    RowCardinality,
    Simplex,
    Sphere,
    SumSquares,
    Zero,
    smooth,
)
from ipds.modelling import quad_form, sum_squares, term
from ipds.solving.flips import Merit, follower
from ipds.solving.kicks import _at_once, _bowl, _next, kicked
from ipds.solving.minima import CHEAP, CURVED, FEW, QUICK, has_many_minima
from ipds.solving.restarts import units_of
from ipds.theory.bending import bends_down


class Integers:
    """Whole numbers between two."""

    is_convex = False

    def __call__(self, x):
        return 0.0 if np.all(x == np.clip(np.round(x), -2, 2)) else np.inf

    def prox(self, v, step):
        return np.clip(np.round(v), -2, 2)


class ZeroOrBetween:
    """0, or between .5 and 1."""

    is_convex = False

    def __call__(self, x):
        return 0.0 if np.all((x == 0) | ((x >= 0.5) & (x <= 1.0))) else np.inf

    def prox(self, v, step):
        near = np.clip(v, 0.5, 1.0)
        return np.where(v**2 <= (v - near) ** 2, 0.0, near)


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_known_by_their_prox(seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(9, 5))
    B[:, 1] += 0.6 * B[:, 0]
    y = B @ rng.integers(-2, 3, 5) + 0.7 * rng.normal(size=9)
    points = np.array(list(itertools.product(range(-2, 3), repeat=5)), float)
    best = 0.5 * np.min(np.sum((points @ B.T - y) ** 2, axis=1))
    result = solve(Problem([Block(f=LeastSquares(B, y), h=Integers(), shape=5)]), seed=0)
    assert result.success
    assert result.starts > 1
    assert result.fun == pytest.approx(best)


@pytest.mark.parametrize("seed", range(2))
def test_zero_or_an_interval(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 6))
    X[:, 1] += X[:, 0]
    y = X[:, [0, 4]] @ [0.6, 0.9] + 0.8 * rng.normal(size=25)
    supports = itertools.chain.from_iterable(itertools.combinations(range(6), k) for k in range(1, 7))
    fits = (scipy.optimize.lsq_linear(X[:, list(S)], y, bounds=(0.5, 1.0)).cost for S in supports)
    x = Variable(6, name="x")
    result = solve(minimize(0.5 * sum_squares(X @ x - y) + term(ZeroOrBetween(), x)), seed=0)
    assert result.success
    assert result.fun == pytest.approx(min(0.5 * y @ y, *fits), rel=1e-5)


def test_a_move_of_two_entries_keeps_an_equation():
    """x₁ + x₂ = 1 with x₂ cheaper: no single move meets the equation."""
    blocks = [
        Block(f=Quadratic(0.0, np.array([2.0, 1.0])), h=Integers(), A=np.ones((1, 2)), shape=2),
        Block(h=Box(0.0, 0.0), shape=1),
    ]
    found = kicked(Problem(blocks, b=1.0), (np.array([1.0, 0.0]), np.zeros(1)), lambda: False)
    assert found is not None
    assert found[0].sum() == 1.0
    assert found[0] @ [2.0, 1.0] < 2.0


def test_what_is_lowest_stays():
    problem = Problem([Block(f=LeastSquares(np.eye(2), np.array([1.2, -0.9])), h=Integers(), shape=2)])
    assert kicked(problem, (np.array([1.0, -1.0]),), lambda: False) is None
    assert kicked(problem, (np.array([0.0, -1.0]),), lambda: True) is None  # no time
    start = np.array([0.0, -1.0])
    np.testing.assert_array_equal(kicked(problem, (start,), lambda: False)[0], [1.0, -1.0])
    np.testing.assert_array_equal(start, [0.0, -1.0])


def test_convexity_of_a_callers_function_is_looked_at():
    convex = smooth(lambda x: float(np.sum(x**4)), grad=lambda x: 4 * x**3)
    wavy = smooth(lambda x: float(np.sum(np.cos(x))), grad=lambda x: -np.sin(x))
    for f, many in ((convex, False), (wavy, True)):
        problem = Problem([Block(f=f, h=Box(-3.0, 3.0), shape=3)])
        result = solve(problem, seed=0)
        assert (result.starts > 1) is many
        for nit in (CHEAP, CHEAP + 1):
            result.nit = nit
            assert has_many_minima(problem, result) is many
        result.nit = QUICK + 1
        assert not has_many_minima(problem, result)  # a long solve is enough
    told = smooth(lambda x: float(np.sum(x**4)), grad=lambda x: 4 * x**3, convex=True)
    assert solve(Problem([Block(f=told, h=Box(-3.0, 3.0), shape=3)]), seed=0).starts == 1


def test_few_unknowns_under_many_rows():
    """Rows are solved for and do not count; many unknowns do."""
    rng = np.random.default_rng(0)
    for n, many in ((CURVED, True), (CURVED + 1, False)):
        G = rng.standard_normal((FEW, n))
        problem = Problem([Block(h=Cardinality(2), A=-G, shape=n), Block(h=L1(1.0), shape=FEW)], b=-G[:, 0])
        assert has_many_minima(problem, solve(problem)) is many


@pytest.mark.parametrize("seed", [2, 4, 6])
def test_a_place_from_its_distances(seed):
    """A quartic known by values and slopes, with minima of which most draws have two."""
    rng = np.random.default_rng(seed)
    anchors, place = rng.uniform(-1, 1, (6, 2)), rng.uniform(-1, 1, 2)
    squares = np.sum((anchors - place) ** 2, axis=1)

    def left(x):
        return np.sum((x - anchors) ** 2, axis=1) - squares

    f = smooth(lambda x: 0.25 * float(np.sum(left(x) ** 2)), grad=lambda x: left(x) @ (x - anchors))
    result = solve(Problem([Block(f=f, h=Box(-1.5, 1.5), shape=2)]))
    assert result.success
    np.testing.assert_allclose(result.x[0], place, atol=1e-3)


def test_convexity_is_looked_at_where_the_set_is():
    """The trace of an inverse is convex for w ≥ 0 only, and w is nowhere else."""
    V = np.random.default_rng(0).standard_normal((12, 3))

    def inverse(w):
        return np.linalg.inv(V.T @ (w[:, None] * V))

    f = smooth(lambda w: float(np.trace(inverse(w))), grad=lambda w: -np.sum((V @ inverse(w)) ** 2, axis=1))
    w = np.random.default_rng(1).dirichlet(np.ones(12))
    assert not bends_down(f, Simplex(), w)
    assert bends_down(f, Zero(), w)
    problem = Problem([Block(f=f, h=Simplex(), shape=12)])
    assert kicked(problem, (w,), lambda: pytest.fail("entries are not moved one by one")) is None


def test_an_h_that_is_convex_by_its_prox_needs_one_start():
    class Absolute:
        def __call__(self, x):
            return float(np.abs(x).sum())

        def prox(self, v, step):
            return np.sign(v) * np.maximum(np.abs(v) - step, 0.0)

    G = np.random.default_rng(0).standard_normal((20, 5))
    problem = Problem([Block(f=LeastSquares(G, G[:, 0]), h=Absolute(), shape=5)])
    result = solve(problem, seed=0)
    assert result.success
    assert result.starts == 1


def test_a_callback_and_a_limit_belong_to_one_run():
    rng = np.random.default_rng(0)
    problem = Problem(
        [Block(f=LeastSquares(rng.normal(size=(9, 4)), rng.normal(size=9)), h=Integers(), shape=4)]
    )
    assert solve(problem, seed=0).starts > 1
    assert solve(problem, seed=0, callback=lambda intermediate_result: None).starts == 1
    wave = smooth(lambda x: float(np.sum(np.cos(x))), grad=lambda x: -np.sin(x))
    assert solve(Problem([Block(f=wave, h=L1(0.1), shape=3)]), seed=0, max_iter=1).starts == 1


def test_starts_have_the_units_of_the_columns():
    scale = np.array([1e-3, 1.0, 1e3])
    problem = Problem([Block(f=LeastSquares(np.diag(scale), np.ones(3)), shape=3)])
    np.testing.assert_allclose(units_of(problem, 0, 1 / scale), np.sqrt(3) / scale)


def test_a_function_that_turns_out_not_to_be_convex_is_solved_to_the_end():
    """Newton steps find that out, and first-order steps go on from there."""
    rng = np.random.default_rng(1000)
    A, b = rng.normal(size=(15, 15)), rng.normal(size=15)
    A = A + A.T
    steepest = float(np.abs(np.linalg.eigvalsh(A)).max())
    f = smooth(lambda x: 0.5 * x @ A @ x + b @ x, grad=lambda x: A @ x + b, lipschitz=steepest)
    result = solve(Problem([Block(f=f, h=Box(-1.0, 1.0), shape=15)]), seed=0)
    assert result.success


@pytest.mark.parametrize("seed", [1])
def test_few_assets_of_least_variance(seed):
    rng = np.random.default_rng(seed)
    F = 0.1 * rng.normal(size=(11, 3))
    S, w = F @ F.T + np.diag(0.01 + 0.02 * rng.random(11)), Variable(11, name="w")
    result = solve(minimize(quad_form(w, S) + Cardinality(3)(w), [w >= 0, w.sum() == 1]), seed=0)
    best = np.inf
    for T in itertools.chain.from_iterable(itertools.combinations(range(11), k) for k in (1, 2, 3)):
        shares = np.linalg.solve(S[np.ix_(T, T)], np.ones(len(T)))
        if shares.min() > 0:
            best = min(best, 1 / shares.sum())
    assert result.success
    assert result.fun == pytest.approx(best)


@pytest.mark.parametrize("seed", range(2))
def test_rows_with_fewer_entries_than_they_may_have(seed):
    """Nonnegative entries, at most two in each row, where some rows are best with one or none."""
    rng = np.random.default_rng(seed)
    X, W0 = np.abs(rng.normal(size=(25, 4))), np.zeros((5, 4))
    for i in range(5):
        W0[i, rng.choice(4, 2, replace=False)] = rng.normal(size=2)
    Y, W = W0 @ X.T + 0.3 * rng.normal(size=(5, 25)), Variable((5, 4), name="W")
    result = solve(minimize(0.5 * sum_squares(W @ X.T - Y) + RowCardinality(2)(W), [W >= 0]), seed=0)
    pairs = [list(S) for S in itertools.combinations(range(4), 2)]
    best = sum(min(0.5 * scipy.optimize.nnls(X[:, S], y)[1] ** 2 for S in pairs) for y in Y)
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-6)


def penalised(h, rng, form):
    """½‖Gx - y‖² + h(x), alone or with the residual as a block of its own."""
    G, y = rng.normal(size=(15, 6)), rng.normal(size=15)
    if form == "alone":
        return Problem([Block(f=LeastSquares(G, y), h=h, shape=6)])
    loss = Block(f=Quadratic(1.0), shape=15) if form == "smooth" else Block(h=SumSquares(1.0), shape=15)
    return Problem([Block(h=h, A=-G, shape=6), loss], b=-y)


@pytest.mark.parametrize("form", ["alone", "smooth", "prox"])
@pytest.mark.parametrize("h", [MCP(4.0, 3.0), LHalf(2.0), CappedL1(3.0, 0.5), Box(-0.3, 0.3)], ids=repr)
def test_one_gradient_tells_of_all_moves(h, form):
    """Nothing that is tried one by one is lower, and what is promised is what is reached."""
    rng = np.random.default_rng(3)
    for scale in (0.3, 3.0):
        problem = penalised(h, rng, form)
        merit = Merit(problem, None if problem.unconstrained else follower(problem))
        x = (h.prox(scale * rng.normal(size=6), 0.1), *(np.zeros(15),) * (len(problem.blocks) - 1))
        F, value = _bowl(merit, x, 0), merit(x)
        assert F is not None
        d = rng.normal(size=6)
        moved = merit((x[0] + d, *x[1:]))[1] - value[1] - (0.0 if h.is_set else h(x[0] + d) - h(x[0]))
        assert moved == pytest.approx(F.gradient(merit.restored(x)) @ d + 0.5 * d @ F.H @ d)
        one_by_one = _next(merit, x, value, 0, lambda: False)
        at_once = _at_once(merit, x, value, 0, F, lambda: False)
        assert at_once is not None
        assert at_once[1] == merit(at_once[0])
        assert one_by_one is None or at_once[1][1] <= one_by_one[1][1] + 1e-9


def test_other_functions_are_moved_one_by_one():
    rng = np.random.default_rng(0)
    G, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    rows = Problem([Block(h=MCP(1.0, 3.0), A=-G, shape=4), Block(h=L1(1.0), shape=9)], b=-y)
    wave = smooth(lambda x: float(np.sum(np.cos(x))), grad=lambda x: -np.sin(x))
    for problem, x in (
        (rows, (np.ones(4), np.ones(9))),
        (Problem([Block(f=wave, h=Box(-1.0, 1.0), shape=4)]), (np.ones(4),)),
    ):
        assert _bowl(Merit(problem, None if problem.unconstrained else 1), x, 0) is None
    whole = Problem([Block(f=LeastSquares(G, y), h=Integers(), shape=4)])  # a set, though it does not say so
    assert _bowl(Merit(whole, None), (np.ones(4),), 0) is not None


class Whole:
    """Whole numbers, known by their prox alone."""

    is_set = True

    def __call__(self, x):
        return 0.0 if np.allclose(x, np.round(x), atol=1e-9) else np.inf

    def prox(self, v, step):
        return np.round(v)


@pytest.mark.parametrize("seed", range(4))
def test_whole_numbers_nearest_to_a_point_in_slanted_units(seed):
    """Single entries and pairs do not lead from one point to a better one: others have to follow."""
    rng = np.random.default_rng([7, seed])
    G = rng.standard_normal((6, 5))
    y, x = G @ rng.uniform(-5, 5, 5), Variable(5)
    result = solve(minimize(0.5 * sum_squares(G @ x - y) + term(Whole(), x)))
    near = np.round(np.linalg.solve(G.T @ G, G.T @ y))
    points = near + np.array(list(itertools.product(range(-4, 5), repeat=5)))
    assert result.success
    assert result.fun <= 0.5 * np.min(np.sum((points @ G.T - y) ** 2, axis=1)) * (1 + 1e-9)


@pytest.mark.parametrize("h", [LogSum(1.8, 0.1), LHalf(2.7)], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_entries_that_are_held_until_others_follow_lead_out_of_poor_minima(h, seed):
    rng = np.random.default_rng([11, seed])
    slanted = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10))))
    G, x = rng.standard_normal((18, 10)) @ slanted.T, Variable(10)
    y = G @ np.where(rng.permutation(10) < 4, rng.choice([-1.5, 1.5], 10), 0.0) + 0.7 * rng.standard_normal(
        18
    )
    result = solve(minimize(0.5 * sum_squares(G @ x - y) + h(x)))
    size, best = np.sum(G**2, axis=0), np.inf
    for _ in range(40):  # coordinate descent from random supports
        v = rng.standard_normal(10) * rng.integers(0, 2, 10)
        for _ in range(100):
            before = v.copy()
            for j in range(10):
                v[j] = 0.0
                v[j] = h.prox(np.array([G[:, j] @ (y - G @ v) / size[j]]), 1 / size[j])[0]
            if np.array_equal(v, before):
                break
        best = min(best, 0.5 * np.sum((G @ v - y) ** 2) + h(v))
    assert result.success
    assert result.fun <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", [0, 1, 35])
def test_a_quadratic_on_a_sphere(seed):
    """Its least value by the multiplier; there may be a second minimum, and at the last one all starts agree."""
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(3, 8))
    Q, c = rng.standard_normal((n, n)), 0.3 * rng.standard_normal(n)
    w, V = np.linalg.eigh(Q + Q.T)
    g = V.T @ c
    mu = scipy.optimize.brentq(lambda m: np.sum((g / (w + m)) ** 2) - 1, -w[0] + 1e-10, 1e4, xtol=1e-14)
    best = -V @ (g / (w + mu))
    problem = Problem([Block(f=Quadratic(Q + Q.T, c), h=Sphere(), shape=n)])
    result = solve(problem, seed=0)
    assert result.success
    assert result.fun <= problem.objective((best,)) + 1e-6
    other = -V @ (g / (w - w[-1] - 1))  # a point from which the mirror leads down
    found = kicked(problem, (other / np.linalg.norm(other),), lambda: False)
    assert found is not None
    assert np.linalg.norm(found[0]) == pytest.approx(1.0)
