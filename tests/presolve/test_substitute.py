"""Entries that are known beforehand: substituted, put back, and certified on the problem as stated."""

from __future__ import annotations

import sys

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, Status, solve
from ipds.functions import (
    L1,
    L2,
    Affine,
    Box,
    Cardinality,
    Composed,
    ElasticNet,
    Entropy,
    Hinge,
    Huber,
    HuberLoss,
    LeastSquares,
    Linear,
    Logistic,
    NonNegative,
    Precomposed,
    Quadratic,
    Quantile,
    SmoothSum,
    Stacked,
    Sum,
    SumSquares,
    Weighted,
    Zero,
)
from ipds.operators import Diagonal, FiniteDifference
from ipds.presolve import presolve
from ipds.presolve.restrict import restricted, restricted_smooth
from ipds.presolve.substitute import substituted
from ipds.theory.certificate import certificate

M, N = 20, 8
rng = np.random.default_rng(0)
G, Y = rng.standard_normal((M, N)), rng.standard_normal(M)
FIT = LeastSquares(G, Y)
LO, HI = np.full(N, -1.0), np.full(N, 1.0)
LO[2] = HI[2] = 0.5
LO[5] = HI[5] = 0.0
BOX = Box(LO, HI)
POINT = Box(0.3 * np.ones(N), 0.3 * np.ones(N))
B = rng.standard_normal((N, N))


def rows(*entries: dict[int, float], n: int = N) -> np.ndarray:
    made = np.zeros((len(entries), n))
    for row, own in zip(made, entries, strict=True):
        for k, value in own.items():
            row[k] = value
    return made


ONE = rows(dict.fromkeys(range(N), 1.0), {3: 2.0})
TWO = np.array([1.0, 0.5])
CHAIN = rows({0: 1.0}, {0: -1.0, 1: 1.0}, {1: -1.0, 2: 2.0}, {0: -2.0}, {})


def scipy_operator(matrix: np.ndarray) -> sp.linalg.LinearOperator:
    return sp.linalg.aslinearoperator(matrix)


STATEMENTS = {
    "bounds": Problem([Block(f=FIT, h=BOX, shape=N)]),
    "bounds, split": Problem([Block(f=FIT, A=-1.0, shape=N, name="x"), Block(h=BOX, shape=N, name="v")]),
    "bounds and a penalty": Problem([Block(f=FIT, h=BOX, A=-1.0, shape=N), Block(h=L1(2.0), shape=N)]),
    "bounds, stacked": Problem(
        [
            Block(f=FIT, h=L1(0.5), A=np.vstack([ONE[:1], np.eye(N)]), shape=N),
            Block(h=BOX, A=np.vstack([0 * ONE[:1], -np.eye(N)]), shape=N),
        ],
        np.r_[1.0, np.zeros(N)],
    ),
    "a row": Problem([Block(f=FIT, h=L1(1.0), A=ONE, shape=N)], TWO),
    "a row, sparse": Problem([Block(f=FIT, h=NonNegative(), A=sp.csr_array(ONE), shape=N)], TWO),
    "a row of a set": Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=Affine(ONE, TWO), shape=N)]),
    "rows after rows": Problem(
        [Block(f=FIT, h=L1(1.0), A=CHAIN, shape=N)], np.array([1.0, 0.5, 0.25, -2.0, 0.0])
    ),
    "rows and no others": Problem([Block(f=FIT, h=ElasticNet(1.0, 0.5), A=ONE[1:], shape=N)], TWO[1:]),
    "deviations": Problem([Block(h=BOX, A=-G, shape=N), Block(h=L1(1.0), shape=M)], -Y),
    "a block": Problem(
        [
            Block(f=FIT, h=POINT, A=scipy_operator(B), shape=N, name="known"),
            Block(f=LeastSquares(G, 2 * Y), h=L1(2.0), A=B.T, shape=N),
            Block(h=L1(1.0), shape=N),
        ]
    ),
    "a block of an equation": Problem(
        [
            Block(h=POINT, A=ONE, shape=N, name="known"),
            Block(f=FIT, h=L1(0.1), A=rows({1: 1.0, 2: 3.0}, {5: 2.0, 1: 1.0}), shape=N),
        ],
        TWO,
    ),
    "rows of a product": Problem(
        [Block(f=FIT, h=BOX, A=-np.vstack([rows({2: 1.0}), G[:5]]), shape=N), Block(h=Hinge(1.0), shape=6)],
        np.zeros(6),
    ),
    "table": Problem(
        [
            Block(f=LeastSquares(G, G @ B[:, :3]), h=Box(LO[:, None], HI[:, None]), A=-1.0, shape=(N, 3)),
            Block(h=L1(1.0), shape=(N, 3)),
        ]
    ),
    "logistic": Problem([Block(f=Logistic(G, np.sign(Y)), h=BOX, A=ONE[:1], shape=N)], 0.7),
    "not convex": Problem(
        [
            Block(f=FIT, h=BOX, A=-1.0, shape=N),
            Block(h=Cardinality(3), A=-1.0, shape=N),
            Block(h=L1(0.1), shape=N),
        ]
    ),
}


