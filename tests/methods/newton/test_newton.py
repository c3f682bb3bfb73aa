"""NewtonALM on canonical problems: against CVXPY, in any units, with singular systems, where little is known."""

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from kinds import KINDS, made
from stepping import objective, residuals, run

from ipds import AssumptionError, Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    PSD,
    Box,
    Cardinality,
    Composed,
    DiagonalEquals,
    LeastSquares,
    NonNegative,
    Nuclear,
    Quadratic,
    Stacked,
    smooth,
)
from ipds.methods import NewtonALM
from ipds.methods.newton.carry import INTERIOR
from ipds.modelling import huber, logistic, norm1, norm2, norm21, norm_inf, sum_squares
from ipds.operators import Matrix, Reshape


def reference(kind):
    v = cp.Variable(kind.n)
    value, constraints = kind.cvx(cp, v)
    return cp.Problem(cp.Minimize(value), constraints).solve(solver="CLARABEL")


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_optimal_in_any_units(make):
    for seed in (1, 2):
        r = np.random.default_rng(seed)
        kind = make(r)
        best = reference(kind)
        for columns in (None, 10 ** r.uniform(-4, 4, kind.n)):
            problem = made(kind, columns)
            units = 1.0 if columns is None else columns
            _, carry, state = run(problem, columns=units)
            assert max(residuals(problem, state, units)) <= 1e-8, (carry.t, carry.phase)
            assert carry.t <= 60
            assert objective(problem, state) == pytest.approx(best, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_every_state_holds_subgradients(make):
    """h(u) ≥ h(q) + ⟨s, u - q⟩ for all u, near and far, at every state."""
    r = np.random.default_rng(3)
    problem = made(make(r))
    h, method = problem.blocks[-1].h, NewtonALM()
    setup, carry = method.init(
        problem, tuple(np.zeros(b.shape) for b in problem.blocks), np.zeros(problem.shape)
    )
    for _ in range(6):
        carry, state = method.step(setup, carry)
        q, (point, step) = state.q[-1], state.prox_points[-1]
        s = (point - q) / step
        np.testing.assert_allclose(state.z, -s, rtol=1e-12)
        assert math.isfinite(h(q))
        for size in (1e-3, 1.0, 1e3):
            u = h.prox(q + size * np.abs(q).max() * r.standard_normal(q.shape), 1.0)  # in the domain
            rounding = 1e-9 * (np.abs(s) @ (np.abs(u) + np.abs(q)) + abs(h(q)) + abs(h(u)))
            assert h(u) >= h(q) + s @ (u - q) - rounding


def test_zeros_and_bounds_are_exact():
    kind = next(make for make in KINDS if make.__name__ == "kink_in_box")(np.random.default_rng(1))
    _, _, state = run(made(kind))
    v = state.q[-1]
    assert np.count_nonzero(v == 0) > 1
    np.testing.assert_array_equal(v, state.q[0])
    assert np.any(v == 0.3) or np.any(v == -0.2)


def test_units_leave_the_steps_alone():
    """As many steps where the variable is measured in other units, give or take what rounding decides.

    That also decides whether sweeps find the face: then the first step is the last.
    """
    for make in KINDS[:6]:
        kind = make(np.random.default_rng(4))
        counts = [run(made(kind, np.full(kind.n, unit)), columns=unit)[1].t for unit in (1e-8, 1.0, 1e8)]
        further = [t for t in counts if t > 1] or [1]
        assert max(further) - min(further) <= 1, make.__name__


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_units_of_the_objective(unit):
    r = np.random.default_rng(5)
    A, b = r.standard_normal((20, 12)), r.standard_normal(20)
    root = math.sqrt(unit)
    problem = Problem(
        [Block(f=LeastSquares(root * A, root * b), A=-1.0, shape=12), Block(h=L1(unit * 0.7), shape=12)]
    )
    _, carry, state = run(problem)
    v = cp.Variable(12)
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ v - b) + 0.7 * cp.norm1(v))).solve()
    assert objective(problem, state) == pytest.approx(unit * best, rel=1e-7)
    assert carry.t <= 12


