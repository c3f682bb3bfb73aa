"""The fixed-penalty family: agreement with CVXPY inside the theorems, refusal outside them."""

import cvxpy as cp
import numpy as np
import pytest

import problems
from ipds import AssumptionError, Block, Parameters, Problem, iterate, solve
from ipds.functions import L0, L1, Box, Cardinality, LeastSquares, Quadratic, Stiefel, smooth
from ipds.methods import FixedPenaltyADMM
from ipds.methods.baselines.fixed_penalty import THETA, OutsideTheoremWarning
from ipds.theory.certificate import certify
from ipds.theory.theorems import PRESETS


def data(seed, m=30, d=12):
    g = problems.rng(seed)
    G = g.standard_normal((m, d)) / np.sqrt(m)
    return g, G, G @ g.standard_normal(d) + 0.1 * g.standard_normal(m)


def lasso():
    _, G, y = data(1)
    x = cp.Variable(12)
    blocks = [Block(f=LeastSquares(G, y), A=-1.0, shape=12), Block(h=L1(0.1), shape=12)]
    return Problem(blocks), 0.5 * cp.sum_squares(G @ x - y) + 0.1 * cp.norm1(x), []


def lasso_over_the_data():
    _, G, y = data(2)
    x = cp.Variable(12)
    blocks = [Block(h=L1(0.1), A=-G, shape=12), Block(f=LeastSquares(np.eye(30), y), shape=30)]
    return Problem(blocks), 0.5 * cp.sum_squares(G @ x - y) + 0.1 * cp.norm1(x), []


def two_smooth():
    g, G, y = data(3)
    x, Q = cp.Variable(12), np.diag(g.uniform(0.5, 2.0, 12))
    c = g.standard_normal(12)
    blocks = [Block(f=LeastSquares(G, y), A=-1.0, shape=12), Block(f=Quadratic(Q, c), shape=12)]
    return Problem(blocks), 0.5 * cp.sum_squares(G @ x - y) + 0.5 * cp.quad_form(x, Q) + c @ x, []


def wide():
    g, _, _ = data(4)
    A, B, t = problems.conditioned(5, 9, 1.5), g.standard_normal((5, 4)), g.standard_normal(9)
    u, w = cp.Variable(4), cp.Variable(9)
    blocks = [Block(h=L1(0.3), A=B, shape=4), Block(f=LeastSquares(np.eye(9), t), A=A, shape=9)]
    return Problem(blocks, b=1.0), 0.3 * cp.norm1(u) + 0.5 * cp.sum_squares(w - t), [B @ u + A @ w == 1.0]


def tall():
    """A_n injective, not surjective; the image of A_1 lies in that of A_n."""
    g, _, _ = data(5)
    A = g.standard_normal((9, 5))
    B, t = A @ g.standard_normal((5, 3)), g.standard_normal(5)
    u, w = cp.Variable(3), cp.Variable(5)
    blocks = [Block(h=L1(0.3), A=B, shape=3), Block(f=LeastSquares(np.eye(5), t), A=A, shape=5)]
    return Problem(blocks), 0.3 * cp.norm1(u) + 0.5 * cp.sum_squares(w - t), [B @ u + A @ w == 0]


def three():
    _, G, y = data(6)
    u, v = cp.Variable(12), cp.Variable(30)
    blocks = [
        Block(h=L1(0.1), A=-G, shape=12),
        Block(h=Box(-0.2, 0.2), A=-1.0, shape=30),
        Block(f=LeastSquares(np.eye(30), y), shape=30),
    ]
    cost = 0.5 * cp.sum_squares(G @ u + v - y) + 0.1 * cp.norm1(u)
    return Problem(blocks), cost, [cp.abs(v) <= 0.2]


CASES = {
    lasso: {"he-yuan-2012"},
    lasso_over_the_data: set(PRESETS) - {"yang-2017", "yashtini-2021"},
    two_smooth: {"he-yuan-2012", "yashtini-2020", "yashtini-2021", "wang-2019"},
    wide: {"he-yuan-2012", "li-pong-2015", "bot-2019"},
    tall: {"he-yuan-2012", "wang-2019"},
    three: {"yang-2017", "wang-2019", "huang-2019"},
}


@pytest.mark.parametrize("build", CASES)
def test_each_preset_applies_where_its_row_says(build):
    table = build()[0].check().methods
    assert {key for key, theorem in PRESETS.items() if theorem.name in table.guaranteed} == CASES[build]


@pytest.mark.parametrize("build", CASES)
def test_every_applicable_preset_agrees_with_cvxpy(build):
    problem, cost, constraints = build()
    optimum = cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
    for preset in CASES[build]:
        result = solve(problem, method=FixedPenaltyADMM(preset), tol=1e-6, max_iter=20_000, seed=0)
        assert result.success, (preset, result)
        assert result.fun == pytest.approx(optimum, rel=1e-4, abs=1e-5), preset


@pytest.mark.parametrize("sigma", [1.0, 1.3])
def test_nonconvex_inside_a_theorem(sigma):
    """Boţ & Nguyen: an ℓ0 block before a nonconvex smooth one, A = I."""
    problem = Problem([Block(h=L0(0.1), A=-1.0, shape=8), Block(f=problems.concave(8), h=None, shape=8)])
    bounded = Problem([Block(h=Box(-1, 1), A=-1.0, shape=8), Block(f=problems.concave(8), shape=8)])
    assert "FixedPenaltyADMM('bot-2020')" in problem.check().methods.guaranteed
    result = solve(
        bounded, method=FixedPenaltyADMM("bot-2020", sigma=sigma), tol=1e-6, max_iter=20_000, seed=0
    )
    assert result.success, result


