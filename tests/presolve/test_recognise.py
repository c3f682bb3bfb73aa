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


class Outside:
    """Rows at least 1/4 long: away from 0 its prox is that of nothing at all."""

    is_convex = False

    def __call__(self, X):
        return 0.0 if np.linalg.norm(X, axis=1).min() >= 0.25 - 1e-9 else np.inf

    def prox(self, V, step):
        size = np.linalg.norm(V, axis=1, keepdims=True)
        way = np.where(size > 0, V / np.where(size > 0, size, 1.0), np.eye(V.shape[1])[0])
        return np.where(size >= 0.25, V, 0.25 * way)


def test_what_says_that_it_is_not_convex_is_believed():
    place = np.array([0.5, 0.02])
    X, D = Variable((12, 2), name="X"), np.diff(np.eye(14), axis=0)
    ends = np.outer(np.eye(13)[12], [1.0, 0.0])
    result = solve(minimize(sum_squares(D[:, 1:-1] @ X + ends) + term(Outside(), X - place)))
    assert "recognised" not in result.presolve
    assert result.success
    assert np.linalg.norm(result.value(X) - place, axis=1).min() >= 0.25 - 1e-6
    assert known(UserNonsmooth(Outside()), (12, 2)) is None


class Pieces:
    """Entries in one of two intervals; whether that is convex it does not say."""

    def __init__(self, ends, unit):
        self.ends = unit * np.array(ends)

    def __call__(self, x):
        return 0.0 if np.max(np.abs(self.prox(x, 1.0) - x)) <= 1e-9 * np.max(np.abs(self.ends)) else np.inf

    def prox(self, v, step):
        a, b, c, d = self.ends
        near, far = np.clip(v, a, b), np.clip(v, c, d)
        return np.where(np.abs(v - near) <= np.abs(v - far), near, far)


@pytest.mark.parametrize("unit", 10.0 ** np.arange(-6, 7, 2))
@pytest.mark.parametrize(
    "ends", [(-2.0, -0.6, 0.0, 1.0), (0.0, 0.0, 0.5, 9.0), (-3.0, 4.0, 4.3, 4.3), (1, 1, 2, 2)]
)
def test_intervals_with_a_gap_are_not_one_interval(ends, unit):
    assert known(UserNonsmooth(Pieces(ends, unit)), (3,)) is None


def test_intervals_without_a_gap_are():
    found = known(UserNonsmooth(Pieces((-2.0, 0.5, 0.5, 3.0), 1e3)), (3,))
    assert [float(value[0]) for value in found.kinks((3,))][-2:] == [-2000.0, 3000.0]
