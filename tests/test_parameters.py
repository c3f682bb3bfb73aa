"""Parameters and schedules: the corrected inequality, its known solutions, and where none exists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from ipds import AssumptionError, Parameters, solve
from ipds.methods import IPDS
from ipds.methods.schedules import follow_residual, initial_penalty, penalty, smoothing


def corrected_margin(p, kappa):
    """θ₂ - ½ - ϱ(δ + q̂)² written out: the definition of sound in the BI case."""
    omega = 1 + p.xi / (2 * p.sigma) + p.sigma * p.xi
    rho = 6 * omega * kappa * p.sigma / (1 - abs(1 - p.sigma)) ** 2
    q = max(p.theta2 * (1 + p.delta) - 1 / kappa, 1 - p.theta2)
    return p.theta2 - 0.5 - rho * (p.delta + q) ** 2


@pytest.mark.parametrize(
    ("kappa", "sigma", "xi", "delta", "theta2"),
    [
        (1, 1, 0.05, 0.17, 0.92),
        (1, 1, 0.5, 0.13, 0.94),
        (1, 1.618, 0.5, 0.039, 0.98),
        (1.2, 1, 0.05, 0.09, 0.88),
    ],
)
def test_sound_finds_the_known_solutions(kappa, sigma, xi, delta, theta2):
    p = Parameters.sound("BI", kappa, sigma=sigma, xi=xi)
    assert p.delta == pytest.approx(delta, rel=0.07)
    assert p.theta2 == pytest.approx(theta2, abs=0.01)
    assert (p.sigma, p.xi, p.theta1, p.p) == (sigma, xi, 1.01, pytest.approx(1 / 3))
    verified = p.verify("BI", kappa)
    assert verified
    assert verified.margin == pytest.approx(corrected_margin(p, kappa), rel=1e-9)


@pytest.mark.parametrize("kappa", [1.0, 1.3])
def test_no_larger_delta_works(kappa):
    """A grid over (δ, θ₂) finds nothing sound beyond 3% above what `sound` returns."""
    found = Parameters.sound("BI", kappa)
    for delta in np.linspace(1.03, 4, 40) * found.delta:
        grid = [
            Parameters(xi=0.05, delta=delta, sigma=1.0, theta2=theta2)
            for theta2 in np.linspace(0.5, 1.5, 400)
        ]
        assert max(corrected_margin(p, kappa) for p in grid) < 0


@pytest.mark.parametrize(
    ("kappa", "sigma"), [(1.58, 1.0), (1.21, 1.618), (1.99, 1.0), (2.0, 1.0), (7.0, 1.0)]
)
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


@pytest.mark.parametrize(("kappa", "sigma"), [(1.56, 1.0), (1.17, 1.618)])
def test_sound_exists_up_to_the_limit(kappa, sigma):
    assert Parameters.sound("BI", kappa, sigma=sigma, xi=1e-6).verify("BI", kappa).holds


@pytest.mark.parametrize("kappa", [1.0, 2.6, 61.0, 1e4, 1e9])
def test_sound_for_surjective_maps(kappa):
    p = Parameters.sound("SU", kappa)
    assert p.verify("SU", kappa).holds
    assert (
        p.delta >= Parameters.paper("SU", kappa).delta
    )  # the printed choice is sound, ours is the largest δ
    with pytest.raises(AssumptionError, match="sigma closer to 0"):
        Parameters.sound("SU", kappa, sigma=1.0)


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
        p = Parameters.paper("BI", 1.0)
    assert (p.p, p.xi, p.delta, p.sigma, p.theta1, p.theta2) == (1 / 3, 0.5, 0.25, 1.618, 1.01, 0.60)
    verified = p.verify("BI", 1.0)
    assert not verified
    assert verified.margin < 0
    assert "chi" in verified.reason
    assert Parameters.paper("SU", 4.0) == Parameters(1 / 3, 0.0025, 0.0025, 0.0025, 1.01, 1.5)
    assert Parameters.paper("SU", 4.0).verify("SU", 4.0).holds


def test_verify_names_what_fails():
    assert "kappa < 2" in Parameters().verify("BI", 2.5).reason
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


def test_a_bijective_map_beyond_the_bi_limit_is_treated_as_surjective():
    problem = problems.three_blocks(1.7)
    assert problem.check().condition == "BI"
    assert solve(problem, method=IPDS("sound"), max_iter=2).parameters == Parameters.sound(
        "SU", problem.check().kappa
    )
