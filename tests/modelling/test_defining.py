"""Variables that equations define beside what is not convex, and variables of which some entries have their own h."""

import itertools

import numpy as np
import pytest

from ipds import Variable, minimize
from ipds.functions import L0, Cardinality, L1Ball, Rank, Sphere
from ipds.modelling import diff, norm1, sum_squares

RNG = np.random.default_rng(3)
G = RNG.standard_normal((20, 6))
Y = G @ np.array([3.0, 0.0, 0.0, -2.0, 0.0, 1.0]) + 0.1 * RNG.standard_normal(20)


def best_subset(k: int) -> float:
    chosen = map(list, itertools.combinations(range(6), k))
    return min(float(np.linalg.lstsq(G[:, s], Y, rcond=None)[1][0]) for s in chosen)


@pytest.mark.parametrize("form", ["copy", "twice over", "scaled", "chain", "shifted"])
def test_copies_have_no_block_and_their_values_all_the_same(form):
    x, u, v, t = (Variable(n, name=name) for n, name in ((6, "x"), (6, "u"), (6, "v"), ((), "t")))
    fit, few = sum_squares(G @ x - Y), Cardinality(2)
    objective, equations = {
        "copy": (fit + few(u), [u == x]),
        "twice over": (fit + few(u), [u == x, x == u]),
        "scaled": (fit + few(u), [2 * u == -x]),
        "chain": (fit + few(u) + 0.0 * norm1(v), [x == v, v == u]),
        "shifted": (fit + few(u) + sum_squares(t), [u == x - t]),
    }[form]
    problem = minimize(objective, equations)
    result = problem.solve()
    assert "x" not in problem.names
    assert "x is an expression of" in str(problem.splitting)
    assert result.success
    assert all(np.linalg.norm(missed) <= 1e-12 for missed in problem.violations(result.x).values())
    assert np.count_nonzero(result.value(u)) <= 2
    assert result.value(objective) == pytest.approx(result.fun, rel=1e-4)
    if form != "shifted":
        assert result.fun == pytest.approx(best_subset(2), rel=1e-6)
    point = problem.point({w: result.value(w) for w in problem.variables})
    assert all(np.allclose(a, b) for a, b in zip(point, result.x, strict=True))
    again = problem.solve(warm_start=result)
    assert again.fun == pytest.approx(result.fun, rel=1e-6)


def test_multipliers_of_what_is_left_are_those_of_the_model():
    x, u = Variable(6, name="x"), Variable(6, name="u")
    equal, total = u == x, x.sum() == 1
    problem = minimize(sum_squares(G @ x - Y) + Cardinality(3)(u), [equal, total])
    result = problem.solve(tol=1e-8)
    assert not problem.has_dual(equal)
    with pytest.raises(ValueError, match="`u == x` has no multiplier: it defines a variable"):
        problem.dual(equal, result)
    at = np.flatnonzero(result.value(u))
    slope = 2 * G.T @ (G @ result.value(x) - Y) + problem.dual(total, result)
    assert np.linalg.norm(slope[at]) <= 1e-5 * np.linalg.norm(G.T @ Y)


def test_bounds_of_what_is_defined_count():
    x, u = Variable(6, name="x"), Variable(6, name="u")
    problem = minimize(sum_squares(G @ x - Y) + L0(1.0)(u), [u == 1 - 2 * x, x >= 0, u <= 2])
    result = problem.solve()
    assert result.success
    assert np.min(result.value(x)) >= -1e-9
    assert np.allclose(result.value(u), 1 - 2 * result.value(x))


def test_equations_that_contradict_a_definition_are_refused():
    x, u = Variable(6, name="x"), Variable(6, name="u")
    with pytest.raises(ValueError, match="does not hold"):
        minimize(sum_squares(G @ x - Y) + L0(1.0)(u), [u == x, x == u + 1])


def test_differences_that_have_a_name():
    x, d = Variable(20, name="x"), Variable(19, name="d")
    named = minimize(sum_squares(x - Y) + L0(0.5)(d), [d == diff(x)])
    result = named.solve()
    assert result.fun == pytest.approx(minimize(sum_squares(x - Y) + L0(0.5)(diff(x))).solve().fun)
    assert np.array_equal(result.value(d), np.diff(result.value(x)))


def test_parts_have_names_that_no_other_variable_has():
    w, taken = Variable(6, name="w"), Variable(name="w1")
    problem = minimize(sum_squares(G @ w - Y + taken) + Cardinality(2)(w[1:]))
    result = problem.solve()
    assert problem.names[:3] == ("w1", "w2", "w3")
    choices = (G[:, [0, *(1 + np.array(s))]] for s in itertools.combinations(range(5), 2))
    best = min(float(np.linalg.lstsq(np.c_[np.ones(20), g], Y, rcond=None)[1][0]) for g in choices)
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-6)
    assert np.count_nonzero(result.value(w)[1:]) == 2


def test_parts_keep_the_shape_in_which_something_is_said_of_them():
    X, T = Variable((6, 5), name="X"), RNG.standard_normal((6, 5))
    problem = minimize(norm1(X[4:]) + sum_squares((X - T)[:4]) + Rank(1)(X[:4]), [X.sum() == 1])
    result = problem.solve(tol=1e-6)
    assert (4, 5) in [block.shape for block in problem.blocks]
    assert "w1" not in problem.names
    assert result.success
    assert np.linalg.svd(result.value(X)[:4], compute_uv=False)[1] <= 1e-9


def test_several_parts_of_one_variable():
    w = Variable(6, name="w")
    problem = minimize(sum_squares(G @ w - Y) + Cardinality(1)(w[:3]) + Sphere(2.0)(w[[5, 3]]))
    result = problem.solve()
    value = result.value(w)
    assert result.success
    assert np.count_nonzero(value[:3]) == 1
    assert np.linalg.norm(value[[5, 3]]) == pytest.approx(2.0)
    assert "w is an expression of" in str(problem.splitting)


def test_convex_models_stay_as_they_are():
    x, u = Variable(6, name="x"), Variable(6, name="u")
    problem = minimize(sum_squares(G @ x - Y) + L1Ball(2.0)(u), [u == x])
    assert problem.names[:2] == ("x", "u")
    assert problem.has_dual(problem.constraints[0])