@pytest.fixture
def kept(monkeypatch):
    """Solve without substitution."""

    def solved(problem: Problem, **options):
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["ipds.presolve.presolve"], "substituted", lambda problem: None)
            result = solve(problem, **options)
        assert "substituted" not in result.presolve
        return result

    return solved


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_answer_is_that_of_the_whole_problem(name, kept):
    problem = STATEMENTS[name]
    result, whole = solve(problem, tol=1e-8, seed=0), kept(problem, tol=1e-8, seed=0)
    assert "substituted" in result.presolve
    assert "substituted" in str(problem.check())
    assert result.success
    assert result.certificate.relative < 1e-8
    assert result.fun == pytest.approx(whole.fun, rel=1e-6)
    for x, block in zip(result.x, problem.blocks, strict=True):
        assert x.shape == block.shape
        kinks = block.h.kinks(block.shape)
        if kinks is not None:
            assert np.all((x >= kinks.lower) & (x <= kinks.upper))


def test_what_is_said():
    assert presolve(STATEMENTS["bounds"]).report.endswith("fixed entries substituted (2 of 'x1')")
    one = presolve(STATEMENTS["a row"]).report
    assert one.endswith("fixed entry substituted (1 of 'x1'), with 1 equation")
    assert "(3 of 'x1'), with 3 equations" in presolve(STATEMENTS["rows after rows"]).report
    assert f"({N} of 'known')" in presolve(STATEMENTS["a block"]).report


def test_multipliers_of_the_rows_that_are_left_out():
    """min ½‖Gx - y‖² over four rows, of which two tell entries one after the other, beside CVXPY."""
    C = np.vstack([CHAIN[:2], rows({0: 1.0, 1: 2.0, 4: 1.0, 6: -1.0}), ONE[:1]])
    b = np.array([1.0, 0.5, 0.2, 3.0])
    x = cp.Variable(N)
    equation = C @ x == b
    reference = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ x - Y)), [equation])
    reference.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    result = solve(Problem([Block(f=FIT, A=C, shape=N)], b), tol=1e-10)
    np.testing.assert_allclose(result.x[0], x.value, atol=1e-7)
    np.testing.assert_allclose(result.z, equation.dual_value, atol=1e-5)
    assert result.nit <= 3  # no other method had to come after


@pytest.mark.parametrize("name", ["bounds, split", "rows after rows", "a block", "rows of a product"])
def test_the_state_says_why_it_is_stationary(name):
    """s from the prox points alone, as for functions without known kinks."""
    problem = STATEMENTS[name]
    state = solve(problem, tol=1e-9).state
    s = [(v - q) / step for q, (v, step) in zip(state.q, state.prox_points, strict=True)]
    assert certificate(problem, state.q, state.z, s).relative < 1e-7
    for q, block, (v, step) in zip(state.q, problem.blocks, state.prox_points, strict=True):
        np.testing.assert_allclose(block.h.prox(v, step), q, atol=1e-9)


