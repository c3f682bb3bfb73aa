"""Largest entries as rows: Chebyshev fits are linear programs, however they are written."""

import cvxpy as cp
import numpy as np
import pytest
import scipy

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    PSD,
    Huber,
    HuberLoss,
    L2Ball,
    LeastSquares,
    Linf,
    Precomposed,
    Quadratic,
    SumSquares,
)
from ipds.modelling import concatenate, huber
from ipds.operators import from_linear_operator
from ipds.operators.one_shape import FEW
from ipds.presolve import presolve

RNG = np.random.default_rng(5)
G, Y = RNG.standard_normal((40, 6)), RNG.standard_normal(40)


def reference(c=0.0, bounds=None):
    """min max|G x - y| + ⟨c, x⟩ with x in bounds, as a linear program."""
    ones = np.ones((40, 1))
    found = scipy.optimize.linprog(
        [*np.broadcast_to(c, 6), 1.0],
        np.block([[G, -ones], [-G, -ones]]),
        np.concatenate([Y, -Y]),
        bounds=[*[bounds or (None, None)] * 6, (None, None)],
    )
    return found.fun


def fit(A=G, shape=6):
    return Problem([Block(A=-A, shape=shape), Block(h=Linf(1.0), shape=40, name="r")], b=-Y)


@pytest.mark.parametrize("A", [G, scipy.sparse.csr_array(G)], ids=["dense", "sparse"])
def test_a_chebyshev_fit(A):
    result = solve(fit(A), tol=1e-7)
    assert result.success
    assert "largest entry of block 'r' became a variable" in result.presolve
    assert result.method.startswith("auto: NewtonALM")
    assert np.abs(G @ result.x[0] - Y).max() == pytest.approx(reference(), rel=1e-7)
    np.testing.assert_allclose(result.x[1], G @ result.x[0] - Y, atol=1e-7)
    # a multiplier of unit ℓ1 norm, orthogonal to the columns
    assert np.abs(result.z).sum() == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_allclose(G.T @ result.z, 0.0, atol=1e-7)


def test_beside_other_terms_and_constraints():
    x = Variable(6, name="x")
    problem = minimize(Linf(1.0)(G @ x - Y) + 0.05 * x.sum(), [x >= -0.1, x <= 0.1])
    result = problem.solve(tol=1e-7)
    assert result.success
    assert "became a variable" in result.presolve
    assert result.fun == pytest.approx(reference(0.05, (-0.1, 0.1)), rel=1e-6)


def test_not_beside_a_nonconvex_f():
    """Rows serve steps for convex problems; first-order steps are better off with the prox."""
    convex, other = fit(), Quadratic(-1e-3 * np.eye(6))
    assert "became a variable" in presolve(convex).report
    problem = Problem([Block(f=other, A=-G, shape=6), convex.blocks[1]], b=-Y)
    assert "became a variable" not in presolve(problem).report


def test_two_of_them():
    x = Variable(6, name="x")
    problem = minimize(Linf(1.0)(G @ x - Y) + Linf(3.0)(G[:8] @ x) + L1(0.1)(x))
    result, other = problem.solve(tol=1e-8), problem.solve(tol=1e-8, presolve=False)
    assert result.success
    assert result.presolve.count("became a variable") == 2
    assert result.fun == pytest.approx(other.fun, rel=1e-5)


def test_a_solution_is_where_it_starts_again():
    problem = fit()
    first = solve(problem, tol=1e-8)
    again = solve(problem, first.x, first.z, tol=1e-8)
    assert again.success
    assert again.nit <= 2


def test_states_hold_exact_subgradients():
    problem = fit()
    done = presolve(problem)
    x, z = done.start((np.ones(6), np.ones(40)), RNG.standard_normal(40), True)
    result = solve(problem, tol=1e-3)
    h, (q, (v, step)) = problem.blocks[1].h, (result.state.q[1], result.state.prox_points[1])
    np.testing.assert_array_equal(h.prox(v, float(np.ravel(step)[0])), q)
    assert x[1].shape == (1,)
    assert x[1][0] == 1.0, "the level of a start is its largest entry"
    assert np.all(z <= 0), "inequalities push one way"


@pytest.mark.parametrize("kind", ["matrix-free", "ball", "matrix"])
def test_norms_that_stay(kind):
    x = Variable(6, name="x")
    if kind == "matrix-free":
        wide = RNG.standard_normal((40, FEW + 1))
        problem = fit(from_linear_operator(scipy.sparse.linalg.aslinearoperator(wide)), FEW + 1)
    elif kind == "ball":
        problem = minimize(Linf(1.0)(G @ x - Y) + L2Ball(1.0)(x[:3]))
    else:
        problem = minimize(Linf(1.0)(G @ x - Y) + PSD()(concatenate([x[:2], x[1:3]]).reshape((2, 2))))
    assert "became a variable" not in presolve(problem).report