def test_blocks_with_a_function_of_their_own():
    """Two blocks, one with a set of its own and one free, A_n = 2·I."""
    r = np.random.default_rng(6)
    A, B, y = r.standard_normal((25, 6)), r.standard_normal((25, 4)), r.standard_normal(25)
    problem = Problem(
        [
            Block(h=NonNegative(), A=A, shape=6),
            Block(f=Quadratic(0.3 * np.eye(4)), A=B, shape=4),
            Block(h=L1(1.0), A=2.0, shape=25),
        ],
        b=y,
    )
    _, _, state = run(problem)
    assert max(residuals(problem, state)) <= 1e-8
    v, w = cp.Variable(6), cp.Variable(4)
    value = 0.15 * cp.sum_squares(w) + cp.norm1((y - A @ v - B @ w) / 2)
    assert objective(problem, state) == pytest.approx(
        cp.Problem(cp.Minimize(value), [v >= 0]).solve(), rel=1e-6
    )
    assert np.all(state.q[0] >= 0)


def test_entries_that_bounds_fix_leave_the_others_free():
    """A user's weighted distance to the correlation matrices: bounds hold the diagonal, and f has values outside."""
    r = np.random.default_rng(0)
    C, W = np.eye(5) + 0.5 * r.standard_normal((5, 5)), r.uniform(0.1, 10, (5, 5))
    C, W = (C + C.T) / 2, (W + W.T) / 2
    f = smooth(lambda X: 0.5 * float(np.sum(W * (X - C) ** 2)), lambda X: W * (X - C), convex=True)
    problem = Problem([Block(f=f, h=DiagonalEquals(1.0), A=-1.0, shape=(5, 5)), Block(h=PSD(), shape=(5, 5))])
    _, carry, state = run(problem, tol=1e-6)
    X = cp.Variable((5, 5), PSD=True)
    best = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.multiply(W, cp.square(X - C)))), [cp.diag(X) == 1]).solve(
        solver="CLARABEL"
    )
    assert f(state.q[0]) == pytest.approx(best, rel=1e-5)
    assert carry.t <= 30


def test_rounding_of_large_weights_does_not_hold_steps_back():
    """Exact completion with the nuclear norm: beta grows until y = beta(w - u) is rounding, and has to come down."""
    r = np.random.default_rng(0)
    T = r.standard_normal((8, 2)) @ r.standard_normal((2, 8))
    mask = np.flatnonzero(r.random(64) < 0.7)
    pick = sp.csr_array((np.ones(mask.size), (np.arange(mask.size), mask)), shape=(mask.size, 64))
    A = Matrix(-pick) @ Reshape((8, 8))
    problem = Problem(
        [Block(h=Nuclear(1.0), A=A, shape=(8, 8)), Block(h=Box(0.0, 0.0), shape=mask.size)],
        b=-T.ravel()[mask],
    )
    _, carry, state = run(problem, tol=1e-10)
    assert max(residuals(problem, state)) <= 1e-10
    assert carry.t <= 80


def test_slanted_columns_are_made_orthonormal():
    """Least absolute deviations with condition 1e6: interior-point steps do not see it, and the answer is the same."""
    r = np.random.default_rng(0)
    U, V = (np.linalg.qr(r.standard_normal(shape))[0] for shape in ((60, 8), (8, 8)))
    G = U * np.logspace(0, -6, 8) @ V.T
    y = G @ r.standard_normal(8) + 0.1 * r.standard_normal(60)
    problem = Problem([Block(A=-G, shape=8), Block(h=L1(1.0), shape=60)], b=-y)
    setup, carry, state = run(problem, tol=1e-7)
    assert setup.form.mix is not None
    assert carry.t <= 30
    x = cp.Variable(8)
    best = cp.Problem(cp.Minimize(cp.norm1(U @ x - y))).solve(solver="CLARABEL")
    assert np.abs(G @ state.q[0] - y).sum() == pytest.approx(best, rel=1e-6)
    v = r.standard_normal(8)
    np.testing.assert_allclose(setup.form.inward(setup.form.outward(v)), v, rtol=1e-6)


