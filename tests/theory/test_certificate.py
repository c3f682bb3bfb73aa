"""The certificate: never below the true criticality, recomputable, and free of scale."""

import math

import numpy as np
import pytest

import problems
from ipds import Block, Parameters, Problem, Status, Variable, iterate, minimize, solve
from ipds.functions import (
    L1,
    Box,
    Cardinality,
    LeastSquares,
    Precomposed,
    Rank,
    Scaled,
    Separable,
    Simplex,
    Stiefel,
    Translated,
    Zero,
)
from ipds.methods import IPDS
from ipds.methods.base import State
from ipds.modelling import total_variation
from ipds.theory.certificate import certificate, certify, subgradients
from ipds.theory.objective import objective


def distance(h, x, g):
    """dist(0, g + ∂h(x)) in closed form."""
    if isinstance(h, Zero):
        return np.linalg.norm(g)
    if isinstance(h, L1):
        return np.linalg.norm(
            np.where(x != 0, np.abs(g + h.lam * np.sign(x)), np.maximum(np.abs(g) - h.lam, 0))
        )
    if isinstance(h, Box):
        inside = np.where(x == h.lo, np.minimum(g, 0), np.where(x == h.hi, np.maximum(g, 0), g))
        return np.linalg.norm(inside)
    if isinstance(h, Stiefel):
        return np.linalg.norm(g - x @ (x.T @ g + g.T @ x) / 2)
    if isinstance(h, Cardinality):  # limiting normal cone: zero on some s indices that contain the support
        on = x != 0
        spare = h.s - np.count_nonzero(on)
        return math.sqrt(np.sum(g[on] ** 2) + np.sum(np.sort(g[~on] ** 2)[:spare]))
    raise NotImplementedError(type(h).__name__)


def true_criticality(problem, x, z):
    total = -np.broadcast_to(problem.b, problem.shape).ravel().copy()
    stationarity = 0.0
    for block, xi in zip(problem.blocks, x, strict=True):
        A = problems.dense(block.A, block.shape)
        total += A @ xi.ravel()
        g = (A.T @ z.ravel()).reshape(block.shape)
        stationarity += distance(block.h, xi, g if block.f is None else g + block.f.grad(xi))
    return np.linalg.norm(total) + stationarity


def boxed_least_squares():
    g = problems.rng(4)
    f = LeastSquares(g.standard_normal((9, 6)), g.standard_normal(9))
    return Problem(
        [Block(h=Box(-0.1, 0.2), A=-2.0, shape=6, name="u"), Block(f=f, h=L1(0.3), A=1.0, shape=6, name="v")]
    )


def three_kinds():
    g = problems.rng(5)
    return Problem(
        [
            Block(h=Cardinality(3), A=g.standard_normal((8, 5)), shape=5, name="a"),
            Block(
                f=LeastSquares(g.standard_normal((7, 4)), g.standard_normal(7)),
                A=g.standard_normal((8, 4)),
                shape=4,
            ),
            Block(h=L1(0.5), A=-1.0, shape=8, name="c"),
        ],
        b=g.standard_normal(8),
    )


