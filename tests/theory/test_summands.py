"""Forces before they cancel: energies of differences are at rest where their gradient is nothing but rounding."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import Box, Composed, LeastSquares, Quadratic, SmoothSum, Weighted
from ipds.modelling import sum_squares
from ipds.theory.certificate import certificate
from ipds.theory.summands import summands

N = 120
D = np.diff(np.eye(N), 3, axis=0)
AT, VALUES = [0, 40, 80, N - 1], np.array([0.0, 3.0, -2.0, 1.0])
FREE = np.delete(np.arange(N), AT)


def spline():
    """min ½‖D x‖² through points."""
    x = np.zeros(N)
    x[AT] = VALUES
    x[FREE] = np.linalg.lstsq(D[:, FREE], -D[:, AT] @ VALUES, rcond=None)[0]
    return x


def through_points(f):
    return Problem([Block(f=f, h=Box(-9.0, 9.0), A=np.eye(N)[AT], shape=N)], b=VALUES)


def relative(x):
    problem = through_points(LeastSquares(D, 0.0))
    z = -(D.T @ (D @ x))[AT]
    return certificate(problem, (x,), z, (0 * x,)).relative


def test_a_spline_is_certified_and_its_neighbours_are_not():
    best = spline()
    assert relative(best) < 1e-4
    bump = np.zeros(N)
    bump[60] = 1e-3
    assert relative(best + bump) > 1e-1


@pytest.mark.parametrize("tol", [1e-4, 1e-5])
def test_jerk_between_bounds(tol):
    x = Variable((N, 2), name="x")
    points = np.column_stack([VALUES, -2 * VALUES])
    result = solve(minimize(sum_squares(D @ x), [x[AT] == points, x <= 9, x >= -9]), tol=tol)
    assert result.success
    assert result.fun == pytest.approx(5 * np.sum((D @ spline()) ** 2), rel=1e-4)


def test_terms_of_sums_and_compositions():
    x, G, A = np.arange(4.0) - 1.3, np.array([[1.0, -1.0, 0.0, 0.0]]), np.diag([1.0, -2.0, 3.0, 4.0])
    own = np.abs(G).T @ np.abs(G @ x)
    np.testing.assert_allclose(summands(Weighted(LeastSquares(G, 0.0), -2.0))(x), 2 * own)
    both = SmoothSum([LeastSquares(G, 0.0), Quadratic(1.0)])
    np.testing.assert_allclose(summands(both)(x), own + np.abs(x))
    np.testing.assert_allclose(summands(Composed(Quadratic(1.0), A))(x), np.diag(A) ** 2 * np.abs(x))
