"""Simplexes, cones, diagonals, choices, log det and the ratio of norms: proxes globally, and what else they offer."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipds.functions import (
    CappedSimplex,
    ColumnSimplex,
    DiagonalEquals,
    ExponentialCone,
    KBinary,
    L1OverL2,
    LogDet,
    Nonsmooth,
    RowSimplex,
    SecondOrderCone,
    Simplex,
    TrimmedSquares,
    check_prox,
)
from ipds.functions.checking import STEPS

Case = tuple[Any, tuple[int, ...]]
SETS: list[Case] = [
    (RowSimplex(1.5), (3, 4)),
    (RowSimplex(np.array([1.0, 2.0, 0.1])), (3, 2, 2)),
    (ColumnSimplex(np.array([1.0, 2.0, 3.0])), (4, 3)),
    (ColumnSimplex(), (3, 2, 2)),
    (CappedSimplex(1.0, 0.4), (5,)),
    (CappedSimplex(2.0, np.array([0.1, 5.0, math.inf, 0.5])), (4,)),
    (CappedSimplex(1.0, 0.25), (2, 2)),
    (CappedSimplex(1.5, np.array([[0.5, 0.0], [2.0, 1.0]])), (2, 2)),
    (DiagonalEquals(1.0), (4, 4)),
    (DiagonalEquals([1.0, -2.0, 0.0]), (3, 3)),
    (SecondOrderCone(), (4,)),
    (SecondOrderCone(), (3, 4)),
    (SecondOrderCone(), (1,)),
    (ExponentialCone(), (3,)),
    (ExponentialCone(), (4, 3)),
    (KBinary(2), (5,)),
    (KBinary(3), (3, 1)),
]
PENALTIES: list[Case] = [
    (TrimmedSquares(2, 0.7), (6,)),
    (TrimmedSquares(0), (2, 2)),
    (TrimmedSquares(9), (4,)),
    (LogDet(0.7), (3, 3)),
    (LogDet(2.0, 3.0), (4, 4)),
    (L1OverL2(0.7), (5,)),
    (L1OverL2(2.0), (2, 3)),
    (L1OverL2(2.0), (1,)),
    (L1OverL2(0.0), (3,)),
]
EVERY = [*SETS, *PENALTIES]
every = pytest.mark.parametrize(("h", "shape"), EVERY, ids=str)


@every
def test_prox_is_a_global_minimiser(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=(1e-3, 1e3) if h.is_set else STEPS)
    check_prox(h, shape, steps=(1.0,) if h.is_set else (1e-3, 1e3), dtype="float32")
    check_prox(h, shape, steps=(0.5,), xp=array_api_strict, dtype="float32")


@pytest.mark.parametrize(("h", "shape"), SETS, ids=str)
def test_sets_hold_their_projections_and_little_else(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    assert h.is_set
    for size in (1e-3, 1.0, 1e3):
        for dtype in (np.float32, np.float64):
            u = h.prox((size * rng.standard_normal(shape)).astype(dtype), 1.0)
            assert h(u) == 0.0
            np.testing.assert_allclose(
                h.prox(u, 1.0), u, rtol=1e-4 if dtype == np.float32 else 1e-7, atol=1e-6 * size
            )
    far = u + 0.01 * np.abs(u).max() * rng.standard_normal(shape)
    cone = isinstance(h, SecondOrderCone | ExponentialCone)
    assert cone or h(far) == math.inf


@every
def test_jacobian_of_the_prox_by_differences(h: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    agreed = 0
    for step in (0.1, 1.0, 5.0):
        for _ in range(10):
            v, d, e = 2.0 * rng.standard_normal((3, *shape))
            J, width = h.prox_jacobian(v, step), 1e-6
            product, other = (J.apply(d), J.apply(e)) if hasattr(J, "apply") else (J * d, J * e)
            quotient = (h.prox(v + width * d, step) - h.prox(v - width * d, step)) / (2 * width)
            assert np.sum(product * e) == pytest.approx(np.sum(d * other), rel=1e-9, abs=1e-12)
            agreed += np.allclose(product, quotient, rtol=1e-5, atol=1e-6)
            if hasattr(J, "as_matrix") and J.as_matrix(shape) is not None:
                matrix = J.as_matrix(shape)
                np.testing.assert_allclose(matrix @ d.reshape(-1), product.reshape(-1), atol=1e-12)
    assert agreed >= 29  # a kink may lie between the two ends


@every
@pytest.mark.parametrize("d", [0.25, 3.0])
def test_rescaled_by_a_number(h: Any, shape: tuple[int, ...], d: float) -> None:
    if isinstance(h, KBinary):
        assert getattr(h, "rescaled", lambda d: None)(d) is None
        return
    other, rng = h.rescaled(d), np.random.default_rng(2)
    for _ in range(5):
        u = h.prox(rng.standard_normal(shape), 1.0)
        assert other(u / d) == pytest.approx(h(u), rel=1e-12, abs=1e-12)
    check_prox(other, shape, steps=(0.5,))


def test_rescaled_by_weights_of_their_own() -> None:
    d = np.array([[1.0, 2.0], [3.0, 4.0]])
    h = DiagonalEquals([1.0, 2.0]).rescaled(d)
    np.testing.assert_allclose(h.prox(np.zeros((2, 2)), 1.0), [[1.0, 0.0], [0.0, 0.5]])
    for h in (
        RowSimplex(),
        CappedSimplex(),
        SecondOrderCone(),
        ExponentialCone(),
        LogDet(),
        L1OverL2(),
        TrimmedSquares(1),
    ):
        assert h.rescaled(d) is None


@pytest.mark.parametrize(("h", "shape"), [case for case in EVERY if case[0].is_convex], ids=str)
def test_support_and_recession_by_sampling(h: Any, shape: tuple[int, ...]) -> None:
    """⟨y, x⟩ never exceeds the support on the domain, and reaches it; h rises along d as its recession says."""
    rng = np.random.default_rng(3)
    bounded = isinstance(h, RowSimplex | CappedSimplex)
    for _ in range(20):
        y = rng.standard_normal(shape)
        told = h.support(y)
        reached = [float(np.sum(y * h.prox(far * y, 1.0))) for far in (1e3, 1e6)]
        assert max(reached) <= told + 1e-8
        if math.isfinite(told):
            assert reached[1] == pytest.approx(told, rel=1e-4, abs=1e-4 if bounded else 1e6)
        else:
            assert reached[1] > 10.0
        x = h.prox(rng.standard_normal(shape), 1.0)
        rise = h.recession(y)
        with np.errstate(invalid="ignore"):
            assert (h(x + 1e6 * y) == math.inf) == (rise == math.inf)
        assert not bounded or rise == math.inf
    assert h.recession(np.zeros(shape)) == 0.0
    if isinstance(h, SecondOrderCone | LogDet):
        member = np.eye(*shape) if isinstance(h, LogDet) else np.zeros(shape) + np.eye(1, shape[-1])[0]
        assert h.recession(member) == 0.0
        assert h.support(-member) == 0.0


@pytest.mark.parametrize(
    ("h", "shape"),
    [
        (SecondOrderCone(), (3, 4)),
        (ExponentialCone(), (4, 3)),
        (LogDet(), (3, 3)),
        (DiagonalEquals(2.0), (3, 3)),
    ],
    ids=str,
)
def test_receding_directions_never_leave_the_domain(h: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        x, d = h.prox(rng.standard_normal(shape), 1.0), rng.standard_normal(shape)
        along = h.receding(d)
        assert math.isfinite(h(x + 1e3 * along))
        np.testing.assert_allclose(h.receding(along), along, atol=1e-9)
        assert np.linalg.norm(d - along) <= np.linalg.norm(d)


def test_support_and_recession_of_the_exponential_cone() -> None:
    h = ExponentialCone()
    assert h.recession(np.array([1.0, 1.0, 3.0])) == 0.0
    assert h.recession(np.array([1.0, 1.0, 2.0])) == math.inf
    assert h.recession(np.array([-1.0, 0.0, 0.5])) == 0.0
    assert h.support(np.array([1.0, 1.0, -1.1])) == 0.0  # x exp(y/x - 1) = 1 ≤ 1.1
    assert h.support(np.array([1.0, 1.0, -0.9])) == math.inf
    assert h.support(np.array([0.0, -1.0, -1.0])) == 0.0


def test_diagonals() -> None:
    h = DiagonalEquals([1.0, 2.0])
    assert h.support(np.diag([3.0, -1.0])) == 1.0
    assert h.support(np.ones((2, 2))) == math.inf
    assert h.recession(np.array([[0.0, 1.0], [-1.0, 0.0]])) == 0.0
    assert h.recession(np.eye(2)) == math.inf
    k = h.kinks((2, 2))
    v = np.array([[5.0, 5.0], [-5.0, -5.0]])
    np.testing.assert_array_equal(np.clip(v, k.lower, k.upper), h.prox(v, 1.0))


@pytest.mark.parametrize("radius", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("make", [Simplex, RowSimplex, ColumnSimplex, lambda r: CappedSimplex(r, 2 * r)])
def test_simplexes_forgive_rounding_relative_to_their_radius(make: Any, radius: float) -> None:
    h, x = make(radius), radius * np.eye(2)
    if isinstance(h, Simplex | CappedSimplex):  # one sum over all entries
        x = 0.5 * x
    below = np.array([[1.0, -1.0], [-1.0, 1.0]])  # keeps all sums, and takes zeros below 0
    for error in (below, np.eye(2)):
        assert h(x + 1e-9 * radius * error) == 0.0
        assert h(x + 1e-3 * radius * error) == math.inf


def test_rows_of_a_simplex_are_simplexes() -> None:
    v = np.random.default_rng(0).standard_normal((50, 20)) * np.geomspace(1e-3, 1e3, 50)[:, None]
    u = RowSimplex(2.0).prox(v, 1.0)
    for row, projected in zip(v, u, strict=True):
        np.testing.assert_allclose(projected, Simplex(2.0).prox(row, 1.0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ColumnSimplex(2.0).prox(v.T, 1.0), u.T, rtol=1e-13)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 12), spread=st.floats(0.0, 4.0))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_capped_simplex_by_its_optimality_conditions(seed: int, size: int, spread: float) -> None:
    """u = clip(v - τ, 0, cap) for one τ: entries strictly inside share v - u, the others lie on the right side."""
    rng = np.random.default_rng(seed)
    cap = np.round(rng.random(size), 1) + 0.1
    radius = float(rng.uniform(0.1, 1.0) * cap.sum())
    v = np.round(rng.standard_normal(size) * 10.0 ** rng.uniform(-spread, spread, size), 3)
    u = CappedSimplex(radius, cap).prox(v, 1.0)
    scale = np.abs(v).max() + 1.0
    assert u.sum() == pytest.approx(radius, rel=1e-12, abs=1e-13 * scale)
    lower, upper = (v - u)[u < cap - 1e-14 * scale], (v - u)[u > 1e-14 * scale]
    if lower.size and upper.size:
        assert lower.max() <= upper.min() + 1e-12 * scale


def test_exponential_cone_by_moreau() -> None:
    """u in K, v - u in the polar cone, both orthogonal: a proof that u is the projection."""
    rng = np.random.default_rng(0)
    h, v = ExponentialCone(), rng.standard_normal((5000, 3)) * 10.0 ** rng.uniform(-4, 4, (5000, 3))
    u = h.prox(v, 1.0)
    size = np.linalg.norm(v, axis=1)
    assert np.max(np.abs(np.sum(u * (v - u), axis=1)) / size**2) < 1e-14
    x, y, z = u.T
    assert np.all((y > 0) | ((y == 0) & (x <= 0) & (z >= 0)))
    rho = np.where(y > 0, x / np.where(y > 0, y, 1.0), -math.inf)
    assert np.all(y * np.exp(rho) - z <= 1e-14 * (1 + np.abs(np.where(y > 0, rho, 0.0))) * size)
    # (v - u) is in the polar cone where its own projection on K vanishes
    assert np.max(np.linalg.norm(h.prox(v - u, 1.0), axis=1) / size) < 1e-13


def test_exponential_cone_against_known_points() -> None:
    h = ExponentialCone()
    for v in ([0.0, 1.0, 1.0], [-1.0, 0.0, 2.0], [1.0, 2.0, 2.0 * math.exp(0.5) + 1.0]):
        np.testing.assert_array_equal(h.prox(np.array(v), 1.0), v)
    np.testing.assert_array_equal(h.prox(np.array([-1.0, -2.0, -3.0]), 1.0), [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(h.prox(np.array([1.0, 1.0, -2.0]), 1.0), [0.0, 0.0, 0.0])
    # p + n for the boundary point p = (ρ, 1, e^ρ) and the normal n there
    for rho in (-5.0, -0.3, 0.0, 2.0, 8.0):
        e = math.exp(rho)
        p, n = np.array([rho, 1.0, e]), np.array([e, (1 - rho) * e, -1.0])
        np.testing.assert_allclose(h.prox(3.0 * p + 0.7 * n, 1.0), 3.0 * p, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 4), c=st.floats(1e-3, 1e3), spread=st.floats(0.0, 2.0))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_ratio_of_norms_against_a_search_over_the_length(
    seed: int, size: int, c: float, spread: float
) -> None:
    """For a given ρ = ‖u‖ the best u is known: along (|v| - c/ρ)₊. A dense grid over ρ then sees the minimum."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(size) * 10.0 ** rng.uniform(-spread, spread, size)
    u = L1OverL2(c).prox(v, 1.0)
    found = L1OverL2(c)(u) + 0.5 * float(np.sum((u - v) ** 2))
    best = 0.5 * float(v @ v)
    for rho in np.linspace(0.0, 1.0, 1001)[1:] * float(np.linalg.norm(v)) * 1.001:
        along = np.maximum(np.abs(v) - c / rho, 0.0)
        if not along.any():
            along = (np.abs(v) == np.abs(v).max()).astype(float)
        w = np.copysign(rho * along / np.linalg.norm(along), v)
        best = min(best, L1OverL2(c)(w) + 0.5 * float(np.sum((w - v) ** 2)))
    assert found <= best * (1 + 1e-12)


