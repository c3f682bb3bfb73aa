"""Every penalty: its prox globally, its subgradient, its Lipschitz constant."""

from __future__ import annotations

import math

import array_api_strict
import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    SCAD,
    CappedL1,
    ElasticNet,
    GroupL2,
    Huber,
    IsotropicTotalVariation,
    LHalf,
    Linf,
    LogSum,
    LTwoThirds,
    Nonsmooth,
    Nuclear,
    Scaled,
    TotalVariation1D,
    Zero,
    check_prox,
)
from ipds.functions.checking import STEPS
from ipds.operators import Gradient

WEIGHTS = np.array([0.3, 0.0, 2.0, 1.0])
ENTRYWISE: list[Nonsmooth] = [
    L1(0.7),
    L0(0.7),
    LHalf(0.7),
    LTwoThirds(0.7),
    CappedL1(0.7, 0.4),
    LogSum(0.7, 0.3),
    MCP(0.7, 1.7),
    SCAD(0.7, 2.8),
    ElasticNet(0.7, 0.2),
    Huber(0.7, 0.6),
]
WEIGHTED: list[Nonsmooth] = [
    L1(WEIGHTS),
    L0(WEIGHTS),
    LHalf(WEIGHTS),
    LTwoThirds(WEIGHTS),
    CappedL1(WEIGHTS, 0.4),
    LogSum(WEIGHTS, 0.3),
    MCP(WEIGHTS, 1.7),
    SCAD(WEIGHTS, 2.8),
    ElasticNet(WEIGHTS, 0.2),
    Huber(WEIGHTS, 0.6),
]
GROUPED: list[Nonsmooth] = [Zero(), L2(0.7), L21(0.7), Linf(0.7), TotalVariation1D(0.7)]
SHAPED: list[tuple[Nonsmooth, tuple[int, ...]]] = [
    (L21([0.3, 0.0, 2.0]), (3, 4)),
    (L21([0.3, 0.0, 2.0]), (3,)),
    (GroupL2(0.7, [[0, 3], [1, 4, 5]], [1.0, 2.0]), (3, 3)),
    (GroupL2(0.7, [[2], [0, 1]]), (3,)),
    (Nuclear(0.7), (4, 3)),
    (Nuclear(0.7), (2, 5)),
    (TotalVariation1D(0.3), (12,)),
    (TotalVariation1D(0.3), (6, 2)),
    (Linf(0.2), (15,)),
]
FEW = (1e-3, 0.5, 3.0, 1e3)
CONVEX = [(h, (3, 4)) for h in [*ENTRYWISE, *GROUPED] if h.is_convex] + SHAPED


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 4), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("h", ENTRYWISE, ids=repr)
def test_entrywise_prox_is_a_global_minimiser(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=STEPS if shape == (4,) else FEW)


@pytest.mark.parametrize("h", ENTRYWISE, ids=repr)
def test_entrywise_prox_over_a_line_of_inputs(h: Nonsmooth) -> None:
    """Thresholds lie somewhere on it, whatever the step."""
    for step in (1e-3, 0.1, 1.0, 1.69, 1.7, 1.71, 1.8, 3.8, 10.0, 1e3):
        line = np.linspace(-1.0, 1.0, 101) * 4.0 * (math.sqrt(step) + step ** (2 / 3) + min(step, 3.0))
        check_prox(h, line.shape, steps=[step], points=[line])


@pytest.mark.parametrize("h", WEIGHTED, ids=repr)
def test_weighted_prox_is_a_global_minimiser(h: Nonsmooth) -> None:
    check_prox(h, (4,))
    check_prox(h, (3, 4), steps=FEW, dtype="float32")
    check_prox(h, (3, 4), steps=FEW, xp=array_api_strict)