PROBLEMS = [
    problems.sparse_pca,
    problems.robust_regression,
    problems.surjective,
    boxed_least_squares,
    three_kinds,
]
METHODS = {
    "auto": "auto",
    "practical": IPDS("practical"),
    "sound": IPDS("sound"),
    "huge penalty": IPDS(Parameters.sound("BI", 1.0), beta0=1e11),  # steps so small that rounding shows
    "scaled": IPDS("sound", scaled_multiplier=True),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("build", PROBLEMS)
def test_never_below_the_true_criticality(build, method):
    problem, compared = build(), []

    def compare(now):
        true = true_criticality(problem, now.x, now.z)
        compared.append((true, now.certificate.critical))

    result = solve(
        problem, method=METHODS[method], max_iter=500, tol=1e-9, check_every=1, callback=compare, seed=1
    )
    true, bound = np.array(compared).T
    assert len(true) == len(result.history["critical"]) >= (1 if method == "auto" else 20)
    assert np.all(bound >= true * (1 - 1e-12) - 1e-13)
    # and it is no idle bound: on the whole it stays within a modest factor of the truth
    if method != "huge penalty":
        assert np.median(bound / np.maximum(true, 1e-12)) < 50


@pytest.mark.parametrize("build", PROBLEMS)
def test_recomputable_from_the_point_and_the_prox_residuals(build):
    problem = build()
    result = solve(problem, method=IPDS("sound"), max_iter=50, seed=0)
    s = subgradients(problem, result.state)
    again = certificate(problem, result.x, result.z, s)
    residual = -np.broadcast_to(problem.b, problem.shape).ravel()
    for i, (block, xi) in enumerate(zip(problem.blocks, result.x, strict=True)):
        A = problems.dense(block.A, block.shape)
        residual = residual + A @ xi.ravel()
        g = (A.T @ result.z.ravel()).reshape(block.shape) + (0 if block.f is None else block.f.grad(xi))
        assert again.stationarity[i] == pytest.approx(np.linalg.norm(g + s[i]), rel=1e-9, abs=1e-12)
        # on a manifold the nearest normal vector replaces the prox residual, never for the worse
        ours = result.certificate.stationarity[i]
        assert ours <= again.stationarity[i] * (1 + 1e-6) + 1e-10
        if not block.h.is_manifold:
            assert ours == pytest.approx(again.stationarity[i], rel=1e-6, abs=1e-10)
    assert again.feasibility == pytest.approx(np.linalg.norm(residual), rel=1e-9, abs=1e-12)
    assert result.certificate.feasibility == pytest.approx(again.feasibility, rel=1e-9, abs=1e-12)


def test_its_parts_add_up():
    result = solve(problems.three_blocks(), method=IPDS("sound"), max_iter=200)
    c = result.certificate
    assert c.critical == pytest.approx(c.feasibility + sum(c.stationarity), rel=1e-15)
    assert c.relative == max(c.rows, *c.blocks, c.work)
    assert f"{c.critical:.3e}" in str(c)
    assert f"{c.relative:.2e}" in str(c)


@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_the_relative_certificate_does_not_depend_on_units(factor):
    """Blocks and constraint in other units: z, the certificate's parts change, its relative value does not."""
    G, y = problems.rng(3).standard_normal((10, 6)), problems.rng(4).standard_normal(10)

    def build(unit):
        return Problem([Block(h=Zero(), A=-G, shape=6), Block(h=L1(1.0), shape=10)], b=-y * unit)

    def relative(unit):
        start = [np.zeros(6), y * unit]
        p = Parameters(xi=0.1, delta=0.1, theta2=0.95)
        states = problems.take(iterate(build(unit), start, None, IPDS(p, beta0=1.0 / unit)), 40)
        return [certify(build(unit), state).relative for state in states]

    np.testing.assert_allclose(relative(factor), relative(1.0), rtol=1e-6)


def test_a_start_is_not_certified():
    """Before the first prox nothing is known of stationarity, so an interrupted start must not look critical."""

    class Interrupting(L1):
        def prox(self, v, step):
            if step != 1.0:  # the solver's own steps, after the starting point is checked
                raise KeyboardInterrupt
            return super().prox(v, step)

    problem = Problem([Block(h=Interrupting(1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    result = solve(problem, method=IPDS("sound"))
    assert result.status is Status.INTERRUPTED
    assert result.nit == 0
    assert math.isinf(result.certificate.critical)
    assert math.isinf(result.certificate.relative)


def test_the_objective_is_taken_at_a_feasible_point():
    problem = problems.robust_regression()
    result = solve(problem, method=IPDS("sound"), max_iter=30, tol=0.0)
    feasible = problem.restore(result.x)
    assert problem.infeasibility(result.x) > 1e-6
    assert problem.infeasibility(feasible) < 1e-12 * np.linalg.norm(problem.b)
    assert result.fun == pytest.approx(problem.objective(feasible), rel=1e-12)
    assert objective(problem, result.state) == result.fun


T = np.array([1.0, -2.0, 3.0], dtype=np.float32)
SHIFTED = {
    "translated": Translated(L1(0.3), T),
    "scaled": Scaled(Translated(L1(0.3), T), 2.0),
    "precomposed": Precomposed(L1(0.3), -2.0, 5.0),
    "by a matrix": Precomposed(L1(0.3), np.eye(3, dtype=np.float32)[::-1], T),
    "separable": Separable([(slice(0, 1), L1(0.3)), (slice(1, None), Translated(L1(0.3), 4.0))]),
    "simplex": Simplex(3.0),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_the_rounding_of_the_constants_of_h_is_counted(name):
    """Single precision, steps of 1e-6, ‖x‖ far below the constants of h: y = x - t keeps few digits of x."""
    h, step, g = SHIFTED[name], 1e-6, problems.rng(8)
    problem = Problem(
        [Block(h=h, A=-1.0, shape=3), Block(h=Zero(), shape=3)], b=np.zeros(3, dtype=np.float32)
    )
    misses = []
    for _ in range(50):
        v = (1e-5 * g.standard_normal(3)).astype(np.float32)
        q = h.prox(v, step)
        s = (v.astype(float) - q) / step
        z = s.astype(np.float32)  # A = -1: stationary, were s a subgradient
        points = ((v, step), (q, 1.0))
        state = State(1, (q, q), q, z, beta=1.0, mu=1.0, products=(-q, q), prox_points=points)
        claimed = certify(problem, state).stationarity[0]
        # in double, from outside: prox is nonexpansive, so ‖q - prox(q + t z, t)‖ ≤ t dist(z, ∂h(q))
        q, z, t = q.astype(float), z.astype(float), 1e-2
        misses.append(np.linalg.norm(q - h.prox(q + t * z, t)) / t)
        assert misses[-1] <= claimed + 1e-12
    if name != "simplex":
        assert max(misses) > 1e-3  # there was something to count


def test_norms_of_groups_price_moves_at_zero():
    """A picture that is 0 around a square: rows of differences between zeros add up to nothing but rounding."""
    picture = np.zeros((12, 12))
    picture[4:9, 3:8] = 1.0
    X = Variable((12, 12), name="X")
    seen = np.random.default_rng(0).random((12, 12)) < 0.7
    result = solve(minimize(total_variation(X), [X[seen] == picture[seen]]))
    assert result.success
    assert result.method.startswith("auto: NewtonALM")


class _Deviance:
    """Σ log(1 + exp(-y_i ⟨a_i, w⟩)), of which nothing is known but its gradient."""

    def __init__(self, A, y):
        self.A, self.y = A, y

    def __call__(self, w):
        return float(np.logaddexp(0, -self.y * (self.A @ w)).sum())

    def grad(self, w):
        return -self.A.T @ (self.y / (1 + np.exp(self.y * (self.A @ w))))


def test_entries_without_a_slope_of_h_are_measured_by_the_curvature_of_f():
    """An intercept without a penalty: at the solution ∇f is 0 there, and the force that moves it is ∇²f w."""
    rng = np.random.default_rng(0)
    A = np.c_[rng.standard_normal((60, 3)), np.ones(60)]
    y = np.where(A @ [1.0, -2.0, 0.0, 0.5] + rng.logistic(size=60) > 0, 1.0, -1.0)
    problem = Problem([Block(f=_Deviance(A, y), h=L1(np.array([1.0, 1.0, 1.0, 0.0])), shape=4)])
    result = solve(problem, tol=1e-9)
    assert result.success
    w, g = result.x[0], problem.blocks[0].f.grad
    s = np.array([*-g(result.x[0])[:3], 0.0])

    def relative(shift):
        moved = w + np.array([0.0, 0.0, 0.0, shift])
        return certificate(problem, (moved,), result.z, (s,)).relative

    assert relative(0.0) < 1e-8
    assert 1e-7 < relative(1e-6) < 1e-5
    assert relative(0.1) > 1e-2


def test_the_certificate_of_blocks_in_pieces_is_that_of_whole_ones(monkeypatch):
    """Rank and L1, missing entries, and entries of b that are 0: nothing depends on where large arrays are cut."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 25)) + 5.0 * (rng.random((30, 25)) < 0.1)
    M[rng.random(M.shape) < 0.1] = 0.0
    low = Problem([Block(h=Rank(2), A=-1.0, shape=M.shape), Block(h=L1(1.0), shape=M.shape)], b=-M)
    fit = Problem(
        [Block(f=LeastSquares(1.0, M), h=L1(0.1), A=-1.0, shape=M.shape), Block(h=L1(0.5), shape=M.shape)]
    )
    for problem in (low, fit):
        steps = iterate(problem)
        state = [next(steps) for _ in range(3)][-1]
        whole = certify(problem, state)
        monkeypatch.setattr("ipds.theory.entries.PIECE", 97)
        cut = certify(problem, state)
        monkeypatch.undo()
        assert 0 < whole.relative < math.inf
        for name in ("feasibility", "stationarity", "relative", "rows", "blocks", "work"):
            assert getattr(cut, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-13)
