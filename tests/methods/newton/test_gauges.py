"""Parts of a problem that no row ties together, in units of their own."""

import numpy as np
import pytest
import scipy
from scipy.optimize import linprog

from ipds import Variable, minimize, solve
from ipds.methods.newton.gauges import asked, gauges
from ipds.modelling import norm1, sum_squares


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e12, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("seed", range(3))
def test_two_linear_programs_in_one_do_not_care_about_each_others_units(seed, unit):
    g = np.random.default_rng(seed)
    objective, constraints, variables, best, sizes = 0.0, [], [], [], []
    for t in (unit, 1.0):
        A, c = g.standard_normal((5, 12)), g.uniform(0.5, 2.0, 12)
        b = A @ np.maximum(g.standard_normal(12), 0)
        x = Variable(12)
        objective = objective + (c / t) @ x
        constraints += [A @ x == t * b, x >= 0]
        variables.append(x)
        best.append(linprog(c, A_eq=A, b_eq=b).fun)
        sizes.append((A, b, c, t))
    result = solve(minimize(objective, constraints))
    assert result.success
    assert result.nit < 60
    for x, (A, b, c, t), least in zip(variables, sizes, best, strict=True):
        found = result.value(x) / t
        assert c @ found == pytest.approx(least, rel=1e-3)
        assert np.linalg.norm(A @ found - b) < 1e-3 * np.linalg.norm(b)
        assert found.min() >= -1e-6


@pytest.mark.parametrize("unit", [1.0, 1e7, 1e-7])
def test_a_lasso_beside_a_linear_program_in_other_units(unit):
    g = np.random.default_rng(0)
    G, y = g.standard_normal((20, 8)), g.standard_normal(20)
    A, c = g.uniform(0.1, 1.0, (4, 8)), g.uniform(0.5, 2.0, 8)
    w, x = Variable(8), Variable(8)
    fit = 0.5 / unit**2 * sum_squares(G @ w - unit * y) + 2.0 / unit * norm1(w)
    result = solve(minimize(fit + c @ x, [A @ x >= 1.0, x >= 0]))
    alone = solve(minimize(0.5 * sum_squares(G @ w - y) + 2.0 * norm1(w)), tol=1e-8).value(w)
    assert result.success
    assert result.value(c @ x) == pytest.approx(linprog(c, A_ub=-A, b_ub=-np.ones(4)).fun, rel=1e-3)
    np.testing.assert_allclose(result.value(w) / unit, alone, atol=1e-3)


@pytest.mark.parametrize("weight", [1e-8, 1e-5, 1.0, 1e5])
@pytest.mark.parametrize("curved", [False, True])
def test_a_fit_of_little_weight_is_found_beside_another(weight, curved):
    """It would be held where it is by a ridge of the size of the other, and certified as a part of it."""
    g = np.random.default_rng(1)
    G, F = g.standard_normal((20, 8)), g.standard_normal((20, 8))
    y, t = g.standard_normal(20), g.standard_normal(20)
    w, x = Variable(8), Variable(8)
    other = 0.5 * sum_squares(F @ x - t) + norm1(x) if curved else norm1(F @ x - t)
    result = solve(minimize(weight * norm1(G @ w - y) + other))
    alone = solve(minimize(norm1(G @ w - y)), tol=1e-8)
    assert result.success
    assert result.nit < 60
    assert np.abs(G @ result.value(w) - y).sum() == pytest.approx(alone.fun, rel=1e-2)


def test_units_are_those_of_parts():
    """diag(M₁, M₂) with rows of 1 and 1e-9; the second part is two columns that a third row ties."""
    G = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 1.0]])
    sizes, none = np.array([1.0, 1e-9, 1e-9]), np.empty(0, int)
    rows, columns = gauges(G, sizes, none, none, np.zeros(3))
    np.testing.assert_array_equal(rows, [1.0, 2.0**-30, 2.0**-30])
    np.testing.assert_array_equal(columns, [1.0, 2.0**-30, 2.0**-30])
    np.testing.assert_array_equal(gauges(scipy.sparse.csr_array(G), sizes, none, none, np.zeros(3))[0], rows)
    # bounds of columns count like right-hand sides
    bounded = gauges(G, np.array([1.0, 0, 0, 1e-9]), np.array([1]), none, np.zeros(3))
    np.testing.assert_array_equal(bounded[0], rows)


def test_what_shares_a_unit_is_one_part():
    G, sizes, none = np.diag([1.0, 1.0]), np.array([1.0, 1e-9]), np.empty(0, int)
    assert gauges(G, sizes, none, none, np.zeros(2)) is not None
    assert gauges(G, sizes, none, np.zeros(2, int), np.zeros(2)) is None  # rows of one norm
    assert gauges(G, sizes, none, none, np.ones(2)) is None  # columns of one curved f
    assert gauges(G, np.array([1.0, 1e-3]), none, none, np.zeros(2)) is None  # sizes that nobody minds


def test_what_rows_ask_for():
    zero, free = np.zeros(3), np.full(3, np.inf)
    kinks = np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [9.0, 3.0, 9.0], -free, free])
    np.testing.assert_array_equal(
        asked(kinks, zero), [0.0, 3.0, 0.0]
    )  # a place without a kink asks for nothing
    bounds = np.array([zero, zero, zero, [0.0, -2.0, -np.inf], [5.0, 1.0, 4.0]])
    np.testing.assert_array_equal(asked(bounds, np.array([0.0, 0.0, 6.0])), [5.0, 1.0, 2.0])
