"""Objectives that are zero at the solution: nothing has a size there but the data, and answers are certified still."""

from __future__ import annotations

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import Affine, LeastSquares, Linf, NonNegative, Quadratic
from ipds.modelling import diff, norm1, quad_form, sum_squares

N = 30
x = Variable(N, name="x")


def straight():
    """Second differences between two points and bounds."""
    return minimize(sum_squares(diff(diff(x))), [x[0] == 1e3, x[N - 1] == 5e3, x >= 0])


def flat():
    return minimize(norm1(diff(x)), [x[0] == 3.0])


def parabola():
    t = np.linspace(0, 1, N)
    y = 1 + 2 * t - 3 * t**2
    return minimize(sum_squares(diff(diff(diff(x)))), [x[i] == float(y[i]) for i in (0, 7, 15, N - 1)])


def without_risk():
    B = np.random.default_rng(0).standard_normal((N // 2, N))
    return minimize(quad_form(x, B.T @ B), [x.sum() == 1.0])


def in_a_plane():
    rng = np.random.default_rng(0)
    A, B, point = rng.standard_normal((5, N)), rng.standard_normal((10, N)), rng.standard_normal(N)
    B -= np.outer(B @ point, point) / (point @ point)
    return Problem([Block(f=LeastSquares(B, np.zeros(10)), h=Affine(A, A @ point), shape=N)])


def free_of_charge():
    """A linear program whose equations can be met by what costs nothing: their multipliers are zero."""
    rng = np.random.default_rng(0)
    A, cheap = rng.standard_normal((8, N)), np.arange(N) < N // 2
    return minimize(np.where(cheap, 0.0, 100.0) @ x, [A @ x == A @ (rng.random(N) * cheap), x >= 0])


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("made", [straight, flat, parabola, without_risk, in_a_plane, free_of_charge])
def test_nothing_is_left_and_certified(made, tol):
    result = solve(made(), tol=tol, seed=0)
    assert result.success
    assert result.nit < 200
    assert abs(result.fun) < 1e-12


@pytest.mark.parametrize("off", [1e-3, 1e-6, 1e-9])
def test_what_is_nearly_at_rest_is_not_at_rest(off):
    """Two ends that differ by little: the objective is that little squared, not zero."""
    ends = 1e4, 1e4 * (1 + off)
    result = solve(minimize(sum_squares(diff(x)), [x[0] == ends[0], x[N - 1] == ends[1]]), seed=0)
    best = (ends[1] - ends[0]) ** 2 / (N - 1)
    assert not result.success or abs(result.fun - best) <= 1e-2 * best


@pytest.mark.parametrize("off", [1e-6, 1e-9])
def test_a_fit_that_is_nearly_perfect_has_errors(off):
    """Residuals are not taken for zero where they are small beside the data and more than rounding."""
    rng = np.random.default_rng(4)
    G, w = rng.standard_normal((40, 8)), Variable(8, name="w")
    y = G @ rng.standard_normal(8) + off * rng.standard_normal(40)
    near = np.linalg.lstsq(G, y, rcond=None)[0]
    best = off * solve(minimize(norm1(G @ w - (y - G @ near) / off)), tol=1e-6).fun
    result = solve(minimize(norm1(G @ w - y)), seed=0)
    found = float(np.abs(G @ result.value(w) - y).sum())
    assert not result.success or found <= best * 1.01


def test_a_solution_that_is_zero_is_certified():
    """Rows -t ≤ x ≤ t at x = t = 0: what is left of them is small beside nothing, and moves ∇f by rounding."""
    Q, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.2])
    A = np.array([[1.0, 2.0], [-1.0, 0.5], [0.7, -1.0]])
    first = Block(f=Quadratic(Q, c), h=Linf(0.7), A=A, shape=2)
    second = Block(f=Quadratic(np.eye(3), np.ones(3)), h=NonNegative(), A=-1.0, shape=3)
    result = solve(Problem([first, second]), tol=1e-8)
    assert result.success
    assert result.nit <= 20
    assert not any(x.any() for x in result.x)
