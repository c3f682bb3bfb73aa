"""The accelerated method: its certificate, its carry, what it finds, and what `auto` makes of it."""

from __future__ import annotations

import math
import sys
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.problems import phase

from ipds import AssumptionError, Block, DivergenceError, Problem, Status, iterate, multistart, solve
from ipds.functions import (
    L1,
    L21,
    Cardinality,
    NonNegative,
    Nonsmooth,
    PhaseRetrieval,
    Quadratic,
    Rank,
    Stiefel,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS
from ipds.methods.accelerated import annealing
from ipds.methods.accelerated.annealing import INNER
from ipds.methods.accelerated.method import CEILING, LAG, grow
from ipds.methods.accelerated.reduced import DualStepNorms, evaluate
from ipds.operators import DCT, Sampling
from ipds.solving.starting import starting_point
from ipds.theory.certificate import certificate, certify, subgradients
from problems import lowrank_data, regression_data, subspace_data

RNG = np.random.default_rng(3)


def trade_off(
    d: int = 40, r: int = 4, lam: float = 0.4, calls: dict[str, int] | None = None, quadratic: bool = True
) -> Problem:
    """min -½‖BV‖² + λ‖V‖₁ on the Stiefel manifold, f given as two separate callables."""
    B = np.random.default_rng(0).standard_normal((12, d)) / np.sqrt(12)
    calls = {} if calls is None else calls

    def fun(V):
        calls["value"] = calls.get("value", 0) + 1
        return -0.5 * float(np.vdot(B @ V, B @ V))

    def grad(V):
        calls["grad"] = calls.get("grad", 0) + 1
        return -(B.T @ (B @ V))

    f = smooth(fun, grad, lipschitz=float(np.linalg.norm(B, 2) ** 2), quadratic=quadratic)
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y"), Block(h=L1(lam), shape=(d, r), name="V")]
    )


@pytest.mark.parametrize("effort", ["fast", "balanced", "thorough"])
def test_carried_certificate_equals_one_computed_from_scratch(effort):
    problem = trade_off()
    for state in islice(iterate(problem, method=AcceleratedIPDS(effort), seed=0), 0, 450, 15):
        carried = certify(problem, state)
        s = list(subgradients(problem, state))
        g = problem.blocks[0].f.grad(state.q[0]) + problem.operators[0].adjoint(state.z)
        s[0] = Stiefel().tangent(state.q[0], g) - g
        fresh = certificate(problem, state.q, state.z, s)
        assert carried.feasibility == pytest.approx(fresh.feasibility, rel=1e-9, abs=1e-12)
        assert carried.stationarity == pytest.approx(fresh.stationarity, rel=1e-6, abs=1e-9)


def walk(problem, x0=None, method=None, seed=0):
    """Setup, carry and state after every step."""
    method = method or AcceleratedIPDS()
    setup, carry = method.init(problem, *starting_point(problem, x0, None, seed))
    while True:
        carry, state = method.step(setup, carry)
        yield setup, carry, state


@pytest.mark.parametrize("quadratic", [True, False])
def test_a_function_that_is_said_to_be_quadratic_costs_one_evaluation_per_step(quadratic):
    calls: dict[str, int] = {}
    problem = trade_off(calls=calls, quadratic=quadratic)
    states = iterate(problem, method=AcceleratedIPDS(), seed=0)
    next(states)
    calls.clear()
    list(islice(states, 40))
    assert 40 <= calls["grad"] <= 60  # line searches may add a few
    assert calls.get("value", 0) == (0 if quadratic else calls["grad"])


def leaves(tree, name=""):
    """The names, kinds and shapes of all arrays and numbers of a carry."""
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        for key, part in zip(names, tree, strict=True):
            yield from leaves(part, f"{name}/{key}")
    else:
        yield name, type(tree), getattr(tree, "shape", None), getattr(tree, "dtype", None)


