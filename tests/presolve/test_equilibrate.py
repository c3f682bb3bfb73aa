"""Units: they change nothing but numbers, they are good, and functions that forbid them keep their own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ipds import Block, Problem, Variable, iterate, minimize, solve
from ipds.errors import AssumptionError
from ipds.functions import (
    L1,
    L21,
    PSD,
    Box,
    Cardinality,
    Hinge,
    LeastSquares,
    Linear,
    LogDet,
    Logistic,
    NonNegative,
    Nuclear,
    Quadratic,
    Quantile,
    Rank,
    Scaled,
    Simplex,
    Stacked,
    Stiefel,
)
from ipds.methods import AcceleratedIPDS, NewtonALM
from ipds.modelling import log_det, sum_squares
from ipds.operators import Compose, FiniteDifference, FlatStack, Identity, Matrix, Reshape, Sampling
from ipds.presolve import presolve
from ipds.presolve.equilibrate import equilibrated
from ipds.presolve.table import Piece
from ipds.theory.certificate import certify, subgradients

rng = np.random.default_rng(3)
M, N = 40, 12
UNITS = 10 ** rng.uniform(-3, 3, N)
PLAIN = rng.standard_normal((M, N))
G = PLAIN * UNITS
ROWS = 10 ** rng.uniform(-2, 2, M)
NOTE = "columns and rows were brought to one size"
Y = rng.standard_normal(M)
LABELS = np.where(Y > 0, 1.0, -1.0)
RAW = np.cov(PLAIN[:, :6] * np.geomspace(0.1, 10, 6), rowvar=False)
SIDES = np.sqrt(RAW.diagonal())
OFF = 0.1 * np.outer(SIDES, SIDES) * (1 - np.eye(6))


def canonical() -> dict[str, Problem]:
    """Problems in canonical form whose columns or rows differ by 1e±3."""
    fit = LeastSquares(G, Y)
    small = np.diag(UNITS[:5]) @ rng.standard_normal((5, 4))
    stacked = FlatStack([Matrix(-G), Identity(-1.0), FiniteDifference()], N)
    parts = Stacked([(L1(1.0), M), (NonNegative(), N), (Quantile(0.3), N - 1)])
    return {
        "LAD": Problem([Block(A=-G, shape=N), Block(h=L1(1.0), shape=M)], b=-Y),
        "LAD with rows": Problem(
            [Block(A=-ROWS[:, None] * PLAIN, shape=N), Block(h=L1(1 / ROWS), shape=M)], b=-ROWS * Y
        ),
        "LAD, sparse": Problem([Block(A=-sp.csr_array(G), shape=N), Block(h=L1(1.0), shape=M)], b=-Y),
        "LAD, products only": Problem(
            [Block(A=spla.aslinearoperator(-G), shape=N), Block(h=L1(1.0), shape=M)], b=-Y
        ),
        "lasso": Problem([Block(f=fit, h=L1(0.1 * UNITS), A=-1.0, shape=N), Block(shape=N)]),
        "best subset": Problem([Block(f=fit, h=Cardinality(3), A=-1.0, shape=N), Block(shape=N)]),
        "logistic": Problem(
            [Block(f=Logistic(G, LABELS), h=L1(0.1 * UNITS), A=-1.0, shape=N), Block(shape=N)]
        ),
        "box": Problem(
            [Block(f=fit, h=Box(-1 / UNITS, 2 / UNITS), A=-1.0, shape=N), Block(h=L1(0.1 * UNITS), shape=N)]
        ),
        "support vectors": Problem(
            [
                Block(f=Quadratic(np.diag(UNITS**2)), A=-LABELS[:, None] * G, shape=N),
                Block(h=Hinge(), shape=M),
            ]
        ),
        "stacked": Problem(
            [Block(f=fit, A=stacked, shape=N), Block(h=parts, shape=parts.size)],
            b=np.concatenate([Y, np.zeros(2 * N - 1)]),
        ),
        "equation": Problem(
            [
                Block(f=Quadratic(1.0), h=NonNegative(), A=G[:4] * ROWS[:4, None], shape=N),
                Block(h=Box(0, 0), shape=4),
            ],
            b=(G * ROWS[:, None])[:4] @ np.ones(N),
        ),
        "matrix block": Problem(
            [
                Block(f=LeastSquares(small.T, np.ones((4, 3))), h=L21(0.1), A=-1.0, shape=(5, 3)),
                Block(shape=(5, 3)),
            ]
        ),
        "simplex": Problem(
            [
                Block(f=LeastSquares(PLAIN, Y), h=Simplex(), A=-ROWS[:, None] * PLAIN, shape=N),
                Block(h=L1(1 / ROWS), shape=M),
            ]
        ),
        "covariances": Problem(
            [Block(f=Linear(RAW), h=LogDet(), A=-1.0, shape=(6, 6)), Block(h=L1(OFF), shape=(6, 6))]
        ),
    }


PROBLEMS = canonical()
every = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def state_of(problem: Problem, t: int):
    return next(itertools.islice(iterate(problem, method=AcceleratedIPDS(), seed=0), t - 1, None))


def norms(A, shape):
    matrix = A.as_matrix(shape)
    return np.linalg.norm(matrix.toarray() if sp.issparse(matrix) else matrix, axis=0)


@every
def test_it_is_the_same_problem(problem):
    units = equilibrated(problem)
    inner = units.problem
    x = [np.random.default_rng(1).standard_normal(block.shape) for block in inner.blocks]
    for block, own, xi in zip(inner.blocks, problem.blocks, x, strict=True):
        assert type(block.h) is type(own.h)
        assert block.shape == own.shape == xi.shape
    state = state_of(inner, 3)
    out = units.undo(state)
    assert inner.objective(state.q) == pytest.approx(problem.objective(out.q), rel=1e-12)
    np.testing.assert_allclose(
        units._e * problem.residual(out.q), inner.residual(state.q), rtol=1e-9, atol=1e-9
    )
    for mine, theirs in zip(units.start(out.x, out.z)[0], state.x, strict=True):
        np.testing.assert_array_equal(mine, theirs)  # powers of two round nothing
    np.testing.assert_array_equal(units.start(out.x, out.z)[1], state.z)


@every
def test_the_state_in_the_old_units_is_certified_there(problem):
    units = equilibrated(problem)
    for t in (1, 5, 200):
        state = state_of(units.problem, t)
        out = units.undo(state)
        inner, outer = subgradients(units.problem, state), subgradients(problem, out)
        for unit, a, b in zip(units._units, inner, outer, strict=True):
            np.testing.assert_allclose(a / unit, b, rtol=1e-6, atol=1e-6 * np.abs(b).max(initial=1e-300))
        assert np.isfinite(certify(problem, out).critical)
        for known, block, q in zip(out.gradients or (), problem.blocks, out.q, strict=False):
            if known is not None:
                np.testing.assert_allclose(known, block.f.grad(q), rtol=1e-8, atol=1e-8 * np.abs(known).max())
        for op, product, x in zip(problem.operators, out.products, out.x, strict=True):
            if product is not None:
                np.testing.assert_allclose(product, op.apply(x), rtol=1e-9, atol=1e-9 * np.abs(product).max())


@pytest.mark.parametrize("name", ["LAD", "LAD, sparse", "stacked"])
def test_columns_come_to_one_size(name):
    problem = PROBLEMS[name]
    before, after = (norms(p.operators[0], (N,)) for p in (problem, equilibrated(problem).problem))
    assert before.max() / before.min() > 100
    assert after.max() / after.min() < 10


def test_multiples_of_losses_bend_as_much_as_these():
    X = Variable((N, 4), name="X")
    stated = minimize(sum_squares(G @ X - PLAIN[:, :4]) + Rank(2)(X))
    assert NOTE in presolve(stated).report
    assert NOTE in solve(stated, max_iter=100).presolve


def test_probing_is_nearly_as_good():
    inner = equilibrated(PROBLEMS["LAD, products only"]).problem
    columns = np.linalg.norm([inner.operators[0].apply(e) for e in np.eye(N)], axis=1)
    assert columns.max() / columns.min() < 10


def test_what_forbids_units_keeps_its_own():
    assert Piece(L1(1.0), (3, 2)).units == (3, 2)
    assert Piece(L21(1.0), (3, 2)).units == (3, 1)
    assert Piece(Nuclear(1.0), (3, 2)).units in ((), None)
    assert Piece(Rank(1), (3, 2)).units == (3, 2)  # products of those of rows and columns change no rank
    assert Piece(Stiefel(), (3, 2)).units is None
    assert Piece(LogDet(), (3, 3)).two_sided
    assert not Piece(L1(1.0), (3, 3)).two_sided
    assert Piece(Simplex(), (3,)).units != (3,)
    assert Piece(Cardinality(2), (3,)).units == (3,)

    class Own:
        is_convex = is_set = True

        def __call__(self, x):
            return 0.0

        def prox(self, v, step):
            return v

    assert Piece(Block(h=Own(), shape=3).h, (3,)).units == ()


def test_covariances_in_any_units():
    """A sparse inverse covariance of raw data is that of standardised data: K_ij = K'_ij/(s_i s_j)."""
    K = Variable((6, 6), name="K")
    raw = minimize((RAW * K).sum() - log_det(K) + L1(OFF)(K))
    plain = minimize((RAW / np.outer(SIDES, SIDES) * K).sum() - log_det(K) + 0.1 * L1(1.0 - np.eye(6))(K))
    ours, theirs = solve(raw, tol=1e-6), solve(plain, tol=1e-6)
    assert ours.success
    assert ours.fun == pytest.approx(theirs.fun + 2 * np.log(SIDES).sum(), rel=1e-6)
    standard = ours.value(K) * np.outer(SIDES, SIDES)
    np.testing.assert_allclose(standard, theirs.value(K), atol=1e-4 * np.abs(standard).max())


