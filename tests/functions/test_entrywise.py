"""Convex sums over entries: every prox globally and to all digits, and what else they offer against differences."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import wrightomega

from ipds.functions import (
    Entropy,
    Exponential,
    Hinge,
    KLDivergence,
    LogisticLoss,
    NegativeLog,
    Poisson,
    Quantile,
    SquaredHinge,
    SumSquares,
    check_prox,
)
from ipds.functions.checking import STEPS
from ipds.functions.entrywise import Entrywise
from ipds.functions.exponential import logistic_root
from ipds.functions.omega import omega

WEIGHTS = np.array([0.3, 0.0, 2.0, 1.0])
PIECEWISE: list[Entrywise] = [
    Quantile(0.3, 0.7),
    Quantile(0.9, WEIGHTS),
    Hinge(0.7),
    Hinge(WEIGHTS, np.array([1.0, -1.0, 0.0, 0.3])),
]
SMOOTH: list[Entrywise] = [
    SumSquares(0.7, 0.4),
    SumSquares(WEIGHTS, np.array([1.0, -1.0, 0.0, 0.3])),
    SquaredHinge(0.7),
    SquaredHinge(WEIGHTS, np.array([1.0, -1.0, 0.0, 0.3])),
    LogisticLoss(-1.0, 0.7),
    LogisticLoss(np.array([1.0, 0.0, 0.0, 1.0]), WEIGHTS, 3.0),
    Exponential(0.7),
    Exponential(WEIGHTS, np.array([1.0, -1.0, 0.2, -3.0])),
]
POSITIVE: list[Entrywise] = [
    Entropy(0.7),
    Entropy(WEIGHTS, np.array([1.0, 2.0, 0.1, 3.0])),
    Poisson(2.0, 0.7),
    Poisson(np.array([1.0, 0.0, 5.0, 0.0]), WEIGHTS, np.array([1.0, 2.0, 0.5, 3.0])),
    KLDivergence(np.array([1.0, 0.0, 5.0, 0.2]), 0.7),
    NegativeLog(0.7, 2.0),
    NegativeLog(WEIGHTS),
]
EVERY = [*PIECEWISE, *SMOOTH, *POSITIVE]
FEW = (1e-3, 0.5, 3.0, 1e3)
every = pytest.mark.parametrize("h", EVERY, ids=repr)


def points(h: Entrywise, seed: int = 0) -> np.ndarray:
    """Points of all sizes in the domain."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 4)) * 10.0 ** rng.uniform(-2, 1, (40, 1))
    return x if h.domain is None else np.abs(x)


@every
def test_prox_is_a_global_minimiser(h: Entrywise) -> None:
    check_prox(h, (4,), steps=STEPS)
    check_prox(h, (2, 4), steps=FEW)
    check_prox(h, (4,), steps=FEW, dtype="float32")
    check_prox(h, (3, 4), steps=FEW, xp=array_api_strict)
    check_prox(h, (4,), steps=(0.5,), xp=array_api_strict, dtype="float32")


@pytest.mark.parametrize("h", [h for h in EVERY if np.ndim(getattr(h, "lam", 0.0)) == 0], ids=repr)
def test_prox_over_a_line_of_inputs(h: Entrywise) -> None:
    for step in (1e-3, 0.1, 1.0, 10.0, 1e3):
        line = np.linspace(-1.0, 1.0, 100).reshape(25, 4) * 4.0 * (math.sqrt(step) + min(step, 3.0))
        check_prox(h, line.shape, steps=[step], points=[line])