@pytest.mark.parametrize(
    ("preset", "build", "missing"),
    [
        ("he-yuan-2012", problems.robust_regression, "f_i, h_i convex"),
        ("he-yuan-2012", problems.three_blocks, "n = 2"),
        ("li-pong-2015", problems.sparse_pca, "h_n = 0"),
        ("yang-2017", lambda: two_smooth()[0], "n = 3; f_i = 0 for i < n"),
        ("yashtini-2020", lambda: wide()[0], "A_n bijective"),
        ("yashtini-2021", lambda: lasso_over_the_data()[0], "h_i = 0 for i < n"),
        ("wang-2019", lambda: wide()[0], "A_n injective"),
        ("bot-2020", lambda: wide()[0], "A_n = c·I"),
        ("bot-2019", lambda: tall()[0], "A_n surjective"),
        ("huang-2019", lambda: two_smooth()[0], "f_i = 0 for i < n"),
    ],
)
def test_a_preset_refuses_and_names_what_fails_or_warns_when_forced(preset, build, missing):
    problem = build()
    with pytest.raises(AssumptionError, match=missing):
        solve(problem, method=FixedPenaltyADMM(preset))
    with pytest.warns(OutsideTheoremWarning, match="without a guarantee"):
        state = next(iterate(problem, method=FixedPenaltyADMM(preset, force=True), seed=0))
    assert np.isfinite(certify(problem, state).critical)


def test_the_image_condition_is_tried_not_assumed():
    g = problems.rng(0)
    blocks = [
        Block(h=L1(1.0), A=g.standard_normal((9, 3)), shape=3),
        Block(f=Quadratic(np.eye(5)), A=g.standard_normal((9, 5)), shape=5),
    ]
    assert "Im A_i in Im A_n" in Problem(blocks).check().methods.named("FixedPenaltyADMM('wang-2019')").lacks
    he = Problem(blocks, b=g.standard_normal(9)).check().methods.named("FixedPenaltyADMM('he-yuan-2012')")
    assert he.lacks == ("b in the image of A",)


def test_other_nonconvex_sets_are_not_prox_regular():
    for h, fits in [(Cardinality(2), False), (Stiefel(), True), (L1(1.0), True)]:
        blocks = [Block(h=h, A=-1.0, shape=(4, 2)), Block(f=Quadratic(np.eye(4)), shape=(4, 2))]
        row = Problem(blocks).check().methods.named("FixedPenaltyADMM('wang-2019')")
        assert row.guarantee == fits


def test_a_local_gradient_is_outside_every_theorem():
    f = smooth(lambda x: float(np.sum(x**4)), lambda x: 4 * x**3)
    problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(f=f, shape=3)])
    with pytest.raises(AssumptionError, match="∇f_i Lipschitz"):
        solve(problem, method=FixedPenaltyADMM("bot-2020"))


def test_penalty_and_weights_are_those_of_the_decrease_inequality():
    """β = L_n/(δλ̄), w_n = θ_n(L_n + β‖A_n‖²) by `Parameters.sound`; a block without f and with an isometry is exact."""
    problem, _, _ = lasso_over_the_data()
    setup, _ = FixedPenaltyADMM("li-pong-2015").init(problem, (np.zeros(12), np.zeros(30)), np.zeros(30))
    found, sound = setup.constants, Parameters.sound("BI", 1.0, 1.0, 0.0)
    assert found.beta == pytest.approx(1 / sound.delta)
    assert found.weights[1] == pytest.approx(sound.theta2 * (1 + found.beta))
    assert found.weights[0] == pytest.approx(THETA * found.beta * problem.operators[0].norm() ** 2)
    exact = Problem([Block(h=L1(0.1), A=-2.0, shape=30), problem.blocks[1]])
    setup, _ = FixedPenaltyADMM("li-pong-2015").init(exact, (np.zeros(30), np.zeros(30)), np.zeros(30))
    assert setup.constants.weights[0] == pytest.approx(4 * found.beta)


def test_settings_are_checked():
    for make in (
        lambda: FixedPenaltyADMM("nobody-1999"),
        lambda: FixedPenaltyADMM("li-pong-2015", sigma=1.5),
        lambda: FixedPenaltyADMM("bot-2019", sigma=1.0),
        lambda: FixedPenaltyADMM("bot-2020", sigma=2.0),
        lambda: FixedPenaltyADMM("yang-2017", sigma=1.62),
        lambda: FixedPenaltyADMM(beta=-1.0),
    ):
        with pytest.raises(ValueError, match="FixedPenaltyADMM"):
            make()
    assert FixedPenaltyADMM("bot-2019", sigma=1.0, force=True).sigma == 1.0


def test_steps_are_pure_and_the_certificate_bounds_the_criticality():
    problem = lasso_over_the_data()[0]
    method = FixedPenaltyADMM("li-pong-2015")
    x0, z0 = problems.start_of(problem)
    copies = [x.copy() for x in (*x0, z0)]
    setup, carry = method.init(problem, tuple(x0), z0)
    f, G = problem.blocks[1].f, -problem.operators[0].matrix
    for _ in range(20):
        _, again = method.step(setup, carry)
        carry, state = method.step(setup, carry)
        np.testing.assert_array_equal(again.z, state.z)
        x, r = state.q
        s = -G.T @ state.z
        inside = np.maximum(np.abs(s) - 0.1, 0)
        crit = np.linalg.norm(np.where(x == 0, inside, s + 0.1 * np.sign(x)))
        crit += np.linalg.norm(f.grad(r) + state.z) + np.linalg.norm(r - G @ x)
        assert crit <= certify(problem, state).critical * (1 + 1e-9)
    for before, after in zip(copies, (*x0, z0), strict=True):
        np.testing.assert_array_equal(before, after)