def test_good_units_are_left_alone():
    problem = Problem([Block(A=-PLAIN, shape=N), Block(h=L1(1.0), shape=M)], b=-Y)
    assert equilibrated(problem) is None
    done = presolve(problem)
    assert done.problem is problem
    large = Problem([Block(A=-1e4 * PLAIN, shape=N), Block(h=L1(1e3), shape=M)], b=-Y)
    assert equilibrated(large) is None  # one unit for all is no matter of rows and columns


def test_single_precision_stays():
    G32, y32 = G.astype(np.float32), Y.astype(np.float32)
    problem = Problem([Block(A=-G32, shape=N), Block(h=L1(1.0), shape=M)], b=-y32)
    done = presolve(problem)
    assert done.steps
    assert done.problem.operators[0].matrix.dtype == np.float32
    result = solve(problem, tol=1e-2, method=AcceleratedIPDS(), max_iter=50)
    assert result.x[0].dtype == np.float32


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("residual", [False, True])
def test_columns_with_units_change_nothing(size, residual):
    """The lasso whose weights follow the units has the same objective in all of them."""
    s = 10 ** np.random.default_rng(size).uniform(-size, size, N)
    found = []
    for unit in (np.ones(N), s):
        h = L1(2.0 * unit)
        problem = (
            Problem([Block(h=h, A=-PLAIN * unit, shape=N), Block(f=Quadratic(1.0), shape=M)], b=-Y)
            if residual
            else Problem([Block(f=LeastSquares(PLAIN * unit, Y), A=-1.0, shape=N), Block(h=h, shape=N)])
        )
        result = solve(problem, tol=1e-6, method=AcceleratedIPDS())
        assert result.success
        found.append(result.fun)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_best_subset_finds_its_support_in_any_units():
    for seed in range(5):
        g = np.random.default_rng(seed)
        A = g.standard_normal((60, 14))
        support = np.sort(g.choice(14, 3, replace=False))
        y = A[:, support] @ (2 + g.random(3)) + 0.1 * g.standard_normal(60)
        scaled = A * 10 ** g.uniform(-3, 3, 14)
        result = solve(Problem([Block(f=LeastSquares(scaled, y), h=Cardinality(3), shape=14)]))
        assert result.success
        np.testing.assert_array_equal(np.flatnonzero(result.x[0]), support)


