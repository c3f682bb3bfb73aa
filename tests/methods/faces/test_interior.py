"""Interior-point steps on matrices of one rank: their equations, what they solve, and when they are taken."""

import numpy as np
import pytest
from gross_errors import matrix, stated

from ipds import solve
from ipds.functions.fixed_rank import FixedRank, fixed_rank, near
from ipds.methods.faces import LowRankIPDS, interior


def at(M, r=2):
    """A start near the solution, and a subgradient there."""
    X = near(np.clip(M, -3, 3), r)
    for _ in range(40):
        X = near(X.x + np.clip(M - X.x, -0.5, 0.5), r)
    return X, np.clip(M - X.x, -0.5, 0.5) / 0.5


def test_newton_equations_are_those_of_the_retraction():
    """Derivatives of ½⟨w, (B - X(ξ))²⟩ - ⟨normal, X(ξ)⟩ along the orthographic retraction, by differences."""
    rng = np.random.default_rng(0)
    X = fixed_rank(rng.standard_normal((7, 2)) @ rng.standard_normal((2, 5)), 2)
    w, d = rng.uniform(1, 2, (7, 5)), 0.1 * rng.standard_normal((7, 5))
    normal = X.subgradient(d)
    solve_it = interior._factored(X, w, normal, 1e-9)
    E, F = (rng.standard_normal((k, 2)) for k in (7, 5))

    def moved(E, F, t):
        return X.moved(X.projected(E + X.U @ (F.T @ X.V), F + X.V @ (E.T @ X.U)), t).x

    t = 1e-3
    ahead, back = moved(E, F, t) - X.x, moved(E, F, -t) - X.x
    speed, bend = (ahead - back) / (2 * t), (ahead + back) / t**2
    assert np.allclose(speed, E @ X.V.T + X.U @ F.T, atol=1e-4)
    K = np.linalg.inv(_matrix(solve_it, 14, 10))
    v = np.concatenate([E.ravel(), F.ravel()])
    assert v @ K @ v == pytest.approx(np.sum(w * speed**2) - np.vdot(d, bend), rel=1e-4)


def _matrix(solve_it, m, n):
    """The matrix of a linear map on pairs."""
    columns = []
    for unit in np.eye(m + n):
        E, F = solve_it(unit[:m].reshape(-1, 2), unit[m:].reshape(-1, 2))
        columns.append(np.concatenate([E.ravel(), F.ravel()]))
    return np.array(columns).T


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shape", [(30, 40), (40, 30)])
def test_they_end_at_a_critical_point(shape, masked):
    M, _ = matrix(3, shape, 2, 0.1, 0.2)
    seen = np.random.default_rng(1).random(shape) < 0.8 if masked else None
    X, d = at(M)
    found = interior.solved(X, M, seen, d if seen is None else d * seen, 0.1)
    assert found is not None
    Y, y = found
    u = (M - Y.x) if seen is None else (M - Y.x)[seen]
    slopes = y if seen is None else y[seen]
    assert np.all(np.abs(y) <= 1)
    assert np.linalg.norm(Y.tangent(y)) <= 1e-7 * np.linalg.norm(y)  # P d = 0
    assert np.sum(np.abs(u)) - np.vdot(slopes, u) <= 1e-8 * np.sum(np.abs(u))  # d ∈ ∂Σ|u|
    assert seen is None or not np.any(y[~seen])


@pytest.mark.parametrize(("a", "c", "lam"), [(-1.0, 1.0, 1.0), (2.0, -3.0, 0.1)])
@pytest.mark.parametrize("masked", [False, True])
def test_noise_is_certified_to_the_end(masked, a, c, lam):
    M, _ = matrix(4, (50, 60), 3, 0.1, 0.1)
    mask = np.random.default_rng(0).random(M.shape) < 0.8 if masked else None
    result = solve(stated(M, mask=mask, a=a, c=c, lam=lam), method=LowRankIPDS(), tol=1e-7, max_iter=40)
    assert result.success
    loose = solve(stated(M, mask=mask, a=a, c=c, lam=lam), method=LowRankIPDS(), tol=1e-3, max_iter=40)
    assert result.fun <= loose.fun * (1 + 1e-9)


def test_a_point_that_is_higher_is_refused(monkeypatch):
    M, _ = matrix(4, (50, 60), 3, 0.1, 0.1)
    asked = []

    def elsewhere(X, B, seen, d, room):
        asked.append(room)
        return FixedRank(X.U, 2 * X.sigma, X.V), np.zeros(B.shape)

    monkeypatch.setattr(interior, "solved", elsewhere)
    result = solve(stated(M), method=LowRankIPDS(), tol=1e-12, max_iter=40)
    best = solve(stated(M), method=LowRankIPDS(), tol=1e-3, max_iter=20)
    assert asked
    assert result.fun <= best.fun * (1 + 1e-4)


def test_when_they_are_tried():
    assert interior.passes_before((150, 150), 5) == interior.FEWEST
    assert interior.passes_before((500, 400), 5) > interior.FEWEST
    assert interior.passes_before((427, 640), 20) is None


def test_what_cannot_be_factored_is_given_up():
    X, d = at(matrix(3, (30, 40), 2)[0])
    assert interior.solved(X, np.full((30, 40), np.nan), None, d, 0.1) is None