@pytest.mark.parametrize("h", [*SMOOTH, *POSITIVE], ids=repr)
def test_prox_to_all_digits(h: Entrywise) -> None:
    """u + s φ'(u) = v up to the rounding of these three, whatever the step: a proof of optimality for convex φ."""
    rng = np.random.default_rng(1)
    shift = np.abs(getattr(h, "target", getattr(h, "margin", 0.0)))
    eps, least = np.finfo(float).eps, 1e-290 if h.domain else -math.inf
    for step in (1e-9, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e9):
        v = rng.standard_normal((200, 4)) * 10.0 ** rng.uniform(-4, 4, (200, 1))
        u, jacobian = h.prox(v, step), h.prox_jacobian(v, step)
        low = u <= least  # the root lies at the border 0, or where numbers end
        slope = h.subgradient(np.where(low, least, u))
        # the rounding of u, eps |u|, moves s φ'(u) by s φ'' eps |u| = (1/J - 1) eps |u|
        size = np.abs(v) + step * np.abs(slope) + (np.abs(u) + shift) / np.maximum(jacobian, 1e-300)
        gap = u - v + step * slope
        assert np.all(np.abs(gap) <= 50 * eps * size, where=~low)
        assert np.all(gap >= -50 * eps * size, where=low)


@every
def test_jacobian_of_the_prox_by_differences(h: Entrywise) -> None:
    rng = np.random.default_rng(2)
    for step in (1e-2, 1.0, 30.0):
        v = 3.0 * rng.standard_normal((50, 4))
        width = 1e-5
        ends = [h.prox(v + k * width, step) for k in (-1, 1)]
        quotient, jacobian = (ends[1] - ends[0]) / (2 * width), h.prox_jacobian(v, step)
        bent = np.abs(h.prox_jacobian(v - width, step) - h.prox_jacobian(v + width, step)) > 1e-3
        assert jacobian.shape == v.shape
        assert np.all((jacobian >= 0) & (jacobian <= 1))
        np.testing.assert_allclose(jacobian[~bent], quotient[~bent], rtol=1e-5, atol=1e-7)
        assert np.mean(bent) < 0.05
        assert h.prox_jacobian(v.astype(np.float32), step).dtype == np.float32


@every
def test_steps_of_their_own_for_every_entry(h: Entrywise) -> None:
    v, steps = points(h) - 0.5, np.array([1e-2, 0.5, 1.0, 20.0])
    together = h.prox(v, steps)
    slopes = h.prox_jacobian(v, steps)
    for i, step in enumerate(steps):
        np.testing.assert_allclose(together[:, i], h.prox(v, float(step))[:, i], rtol=1e-13)
        np.testing.assert_allclose(slopes[:, i], h.prox_jacobian(v, float(step))[:, i], rtol=1e-12)


@every
def test_large_arrays_are_done_in_pieces(h: Entrywise) -> None:
    v = 3.0 * np.random.default_rng(6).standard_normal((5_001, 4))
    steps = np.broadcast_to(np.array([1e-2, 0.5, 1.0, 20.0]), v.shape)
    for step in (0.7, steps):
        whole = h.prox(v, step)
        for rows in (slice(0, 3), slice(2047, 2050), slice(4999, 5001)):
            few = h.prox(v[rows], step[rows] if isinstance(step, np.ndarray) else step)
            np.testing.assert_allclose(whole[rows], few, rtol=1e-13)
        assert h.prox(v.astype(np.float32), step).dtype == np.float32


@every
@pytest.mark.parametrize("d", [0.25, np.array([3.0, 0.1, 1.0, 7.0])], ids=str)
def test_rescaled(h: Entrywise, d: Any) -> None:
    u = points(h)
    np.testing.assert_allclose(h.rescaled(d).terms(u), h.terms(d * u), rtol=1e-12, atol=1e-12)
    check_prox(h.rescaled(d), (4,), steps=(0.5,))


@every
def test_subgradient_inequality(h: Entrywise) -> None:
    x, y = points(h, 3), points(h, 4)
    room = 1e-12 * (1.0 + np.abs(h.terms(y)) + np.abs(h.terms(x)))
    slope = h.subgradient(x)
    assert slope.shape == x.shape
    assert slope.dtype == x.dtype
    assert np.all(h.terms(y) >= h.terms(x) + slope * (y - x) - room)