def test_single_precision_is_worked_on_in_double():
    r = np.random.default_rng(11)
    A, b = r.standard_normal((20, 8)).astype(np.float32), r.standard_normal(20).astype(np.float32)
    x0 = (np.zeros(8, np.float32), np.zeros(20, np.float32))
    problem = Problem([Block(A=-A, shape=8), Block(h=L1(1.0), shape=20)], b=-b)
    method = NewtonALM()
    setup, carry = method.init(problem, x0, np.zeros(20, np.float32))
    for _ in range(20):
        carry, state = method.step(setup, carry)
    assert all(x.dtype == np.float32 for x in (*state.x, state.z))
    v = cp.Variable(8)
    best = cp.Problem(cp.Minimize(cp.norm1(A.astype(float) @ v - b.astype(float)))).solve()
    assert float(np.sum(np.abs(A @ state.x[0] - b))) == pytest.approx(best, rel=1e-5)


def test_carry_keeps_its_structure():
    problem = made(KINDS[0](np.random.default_rng(0)))
    shapes = []

    def watch(setup, carry):
        flat = [*carry[:7], *carry.point, *carry[8:]]
        shapes.append([(type(x), np.shape(x)) for x in flat])

    run(problem, watch=watch, steps=12, tol=0.0)
    assert all(shape == shapes[0] for shape in shapes)


def test_other_problems_are_refused():
    A = np.ones((3, 2))

    def refused(blocks, match):
        problem = Problem(blocks)
        with pytest.raises(AssumptionError, match=match):
            NewtonALM().init(
                problem, tuple(np.zeros(b.shape) for b in problem.blocks), np.zeros(problem.shape)
            )

    refused([Block(h=Cardinality(1), A=-A, shape=2), Block(h=L1(), shape=3)], "convex")
    refused([Block(h=L1(), A=1.0, shape=3), Block(A=-A, shape=2)], "A = c·I")
    indefinite = Quadratic(np.diag([1.0, -1.0, 1.0]))
    refused([Block(A=-A, shape=2), Block(f=indefinite, h=L1(), shape=3)], "convex")
    refused([Block(h=L1(), shape=3)], "besides")


def test_stacks_within_stacks():
    inner = Stacked([(L1(1.0), 2), (NonNegative(), 1)])
    problem = Problem(
        [
            Block(f=Quadratic(np.eye(4), -np.ones(4)), A=-1.0, shape=4),
            Block(h=Stacked([(inner, 3), (Box(-0.5, 0.5), 1)]), shape=4),
        ]
    )
    _, _, state = run(problem)
    np.testing.assert_allclose(state.q[-1], [0, 0, 1, 0.5], atol=1e-8)


@pytest.mark.parametrize("shape", [(12,), (4, 3)])
def test_a_smooth_function_of_the_last_block(shape):
    r = np.random.default_rng(13)
    A, b, G, y = (
        r.standard_normal((12, 5)),
        r.standard_normal(12),
        r.standard_normal((9, 12)),
        r.standard_normal(9),
    )
    f = Composed(LeastSquares(G, y), Reshape(shape)) if len(shape) > 1 else LeastSquares(G, y)
    operator = Reshape((12,), shape) @ Matrix(A) if len(shape) > 1 else A
    blocks = [Block(h=NonNegative(), A=operator, shape=5), Block(f=f, h=L1(0.3), A=2.0, shape=shape)]
    problem = Problem(blocks, b=b.reshape(shape))
    _, _, state = run(problem)
    assert max(residuals(problem, state)) <= 1e-8
    v = cp.Variable(5)
    u = (b - A @ v) / 2
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ u - y) + 0.3 * cp.norm1(u)), [v >= 0]).solve()
    assert objective(problem, state) == pytest.approx(best, rel=1e-6)
    setup, again = NewtonALM().init(problem, state.q, state.z)
    np.testing.assert_allclose(NewtonALM().step(setup, again)[1].q[0], state.q[0], atol=1e-6)


