"""The finish on faces: exact answers, never a worse one than first order, one certificate, one checkpoint."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy

import ipds
from ipds import Block, Problem, solve
from ipds.functions import (
    L0,
    L1,
    MCP,
    CappedL1,
    Cardinality,
    Huber,
    LeastSquares,
    Logistic,
    LogisticLoss,
    NonNegative,
    NonzeroRows,
    Quadratic,
    Quantile,
)
from ipds.functions.faces import Support
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import OnFaces
from ipds.methods.faces.restricted import Restricted
from ipds.methods.reordered import Reordered
from ipds.theory.certificate import certify
from problems import phase_data

AUTO = OnFaces(AcceleratedIPDS())


def design(rng, kind, m, d):
    """Gaussian columns: independent, or each correlated with the one before."""
    Z = rng.standard_normal((m, d))
    rho = {"independent": 0.0, "correlated": 0.5, "collinear": 0.9}[kind]
    for j in range(1, d):
        Z[:, j] = rho * Z[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
    return Z


def regression(seed, kind="independent", m=60, d=30, s=4, h=None, loss=None):
    """Few columns explain y, but for noise and a fifth of the rows."""
    rng = np.random.default_rng([7, seed])
    G, x = design(rng, kind, m, d), np.zeros(d)
    x[rng.choice(d, s, replace=False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
    y = G @ x + 0.01 * rng.standard_normal(m)
    y[rng.choice(m, m // 5, replace=False)] += 10 * rng.standard_normal(m // 5)
    blocks = [Block(h=h or Cardinality(s), A=-G, shape=d), Block(h=loss or L1(1.0), shape=m)]
    return Problem(blocks, b=-y), G, y


def best_deviations(A, y):
    """min ‖A v - y‖₁ by its dual, max yᵀu with Aᵀu = 0, |u| ≤ 1."""
    found = scipy.optimize.linprog(-y, A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=(-1, 1), method="highs")
    return -found.fun


def test_a_regression_is_solved_exactly():
    problem, G, y = regression(0)
    result = solve(problem, tol=1e-12)
    support = np.flatnonzero(result.x[0])
    assert result.success
    assert result.nit <= 100
    assert "face" in result.method
    assert np.isclose(result.fun, best_deviations(G[:, support], y), rtol=1e-12)
    assert np.count_nonzero(result.x[1]) == len(y) - 4  # a vertex
    assert certify(problem, result.state).relative <= 1e-12
    assert np.all(np.diff(result.history["iteration"]) > 0)


@pytest.mark.parametrize("kind", ["independent", "correlated", "collinear"])
def test_never_worse_than_first_order(kind):
    worse, better = [], 0
    for seed in range(70):
        problem, G, y = regression(seed, kind)
        ours = solve(problem, tol=1e-6, max_iter=600)
        first = solve(problem, tol=1e-6, max_iter=600, method=AcceleratedIPDS())
        x = np.asarray(first.x[0])
        reference = best_deviations(G[:, np.flatnonzero(x)], y)  # what first order would end at
        value = np.abs(G @ ours.x[0] - y).sum()
        if value > reference * (1 + 1e-6):
            worse.append((seed, value / reference))
        better += value < reference * (1 - 1e-6)
    assert not worse
    assert better >= (10 if kind == "collinear" else 0)


CASES = {
    "quantile": {"loss": Quantile(0.3)},
    "huber": {"loss": Huber(1.0, 0.5)},
    "l0": {"h": L0(3.0)},
    "mcp": {"h": MCP(5.0, 0.2)},
    "capped": {"h": CappedL1(5.0, 0.3)},
}


@pytest.mark.parametrize("name", CASES)
def test_other_penalties_and_losses(name):
    for seed in range(4):
        problem, *_ = regression(seed, **CASES[name])
        ours = solve(problem, tol=1e-8, max_iter=3000)
        first = solve(problem, tol=1e-8, max_iter=3000, method=AcceleratedIPDS())
        assert ours.success
        assert ours.fun <= first.fun * (1 + 1e-6)
        assert certify(problem, ours.state).relative <= 1e-8


def test_least_squares_and_rows_of_a_matrix():
    rng = np.random.default_rng(0)
    G, truth = rng.standard_normal((80, 30)), np.zeros((30, 3))
    truth[:4] = rng.standard_normal((4, 3))
    Y = G @ truth + 0.01 * rng.standard_normal((80, 3))
    Y[::7] += 5.0
    problem = Problem([Block(h=NonzeroRows(4), A=-G, shape=(30, 3)), Block(h=L1(1.0), shape=(80, 3))], b=-Y)
    result = solve(problem, tol=1e-9)
    assert result.success
    assert set(np.flatnonzero(np.abs(result.x[0]).sum(1))) == set(range(4))
    y = G @ truth[:, 0]
    problem = Problem(
        [Block(f=LeastSquares(G, y), h=Cardinality(4), A=-1.0, shape=30), Block(h=L1(0.1), shape=30)]
    )
    result = solve(problem, tol=1e-10)
    assert result.success
    assert result.certificate.relative <= 1e-10


def phase(seed):
    """A sparse signal from squares of noisy measurements, with D x ≥ 0; half of these rows are active."""
    f, D, start = phase_data(seed)
    blocks = [Block(h=NonNegative(), shape=6), Block(f=f, h=L1(0.8), A=-D, shape=24)]
    return Problem(blocks), [np.maximum(D @ start, 0), start]


def test_a_curved_f_is_solved_by_newton_steps_on_signs_and_bounds():
    sooner = 0
    for seed in range(20):
        problem, start = phase(seed)
        ours = solve(problem, start, tol=1e-9, method=Reordered(AUTO, 0))
        first = solve(problem, start, tol=1e-9, method=AcceleratedIPDS())
        assert ours.success
        assert ours.fun <= first.fun * (1 + 1e-6)
        assert certify(problem, ours.state).relative <= 1e-9
        sooner += ours.nit < first.nit
    assert sooner >= 15


def test_a_start_of_the_wrong_sign_is_turned():
    right = turned = 0
    for seed in range(12):
        problem, (_, start) = phase(seed)
        wrong = [np.zeros(6), -start]
        ours = solve(problem, wrong, tol=1e-8)
        plain = solve(problem, wrong, tol=1e-8, method=AcceleratedIPDS())
        assert ours.success
        assert ours.fun <= plain.fun * (1 + 1e-6)  # at worst what the sign that was given leads to
        assert np.all(np.diff(ours.history["iteration"]) > 0)
        right += ours.x[1] @ start > 0
        turned += plain.x[1] @ start > 0
    assert right >= 11
    assert turned == 0


def test_a_run_from_either_sign_resumes(tmp_path):
    problem, start = phase(3)
    whole = solve(problem, start, tol=1e-9)
    solve(problem, start, tol=1e-9, max_iter=20, checkpoint=tmp_path / "run")
    resumed = solve(problem, start, tol=1e-9, checkpoint=tmp_path / "run")
    assert resumed.nit == whole.nit
    assert np.array_equal(resumed.x[1], whole.x[1])


def test_a_wrong_finish_is_refused(monkeypatch):
    problem, *_ = regression(1)
    monkeypatch.setattr(ipds.methods.faces.method, "EXACT", 0.0)  # nothing is exact enough
    refused = solve(problem, tol=1e-4, method=OnFaces(AcceleratedIPDS()))
    first = solve(problem, tol=1e-4, method=AcceleratedIPDS())
    assert refused.nit == first.nit
    assert np.array_equal(refused.x[0], first.x[0])
    problem, start = phase(0)
    refused = solve(problem, start, tol=1e-6)
    first = solve(problem, start, tol=1e-6, method=AcceleratedIPDS())
    assert np.allclose(refused.x[1], first.x[1], atol=1e-5)


def test_the_solution_on_a_face_is_shown_long_before_it_is_held():
    problem, G, y = regression(2)
    setup, carry = AUTO.init(problem, (np.zeros(30), np.zeros(60)), np.zeros(60))
    setup, shown = replace(setup, pursues=False), []
    while not carry.holds:
        before, (carry, state) = carry, AUTO.step(setup, carry)
        first = AUTO.first.step(setup.begun[0], before.first)[1]
        if state.due and not carry.holds:
            shown.append(state.t)
            support = state.q[0] != 0
            assert not state.settled  # swaps are still to come
            assert np.array_equal(support, first.q[0] != 0)
            exact = state.t > 5  # the first time it is near
            assert np.abs(G @ state.q[0] - y).sum() == pytest.approx(
                best_deviations(G[:, support], y), rel=1e-9 if exact else 1e-3
            )
            assert (certify(problem, state).relative <= 1e-9) == exact
        elif not carry.holds:
            assert np.array_equal(state.q[0], first.q[0])
    assert shown == [5, 10]  # the next looks find the same face
    assert carry.t == 20


def test_a_face_that_is_left_is_not_taken_for_the_one_that_was_shown():
    problem, *_ = regression(2)
    setup, carry = AUTO.init(problem, (np.zeros(30), np.zeros(60)), np.zeros(60))
    while not carry.holds:
        carry, state = AUTO.step(setup, carry)
        other = np.ones(30) if carry.t >= 5 else carry.x[0]
        carry = carry if carry.holds else carry._replace(x=(other, carry.x[1]))
    assert certify(problem, state).relative <= 1e-9
    assert float(state.q[0] @ state.q[0]) > 0
    assert np.allclose(state.q[0], solve(problem).x[0])


def test_what_is_held_stays_and_a_carry_keeps_its_structure():
    problem, *_ = regression(2)
    x0, z0 = (np.zeros(30), np.zeros(60)), np.zeros(60)
    setup, carry = AUTO.init(problem, x0, z0)
    shapes = [a.shape for a in (*carry.labels, *carry.x, *carry.slopes, carry.z)]
    for _ in range(200):
        carry, state = AUTO.step(setup, carry)
        assert [a.shape for a in (*carry.labels, *carry.x, *carry.slopes, carry.z)] == shapes
        if carry.holds:
            break
    kept = carry
    again, later = AUTO.step(setup, carry)
    assert carry is kept
    assert again.t == carry.t + 1 == later.t
    assert all(np.array_equal(a, b) for a, b in zip(state.x, later.x, strict=True))
    assert certify(problem, later).relative <= 1e-9


def test_a_checkpoint_resumes_to_the_same_bits(tmp_path):
    problem, *_ = regression(3)
    whole = solve(problem, tol=1e-9, seed=0)
    solve(problem, tol=1e-9, seed=0, max_iter=10, checkpoint=tmp_path / "run")
    resumed = solve(problem, tol=1e-9, seed=0, checkpoint=tmp_path / "run")
    assert resumed.success
    assert resumed.nit == whole.nit
    assert np.array_equal(resumed.x[0], whole.x[0])


def test_a_caller_s_own_set_and_duplicate_columns_need_no_face():
    _problem, G, y = regression(4)
    twice = np.hstack([G, G])
    both = Problem([Block(h=Cardinality(4), A=-twice, shape=60), Block(h=L1(1.0), shape=60)], b=-y)
    assert solve(both, tol=1e-6).success

    class Few:
        is_convex = False
        is_set = True

        def __call__(self, x):
            return 0.0 if np.count_nonzero(x) <= 4 else np.inf

        def prox(self, v, step):
            return Cardinality(4).prox(v, step)

    own = Problem([Block(h=Few(), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)
    assert "face" not in solve(own, tol=1e-3).method


@pytest.mark.parametrize("loss", [LeastSquares, Logistic])
def test_a_support_of_a_smooth_problem_takes_plain_newton_steps(loss):
    rng = np.random.default_rng(0)
    G = rng.standard_normal((60, 10)) * np.logspace(-3, 3, 10)
    y = np.sign(rng.standard_normal(60))
    f = loss(G, y)
    problem = Problem([Block(f=f, h=Cardinality(3), A=-1.0, shape=10), Block(shape=10)])
    support = np.arange(10) % 4 == 1
    restricted = Restricted(problem, {0: Support(np.zeros(10), support)})
    x = np.zeros(10)
    found = restricted._smoothly(restricted.start((x, x)))
    assert found is not None
    gradient = f.grad(restricted.faces[0].embed(found.q[0]))[support]
    assert np.all(np.abs(gradient) <= 1e-9 * np.abs(f.grad(x)[support]))
    assert restricted.solve((x, x), np.zeros(10)) is not None


def test_a_smooth_term_of_the_last_block_is_finished_on_its_face():
    """Best subset with an intercept in raw units, written with residuals: the support of first-order steps is poor."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((80, 8)) * np.logspace(0, 2, 8) + 200.0
    y = 5.0 + G[:, [1, 4]] @ np.array([2.0, -0.3]) + 0.1 * rng.standard_normal(80)
    ones = np.ones((80, 1))
    problem = Problem(
        [Block(h=Cardinality(2), A=-G, shape=8), Block(A=-ones, shape=1), Block(f=Quadratic(1.0), shape=80)],
        b=-y,
    )
    result = solve(problem)
    columns = [np.c_[ones, G[:, list(pair)]] for pair in itertools.combinations(range(8), 2)]
    best = min(0.5 * float(np.linalg.lstsq(g, y, rcond=None)[1][0]) for g in columns)
    assert result.success
    assert "finished on its face" in result.method
    assert result.fun == pytest.approx(best, rel=1e-6)


