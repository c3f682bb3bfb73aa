"""The reduced problem: value, gradient and multiplier against the problem it comes from."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.functions import L1, L21, Box, LeastSquares, Linear, Quadratic, Sphere, Stiefel, smooth
from ipds.methods.accelerated.annealing import dual_step_norms, feasible_value
from ipds.methods.accelerated.reduced import (
    adjoints,
    block_from_equation,
    eliminate,
    evaluate,
    exact,
    insert,
    known_at,
    locate,
    resmooth,
    snapshot,
    total,
    without,
)
from ipds.operators import DCT, Identity
from ipds.theory.structure import eliminable

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("c", [1.0, -2.0])
def test_reduced_function_is_the_minimum_over_the_eliminated_block(c):
    G, y = RNG.standard_normal((7, 4)), RNG.standard_normal(7)
    problem = Problem(
        [Block(f=LeastSquares(np.eye(4), y[:4]), A=G, shape=4), Block(h=L1(0.7), A=c, shape=7)], b=y
    )
    x, z, beta, mu = RNG.standard_normal(4), RNG.standard_normal(7), 1.7, 0.3
    R = eliminate(problem, eliminable(problem))
    s = 1 / (beta * c**2) + mu
    point = evaluate(R, (x,), y - z / beta, s)

    def lagrangian(breve):  # min over x_n of h(x̆) + |x̆-x_n|²/(2μ) + <z, r> + β/2|r|² is explicit in x_n
        target = (y - G @ x - z / beta) / c
        return 0.7 * np.abs(breve).sum() + np.sum((breve - target) ** 2) / (2 * s)

    best = min(lagrangian(point.x_breve + 1e-3 * RNG.standard_normal(7)) for _ in range(200))
    smooth_part = 0.5 * np.sum((x - y[:4]) ** 2)
    assert point.value == pytest.approx(smooth_part + lagrangian(point.x_breve), rel=1e-12)
    assert lagrangian(point.x_breve) <= best
    for i in range(4):  # the gradient, by differences
        e = np.zeros(4)
        e[i] = 1e-6
        up, down = (evaluate(R, (x + t * e,), y - z / beta, s).value for t in (1, -1))
        assert point.gradient[0][i] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)


def three_blocks(A=1.0, f=None, h=None):
    """Two blocks that remain, one on a manifold, and one to eliminate, behind A."""
    g = np.random.default_rng(1)
    first = Block(
        f=LeastSquares(g.standard_normal((5, 4)), g.standard_normal((5, 2))),
        A=g.standard_normal((6, 4)),
        shape=(4, 2),
    )
    second = Block(h=Stiefel(), A=g.standard_normal((6, 3)), shape=(3, 2))
    problem = Problem(
        [first, second, Block(f=f, h=h or L21(0.7), A=A, shape=(6, 2))], b=g.standard_normal((6, 2))
    )
    x = g.standard_normal((4, 2)), Stiefel().prox(g.standard_normal((3, 2)), 1.0)
    return problem, x, g.standard_normal((6, 2))


FORMS = [
    (1.0, None),
    (-2.0, None),
    (2.0 * DCT(), None),
    (1.0, Quadratic(np.diag(np.arange(1.0, 7.0)), np.ones((6, 2)))),
    (3.0, Linear(np.ones((6, 2)))),
    (2.0 * DCT(), Quadratic(np.diag(np.arange(1.0, 7.0)), np.ones((6, 2)))),
]


@pytest.mark.parametrize(("A", "f"), FORMS)
@pytest.mark.parametrize(("soft", "steepest"), [(False, False), (True, False), (True, True)])
def test_gradient_by_differences(A, f, soft, steepest):
    problem, x, z = three_blocks(A, f, L1(0.7) if soft else None)
    R = eliminate(problem, 2)
    R = R.annealed if steepest else R.softened if soft else R
    beta, s = 1.7, 0.8
    target = R.target(z, beta)
    point = evaluate(R, x, target, s)
    for i, block in enumerate(R.blocks):
        for _ in range(5):
            d = RNG.standard_normal(block.shape)
            if block.h.is_manifold:
                d = block.h.tangent(x[i], d)
            ends = [
                evaluate(R, insert(without(x, i), i, x[i] + t * d), target, s).value for t in (1e-6, -1e-6)
            ]
            if (
                steepest and block.h.is_manifold
            ):  # the gradient is that of the canonical metric ⟨g, d - ½xxᵀd⟩
                d = d - 0.5 * x[i] @ (x[i].T @ d)
            assert np.vdot(point.gradient[i], d) == pytest.approx(
                (ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7
            )


@pytest.mark.parametrize(("A", "f"), FORMS)
def test_the_multiplier_makes_the_eliminated_block_stationary_and_is_that_of_a_dual_step(A, f):
    problem, x, z = three_blocks(A, f)
    R = eliminate(problem, 2)
    op, beta = problem.operators[2], 1.7
    point = evaluate(R, x, R.target(z, beta), 1 / (beta * R.c**2))
    gap = total(R, point.place) + op.apply(point.x_breve) - problem.b
    np.testing.assert_allclose(point.reduced_multiplier, z + beta * gap, atol=1e-12)
    d = -op.adjoint(point.reduced_multiplier)  # ∈ ∂h_j(x̆): Fenchel's equality for a norm
    rows = np.linalg.norm(d, axis=1)
    assert np.all(rows <= 0.7 * (1 + 1e-12))
    assert np.vdot(d, point.x_breve) == pytest.approx(0.7 * np.linalg.norm(point.x_breve, axis=1).sum())
    y = block_from_equation(R, point.place)
    np.testing.assert_allclose(total(R, point.place) + op.apply(y), problem.b, atol=1e-12)
    slope = 0.0 if f is None else f.grad(y)
    np.testing.assert_allclose(op.adjoint(point.z), -slope - d, atol=1e-12)


def test_a_new_smoothing_at_a_place_costs_no_product_and_gives_the_same_point():
    problem, x, z = three_blocks()
    R = eliminate(problem, 2)
    place = evaluate(R, x, R.target(z, 1.0), 1.0).place
    fresh = evaluate(R, x, R.target(z, 3.0), 0.2)

    def refuse(x):
        raise AssertionError("a product")

    for op in R.operators:
        op.apply = refuse
    again = resmooth(R, place, R.target(z, 3.0), 0.2)
    for name in ("value", "x_breve", "reduced_multiplier", "z"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fresh, name))
    for one, other in zip(again.gradient, fresh.gradient, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_count_in_the_value_alone():
    problem = Problem([Block(h=L1(2.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    R, x = eliminate(problem, 1), (np.array([1.0, -2.0, 0.5]),)
    once, thrice = (evaluate(R, x, np.zeros(3), 1.0, weights) for weights in ((1.0,), (3.0,)))
    assert thrice.value - once.value == pytest.approx(2 * 2.0 * 3.5)
    np.testing.assert_array_equal(once.gradient[0], thrice.gradient[0])


def test_neither_the_start_nor_what_a_function_returns_is_changed():
    slope = np.ones((6, 2))
    f = smooth(lambda x: float(np.sum(x)), lambda x: slope, lipschitz=0.0)
    problem, x, z = three_blocks(2.0, f)
    kept = [a.copy() for a in (*x, z)]
    R = eliminate(problem, 2)
    point = evaluate(R, x, R.target(z, 2.0), 0.5)
    resmooth(R, point.place, R.target(z, 2.0), 0.1)
    assert all(np.array_equal(a, b) for a, b in zip(kept, (*x, z), strict=True))
    np.testing.assert_array_equal(slope, 1.0)


def test_norms_of_a_dual_step():
    problem, x, z = three_blocks(-2.0)
    R = eliminate(problem, 2)
    point = evaluate(R, x, R.target(z, 1.7), 0.4)
    norms = dual_step_norms(R, point)
    others = sum(block.A @ xi for block, xi in zip(R.blocks, x, strict=True))
    assert norms.residual == pytest.approx(np.linalg.norm(others - 2.0 * point.x_breve - problem.b))
    assert norms.size == pytest.approx(max(np.linalg.norm(others), 2.0 * np.linalg.norm(point.x_breve)))
    expected = [np.linalg.norm(block.A.T @ point.z) for block in R.blocks]
    np.testing.assert_allclose(norms.adjoints_z, expected)
    for adjoint, block in zip(adjoints(R, point.z, point.adjoints_z), R.blocks, strict=True):
        np.testing.assert_allclose(adjoint, block.A.T @ point.z)


def test_terms_that_cancel_are_measured_before_they_do():
    """C x = 0: of what is left after cancelling, any residual would be the whole."""
    C, x = RNG.standard_normal((3, 5)), RNG.standard_normal(5)
    for b, size in ((0.0, np.linalg.norm(np.abs(C) @ np.abs(x))), (1.0, np.linalg.norm(C @ x))):
        problem = Problem([Block(h=Sphere(1.0), A=C, shape=5), Block(h=Box(0.0, 0.0), shape=3)], b=b)
        R = eliminate(problem, 1)
        norms = dual_step_norms(R, evaluate(R, (x,), R.target(np.zeros(3), 1.0), 1.0))
        assert norms.size == pytest.approx(size)
        assert norms.residual == pytest.approx(np.linalg.norm(C @ x - b))


@pytest.mark.parametrize(("A", "f"), FORMS)
def test_the_feasible_value_and_the_snapshot_are_those_of_the_problem_as_stated(A, f):
    problem, x, z = three_blocks(A, f)
    R = eliminate(problem, 2)
    s = 1 / (1.7 * R.c**2)
    point = evaluate(R, x, R.target(z, 1.7), s)
    y = block_from_equation(R, point.place)
    assert feasible_value(R, point.place) == pytest.approx(problem.objective((*x, y)))
    state = snapshot(7, R, point, [(x[0], 0.5), (None, 0.5)], s, 1.7, 0.0)
    assert (state.t, state.last) == (7, 2)
    np.testing.assert_array_equal(state.q[2], point.x_breve)
    v, step = state.prox_points[2]
    if f is not None:  # else the certificate takes -A_jᵀz
        np.testing.assert_allclose(L21(0.7).prox(v, step), point.x_breve, atol=1e-12)
    for i, block in enumerate(R.blocks):
        np.testing.assert_allclose(state.products[i], block.A @ x[i])
        if block.f is not None:
            assert state.values[i] == pytest.approx(block.f(x[i]))
            np.testing.assert_allclose(state.gradients[i], block.f.grad(x[i]))


def test_a_reduced_problem_is_made_once_and_let_go_with_its_problem():
    problem, *_ = three_blocks()
    R = eliminate(problem, 2)
    assert eliminate(problem, 2) is R
    assert R.softened is R.softened
    assert R.annealed is R.annealed
    gone = weakref.ref(R)
    del problem, R
    gc.collect()
    assert gone() is None


def test_without_and_insert_undo_each_other():
    assert without("abc", 1) == ("a", "c")
    assert insert(without(("a", "b", "c"), 1), 1, "b") == ("a", "b", "c")


@pytest.mark.parametrize("A", [Identity(-2.0), DCT()], ids=repr)
def test_a_free_block_is_passed_over(A):
    """Where h_j = 0 and f_j = 0 the shorter way gives what the formulas for any h_j give."""
    fit = LeastSquares(RNG.standard_normal((6, 4)), RNG.standard_normal(6))
    blocks = [
        Block(f=fit, h=L1(0.3), A=-1.0, shape=4),
        Block(h=L1(0.5), A=RNG.standard_normal((4, 3)), shape=3),
        Block(A=A, shape=4),
    ]
    R = eliminate(Problem(blocks, np.ones(4)), 2)
    assert R.is_free
    other = replace(R)
    vars(other)["is_free"] = False
    x, target = (RNG.standard_normal(4), RNG.standard_normal(3)), RNG.standard_normal(4)
    quick, long = (evaluate(own, x, target, 0.7, (1.0, 2.0)) for own in (R, other))
    assert quick.value == pytest.approx(long.value, rel=1e-14)
    for name in ("x_breve", "reduced_multiplier", "z"):
        np.testing.assert_allclose(getattr(quick, name), getattr(long, name), atol=1e-14)
    for mine, theirs in zip(quick.gradient, long.gradient, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-13)
    assert [a is None for a in quick.adjoints_z] == [a is None for a in long.adjoints_z]
    assert not R.softened.is_free


def test_values_near_a_point_are_bounded_and_made_exact_where_asked():
    rng = np.random.default_rng(6)
    f = smooth(lambda V: float(np.cos(V).sum()), lambda V: -np.sin(V), lipschitz=1.0)
    R = eliminate(Problem([Block(f=f, A=-1.0, shape=4), Block(h=L1(0.5), shape=4)]), 1)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        x, y = rng.standard_normal(4), rng.standard_normal(4)
        y = x + scale * y
        known = known_at(R, locate(R, (x,)))
        assert known.slopes[0] is not None
        point = evaluate(R, (y,), np.zeros(4), 1.0, near=known)
        exactly = evaluate(R, (y,), np.zeros(4), 1.0)
        assert exactly.value <= point.value + 1e-12
        assert point.value - exactly.value <= 0.5 * np.sum((y - x) ** 2) + 1e-12
        assert exact(R, point).value == pytest.approx(exactly.value)
        assert exact(R, point).place.f == exactly.place.f
        np.testing.assert_array_equal(point.gradient[0], exactly.gradient[0])
    state = snapshot(1, R, point, ((y, 1.0),), 1.0, 1.0, 0.0, bounded=True)
    assert state.values[0] is None  # a bound is no value
    assert snapshot(1, R, exactly, ((y, 1.0),), 1.0, 1.0, 0.0).values[0] == exactly.place.f[0]
