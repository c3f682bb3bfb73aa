"""What the terms of a certificate are compared with."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    L21,
    Box,
    Hinge,
    Huber,
    L2Ball,
    LeastSquares,
    Linear,
    NonNegative,
    Quadratic,
    Stacked,
)
from ipds.modelling import norm1, norm2, sum_squares
from ipds.operators import FlatStack, Matrix, SumOver
from ipds.theory.certificate import _forces_at, certificate, certify
from ipds.theory.entries import Product
from ipds.theory.fixed import faint_part, fixed_of
from ipds.theory.sizes import Energy, balance_of, rounding_of
from ipds.theory.slopes import steepest
from ipds.theory.state import State
from problems import lasso


@pytest.mark.parametrize("method", ["auto", "ipds"])
def test_a_feasible_point_of_sets_alone_is_certified(method):
    """No force acts anywhere, so no scale exists for the bound on rounding."""
    problem = Problem([Block(h=Box(0, 1), A=0.5, shape=3), Block(shape=3)], b=np.ones(3))
    result = solve(problem, method=method)
    assert result.success
    assert problem.infeasibility(result.x) < 1e-4


def test_certificates_hold_plain_floats():
    certificate = solve(lasso(float)).certificate
    numbers = (
        certificate.feasibility,
        *certificate.stationarity,
        certificate.relative,
        certificate.work,
        *certificate.blocks,
    )
    assert {type(number) for number in numbers} == {float}


def test_a_block_almost_in_the_kernel_of_its_operator_does_not_inflate_the_scales_of_others():
    """A constant signal under differences: ‖Dx‖/‖x‖ is tiny, and the other block passed with a wrong subgradient."""
    g = np.random.default_rng(0)
    signal, D = g.standard_normal(50) + 3, np.diff(np.eye(50), axis=0)
    problem = Problem(
        [
            Block(f=LeastSquares(np.eye(50), signal), A=-D, shape=50),
            Block(h=L1(100.0), shape=49),
        ]
    )
    x = np.full(50, signal.mean()) + 1e-9 * g.standard_normal(50)
    z = np.linalg.lstsq(D.T, x - signal, rcond=None)[0]
    right = certificate(problem, (x, D @ x), z, (np.zeros(50), -z))
    assert right.relative < 1e-6
    wrong = certificate(problem, (x, D @ x), z, (np.zeros(50), 100.0 * np.sign(D @ x)))
    assert wrong.relative > 0.1


def test_steps_by_entry_round_as_one_step_does():
    """An array of equal prox steps is certified as the number is: what rounding may do is counted entry by entry."""
    problem = Problem([Block(h=Huber(2.0, 0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    v, step = np.array([1e4, -2e4, 3e4]), 1e-3
    x = problem.blocks[0].h.prox(v, step)
    states = [
        State(1, (x, x), x, np.zeros(3), 1.0, 0.0, (None, None), ((v, steps), (None, 1.0)))
        for steps in (step, np.full(3, step))
    ]
    one, many = (certify(problem, state).stationarity[0] for state in states)
    assert many == pytest.approx(one, rel=1e-12)
    assert one > np.linalg.norm((v - x) / step)  # rounding is in it


def test_rounding_of_a_prox_is_added_to_what_is_left_of_the_forces():
    """A prox of numbers near 1e12 with a short step knows nothing of a subgradient below 1: no point is certified."""
    problem = Problem([Block(h=Huber(2.0, 0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    for size, least, most in ((1e12, 1.0, np.inf), (1.0, 0.0, 1e-9)):
        v, step = size * np.array([1.0, -2.0, 3.0]), 1e-3
        x = problem.blocks[0].h.prox(v, step)
        s = np.sign(v) * 0.2  # λδ: what (v - x)/step is without rounding
        state = State(1, (x, x), x, s, 1.0, 0.0, (None, None), ((x + step * s, step), (None, 1.0)))
        found = certify(problem, state)
        assert least <= found.blocks[0] <= most
        assert found.work >= 2 * least


def at_rest(dtype=float):
    """A lasso in numbers without rounding, its solution x, and the multiplier: every force and every row cancels."""
    x = np.array([1.0, -2.0, 4.0], dtype)
    slope = 0.5 * np.sign(x)
    problem = Problem([Block(f=Quadratic(1.0, -x - slope), A=-1.0, shape=3), Block(h=L1(0.5), shape=3)])
    return problem, x, -slope


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_counted_where_nothing_is_left(dtype):
    """Rows and blocks by four units; the work by four units of |z|ᵀR and of the forces times the entries."""
    problem, x, z = at_rest(dtype)
    state = State(1, (x, x), x, z, 1.0, 0.0, (None, None), ((None, 1.0), (None, 1.0)))
    found, units = certify(problem, state), 4 * np.finfo(dtype).eps
    assert found.rows == pytest.approx(units, rel=1e-6)
    assert all(units * (1 - 1e-6) <= share <= 10 * units for share in found.blocks)
    prices = [abs(problem.blocks[0].f(x)), problem.blocks[1].h(x)]
    held = np.abs(z) @ (2 * np.abs(x))
    forces = np.maximum(np.abs(x), 0.5) @ np.abs(x), 0.5 * np.abs(x).sum()  # at least: ∇f - ∇f(0), and s
    assert found.work >= units * (held + sum(forces)) / (1.01 * sum(prices))
    assert found.work <= 2 * units * (held + sum(forces)) / sum(prices)


def test_what_the_residual_of_the_equation_could_change_is_work():
    problem, x, z = at_rest()
    d = 1e-3 * np.array([1.0, 2.0, -3.0])
    found = certificate(problem, (x, x + d), z, (np.zeros(3), -z))
    prices = [abs(problem.blocks[0].f(x)), problem.blocks[1].h(x + d)]
    assert found.stationarity == pytest.approx((0.0, 0.0), abs=1e-12)
    assert found.work == pytest.approx(np.abs(z) @ np.abs(d) / sum(prices), rel=1e-2)


def test_rounding_does_not_depend_on_the_units_of_entries():
    """Forces on small entries are large: a bound on all errors times the size of all entries belongs to none."""
    h, v, step = Huber(2.0, 0.1), np.array([1.0, -2.0, 3.0]), 0.5
    q = h.prox(v, step)
    bounds = []
    for unit in (1.0, np.array([1e-2, 1.0, 1e2])):
        problem = Problem([Block(h=Huber(2.0, 0.1), shape=3), Block(h=L1(1.0), shape=3)])
        point = (v * unit, step * unit**2 * np.ones(3))
        state = State(1, (q * unit, q), q, np.zeros(3), 1.0, 0.0, (None, None), (point, (None, 1.0)))
        forces = _forces_at(problem, fixed_of(problem, state.q), state, state.q, 0)._replace(
            pull=Product((q - v) / (step * unit))
        )
        larger = Product(np.abs((q - v) / (step * unit)))
        bounds.append(balance_of(forces, larger, Energy(1.0, 0.0, ()), rounding_of(forces)))
    assert bounds[0].work == pytest.approx(bounds[1].work, rel=1e-6)
    assert bounds[0].error == pytest.approx(bounds[1].error, rel=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12, 1e16])
def test_blocks_that_grow_where_the_equation_does_not_see_it_make_no_row_hold(size):
    """x - y = 1 and x - y = 2 with x, y ≥ 0 and nothing to minimise: x = y = 1e16 is as far from both as x = y = 1."""
    A, b, x = np.array([[1.0, -1.0], [1.0, -1.0]]), np.array([1.0, 2.0]), np.full(2, size)
    problem = Problem([Block(h=NonNegative(), A=A, shape=2)], b)
    state = State(1, (x,), x, np.zeros(2), 1.0, 0.0, (None,), ((x, 1.0),))
    assert certify(problem, state).rows > 0.5
    assert not solve(problem).success


def tails(n=30):
    """A plan between two densities whose tails have all orders of magnitude, by hand; both ends of it."""
    t = np.linspace(0, 1, n)
    ends = [np.exp(-(((t - middle) / 0.1) ** 2)) for middle in (0.2, 0.8)]
    a, b = (end / end.sum() for end in ends)
    shape = (n, n)
    A = FlatStack([SumOver(shape, axis=1), SumOver(shape, axis=0)], shape)
    f = Linear(np.subtract.outer(t, t) ** 2)
    return Problem([Block(f=f, h=NonNegative(), A=A, shape=shape)], b=np.concatenate([a, b])), a, b


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_tails_of_densities_need_not_hold_in_their_own_units(tol):
    problem, a, b = tails()
    result = solve(problem, tol=tol)
    P, points = result.x[0], np.linspace(0, 1, 30)
    assert result.success
    assert result.nit < 60
    assert max(abs(P.sum(1) - a).max(), abs(P.sum(0) - b).max()) < 1e-9
    # the least cost moves quantiles to quantiles, in order
    levels = np.linspace(0, 1, 200_001)[1:-1]
    moved = points[np.searchsorted(b.cumsum(), levels)] - points[np.searchsorted(a.cumsum(), levels)]
    assert result.fun == pytest.approx(np.mean(moved**2), rel=1e-4)


def test_rows_are_faint_in_units_that_nobody_chose():
    """Of A = diag(r) A₀ diag(c) and b = diag(r) b₀ the same entries are as good as 0 as of A₀ and b₀."""
    g = np.random.default_rng(0)
    plain, right = g.random((6, 8)) + 0.5, np.array([1.0, 2.0, 1e-3, 1e-12, 0.0, 3.0])
    r, c = 10.0 ** g.integers(-6, 7, 6), 10.0 ** g.integers(-6, 7, 8)
    for A, b in ((plain, right), (r[:, None] * plain * c, r * right)):
        found = faint_part(b, (Matrix(A),), (np.zeros(8),))
        assert np.array_equal(np.flatnonzero(found), [3])
        assert found[3] == b[3]


def test_a_row_that_is_small_by_its_units_is_not_faint():
    rows, right = np.array([[1.0, 1.0], [1e-12, 2e-12]]), np.array([1.0, 1e-12])
    assert faint_part(right, (Matrix(rows),), (np.zeros(2),)) is None


def two_orders(price):
    """x₁ + x₂ = 1e-10 at `price` and x₃ + x₄ = 1e3 at 1, tied by x₁ + x₃ + x₅ = 2e3."""
    A = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1]])
    c = np.array([price, 2 * price, 1.0, 2.0, 1.0])
    return Problem([Block(f=Linear(c), h=NonNegative(), A=A, shape=5)], b=np.array([1e-10, 1e3, 2e3]))


@pytest.mark.parametrize(("price", "accepted"), [(1.0, True), (1e12, False)])
def test_a_faint_row_counts_by_what_it_costs(price, accepted):
    """Without what the first row asks for, the objective is 2000 in place of 2000 + 1e-10·price."""
    problem = two_orders(price)
    x, z = np.array([0.0, 0, 1e3, 0, 1e3]), np.array([0.0, 0.0, -1.0])
    c = problem.blocks[0].f.grad(x)
    s = np.where(x > 0, 0.0, -(c + problem.operators[0].adjoint(z)))
    found = certificate(problem, (x,), z, (s,))
    assert found.feasibility == 1e-10
    assert (found.relative < 1e-6) == accepted
    result = solve(problem)
    assert not result.success or result.fun == pytest.approx(2e3 + 1e-10 * price, rel=1e-3)


@pytest.mark.parametrize("units", [(5e-5, 1.5e3), (1e4, 1e-4), (1e5, 1e-5), (1e6, 1e-6)])
@pytest.mark.parametrize("seed", [0, 7, 8])
def test_entries_near_zero_are_not_hidden_by_others_in_small_units(seed, units):
    """Two lassos in one vector: the second was all but 0, where its rows had no size and its forces were none."""
    g = np.random.default_rng(seed)
    G, lam, x = g.standard_normal((2, 20, 8)), 2.0, Variable(16)
    y = [A @ g.standard_normal(8) + g.standard_normal(20) for A in G]
    objective = 0.0
    for k, u in enumerate(units):
        own = x[8 * k : 8 * k + 8]
        objective = objective + 0.5 / u**2 * sum_squares(G[k] @ own - u * y[k]) + lam / u * norm1(own)
    result, v = solve(minimize(objective)), Variable(8)
    alone = [
        solve(minimize(0.5 * sum_squares(A @ v - b) + lam * norm1(v))) for A, b in zip(G, y, strict=True)
    ]
    assert result.success
    assert result.fun == pytest.approx(sum(r.fun for r in alone), rel=1e-3)


@pytest.mark.parametrize("gathered", [False, True])
def test_terms_gathered_in_one_block_are_as_strict_as_apart(gathered):
    """Two fits |v - 1|·1e-5 and |w - 1|·1e3 of three values each: v is far off, w right."""
    G, ones = np.array([[1.0], [1.0], [1.0]]), np.array([0.0, 1.0, 5.0])
    small, large, none = L1(1e-5), L1(1e3), np.zeros((3, 1))
    b = np.r_[ones, ones]
    left, right = np.r_[-G, none], np.r_[none, -G]
    blocks = [Block(A=left, shape=1), Block(A=right, shape=1)]
    if gathered:
        blocks.append(Block(h=Stacked([(small, 3), (large, 3)]), shape=6))
    else:
        pick = np.eye(6)
        blocks += [Block(h=small, A=pick[:, :3], shape=3), Block(h=large, A=pick[:, 3:], shape=3)]
    problem = Problem(blocks, b=-b)
    v, w = np.array([9.0]), np.array([1.0])
    u = np.r_[v - ones, w - ones]
    slopes = np.r_[np.full(3, 1e-5), 1e3, 0.0, -1e3]
    parts = (u,) if gathered else (u[:3], u[3:])
    s = (slopes,) if gathered else (slopes[:3], slopes[3:])
    found = certificate(problem, (v, w, *parts), -slopes, (np.zeros(1), np.zeros(1), *s))
    assert found.rows < 1e-12
    assert found.blocks[0] > 0.1
    assert found.blocks[1] < 1e-12


def test_blocks_that_cost_nothing_do_not_grow_until_the_equation_seems_to_hold():
    """x₁ - x₂ = 1 and x₁ - x₂ = -1: rows add up 2e9, and miss b altogether."""
    A = np.array([[1.0, -1.0], [1.0, -1.0]])
    problem = Problem(
        [Block(A=A, shape=2), Block(h=L1(1.0), A=np.zeros((2, 1)), shape=1)], b=np.array([1.0, -1.0])
    )
    grown = certificate(problem, (np.full(2, 1e9), np.zeros(1)), np.zeros(2), (np.zeros(2), np.zeros(1)))
    assert grown.feasibility == pytest.approx(np.sqrt(2))
    assert grown.relative > 5e-3


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_blocks_that_cost_nothing_count_as_much_as_bounds_allow(size):
    A = np.array([[1.0, -1.0]])
    box = Problem(
        [Block(h=Box(0, 2 * size), A=A, shape=2), Block(h=L1(1.0), A=1.0, shape=1)], b=np.array([1.0])
    )
    x, v = np.array([size, size]), np.array([1.0 + 1e-4])
    found = certificate(box, (x, v), -np.ones(1), (np.array([1.0, -1.0]), np.ones(1)))
    assert found.rows == pytest.approx(1e-4 / (2 * size + 2), rel=1e-3)


def test_the_prox_of_a_part_rounds_its_own_entries():
    """Large numbers in one part of a sum say nothing of the others; slopes are known, and in a set 0 is a normal."""
    parts = [(Huber(2.0, 0.1), 2), (Huber(2.0, 0.1), 3), (L2Ball(5.0), 2), (Hinge(1.0), 2)]
    h, step = Stacked(parts), 1e-3
    v = np.array([1e8, -2e8, 1.0, 2.0, -1.0, 3.0, 1.0, 1e9, -2e9])
    q, n = h.prox(v, step), len(v)
    problem = Problem([Block(h=h, A=-1.0, shape=n), Block(h=L1(1.0), shape=n)])
    for steps in (step, np.full(n, step)):
        state = State(1, (q, q), q, np.zeros(n), 1.0, 0.0, (None, None), ((v, steps), (None, 1.0)))
        found = rounding_of(_forces_at(problem, fixed_of(problem, state.q), state, state.q, 0))
        units = 4 * np.finfo(float).eps / step
        alone = [units * np.linalg.norm(v[place]) for place in (slice(0, 2), slice(2, 5))]
        s = (v[7:] - q[7:]) / step
        off = np.linalg.norm(s - [0.0, -1.0])  # of what the prox says from the slopes of the hinges
        assert 0 < off < units * 1e9
        assert found.whole == pytest.approx(np.hypot(np.hypot(*alone), off), rel=1e-9, abs=0)
        each = found.each if np.ndim(steps) == 0 else found.each / np.sqrt(step)
        assert np.linalg.norm(each[2:5]) == pytest.approx(alone[1], rel=1e-9, abs=0)
        assert np.all(each[5:7] == 0)
        assert each[7] == 0 < each[8]


def test_rows_in_large_units_do_not_keep_a_ball_from_its_certificate():
    rng = np.random.default_rng(0)
    G, y, x = rng.standard_normal((30, 5)), rng.standard_normal(30), Variable(5, name="x")
    fit = sum_squares(G @ x - y) + 1e-3 * norm2(x) + L2Ball(5.0)(x)
    result = solve(minimize(fit, [x <= 1e5, 1e4 * x[0] <= 5e6, 1e-3 * G @ x <= 1e6]), tol=1e-6)
    assert result.success
    assert result.nit < 40


@pytest.mark.parametrize("shape", [(4, 3), (4,), (2, 3, 2)])
def test_one_weight_of_all_rows_is_as_steep_as_as_many_equal_ones(shape):
    q = np.zeros(shape)
    one, many = (Block(h=L21(lam), shape=shape) for lam in (0.7, np.full(shape[0], 0.7)))
    assert steepest(one, q) == steepest(many, q) == (0.7, True)
    assert steepest(Block(h=L21(0.0), shape=shape), q) == (None, True)
    assert one.h.lipschitz(shape) == pytest.approx(many.h.lipschitz(shape))
