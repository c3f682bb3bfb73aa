"""Equations that nearly depend on each other are made orthonormal, and their multipliers brought back."""

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Linear, NonNegative, Quadratic
from ipds.methods.newton.units import turned
from ipds.modelling import norm2


def slanted(seed, m, rank=15, n=40, spread=3):
    """Equations of condition 1e6 and more, and a point x ≥ 0 that meets them."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((rank, n)) * 10.0 ** rng.uniform(-spread, spread, (rank, 1))
    A, x = rng.standard_normal((m, rank)) @ B, np.maximum(rng.standard_normal(n), 0)
    return A, A @ x, rng.random(n)


@pytest.mark.parametrize("m", [15, 30])
@pytest.mark.parametrize("seed", [1, 5])
def test_programs_under_such_equations_are_solved(m, seed):
    """Thousands of steps and no answer, or one that is half off, before."""
    A, b, c = slanted(seed, m)
    basis = np.linalg.svd(A)[2][:15]
    x0 = np.linalg.lstsq(A, b, rcond=None)[0]
    least = scipy.optimize.linprog(c, A_eq=basis, b_eq=basis @ x0, bounds=(0, None)).fun
    split = scipy.optimize.linprog(np.ones(80), A_eq=np.hstack([basis, -basis]), b_eq=basis @ x0).fun
    x = Variable(40, name="x")
    near = np.linalg.norm(basis @ (x0 - 1))  # of the plane to (1, …, 1)
    for problem, wanted in (
        (Problem([Block(f=Linear(c), h=NonNegative(), A=A, shape=40)], b=b), least),
        (Problem([Block(h=L1(1.0), A=A, shape=40)], b=b), split),
        (minimize(norm2(x - 1), [A @ x == b]), near),
    ):
        result = solve(problem, tol=1e-6)
        assert result.success
        assert result.nit < 60
        assert result.fun == pytest.approx(wanted, rel=1e-4)


def test_multipliers_are_those_of_the_equations_as_stated():
    """x = -Aᵀz for ½‖x‖² under A x = b, whichever rows bear the forces."""
    A, b, _ = slanted(2, 20, spread=2)
    result = solve(Problem([Block(f=Quadratic(1.0), A=A, shape=40)], b=b), method="newton", tol=1e-7)
    assert result.success
    assert np.allclose(A.T @ result.z, -result.x[0], atol=1e-6 * np.abs(result.x[0]).max())
    again = solve(
        Problem([Block(f=Quadratic(1.0), A=A, shape=40)], b=b), x0=result.x, z0=result.z, method="newton"
    )
    assert again.success


def test_the_same_equations_and_forces():
    A, b, _ = slanted(3, 20)
    G = np.vstack([np.ones((2, 40)), A])
    rows = np.arange(2, 22)
    N, right, how = turned(G, rows, b)
    rank = len(how.R)
    assert rank == 15
    assert np.allclose(N[:rank] @ N[:rank].T, np.eye(rank))
    assert np.all(N[rank:] == 0)
    assert np.all(right[rank:] == 0)
    x = N.T @ right
    assert np.allclose(A @ x, b, atol=1e-9 * np.abs(b).max())
    y = np.random.default_rng(0).standard_normal(22)
    inward = how.inward(y)
    assert np.allclose(N.T @ inward[rows], A.T @ y[rows])
    assert np.allclose(A.T @ how.outward(inward)[rows], A.T @ y[rows])
    assert np.array_equal(how.outward(inward)[:2], y[:2])


def test_equations_that_need_no_turn_or_disagree_stay():
    rng = np.random.default_rng(0)
    assert turned(rng.standard_normal((5, 20)), np.arange(5), np.ones(5)) is None
    A, b, _ = slanted(4, 20, spread=0)
    assert turned(A, np.arange(20), b) is not None
    b[7] += 1e-3 * np.abs(b).max()
    assert turned(A, np.arange(20), b) is None