def test_columns_are_scaled_under_a_smooth_residual_too():
    """Also where the loss of the residual is an f: u is not free then."""
    g = np.random.default_rng(0)
    A = g.standard_normal((60, 6)) * 10.0 ** np.arange(-3, 3)
    labels = np.where(A[:, 1] / 1e-2 + g.logistic(size=60) > 0, 1.0, -1.0)
    loss = Logistic(np.eye(60), labels)
    intercept = Block(A=np.ones((60, 1)), shape=1)
    problem = Problem([Block(h=Cardinality(2), A=A, shape=6), intercept, Block(f=loss, A=-1.0, shape=60)])
    scaled = presolve(problem).problem
    sizes = [np.linalg.norm(scaled.operators[0].apply(e)) for e in np.eye(6)]
    assert max(sizes) <= 4 * min(sizes)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_entries_whose_squares_overflow_are_taken_as_they_are(size):
    columns = np.where(np.arange(N) % 2, 1.0, size)
    problem = Problem([Block(A=-PLAIN * columns, shape=N), Block(h=L1(1.0), shape=M)], b=-Y)
    units = equilibrated(problem)
    assert units is None or all(np.all(np.isfinite(u)) and np.all(u > 0) for u in units._units)


@pytest.mark.parametrize("A", [Identity(-3.0), Sampling(np.eye(4) == 0)], ids=["multiple", "sampling"])
def test_equations_that_pick_entries_of_one_variable_are_left_alone_without_a_look_at_them(A, monkeypatch):
    monkeypatch.setattr("ipds.presolve.equilibrate.Table", None)  # not even made
    shape = A.output_shape((4, 4))
    assert equilibrated(Problem([Block(h=Rank(1), A=A, shape=(4, 4)), Block(h=L1(1.0), shape=shape)])) is None
    with pytest.raises(TypeError):
        equilibrated(Problem([Block(h=L1(1.0), A=Matrix(PLAIN), shape=N), Block(h=L1(1.0), shape=M)]))


