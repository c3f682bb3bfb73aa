"""Exchanges of a support under a quadratic: what one inverse says, against solving every one of them."""

import itertools

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    Cardinality,
    LeastSquares,
    NonzeroRows,
    Quadratic,
    RowCardinality,
    Scaled,
)
from ipds.methods.faces.exchanges import exchanges
from ipds.methods.faces.restricted import Restricted
from ipds.methods.faces.swaps import column_norms, improve
from ipds.modelling import sum_squares
from ipds.presolve import presolve


def stated(h, seed, form="alone"):
    """A fit of correlated columns: its f on the block, or as a residual beside a block that is always free."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(20, 6))
    G[:, 1] += G[:, 0]
    y = 2 * rng.normal(size=20) + G[:, :3].sum(axis=1)
    if form == "intercept":
        blocks = [Block(h=h, A=-G, shape=6), Block(A=-np.ones((20, 1)), shape=1)]
        return Problem([*blocks, Block(f=Quadratic(1.0), shape=20)], b=-y)
    if form == "matrix":
        Y = np.stack([y, rng.normal(size=20)], axis=1)
        return presolve(Problem([Block(f=LeastSquares(G, Y), h=h, shape=(6, 2))])).problem
    return presolve(Problem([Block(f=LeastSquares(G, y), h=h, shape=6)])).problem


def solved(problem, face):
    """(the problem on a face, its solution, the value there)."""
    own = Restricted(problem, {0: face})
    found = own.solve(tuple(np.zeros(block.shape) for block in problem.blocks), np.zeros(problem.shape))
    return own, found, own.reached(found)


def neighbours(face):
    """All faces with an entry more, less, or in the place of another, as their kind allows."""
    free, others = face.free, np.flatnonzero(~face.label)
    for k, j in itertools.product(free, others):
        if face.exchange.flat[k] == face.exchange.flat[j]:
            yield face.having([j], [k])
    if face.price is not None:
        yield from (face.having(leaving=[k]) for k in free if len(free) > 1)
        yield from (face.having([j]) for j in others)


CASES = {
    "cardinality": (Cardinality(2), "alone"),
    "price": (L0(3.0), "alone"),
    "prices": (L0(np.linspace(1.0, 6.0, 6)), "alone"),
    "beside a free block": (Cardinality(2), "intercept"),
    "price beside a free block": (L0(2.0), "intercept"),
    "rows": (RowCardinality(1), "matrix"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_the_best_exchange_and_where_they_end(case, seed):
    h, form = CASES[case]
    problem, rng = stated(h, seed, form), np.random.default_rng(seed)
    x = problem.blocks[0].h.prox(5 * rng.normal(size=problem.blocks[0].shape), 1e-3)
    face = problem.blocks[0].h.face(x)
    own, found, value = solved(problem, face)
    known = exchanges(own)
    lowest = min((solved(problem, other)[2], other.label.tobytes()) for other in neighbours(face))
    inside = known.kind < 0
    inside[known.place] |= face.label.ravel()
    following = known._exchanged(inside)
    if lowest[0] < value * (1 - 1e-9):
        assert following[known.place].tobytes() == lowest[1]
    else:
        assert following is None
    ended, _ = improve(own, found, {0: column_norms(problem, 0)})
    best = solved(problem, ended.faces[0])[2]
    assert best <= value * (1 + 1e-12)
    assert all(solved(problem, other)[2] >= best * (1 - 1e-8) for other in neighbours(ended.faces[0]))


def test_only_where_all_the_rest_is_quadratic():
    rng = np.random.default_rng(0)
    G, y, x = rng.normal(size=(9, 4)), rng.normal(size=9), np.array([1.0, 0.0, 2.0, 0.0])
    deviations = Problem([Block(h=Cardinality(2), A=-G, shape=4), Block(h=L1(1.0), shape=9)], b=-y)
    assert exchanges(Restricted(deviations, {0: Cardinality(2).face(x)})) is None
    X = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 0.0], [0.0, 0.0]])
    grouped = presolve(Problem([Block(f=Quadratic(1.0, X), h=NonzeroRows(2), shape=(4, 2))])).problem
    assert exchanges(Restricted(grouped, {0: grouped.blocks[0].h.face(X)})) is None


def test_columns_that_depend_on_each_other():
    """A copy of a column of the support adds nothing; a support of two copies has no inverse."""
    rng = np.random.default_rng(1)
    G = rng.normal(size=(12, 4))
    G[:, 3] = G[:, 0]
    problem = presolve(Problem([Block(f=LeastSquares(G, G[:, 0]), h=Cardinality(2), shape=4)])).problem
    known = exchanges(Restricted(problem, {0: problem.blocks[0].h.face(np.array([1.0, 1.0, 0, 0]))}))
    assert known.settled(np.array([True, True, False, False])) is not None
    assert known.settled(np.array([True, False, False, True])) is None


def test_a_loss_with_a_factor_is_as_quadratic_as_without():
    """½‖Gx + b - y‖² as people write it: the factor stands before a loss that knows its own."""
    rng = np.random.default_rng(2)
    G, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    x, shift = Variable(6), Variable()
    problem = presolve(minimize(0.5 * sum_squares(G @ x + shift - y) + Cardinality(2)(x))).problem
    assert isinstance(problem.blocks[-1].h, Scaled)
    own, found, _ = solved(problem, problem.blocks[0].h.face(np.array([1.0, 0, 0, 0, 0, 1.0])))
    assert exchanges(own) is not None
    support = np.c_[G[:, [0, 5]], np.ones(30)]
    expected = np.linalg.lstsq(support, y, rcond=None)[0]
    np.testing.assert_allclose([*found.q[0], *found.q[1]], expected, rtol=1e-9)


@pytest.mark.parametrize("seed", [4, 8])
def test_rows_that_could_stand_for_each_other(seed):
    """Examples of three kinds: what leaving costs is known only once the others have taken over."""
    rng = np.random.default_rng(seed)
    D = (rng.normal(size=(3, 4))[rng.integers(0, 3, 14)] + 0.2 * rng.normal(size=(14, 4))).T
    Z = Variable((14, 14))
    result = solve(minimize(0.5 * sum_squares(D @ Z - D) + 0.05 * sum_squares(Z) + NonzeroRows(3)(Z)))

    def value(rows):
        A = D[:, rows]
        W = np.linalg.solve(A.T @ A + 0.1 * np.eye(3), A.T @ D)
        return 0.5 * np.sum((A @ W - D) ** 2) + 0.05 * np.sum(W**2)

    assert result.success
    assert result.fun <= min(value(list(c)) for c in itertools.combinations(range(14), 3)) * (1 + 1e-6)


@pytest.mark.parametrize("h", [Cardinality(2), NonzeroRows(2)])
def test_columns_are_as_long_as_an_intercept_leaves_them(h):
    rng = np.random.default_rng(0)
    G = rng.normal(size=(20, 5)) + np.array([0.0, 1.0, 10.0, 1e3, 1e6])
    G[:, 0] = 3.0  # nothing is left of it
    shape, one = ((5,), (1,)) if isinstance(h, Cardinality) else ((5, 2), (1, 2))
    blocks = [Block(h=h, A=-G, shape=shape), Block(A=np.ones((20, 1)), shape=one)]
    problem = Problem([*blocks, Block(f=Quadratic(1.0), shape=(20, *shape[1:]))])
    norms = column_norms(problem, 0).reshape(5, -1)
    left = np.linalg.norm(G - G.mean(axis=0), axis=0)
    assert np.all(norms[0] == 0)
    assert norms[1:] == pytest.approx(np.broadcast_to(left[1:, None], norms[1:].shape), rel=1e-3)
