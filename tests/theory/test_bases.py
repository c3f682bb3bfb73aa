"""What is left of the forces: the same in any basis, and seen where large means hide it."""

from types import SimpleNamespace

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.functions import L1, L2, Box, LeastSquares, Linear, NonNegative, Quadratic, SmoothSum, Stacked, Zero
from ipds.theory.bases import ENTRIES, Core, core, leaning
from ipds.theory.certificate import certificate
from ipds.theory.entries import Product
from ipds.theory.fixed import is_priced
from ipds.theory.slopes import slopes_of

g = np.random.default_rng(0)
A, z = g.standard_normal((20, 3)), g.standard_normal(20)
R = 10 ** g.uniform(-1, 1, 20)


def left(A, z, felt, R, f=None, energy=(0.0, 0.0)):
    """The answer for a block of free entries at 0 on which f and an equation act."""
    q = np.zeros(A.shape[1])
    block = Block(f=f, A=A, shape=q.size)
    gradient = None if f is None else f.grad(q)
    forces = SimpleNamespace(block=block, q=q, pull=Product(A.T @ z), gradient=gradient, rest=None)
    return leaning(
        Core((0,), A if A.any() else None, {}), [forces], [slopes_of(Zero(), q)], [energy], R, felt
    )


def found(problem, q):
    slopes = [slopes_of(block.h, qi) for block, qi in zip(problem.blocks, q, strict=True)]
    return core(problem, q, slopes, [is_priced(block) for block in problem.blocks])


def test_neither_basis_nor_units_matter():
    felt = np.abs(z) + 0.1
    rows, basis = 10 ** g.uniform(-3, 3, 20), g.standard_normal((3, 3)) + 1e3
    other = left(rows[:, None] * A @ basis, z / rows, felt / rows, rows * R)
    assert other == pytest.approx(left(A, z, felt, R), rel=1e-4)
    for unit in (1e-150, 1e150):
        assert left(A, unit * z, unit * felt, R) == pytest.approx(left(A, z, felt, R))


def test_rows_may_be_split():
    felt, share = np.abs(z) + 0.1, g.uniform(0.1, 0.9, 20)
    parts = np.concatenate([share, 1 - share])
    split = left(parts[:, None] * np.tile(A, (2, 1)), np.tile(z, 2), np.tile(felt, 2), parts * np.tile(R, 2))
    assert split == pytest.approx(left(A, z, felt, R))


def test_it_is_the_change_of_the_multiplier_that_is_needed():
    """min ‖√w δ‖ over Aᵀ diag(ẑ) δ = -Aᵀz, as a share of √W, with the rows' work w = ẑR and its sum W."""
    felt = np.abs(z) + 0.1
    work = felt * R
    scaled = A.T * (felt / np.sqrt(work))
    change = np.linalg.lstsq(scaled, -A.T @ z)[0]
    assert left(A, z, felt, R) == pytest.approx(np.linalg.norm(change) / np.sqrt(work.sum()), rel=1e-6)


def test_it_is_the_gain_of_a_newton_step():
    X, y = A + 1e3, g.standard_normal(20)
    f, nothing = LeastSquares(X, y), np.zeros_like(A)
    gain = 0.5 * y @ X @ np.linalg.solve(X.T @ X, X.T @ y)
    assert left(nothing, z, 0 * z, R, f, (7.0, 0.0)) == pytest.approx(gain / 7, rel=1e-5)
    assert left(nothing, z, 0 * z, R, f, (7.0, gain / 2)) == pytest.approx(gain / 14, rel=1e-5)
    assert left(nothing, z, 0 * z, R, f, (0.0, 1e3)) == 0.0


SPREAD = np.column_stack([A, np.ones(20)])
FORMS = ("free", "bounded", "penalised", "own", "own bounded")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_a_fit_of_columns_far_from_zero_is_not_certified_where_it_is_wrong(mean, form):
    """w near 0 with the best b: the force on w is large beside what the spread of the columns adds up."""
    right, far = np.array([1.0, 2.0, 0.5]), A + mean
    y = A @ right + 0.1 * np.random.default_rng(1).standard_normal(20)
    X, weight = np.column_stack([far, np.ones(20)]), 1e-3 * np.diag([1.0, 1.0, 1.0, 0.0])
    h = Stacked([(NonNegative() if "bounded" in form else Zero(), 3), (Zero(), 1)])
    ridge = weight if form in ("own", "penalised") else 0 * weight
    best = np.linalg.solve(SPREAD.T @ SPREAD + ridge, SPREAD.T @ y)
    wrong = np.append(np.full(3, 1e-6), y.mean())
    for w, is_right in ((wrong, False), (best, True)):
        w = w - np.append(np.zeros(3), mean * w[:3].sum())
        u = X @ w - y
        if form.startswith("own"):
            f = SmoothSum([LeastSquares(X, y), Quadratic(weight)]) if form == "own" else LeastSquares(X, y)
            problem = Problem([Block(f=f, h=h, shape=4)])
            answer = certificate(problem, (w,), np.zeros(problem.shape), (0 * w,))
        else:
            f = Quadratic(weight) if form == "penalised" else None
            blocks = [Block(f=f, h=h, A=-X, shape=4, name="w"), Block(f=Quadratic(1.0), shape=20, name="u")]
            answer = certificate(Problem(blocks, b=-y), (w, u), -u, (0 * w, 0 * u))
        assert (answer.relative < 1e-3) is is_right


def test_blocks_on_which_nothing_acts_but_f_or_the_equation_are_looked_at():
    free, held = Block(A=A, shape=3), Block(h=Box(-1.0, 1.0), A=A, shape=3)
    last, loss = Block(h=L1(1.0), shape=20), Block(f=LeastSquares(A, z), h=L1(1.0), shape=3, A=0.0 * A)
    np.testing.assert_array_equal(found(Problem([free, last], b=z), [z[:3], z]).columns, A)
    assert found(Problem([free, held, last], b=z), [z[:3], z[:3], z]).blocks == (0, 1)
    assert found(Problem([held, last, loss], b=z), [z[:3], z, z[:3]]).blocks == (0, 2)
    alone = Block(f=LeastSquares(A, z), h=L1(1.0), shape=3)
    assert found(Problem([alone]), [z[:3]]).columns is None
    assert (
        found(Problem([Block(h=L2(1.0), A=A, shape=3), last], b=z), [z[:3], z]) is None
    )  # slopes are not known
    many = Block(A=np.ones((20, ENTRIES + 1)), shape=ENTRIES + 1)
    assert found(Problem([many, last], b=z), [np.zeros(ENTRIES + 1), z]) is None


def test_a_vertex_of_a_linear_program_is_one_whatever_its_multiplier():
    """Nothing takes what is left of its rows, so that no entry can give way."""
    problem = Problem([Block(f=Linear(np.ones(3)), h=NonNegative(), A=A, shape=3)], b=z)
    assert found(problem, [z[:3]]) is None