@pytest.mark.parametrize("h", ENTRYWISE, ids=repr)
def test_entrywise_prox_in_other_dtypes_and_libraries(h: Nonsmooth) -> None:
    check_prox(h, (5,), dtype="float32")
    for shape in [(), (3, 4)]:
        check_prox(h, shape, steps=FEW, xp=array_api_strict)
        check_prox(h, shape, steps=FEW, xp=array_api_strict, dtype="float32")


@pytest.mark.parametrize("shape", [(), (4,), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("h", GROUPED, ids=repr)
def test_group_prox_is_a_global_minimiser(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=FEW)


@pytest.mark.parametrize(("h", "shape"), [*SHAPED, *((h, (3, 4)) for h in GROUPED)], ids=str)
def test_shaped_prox_in_dtypes_and_libraries(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=FEW)
    check_prox(h, shape, steps=(0.5,), dtype="float32")
    check_prox(h, shape, steps=(0.5,), xp=array_api_strict, dtype="float32")


@given(
    lam=st.floats(1e-3, 1e2),
    knob=st.floats(1e-2, 1e2),
    step=st.floats(1e-3, 1e3),
    size=st.floats(1e-2, 1e2),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_nonconvex_prox_for_any_parameters(
    lam: float, knob: float, step: float, size: float, seed: int
) -> None:
    v = size * np.random.default_rng(seed).standard_normal(12)
    for h in (L0(lam), LHalf(lam), LTwoThirds(lam), CappedL1(lam, knob), LogSum(lam, knob), MCP(lam, knob)):
        check_prox(h, v.shape, steps=[step], points=[v])
    check_prox(SCAD(lam, 2.0 + knob), v.shape, steps=[step], points=[v])


@pytest.mark.parametrize(("h", "shape"), CONVEX, ids=str)
def test_subgradient_inequality(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for x in [np.zeros(shape), np.round(rng.standard_normal(shape)), *rng.standard_normal((5, *shape))]:
        g = h.subgradient(x)
        assert g.shape == x.shape
        for y in [np.zeros(shape), -x, 2.0 * x, *rng.standard_normal((20, *shape))]:
            assert h(y) >= h(x) + np.sum(g * (y - x)) - 1e-10


@pytest.mark.parametrize("h", [*ENTRYWISE, *WEIGHTED], ids=repr)
def test_subgradient_is_the_derivative_where_there_is_one(h: Nonsmooth) -> None:
    x = np.array([0.53, -0.2, 1.37, -5.0])
    for i, g in enumerate(h.subgradient(x)):
        e = 1e-6 * np.eye(4)[i]
        assert g == pytest.approx((h(x + e) - h(x - e)) / 2e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("h", "shape"),
    [(h, (3, 4)) for h in [*ENTRYWISE, *WEIGHTED, *GROUPED] if math.isfinite(h.lipschitz((3, 4)))] + SHAPED,
    ids=str,
)
def test_lipschitz_constant_holds_and_is_attained(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    constant = h.lipschitz(shape)
    for scale in (1e-3, 1.0, 10.0):
        x, y = scale * rng.standard_normal((2, *shape))
        assert abs(h(x) - h(y)) <= constant * np.linalg.norm(x - y) * (1.0 + 1e-12)
    alternating = (-1.0) ** np.arange(shape[0]).reshape((-1,) + (1,) * (len(shape) - 1)) * np.ones(shape)
    tall = np.eye(*shape) if len(shape) == 2 else np.ones(shape)
    steep = [alternating, np.ones(shape), tall]
    # Where the penalty is steep: at tiny entries for those that level off, at large ones for Huber.
    slopes = [np.linalg.norm(h.subgradient(size * x)) for size in (1e-6, 1.0, 1e3) for x in steep]
    assert constant * 0.999 <= max(slopes) <= constant * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize("s", [1e-3, 0.2, 30.0])
@pytest.mark.parametrize(("h", "shape"), [*CONVEX, (Scaled(L1(0.7), 3.0), (5,))], ids=str)
def test_softened_functions(h: Nonsmooth, shape: tuple[int, ...], s: float) -> None:
    """Near h, the gradient is that of the value, and no steeper than 1/s."""
    rng = np.random.default_rng(5)
    u, w = s * rng.standard_normal(shape), rng.standard_normal(shape)
    (value, d), (_, e) = h.soften(u, s), h.soften(w, s)
    assert np.linalg.norm(d - e) <= (1 + 1e-9) * np.linalg.norm(u - w) / s
    slope = h.lipschitz(shape)
    if slope < math.inf:
        assert abs(value - h(u)) <= s * slope**2 * (1 + 1e-9)
        assert np.linalg.norm(d) <= slope * (1 + 1e-9)
    step = 1e-6 * s
    change = (h.soften(u + step * w, s)[0] - h.soften(u - step * w, s)[0]) / (2 * step)
    assert change == pytest.approx(np.vdot(d, w), rel=1e-5, abs=1e-5 * np.linalg.norm(d) * np.linalg.norm(w))


def test_softened_sums_bend_everywhere() -> None:
    """Where the envelope of a norm is as straight as the norm, the smoothing in its place still bends."""
    for h, far in ((L1(1.0), np.array([5.0])), (L21(1.0), np.array([[3.0, 4.0]]))):
        assert 0.9 < np.linalg.norm(h.soften(far, 1.0)[1]) < 1.0
        assert np.isfinite(h.soften(1e200 * far, 1e199)[0])


@pytest.mark.parametrize("h", [L0(1.0), LHalf(1.0), LTwoThirds(1.0), ElasticNet(1.0, 1.0)], ids=repr)
def test_no_lipschitz_constant(h: Nonsmooth) -> None:
    assert h.lipschitz((3,)) == math.inf


def test_values_by_hand() -> None:
    x = np.array([0.0, -3.0, 0.5])
    assert L1(2.0)(x) == 7.0
    assert L0(2.0)(x) == 4.0
    assert LHalf(1.0)(x) == pytest.approx(math.sqrt(3.0) + math.sqrt(0.5))
    assert LTwoThirds(1.0)(x) == pytest.approx(3.0 ** (2 / 3) + 0.5 ** (2 / 3))
    assert CappedL1(2.0, 1.0)(x) == 3.0
    assert LogSum(2.0, 0.5)(x) == pytest.approx(2.0 * (math.log(7.0) + math.log(2.0)))
    assert MCP(1.0, 2.0)(x) == pytest.approx(1.0 + 0.5 - 0.25 / 4.0)
    assert SCAD(1.0, 2.5)(x) == pytest.approx(1.75 + 0.5)
    assert SCAD(1.0, 5.0)(x) == pytest.approx((2 * 5 * 3 - 9 - 1) / (2 * 4) + 0.5)
    assert ElasticNet(1.0, 2.0)(x) == pytest.approx(3.5 + 9.25)
    assert Huber(2.0, 1.0)(x) == pytest.approx(2.0 * (2.5 + 0.125))
    assert Linf(2.0)(x) == 6.0
    assert TotalVariation1D(2.0)(x) == 13.0
    assert Nuclear(2.0)(np.diag([3.0, -1.0])) == pytest.approx(8.0)
    assert L21(1.0)(np.array([[3.0, 4.0], [0.0, -1.0]])) == 6.0
    assert all(type(h(x)) is float for h in [*ENTRYWISE, *GROUPED])


def test_ties_at_the_threshold_cost_the_same() -> None:
    """Just below the threshold 0 is taken, just above the far branch."""
    assert L0(0.5).prox(np.array([1.0 - 1e-9, 1.0 + 1e-9]), 1.0).tolist() == [0.0, 1.0 + 1e-9]
    for h, threshold in ((LHalf(1.0), 1.5), (LTwoThirds(1.0), 2.0 * (2 / 3) ** 0.75), (MCP(1.0, 1.0), 2.0)):
        step = 4.0 if isinstance(h, MCP) else 1.0
        low, high = h.prox(np.array([threshold * (1 - 1e-9), threshold * (1 + 1e-9)]), step)
        assert low == 0.0
        assert high > 0.5


@pytest.mark.parametrize("h", [*ENTRYWISE, *GROUPED, Nuclear(0.7)], ids=repr)
def test_huge_and_tiny_inputs(h: Nonsmooth) -> None:
    v = np.array([[1.0, -2.0], [3.0, 0.5]])
    big = h.prox(1e200 * v, 1.0)
    shrink = 1.2 if isinstance(h, ElasticNet) else 1.0
    assert np.allclose(big * shrink / 1e200, v)
    tiny = h.prox(1e-200 * v, 1.0)
    assert np.all(np.abs(tiny) <= 1.0001e-200 * np.abs(v).max())


def test_step_as_numpy_scalar_keeps_float32() -> None:
    for h in [*ENTRYWISE, *GROUPED]:
        assert h.prox(np.ones((2, 2), np.float32), np.float64(0.5)).dtype == np.float32


def test_noncontiguous_and_empty_input() -> None:
    v = np.random.default_rng(0).standard_normal((6, 4))
    for h in [*ENTRYWISE, *GROUPED, Nuclear(0.7)]:
        for view in (v.T, v[::2], np.asfortranarray(v)):
            assert np.allclose(h.prox(view, 0.7), h.prox(np.ascontiguousarray(view), 0.7))
    for h in ENTRYWISE:
        assert h.prox(np.zeros((0,)), 1.0).shape == (0,)
        assert h(np.zeros((0,))) == 0.0


def test_weights_that_do_not_fit_the_block() -> None:
    for h in (L1(WEIGHTS), L21([1.0, 2.0])):
        with pytest.raises(ValueError, match=r"do not fit|broadcast"):
            h.prox(np.zeros((3, 3)), 1.0)
    with pytest.raises(ValueError, match="GroupL2: index 7"):
        GroupL2(1.0, [[7]])(np.zeros(3))


def test_total_variation_certificate() -> None:
    """v - u = s Dᵀw with |w| ≤ λ and w = λ sign where u jumps: a proof of optimality."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 200):
        for step in (0.01, 1.0, 30.0):
            v = np.cumsum(rng.standard_normal(n))
            u = TotalVariation1D(0.7).prox(v, step)
            w = -np.cumsum(v - u)[:-1] / step
            jump = np.diff(u)
            assert abs(np.sum(v - u)) < 1e-9 * max(1.0, np.abs(v).sum())
            assert np.all(np.abs(w) <= 0.7 * (1 + 1e-9))
            assert np.allclose(w[jump != 0], 0.7 * np.sign(jump[jump != 0]))


@pytest.mark.parametrize("shape", [(2, 2), (1, 6), (7, 5), (20, 16)])
def test_isotropic_total_variation_to_rounding(shape: tuple[int, int]) -> None:
    """As low as an independent solver gets, stationary to rounding, and flat where all is one region."""
    rng = np.random.default_rng(shape)
    v = np.repeat(rng.standard_normal(shape[0]), shape[1]).reshape(shape) + 0.3 * rng.standard_normal(shape)
    for t in (1e-3, 0.1, 0.5, 1e3):
        u = IsotropicTotalVariation(2.0).prox(v, t / 2)
        D = Gradient(shape)
        X = cp.Variable(v.size)
        rows = cp.reshape(D.as_matrix(shape) @ X, (v.size, 2), order="C")
        target = 0.5 * cp.sum_squares(X - v.ravel()) + t * cp.sum(cp.norm(rows, axis=1))
        best = cp.Problem(cp.Minimize(target)).solve(solver=cp.CLARABEL, tol_gap_rel=1e-12, tol_gap_abs=1e-12)
        value = 0.5 * np.sum((u - v) ** 2) + IsotropicTotalVariation(t)(u)
        assert value <= best + 1e-9 * max(1.0, abs(best))
        assert np.mean(u) == pytest.approx(np.mean(v), abs=1e-12)
        for _ in range(50):  # a stationary point to rounding: no direction descends
            d = rng.standard_normal(shape) * 10 ** rng.uniform(-9, -2)
            other = 0.5 * np.sum((u + d - v) ** 2) + IsotropicTotalVariation(t)(u + d)
            assert other >= value * (1 - 1e-14)
    assert np.ptp(IsotropicTotalVariation(2.0).prox(v, 1e3)) <= 1e-12  # all one region
    np.testing.assert_array_equal(IsotropicTotalVariation(0.0).prox(v, 1.0), v)
    with pytest.raises(ValueError, match="acts on images, got shape"):
        IsotropicTotalVariation(1.0).prox(np.zeros(3), 1.0)


@pytest.mark.parametrize("shape", [(4, 3), (1, 5), (1, 1)])
def test_isotropic_total_variation_in_dtypes_and_libraries(shape: tuple[int, int]) -> None:
    h, rng = IsotropicTotalVariation(0.3), np.random.default_rng(0)
    x, y = rng.standard_normal((2, *shape))
    check_prox(h, shape, steps=(0.3, 3.0), points=[3 * x])
    check_prox(h, shape, steps=(0.5,), points=[y], xp=array_api_strict, dtype="float32")
    assert abs(h(x) - h(y)) <= h.lipschitz(shape) * np.linalg.norm(x - y)
    assert h(y) >= h(x) + np.vdot(h.subgradient(x), y - x) - 1e-12
    assert h.recession(x) == h(x)


def test_norms_by_duality() -> None:
    """g = (v - u)/s has dual norm ≤ λ and ⟨g, u⟩ = λ‖u‖: a proof of optimality for a norm."""
    rng = np.random.default_rng(1)
    dual = {
        L2(0.7): np.linalg.norm,
        Linf(0.7): lambda g: np.abs(g).sum(),
        Nuclear(0.7): lambda g: np.linalg.norm(g, 2),
        L21(0.7): lambda g: np.linalg.norm(g, axis=1).max(),
        L1(0.7): lambda g: np.abs(g).max(),
    }
    for h, dual_norm in dual.items():
        for step in STEPS:
            v = 3.0 * rng.standard_normal((8, 5))
            u = h.prox(v, step)
            g = (v - u) / step
            assert dual_norm(g) <= 0.7 * (1 + 1e-9)
            assert np.sum(g * u) == pytest.approx(h(u), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(
    ("h", "shape"), [*((h, (3, 4)) for h in [*ENTRYWISE, *WEIGHTED, *GROUPED]), *SHAPED], ids=str
)
def test_prox_on_torch_tensors(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch")
    import array_api_compat.torch as xp

    check_prox(h, shape, steps=(0.5,), xp=xp)
    check_prox(h, shape, steps=(4.0,), xp=xp, dtype="float32")
    assert h.subgradient(xp.ones(shape)).shape == shape


def test_nuclear_norm_of_a_diverged_iterate() -> None:
    for bad in (math.inf, math.nan):
        x = np.array([[1.0, bad], [0.0, 2.0]])
        assert np.all(np.isnan(Nuclear(1.0).prox(x, 1.0)))
        assert math.isnan(Nuclear(1.0)(x))


def test_an_elastic_net_with_squares_in_some_entries_recedes_in_the_others():
    h = ElasticNet(0.1, np.array([0.0, 1.0, 0.0]))
    assert h.recession(np.ones(3)) == np.inf
    assert h.recession(np.array([1.0, 0.0, -1.0])) == pytest.approx(0.2)
    assert ElasticNet(0.1, 0.0).recession(np.ones(3)) == pytest.approx(0.3)