def test_ratio_of_norms_ignores_units_and_sorts_large_vectors() -> None:
    v = np.random.default_rng(0).standard_normal(20_000) ** 3
    u = L1OverL2(0.5).prox(v, 2.0)
    for unit in (1e-100, 1e100):
        np.testing.assert_allclose(L1OverL2(0.5).prox(unit * v, 2.0 * unit**2), unit * u, rtol=1e-9)
    size = np.linalg.norm(u)
    m = 1.0 - 1.0 * np.abs(u).sum() / size**3
    on = u != 0
    np.testing.assert_allclose(m * u[on], v[on] - np.sign(v[on]) / size, rtol=1e-9)


def test_log_det() -> None:
    h, x = LogDet(0.7, 2.0), np.array([[2.0, 0.5], [0.5, 1.0]])
    assert h(x) == pytest.approx(-0.7 * math.log(np.linalg.det(x / 2.0)))
    assert h(np.array([[1.0, 2.0], [2.0, 1.0]])) == math.inf
    assert h(np.array([[2.0, 0.5], [0.0, 1.0]])) == math.inf
    u = h.prox(x - 3.0, 0.4)
    np.testing.assert_allclose(u - (x - 3.0) + 0.4 * h.subgradient(u), 0.0, atol=1e-13)
    start = np.array([[1.0, 3.0], [1.0, -1.0]])
    assert not h.domain.contains(start)
    assert h.domain.contains(h.domain.inside(start))
    np.testing.assert_allclose(h.domain.inside(x), x)
    assert h.support(-x) == 0.0
    assert h.recession(x) == 0.0


