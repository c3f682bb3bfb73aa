"""Exchanges of a support where constraints hold, or other variables follow: what is left is solved for again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes

from ipds import Variable, minimize, solve
from ipds.functions import Box, Cardinality, NonNegative, Simplex, Sum
from ipds.functions.faces import Support
from ipds.modelling import norm1, quad_form

SIZE, FEW = 14, 3


def portfolio(seed: int) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    F = g.standard_normal((SIZE, 3))
    return 0.02 * F @ F.T + np.diag(g.uniform(0.01, 0.05, SIZE)), g.uniform(0, 0.1, SIZE)


def on_support(Q: np.ndarray, mu: np.ndarray, S: tuple[int, ...]) -> np.ndarray:
    """argmin yᵀQy - μᵀy over Σ y = 1, entries outside S being 0."""
    k, at = len(S), list(S)
    K = np.block([[2 * Q[np.ix_(at, at)], np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    x = np.zeros(SIZE)
    x[at] = np.linalg.solve(K, np.append(mu[at], 1.0))[:k]
    return x


def least(Q: np.ndarray, mu: np.ndarray, nonnegative: bool) -> float:
    """By enumeration; a solution with x ≥ 0 is the solution on the support of its positive entries."""
    sizes = range(1, FEW + 1) if nonnegative else [FEW]
    points = [on_support(Q, mu, S) for k in sizes for S in itertools.combinations(range(SIZE), k)]
    return min(x @ Q @ x - mu @ x for x in points if not nonnegative or np.all(x >= 0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["budget", "budget, x >= 0", "simplex"])
def test_a_portfolio_of_few_assets_is_among_the_best(form, seed):
    """The best one where x ≥ 0; else exchanges of two entries get within a few per cent (without them: 39%)."""
    Q, mu = portfolio(seed)
    x = Variable(SIZE, name="x")
    terms = quad_form(x, Q) - mu @ x + Cardinality(FEW)(x)
    if form == "simplex":
        problem = minimize(terms + Simplex()(x))
    else:
        problem = minimize(terms, [x.sum() == 1, *([x >= 0] if "x >= 0" in form else [])])
    result = problem.solve()
    best = least(Q, mu, nonnegative=form != "budget")
    assert result.success
    assert np.count_nonzero(result.value(x)) <= FEW
    assert result.value(x).sum() == pytest.approx(1.0, abs=1e-9)
    assert result.fun == pytest.approx(best, rel=0.07 if form == "budget" else 1e-6)


def test_faces_of_few_entries_in_intervals():
    x = np.array([0.0, 2.0, 0.0, 1.0])
    box = Sum(Cardinality(2), Box(np.array([0.0, 0.0, -1.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0])))
    face = box.face(x)
    assert isinstance(face, Support)
    inner = face.inner()
    assert isinstance(inner, Box)
    np.testing.assert_array_equal(inner.hi, [2.0, 4.0])
    # an entry at 0 moves against g, where its interval lets it
    np.testing.assert_array_equal(face.pull(np.array([-1.0, 0.0, 2.0, 5.0])), [1.0, 0.0, 2.0, 0.0])
    positive = Sum(NonNegative(), Cardinality(2)).face(x)
    np.testing.assert_array_equal(positive.pull(np.array([-1.0, 0.0, 2.0, 0.0])), [1.0, 0.0, 0.0, 0.0])
    assert Sum(NonNegative(), Cardinality(3)).face(x) is None  # a third entry may still become positive


def test_faces_of_few_entries_on_a_simplex():
    x = np.array([0.0, 0.75, 0.0, 0.25])
    face = Sum(Cardinality(2), Simplex()).face(x)
    assert isinstance(face.inner(), Simplex)
    # entries share the sum at the price of the free ones, their mean 3: only what is cheaper pulls
    np.testing.assert_array_equal(face.pull(np.array([1.0, 3.0, 4.0, 3.0])), [2.0, 0.0, 0.0, 0.0])


def test_no_exchange_beside_an_intercept_lowers_the_answer():
    """Raw columns far from 0: what leaving costs is seen once the intercept has followed."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = X[:200], y[:200]
    w, b = Variable(10, name="w"), Variable(name="b")
    result = solve(minimize(norm1(X @ w + b - y) + Cardinality(4)(w)))
    assert result.success
    support = set(np.flatnonzero(result.value(w)).tolist())

    def least_deviations(columns):
        A = np.c_[X[:, columns] / X[:, columns].std(0), np.ones(200)]
        cost, signs = np.r_[np.zeros(5), np.ones(400)], np.c_[A, np.eye(200), -np.eye(200)]
        return linprog(cost, A_eq=signs, b_eq=y, bounds=[(None, None)] * 5 + [(0, None)] * 400).fun

    others = [sorted(support - {k} | {j}) for k in support for j in set(range(10)) - support]
    assert result.fun <= (1 + 1e-6) * min(map(least_deviations, others))