@pytest.mark.parametrize("effort", ["fast", "thorough"])
@pytest.mark.parametrize("case", ["trade-off", "phase", "low rank", "regression"])
def test_a_carry_has_one_structure_from_init_to_the_end(case, effort):
    if case == "phase":
        problem, x0 = phase(40, 120, 5, 10, 0).pose()
    else:
        G, y, _ = regression_data(30, 12, 3, 0)
        M = lowrank_data(400, 2, 0.1, 1.0, 0)[1]
        problem, x0 = (
            {
                "trade-off": trade_off(),
                "low rank": Problem(
                    [Block(h=Rank(2), A=-1.0, shape=(400, 400)), Block(h=L1(1.0), shape=(400, 400))], b=-M
                ),
                "regression": Problem(
                    [Block(h=Cardinality(3), A=-G, shape=12), Block(h=L1(1.0), shape=30)], b=-y
                ),
            }[case],
            None,
        )
    method = AcceleratedIPDS(effort)
    _, carry = method.init(problem, *starting_point(problem, x0, None, 0))
    first = list(leaves(carry))
    names = [name for name, *_ in first]
    assert {"/t", "/x/0", "/gradient/0", "/target", "/search/reference/value", "/stage/beta"} <= set(names)
    assert all(kind is not type(None) or name.startswith("/warm") for name, kind, *_ in first)
    for number, (_, later, _) in enumerate(
        islice(walk(problem, x0, method), 12 if case == "low rank" else 300)
    ):
        assert list(leaves(later)) == first, f"after step {number + 1}"
        assert later.t == number + 1


def test_a_step_is_pure_and_a_carry_continues_a_run_to_the_same_bits():
    problem = trade_off()
    method = AcceleratedIPDS("thorough")
    setup, carry = method.init(problem, *starting_point(problem, None, None, 0))
    carries, states = [], []
    for _ in range(150):
        carries.append(carry)
        carry, state = method.step(setup, carry)
        states.append(state)
    fresh, _ = method.init(problem, *starting_point(problem, None, None, 0))
    for k in (0, 9, 10, 60, 101, 120):  # within stages, at their ends, in an annealing
        again, state = method.step(fresh, carries[k])
        assert np.array_equal(state.x[0], states[k].x[0])
        assert np.array_equal(state.z, states[k].z)
        assert np.array_equal(again.gradient[0], carries[k + 1].gradient[0])
        assert again.search == carries[k + 1].search
        assert again.stage == carries[k + 1].stage


@pytest.mark.parametrize("effort", ["fast", "thorough"])
def test_the_gradient_carried_is_that_of_the_stage(effort):
    """After every step, with or without a dual step, the carry holds ∇Φ for its own (z, β, μ) at its own x."""
    turns = 0
    for setup, carry, state in islice(walk(trade_off(), method=AcceleratedIPDS(effort)), 200):
        point = evaluate(setup.phi(carry.stage), carry.x, carry.target, setup.schedule.smoothing(carry.stage))
        np.testing.assert_allclose(carry.gradient[0], point.gradient[0], rtol=1e-9, atol=1e-9)
        if carry.search.inner == 0:
            turns += 1
            assert carry.search.reference.value == pytest.approx(point.value, rel=1e-12)
            if (
                not carry.stage.cooling and not state.transient and carry.stage.cycle < 0
            ):  # a dual step: z ← z⁺
                z = carry.stage.beta * (setup.reduced.b - carry.target)
                np.testing.assert_allclose(z, state.z, rtol=1e-9, atol=1e-12)
    assert turns >= 15


def test_cooling_keeps_the_multiplier():
    problem, method = trade_off(), AcceleratedIPDS("fast", beta0=0.01)
    x0, z0 = starting_point(problem, None, np.random.default_rng(1).standard_normal((40, 4)), 0)
    setup, carry = method.init(problem, x0, z0)
    cooled = 0
    while carry.stage.cooling:
        before = carry.stage
        carry, _ = method.step(setup, carry)
        cooled += carry.stage.cooling and carry.stage != before
        if carry.stage.cooling:
            z = carry.stage.beta * (setup.reduced.b - carry.target)
            np.testing.assert_allclose(z, z0, rtol=1e-9, atol=1e-9)
    assert cooled > 3


