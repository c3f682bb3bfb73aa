"""NewtonALM on canonical problems: against CVXPY, in any units, with singular systems, where little is known."""

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from kinds import KINDS, Kind, differences, made

from ipds import AssumptionError, Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    PSD,
    Box,
    Cardinality,
    Composed,
    DiagonalEquals,
    LeastSquares,
    Linear,
    Logistic,
    NonNegative,
    Nuclear,
    Quadratic,
    Stacked,
    Zero,
    smooth,
)
from ipds.methods import NewtonALM, candidates
from ipds.methods.choosing import handover
from ipds.methods.newton import predicted
from ipds.methods.newton.smooth import written_out
from ipds.modelling import norm1, nuclear
from ipds.operators import FiniteDifference, Matrix, Reshape, from_linear_operator


def run(problem, tol=1e-8, steps=120, x0=None, watch=None, columns=1.0):
    """Steps until the residuals are below `tol`."""
    x0 = x0 or tuple(np.zeros(block.shape) for block in problem.blocks)
    method = NewtonALM()
    setup, carry = method.init(problem, x0, np.zeros(problem.shape))
    before = [np.copy(x) for x in x0]
    for _ in range(steps):
        carry, state = method.step(setup, carry)
        if watch is not None:
            watch(setup, carry)
        if max(residuals(problem, state, columns)) <= tol:
            break
    assert all(np.array_equal(a, b) for a, b in zip(before, x0, strict=True))
    return setup, carry, state


def residuals(problem, state, columns=1.0):
    """Feasibility and stationarity of every block, with s from the prox points, against the sizes of their terms.

    `columns` are the units of the first block; terms of products count before they cancel.
    """
    q, norm = state.q, np.linalg.norm
    matrices = [abs(op.as_matrix(x.shape)) for op, x in zip(problem.operators, q, strict=True)]
    gap = sum(op.apply(x) for op, x in zip(problem.operators, q, strict=True)) - problem.b
    sizes = [norm(A @ np.abs(x.ravel())) for A, x in zip(matrices, q, strict=True)]
    found = [norm(gap) / max(*sizes, norm(problem.b))]
    for i, (block, op, x) in enumerate(zip(problem.blocks, problem.operators, q, strict=True)):
        point, step = state.prox_points[i]
        unit = columns if i == 0 else 1.0
        gradient = np.zeros(block.shape) if block.f is None else block.f.grad(x)
        s, pulled = (point - x) / step, matrices[i].T @ np.abs(state.z.ravel())
        size = max(norm(gradient / unit), norm(s / unit), norm(pulled / unit)) or 1.0
        found.append(norm((gradient + s + op.adjoint(state.z)) / unit) / size)
    return found


def objective(problem, state):
    return sum(
        (b.f(x) if b.f is not None else 0.0) + b.h(x) for b, x in zip(problem.blocks, state.q, strict=True)
    )


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
    """As many steps where the variable is measured in other units, give or take what rounding decides."""
    for make in KINDS[:6]:
        kind = make(np.random.default_rng(4))
        counts = {run(made(kind, np.full(kind.n, unit)), columns=unit)[1].t for unit in (1e-8, 1.0, 1e8)}
        assert max(counts) - min(counts) <= 1, make.__name__


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


@pytest.mark.parametrize("kind", ["map", "LinearOperator"])
def test_maps_known_by_products_only(kind, monkeypatch):
    monkeypatch.setattr("ipds.methods.newton.smooth.COLUMNS", 0)  # thin ones are written out else
    r = np.random.default_rng(7)
    n = 500
    y = np.cumsum(r.standard_normal(n))
    D = differences(n)
    if kind == "map":

        class Products(Matrix):
            def as_matrix(self, shape):
                return None

        A = Products(-D)
    else:
        A = from_linear_operator(sp.linalg.aslinearoperator(-D), (n,), (n - 1,))
    f = LeastSquares(sp.eye_array(n, format="csr"), y)
    problem = Problem([Block(f=f, A=A, shape=n), Block(h=L1(3.0), shape=n - 1)])
    explicit = Problem([Block(f=f, A=-D, shape=n), Block(h=L1(3.0), shape=n - 1)])
    method = NewtonALM()
    setup, carry = method.init(problem, (np.zeros(n), np.zeros(n - 1)), np.zeros(n - 1))
    assert setup.system.strategy is None
    for _ in range(30):
        carry, state = method.step(setup, carry)
    assert max(residuals(explicit, state)) < 1e-7


