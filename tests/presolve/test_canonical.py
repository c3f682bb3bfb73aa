"""Canonical form: what it looks like, and that a point of it gives a point of the problem as stated, just as good."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, iterate
from ipds.functions import (
    L1,
    Affine,
    Box,
    Cardinality,
    HalfSpace,
    L2Ball,
    LeastSquares,
    Linear,
    NonNegative,
    Quadratic,
    Simplex,
    Stiefel,
    Zero,
)
from ipds.methods import AcceleratedIPDS
from ipds.operators import DCT, Compose, FiniteDifference, Identity, Matrix, Reshape, Stack
from ipds.presolve import Presolved, presolve
from ipds.presolve.canonical import Canonical
from ipds.presolve.slack import thin
from ipds.theory.certificate import certificate, certify, subgradients

M, N = 30, 12
rng = np.random.default_rng(0)
G = rng.standard_normal((M, N))
Y = G @ (rng.standard_normal(N) * (rng.random(N) < 0.4)) + 0.1 * rng.standard_normal(M)
D = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(N - 1, N)).tocsr()
C = rng.standard_normal((3, N))
RIGHT = C @ np.ones(N)
FIT = LeastSquares(G, Y)
EYE, NOTHING = sp.eye_array(N), sp.csr_array((M, N))


def lasso_forms(lam: float = 2.0) -> dict[str, tuple[Problem, int]]:
    """min ½‖G x - Y‖² + λ‖x‖₁ as people write it, and which block is x."""
    h = L1(lam)
    return {
        "alone": (Problem([Block(f=FIT, h=h, shape=N)]), 0),
        "with a free block": (Problem([Block(f=FIT, h=h, A=-1.0, shape=N), Block(shape=N)]), 0),
        "split": (Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=h, shape=N)]), 0),
        "split the other way": (Problem([Block(h=h, A=3.0, shape=N), Block(f=FIT, A=-3.0, shape=N)]), 0),
        "residual": (Problem([Block(h=h, A=-G, shape=N), Block(f=Quadratic(1.0), shape=M)], b=-Y), 0),
        "residual first": (
            Problem([Block(f=Quadratic(1.0), A=2.0, shape=M), Block(h=h, A=-2.0 * G, shape=N)], b=-2 * Y),
            1,
        ),
        "residual and split, stacked": (
            Problem(
                [
                    Block(A=sp.vstack([-G, -EYE]), shape=N),
                    Block(f=Quadratic(1.0), A=sp.vstack([sp.eye_array(M), NOTHING.T]), shape=M),
                    Block(h=h, A=sp.vstack([NOTHING, EYE]), shape=N),
                ],
                b=np.concatenate([-Y, np.zeros(N)]),
            ),
            0,
        ),
        "identity as a matrix": (
            Problem([Block(f=FIT, A=-np.eye(N), shape=N), Block(h=h, A=EYE, shape=N)]),
            0,
        ),
    }


def intercept() -> Problem:
    one = np.ones((M, 1))
    return Problem(
        [Block(h=L1(2.0), A=-G, shape=N), Block(A=-one, shape=1), Block(f=Quadratic(1.0), shape=M)], b=-Y
    )


def problems() -> dict[str, Problem]:
    """One problem for every rewriting."""
    forms = {f"lasso, {name}": problem for name, (problem, _) in lasso_forms().items()}
    permuted, diagonal = -np.eye(N)[::-1], np.diag(np.arange(1.0, N + 1))
    matrices = Problem(
        [
            Block(f=LeastSquares(G, np.outer(Y, [1, 2])), h=NonNegative(), A=-1.0, shape=(N, 2)),
            Block(h=Affine(C, np.outer(RIGHT, [1, 2])), A=1.0, shape=(N, 2)),
        ]
    )
    return forms | {
        "three in a residual": intercept(),
        "set of equations": Problem(
            [Block(f=FIT, h=NonNegative(), A=-1.0, shape=N), Block(h=Affine(C, RIGHT), shape=N)]
        ),
        "set of equations with f": Problem(
            [Block(h=NonNegative(), A=-1.0, shape=N), Block(f=FIT, h=Affine(C, RIGHT), A=2.0, shape=N)], b=0.1
        ),
        "set of equations on a variable": Problem(
            [Block(f=FIT, h=Affine(C, RIGHT), A=-D, shape=N), Block(h=L1(1.0), shape=N - 1)]
        ),
        "set of equations on a matrix": matrices,
        "half space": Problem(
            [Block(f=FIT, h=HalfSpace(np.ones(N), -0.5), A=-1.0, shape=N), Block(h=L1(2.0), shape=N)]
        ),
        "equation": Problem([Block(f=FIT, h=NonNegative(), A=C, shape=N)], b=RIGHT),
        "slack of one row": Problem(
            [
                Block(f=FIT, h=NonNegative(), A=C, shape=N),
                Block(h=NonNegative(), A=2 * np.eye(3)[:, 1:2], shape=1),
            ],
            b=RIGHT,
        ),
        "repeated equations": Problem(
            [Block(f=FIT, h=NonNegative(), A=np.vstack([C, -2 * C[1], 0 * C[0], C[2]]), shape=N)],
            b=np.concatenate([RIGHT, [-2 * RIGHT[1], 0.0, RIGHT[2]]]),
        ),
        "repeated equations in a set": Problem(
            [
                Block(f=FIT, h=NonNegative(), A=-1.0, shape=N),
                Block(h=Affine(np.vstack([C, C]), np.concatenate([RIGHT, RIGHT])), shape=N),
            ]
        ),
        "fused": Problem(
            [Block(f=FIT, h=L1(1.0), A=-D, shape=N), Block(h=L1(2.0), A=-3.0, shape=N - 1)], b=0.2
        ),
        "permutation and diagonal": Problem(
            [
                Block(f=FIT, h=NonNegative(), A=permuted, shape=N),
                Block(h=L1(2.0), A=diagonal, shape=N),
            ],
            b=0.3,
        ),
        "isometry": Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=L1(2.0), A=DCT(), shape=N)], b=0.1),
        "shifted": Problem([Block(f=FIT, A=-2.0, shape=N), Block(h=L1(2.0), shape=N)], b=1.5),
        "a block outside": Problem(
            [
                Block(f=FIT, h=L1(1.0), A=-1.0, shape=N),
                Block(h=NonNegative(), A=np.zeros((N, 4)), shape=4),
                Block(h=L1(2.0), shape=N),
            ]
        ),
        "a free block left over": Problem(
            [Block(h=Box(1.0, 2.0), A=G, shape=N), Block(f=FIT, A=np.zeros((M, N)), shape=N), Block(shape=M)]
        ),
        "equation 0 = 0": Problem([Block(f=FIT, h=L1(2.0), A=np.zeros((1, N)), shape=N)]),
        "two sets": Problem(
            [Block(f=FIT, h=Simplex(), A=1.0, shape=N), Block(h=L2Ball(0.7), A=-1.0, shape=N)]
        ),
        "stack of maps": Problem(
            [
                Block(f=FIT, A=Stack([FiniteDifference(), Identity()], shape=N), shape=N),
                Block(h=L1(1.0), A=np.eye(2 * N - 1)[:, : N - 1], shape=N - 1),
                Block(h=NonNegative(), A=-np.eye(2 * N - 1)[:, N - 1 :], shape=N),
            ]
        ),
        "a matrix solved for": Problem(
            [
                Block(f=FIT, A=-1.0, shape=N),
                Block(h=L1(1.0), A=Compose(Reshape((4, 3)), Identity(2.0)), shape=(4, 3)),
            ]
        ),
        "cardinality": Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=Cardinality(4), shape=N)]),
        "cardinality and equations": Problem([Block(f=FIT, h=Cardinality(6), A=C, shape=N)], b=RIGHT),
    }


PROBLEMS = problems()
every = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def last_state(problem: Problem, t: int):
    return next(itertools.islice(iterate(problem, method=AcceleratedIPDS(), seed=0), t - 1, None))


@every
def test_form(problem):
    canonical = Canonical(problem).problem
    last = canonical.blocks[-1]
    assert isinstance(canonical.operators[-1], Identity)
    assert canonical.operators[-1].scale == 1.0
    assert last.h.is_convex
    if all(block.h.is_convex for block in problem.blocks):
        assert last.f is None


@every
def test_point_undone_is_as_good(problem):
    canonical = Canonical(problem)
    for t in (3, 30, 300):
        state = last_state(canonical.problem, t)
        own, stated = certify(canonical.problem, state), certify(problem, canonical.undo(state))
        assert stated.critical <= 4 * own.critical + 1e-9
    assert stated.critical < 1e-3


@every
def test_products_are_those_of_the_blocks(problem):
    canonical = Canonical(problem)
    state = canonical.undo(last_state(canonical.problem, 5))
    for op, x, product in zip(problem.operators, state.x, state.products, strict=True):
        if product is not None:
            np.testing.assert_allclose(product, op.apply(x), rtol=1e-12, atol=1e-12)


@every
def test_subgradients_belong_to_the_points(problem):
    """q_i minimises h_i - ⟨s_i, ·⟩ for convex h_i: no point near by or far is lower."""
    canonical = Canonical(problem)
    state = canonical.undo(last_state(canonical.problem, 40))
    trials = np.random.default_rng(1)
    for block, q, s in zip(problem.blocks, state.q, subgradients(problem, state), strict=True):
        assert q.shape == block.shape
        assert np.isfinite(block.h(q))
        if not block.h.is_convex:
            continue
        for size in (1e-3, 1.0, 30.0):
            other = block.h.prox(q + size * trials.standard_normal(block.shape), 1e-9)
            assert block.h(other) - block.h(q) - np.vdot(s, other - q) >= -1e-7 * (
                1 + size * np.linalg.norm(s)
            )


@every
def test_start_survives_the_way_there_and_back(problem):
    """From a solution the canonical problem starts at a solution."""
    canonical = Canonical(problem)
    solution = canonical.undo(last_state(canonical.problem, 600))
    x0, z0 = canonical.start(solution.q, solution.z)
    inner = canonical.problem
    assert [x.shape for x in x0] == [block.shape for block in inner.blocks]
    assert z0.shape == inner.shape
    # -A_iᵀz - ∇f_i is a subgradient at x0 to the accuracy of the solution
    assert inner.infeasibility(x0) < 1e-4
    for block, op, x in zip(inner.blocks, inner.operators, x0, strict=True):
        force = -op.adjoint(z0) - (0.0 if block.f is None else block.f.grad(x))
        if block.h.is_convex:
            assert np.linalg.norm(block.h.prox(x + 0.1 * force, 0.1) - x) < 1e-4
    assert np.all(canonical.start(solution.q, None)[1] == 0)


def test_forms_of_one_problem_become_one():
    x = cp.Variable(N)
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G @ x - Y) + 2 * cp.norm1(x))).solve(solver="CLARABEL")
    for problem, i in lasso_forms().values():
        canonical = Canonical(problem)
        inner = canonical.problem
        assert len(inner.blocks) == 2
        assert inner.blocks[0].shape == (N,)
        assert isinstance(inner.blocks[0].h, L1)
        assert isinstance(inner.blocks[1].h, Zero)
        state = canonical.undo(last_state(inner, 300))
        value = 0.5 * np.sum((G @ state.q[i] - Y) ** 2) + 2 * np.abs(state.q[i]).sum()
        assert value == pytest.approx(best, rel=1e-7)
        assert problem.objective(state.q) == pytest.approx(best, rel=1e-7)


def test_affine_and_equation_are_one():
    shapes = [Canonical(PROBLEMS[name]).problem for name in ("set of equations", "equation")]
    a, b = ([block.shape for block in p.blocks] for p in shapes)
    assert a == b == [(N,), (3,)]
    assert all(isinstance(p.blocks[-1].h, Box) for p in shapes)


def test_several_blocks_of_a_residual_become_one_vector():
    inner = Canonical(intercept()).problem
    assert [block.shape for block in inner.blocks] == [(N + 1,), (N + 1,)]
    assert isinstance(inner.blocks[-1].h, Zero)


def test_nothing_to_do_keeps_the_problem():
    problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(5, 2)), Block(h=L1(0.1), shape=(5, 2))])
    done = presolve(problem)
    assert done.problem is problem
    assert done.report == "as stated"
    assert not done.steps
    state = last_state(problem, 3)
    assert done.undo(state) is state


def test_nonconvex_problems_keep_what_methods_see_to():
    f = Linear(np.ones((5, 2)))
    problem = Problem([Block(f=f, h=L1(0.1), A=2.0, shape=(5, 2)), Block(h=Stiefel(), A=-1.0, shape=(5, 2))])
    assert presolve(problem).problem is problem


def test_presolve_is_deterministic():
    for problem in PROBLEMS.values():
        a, b = (presolve(problem).problem for _ in range(2))
        x = [np.random.default_rng(3).standard_normal(block.shape) for block in a.blocks]
        assert np.array_equal(a.residual(x), b.residual(x))


def test_callers_arrays_stay():
    A, b = -G.copy(), -Y.copy()
    kept = A.copy(), b.copy()
    problem = Problem([Block(h=L1(2.0), A=A, shape=N), Block(f=Quadratic(1.0), shape=M)], b=b)
    done = presolve(problem)
    done.undo(last_state(done.problem, 5))
    assert np.array_equal(A, kept[0])
    assert np.array_equal(b, kept[1])


def test_certificate_from_the_undone_point_is_the_certificate():
    problem = PROBLEMS["lasso, residual and split, stacked"]
    canonical = Canonical(problem)
    state = canonical.undo(last_state(canonical.problem, 50))
    by_hand = certificate(problem, state.q, state.z, subgradients(problem, state))
    assert certify(problem, state).critical == pytest.approx(by_hand.critical, rel=1e-6, abs=1e-12)


def test_repeated_equations_are_left_out():
    for name in ("repeated equations", "repeated equations in a set"):
        assert Canonical(PROBLEMS[name]).problem.shape == (3,)


def test_equations_that_contradict_stay():
    A, b = np.vstack([C, C[1], 0 * C[0]]), np.concatenate([RIGHT, [RIGHT[1] + 1, 1.0]])
    assert Canonical(Problem([Block(f=FIT, A=A, shape=N)], b=b)).problem.shape == (5,)


def test_maps_stacked_by_the_user_stay_what_they_are():
    """Rows of a stack are its parts, not copies in a sparse matrix."""
    stack = Stack([Matrix(-G), Identity(-1.0)], shape=N)
    problem = Problem(
        [
            Block(A=stack, shape=N),
            Block(f=Quadratic(1.0), A=np.eye(M + N)[:, :M], shape=M),
            Block(h=L1(2.0), A=np.eye(M + N)[:, M:], shape=N),
        ],
        b=np.concatenate([-Y, np.zeros(N)]),
    )
    inner = Canonical(problem).problem
    assert isinstance(inner.blocks[0].f, LeastSquares)
    assert inner.blocks[0].f.G.matrix is stack.parts[0].matrix


def test_what_is_in_canonical_form_is_not_made_again():
    lasso = Problem(
        [Block(f=LeastSquares(np.eye(3), np.ones(3)), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)]
    )
    few = Problem(
        [Block(h=Cardinality(1), A=np.ones((4, 3)), shape=3), Block(h=L1(1.0), shape=4)], b=np.ones(4)
    )
    turned = Problem([few.blocks[1], few.blocks[0]], b=few.b)
    assert Canonical(few).problem is few
    for other in (lasso, turned):  # f and h of one variable; another block last
        assert Canonical(other).problem is not other


def test_tall_dense_matrices_are_not_looked_at_as_a_whole(monkeypatch):
    A, counted, count = Matrix(np.ones((5000, 10))), [], np.count_nonzero
    monkeypatch.setattr(
        np, "count_nonzero", lambda x, *a, **k: counted.append(np.size(x)) or count(x, *a, **k)
    )
    assert thin(A) is A
    assert max(counted) < 1000


def test_dense_matrices_with_few_entries_become_sparse():
    n = 200
    wide = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(n - 1, n)).toarray()
    full = rng.standard_normal((n - 1, n))
    scattered = np.where(rng.random((n - 1, n)) < 0.1, full, 0.0)

    def made(A: np.ndarray) -> Presolved:
        rows, columns = A.shape
        return presolve(
            Problem([Block(f=Quadratic(1.0), A=-A, shape=columns), Block(h=L1(1.0), shape=rows)], 1.0)
        )

    thin = made(wide)
    assert thin.report == "1 dense matrix with few entries taken as sparse"
    assert sp.issparse(thin.problem.operators[0].matrix)
    np.testing.assert_array_equal(thin.problem.operators[0].matrix.toarray(), -wide)
    for A in (full, scattered, wide[:50, :51]):
        assert "sparse" not in made(A).report