def test_an_annealing_starts_from_the_best_point_so_far_without_a_multiplier():
    problem = trade_off(d=80, r=8)
    before, best, seen = -1, math.inf, []
    for setup, carry, state in islice(walk(problem, method=AcceleratedIPDS("thorough"), seed=3), 1500):
        if carry.stage.cycle > before:
            value = problem.objective(problem.restore(state.x))
            seen.append(value)
            best, before = min(best, value), carry.stage.cycle
            assert carry.incumbent.value == pytest.approx(best, rel=1e-9)
            assert carry.x is carry.incumbent.x
            assert problem.objective(problem.restore((*carry.x, None))) == pytest.approx(best, rel=1e-9)
            np.testing.assert_array_equal(carry.target, 0.0)
            hot = setup.schedule.cycle_of(carry.stage).hot
            assert setup.schedule.smoothing(carry.stage) == pytest.approx(hot * setup.schedule.unit)
    assert len(seen) > 3
    assert any(later > earlier for earlier, later in pairwise(seen))  # some annealing was in vain


def test_growth_of_the_penalty():
    setup, carry = AcceleratedIPDS("fast").init(trade_off(), *starting_point(trade_off(), None, None, 0))
    stage = carry.stage._replace(cooling=False, feasibility=1.0)

    def beta(residual, stationarity, **changes):
        norms = DualStepNorms(residual, 10.0, (10.0,))
        return (
            grow(setup, stage._replace(**changes), norms, stationarity).beta / stage._replace(**changes).beta
        )

    assert beta(0.9, 0.1) == pytest.approx(setup.growth)  # less than a fifth was gained
    assert beta(LAG - 0.01, 0.1) == 1.0
    assert beta(0.9, 8.0) == pytest.approx(setup.growth)  # at first the constraint may hurry ahead,
    assert beta(0.9, 8.0, rounds=101) == 1.0  # in the long run not
    assert beta(0.9, 10.0) == 1.0  # and never by more than a factor of ten
    assert beta(1e-14, 0.0, feasibility=0.0) == 1.0  # rounding
    assert beta(0.9, 0.1, beta=2 * CEILING * setup.beta0) == 1.0
    after = grow(setup, stage, DualStepNorms(0.5, 10.0, (10.0,)), 0.1)
    assert (after.feasibility, after.relative, after.rounds) == (0.5, 0.05, stage.rounds + 1)
    assert after.tolerance == pytest.approx(0.7 * stage.tolerance)


