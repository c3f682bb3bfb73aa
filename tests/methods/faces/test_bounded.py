"""Bounds, simplexes and equations on a face: against CVXPY; groups of entries come and go together."""

import cvxpy as cp
import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import (
    Box,
    Cardinality,
    LeastSquares,
    Linear,
    NonNegative,
    NonzeroRows,
    Quadratic,
    RowCardinality,
    Simplex,
    Sum,
    Weighted,
    Zero,
)
from ipds.functions.composed import SmoothSum
from ipds.functions.faces import Support
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import OnFaces
from ipds.methods.faces.bounded import within_bounds
from ipds.methods.faces.restricted import Restricted
from ipds.theory.certificate import certify

SETS = {
    "nothing": (Zero(), lambda x: []),
    "above zero": (NonNegative(), lambda x: [x >= 0]),
    "box": (Box(-0.1, 0.3), lambda x: [x >= -0.1, x <= 0.3]),
    "simplex": (Simplex(), lambda x: [x >= 0, cp.sum(x) == 1]),
}


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("equations", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_is_that_of_a_convex_solver(kind, equations, seed):
    rng = np.random.default_rng(seed)
    h, within = SETS[kind]
    B, c = rng.normal(size=(9, 8)), rng.normal(size=8)
    Q = B.T @ B + 0.1 * np.eye(8)
    A = rng.normal(size=(equations, 8)) if equations else np.zeros((1, 8))
    inside = np.full(8, 1 / 8)
    inner = Box(0.0, 0.0) if equations else Zero()
    problem = Problem(
        [Block(f=Quadratic(Q, c), h=h, A=-A, shape=8), Block(h=inner, shape=len(A))], b=-A @ inside
    )
    restricted = Restricted(problem, {})
    found = within_bounds(restricted, (inside, np.zeros(len(A))))
    x = cp.Variable(8)
    held = [A @ x == A @ inside] if equations else []
    best = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(Q)) + c @ x), [*within(x), *held]).solve(
        solver="CLARABEL"
    )
    assert found is not None
    assert restricted.reached(found) == pytest.approx(best, abs=1e-7)
    assert certify(problem, found).relative <= 1e-10


def test_another_problem_is_declined():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 4))
    inequality = Problem([Block(f=Quadratic(1.0), A=-A, shape=4), Block(h=NonNegative(), shape=3)])
    assert within_bounds(Restricted(inequality, {}), (np.zeros(4), np.zeros(3))) is None


def test_every_kind_of_f_is_itself_on_the_free_entries():
    rng = np.random.default_rng(1)
    B, y, c = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=4)
    Q = B.T @ B
    terms = [
        LeastSquares(B, y),
        Quadratic(Q, c),
        Linear(c),
        Weighted(Quadratic(Q), 0.5, 2.0),
        LeastSquares(np.eye(4), c),
    ]
    f, x = SmoothSum(terms), np.array([0.0, 1.5, 0.0, -2.0])
    problem = Problem([Block(f=f, h=Cardinality(2), shape=4), Block(h=Zero(), A=1.0, shape=4)])
    restricted = Restricted(problem, {0: Cardinality(2).face(x)})
    inner = restricted.problem.blocks[0].f
    assert inner(x[[1, 3]]) == pytest.approx(f(x))
    np.testing.assert_allclose(inner.grad(x[[1, 3]]), f.grad(x)[[1, 3]])
    np.testing.assert_allclose(
        restricted.hessian(x[[1, 3]])[:2, :2], (2.5 * Q + np.eye(4))[np.ix_([1, 3], [1, 3])]
    )


def test_rows_come_and_go_together():
    x = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    face = NonzeroRows(1).face(x)
    assert isinstance(face, Support)
    assert [
        (j, list(rivals)) for j, rivals in face.neighbours(np.array([[9.0, 9.0], [3.0, 4.0], [4.9, 0.0]]), 2)
    ] == [
        (2, [0]),
        (4, [0]),
    ]
    np.testing.assert_array_equal(face.having([5], [0]).free, [4, 5])


def test_rows_that_are_not_full_are_free():
    x = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    np.testing.assert_array_equal(RowCardinality(2).face(x).free, [0, 2, 3, 4, 5])
    both = Sum([RowCardinality(2), NonNegative()])
    np.testing.assert_array_equal(both.face(x).free, [0, 2, 3, 4, 5])
    assert RowCardinality(3).face(x * [[1.0], [0.0]]) is None


def test_an_answer_waits_for_its_neighbours():
    """A support that is critical at once is not the answer before its exchanges were tried."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 9))
    X[:, 4] += X[:, 0]
    Y = X[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3))
    problem = Problem([Block(f=LeastSquares(X, Y), h=NonzeroRows(3), shape=(9, 3))])
    result = solve(problem, method=OnFaces(AcceleratedIPDS()), tol=0.5)
    assert result.nit >= 20
    assert result.certificate.relative < 1e-9
