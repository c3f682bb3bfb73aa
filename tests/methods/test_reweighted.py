"""Reweighted eigenvectors: few steps to a minimum, with the multiplier that belongs to it."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.errors import AssumptionError
from ipds.functions import L21, LeastSquares, Stiefel
from ipds.methods import AcceleratedIPDS, candidates, reweighted
from ipds.methods.reweighted import (
    STEPS,
    ReweightedEigenvectors,
    bottom_eigenvectors,
    is_sum_of_norms,
    lowest_eigenvectors,
    weighted_gram,
)
from ipds.theory.certificate import certify


def points(seed, inliers=80, outliers=40, noise=0.0):
    """Points of a hyperplane of codimension 2 in ten dimensions, and others."""
    rng = np.random.default_rng([21, seed])
    plane = np.linalg.qr(rng.standard_normal((10, 8)))[0]
    near = rng.standard_normal((inliers, 8)) @ plane.T + noise * rng.standard_normal((inliers, 10))
    G = np.vstack([near, rng.standard_normal((outliers, 10))])
    return G / np.linalg.norm(G, axis=1, keepdims=True), np.linalg.qr(rng.standard_normal((10, 2)))[0]


def pursuit(G, V, a=1.0, lam=1.0, f=None, b=0.0):
    frame = Block(f=f, h=Stiefel(), A=-a * G, shape=V.shape)
    return Problem([frame, Block(h=L21(lam), A=a, shape=(len(G), 2))], b)


def states(problem, V, count):
    """The States of `count` steps."""
    method = ReweightedEigenvectors()
    setup, carry = method.init(problem, (V, np.zeros(problem.blocks[1].shape)), np.zeros(problem.shape))
    found = []
    for _ in range(count):
        carry, state = method.step(setup, carry)
        found.append(state)
    return found


@pytest.mark.parametrize("a", [1.0, -0.5])
@pytest.mark.parametrize("lam", [1.0, 30.0])
def test_steps_solve_a_problem_without_noise_and_have_its_multiplier(a, lam):
    G, V = points(0)
    problem = pursuit(G, V, a, lam)
    state = states(problem, V, STEPS)[-1]
    x, U = state.q
    assert np.linalg.norm(x.T @ x - np.eye(2)) < 1e-12
    assert np.all(U[:80] == 0)
    assert np.allclose(U[80:], (G @ x)[80:])
    assert certify(problem, state).relative < 1e-6
    assert np.linalg.norm(a * state.z, axis=1).max() <= lam * (1 + 1e-12)  # -a z is in ∂h(U)
    unit = U[80:] / np.linalg.norm(U[80:], axis=1, keepdims=True)
    assert np.allclose((-a * state.z)[80:], lam * unit)


def test_objectives_fall_at_a_steady_rate_under_noise():
    G, V = points(1, noise=0.05)
    values = np.array(
        [np.linalg.norm(G @ state.x[0], axis=1).sum() for state in states(pursuit(G, V), V, STEPS)]
    )
    assert values[-1] == pytest.approx(values.min(), rel=1e-6)
    assert values[6] <= values[-1] * (1 + 1e-3)


def test_a_check_is_due_once_little_is_left_to_gain():
    G, V = points(0)
    found = states(pursuit(G, V), V, STEPS)
    values = np.array([np.linalg.norm(G @ state.x[0], axis=1).sum() for state in found])
    due = [k for k, state in enumerate(found) if state.due]
    assert due
    assert values[due[0]] <= values[-1] * (1 + 3e-3)
    method = ReweightedEigenvectors()
    setup, carry = method.init(pursuit(G, V), (V, G @ V), np.zeros((len(G), 2)))
    assert method.steps(setup, [carry], STEPS)[1].t == due[0] + 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_runs_end_where_first_order_steps_do_or_lower_in_fewer_iterations(seed, noise):
    G, V = points(seed, noise=noise)
    begin = [V, G @ V]
    result = solve(pursuit(G, V), begin, tol=1e-7, check_every=1)
    other = solve(pursuit(G, V), begin, method=AcceleratedIPDS(), tol=1e-7, check_every=1)
    assert result.success
    assert other.success
    assert result.nit < other.nit
    assert result.fun <= other.fun * (1 + 1e-6)


def test_where_steps_do_not_certify_others_go_on():
    G, V = points(0, noise=0.2, outliers=200)
    result = solve(pursuit(G, V), [V, G @ V], tol=1e-9)
    assert result.success
    assert result.nit > STEPS
    assert "AcceleratedIPDS" in result.method


def test_a_start_that_is_better_than_random_ones_is_not_smoothed_away():
    G, V = points(0)
    bottom = np.linalg.eigh(G.T @ G)[1][:, :2]
    floors = []
    for start in (V, bottom):
        _, carry = ReweightedEigenvectors().init(pursuit(G, V), (start, G @ start), np.zeros((len(G), 2)))
        floors.append(carry.floor / np.linalg.norm(G @ start, axis=1).max())
    assert floors == pytest.approx([0.5, 0.02])


@pytest.mark.parametrize(
    ("outliers", "most"), [(40, 4.1), (320, 14)]
)  # 4.5 and 15.25 by squares, from step 2 on
def test_rows_that_vanish_are_told_ahead(outliers, most):
    needed = []
    for seed in range(6):
        G, V = points(seed, outliers=outliers)
        for start in (V, np.linalg.eigh(G.T @ G)[1][:, :2]):
            found = states(pursuit(G, start), start, STEPS)
            values = np.array([np.linalg.norm(G @ state.x[0], axis=1).sum() for state in found])
            needed.append(np.flatnonzero(values <= values.min() * (1 + 1e-3))[0] + 1)
    assert np.mean(needed) <= most


def test_a_single_column_is_smoothed_for_longer():
    rng = np.random.default_rng(3)
    road = np.column_stack(
        [rng.uniform(0, 40, 600), rng.uniform(-15, 15, 600), -1.7 + 0.02 * rng.standard_normal(600)]
    )
    rest = np.column_stack([rng.uniform(0, 40, 900), rng.uniform(-15, 15, 900), rng.uniform(-1.6, 3, 900)])
    G = np.vstack([road, rest])
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    V = np.linalg.eigh(G.T @ G)[1][:, :1]
    problem = Problem([Block(h=Stiefel(), A=-G, shape=(3, 1)), Block(h=L21(1.0), shape=(1500, 1))])
    method = ReweightedEigenvectors()
    setup, carry = method.init(problem, (V, G @ V), np.zeros((1500, 1)))
    floors = [carry.floor]
    for _ in range(8):
        carry, state = method.step(setup, carry)
        floors.append(carry.floor)
    assert np.array(floors[1:]) / floors[:-1] == pytest.approx([0.5] * 6 + [0.2] * 2)
    best = solve(problem, [V, G @ V], tol=1e-7).fun
    assert np.abs(G @ state.x[0]).sum() <= best * (1 + 1e-3)


def test_other_problems_are_left_to_others():
    G, V = points(0)
    f, zero = LeastSquares(np.eye(10), np.zeros((10, 2))), np.zeros((len(G), 2))
    for problem in (pursuit(G, V, f=f), pursuit(G, V, b=zero + 1.0), pursuit(G, V, lam=0.0)):
        assert not is_sum_of_norms(problem)
        assert not isinstance(candidates(problem)[0], ReweightedEigenvectors)
        with pytest.raises(AssumptionError, match="needs A V"):
            ReweightedEigenvectors().init(problem, (V, zero), zero)
    with pytest.raises(AssumptionError, match="all of U is 0"):
        ReweightedEigenvectors().init(pursuit(0 * G, V), (V, zero), zero)
    assert solve(pursuit(0 * G, V), [V, zero]).success


@pytest.mark.parametrize("turned", [0.01, 0.3, 3.0])  # nearby, and where LAPACK is asked
def test_eigenvectors_from_those_nearby(turned):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    gram = (Q * np.r_[0.1, 0.2, np.linspace(2.0, 9.0, 8)]) @ Q.T
    V = np.linalg.qr(Q[:, :2] + turned * rng.standard_normal((10, 2)))[0]
    found = bottom_eigenvectors(gram, V)
    assert np.allclose(found.T @ found, np.eye(2), atol=1e-14)
    before, left = (np.linalg.norm(Q[:, 2:].T @ frame) for frame in (V, found))
    assert left <= 2e-3 * before  # (0.2/2)³ of it, after three inverse iterations


def test_a_good_start_spares_the_first_step_its_eigenvectors(monkeypatch):
    G, V = points(0)
    asked = []
    monkeypatch.setattr(
        reweighted, "lowest_eigenvectors", lambda *given: asked.append(1) or lowest_eigenvectors(*given)
    )
    states(pursuit(G, V), np.linalg.eigh(G.T @ G)[1][:, :2], 1)
    assert not asked
    states(pursuit(G, V), V, 1)
    assert asked


def test_eigenvectors_of_what_has_no_cholesky_factor():
    gram = np.diag([-1.0, 1.0, 2.0])
    assert np.allclose(abs(bottom_eigenvectors(gram, np.eye(3)[:, :1])), np.eye(3)[:, :1])


@pytest.mark.parametrize("unit", [1e-25, 1e-5, 1e5, 1e25])  # squares in single precision end at 1e±38
def test_steps_do_not_depend_on_the_unit_of_the_points(unit):
    G, V = points(1, noise=0.05)
    state, other = (states(pursuit(a * G, V), V, 5)[-1] for a in (1.0, unit))
    assert np.allclose(state.x[0] @ state.x[0].T, other.x[0] @ other.x[0].T, atol=1e-4)


def test_products_before_the_first_check_are_in_single_precision(monkeypatch):
    """And in double precision from then on."""
    kinds = []

    def watched(A, weights):
        kinds.append(A.dtype)
        return weighted_gram(A, weights)

    monkeypatch.setattr("ipds.methods.reweighted.weighted_gram", watched)
    G, V = points(0)
    first = next(k for k, state in enumerate(states(pursuit(G, V), V, STEPS)) if state.due)
    assert set(kinds[:3]) == {np.dtype(np.float32)}
    assert set(kinds[first + 1 :]) == {np.dtype(np.float64)}


@pytest.mark.parametrize("few", [3, 4])
def test_weighted_gram_in_pieces(monkeypatch, few):
    rng = np.random.default_rng(0)
    A, w = rng.standard_normal((50, 4)), rng.random(50)
    monkeypatch.setattr("ipds.methods.reweighted.ROWS", 7)
    monkeypatch.setattr("ipds.methods.reweighted.FEW", few)
    assert np.allclose(weighted_gram(A.T, w), (A.T * w) @ A)
    coarse = weighted_gram(A.T.astype(np.float32), w)
    assert coarse.dtype == np.float64
    assert np.allclose(coarse, (A.T * w) @ A, rtol=1e-5, atol=1e-5)
