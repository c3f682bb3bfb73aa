"""NewtonALM where little is known: maps by their products, no Jacobian, no Hessian, domains, singular systems."""

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from kinds import Kind, differences, made
from stepping import objective, residuals, run

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
    Box,
    LeastSquares,
    Linear,
    NonNegative,
    Quadratic,
    Zero,
    smooth,
)
from ipds.methods import NewtonALM
from ipds.methods.newton.smooth import written_out
from ipds.operators import FiniteDifference, Matrix, from_linear_operator


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
    for _ in range(2):  # sweeps, and steps on the face that they predict
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


@pytest.mark.parametrize("bounded", [False, True])
def test_a_sum_over_entries_takes_few_gradients(bounded):
    """1000 entries, known by values and gradients: two gradients for each of them were asked for at every step."""
    rng, n, asked = np.random.default_rng(0), 1000, []
    c = rng.random(n)
    if bounded:
        f = smooth(lambda w: -float(np.log(c + w).sum()), lambda w: asked.append(w) or -1 / (c + w))
        problem = Problem([Block(f=f, h=NonNegative(), A=np.ones((1, n)), shape=n)], b=10.0)
    else:
        f = smooth(lambda x: float(np.logaddexp(x, -x).sum()), lambda x: asked.append(x) or np.tanh(x))
        problem = Problem([Block(f=f, h=Zero(), A=-1.0, shape=n), Block(h=L1(0.5), shape=n)], b=10 * c)
    assert solve(problem, tol=1e-6).success
    assert len(asked) < 700


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_second_derivative_of_a_quadratic_is_made_once(unit):
    """A load of its own: five steps took a Hessian by differences each, as did four looks at whether f is convex."""
    rng, asked = np.random.default_rng(0), []
    base, need, cars, n = 300 + 100 * np.sin(np.arange(12)), rng.uniform(5, 20, 8), 8, 12

    def slope(x):
        asked.append(x)
        return unit * np.tile(base + x.reshape(cars, n).sum(axis=0), cars)

    f = smooth(lambda x: 0.5 * unit * float(np.sum((base + x.reshape(cars, n).sum(axis=0)) ** 2)), slope)
    A = np.kron(np.eye(cars), np.ones(n))
    result = solve(Problem([Block(f=f, h=Box(0.0, 7.0), A=A, shape=cars * n)], b=need))
    x = cp.Variable((cars, n))
    load = 0.5 * cp.sum_squares(base + cp.sum(x, axis=0))
    best = cp.Problem(cp.Minimize(load), [x >= 0, x <= 7, cp.sum(x, axis=1) == need]).solve("CLARABEL")
    assert result.success
    assert result.fun == pytest.approx(unit * best, rel=1e-6)
    assert len(asked) < 5 * cars * n


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_functions_that_are_quadratic_at_the_start_only(unit):
    """Huber's, of residuals that are short of its bend there, and long at the answer."""
    rng, n = np.random.default_rng(1), 30
    G, A = rng.standard_normal((40, n)), rng.standard_normal((3, n))
    y, b = 0.1 * rng.standard_normal(40), A @ rng.uniform(1, 3, n)
    f = smooth(
        lambda x: (
            unit * float(np.sum(np.where(abs(G @ x - y) < 1, (G @ x - y) ** 2 / 2, abs(G @ x - y) - 0.5)))
        ),
        lambda x: unit * (G.T @ np.clip(G @ x - y, -1, 1)),
    )
    result = solve(Problem([Block(f=f, h=Box(-1.0, 4.0), A=A, shape=n)], b=b), tol=1e-6)
    x = cp.Variable(n)
    best = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.huber(G @ x - y))), [x >= -1, x <= 4, A @ x == b]).solve(
        "CLARABEL"
    )
    assert result.success
    assert result.nit < 50
    assert result.fun == pytest.approx(unit * best, rel=1e-5)


def test_entries_that_are_tied_at_later_points_only():
    """A price on what is used beyond 2: at the start nobody uses anything."""
    n, want = 20, np.linspace(0.1, 1.0, 20)

    def over(x):
        return max(float(x.sum()) - 2.0, 0.0)

    f = smooth(
        lambda x: over(x) ** 3 + float((x - want) @ (x - want)), lambda x: 3 * over(x) ** 2 + 2 * (x - want)
    )
    result = solve(Problem([Block(f=f, h=L1(0.01), shape=n)]), method="newton", tol=1e-8)
    best = scipy.optimize.minimize(lambda x: f(x) + 0.01 * float(np.sum(np.abs(x))), want, tol=1e-12)
    assert result.success
    assert result.fun == pytest.approx(best.fun, rel=1e-4)
    assert result.fun <= best.fun + 1e-9
