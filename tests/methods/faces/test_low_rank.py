"""IPDS on factors: the pass over the data, its States, what auto does with it, and what it refuses."""

import numpy as np
import pytest
from gross_errors import matrix, stated

from ipds import AssumptionError, Block, Problem, solve
from ipds.functions import L1, Huber, Rank
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import LowRankIPDS, low_rank
from ipds.methods.faces.passes import Deviations
from ipds.theory.certificate import certify


@pytest.mark.parametrize("shape", [(7, 5), (300, 400)])  # one piece, and several
def test_the_pass_is_the_reduced_problem(shape):
    rng = np.random.default_rng(0)
    observed, target, s = (rng.random(shape) < 0.7).astype(float), rng.standard_normal(shape), 0.4
    loss = Deviations(-2.0, 1.5, observed)
    X = Rank(2).face(rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])))
    u = (target + 2.0 * X.x) * observed
    clipped = np.clip(u, -1.5 * s, 1.5 * s)
    x_breve = L1(1.5).prox(u, s)
    found = loss.at(X, target, s)
    assert np.isclose(found.value, L1(1.5)(x_breve) + np.sum((u - x_breve) ** 2) / (2 * s))
    assert np.isclose(found.square, np.sum(clipped**2))
    assert np.allclose(X.dense(found.gradient), X.tangent(2.0 * clipped / s))
    data = rng.standard_normal(shape)
    kept, residual = loss.clipped(X, target, s, data)
    assert np.allclose(kept, clipped)
    assert np.isclose(residual, np.linalg.norm(target - clipped - data))
    assert np.allclose(loss.sizes(X, target), (1.5 * np.sum(np.abs(u)), np.sum(u**2)))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("a", "c", "lam"), [(-1.0, 1.0, 1.0), (2.0, -3.0, 0.1)])
def test_states_hold_what_a_certificate_needs(a, c, lam, swapped):
    M, _ = matrix(noise=0.1)
    problem, i = stated(M, a=a, c=c, lam=lam, swapped=swapped), int(swapped)
    method = LowRankIPDS()
    zero = tuple(np.zeros(M.shape) for _ in range(2))
    setup, carry = method.init(problem, zero, np.zeros(M.shape))
    before = [np.copy(part) for part in (carry.U, carry.V, carry.target)]
    for _ in range(3):
        _, state = method.step(setup, carry)
    assert all(map(np.array_equal, before, (carry.U, carry.V, carry.target)))  # a step is pure
    v, step = state.prox_points[i]
    assert np.allclose(Rank(3).prox(v, step), state.q[i], atol=1e-10)
    pull = problem.operators[i].adjoint(state.z)
    tangent = Rank(3).face(state.q[i]).tangent(pull)
    assert np.isclose(certify(problem, state).stationarity[i], np.linalg.norm(tangent), rtol=1e-6)
    assert np.allclose(-c * state.z, np.clip(-c * state.z, -lam, lam))  # d ∈ ∂h(x̆)
    inside = abs(c * state.z) < lam * (1 - 1e-9)
    assert np.all(state.x_breve[inside] == pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize("masked", [False, True])
def test_auto_recovers_a_matrix_exactly(masked):
    M, truth = matrix(1)
    mask = np.random.default_rng(0).random(M.shape) < 0.8 if masked else None
    result = solve(stated(M, mask=mask), tol=1e-6)
    assert result.success
    assert "LowRankIPDS" in result.method
    assert np.linalg.norm(result.x[0] - truth) < 1e-6 * np.linalg.norm(truth)
    assert np.linalg.matrix_rank(result.x[0], tol=1e-9 * np.linalg.norm(M)) == 3


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_first_point_is_shown_once_the_objective_has_settled(noise):
    """Within about NEAR of the least value, and not long after it was that for the first time."""
    M, _ = matrix(1, (80, 70), 3, 0.2, noise)
    method, zero = LowRankIPDS(), tuple(np.zeros(M.shape) for _ in range(2))
    problem = stated(M)
    least = solve(problem, method=method, tol=1e-5).fun
    setup, carry = method.init(problem, zero, np.zeros(M.shape))
    carry, state = method.step(setup, carry)
    assert state.due
    assert np.sum(np.abs(M - state.x[0])) <= 1.002 * least
    assert carry.steps < low_rank.STRIDE


def test_units_change_nothing():
    M, _ = matrix(2, noise=0.1)
    unit = 2.0**20  # a power of two rounds alike: what else differs is seen
    ours = solve(stated(M), method=LowRankIPDS(), tol=1e-12, max_iter=3)
    scaled = solve(stated(unit * M), method=LowRankIPDS(), tol=1e-12, max_iter=3)
    assert np.allclose(scaled.x[0], unit * ours.x[0], rtol=1e-9, atol=1e-9 * np.abs(scaled.x[0]).max())


def test_a_start_of_full_rank_is_kept_and_z0_counts():
    M, truth = matrix(3)
    method = LowRankIPDS()
    z = np.full(M.shape, 0.1)
    _, carry = method.init(stated(M), (truth, truth - M), z)
    assert np.allclose((carry.U * carry.sigma) @ carry.V.T, truth)
    assert np.allclose(carry.target, -M - carry.stage.s * z)


def test_where_the_rank_is_lower_another_method_answers():
    rng = np.random.default_rng(5)
    M = np.outer(rng.standard_normal(30), rng.standard_normal(40))
    result = solve(stated(M, r=4), tol=1e-6, max_iter=200)
    assert "LowRankIPDS" not in result.method
    assert np.allclose(result.x[0], M, atol=1e-4)
    with pytest.raises(AssumptionError, match="lower rank"):
        solve(stated(M, r=4), method=LowRankIPDS())


def test_never_much_worse_than_the_steps_on_whole_matrices():
    lost = []
    for seed in range(8):
        problem = stated(matrix(seed, (30, 35), 2, 0.2, 0.1)[0], r=2)
        ours = solve(problem, method=LowRankIPDS(), tol=1e-3, max_iter=100).fun
        lost.append(ours / solve(problem, method=AcceleratedIPDS(), tol=1e-3, max_iter=500).fun - 1)
    assert max(lost) < 0.01
    assert np.mean(lost) < 1e-3


def test_residuals_that_vanish_are_exactly_zero():
    M, truth = matrix(
        0, (400, 300), 10
    )  # here a product of whole factors rounds otherwise than one of a few rows
    result = solve(stated(M, r=10), method=LowRankIPDS(), tol=1e-8, max_iter=40)
    assert result.success
    assert np.mean(result.x[1] == 0) > 0.85
    assert np.linalg.norm(result.x[0] - truth) < 1e-8 * np.linalg.norm(truth)


def test_what_is_refused():
    M, _ = matrix()
    other = Problem([Block(h=Rank(3), A=-1.0, shape=M.shape), Block(h=Huber(), shape=M.shape)], b=-M)
    with pytest.raises(AssumptionError, match="two blocks"):
        solve(other, method=LowRankIPDS())
