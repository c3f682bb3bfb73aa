"""Results of `minimize`: values, multipliers, violations, warm starts."""

import itertools
import pickle

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, multistart, solve
from ipds.functions import L0, L1, Cardinality, LeastSquares, NonzeroRows, PCAVariance, Stiefel
from ipds.modelling import norm1, sum_squares

rng = np.random.default_rng(0)
G, y = rng.normal(size=(20, 6)), rng.normal(size=20)
x = Variable(6, name="x")
w = Variable(6, name="w")


def test_values_and_multipliers():
    problem = minimize(0.5 * sum_squares(x - y[:6]) + norm1(x), [x <= 0.3, x.sum() == 0.5])
    result = solve(problem, tol=1e-8)
    found = result.value(x)
    assert found.shape == (6,)
    assert result.value(2 * x[:2] - 1) == pytest.approx(2 * found[:2] - 1)
    assert float(result.value(x.sum())) == pytest.approx(0.5, abs=1e-6)
    assert result.value(norm1(x)) == pytest.approx(np.abs(found).sum())
    assert result.value(0.5 * sum_squares(x - y[:6]) + norm1(x)) == pytest.approx(result.fun, abs=1e-6)
    upper, total = map(result.dual, problem.constraints)
    # 0 ∈ x - y + ∂‖x‖₁ + λ + ν
    off = found - y[:6] + upper + total
    inside = np.abs(found) > 1e-6
    assert off[inside] == pytest.approx(-np.sign(found[inside]), abs=1e-5)
    assert np.all(np.abs(off) < 1 + 1e-5)
    assert np.all(upper >= 0)
    assert upper[found < 0.3 - 1e-6] == pytest.approx(0.0, abs=1e-5)


def test_multipliers_go_to_the_bound_that_decides():
    problem = minimize(0.5 * sum_squares(x - y[:6]) + norm1(G @ x), [x >= 1, x >= 0, x >= 1, x.sum() <= 100])
    result = solve(problem, tol=1e-8)
    first, loose, again, _ = map(result.dual, problem.constraints)
    assert np.all(first > 0)
    assert not loose.any()
    assert not again.any()


def test_a_variable_and_a_constraint_of_another_problem_are_refused():
    problem = minimize(norm1(G @ x - y), [x >= 0])
    result = solve(problem, max_iter=5)
    with pytest.raises(ValueError, match=r"'w' of shape \(6,\) is not in this problem"):
        result.value(w)
    with pytest.raises(ValueError, match="`x >= 0` is not a constraint of this problem"):
        result.dual(x >= 0)
    merged = minimize(norm1(G @ x - y) + L0(1.0)(x), [x >= 0])
    with pytest.raises(ValueError, match="has no multiplier"):
        solve(merged, max_iter=5).dual(merged.constraints[0])


def test_results_from_other_processes_and_from_files():
    problem = minimize(norm1(G @ x - y) + Cardinality(2)(x), [x.sum() <= 1])
    found = multistart(problem, 2, n_jobs=2, max_iter=50)
    assert found.best.value(x).shape == (6,)
    assert found.best.dual(problem.constraints[0]).shape == ()
    saved = pickle.loads(pickle.dumps(found.best))
    assert saved.value(G @ x) == pytest.approx(found.best.value(G @ x))
    assert saved.dual(saved.problem.constraints[0]).shape == ()


def test_results_of_errors_know_the_problem():
    def fails(v):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        minimize(norm1(x)).solve(callback=fails)
    assert caught.value.result.value(x).shape == (6,)


def test_results_of_blocks_have_no_values():
    result = solve(Problem([Block(h=L1(1.0), A=-1.0, shape=2), Block(h=L1(2.0), shape=2)]))
    with pytest.raises(TypeError, match=r"ipds\.minimize"):
        result.value(x)


def test_warm_starts():
    fit = 0.5 * sum_squares(G @ x - y)
    first = minimize(fit + 1.0 * norm1(x)).solve(tol=1e-6)
    again = minimize(fit + 1.0 * norm1(x)).solve(warm_start=first, tol=1e-6)
    assert again.nit <= 10
    assert again.fun == pytest.approx(first.fun)
    renamed = minimize(norm1(Variable(6, name="x") - 1.0)).solve(warm_start=first)
    assert renamed.success
    with pytest.raises(ValueError, match="no value for 'w'"):
        minimize(norm1(w)).solve(warm_start=first)
    plain = solve(Problem([Block(h=L1(1.0), A=-1.0, shape=2), Block(h=L1(2.0), shape=2)]))
    with pytest.raises(TypeError, match="x0="):
        minimize(norm1(x)).solve(warm_start=plain)


def test_two_sets_that_are_not_convex_on_one_variable():
    """The value is that of the certificate: it meets the first set exactly, and it is said how nearly the other."""
    data = np.random.default_rng(0).standard_normal((60, 6)) * np.linspace(3, 0.3, 6)
    V = Variable((6, 2), name="V")
    result = minimize(PCAVariance(data)(V) + Stiefel()(V) + NonzeroRows(3)(V), [V <= 2]).solve()
    value = result.value(V)
    assert result.success
    np.testing.assert_allclose(value.T @ value, np.eye(2), atol=1e-12)
    missed = result.violations["NonzeroRows(s=3)(V)"]
    assert missed == pytest.approx(np.linalg.norm(value - NonzeroRows(3).prox(value, 1.0)))
    assert 1e-12 < missed < 1e-3
    assert result.violations["Stiefel()(V)"] < 1e-12
    assert result.violations["V <= 2"] == 0.0
    assert f"`NonzeroRows(s=3)(V)` is met to {missed:.1e}, see result.violations" in result.message
    np.testing.assert_array_equal(value, result.x[0])  # what the certificate is about


def test_violations_of_constraints_and_of_a_point_that_meets_all():
    fit = minimize(sum_squares(x - 1), [x <= 0.5, x.sum() == 2, x >= -1])
    result = fit.solve()
    assert list(result.violations) == ["x <= 0.5", "x.sum() == 2", "x >= -1"]
    assert max(result.violations.values()) < 1e-4
    assert "violations" not in result.message
    wrong = (np.array([1.0, 0.5, -3.0, 0.0, 0.0, 0.0]), *result.x[1:])
    assert fit.violations(wrong) == pytest.approx({"x <= 0.5": 0.5, "x.sum() == 2": 3.5, "x >= -1": 2.0})
    blocks = Problem([Block(f=LeastSquares(1.0, 1.0), A=-1.0, shape=2), Block(h=L1(1.0), shape=2)])
    with pytest.raises(TypeError, match="violations: this is the result of a problem of blocks"):
        _ = solve(blocks).violations


def test_a_single_orthonormal_column_with_few_entries_is_exact():
    """Stiefel of one column is a sphere, which has a joint projection with a cardinality."""
    data = np.random.default_rng(0).standard_normal((40, 8)) * np.arange(1, 9)
    v = Variable((8, 1), name="v")
    result = minimize(PCAVariance(data)(v) + Stiefel()(v) + Cardinality(3)(v)).solve()
    S = data.T @ data / 40
    supports = map(list, itertools.combinations(range(8), 3))
    best = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in supports)
    assert result.success
    assert np.count_nonzero(result.value(v)) == 3
    assert result.fun == pytest.approx(-best / 2, rel=1e-6)