@every
def test_lipschitz_constant(h: Entrywise) -> None:
    constant = h.lipschitz((2, 4))
    if math.isfinite(constant):
        slopes = np.abs(h.subgradient(20.0 * points(h, 3))).max(axis=0)
        steepest = np.linalg.norm(np.broadcast_to(slopes, (2, 4)))
        assert steepest == pytest.approx(constant, rel=1e-3)
        assert steepest <= constant * (1 + 1e-12)
    else:
        assert isinstance(h, SumSquares | SquaredHinge | Exponential | Entropy | Poisson | NegativeLog)


@pytest.mark.parametrize("h", PIECEWISE, ids=repr)
def test_kinks_say_what_the_function_is(h: Any) -> None:
    x = points(h)
    k = h.kinks(x.shape)
    told = np.maximum(k.left * (x - k.place), k.right * (x - k.place))
    np.testing.assert_allclose(np.broadcast_to(told, x.shape), h.terms(x), rtol=1e-13, atol=1e-14)
    assert k.lower == -math.inf
    assert k.upper == math.inf


@every
def test_recession_is_the_slope_far_out(h: Entrywise) -> None:
    rng = np.random.default_rng(5)
    for d in [*np.eye(4), *-np.eye(4), *rng.standard_normal((4, 4)), np.abs(rng.standard_normal(4))]:
        told, x = h.recession(d), np.ones(4)
        with np.errstate(over="ignore"):
            slopes = [(h(x + t * d) - h(x)) / t for t in (1e3, 1e9)]
        if math.isfinite(told):
            assert slopes[1] == pytest.approx(told, rel=1e-3, abs=1e-3)
        else:
            assert slopes[1] == math.inf or slopes[1] > slopes[0] + 0.5


@every
def test_support_of_the_domain(h: Entrywise) -> None:
    assert h.support(np.zeros(4)) == 0.0
    assert h.support(np.array([0.0, 0.0, 1e-9, 0.0])) == math.inf
    below = h.support(np.array([0.0, -1.0, -2.0, 0.0]))
    assert below == (math.inf if h.domain is None else 0.0)


@pytest.mark.parametrize("h", POSITIVE, ids=repr)
def test_domain(h: Entrywise) -> None:
    domain = h.domain
    assert domain is not None
    start = np.array([[-1.0, 0.0, 2.0, -3.0]])
    assert not domain.contains(start)
    inside = domain.inside(start)
    assert domain.contains(inside)
    assert inside[0, 2] == 2.0
    assert math.isfinite(h(inside))
    np.testing.assert_array_equal(start, [[-1.0, 0.0, 2.0, -3.0]])
    assert h(-np.ones(4)) == math.inf
    assert domain.contains(array_api_strict.asarray(inside))


def test_values_at_the_border() -> None:
    assert Entropy()(np.array([0.0, 1.0])) == 0.0
    assert Poisson(np.array([0.0, 1.0]))(np.array([0.0, 1.0])) == 1.0
    assert Poisson(np.array([0.0, 1.0]))(np.array([1.0, 0.0])) == math.inf
    assert NegativeLog()(np.array([0.0])) == math.inf
    assert KLDivergence(np.array([0.0, 3.0]))(np.array([0.0, 3.0])) == 0.0
    assert type(KLDivergence(1.0)(np.ones(2, np.float32))) is float


def test_extreme_inputs_give_finite_proxes_without_warnings() -> None:
    for h in EVERY:
        for size in (1e-200, 1e-30, 1e30, 1e150):
            for sign in (1.0, -1.0):
                for step in (1e-12, 1.0, 1e12):
                    u = h.prox(np.full(4, sign * size), step)
                    assert np.all(np.isfinite(u))
                    assert math.isfinite(h(u)) or size > 1e100


