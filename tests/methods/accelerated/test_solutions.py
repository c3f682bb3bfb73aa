"""What the accelerated method finds: supports, normals, ranks, minima no worse than those it passed."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy
from benchmarks.problems import phase

from ipds import Block, DivergenceError, Problem, Status, Variable, iterate, minimize, multistart, solve
from ipds.experiments import datasets
from ipds.functions import (
    L1,
    L21,
    Cardinality,
    NonNegative,
    Nonsmooth,
    PCAVariance,
    PhaseRetrieval,
    Quadratic,
    Rank,
    Sphere,
    Stiefel,
)
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated import annealing
from ipds.modelling import quad_form, term
from ipds.operators import DCT, Sampling
from ipds.theory.certificate import certificate, subgradients
from problems import lowrank_data, regression_data, subspace_data, trade_off

RNG = np.random.default_rng(3)


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


@pytest.mark.parametrize("seed", range(3))
def test_the_least_eigenvector_in_a_subspace(seed):
    """On a sphere under C x = 0: the penalty grows only while the equation lags."""
    rng = np.random.default_rng(seed)
    B, C = rng.standard_normal((10, 10)), rng.standard_normal((3, 10))
    x = Variable(10)
    result = solve(minimize(0.5 * quad_form(x, B @ B.T) + Sphere(1.0)(x), [C @ x == 0]), seed=seed)
    N = scipy.linalg.null_space(C)
    assert result.success
    assert result.fun == pytest.approx(0.5 * np.linalg.eigvalsh(N.T @ B @ B.T @ N)[0], rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_signs_of_measured_lengths(seed):
    """min ½‖|Gx| - b‖², an h of the caller behind a matrix."""
    rng = np.random.default_rng(seed)
    G, truth = rng.standard_normal((30, 6)), rng.standard_normal(6)
    lengths = np.abs(G @ truth) + 0.01 * np.abs(rng.standard_normal(30))

    class Lengths:
        is_convex = False

        def __call__(self, u):
            return float(0.5 * np.sum((np.abs(u) - lengths) ** 2))

        def prox(self, v, step):
            return np.where(v >= 0, 1.0, -1.0) * (np.abs(v) + step * lengths) / (1 + step)

    x = Variable(6)
    result = solve(minimize(term(Lengths(), G @ x)), seed=seed)
    found = result.value(x)
    assert result.success
    assert min(np.linalg.norm(found - truth), np.linalg.norm(found + truth)) < 0.05


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


def test_annealing_is_deep_in_a_basin_after_its_second_cycle():
    """Mean objective of three draws after 800 iterations; cycles that cool in many short stages were at -98.2."""
    shape, found = (500, 20), []
    for seed in range(3):
        f = PCAVariance(10.0 * datasets.trade_off("tradeoff-50-500", seed))
        blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=shape), Block(h=L1(0.6), shape=shape)]
        start = np.linalg.qr(np.random.default_rng(seed).standard_normal(shape))[0]
        found.append(solve(Problem(blocks), [start, start], method=AcceleratedIPDS(), max_iter=800).fun)
    assert np.mean(found) < -98.4


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