def test_a_stage_ends_after_a_few_steps_or_once_little_is_left():
    G, y, _ = regression_data(60, 30, 4, 0)
    problem = Problem([Block(h=Cardinality(4), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)
    inner = [carry.search.inner for _, carry, _ in islice(walk(problem), 300)]
    assert max(inner) == INNER - 1
    lengths = [before + 1 for before, after in pairwise(inner) if after == 0]
    assert INNER in lengths
    assert min(lengths) < INNER


def test_a_quartic_given_as_two_callables_is_not_mistaken_for_a_quadratic():
    f = smooth(lambda x: float(np.sum(x**4)), lambda x: 4 * x**3)
    problem = Problem([Block(f=f, A=-1.0, shape=5), Block(h=L1(4.0), shape=5)], b=0.0)
    result = solve(problem, [np.full(5, 3.0)] * 2, tol=1e-8)
    assert result.success
    np.testing.assert_allclose(result.x[1], 0, atol=1e-6)


def test_regression_finds_the_support_among_outliers():
    for seed in range(5):
        G, y, v = regression_data(120, 60, 6, seed)
        blocks = [Block(h=Cardinality(6), A=-G, shape=60), Block(h=L1(1.0), shape=120)]
        result = solve(Problem(blocks, b=-y))
        assert result.success
        assert set(np.flatnonzero(result.x[0])) == set(np.flatnonzero(v))


def test_dual_pcp_finds_the_normals():
    for seed in range(5):
        G, normals = subspace_data(20, 2, 150, 100, seed)
        start = np.linalg.eigh(G.T @ G)[1][:, :2]
        problem = Problem([Block(h=Stiefel(), A=-G, shape=(20, 2)), Block(h=L21(1.0), shape=(250, 2))])
        V = solve(problem, [start, G @ start], tol=1e-6).x[0]
        assert np.linalg.norm(V - normals @ (normals.T @ V), 2) < 1e-5


@pytest.mark.parametrize("observed", [1.0, 0.7])
def test_low_rank_is_recovered_exactly_from_gross_errors(observed):
    for seed in range(3):
        L, M, mask = lowrank_data(60, 3, 0.15, observed, seed)
        blocks = [
            Block(h=Rank(3), A=Sampling(mask), shape=M.shape),
            Block(h=L1(1.0), A=-1.0, shape=(int(mask.sum()),)),
        ]
        result = solve(Problem(blocks, b=M[mask]), tol=1e-8)
        assert np.linalg.norm(result.x[0] - L) <= 1e-6 * np.linalg.norm(L)


def test_eliminates_a_set_where_that_is_the_only_choice():
    G = RNG.standard_normal((60, 8))
    v = np.array([0.0, 1.0, 0, 0, -0.5, 0, 0, 0])
    D = np.eye(8)[[1, 4]] * np.array([[1.0], [-1.0]])
    blocks = [
        Block(h=NonNegative(), shape=2, name="y"),
        Block(f=PhaseRetrieval(G, (G @ v) ** 2), h=L1(1e-3), A=-D, shape=8, name="v"),
    ]
    result = solve(Problem(blocks), [np.ones(2), v + 0.1], tol=1e-6)
    assert result.success
    np.testing.assert_allclose(result.x[1], v, atol=1e-3)


def test_eliminates_a_block_behind_an_isometry():
    """Least absolute deviations of the cosine coefficients: the same answer as with the plain formulation."""
    G, y = RNG.standard_normal((16, 5)), RNG.standard_normal(16)
    transform = DCT()
    coefficients = np.stack([transform.adjoint(column) for column in G.T], axis=1)
    behind = Problem([Block(A=-G, shape=5), Block(h=L1(1.0), A=2.0 * transform, shape=16)], b=-y)
    plain = Problem([Block(A=-coefficients, shape=5), Block(h=L1(0.5), shape=16)], b=-transform.adjoint(y))
    result, reference = solve(behind, method=AcceleratedIPDS(), tol=1e-7), solve(plain, tol=1e-7)
    assert result.success
    np.testing.assert_allclose(result.x[0], reference.x[0], atol=1e-4)


def test_a_smooth_term_of_the_eliminated_block_moves_to_the_others():
    """The paper states sparse PCA with f on V; that must be as good as with f on Y, for another multiplier."""
    on_y = trade_off()
    Y, V = on_y.blocks
    on_v = Problem(
        [Block(h=Y.h, A=Y.A, shape=Y.shape, name="Y"), Block(f=Y.f, h=V.h, shape=V.shape, name="V")]
    )
    start = [Stiefel().prox(np.random.default_rng(2).standard_normal(Y.shape), 1.0)] * 2
    for plain, moved in islice(zip(iterate(on_y, start), iterate(on_v, start), strict=False), 60):
        np.testing.assert_allclose(moved.x[0], plain.x[0], atol=1e-7)
    result = solve(on_v, start, tol=1e-7)
    assert result.method.startswith("auto: AcceleratedIPDS")
    assert result.success
    recomputed = certificate(on_v, result.x, result.z, subgradients(on_v, result.state)).stationarity[1]
    assert recomputed <= 1e-5  # ∇f_V + s + z = 0 in block V as stated


def test_annealing_never_loses_the_best_point():
    problem = trade_off(d=80, r=8)
    for seed in range(3):
        result = solve(problem, method=AcceleratedIPDS("balanced"), seed=seed, tol=0.0, max_iter=6000)
        history = result.history
        before = history["objective"][history["iteration"] <= 450][-1]
        assert result.fun <= before + 1e-6 * abs(before)
        assert result.certificate.relative < 1e-3  # and it is sharpened again at the end


def test_a_run_stopped_while_annealing_returns_the_best_point_seen():
    problem = trade_off(d=80, r=8)
    seen: list[float] = []
    result = solve(problem, seed=0, tol=0.0, max_iter=520, callback=lambda r: seen.append(r.fun))
    assert result.status is Status.MAX_ITER
    assert result.fun == min(seen) < seen[-1]  # the last point is smoothed on purpose
    assert result.fun == pytest.approx(problem.objective(problem.restore(result.x)), rel=1e-9)


def test_thorough_effort_goes_on_past_the_first_certified_point():
    problem = trade_off()
    quick = solve(problem, method=AcceleratedIPDS("balanced"), seed=0)
    patient = solve(problem, method=AcceleratedIPDS("thorough"), seed=0)
    assert quick.success
    assert patient.success
    assert patient.nit > quick.nit + 1000
    assert patient.fun <= quick.fun + 1e-4 * abs(quick.fun)


def test_penalty_stops_growing_once_feasible():
    G, y, _ = regression_data(60, 30, 4, 0)
    problem = Problem([Block(h=Cardinality(4), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)
    for method in (IPDS("practical"), AcceleratedIPDS()):
        states = list(islice(iterate(problem, method=method), 3000))
        betas = np.array([state.beta for state in states])
        assert betas[-1] <= 1.2 * betas[-500]
        assert betas[-1] < 1e5 * np.sqrt(60) / np.linalg.norm(y)  # in units of C_h/‖x_n‖
    practical = [state.beta for state in islice(iterate(problem, method=IPDS("practical")), 300)]
    ratio = np.divide(practical[1:], practical[:-1])
    assert np.all(ratio <= 1.05 + 1e-12)  # the paper's bound β⁺ ≤ (1+ξ)β with the practical ξ


def test_no_block_to_eliminate_is_an_error_with_advice():
    G = RNG.standard_normal((5, 5))
    problem = Problem([Block(h=L1(1.0), A=G, shape=5), Block(h=L1(1.0), A=G.T, shape=5)])
    with pytest.raises(AssumptionError, match=r"convex h and A = c·I \(or an isometry\)"):
        solve(problem, method=AcceleratedIPDS(), presolve=False)
    assert solve(problem, method="auto").success  # presolve makes a block of the equation


@pytest.mark.parametrize("kwargs", [{"effort": "lazy"}, {"beta0": 0.0}, {"beta0": np.nan}])
def test_bad_settings_are_refused(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        AcceleratedIPDS(**kwargs)


class Explosive(Nonsmooth):
    """A prox that is wrong in a way no method survives."""

    is_convex = True

    def __call__(self, x):
        return 0.0

    def prox(self, v, step):
        return 1e3 * v + 1.0

    def lipschitz(self, shape):
        return 1.0


def test_auto_raises_only_when_every_method_diverges():
    concave = Quadratic(-1e-9 * np.eye(3))  # so that Newton's method, which no number overflows, is not tried
    problem = Problem([Block(f=concave, h=Explosive(), A=-1.0, shape=3), Block(h=Explosive(), shape=3)])
    with pytest.raises(DivergenceError, match="every method diverged") as caught:
        solve(problem)
    assert np.all(np.isfinite(caught.value.result.x[0]))
    assert caught.value.result.status is Status.DIVERGED


def test_sparse_pca_reaches_the_floor_from_any_first_penalty():
    """Where ρ dominates, coordinate vectors are optimal and ‖V‖₁ = r; the printed method misses that by far."""
    rho, r = 5.0, 4
    for beta0 in (None, 10 * rho, 50 * rho, 100 * rho, 500 * rho):
        result = solve(trade_off(lam=rho, r=r), method=AcceleratedIPDS(beta0=beta0), seed=0, tol=1e-7)
        assert result.success
        assert np.abs(result.x[0]).sum() == pytest.approx(r, rel=1e-6)


def test_multistart_sorts_its_answers_and_reports_their_spread():
    found = multistart(trade_off(), 4, seed=1, n_jobs=1)
    assert len(found.results) == 4
    assert found.best.fun == found.funs[0] == found.funs.min()
    assert found.spread >= 0
    assert "4 starts" in str(found)
    again = multistart(trade_off(), 4, seed=1, n_jobs=1)
    np.testing.assert_array_equal(found.funs, again.funs)
    with pytest.raises(ValueError, match="n must be a positive integer"):
        multistart(trade_off(), 0)


def test_a_heavier_penalty_at_first_finds_better_minima(monkeypatch):
    """Phase retrieval from a spectral start: the quartic f is far from convex there."""
    found = {}
    for heavy in (0.0, 0.1, 3.0):
        monkeypatch.setattr(annealing, "HEAVY", heavy)
        cases = [phase(300, 300, 10, 30, seed) for seed in (0, 2, 3)]
        results = [(case, solve(*case.pose(), max_iter=300)) for case in cases]
        found[heavy] = [case.good(result.x[1]) for case, result in results]
    assert found[0.1] == [True] * 3
    assert found[0.0] == [False] * 3
    assert found[3.0] == found[0.0]  # so heavy that all vanishes: back to the start, without


def test_weights_fade_and_are_honest_until_they_have():
    problem, x0 = phase(300, 300, 10, 30, 0).pose()
    method = AcceleratedIPDS()
    weights, states = [method.init(problem, *starting_point(problem, x0, None, 0))[1].stage.weights], []
    for _, carry, state in islice(walk(problem, x0), 120):
        weights.append(carry.stage.weights)
        states.append(state)
    assert weights[0][0] > 2
    assert weights[-1] == (1.0,)
    assert all(later <= earlier for earlier, later in pairwise(weights))
    assert [state.settled for state in states] == [weight == (1.0,) for weight in weights[:-1]]
    for state in states[:60:7]:
        s = subgradients(problem, state)[1]
        assert np.max(np.abs(s)) <= problem.blocks[1].h.lam * (1 + 1e-9)  # of h itself, not of a multiple


def test_weights_only_where_the_curvature_of_f_is_unknown_and_h_bends():
    problem, x0 = phase(40, 120, 5, 10, 0).pose()
    v = problem.blocks[1]
    tame = smooth(v.f, v.f.grad, lipschitz=1e4)
    free = Block(f=v.f, h=NonNegative(), A=v.A, shape=v.shape)
    for block, heavy in ((v, True), (Block(f=tame, h=v.h, A=v.A, shape=v.shape), False), (free, False)):
        _, carry, _ = next(walk(Problem([problem.blocks[0], block]), x0))
        assert carry.stage.heavy == heavy


def test_annealing_softens_h(monkeypatch):
    """The multiplier of a softened state is still the one that x̆ certifies."""
    problem = trade_off()
    method, softened = AcceleratedIPDS("thorough"), []
    setup, carry = method.init(problem, *starting_point(problem, None, None, 0))
    for _ in range(400):
        soft = setup.phi(carry.stage).soft
        carry, state = method.step(setup, carry)
        softened += [state] if soft else []
    assert len(softened) > 50
    for state in softened[::25]:
        assert state.transient
        s = -state.z  # A = 1
        inside = np.abs(state.x_breve) < 1e-12
        np.testing.assert_allclose(
            s[~inside], problem.blocks[1].h.lam * np.sign(state.x_breve[~inside]), rtol=1e-9
        )
        assert np.max(np.abs(s)) <= problem.blocks[1].h.lam * (1 + 1e-9)
    monkeypatch.setattr(L1, "soften", Nonsmooth.soften)
    plain = list(islice(iterate(problem, method=AcceleratedIPDS("thorough"), seed=0), 400))
    assert not np.allclose(plain[-1].x[0], softened[-1].x[0])
