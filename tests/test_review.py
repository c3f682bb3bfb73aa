"""Cases found by reading the package with fresh eyes: each failed once."""

import pickle

import numpy as np
import pytest

from ipds import Block, DivergenceError, Problem, Status, multistart, solve
from ipds import solve as solve_function
from ipds.functions import (
    L0,
    L1,
    Box,
    LeastSquares,
    Linear,
    Logistic,
    PCAVariance,
    Quadratic,
    Simplex,
    Stiefel,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS, Method, State
from ipds.theory.certificate import certificate, certify


def squared_hinge(n: int):
    """½‖(1 - x)₊‖²: quadratic for x ≤ 1, zero beyond."""
    return smooth(
        lambda x: 0.5 * float((np.maximum(0, 1 - x) ** 2).sum()),
        lambda x: -np.maximum(0, 1 - x),
        lipschitz=1.0,
    )


def huber(n: int):
    """Quadratic in [-1, 1], linear beyond."""
    return smooth(
        lambda x: float(np.where(abs(x) <= 1, 0.5 * x**2, abs(x) - 0.5).sum()),
        lambda x: np.clip(x, -1, 1),
        lipschitz=1.0,
    )


@pytest.mark.parametrize("loss", [squared_hinge, huber])
@pytest.mark.parametrize("tol", [1e-4, 1e-12])
def test_a_piecewise_quadratic_given_as_two_callables_is_not_taken_for_a_quadratic(loss, tol):
    G = np.random.default_rng(0).standard_normal((40, 6))
    pull = LeastSquares(G, G @ np.full(6, 4.0))
    problem = Problem([Block(f=loss(6), A=-1.0, shape=6), Block(f=pull, h=L1(0.01), shape=6)])
    result = solve(problem, [np.full(6, 0.1)] * 2, tol=tol, max_iter=500)
    at_restored = problem.objective(problem.restore(result.x))
    assert result.fun == pytest.approx(at_restored, rel=1e-12)
    assert result.history["objective"][-1] == result.fun
    reference = solve(problem, method="ipds", tol=1e-9)
    assert result.fun == pytest.approx(reference.fun, rel=1e-4)


def test_a_result_can_be_pickled():
    problem = Problem([Block(h=L1(0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    result = solve(problem)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[1], result.x[1])
    assert again.certificate == result.certificate


def data(dtype=float):
    g = np.random.default_rng(1)
    G = g.standard_normal((60, 40))
    truth = np.zeros(40)
    truth[:5] = 3 * g.standard_normal(5)
    return G.astype(dtype), (G @ truth + 0.1 * g.standard_normal(60)).astype(dtype)


def lasso(dtype):
    return Problem([Block(f=LeastSquares(*data(dtype)), A=-1.0, shape=40), Block(h=L1(3.0), shape=40)])


def deviations(dtype):
    G, y = data(dtype)
    return Problem([Block(h=L1(0.1), A=-G, shape=40), Block(h=L1(1.0), shape=60)], b=-y)


def logistic(dtype):
    G, y = data(dtype)
    return Problem([Block(f=Logistic(G, np.sign(y)), A=-1.0, shape=40), Block(h=L1(2.0), shape=40)])


def components(dtype):
    f = PCAVariance(data(dtype)[0])
    return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(40, 3)), Block(h=L1(0.1), shape=(40, 3))])


@pytest.mark.parametrize(
    ("build", "tol"), [(lasso, 3e-4), (deviations, 2e-2), (logistic, 3e-4), (components, 3e-4)]
)
@pytest.mark.parametrize("method", ["auto", AcceleratedIPDS()])
def test_single_precision_is_kept_and_suffices(build, tol, method):
    """The penalty of the deviations is 1/400 of the forces that it balances: single precision leaves few digits."""
    problem = build(np.float32)
    g = np.random.default_rng(0)
    x0 = [block.h.prox(g.standard_normal(block.shape), 1.0) for block in problem.blocks]
    single = solve(problem, [xi.astype(np.float32) for xi in x0], method=method, tol=tol)
    double = solve(build(float), x0, method=method, tol=tol)
    assert single.success
    assert {array.dtype for array in (*single.x, single.z)} == {np.dtype("float32")}
    assert single.fun == pytest.approx(double.fun, rel=5e-3)


def test_a_start_whose_last_block_is_rounding_does_not_set_the_scale():
    """A portfolio that starts at what it holds: x_n = w - w_0 = 1e-17, and β⁰ = C_h/‖x_n‖ was 1e16."""
    n, g = 40, np.random.default_rng(1)
    G, gain = g.standard_normal((60, n)), 0.1 * g.standard_normal(n)
    f = Quadratic(G.T @ G / 60, -gain)
    held = np.full(n, 1 / n)
    problem = Problem([Block(f=f, h=Simplex(), shape=n), Block(h=L1(0.02), A=-1.0, shape=n)], b=held)
    result = solve(problem, tol=1e-6)
    assert result.success
    reference = solve(problem, [np.eye(n)[0], np.eye(n)[0] - held], method="ipds", tol=1e-6)
    assert result.fun == pytest.approx(reference.fun, rel=1e-5)


@pytest.mark.parametrize("method", ["auto", "ipds"])
def test_a_feasible_point_of_sets_alone_is_certified(method):
    """No force acts anywhere, so no scale exists for the bound on rounding."""
    problem = Problem([Block(h=Box(0, 1), A=0.5, shape=3), Block(shape=3)], b=np.ones(3))
    result = solve(problem, method=method)
    assert result.success
    assert problem.infeasibility(result.x) < 1e-4


def test_certificates_hold_plain_floats():
    certificate = solve(lasso(float)).certificate
    numbers = (
        certificate.feasibility,
        *certificate.stationarity,
        certificate.relative,
        certificate.work,
        *certificate.blocks,
    )
    assert {type(number) for number in numbers} == {float}


def test_a_function_undefined_at_zero_starts_in_its_domain():
    f = smooth(lambda x: float((2 * x - np.log(x)).sum()), lambda x: 2 - 1 / x)
    problem = Problem([Block(f=f, h=Box(1e-3, 10), A=-1.0, shape=4), Block(h=L1(0.1), shape=4)])
    result = solve(problem)
    assert result.success
    np.testing.assert_allclose(result.x[0], 1 / 2.1, rtol=1e-3)


def piecewise_constant(g):
    f = LeastSquares(np.eye(100), np.repeat([0, 2, -1, 1.0], 25) + 0.3 * g.standard_normal(100))
    D = np.diff(np.eye(100), axis=0)
    return Problem([Block(h=L0(0.5), A=-1.0, shape=99), Block(f=f, A=D, shape=100)])


def basis_pursuit(g):
    A = g.standard_normal((10, 30))
    return Problem([Block(h=L1(1.0), A=A, shape=30)], b=A[:, :3].sum(axis=1))


def linear_program(g):
    A, cost = g.standard_normal((20, 40)), 0.1 * g.standard_normal(40)
    return Problem([Block(f=Linear(cost), h=Box(0, 1), A=A, shape=40)], b=A @ np.full(40, 0.5))


@pytest.mark.parametrize(
    ("build", "seeds", "limit"),
    [
        (piecewise_constant, (1, 2, 3), 1000),
        (basis_pursuit, (2, 3, 7, 8), 4000),
        (linear_program, (2, 3, 8), 4000),
    ],
)
def test_practical_ipds_balances_its_penalty(build, seeds, limit):
    """Moves in the kernel of A were not seen, so that β outgrew them; with blocks that jump for ever it stood still."""
    for seed in seeds:
        assert solve(build(np.random.default_rng(seed)), method="ipds", max_iter=limit, seed=0).success


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("method", ["auto", "ipds"])
def test_a_restart_from_a_solution_stays_there(method, tol):
    f = LeastSquares(np.eye(100), np.repeat([0, 2, -1, 1.0], 25) + np.sin(np.arange(100)))
    D = np.diff(np.eye(100), axis=0)
    fused = Problem([Block(f=f, A=-D, shape=100), Block(h=L1(1.0), shape=99)])
    for problem in (fused, lasso(float), logistic(float)):
        first = solve(problem, method=method, tol=tol)
        again = solve(problem, first.x, first.z, method, tol=tol)
        assert first.success
        assert again.success
        assert again.nit <= 10


def test_a_restart_stays_where_the_eliminated_block_has_an_f():
    g = np.random.default_rng(1)
    G, H, y = g.standard_normal((12, 8)), g.standard_normal((12, 8)), 5 * g.standard_normal(12)
    blocks = [
        Block(f=LeastSquares(G, y), h=L1(0.5), shape=8),
        Block(f=LeastSquares(H, -y), h=L1(0.7), shape=8),
    ]
    problem = Problem(blocks, b=1.0)
    first = solve(problem, tol=1e-8, method=AcceleratedIPDS())
    assert solve(problem, first.x, first.z, tol=1e-8, method=AcceleratedIPDS()).nit == 1


class Idle(Method):
    """Stays where it starts."""

    name = "idle"

    def init(self, problem, x0, z0):
        return IPDS().init(problem, x0, z0)

    def step(self, setup, carry):
        points = tuple((x, 1.0) for x in carry.x)
        state = State(carry.t + 1, carry.x, carry.x[-1], carry.z, 1.0, 1.0, carry.products, points)
        return carry._replace(t=carry.t + 1), state


def test_auto_goes_on_to_the_next_method_after_a_feasible_stall(monkeypatch):
    assert solve(lasso(float), method=Idle()).status is Status.STALLED_FEASIBLE
    monkeypatch.setitem(solve_function.__globals__, "candidates", lambda *problems: [Idle(), IPDS()])
    result = solve(lasso(float))
    assert result.success
    assert result.method == "auto: IPDS(practical)"


def downhill():
    """-‖x‖²/2 + ⟨1, x⟩ against a norm: falls without bound from almost everywhere."""
    f = Quadratic(-np.eye(3), np.ones(3))
    return Problem([Block(f=f, A=-1.0, shape=3), Block(h=L1(0.5), shape=3)])


def test_an_objective_that_falls_for_ever_is_divergence():
    with pytest.raises(DivergenceError) as caught:
        solve(downhill())
    assert np.isfinite(caught.value.result.fun)


def test_multistart_survives_starts_that_diverge(monkeypatch):
    with pytest.raises(DivergenceError, match="all 2 starts"):
        multistart(downhill(), 2, n_jobs=1)
    outcomes = iter([True, False, True])

    def sometimes(problem, *args, **options):
        return solve(downhill() if next(outcomes) else problem, *args, **options)

    monkeypatch.setitem(multistart.__globals__, "solve", sometimes)
    found = multistart(lasso3(), 3, n_jobs=1)
    assert found.best.success
    assert [result.status is Status.DIVERGED for result in found.results] == [False, True, True]


def lasso3():
    return Problem([Block(f=LeastSquares(np.eye(3), np.ones(3)), A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])


def test_a_block_almost_in_the_kernel_of_its_operator_does_not_inflate_the_scales_of_others():
    """A constant signal under differences: ‖Dx‖/‖x‖ is tiny, and the other block passed with a wrong subgradient."""
    g = np.random.default_rng(0)
    signal, D = g.standard_normal(50) + 3, np.diff(np.eye(50), axis=0)
    problem = Problem(
        [
            Block(f=LeastSquares(np.eye(50), signal), A=-D, shape=50),
            Block(h=L1(100.0), shape=49),
        ]
    )
    x = np.full(50, signal.mean()) + 1e-9 * g.standard_normal(50)
    z = np.linalg.lstsq(D.T, x - signal, rcond=None)[0]
    right = certificate(problem, (x, D @ x), z, (np.zeros(50), -z))
    assert right.relative < 1e-6
    wrong = certificate(problem, (x, D @ x), z, (np.zeros(50), 100.0 * np.sign(D @ x)))
    assert wrong.relative > 0.1


def test_a_callback_may_insist_on_its_keyword():
    seen = []

    def watch(*, intermediate_result):
        seen.append(intermediate_result.nit)

    problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=L1(2.0), shape=3)], b=1.0)
    assert solve(problem, callback=watch).success
    assert seen


def test_auto_puts_a_convex_block_last_where_the_order_is_unlucky():
    D = np.diff(np.eye(12), axis=0)
    y = np.repeat([0.0, 3.0], 6) + 0.1 * np.random.default_rng(0).standard_normal(12)
    x, jumps = (
        Block(f=LeastSquares(np.eye(12), y), A=D, shape=12, name="x"),
        Block(h=L0(0.5), A=-1.0, shape=11, name="d"),
    )
    result, lucky = solve(Problem([x, jumps])), solve(Problem([jumps, x]))
    assert result.success
    assert "block 1 last" in result.method
    assert [block.shape for block in result.x] == [(12,), (11,)]
    assert result.fun == pytest.approx(lucky.fun, rel=1e-3)
    fresh = certify(Problem([x, jumps]), result.state)
    assert fresh.critical == pytest.approx(result.certificate.critical, rel=1e-6, abs=1e-9)
