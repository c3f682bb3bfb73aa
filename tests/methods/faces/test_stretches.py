"""Few jumps: solved and exchanged in increments; beside least deviations the best signal there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L0, L1, Huber, Jumps, LeastSquares, Quantile
from ipds.functions.jumps import Increments, fewest_jumps_among, fewest_jumps_between
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import OnStretches, has_stretches
from ipds.methods.faces.stretches import best_signal, in_increments
from ipds.modelling import diff, norm1, sum_squares
from ipds.solving.starting import starting_point
from ipds.theory.certificate import certify


def segmentations(n):
    """The stretches of every signal of n entries, as 0/1 columns."""
    for cuts in itertools.product([0, 1], repeat=n - 1):
        label = np.concatenate([[0], np.cumsum(cuts)])
        yield np.equal.outer(label, np.arange(label[-1] + 1)).astype(float)


def deviations(M, y):
    """min ‖M v - y‖₁ by HiGHS."""
    m, k = M.shape
    rows = np.block([[M, -np.eye(m)], [-M, -np.eye(m)]])
    free, above = [(None, None)] * k, [(0, None)] * m
    found = linprog(np.r_[np.zeros(k), np.ones(m)], A_ub=rows, b_ub=np.r_[y, -y], bounds=free + above)
    return found.fun


def median_cost(y):
    return np.sum(np.abs(y - np.median(y)))


def least(y, lam):
    """min ‖x - y‖₁ + λ·#jumps(x), by the best end of every prefix."""
    best = [-lam]
    for r in range(1, len(y) + 1):
        best.append(min(best[start] + lam + median_cost(y[start:r]) for start in range(r)))
    return best[-1]