def test_constraints_are_met_beside_large_numbers():
    """A reservoir of 1e9 with flows of 1e6: balances held to 6e-5 of the storage were 3% of a day's inflow."""
    days, r = 365, np.random.default_rng(32)
    angle = np.arange(days) / days * 2 * np.pi
    price = 40 + 20 * np.cos(angle) + 5 * r.standard_normal(days)
    inflow = np.maximum(0, 6e6 * (1 + np.sin(angle - 1.5)) + 1e6 * r.standard_normal(days))
    storage, release, spill = Variable(days + 1, name="storage"), Variable(days), Variable(days, name="spill")
    balance = storage[1:] - storage[:-1] + release + spill
    bounds = [
        storage >= 1e8,
        storage <= 1e9,
        release >= 0,
        release <= 1.5e7,
        spill >= 0,
        storage[days] >= 5e8,
    ]
    result = solve(minimize(-1e-6 * (price @ release), [storage[0] == 5e8, balance == inflow, *bounds]))
    assert result.success
    assert np.abs(result.value(balance) - inflow).max() < 1e-4 * inflow.max()


def test_constraints_are_met_beside_many_rows_of_data():
    """One budget beside 4000 residuals weighs nothing in the mean over all rows."""
    r = np.random.default_rng(91)
    G = r.standard_normal((4000, 5)) * [0.1, 0.5, 1.0, 3.0, 10.0]
    y = G @ r.dirichlet(np.ones(5)) + r.standard_t(2, 4000)
    w, b = Variable(5, name="w"), Variable(name="b")
    result = solve(minimize(huber(G @ w + b - y, 1.0), [w.sum() == 1, w >= 0]))
    assert result.success
    assert abs(result.value(w).sum() - 1) < 2e-5


@pytest.mark.parametrize("seed", range(3))
def test_equations_alone_under_a_curved_function(seed, monkeypatch):
    """There are no products to leave a gap, and steps go on while forces are left: 60 and 2,550 steps were taken.

    Sweeps come before none of them: sixty took most of the time.
    """
    monkeypatch.setattr("ipds.methods.newton.rounds.swept", None)
    y = np.sign(np.sin(np.arange(40) / 6) + 0.3 * np.random.default_rng(seed).standard_normal(40))
    x, w = Variable((40, 2), name="x"), Variable((39, 2), name="w")
    moved = x[:-1] @ np.array([[1.0, 0.0], [1.0, 1.0]]) + w
    result = solve(minimize(logistic(-y * x[:, 0]) + 2 * sum_squares(w), [x[1:] == moved]), tol=1e-6)
    assert result.success
    assert result.nit <= 10


