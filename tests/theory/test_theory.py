"""The decrease inequality E⁺ ≤ Θ - Θ⁺ + U, measured at every iteration; the printed BI parameters break it."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import problems
from ipds import Block, Parameters, Problem, Status, iterate, solve
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.methods import IPDS
from ipds.methods.schedules import penalty
from ipds.theory.certificate import certify
from ipds.theory.descent import decreases
from ipds.theory.potential import decrease, envelope, lagrangian, potential
from problems import start_of, take

ITERATIONS = 1000


def slacks(problem, parameters, condition, count=ITERATIONS, corrected=True):
    """Slack of the inequality over each iteration from t = 1 on, relative to the size of its terms."""
    states = take(iterate(problem, *start_of(problem), IPDS(parameters)), count + 2)
    first = states[0].beta
    out = []
    for triple in zip(states, states[1:], states[2:], strict=False):
        following = penalty(triple[2].t, first, parameters.xi, parameters.p)
        d = decrease(problem, parameters, condition, triple, following, corrected)
        size = max(abs(d.potential), abs(d.following), d.tail, d.energy, 1.0)
        out.append(d.slack / size)
    return np.array(out)


SOUND = {
    "sparse PCA": (problems.sparse_pca, "BI", 1.0, {}),
    "sparse PCA, fast penalty": (problems.sparse_pca, "BI", 1.0, {"xi": 0.5}),
    "sparse PCA, over-relaxed": (problems.sparse_pca, "BI", 1.0, {"sigma": 1.618, "xi": 0.5}),
    "robust regression": (problems.robust_regression, "BI", 1.0, {}),
    "3 blocks": (problems.three_blocks, "BI", 1.0, {}),
    "3 blocks, kappa 1.2": (lambda: problems.three_blocks(1.2), "BI", 1.2, {}),
    "SU, kappa 1": (lambda: problems.surjective(1.0), "SU", 1.0, {}),
    "SU, kappa 2.6": (lambda: problems.surjective(2.6), "SU", 2.6, {}),
    "SU, kappa 15, no smooth term": (lambda: problems.surjective(15.0, smooth=False), "SU", 15.0, {}),
    "SU, kappa 61": (lambda: problems.surjective(61.0, seed=3), "SU", 61.0, {}),
    "SU, 5 blocks": (problems.five_blocks, "SU", 4.0, {}),
}


@pytest.mark.parametrize("case", SOUND)
def test_decrease_holds_at_every_iteration_with_sound_parameters(case):
    build, condition, kappa, options = SOUND[case]
    problem = build()
    smooth = problem.blocks[-1].f is not None
    parameters = Parameters.sound(condition, kappa, smooth_last=smooth, **options)
    assert problem.check().kappa == pytest.approx(kappa)
    assert parameters.verify(condition, kappa, smooth).holds
    states = take(iterate(problem, *start_of(problem), IPDS(parameters)), ITERATIONS)
    slack = [
        d.slack / max(abs(d.potential), abs(d.following), d.tail, d.energy, 1.0)
        for d in decreases(problem, parameters, states)
    ]
    assert len(slack) == ITERATIONS - 3
    assert min(slack) >= -1e-10, f"fails at {np.sum(np.array(slack) < -1e-10)} of {len(slack)} iterations"


@pytest.mark.parametrize("kappa", [2.6, 61.0])
def test_the_printed_su_parameters_are_sound(kappa):
    assert slacks(problems.surjective(kappa), Parameters.paper("SU", kappa), "SU").min() >= -1e-10


def printed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Parameters.paper_experiments()


@pytest.mark.parametrize("build", [problems.sparse_pca, problems.robust_regression, problems.three_blocks])
def test_decrease_fails_with_the_printed_bi_parameters(build):
    problem, parameters = build(), printed()
    assert (
        parameters.theta2 - 0.5 - parameters.chi("BI", 1.0, corrected=False) > 0
    )  # so the paper claims it holds
    assert not parameters.verify("BI", 1.0)
    assert np.mean(slacks(problem, parameters, "BI", count=60, corrected=False) < -1e-3) > 0.9


@pytest.mark.parametrize("build", [problems.sparse_pca, problems.robust_regression])
def test_the_printed_bi_parameters_diverge_and_the_best_point_is_kept(build):
    with pytest.warns(UserWarning, match="diverge"):
        result = solve(build(), method=IPDS("paper"), seed=0, max_iter=20_000)
    assert result.status is Status.DIVERGED
    assert not result.success
    assert all(np.isfinite(block).all() for block in [*result.x, result.z])
    assert math.isfinite(result.certificate.critical)
    assert result.history["iteration"][-1] < 20_000
    assert result.certificate.relative == result.history["relative"].min()


def test_the_envelope_is_the_minimum_it_is_defined_as():
    x, mu = np.array([0.3]), 0.7
    grid = np.linspace(-2, 2, 400_001)
    brute = np.min(1.5 * np.abs(grid) + (grid - x) ** 2 / (2 * mu))
    assert envelope(L1(1.5), x, mu) == pytest.approx(brute, abs=1e-9)


def states_of(problem, parameters, count=3):
    return take(iterate(problem, *start_of(problem), IPDS(parameters, beta0=100.0)), count)


def test_the_lagrangian_is_its_formula():
    problem, p = problems.three_blocks(), Parameters.sound("BI", 1.0)
    state = states_of(problem, p)[-1]
    (a, c, e), (A, C, E) = state.x, problem.blocks
    r = A.A @ a + C.A @ c + 1.5 * e - problem.b
    expected = (
        0.2 * np.count_nonzero(a)
        + 0.5 * np.sum((C.f.G.apply(c) - C.f.y) ** 2)
        + envelope(E.h, e, state.mu)
        + r @ state.z
        + state.beta / 2 * r @ r
    )
    assert lagrangian(problem, state) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("condition", ["BI", "SU"])
def test_the_potential_is_its_formula(condition):
    kappa = 1.2
    problem = problems.three_blocks(kappa) if condition == "BI" else problems.surjective(kappa)
    p = Parameters.sound(condition, kappa)
    before, state = states_of(problem, p)[-2:]
    beta, mu = 77.0, 0.01
    A, L = problem.blocks[-1].A, getattr(problem.blocks[-1].f, "lipschitz", 0.0)
    C_h, step = problem.blocks[-1].h.lipschitz(problem.blocks[-1].shape), state.beta
    dx, dz = state.x[-1] - before.x[-1], state.z - before.z
    u = p.theta2 * (L + step * kappa) * dx - step * A.T @ (A @ dx)  # the eigenvalues of A Aᵀ are 1 … kappa
    omega = 1 + p.xi / (2 * p.sigma) + p.sigma * p.xi
    sigma1 = p.sigma / (1 - abs(1 - p.sigma)) ** 2
    sigma2 = abs(1 - p.sigma) / (p.sigma * (1 - abs(1 - p.sigma)))
    drift = A.T @ dz + (p.sigma * u if condition == "SU" else 0)
    twice, weight = (2, p.sigma) if condition == "SU" else (1, 1)
    expected = (
        lagrangian(problem, state, beta, mu)
        + 0.5 * C_h**2 * mu
        + twice * omega * sigma2 * drift @ drift / beta
        + 3 * twice * omega * sigma1 / beta * (L * np.linalg.norm(dx) + weight * np.linalg.norm(u)) ** 2
    )
    assert potential(problem, p, condition, before, state, beta, mu) == pytest.approx(expected, rel=1e-10)


def test_the_tail_and_energy_are_their_formulas():
    problem, p = problems.sparse_pca(), Parameters.sound("BI", 1.0, sigma=1.3)
    before, state, after = states = tuple(states_of(problem, p))
    d = decrease(problem, p, "BI", states, next_beta=123.0)
    C_h, L = 0.3 * math.sqrt(36), problem.blocks[-1].f.lipschitz
    b = 3 * p.omega * p.sigma1
    # the μ of the step that led to `state` against that of the step after it
    assert before.mu > state.mu > after.mu
    assert d.tail == pytest.approx(C_h**2 * b / after.beta * (state.mu / after.mu - 1) ** 2)
    moved = [np.sum((y - x) ** 2) for x, y in zip(state.x, after.x, strict=True)]
    epsilon2 = p.theta2 - 0.5 - p.chi("BI", 1.0)
    assert d.energy == pytest.approx(
        0.5 * (p.theta1 - 1) * after.beta * moved[0]
        + epsilon2 * (L + after.beta) * moved[1]
        + p.xi / after.beta * np.sum((after.z - state.z) ** 2)
    )


def test_theory_needs_global_lipschitz_constants():
    class Quartic:
        def __call__(self, x):
            return float(np.sum(x**4))

        def grad(self, x):
            return 4 * x**3

    problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(4, 2)), Block(f=Quartic(), h=L1(1.0), shape=(4, 2))])
    states = tuple(states_of(problem, Parameters.sound("BI", 1.0)))
    with pytest.raises(ValueError, match=r"block 'x2'.*Lipschitz"):
        decrease(problem, Parameters.sound("BI", 1.0), "BI", states, 100.0)


def slope_of(parameters, count=1200):
    """Slope of the smallest certificate so far between T = 100 and 1200, in double logarithmic axes."""
    D = np.random.default_rng(3).standard_normal((60, 20))
    blocks = [Block(f=PCAVariance(D), h=Stiefel(), A=-1.0, shape=(20, 3)), Block(h=L1(0.3), shape=(20, 3))]
    problem = Problem(blocks)
    rng = np.random.default_rng(0)
    start = [block.h.prox(rng.standard_normal(block.shape), 1.0) for block in blocks]
    states = take(iterate(problem, start, method=IPDS(parameters)), count)
    t = np.unique(np.geomspace(1, count, 60).astype(int))
    best = np.minimum.accumulate([certify(problem, states[k - 1]).critical for k in t])
    late = t >= 100
    return np.polyfit(np.log(t[late]), np.log(best[late]), 1)[0]


def test_the_promised_order_is_seen_within_a_thousand_iterations_with_the_shifted_schedule():
    sound = Parameters.sound("BI", 1.0, smooth_last=False)
    assert slope_of(sound) == pytest.approx(-1 / 3, abs=0.06)
    assert slope_of(replace(sound, schedule="printed")) > -0.2


@pytest.mark.parametrize("sigma", [0.1, 0.7, 1.0, 1.618])
def test_the_gain_of_the_multiplier_s_recursion(sigma):
    """(4) is an identity, and u of alternating sign attains its γ: no smaller one will do."""
    p, rng = Parameters(sigma=sigma), np.random.default_rng(0)
    s, u = rng.standard_normal((2, 5))
    after, dz = (1 - sigma) * s + sigma * u, sigma * (s - u)
    left = 2 / (2 - sigma) * (s @ s - after @ after) + p.gain * u @ u - dz @ dz / sigma
    assert left == pytest.approx(sigma * np.sum((s + sigma / (2 - sigma) * u) ** 2))
    y, size = 0.0, []
    for k in range(400):
        y = (1 - sigma) * y + sigma * 2 * (-1) ** k
        size.append(abs(y))
    assert size[-1] ** 2 / sigma == pytest.approx(p.gain, rel=1e-6)
