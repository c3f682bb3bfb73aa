"""Problems with a user's own h are solved as those with the library's, and judged by the user's prox."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Quadratic, Stacked
from ipds.functions.adapters import UserNonsmooth
from ipds.modelling import norm1, sum_squares, term
from ipds.presolve import presolve
from ipds.presolve.recognise import known


class Absolute:
    """λ‖x‖₁, as a user writes it."""

    def __init__(self, lam):
        self.lam = lam

    def __call__(self, x):
        return self.lam * float(np.abs(x).sum())

    def prox(self, v, step):
        return np.sign(v) * np.maximum(np.abs(v) - self.lam * step, 0.0)


class Deceptive(Absolute):
    """Looks like λ‖x‖₁ wherever it is asked, but for values in a narrow band, which it keeps away from."""

    def prox(self, v, step):
        u = super().prox(v, step)
        return np.where((u > 2.9999) & (u < 3.0001), 3.0001, u)


def data():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(60, 8)) * np.logspace(-3, 3, 8)
    return G, G @ (rng.normal(size=8) / np.logspace(-3, 3, 8)) + rng.standard_t(2, 60)


def deviations(h):
    G, y = data()
    return Problem([Block(A=-G, shape=8, name="w"), Block(h=h, shape=60, name="r")], b=-y)


def test_least_absolute_deviations_in_odd_units():
    own, ours = solve(deviations(Absolute(1.0)), tol=1e-7), solve(deviations(L1(1.0)), tol=1e-7)
    assert own.success
    assert own.fun == pytest.approx(ours.fun, rel=1e-6)
    assert "recognised" in own.presolve


def test_a_term_of_a_model():
    y = np.cumsum(np.random.default_rng(1).normal(size=80))
    x, D = Variable(80, name="x"), np.diff(np.eye(80), 2, axis=0)
    own = solve(minimize(0.5 * sum_squares(x - y) + 2.0 * term(Absolute(10.0), D @ x)), tol=1e-7)
    ours = solve(minimize(0.5 * sum_squares(x - y) + 20.0 * norm1(D @ x)), tol=1e-7)
    assert own.success
    assert own.fun == pytest.approx(ours.fun, rel=1e-5)


def test_the_answer_is_a_point_of_the_users_prox():
    y = np.array([4.0, 3.5, 0.2])  # the solution of the lasso would be 3.5, 3.0, 0
    problem = Problem([Block(f=Quadratic(1.0, -y), A=-1.0, shape=3), Block(h=Deceptive(0.5), shape=3)])
    done = presolve(problem)
    result = solve(problem)
    assert "recognised" in done.report
    assert not result.success or result.x[1][1] >= 3.0001


def test_of_stacked_functions_the_users_own_alone_are_replaced():
    own, ours = UserNonsmooth(Absolute(2.0)), L1(3.0)
    found = known(Stacked([(own, 2), (ours, 3)]), (5,))
    (first, _), (second, _) = found.parts
    assert second is ours
    assert [float(value[0]) for value in first.kinks((2,))][:3] == [-2.0, 2.0, 0.0]
    assert known(Stacked([(ours, 2), (ours, 3)]), (5,)) is None


def test_without_presolve_it_is_taken_as_it_is():
    assert "recognised" not in solve(deviations(Absolute(1.0)), presolve=False, max_iter=20).presolve
