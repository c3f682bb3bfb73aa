"""The start by reweighted eigenvectors: near a minimum, with the multiplier that belongs to it."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L21, LeastSquares, Stiefel
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated.reduced import eliminate
from ipds.methods.accelerated.reweighted import reweighted_start


def points(seed, inliers=80, outliers=40):
    """Points of a hyperplane of codimension 2 in ten dimensions, and others."""
    rng = np.random.default_rng([21, seed])
    plane = np.linalg.qr(rng.standard_normal((10, 8)))[0]
    G = np.vstack([rng.standard_normal((inliers, 8)) @ plane.T, rng.standard_normal((outliers, 10))])
    return G / np.linalg.norm(G, axis=1, keepdims=True), np.linalg.qr(rng.standard_normal((10, 2)))[0]


def pursuit(G, V, a=1.0, lam=1.0, f=None, b=0.0):
    frame = Block(f=f, h=Stiefel(), A=-a * G, shape=V.shape)
    return Problem([frame, Block(h=L21(lam), A=a, shape=(len(G), 2))], b)


@pytest.mark.parametrize("a", [1.0, -0.5])
@pytest.mark.parametrize("lam", [1.0, 30.0])
def test_the_start_solves_a_problem_without_noise_and_has_its_multiplier(a, lam):
    G, V = points(0)
    (x,), z = reweighted_start(eliminate(pursuit(G, V, a, lam), 1), (V,), np.zeros((len(G), 2)))
    assert np.linalg.norm(x.T @ x - np.eye(2)) < 1e-12
    assert np.linalg.norm((G @ x)[:80]) < 1e-5 * np.linalg.norm((G @ x)[80:])
    assert np.linalg.norm(a * z, axis=1).max() <= lam * (1 + 1e-3)  # -a z is near ∂h(G x)
    force = a * G.T @ z
    assert np.linalg.norm(force - x @ (x.T @ force)) < 1e-4 * np.linalg.norm(force)
    outside = (G @ x)[80:]
    unit = outside / np.linalg.norm(outside, axis=1, keepdims=True)
    assert np.allclose((-a * z)[80:], lam * unit, atol=1e-4 * lam)


@pytest.mark.parametrize("seed", range(3))
def test_runs_end_in_few_iterations_at_the_value_that_first_order_steps_find(seed, monkeypatch):
    G, V = points(seed)
    begin = [V, G @ V]
    result = solve(pursuit(G, V), begin, tol=1e-7, check_every=1)
    monkeypatch.setattr("ipds.methods.accelerated.method.reweighted_start", lambda R, x, z: (x, z))
    other = solve(pursuit(G, V), begin, tol=1e-7, check_every=1)
    assert result.success
    assert other.success
    assert result.nit < other.nit / 2
    assert result.fun <= other.fun * (1 + 1e-6)


def test_other_problems_start_where_they_are_told_to():
    G, V = points(0)
    f, zero = LeastSquares(np.eye(10), np.zeros((10, 2))), np.zeros((len(G), 2))
    for problem in (pursuit(G, V, f=f), pursuit(G, V, b=zero + 1.0), pursuit(0 * G, V)):
        x, z = reweighted_start(eliminate(problem, 1), (V,), zero)
        assert x[0] is V
        assert z is zero


def test_a_start_with_a_multiplier_is_kept():
    G, V = points(0)
    _, carry = AcceleratedIPDS(reweighted=True).init(pursuit(G, V), (V, G @ V), np.ones((len(G), 2)))
    assert np.array_equal(carry.x[0], V)


def test_a_method_that_is_named_starts_where_it_is_told_to():
    G, V = points(0)
    _, carry = AcceleratedIPDS().init(pursuit(G, V), (V, G @ V), np.zeros((len(G), 2)))
    assert np.array_equal(carry.x[0], V)
