"""Parameters and schedules: the corrected inequality, its known solutions, and where none exists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from ipds import AssumptionError, Parameters, solve
from ipds.methods import IPDS
from ipds.methods.schedules import follow_residual, initial_penalty, penalty, smoothing


def margin(p, kappa, smooth):
    """The smallest margin over a grid of modes b, of ℓ ≤ δ, at the best τ of a grid: the definition of sound."""
    omega = 1 + p.xi / (2 * p.sigma) + p.sigma * p.xi
    b = np.linspace(1 / kappa, 1, 41)[:, None, None]
    ell = np.linspace(0, p.delta if smooth else 0, 9)[None, :, None]
    tau = np.r_[1e-6, 1e-3, np.linspace(0.01, 0.99, 400)][None, None, :]
    S = omega * p.sigma / (1 - abs(1 - p.sigma)) ** 2 * kappa / (1 - tau)
    T, nu = p.theta2 * (1 + ell), 2 if smooth else 1
    own = T - ell / 2 - b / 2 - omega / tau * 4 * p.sigma / (2 - p.sigma) ** 2 * (T - b) ** 2 / b
    left = own - np.maximum(0, nu * S - 1 / (2 * p.delta)) * p.delta**2 - nu * S * ell**2
    return left.min(axis=(0, 1)).max()


@pytest.mark.parametrize(
    ("kappa", "sigma", "xi", "smooth", "delta", "theta2"),
    [
        (1, 1, 0.05, False, 0.934, 1.0),
        (1, 1, 0.05, True, 0.268, 0.865),
        (1, 1.618, 0.05, False, 0.220, 1.0),
        (1.5, 1, 0.05, False, 0.280, 0.841),
        (1.8, 1, 0.01, False, 0.0957, 0.781),
        (10, 0.1, 0.005, True, 0.00909, 0.637),
    ],
)
def test_sound_finds_the_known_solutions(kappa, sigma, xi, smooth, delta, theta2):
    p = Parameters.sound("BI", kappa, sigma=sigma, xi=xi, smooth_last=smooth)
    assert p.delta == pytest.approx(delta, rel=0.01)
    assert p.theta2 == pytest.approx(theta2, abs=0.002)
    assert (p.sigma, p.xi, p.theta1, p.p) == (sigma, xi, 1.01, pytest.approx(1 / 3))
    assert p.schedule == "shifted"
    verified = p.verify("BI", kappa, smooth)
    assert verified
    assert verified.margin == min(m for _, m in verified.modes)
    assert [b for b, _ in verified.modes] == [1 / kappa, 1.0]
    assert verified.margin == pytest.approx(margin(p, kappa, smooth), abs=1e-3)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("kappa", [1.0, 1.3])
def test_no_larger_delta_works(kappa, smooth):
    """A grid over (δ, θ₂) finds nothing sound beyond 4% above what `sound` returns."""
    found = Parameters.sound("BI", kappa, smooth_last=smooth)
    for delta in np.linspace(1.04, 3, 8) * found.delta:
        grid = [
            Parameters(xi=found.xi, delta=delta, sigma=found.sigma, theta2=theta2)
            for theta2 in np.linspace(0.5, 1.5, 80)
        ]
        assert max(margin(p, kappa, smooth) for p in grid) < 0


def test_the_paper_s_limit_on_kappa_is_recovered():
    """At σ = 1, as δ and ξ vanish, (b - 1)(b - ½) < 0: every κ < 2, and no more."""
    assert Parameters.sound("BI", 1.99, sigma=1.0, xi=1e-6).verify("BI", 1.99).holds
    with pytest.raises(AssumptionError, match="kappa"):
        Parameters.sound("BI", 2.01, sigma=1.0, xi=1e-6)


@pytest.mark.parametrize(("kappa", "sigma"), [(1.5, 1.618), (3.0, 1.0), (7.0, 1.0)])
def test_sound_says_where_nothing_exists(kappa, sigma):
    with pytest.raises(AssumptionError, match=r"kappa"):
        Parameters.sound("BI", kappa, sigma=sigma, xi=1e-6)


@given(
    kappa=st.floats(1.0, 1.9),
    sigma=st.floats(0.6, 1.9),
    xi=st.floats(1e-4, 3.0),
    condition=st.sampled_from(["BI", "SU"]),
)
@settings(max_examples=60, deadline=None)
def test_sound_returns_what_verifies_or_says_there_is_none(kappa, sigma, xi, condition):
    scale = 1.0 if condition == "BI" else 0.02
    try:
        found = Parameters.sound(condition, kappa, sigma=scale * sigma, xi=scale * xi)
    except AssumptionError:
        grid = [
            Parameters(xi=scale * xi, delta=1e-9, sigma=scale * sigma, theta2=t)
            for t in np.linspace(0.5, 9, 500)
        ]
        assert not any(p.verify(condition, kappa) for p in grid)
    else:
        assert found.verify(condition, kappa).margin > 0


@pytest.mark.parametrize("kappa", [1.0, 2.6, 61.0, 1e4, 1e9])
def test_sound_for_surjective_maps(kappa):
    p = Parameters.sound("SU", kappa)
    assert p.verify("SU", kappa).holds
    assert p.delta >= Parameters.paper("SU", kappa).delta
    assert p.sigma == 1 / kappa


def test_su_chi_equals_the_printed_formula_for_sigma_at_most_one():
    p, kappa = Parameters(xi=0.02, delta=0.03, sigma=0.4, theta2=1.2), 3.0
    q = p.theta2 * (1 + p.delta)
    printed = (
        2
        * p.omega
        * kappa
        / p.sigma
        * ((p.sigma * q) ** 2 + 3 * p.delta**2 + 3 * (p.delta + p.sigma * q) ** 2)
    )
    assert p.chi("SU", kappa) == pytest.approx(printed, rel=1e-12)
    assert p.chi("SU", kappa, corrected=False) == pytest.approx(printed, rel=1e-12)


def test_paper_is_as_printed_and_warns_in_the_bi_case():
    with pytest.warns(UserWarning, match="diverge"):
        p = Parameters.paper_experiments()
    assert (p.p, p.xi, p.delta, p.sigma, p.theta1, p.theta2) == (1 / 3, 0.5, 0.25, 1.618, 1.01, 0.60)
    verified = p.verify("BI", 1.0)
    assert not verified
    assert verified.margin < 0
    assert "margin" in verified.reason
    assert Parameters.paper("SU", 4.0) == Parameters(1 / 3, 0.0025, 0.0025, 0.0025, 1.01, 1.5)
    assert Parameters.paper("SU", 4.0).verify("SU", 4.0).holds


@pytest.mark.filterwarnings("ignore:the paper's BI parameters")
def test_the_printed_formulas_follow_kappa():
    p = Parameters.paper("BI", 1.5)
    assert 0 < p.delta < 1 / 9
    rho = 6 * p.omega * p.sigma1 * 1.5
    assert p.theta2 == pytest.approx((1 / 1.5 - p.delta) / (1 + p.delta) + 1 / (2 * rho * (1 + p.delta) ** 2))
    at_one = Parameters.paper("BI", 1.0)
    assert (at_one.delta, at_one.schedule) == (0.25, "printed")
    assert at_one.theta2 == pytest.approx(0.60, abs=0.003)
    with pytest.raises(AssumptionError, match="kappa < 2"):
        Parameters.paper("BI", 2.0)


def test_the_shifted_schedule_grows_within_the_bound_from_the_start():
    values = np.array([penalty(t, 2.0, 0.3, 1 / 3, "shifted") for t in range(2000)])
    assert values[0] == 2.0
    assert np.all(np.diff(values) > 0)
    assert np.all(values[1:] <= 1.3 * (1 + 1e-12) * values[:-1])
    assert values[1] == pytest.approx(2.6)
    assert np.log(values[1999] / values[199]) / np.log(10) == pytest.approx(1 / 3, abs=0.01)


def test_verify_names_what_fails():
    assert "theta1" in Parameters(theta1=1.0).verify("BI", 1.0).reason
    with pytest.raises(ValueError, match="at least 1"):
        Parameters().verify("BI", 0.5)
    with pytest.raises(ValueError, match="'BI' or 'SU'"):
        Parameters().verify("XX", 1.0)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.618])
def test_linear_stability_of_the_last_block(sigma):
    """With h_n locally linear and A_n = I the pair (x_n, z/β) is stable iff θ > (2+σ)/4."""

    def radius(theta):
        M = [[1 - 1 / theta, -1 / theta], [sigma * (1 - 1 / theta), 1 - sigma / theta]]
        return np.abs(np.linalg.eigvals(np.array(M))).max()

    limit = (2 + sigma) / 4
    assert radius(limit * 1.001) < 1 < radius(limit * 0.999)


def test_practical_parameters_are_stable_and_sound_ones_too():
    for p in (
        Parameters.practical(),
        Parameters.sound("BI", 1.0),
        Parameters.sound("BI", 1.0, sigma=1.618, xi=0.5),
    ):
        assert p.theta2 > (2 + p.sigma) / 4


def test_the_penalty_grows_within_the_bound():
    values = [penalty(t, 2.0, 0.3, 1 / 3) for t in range(2000)]
    ratios = np.array(values[1:]) / values[:-1]
    assert values[0] == 2.0
    assert np.all((ratios > 1) & (ratios <= 1.3))
    assert values[1000] == pytest.approx(2.0 * (1 + 0.3 * 10))
    assert smoothing(4.0, 0.5, 3.0) * 4.0 * 0.5 * 3.0 == pytest.approx(1.0)


def test_the_residual_schedule_grows_only_where_progress_is_slow():
    assert follow_residual(1.0, 0.5, residual=1.0, previous=1.0) == 1.5
    assert follow_residual(1.0, 0.5, residual=0.1, previous=1.0) == 1.0


def test_the_first_penalty_is_free_of_scale():
    base = initial_penalty(3.0, 2.0, 1.0, 0.5)
    assert base == 1.5
    assert initial_penalty(3.0 * 7, 2.0, 1.0, 0.5 * 7) == pytest.approx(7 * base)  # the objective times 7
    assert initial_penalty(3.0 / 7, 2.0 * 7, 1.0, 0.5 / 49) == pytest.approx(base / 49)  # variables times 7
    assert initial_penalty(np.inf, 1.0, 4.0) == initial_penalty(1.0, 0.0, 4.0) == 0.25


def test_parameters_of_a_solve_are_those_in_force():
    result = solve(problems.surjective(2.6), method=IPDS("sound"), max_iter=2)
    assert result.parameters.verify("SU", 2.6).holds
    mine = Parameters(xi=0.2, delta=0.1, theta2=0.9)
    assert solve(problems.robust_regression(), method=IPDS(mine), max_iter=2).parameters is mine


def test_sound_asks_whether_the_last_block_has_a_smooth_term():
    problem = problems.three_blocks(1.7)
    assert problem.check().condition == "BI"
    assert solve(problem, method=IPDS("sound"), max_iter=2).parameters == Parameters.sound(
        "SU", problem.check().kappa, smooth_last=problem.blocks[-1].f is not None
    )