@pytest.mark.parametrize(("h", "shape"), EVERY, ids=str)
def test_prox_on_torch_tensors(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch")
    import array_api_compat.torch as xp

    check_prox(h, shape, steps=(0.5,), xp=xp, dtype="float32")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RowSimplex(0.0), ValueError, "RowSimplex: radius must be finite and > 0, got 0"),
        (lambda: ColumnSimplex(np.ones((2, 2))), ValueError, "one per column"),
        (lambda: RowSimplex().prox(np.ones(3), 1.0), ValueError, "at least two axes"),
        (lambda: CappedSimplex(1.0, -1.0), ValueError, "CappedSimplex: every entry of cap"),
        (lambda: CappedSimplex(1.0, 0.1).prox(np.ones(3), 1.0), ValueError, "admit no sum of 1"),
        (lambda: DiagonalEquals(math.nan), ValueError, "DiagonalEquals: values"),
        (lambda: DiagonalEquals(np.ones((2, 2))), ValueError, "a number or a vector"),
        (lambda: DiagonalEquals().prox(np.ones((2, 3)), 1.0), ValueError, "square matrix"),
        (lambda: SecondOrderCone().prox(np.ones((2, 2, 2)), 1.0), ValueError, "needs a vector"),
        (lambda: ExponentialCone().prox(np.ones(4), 1.0), ValueError, "three entries"),
        (lambda: KBinary(-1), ValueError, "KBinary: k"),
        (lambda: KBinary(4).prox(np.ones(3), 1.0), ValueError, "4 ones do not fit into a block of 3"),
        (lambda: TrimmedSquares(1.5), TypeError, "TrimmedSquares: k"),
        (lambda: LogDet(0.0), ValueError, "LogDet: lam"),
        (lambda: LogDet().prox(np.ones((2, 3)), 1.0), ValueError, "square matrix"),
        (lambda: L1OverL2(-1.0), ValueError, "L1OverL2: lam"),
    ],
)
def test_invalid_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