def test_sparse_maps_make_no_dense_matrix():
    """20 000 columns: a dense matrix would take 3 GB."""
    r = np.random.default_rng(8)
    n = 20_000
    y = np.cumsum(r.standard_normal(n) * (r.random(n) < 0.01)) + 0.1 * r.standard_normal(n)
    rows = [(differences(n), 0.0, L1(1.0)), (sp.csr_array(np.ones((1, n))), -y.sum(), Box(0.0, 0.0))]
    f = LeastSquares(sp.eye_array(n, format="csr"), y)
    problem = made(Kind(n, f, rows, lambda cp, v: (0, [])))
    _, _, state = run(problem, tol=1e-6)
    assert max(residuals(problem, state)) <= 1e-6


def test_functions_without_jacobian_fall_back():
    class Soft:
        is_convex = True

        def __call__(self, x):
            return float(np.sum(np.abs(x)))

        def prox(self, v, step):
            return np.sign(v) * np.maximum(np.abs(v) - step, 0)

    r = np.random.default_rng(9)
    A, b = r.standard_normal((20, 8)), r.standard_normal(20)
    problem = Problem([Block(f=LeastSquares(A, b), A=-1.0, shape=8), Block(h=Soft(), shape=8)])
    _, _, state = run(problem)
    assert max(residuals(problem, state)) <= 1e-8


def test_smooth_functions_without_hessian():
    r = np.random.default_rng(10)
    A = r.standard_normal((30, 6))
    f = smooth(
        lambda x: float(np.sum(np.logaddexp(0, A @ x))), grad=lambda x: A.T @ (1 / (1 + np.exp(-(A @ x))))
    )
    problem = Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.5), shape=6)])
    _, _, state = run(problem, tol=1e-7)
    assert max(residuals(problem, state)) <= 1e-7


def test_domains_are_not_left():
    """-Σ log x + ⟨c, x⟩ on x ≥ 0 has the minimiser 1/c; its gradient is only defined for x > 0."""
    c = np.array([0.01, 1.0, 300.0])

    def value(x):
        return float(c @ x - np.sum(np.log(x))) if np.all(x > 0) else math.inf

    f = smooth(value, grad=lambda x: c - 1 / x)
    problem = Problem([Block(f=f, A=-1.0, shape=3), Block(h=Box(0.0, 1e4), shape=3)])
    _, _, state = run(problem, x0=(np.ones(3), np.ones(3)))
    np.testing.assert_allclose(state.q[0], 1 / c, rtol=1e-6)


def test_differences_near_a_bound_stay_inside():
    from ipds.methods.newton.inside import Inside

    x = np.array([1e-7, 1.0, 3.0])
    f = Inside(smooth(lambda x: -float(np.sum(np.log(x))), lambda x: -1 / x), np.zeros(3), np.full(3, np.inf))
    np.testing.assert_allclose(f.hessian(x), np.diag(1 / x**2), rtol=1e-2, atol=1e-3)


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