def test_norms_beside_losses():
    """Losses have interior-point steps; with a prox for the norm all rows would go without them."""
    x = Variable(6, name="x")
    problem = minimize(Linf(1.0)(G @ x - Y) + huber(x - 1.0, 0.5))
    assert "became a variable" in presolve(problem).report
    result, by_prox = solve(problem, tol=1e-6), solve(problem, tol=1e-6, presolve=False)
    assert result.success
    assert result.nit <= 15
    assert result.fun <= by_prox.fun + 1e-5 * abs(by_prox.fun)


def of_a_variable():
    return Problem([Block(f=LeastSquares(G, Y), h=Linf(2.0), A=-1.0, shape=6, name="x"), Block(shape=6)])


def of_variables_that_become_one():
    """Two blocks under one residual: their norms are parts of one vector's."""
    first = Block(h=Linf(1.0), A=-G[:, :2], shape=2, name="a")
    second = Block(h=Linf(2.0), A=-G[:, 2:].reshape(40, 4), shape=4, name="b")
    return Problem([first, second, Block(f=Quadratic(1.0), shape=40)], b=-Y)


@pytest.mark.parametrize(("made", "count"), [(of_a_variable, 1), (of_variables_that_become_one, 2)])
def test_norms_of_variables(made, count):
    problem = made()
    result, other = solve(problem, tol=1e-8), solve(problem, tol=1e-8, presolve=False)
    assert result.success
    assert other.success
    assert result.presolve.count("became a variable") == count
    assert result.fun == pytest.approx(other.fun, rel=1e-8)
    for x, y in zip(result.x, other.x, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)
    for block, q, (v, step) in zip(problem.blocks, result.state.q, result.state.prox_points, strict=True):
        np.testing.assert_allclose(block.h.prox(v, float(np.ravel(step)[0])), q, atol=1e-12)


@pytest.mark.parametrize("phase", [0.01025783017595525, -0.0020480339596569536, 0.3763344759145577])
def test_errors_that_are_a_small_difference_of_large_numbers(phase):
    """Errors of 0.03 of data of 2,000: the multiplier must not be made of their rounding."""
    t = np.linspace(-1, 1, 200)
    A, y = np.vander(t, 13), 1e3 * np.exp(t) * np.sin(5 * t + phase)
    result = minimize(Linf(1.0)(A @ Variable(13) - y)).solve(tol=1e-6)
    assert result.success
    ones = np.ones((200, 1))
    V = np.polynomial.chebyshev.chebvander(t, 12)
    rows, right = np.block([[V, -ones], [-V, -ones]]), np.append(y, -y)
    found = scipy.optimize.linprog([*np.zeros(13), 1.0], rows, right, bounds=(None, None))
    assert np.abs(A @ result.x[0] - y).max() == pytest.approx(found.fun, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_norms_that_are_zero(seed):
    """-t ≤ x ≤ t with t = 0: rounding of x is no part of it, nor is it a constraint that does not hold."""
    rng = np.random.default_rng(seed)
    first = Block(h=Linf(2000.0), A=rng.standard_normal((9, 3)), shape=3)
    second = Block(f=HuberLoss(G[:, :4], Y, 0.8), A=rng.standard_normal((9, 4)), shape=4)
    third = Block(h=L1(0.1), A=rng.standard_normal((9, 11)), shape=11)
    result = solve(Problem([first, second, third], b=rng.standard_normal(9)), tol=1e-8)
    assert result.success
    assert result.nit < 20
    np.testing.assert_array_equal(result.x[0], 0.0)


@pytest.mark.parametrize("h", [SumSquares(2.0), Huber(1.0, 0.1)], ids=["squares", "huber"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beside_losses_that_are_an_h(h, sign):
    largest = Linf(1.0) if sign > 0 else Precomposed(Linf(0.5), -2.0)
    problem = Problem([Block(h=h, A=-G, shape=6), Block(h=largest, A=sign, shape=40)], b=-Y)
    result = solve(problem, tol=1e-6)
    assert result.success
    assert "became a variable" in result.presolve
    x = cp.Variable(6)
    terms = {SumSquares: 2 * cp.sum_squares(x), Huber: 0.5 * cp.sum(cp.huber(x, 0.1)), L2Ball: 0}
    fit = cp.norm_inf(G @ x - Y)
    bounds = [cp.norm2(x) <= 0.3] if isinstance(h, L2Ball) else []
    reference = cp.Problem(cp.Minimize(fit + terms[type(h)]), bounds).solve(solver="CLARABEL")
    assert result.fun == pytest.approx(reference, rel=1e-5)
