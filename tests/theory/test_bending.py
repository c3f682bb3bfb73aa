"""Whether functions of the caller's bend down: no convex one seems to, and others are found out."""

from __future__ import annotations

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import Box, LeastSquares, NonNegative, Simplex, SmoothSum, Zero, smooth
from ipds.methods import candidates
from ipds.theory.bending import LOOKS, bends_down, curves_down


def _log_sum_exp(rng, n):
    A, b = rng.standard_normal((n + 3, n)), rng.standard_normal(n + 3)

    def shares(x):
        e = np.exp(A @ x + b - np.max(A @ x + b))
        return e / e.sum()

    return lambda x: float(np.log(np.exp(A @ x + b).sum())), lambda x: A.T @ shares(x)


def _poisson(rng, n):
    X = 0.3 * rng.standard_normal((40, n)) * 10.0 ** rng.uniform(-3, 0, n)
    y = rng.poisson(2.0, 40).astype(float)
    return lambda x: float(np.exp(X @ x).sum() - y @ X @ x), lambda x: X.T @ (np.exp(X @ x) - y)


def _quartic(rng, n):
    return lambda x: float(np.sum(x**4)), lambda x: 4 * x**3


def _singular(rng, n):
    B = rng.standard_normal((n // 2, n)) * 10.0 ** rng.uniform(-2, 2, n)
    return lambda x: float(0.5 * np.sum((B @ x) ** 2)), lambda x: B.T @ (B @ x)


def _linear(rng, n):
    c = rng.standard_normal(n)
    return lambda x: float(c @ x), lambda x: c


@pytest.mark.parametrize("made", [_log_sum_exp, _poisson, _quartic, _singular, _linear])
@pytest.mark.parametrize("n", [1, 4, 20])
def test_convex_functions_do_not_seem_to_bend_down(made, n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        f = smooth(*made(rng, n))
        for x in (np.zeros(n), rng.standard_normal(n), 1e-3 * rng.standard_normal(n)):
            assert not curves_down(f, Zero(), x)
            assert not curves_down(f, Box(-1.0, 1.0), np.clip(x, -1, 1))


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e4])
def test_one_direction_of_many_is_seen(unit):
    """Chords at random see the average of the curvature, which one negative eigenvalue of twenty does not change."""
    n, rng = 20, np.random.default_rng(0)
    V, _ = np.linalg.qr(rng.standard_normal((n, n)))
    s = np.where(np.arange(n) < 10, unit, 1.0)
    H = s[:, None] * (V @ np.diag(np.r_[-0.2, np.ones(n - 1)]) @ V.T) * s
    f = smooth(lambda x: float(0.5 * x @ H @ x), lambda x: H @ x)
    x = rng.standard_normal(n) / s
    assert curves_down(f, Zero(), x)
    assert not bends_down(f, Zero(), x)


def test_what_is_said_counts_and_what_is_not_defined_is_not_known():
    told = smooth(lambda x: float(x @ x), lambda x: 2 * x, convex=False)
    assert curves_down(told, Zero(), np.ones(2))
    assert not curves_down(smooth(lambda x: 0.0, lambda x: -x, convex=True), Zero(), np.ones(2))
    nowhere = smooth(lambda x: np.nan, lambda x: np.nan * x)
    assert curves_down(nowhere, Zero(), np.ones(2))

    def refuses(x):
        raise ValueError("not here")

    assert curves_down(smooth(lambda x: 0.0, refuses), Zero(), np.ones(2))
    logs = smooth(lambda x: -float(np.log(x).sum()), lambda x: -1 / x)
    assert not curves_down(logs, Simplex(), np.full(5, 0.2))
    assert not curves_down(logs, NonNegative(), np.full(5, 3.0))


def test_waves_are_seen_from_the_bottom_of_one():
    """Convex at the answer and bent elsewhere; few looks see less."""
    wave = smooth(lambda x: -float(np.sum(np.cos(x))), np.sin)
    assert curves_down(wave, Zero(), np.zeros(3))
    assert not curves_down(wave, Zero(), np.zeros(3), 1)
    assert LOOKS[0] < LOOKS[1]


@pytest.mark.parametrize(("is_tied", "gradients"), [(False, 1 + 2 + 5), (True, 1 + 3 + 30)])
def test_a_look_at_a_convex_function_takes_few_gradients_or_one_for_each_entry(is_tied, gradients):
    n, asked = 30, []

    def slope(x):
        asked.append(x)
        return x * (x @ x if is_tied else x**2)

    f = smooth(lambda x: float((x @ x) ** 2 if is_tied else np.sum(x**4)) / 4, slope)
    assert not curves_down(f, Zero(), np.ones(n))
    assert len(asked) == LOOKS[0] * gradients + is_tied  # one tells that it changes


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_second_derivative_of_a_quadratic_is_made_once(unit):
    """Beyond the first look, two gradients each: where it bends down at last, a look is a full one again."""
    n, asked = 30, []
    B = np.random.default_rng(0).standard_normal((n, n))

    def slope(x):
        asked.append(x)
        return unit * (B.T @ (B @ x - 1))

    quadratic = smooth(lambda x: 0.5 * unit * float(np.sum((B @ x - 1) ** 2)), slope)
    assert not curves_down(quadratic, Zero(), np.ones(n))
    assert len(asked) == 1 + 3 + n + (LOOKS[0] - 1) * 2

    def over(x):
        return max(float(x @ x) / n - 4.0, 0.0)

    bent = smooth(
        lambda x: quadratic(x) - 100 * unit * over(x) ** 2, lambda x: slope(x) - 400 / n * unit * over(x) * x
    )
    assert curves_down(bent, Zero(), np.ones(n))


def test_sums_of_convex_functions_are_asked_term_by_term():
    asked = []
    quartic = smooth(lambda x: float(np.sum(x**4)), lambda x: asked.append(x) or 4 * x**3)
    D = np.diff(np.eye(100), axis=0)
    assert not curves_down(SmoothSum([quartic, LeastSquares(D, np.zeros(99))]), Zero(), np.ones(100))
    assert len(asked) == LOOKS[0] * (1 + 2 + 7)
    bowl = SmoothSum(
        [smooth(lambda x: -float(x @ x), lambda x: -2 * x), quartic, LeastSquares(2 * np.eye(9), np.zeros(9))]
    )
    assert not curves_down(bowl, Zero(), np.ones(9))


def test_newton_steps_come_first_where_a_function_seems_convex():
    A, rng = np.ones((1, 6)), np.random.default_rng(0)
    convex = smooth(*_log_sum_exp(rng, 6))
    wave = smooth(lambda x: float(np.sum(np.cos(3 * x))), lambda x: -3 * np.sin(3 * x))
    for f, first in ((convex, "NewtonALM"), (wave, "AcceleratedIPDS")):
        problem = Problem(
            [Block(f=f, h=Box(-2.0, 2.0), A=A, shape=6), Block(h=Box(0.5, 0.5), A=-1.0, shape=1)]
        )
        result = solve(problem, seed=0)
        assert result.success
        assert (result.starts == 1) is (first == "NewtonALM")
        canonical = Problem([Block(f=f, h=Box(-2.0, 2.0), A=-A, shape=6), Block(h=Box(0.5, 0.5), shape=1)])
        assert type(candidates(canonical)[0]).__name__ == first


@pytest.mark.parametrize("size", [1e-8, 1.0, 5.0, 1e8])
def test_products_bend_down_at_zero(size):
    """The diagonal of ∇²f and the slope are 0 there: neither is a unit."""
    M = size * np.random.default_rng(0).standard_normal((2, 3))
    f = smooth(lambda v: float(v[:2] @ M @ v[2:]), lambda v: np.r_[M @ v[2:], M.T @ v[:2]])
    assert curves_down(f, Zero(), np.zeros(5))