def test_quadratics_known_by_products_are_written_out_once():
    calls = []

    def product(x):
        calls.append(1)
        return 2.0 * x

    f = smooth(
        lambda x: float(x @ x) - float(x.sum()), lambda x: product(x) - 1.0, quadratic=True, convex=True
    )
    setup, _, state = run(Problem([Block(f=f, A=-1.0, shape=6), Block(h=NonNegative(), shape=6)]))
    assert setup.form.smooth.is_quadratic
    np.testing.assert_allclose(state.q[0], 0.5, rtol=1e-6)
    before = len(calls)
    setup.form.smooth.hessian(np.zeros(6))
    assert len(calls) == before


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 4)),
        np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [1.0, 0, 0, 0]]),
        np.ones((3, 4)),
    ],
    ids=["zero", "empty rows and columns", "rank one"],
)
def test_singular_systems(matrix):
    """No f, and a matrix with a kernel: any minimiser will do."""
    problem = Problem([Block(A=-matrix, shape=4), Block(h=L1(1.0), shape=3)], b=np.array([1.0, -2.0, 0.5]))
    _, _, state = run(problem)
    assert max(residuals(problem, state)) <= 1e-8
    v = cp.Variable(4)
    best = cp.Problem(cp.Minimize(cp.norm1(matrix @ v + np.array([1.0, -2.0, 0.5])))).solve()
    assert objective(problem, state) == pytest.approx(best, abs=1e-7)


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


def test_finite_differences_are_explicit():
    y = np.cumsum(np.random.default_rng(12).standard_normal(40))
    D = FiniteDifference()
    f = LeastSquares(np.eye(40), y)
    problem = Problem([Block(f=f, A=-1.0 * D, shape=40), Block(h=L1(2.0), shape=39)])
    setup, _, state = run(problem)
    assert setup.system.strategy is not None
    assert max(residuals(problem, state)) <= 1e-8


@pytest.mark.parametrize(
    ("f", "rows"),
    [
        (
            Linear(np.ones(6)),
            [(np.ones((2, 6)), np.array([1.0, 2.0]), Box(0.0, 0.0)), (None, 0.0, NonNegative())],
        ),
        (Quadratic(np.eye(6)), [(np.ones((1, 6)), -10.0, Box(0.0, 0.0)), (None, 0.0, Box(0.0, 0.1))]),
        (Linear(-np.ones(6)), [(np.ones((2, 6)), 0.0, Zero()), (None, 0.0, NonNegative())]),
        (Linear(-2 * np.ones(6)), [(None, 0.0, L1(1.0))]),
    ],
    ids=["infeasible equations", "infeasible box", "unbounded program", "unbounded norm"],
)
def test_without_a_solution_nothing_is_certified(f, rows):
    """The multiplier, or the point, grows along the direction that proves it."""
    problem = made(Kind(6, f, rows, lambda cp, v: (0, [])))
    _, _, state = run(problem, tol=1e-6, steps=60)
    assert max(residuals(problem, state)) > 1e-3
    assert max(np.abs(state.z).max(), np.abs(state.x[0]).max()) > 1e6
    assert all(np.all(np.isfinite(x)) for x in (*state.x, state.z))


def test_costs_grow_with_the_problem():
    small, large = (
        predicted(Problem([Block(A=-np.ones((3 * n, n)), shape=n), Block(h=L1(), shape=3 * n)]))
        for n in (10, 200)
    )
    assert 0 < small.newton < large.newton < math.inf
    assert small.iteration < large.iteration
    chain, plane = differences(60_000), sp.kron(differences(250), sp.eye_array(240), format="csr")
    costs = [
        predicted(Problem([Block(A=-D, shape=D.shape[1]), Block(h=L1(), shape=D.shape[0])])).newton
        for D in (chain, sp.vstack([plane, sp.kron(sp.eye_array(250), differences(240))], format="csr"))
    ]
    assert costs[0] < costs[1]


@pytest.mark.parametrize("h", [Nuclear(1.0), PSD()])
def test_full_jacobians_are_counted(h):
    """A prox of singular values or eigenvalues makes K full: first-order steps come first."""
    shape = (30, 30)

    def problem(last):
        return Problem([Block(h=L1(0.2), A=-1.0, shape=shape), Block(h=last, shape=shape)], b=np.eye(30))

    plain, full = predicted(problem(L1())), predicted(problem(h))
    assert full.is_full
    assert not plain.is_full
    assert full.newton > 10 * plain.newton
    assert full.iteration > plain.iteration
    tried = candidates(problem(h))
    first, second, third = tried[:3]
    assert [method.name.split("(")[0] for method in tried[:3]] == [
        "AcceleratedIPDS",
        "NewtonALM",
        "AcceleratedIPDS",
    ]
    assert 60 < handover(first, second, problem(h)) < math.inf
    assert 0 < handover(second, third, problem(h)) < 100
    assert candidates(problem(L1()))[0].name == "NewtonALM"