@given(
    step=st.floats(1e-6, 1e6), lam=st.floats(1e-3, 1e3), knob=st.floats(1e-2, 1e2), seed=st.integers(0, 99)
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_prox_for_any_parameters(step: float, lam: float, knob: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(12) * 10.0 ** rng.uniform(-2, 2, 12)
    for h in (
        Quantile(1.0 / (1.0 + knob), lam),
        Hinge(lam, knob),
        SquaredHinge(lam, -knob),
        SumSquares(lam, knob),
        LogisticLoss(1.0, lam, knob),
        Exponential(lam, -knob),
        Entropy(lam, knob),
        Poisson(knob, lam),
        NegativeLog(lam),
    ):
        check_prox(h, v.shape, steps=[step], points=[v])


@every
def test_a_diverged_iterate_stays_visible(h: Entrywise) -> None:
    assert np.isnan(h.prox(np.array([1.0, math.nan, 1.0, 1.0]), 1.0)[1])


def test_omega_solves_its_equation() -> None:
    a = np.concatenate([np.linspace(-700, 60, 5001), np.linspace(-5, 5, 5001), np.geomspace(1, 1e300, 500)])
    w, known = omega(np, a), wrightomega(a)
    assert np.max(np.abs(w / known - 1) / (1 + np.abs(a) / (1 + known))) < 1e-15
    assert omega(np, np.array([-math.inf]))[0] == 0.0


def test_logistic_root_against_bisection() -> None:
    rng = np.random.default_rng(0)
    q, c = rng.standard_normal(300) * 10 ** rng.uniform(-3, 4, 300), 10 ** rng.uniform(-6, 6, 300)
    low, high = q.copy(), q + c
    for _ in range(200):
        middle = 0.5 * (low + high)
        above = middle - q - c * 0.5 * (1 - np.tanh(0.5 * middle)) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    size = np.maximum(1.0, np.abs(high))
    # rounding of q and c in the equation, over its slope
    slope = 1 + c * 0.25 / np.cosh(0.5 * np.clip(high, -700, 700)) ** 2
    assert np.all(np.abs(logistic_root(np, q, c) - high) <= 1e-15 * (4 * size + 4 * (np.abs(q) + c) / slope))


@pytest.mark.parametrize("h", EVERY, ids=repr)
def test_prox_on_torch_tensors(h: Entrywise) -> None:
    pytest.importorskip("torch")
    import array_api_compat.torch as xp

    check_prox(h, (2, 4), steps=(0.5,), xp=xp)
    check_prox(h, (4,), steps=(4.0,), xp=xp, dtype="float32")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Quantile(1.0), ValueError, "Quantile: tau"),
        (lambda: Quantile(0.0), ValueError, "Quantile: tau"),
        (lambda: Hinge(-1.0), ValueError, "Hinge: lam"),
        (lambda: Hinge(1.0, math.inf), ValueError, "Hinge: margin"),
        (lambda: SumSquares(1.0, [math.nan]), ValueError, "SumSquares: target"),
        (lambda: Entropy(1.0, 0.0), ValueError, "Entropy: reference must be finite and > 0, got 0"),
        (lambda: Poisson([-1.0]), ValueError, "Poisson: every entry of y"),
        (lambda: KLDivergence(-1.0), ValueError, "KLDivergence: y"),
        (lambda: Poisson(1.0, 1.0, [1.0, 0.0]), ValueError, "Poisson: every entry of exposure"),
        (lambda: NegativeLog("1"), TypeError, "NegativeLog: lam"),
        (lambda: Exponential(1.0, [1.0, 0.0]), ValueError, "Exponential: every entry of rate"),
        (lambda: LogisticLoss([1.0, 2.0]), ValueError, "LogisticLoss: labels"),
        (
            lambda: LogisticLoss(1.0, 1.0, 0.0),
            ValueError,
            "LogisticLoss: scale must be finite and > 0, got 0",
        ),
        (lambda: Hinge(np.ones(3)).prox(np.zeros((3, 4)), 1.0), ValueError, "do not fit"),
    ],
)
def test_invalid_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