@pytest.mark.parametrize("h", [PSD(), LogDet()], ids=repr)
def test_a_vector_whose_entries_are_a_matrix_has_units_of_its_own(h):
    n = 3
    G = np.diag(10.0 ** np.linspace(-3, 3, n * n))
    y = np.ravel(np.eye(n) + 0.1)
    fold = Compose(Reshape(n * n, (n, n)), Identity(-1.0))
    problem = Problem(
        [Block(f=LeastSquares(G, G @ y), A=fold, shape=n * n, name="x"), Block(h=h, shape=(n, n))]
    )
    done = presolve(problem)
    assert NOTE in done.report
    assert solve(problem).success


def test_units_are_left_to_newton_steps_where_nothing_bends():
    problem = Problem([Block(A=-G, shape=N, name="x"), Block(h=L1(1.0), shape=M)], b=-G @ np.ones(N) - ROWS)
    assert NOTE in presolve(problem).report
    assert NOTE not in presolve(problem, units=False).report
    result = solve(problem, tol=1e-8)
    assert result.success
    assert "NewtonALM" in result.method
    assert NOTE not in result.presolve
    assert NOTE not in str(problem.check())
    named = solve(problem, method=AcceleratedIPDS(), max_iter=20)
    assert NOTE in named.presolve
    curved = Problem([Block(f=LeastSquares(G, ROWS), h=L1(1.0), A=-G, shape=N), Block(h=L1(1.0), shape=M)])
    result = solve(curved)
    assert result.success
    assert "NewtonALM" in result.method
    assert NOTE in result.presolve


