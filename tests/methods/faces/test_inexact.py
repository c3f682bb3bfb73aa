"""Interior-point steps by conjugate residuals: their equations, the multiplier that is fitted, what they certify."""

import numpy as np
import pytest
from gross_errors import matrix, stated

from ipds import solve
from ipds.functions.fixed_rank import fixed_rank, near
from ipds.methods.faces import LowRankIPDS, inexact, interior, low_rank

SHAPE, RANK = (60, 80), 3


def start(M, seen=None):
    """A matrix of the rank near the solution."""
    filled = M if seen is None else M * seen / seen.mean()
    X = near(np.clip(filled, -3, 3), RANK)
    for _ in range(60):
        X = near(X.x + np.clip((M - X.x) * (1 if seen is None else seen), -0.3, 0.3), RANK)
    return X


def mask(masked):
    return np.random.default_rng(1).random(SHAPE) < 0.8 if masked else None


def test_conjugate_residuals_solve_the_equations_that_are_factored():
    rng = np.random.default_rng(0)
    X = fixed_rank(rng.standard_normal((9, 2)) @ rng.standard_normal((2, 7)), 2)
    w, normal = rng.uniform(1, 2, (9, 7)), X.subgradient(0.1 * rng.standard_normal((9, 7)))
    d = rng.standard_normal((9, 7))
    expected = interior._factored(X, w, normal, 0.1)(d @ X.V, d.T @ X.U)
    found = inexact.conjugate(X, w, normal, 0.1, 1e-6, np.inf, 200)(d @ X.V, d.T @ X.U)
    assert all(np.allclose(x, y, atol=1e-4) for x, y in zip(found, expected, strict=True))
    loose = inexact.conjugate(X, w, normal, 0.1, 1.0, np.inf, 200)(d @ X.V, d.T @ X.U)
    assert not any(map(np.any, loose))  # all may be left
    tight = inexact.conjugate(X, w, normal, 0.1, 1.0, 1e-6, 200)(d @ X.V, d.T @ X.U)
    assert all(np.allclose(x, y, atol=1e-4) for x, y in zip(tight, expected, strict=True))


def test_equations_that_are_not_positive_are_named():
    rng = np.random.default_rng(0)
    X = fixed_rank(rng.standard_normal((9, 2)) @ rng.standard_normal((2, 7)), 2)
    normal, d = X.subgradient(100 * rng.standard_normal((9, 7))), rng.standard_normal((9, 7))
    with pytest.raises(np.linalg.LinAlgError, match="not positive"):
        inexact.conjugate(X, np.ones((9, 7)), normal, 0.0, 1e-6, np.inf, 200)(d @ X.V, d.T @ X.U)


@pytest.mark.parametrize("masked", [False, True])
def test_they_end_near_a_critical_point(masked):
    M, seen, goal = matrix(3, SHAPE, RANK, 0.1, 0.2)[0], mask(masked), 1e-4
    X = start(M, seen)
    Y, d = inexact.solved(X, M, seen, goal)
    u, before = (np.where(True if seen is None else seen, M - Z.x, 0.0) for Z in (Y, X))
    zero = np.abs(d) < 1
    assert np.all(np.abs(d) <= 1)
    assert np.array_equal(d[~zero], np.sign(u[~zero]))
    assert np.sum(np.abs(u[zero])) <= 1.1 * goal * np.sum(np.abs(u))
    calm = inexact.CALMER if masked else inexact.CALM
    assert np.linalg.norm(Y.tangent(d)) <= calm * goal * np.linalg.norm(d)
    assert np.sum(np.abs(u)) < np.sum(np.abs(before))
    assert seen is None or not np.any(d[~seen])


@pytest.mark.parametrize("masked", [False, True])
def test_a_multiplier_is_fitted_at_the_solution(masked):
    """From nothing but the residuals: sign(u) alone is far from it."""
    M, seen = matrix(3, SHAPE, RANK, 0.1, 0.2)[0], mask(masked)
    X, d = interior.solved(start(M, seen), M, seen, np.zeros(SHAPE), 0.1)
    u = M - X.x if seen is None else (M - X.x) * seen
    free = inexact.zeros(u, M, d, seen, 1e-4)
    assert np.sum(free) >= X.dimension - 5
    assert seen is None or not np.any(free & ~seen)
    found = inexact.fitted(X, u, free, np.zeros(SHAPE), 1e-6)
    assert np.linalg.norm(X.tangent(found)) <= 1e-6 * np.linalg.norm(found)
    assert np.linalg.norm(X.tangent(np.where(free, 0, np.sign(u)))) > 1e-2 * np.linalg.norm(found)