def test_principal_components_beside_outliers_of_their_own():
    """Its semismooth steps once ran for ever, predicted to take hundredths of a second."""
    r = np.random.default_rng(3)
    D = r.standard_normal((50, 5)) @ r.standard_normal((5, 40))
    D[r.random(D.shape) < 0.1] += 5.0
    low, sparse = Variable(D.shape), Variable(D.shape)
    result = solve(minimize(nuclear(low) + norm1(sparse) / math.sqrt(50), [low + sparse == D]), max_iter=3000)
    assert result.success


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


def test_thin_maps_known_by_products_are_sparse_matrices():
    n = 600
    D = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n)).tocsr()
    like = np.zeros(n)
    thin = from_linear_operator(sp.linalg.aslinearoperator(D), (n,), (n - 2,))
    found = written_out(thin, (n,), like)
    assert sp.issparse(found)
    assert abs(found - D).max() == 0
    full = sp.linalg.aslinearoperator(np.ones((n, n)))
    assert written_out(from_linear_operator(full, (n,), (n,)), (n,), like) is None


@pytest.mark.parametrize("loss", [LeastSquares, Logistic])
def test_columns_that_nearly_depend_on_each_other_go_to_newton(loss):
    """First-order steps come first only where f is well conditioned, whatever the units of its columns."""
    r = np.random.default_rng(2)
    G, y = r.standard_normal((60, 8)) * np.geomspace(1, 1e3, 8), np.sign(r.standard_normal(60))
    slanted = G.copy()
    slanted[:, 0] = slanted[:, 1] / 10 + 1e-2 * slanted[:, 0]

    def first(G):
        problem = Problem([Block(f=loss(G, y), h=L1(0.1), A=-1.0, shape=8), Block(h=Zero(), shape=8)])
        return candidates(problem)[0].name.split("(")[0]

    assert first(G) == "AcceleratedIPDS"
    assert first(slanted) == "NewtonALM"


class Shares:
    """A set known by its prox alone: every row of X is ≥ 0 and adds up to a_i; of Xᵀ where `columns`."""

    is_convex = is_set = True

    def __init__(self, a, columns=False):
        self.a, self.columns = a, columns

    def __call__(self, X):
        X = X.T if self.columns else X
        return 0.0 if X.min() >= -1e-12 and np.abs(X.sum(1) - self.a).max() < 1e-9 else np.inf

    def prox(self, V, step):
        V = V.T if self.columns else V
        ordered = np.sort(V, 1)[:, ::-1]
        excess = (np.cumsum(ordered, 1) - self.a[:, None]) / np.arange(1, V.shape[1] + 1)
        last = (ordered > excess).sum(1) - 1
        X = np.maximum(V - excess[np.arange(len(V)), last][:, None], 0)
        return X.T if self.columns else X


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_transport_between_sets_known_by_their_prox_alone(unit):
    """No Jacobian is known, so rounds of ADMM go on to the end: β has to come to rest, in any unit of the objective."""
    rng, n = np.random.default_rng(0), 25
    a, b = (x / x.sum() for x in (rng.random(n), rng.random(n)))
    C = (rng.random((n, 1)) - rng.random((1, n))) ** 2
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    best = scipy.optimize.linprog(C.ravel(), A_eq=sums, b_eq=np.r_[a, b]).fun
    blocks = [
        Block(f=Linear(unit * C), h=Shares(a), A=-1.0, shape=(n, n)),
        Block(h=Shares(b, True), shape=(n, n)),
    ]
    result = solve(Problem(blocks), method=NewtonALM(), max_iter=400)
    assert result.success, result.certificate
    assert np.sum(C * result.x[0]) == pytest.approx(best, rel=1e-3)
