"""The accelerated method: its reduced function, its certificate, what it finds, and what `auto` makes of it."""

from __future__ import annotations

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
    LeastSquares,
    NonNegative,
    Nonsmooth,
    PhaseRetrieval,
    Rank,
    Stiefel,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS, accelerated
from ipds.methods.accelerated.reduction import eliminable, eliminate, evaluate
from ipds.operators import DCT, Sampling
from ipds.theory.diagnostics import certificate, certify, subgradients
from problems import lowrank_data, regression_data, subspace_data

RNG = np.random.default_rng(3)


def trade_off(d: int = 40, r: int = 4, lam: float = 0.4, calls: dict[str, int] | None = None) -> Problem:
    """min -½‖BV‖² + λ‖V‖₁ on the Stiefel manifold, f given as two separate callables."""
    B = np.random.default_rng(0).standard_normal((12, d)) / np.sqrt(12)
    calls = {} if calls is None else calls

    def fun(V):
        calls["value"] = calls.get("value", 0) + 1
        return -0.5 * float(np.vdot(B @ V, B @ V))

    def grad(V):
        calls["grad"] = calls.get("grad", 0) + 1
        return -(B.T @ (B @ V))

    f = smooth(fun, grad, lipschitz=float(np.linalg.norm(B, 2) ** 2))
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y"), Block(h=L1(lam), shape=(d, r), name="V")]
    )


@pytest.mark.parametrize("c", [1.0, -2.0])
def test_reduced_function_is_the_minimum_over_the_eliminated_block(c):
    G, y = RNG.standard_normal((7, 4)), RNG.standard_normal(7)
    problem = Problem(
        [Block(f=LeastSquares(np.eye(4), y[:4]), A=G, shape=4), Block(h=L1(0.7), A=c, shape=7)], b=y
    )
    x, z, beta, mu = RNG.standard_normal(4), RNG.standard_normal(7), 1.7, 0.3
    R = eliminate(problem, eliminable(problem), (x, np.zeros(7)))
    s = 1 / (beta * c**2) + mu
    point = evaluate(R, (x,), y - z / beta, s)

    def lagrangian(breve):  # min over x_n of h(x̆) + |x̆-x_n|²/(2μ) + <z, r> + β/2|r|² is explicit in x_n
        target = (y - G @ x - z / beta) / c
        return 0.7 * np.abs(breve).sum() + np.sum((breve - target) ** 2) / (2 * s)

    best = min(lagrangian(point.x_breve + 1e-3 * RNG.standard_normal(7)) for _ in range(200))
    smooth_part = 0.5 * np.sum((x - y[:4]) ** 2)
    assert point.value == pytest.approx(smooth_part + lagrangian(point.x_breve), rel=1e-12)
    assert lagrangian(point.x_breve) <= best
    for i in range(4):  # the gradient, by differences
        e = np.zeros(4)
        e[i] = 1e-6
        up, down = (evaluate(R, (x + t * e,), y - z / beta, s).value for t in (1, -1))
        assert point.g[0][i] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)


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


def test_a_quadratic_given_as_two_callables_costs_one_evaluation_per_step():
    calls: dict[str, int] = {}
    problem = trade_off(calls=calls)
    states = iterate(problem, method=AcceleratedIPDS(), seed=0)
    next(states)
    calls.clear()
    list(islice(states, 40))
    assert calls.get("value", 0) <= 3  # now and then it is tried whether it is one
    assert 40 <= calls["grad"] <= 60  # line searches may add a few


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
    result, reference = solve(behind, tol=1e-7), solve(plain, tol=1e-7)
    assert result.method.startswith("auto: AcceleratedIPDS")
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
        solve(problem, method=AcceleratedIPDS())
    assert solve(problem, method="auto").method.startswith("auto: IPDS")


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
    problem = Problem([Block(h=Explosive(), A=-1.0, shape=3), Block(h=Explosive(), shape=3)])
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
        monkeypatch.setattr(accelerated.method, "HEAVY", heavy)
        cases = [phase(300, 300, 10, 30, seed) for seed in (0, 2, 3)]
        results = [(case, solve(*case.pose(), max_iter=300)) for case in cases]
        found[heavy] = [case.good(result.x[1]) for case, result in results]
    assert found[0.1] == [True] * 3
    assert found[0.0] == [False] * 3
    assert found[3.0] == found[0.0]  # so heavy that all vanishes: back to the start, without


def test_weights_fade_and_are_honest_until_they_have():
    problem, x0 = phase(300, 300, 10, 30, 0).pose()
    states = list(islice(iterate(problem, x0), 120))
    weights = [state.memory.weights for state in states]
    assert weights[0][0] > 2
    assert weights[-1] == (1.0,)
    assert all(later <= earlier for earlier, later in pairwise(weights))
    assert [state.settled for state in states] == [weight == (1.0,) for weight in weights]
    for state in states[:60:7]:
        s = subgradients(problem, state)[1]
        assert np.max(np.abs(s)) <= problem.blocks[1].h.lam * (1 + 1e-9)  # of h itself, not of a multiple


def test_weights_only_where_the_curvature_of_f_is_unknown_and_h_bends():
    problem, x0 = phase(40, 120, 5, 10, 0).pose()
    v = problem.blocks[1]
    tame = smooth(v.f, v.f.grad, lipschitz=1e4)
    free = Block(f=v.f, h=NonNegative(), A=v.A, shape=v.shape)
    for block, heavy in ((v, True), (Block(f=tame, h=v.h, A=v.A, shape=v.shape), False), (free, False)):
        state = next(iterate(Problem([problem.blocks[0], block]), x0))
        assert (max(state.memory.weights) > 1) == heavy


def test_annealing_softens_h(monkeypatch):
    """The multiplier of a softened state is still the one that x̆ certifies."""
    problem = trade_off()
    softened = [
        state
        for state in islice(iterate(problem, method=AcceleratedIPDS("thorough"), seed=0), 400)
        if state.memory.phi.soft
    ]
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