def test_residuals_are_called_zero_by_their_multiplier():
    u, d = np.array([[0.1, -0.1, 0.2, 9.6]]), np.array([[0.5, -1.0, 0.99, 1.0]])
    B, seen = np.full((1, 4), 100.0), np.ones((1, 4), bool)
    assert inexact.zeros(u, B, d, None, 0.011).tolist() == [[True, False, False, False]]
    assert inexact.zeros(u, B, d, seen, 0.031).tolist() == [[True, False, True, False]]
    B[0, 0] = 0.1  # beside which 0.1 is large
    assert inexact.zeros(u, B, d, seen, 0.031).tolist() == [[False, False, True, False]]
    assert not inexact.zeros(u, B, d, u < 0.15, 0.031).any()


def test_steps_go_on_from_the_gap_where_they_ended():
    """From its own X the path is met again: the gap falls as if nothing had been between."""
    M, goal = matrix(3, SHAPE, RANK, 0.1, 0.2)[0], 1e-3
    Y = next(Y for Y, _, _, gap in inexact.path(start(M), M, None) if gap <= goal)

    def steps(begin):
        return sum(1 for *_, gap in inexact.path(Y, M, None, begin) if gap > 0.1 * goal)

    assert steps(goal) < 0.7 * steps(inexact.START)


def test_there_is_no_path_from_a_perfect_fit_or_without_data():
    X = start(matrix(3, SHAPE, RANK)[0])
    assert inexact.solved(X, X.x, None, 1e-3) is None
    assert inexact.solved(X, np.full(SHAPE, np.nan), None, 1e-3) is None


def test_where_nothing_is_free_nothing_is_fitted():
    M = matrix(3, SHAPE, RANK, 0.1, 0.2)[0]
    X = start(M)
    u, none = M - X.x, np.zeros(SHAPE, bool)
    assert np.array_equal(inexact.fitted(X, u, none, np.zeros(SHAPE), 1e-6), np.sign(u))


@pytest.fixture
def large(monkeypatch):
    """Matrices are too large for factors, and inexact steps are tried early; the goals and gaps that they had."""
    goals, plain = [], inexact.solved

    def counted(X, B, seen, goal, gap):
        goals.append((goal, gap))
        return plain(X, B, seen, goal, gap)

    monkeypatch.setattr(interior, "LARGEST", 10)
    monkeypatch.setattr(low_rank, "EARLY", 100)
    monkeypatch.setattr(inexact, "solved", counted)
    return goals


@pytest.mark.parametrize(("a", "c", "lam"), [(-1.0, 1.0, 1.0), (2.0, -3.0, 0.1)])
@pytest.mark.parametrize("masked", [False, True])
def test_noise_is_certified(large, monkeypatch, masked, a, c, lam):
    monkeypatch.setattr(low_rank, "EARLY", 20)  # after more steps than these 1e-3 is certified without
    M = matrix(4, SHAPE, RANK, 0.1, 0.1)[0]
    problem = stated(M, mask=mask(masked), a=a, c=c, lam=lam)
    result = solve(problem, method=LowRankIPDS(), tol=1e-3, max_iter=60)
    assert large
    assert large[0] == (low_rank.GOAL, inexact.START)
    assert result.success


def test_goals_come_closer(large):
    M = matrix(5, SHAPE, RANK, 0.1, 0.1)[0]
    result = solve(stated(M), method=LowRankIPDS(), tol=1e-6, max_iter=30)
    assert result.certificate.relative < low_rank.GOAL
    assert large[1] == pytest.approx((low_rank.CLOSER * low_rank.GOAL, low_rank.GOAL))


def test_a_multiplier_that_is_no_better_is_refused(large, monkeypatch):
    M, plain = matrix(4, SHAPE, RANK, 0.1, 0.1)[0], inexact.solved

    def unfitted(X, B, seen, goal, gap):
        found = plain(X, B, seen, goal, gap)
        return None if found is None else (found[0], np.zeros(B.shape))

    problem = stated(M)
    monkeypatch.setattr(inexact, "solved", unfitted)
    refused = solve(problem, method=LowRankIPDS(), tol=1e-9, max_iter=20)
    monkeypatch.setattr(inexact, "solved", lambda *_: None)
    without = solve(problem, method=LowRankIPDS(), tol=1e-9, max_iter=20)
    assert large
    assert refused.certificate == without.certificate


def test_data_that_fill_the_memory_are_left_to_first_order_steps(large, monkeypatch):
    M = matrix(4, SHAPE, RANK, 0.1, 0.1)[0]
    monkeypatch.setattr(inexact, "LARGEST", 10)
    solve(stated(M), method=LowRankIPDS(), tol=1e-9, max_iter=20)
    assert not large