def test_callbacks_starts_and_history_are_those_of_the_problem():
    problem, seen = STATEMENTS["rows after rows"], []
    first = solve(problem, tol=1e-9)
    again = solve(
        problem,
        first.x,
        first.z,
        tol=1e-9,
        callback=lambda intermediate_result: seen.append(intermediate_result),
    )
    assert again.nit <= first.nit
    for point in seen:
        assert point.x[0].shape == (N,)
        assert point.z.shape == (5,)
        np.testing.assert_array_equal(point.x[0][:3], [1.0, 1.5, 0.875])
    assert np.all(np.isfinite(first.history["critical"][1:]))


def test_a_solve_that_was_cut_goes_on_to_the_same_bits(tmp_path):
    problem = STATEMENTS["not convex"]
    whole = solve(problem, tol=1e-12, max_iter=60, seed=0)
    solve(problem, tol=1e-12, max_iter=20, seed=0, checkpoint=tmp_path / "half")
    resumed = solve(problem, tol=1e-12, max_iter=60, seed=0, checkpoint=tmp_path / "half")
    for x, y in zip(whole.x, resumed.x, strict=True):
        np.testing.assert_array_equal(x, y)


IMPOSSIBLE = {
    "two values": Problem([Block(f=FIT, A=rows({3: 1.0}, {3: 2.0}), shape=N)], np.array([1.0, 4.0])),
    "outside": Problem([Block(f=FIT, h=Box(-1.0, 1.0), A=rows({3: 1.0}), shape=N)], np.array([5.0])),
    "once it is known": Problem(
        [Block(f=FIT, h=NonNegative(), A=rows({3: 1.0}, {3: 1.0, 4: 1.0}), shape=N)], np.array([1.0, 0.5])
    ),
    "with others": Problem(
        [Block(f=FIT, h=Box(0.0, 1.0), A=rows({3: 1.0}, {2: 1.0, 3: 1.0, 4: 1.0}), shape=N)],
        np.array([1.0, 4.0]),
    ),
    "another row": Problem(
        [
            Block(f=FIT, h=L1(1.0), A=np.vstack([rows({3: 1.0}, {3: 1.0}), G[:3]]), shape=N),
            Block(h=Box(0.0, 1.0), A=np.vstack([np.zeros((1, 4)), -np.eye(4)]), shape=4),
        ],
        np.r_[7.0, np.zeros(4)],
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_contradicts_itself_is_infeasible(name):
    assert solve(IMPOSSIBLE[name]).status == Status.INFEASIBLE


def test_what_is_left_alone(monkeypatch):
    """Maps known by their products lose whole blocks only; all entries, or what has no equation, are nobody's."""
    monkeypatch.setattr("ipds.operators.one_shape.FEW", 0)  # small ones have a matrix else
    hidden = Problem([Block(f=FIT, h=BOX, A=scipy_operator(B), shape=N), Block(h=L1(1.0), shape=N)])
    everything = Problem([Block(f=FIT, A=1.0, shape=N)], np.ones(N))
    rounding = Problem([Block(f=FIT, A=rows({0: 1.0}, {0: 1.0, 1: 1e-14}), shape=N)], np.array([1.0, 1.0]))
    norm = Problem([Block(f=FIT, h=L2(1.0), A=ONE, shape=N)], TWO)
    for problem in (hidden, everything, norm):
        assert "substituted" not in presolve(problem).report
        assert solve(problem).success
    assert "(1 of 'x1')" in presolve(rounding).report


def test_nothing_known_costs_a_glance(monkeypatch):
    """Two bounds that differ, rows with two entries: no matrix is searched."""
    known = sys.modules["ipds.presolve.known"]
    monkeypatch.setattr(known, "by_part", lambda *arguments: pytest.fail("searched"))
    C = rng.standard_normal((3, N))
    for A in (C, sp.csr_array(C)):
        problem = Problem([Block(f=FIT, h=Box(-1.0, 1.0), A=A, shape=N), Block(h=Box(0.0, 0.0), shape=3)])
        assert substituted(problem) is None


def test_single_precision_stays():
    half = LeastSquares(G.astype(np.float32), Y.astype(np.float32))
    box = Box(LO.astype(np.float32), HI.astype(np.float32))
    C = ONE.astype(np.float32)
    problem = Problem([Block(f=half, h=box, A=C[:1], shape=N)], np.ones(1, np.float32))
    reduced = presolve(problem).problem
    assert reduced.b.dtype == np.float32
    assert reduced.blocks[0].f.grad(np.zeros(reduced.blocks[0].shape, np.float32)).dtype == np.float32
    result = solve(problem, tuple(np.zeros(b.shape, np.float32) for b in problem.blocks))
    assert result.success
    assert result.x[0].dtype == np.float32


KEEP = np.array([0, 3, 4, 7])
WEIGHTS = 0.5 + rng.random(N)


@pytest.mark.parametrize(
    "h",
    [
        Zero(),
        NonNegative(),
        Box(-1.0, WEIGHTS),
        L1(WEIGHTS),
        ElasticNet(WEIGHTS, 0.3),
        Huber(0.7),
        Quantile(0.3, WEIGHTS),
        Hinge(1.0, WEIGHTS),
        Entropy(),
        SumSquares(WEIGHTS, Y[:N]),
        Sum(L1(WEIGHTS), Box(-1.0, WEIGHTS)),
        Precomposed(L1(WEIGHTS), -2.0, WEIGHTS),
        Stacked([(L1(WEIGHTS[:3]), 3), (L1(0.5), 1), (Box(0.0, WEIGHTS[4:].reshape(2, 2)), (2, 2))]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("step", [0.1, 3.0])
def test_functions_of_the_entries_that_are_left(h, step):
    own = restricted(h, (N,), KEEP)
    v = 2 * np.random.default_rng(1).standard_normal(N)
    np.testing.assert_allclose(own.prox(v[KEEP], step), h.prox(v, step)[KEEP], rtol=1e-12)
    x = h.prox(v, step)
    other = x.copy()
    other[KEEP] = h.prox(x + 1.0, step)[KEEP]
    assert own(other[KEEP]) - own(x[KEEP]) == pytest.approx(h(other) - h(x), abs=1e-9)


def test_functions_that_are_no_sums_over_entries_are_not_cut():
    assert restricted(L2(1.0), (N,), KEEP) is None
    assert restricted(Cardinality(2), (N,), KEEP) is None
    assert restricted(Stacked([(L2(1.0), 4), (L1(1.0), 4)]), (N,), KEEP) is None
    untouched = restricted(Stacked([(L1(1.0), 4), (L2(1.0), 4)]), (N,), np.array([0, 4, 5, 6, 7]))
    assert [type(part) for part, _ in untouched.parts] == [L1, L2]


Q = B.T @ B
SMOOTH = {
    "least squares": FIT,
    "sparse": LeastSquares(sp.csr_array(G), Y),
    "entries": LeastSquares(1.0, Y[:N]),
    "huber": HuberLoss(G, Y, 0.5),
    "logistic": Logistic(G, np.sign(Y)),
    "quadratic": Quadratic(Q, Y[:N]),
    "sparse quadratic": Quadratic(sp.csr_array(Q)),
    "multiple": Quadratic(2.0, Y[:N]),
    "diagonals": Quadratic(sp.diags_array(WEIGHTS)),
    "diagonal": Quadratic(Diagonal(WEIGHTS), Y[:N]),
    "linear": Linear(Y[:N]),
    "sum": SmoothSum([FIT, Linear(Y[:N])]),
    "weighted": Weighted(FIT, 3.0, 1.0),
    "composed": Composed(Logistic(G, np.sign(Y)), B, shift=0.3),
    "differences": Composed(Quadratic(1.0), FiniteDifference()),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_of_the_entries_that_are_left(name):
    f, g = SMOOTH[name], np.random.default_rng(2)
    at = g.standard_normal(N)
    at[KEEP] = 0.0
    own = restricted_smooth(f, at, KEEP)
    values = []
    for _ in range(2):
        x = at.copy()
        x[KEEP] = g.standard_normal(KEEP.size)
        np.testing.assert_allclose(own.grad(x[KEEP]), f.grad(x)[KEEP], atol=1e-12)
        values.append((own(x[KEEP]), f(x)))
    (a, b), (c, d) = values
    assert a - c == pytest.approx(b - d, rel=1e-9)