def noisy(seed):
    g = np.random.default_rng(seed)
    n, k = int(g.integers(30, 60)), int(g.integers(2, 6))
    y = np.repeat(3 * g.standard_normal(k), -(-n // k))[:n] + g.choice([0.2, 1.0]) * g.laplace(size=n)
    y[g.choice(n, n // 10, replace=False)] += 10 * g.standard_normal(n // 10)
    return y, float(g.choice([0.5, 1.0, 4.0]))


@pytest.mark.parametrize("seed", range(12))
def test_beside_least_deviations_the_answer_is_the_best_signal(seed):
    y, lam = noisy(seed)
    x = Variable(len(y))
    result = solve(minimize(norm1(x - y) + L0(lam)(diff(x))), seed=0)
    assert result.success
    assert "stretches" in result.method
    assert result.fun == pytest.approx(least(y, lam), rel=1e-9)
    assert result.certificate.relative <= 1e-9


def test_units_signs_and_slopes_of_the_loss_count():
    """0.3 r⁺ + 0.7 r⁻ of r = (b - a x)/c, against all segmentations."""
    g = np.random.default_rng(0)
    b, a, c, lam = 2 * g.standard_normal(8), -2.0, 0.5, 0.4
    problem = Problem([Block(h=Jumps(lam), A=a, shape=8), Block(h=Quantile(0.3), A=c, shape=8)], b=b)
    x, u = best_signal(problem)
    np.testing.assert_allclose(a * x + c * u, b)

    def loss(v):
        return float(Quantile(0.3)((b - a * v) / c))

    costs = [
        lam * (P.shape[1] - 1)
        + sum(min(loss_on(P[:, k], v, b, a, c) for v in b / a) for k in range(P.shape[1]))
        for P in segmentations(8)
    ]
    assert loss(x) + Jumps(lam)(x) == pytest.approx(min(costs))
    result = solve(problem, method=OnStretches(AcceleratedIPDS()), presolve=False)
    assert result.fun == pytest.approx(min(costs))
    assert result.success


def loss_on(where, v, b, a, c):
    return float(Quantile(0.3)(((b - a * v) / c)[where > 0]))


def test_signals_among_levels_are_the_best_of_all():
    g = np.random.default_rng(1)
    for t in (0.0, 0.3, 2.0):
        levels, cost = g.standard_normal(3), g.random((6, 3))
        u = fewest_jumps_among(levels, cost, t)
        values = [
            t * np.count_nonzero(np.diff(choice)) + cost[np.arange(6), choice].sum()
            for choice in itertools.product(range(3), repeat=6)
        ]
        at = np.array([int(np.flatnonzero(levels == ui)[0]) for ui in u])
        found = t * np.count_nonzero(np.diff(at)) + cost[np.arange(6), at].sum()
        assert found == pytest.approx(min(values))


@pytest.mark.parametrize("seed", range(4))
def test_weighted_squares_between_bounds_are_the_best_of_all_segmentations(seed):
    g = np.random.default_rng(seed)
    w, z, lam = g.uniform(0, 2, 8), 1e3 + np.repeat([0.0, 2.0], 4) + g.standard_normal(8), 0.7
    w[g.choice(8, 2, replace=False)] = 0.0
    lower, upper = z.mean() - g.uniform(0, 3, 8), z.mean() + g.uniform(0, 3, 8)

    def cost(part):
        low, high = lower[part].max(), upper[part].min()
        v = np.clip(w[part] @ z[part] / max(w[part].sum(), 1e-300), low, high)
        return w[part] @ (z[part] - v) ** 2

    least = min(
        lam * (P.shape[1] - 1) + sum(cost(np.flatnonzero(column)) for column in P.T) for P in segmentations(8)
    )
    x = Variable(8)
    fit = sum_squares(np.sqrt(w) * (x - z)) + L0(lam)(diff(x))
    result = solve(minimize(fit, [x >= lower, x <= upper]), seed=0)
    assert (result.success, result.starts) == (True, 1)
    assert result.fun == pytest.approx(least, rel=1e-7)
    bounds = np.full(8, -np.inf), np.full(8, np.inf)
    plain = fewest_jumps_between(np.ones(8), -z, *bounds, lam)
    np.testing.assert_allclose(plain, Jumps(lam).prox(z, 1.0))
    assert solve(minimize(0.5 * sum_squares(x - z) + L0(lam)(diff(x))), seed=0).starts == 1
    assert fewest_jumps_between(np.ones(8), -z, upper, lower, lam) is None


def mixed(seed, n=7, m=11):
    g = np.random.default_rng(seed)
    K = g.standard_normal((m, n))
    return K, K @ np.repeat(3 * g.standard_normal(2), [3, n - 3]) + 0.5 * g.laplace(size=m)


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_entries_are_exchanged_to_the_best_of_all_segmentations(seed):
    K, y = mixed(seed)
    x = Variable(7)
    result = solve(minimize(norm1(K @ x - y) + L0(1.0)(diff(x))), seed=0)
    lowest = min(P.shape[1] - 1 + deviations(K @ P, y) for P in segmentations(7))
    assert result.success
    assert result.fun == pytest.approx(lowest, rel=1e-7)


def test_smooth_losses_too():
    K, y = mixed(5)
    problem = Problem(
        [Block(f=LeastSquares(K, y), h=Jumps(1.0), A=-1.0, shape=7), Block(h=L1(0.1), shape=7)], b=0.0
    )
    plain, exchanged = (
        solve(problem, method=m, presolve=False) for m in (AcceleratedIPDS(), OnStretches(AcceleratedIPDS()))
    )
    assert exchanged.success
    assert exchanged.fun <= plain.fun + 1e-9 * abs(plain.fun)
    assert best_signal(problem) is None


def test_a_state_in_increments_and_back_has_the_same_certificate():
    K, y = mixed(0)
    problem = Problem([Block(h=Jumps(0.5), A=-K, shape=7), Block(h=L1(1.0), shape=11)], b=-y)
    form, method = in_increments(problem), AcceleratedIPDS()
    setup, carry = method.init(problem, *starting_point(problem, None, None, 0))
    for _ in range(12):
        carry, state = method.step(setup, carry)
        there = form.forward(state)
        assert form.problem.objective(there.q) == pytest.approx(problem.objective(state.q))
        assert certify(form.problem, there).feasibility == pytest.approx(
            certify(problem, state).feasibility, abs=1e-12
        )
        back = form.back(there)
        np.testing.assert_allclose(back.x[0], state.x[0], atol=1e-12)
        np.testing.assert_array_equal(np.diff(back.x[0]) != 0, np.diff(state.x[0]) != 0)
        assert certify(problem, back).critical == pytest.approx(certify(problem, state).critical, rel=1e-6)


def test_the_first_value_is_free_of_charge_and_stays():
    face = Increments(2.0, 5).face(np.array([0.0, 0.0, 3.0, 0.0, 0.0]))
    assert list(face.free) == [0, 2]
    assert face.price == 2.0
    (entry, rivals), *others = face.neighbours(np.array([9.0, 1.0, 9.0, 2.0, 5.0]), 2)
    assert (entry, list(rivals)) == (4, [2])
    assert [j for j, _ in others] == [1]  # one in every stretch


def test_a_jump_is_scored_by_how_far_it_moves_a_centred_stretch():
    """|Σ of the gradient over one side| / √(ab/(a+b)), after division by the norm of the column, √(n - i)."""
    g = np.random.default_rng(0).standard_normal(6)
    g -= g.mean()
    face = Increments(1.0, 6).face(np.array([1.0, 0, 0, 0, 0, 0]))
    score = face.pull(np.cumsum(g[::-1])[::-1]) / np.sqrt(6 - np.arange(6))
    wanted = [abs(g[i:].sum()) / np.sqrt(i * (6 - i) / 6) for i in range(1, 6)]
    np.testing.assert_allclose(score[1:], wanted)


def test_what_has_no_stretches():
    square, last = Block(h=Jumps(1.0), A=-1.0, shape=(4, 4)), Block(h=L1(1.0), shape=(4, 4))
    assert not has_stretches(Problem([square, last]), 1)
    assert best_signal(Problem([square, last])) is None
    assert not has_stretches(Problem([Block(h=L0(1.0), A=-1.0, shape=4), Block(h=L1(1.0), shape=4)]), 1)
    bent = Problem([Block(h=Jumps(1.0), A=-1.0, shape=4), Block(h=Huber(1.0), shape=4)])
    assert has_stretches(bent, 1)
    assert best_signal(bent) is None