def test_methods_after_newton_steps_are_given_better_units(monkeypatch):
    problem = Problem([Block(A=-G, shape=N, name="x"), Block(h=L1(1.0), shape=M)], b=-G @ np.ones(N) - ROWS)

    def refuse(self, problem, x0, z0):
        raise AssumptionError("not here")

    monkeypatch.setattr(NewtonALM, "init", refuse)
    result = solve(problem, max_iter=20)
    assert "AcceleratedIPDS" in result.method
    assert NOTE in result.presolve


def test_units_are_found_once_they_are_asked_for():
    problem = Problem([Block(A=-G, shape=N, name="x"), Block(h=L1(1.0), shape=M)], b=-G @ np.ones(N) - ROWS)
    done = presolve(problem, units=False)
    assert done.problem is problem
    assert not done.steps
    scaled = done.in_units
    assert scaled.problem is done.in_units.problem
    assert scaled.report == presolve(problem).report


class Amplitude:
    """½‖|u| - b‖², by its prox alone."""

    def __init__(self, b):
        self.b = b

    def __call__(self, u):
        return 0.5 * float(np.sum((np.abs(u) - self.b) ** 2))

    def prox(self, v, step):
        return np.where(v >= 0, 1.0, -1.0) * (np.abs(v) + step * self.b) / (1 + step)


@pytest.mark.parametrize("unit", [1e-4, 1e-2, 1e2, 1e4])
def test_equations_are_in_any_unit(unit):
    """All rows alike: no row is larger than another, and a set of equations has no unit of its own."""
    rng = np.random.default_rng(1)
    A, truth = rng.standard_normal((36, 6)), rng.standard_normal(6)
    h = Amplitude(np.abs(A @ truth) + 0.05 * rng.standard_normal(36))

    def solved(c):
        result = solve(Problem([Block(A=c * A, shape=6), Block(h=h, A=-c, shape=36)]), seed=0)
        assert result.success
        return h(A @ result.x[0])

    assert solved(unit) == pytest.approx(solved(1.0), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("last", [Box(1.0, 1.0), L1(1.0)], ids=["a set", "a cost"])
def test_rows_of_sets_alone_are_brought_to_one(last, unit):
    """What a cost multiplies has a unit."""
    A = unit * np.random.default_rng(0).standard_normal((3, 5))
    stated = Problem([Block(h=Cardinality(2), A=A, shape=5), Block(h=last, A=1.0, shape=3)])
    assert (equilibrated(stated) is not None) == last.is_set


@pytest.mark.parametrize("price", [1e-5, 1e-2, 1e2, 1e5])
def test_objectives_of_ones_own_are_in_any_unit(price):
    """The first penalty is what h costs in units of the equation."""
    rng = np.random.default_rng(1)
    A, truth = rng.standard_normal((36, 6)), rng.standard_normal(6)
    h = Amplitude(np.abs(A @ truth) + 0.05 * rng.standard_normal(36))
    result = solve(Problem([Block(A=A, shape=6), Block(h=Scaled(h, price), A=-1.0, shape=36)]), seed=0)
    plain = solve(Problem([Block(A=A, shape=6), Block(h=h, A=-1.0, shape=36)]), seed=0)
    assert result.success
    assert h(A @ result.x[0]) == pytest.approx(h(A @ plain.x[0]), rel=1e-6)


@pytest.mark.parametrize("form", ["values", "errors", "inside"])
@pytest.mark.parametrize("seed", range(3))
def test_a_rank_in_the_units_of_rows_and_columns(seed, form):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((12, 9))
    W = np.outer(10 ** rng.uniform(-1, 1, 12), 10 ** rng.uniform(-2, 2, 9))
    X, E = Variable((12, 9)), Variable((12, 9))
    problem = {
        "values": lambda: minimize(sum_squares(W * X - T) + Rank(2)(X)),
        "errors": lambda: minimize(sum_squares(W * E) + Rank(2)(X), [X + E == T / W]),
        "inside": lambda: minimize(sum_squares(W * X - T) + Rank(2)(W * X)),
    }[form]()
    result = solve(problem)
    assert result.success
    assert result.fun == pytest.approx(np.sum(np.linalg.svd(T, compute_uv=False)[2:] ** 2), rel=1e-6)