@pytest.mark.parametrize("f", [None, Quadratic(np.eye(3))])
def test_points_that_hardly_move_are_not_checked_again(f):
    """Below 1e-5 a point is due; again where .03 of that is left, or nothing falls any more."""
    problem = Problem([Block(f=f, A=np.eye(5, 3), shape=3), Block(h=L1(1.0), A=-1.0, shape=5)], b=np.ones(5))
    method = NewtonALM()
    setup, carry = method.init(problem, (np.zeros(3), np.zeros(5)), np.zeros(5))

    def is_due(left, shown, stalled=0):
        at = carry._replace(phase=INTERIOR, gap=left, left=0.0, shown=shown, stalled=stalled)
        shown_at, state = method._shown(setup, at)
        assert shown_at.shown == (min(shown, left) if state.due else shown)
        return state.due

    assert not is_due(2e-5, math.inf)
    assert is_due(9e-6, math.inf)
    assert is_due(2e-7, 9e-6)
    assert is_due(8e-6, 9e-6, stalled=1)
    assert not is_due(2e-6, 9e-6)


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_first_predictors_without_room_lead_to_a_sweep_in_which_equations_hold(seed):
    """A grid whose angles are far from where sweeps leave them: predictors meet a limit at once, and products of their
    changes are thousands of times the products to correct. 11 steps, and 76 of the last."""
    rng, n = np.random.default_rng(seed), 20
    lines = [(i, (i + 1) % n) for i in range(n)] + [(i, (i + 7) % n) for i in range(0, n, 3)]
    m, (tail, head) = len(lines), np.array(lines).T
    B = np.eye(n)[tail] - np.eye(n)[head]
    plants, strength, limit = rng.choice(n, 6, False), rng.uniform(5, 20, m), rng.uniform(25, 50, m)
    cost, demand = rng.uniform(10, 50, 6), rng.uniform(5, 15, n)
    p, angle, flow = Variable(6), Variable(n), Variable(m)
    balance = np.eye(n)[:, plants] @ p - B.T @ flow == demand
    limits = [p >= 0, p <= 120, flow <= limit, flow >= -limit]
    result = solve(
        minimize(cost @ p + 0.01 * sum_squares(p), [balance, flow == strength * (B @ angle), *limits]),
        tol=1e-6,
    )
    assert result.success
    assert result.nit <= 9


def test_rounds_that_end_where_all_norms_are_nothing_are_checked():
    """What is left of residuals there is all of them: points that all become one, with too many pairs for faces."""
    y, x, pairs = np.random.default_rng(0).standard_normal((16, 2)), Variable((16, 2)), np.triu_indices(16, 1)
    D = np.eye(16)[pairs[0]] - np.eye(16)[pairs[1]]
    result = solve(minimize(0.5 * sum_squares(x - y) + norm21(D @ x)), method=NewtonALM())
    assert result.success
    assert result.nit == 1


def test_rounds_on_norms_are_checked_where_they_are_near():
    """Of a square-root lasso they leave a certificate of 1e-1."""
    rng, x = np.random.default_rng(0), Variable(40)
    G = rng.standard_normal((60, 40))
    y = G[:, :5].sum(axis=1) + 0.3 * rng.standard_normal(60)
    result = solve(minimize(norm2(G @ x - y) + 1.5 * norm1(x)), method=NewtonALM())
    assert result.success
    assert result.history["iteration"][0] > 1


@pytest.mark.parametrize(("moments", "target"), [(40, 3.0), (100, 10.0)])
def test_first_steps_without_room_lead_to_another_start(moments, target):
    """Sweeps leave rooms of a thousandth of what the equations ask for: first steps were shorter than .03."""
    x, u = Variable((moments + 1, 2)), Variable((moments, 1))
    moves = x[1:] == x[:-1] @ np.array([[1.0, 0.0], [0.1, 1.0]]) + u @ np.array([[0.005, 0.1]])
    ends = [x[0] == [0.0, 0.0], x[moments] == [target, 0.0]]
    result = solve(minimize(norm_inf(u) + 0.01 * sum_squares(u), [*ends, moves]), tol=1e-6)
    assert result.success
    assert result.nit <= 8


def test_kinks_away_from_zero_are_met_to_the_last_digit():
    """w - (w - place) is not `place`, and beside it |u - place| has another slope: right answers were not certified."""
    rng, n = np.random.default_rng(0), 200
    c = 10 * rng.random(n)
    f = smooth(lambda x: float(np.logaddexp(x, -x).sum()), np.tanh)
    result = solve(Problem([Block(f=f, A=-1.0, shape=n), Block(h=L1(0.5), shape=n)], b=c), tol=1e-6)
    assert result.success
    assert result.nit <= 5
    assert np.count_nonzero(result.x[1] == 0) == np.count_nonzero(np.tanh(c) < 0.5)