def test_a_smooth_refit_takes_newton_steps_of_its_own(monkeypatch):
    rng = np.random.default_rng(3)
    G, w = rng.standard_normal((150, 20)), np.zeros(20)
    w[[2, 7, 11]] = 2.0, -1.5, 1.0
    y = np.where(G @ w + 0.5 + 0.5 * rng.logistic(size=150) > 0, 1.0, -1.0)
    blocks = [
        Block(h=Cardinality(3), A=-G, shape=20),
        Block(A=-np.ones((150, 1)), shape=1),
        Block(h=LogisticLoss(y), shape=150),
    ]
    # none of the steps on kinks is called for
    monkeypatch.setattr(ipds.methods.faces.restricted.Restricted, "_by_newton", lambda *given: None)
    result = solve(Problem(blocks), tol=1e-8)
    assert result.success
    support = np.flatnonzero(result.x[0])
    columns = np.column_stack([G[:, support], np.ones(150)])
    best = scipy.optimize.minimize(
        lambda v: np.sum(np.logaddexp(0, -y * (columns @ v))), np.zeros(4), tol=1e-12
    )
    assert np.allclose(np.append(result.x[0][support], result.x[1]), best.x, atol=1e-4)
    assert result.fun <= best.fun * (1 + 1e-10)
    assert result.nit <= 60


def test_a_face_that_an_earlier_run_has_solved_is_known():
    """A second start that comes to it ends there; without a memory it goes all the way."""
    problem, *_ = regression(0, loss=Huber(1.0))
    rng = np.random.default_rng(0)
    start = [rng.standard_normal(block.shape) for block in problem.blocks]
    known = {}
    method = OnFaces(AcceleratedIPDS(), known)
    first = solve(problem, method=method)
    assert known
    second, alone = solve(problem, start, method=method), solve(problem, start, method=AUTO)
    assert first.success
    assert second.success
    assert second.nit < alone.nit
    np.testing.assert_allclose(second.x[0], first.x[0], rtol=1e-12)
    assert AUTO.known is None
