"""Tangent steps at a settled rank: the manifold, witnesses of its normals, certificates of noisy problems, refusals."""

import numpy as np
import pytest

from ipds import AssumptionError, Block, Problem, solve
from ipds.functions import L1, LeastSquares, Rank
from ipds.functions.rank_manifold import RankManifold
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import TangentSteps
from ipds.theory.certificate import certify


def noisy(seed=0, n=40, r=2):
    """Low rank, noise, and gross errors."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, r)) @ rng.standard_normal((r, n + 5)) + 0.1 * rng.standard_normal((n, n + 5))
    M = M + (rng.random(M.shape) < 0.2) * rng.uniform(-10, 10, M.shape)
    return Problem([Block(h=Rank(r), A=-1.0, shape=M.shape), Block(h=L1(1.0), shape=M.shape)], b=-M), M


def test_the_manifold_is_that_of_the_face():
    rng = np.random.default_rng(0)
    h, x = RankManifold(3), Rank(3).prox(rng.standard_normal((20, 30)), 1.0)
    g = rng.standard_normal(x.shape)
    face = Rank(3).face(x)
    assert np.allclose(h.tangent(x, g), face.tangent(g), atol=1e-11)
    near, far = x + 0.3 * h.tangent(x, g), rng.standard_normal(x.shape)
    for v in (near, far):  # of rank 6, and of full rank
        assert np.allclose(h.prox(v, 1.0), Rank(3).prox(v, 1.0), atol=1e-10)


def test_a_state_brings_its_witness():
    problem, _ = noisy()
    first = solve(problem, tol=1e-12, max_iter=30, method=AcceleratedIPDS())
    method = TangentSteps()
    setup, carry = method.init(problem, first.x, first.z)
    for _ in range(5):
        carry, state = method.step(setup, carry)
    v, step = state.prox_points[0]
    assert np.allclose(Rank(2).prox(v, step), state.x[0], atol=1e-10)
    tangent = Rank(2).face(state.x[0]).tangent(problem.operators[0].adjoint(state.z))
    assert np.isclose(certify(problem, state).stationarity[0], np.linalg.norm(tangent), rtol=1e-6)


def test_auto_certifies_noisy_problems():
    problem, M = noisy(1)
    ours = solve(problem, tol=1e-5, max_iter=6000)
    assert ours.success
    assert (
        "LowRankIPDS" in ours.method or "TangentSteps" in ours.method
    )  # by factors, or handed over to the tangents
    assert np.linalg.matrix_rank(ours.x[0], tol=1e-9 * np.linalg.norm(M)) == 2
    assert np.all(np.diff(ours.history["iteration"]) > 0)


def test_what_is_refused():
    problem, M = noisy()
    zero = tuple(np.zeros(M.shape) for _ in range(2))
    with pytest.raises(AssumptionError, match="lower rank"):
        TangentSteps().init(problem, zero, np.zeros(M.shape))
    curved = Problem(
        [
            Block(f=LeastSquares(np.eye(3), np.eye(3)), h=Rank(1), A=-1.0, shape=(3, 3)),
            Block(h=L1(), shape=(3, 3)),
        ]
    )
    with pytest.raises(AssumptionError, match="no smooth f"):
        TangentSteps().init(curved, (np.eye(3), np.eye(3)), np.eye(3))
