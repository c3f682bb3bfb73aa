"""Proxes at the ends of the range of numbers: finite, never worse than zero, the same in all units."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

import problems
from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    PSD,
    SCAD,
    Affine,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    ElasticNet,
    GroupL2,
    HalfSpace,
    Huber,
    L1Ball,
    L2Ball,
    LHalf,
    Linf,
    LogSum,
    LTwoThirds,
    MoreauEnvelope,
    NonNegative,
    NonzeroColumns,
    NonzeroRows,
    Nuclear,
    Precomposed,
    Rank,
    RowCardinality,
    Scaled,
    Separable,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    TotalVariation1D,
    Translated,
    Zero,
)

FUNCTIONS = [
    *(
        (h, (4, 3))
        for h in (
            Zero(),
            L1(0.5),
            L2(0.5),
            L21(0.5),
            Linf(0.5),
            Nuclear(0.5),
            TotalVariation1D(0.5),
            ElasticNet(0.5, 0.3),
            Huber(0.5, 1.0),
            L0(0.5),
            LHalf(0.5),
            LTwoThirds(0.5),
            CappedL1(0.5, 1.0),
            LogSum(0.5, 1.0),
            MCP(0.5, 2.0),
            SCAD(0.5, 3.7),
            Box(-1, 1),
            NonNegative(),
            Simplex(),
            L1Ball(),
            L2Ball(),
            Sphere(),
            Stiefel(),
            Rank(2),
            Cardinality(4),
            RowCardinality(1),
            NonzeroRows(2),
            NonzeroColumns(1),
            Binary(0, 1),
            Affine(np.arange(8.0).reshape(2, 4), np.ones((2, 3))),
            HalfSpace(np.ones((4, 3)), 1.0),
            Scaled(L1(1.0), 0.5),
            Translated(L1(1.0), np.ones((4, 3))),
            Precomposed(L1(1.0), 2.0, 0.1),
            Sum(L1(1.0), NonNegative()),
            Sum(MCP(0.5, 2.0), Box(-1, 1)),
            MoreauEnvelope(L1(1.0), 0.5),
        )
    ),
    (PSD(), (3, 3)),
    (GroupL2(0.5, [[0, 1], [2, 3]]), (4,)),
    (Separable([(slice(0, 2), L1(1.0)), (slice(2, 4), Box(0, 1))]), (4,)),
    (TotalVariation1D(0.5), (1,)),
    (Stiefel(), (1, 1)),
    (Simplex(), (1,)),
]


STEPS = [1.0, 1e-3, 1e3, 1e-150, 1e150, 1e-300, 1e300, 5e-324]


def extreme_points(shape: tuple[int, ...], dtype: type) -> Iterator[np.ndarray]:
    base = problems.rng(0).standard_normal(shape)
    limits, place = np.finfo(dtype), np.arange(base.size).reshape(shape)
    low, high = math.log10(float(limits.tiny)), math.log10(float(limits.max))
    for point in (
        np.zeros(shape),
        -np.zeros(shape),
        np.ones(shape),
        np.broadcast_to(base[:1], shape),  # duplicated rows, of rank one
        *(base * 10.0**power for power in (0.48 * low, 0.97 * low, 0.48 * high, 0.97 * high)),
        np.sign(base) * float(limits.smallest_subnormal),
        np.round(5 * base) * float(limits.smallest_subnormal),
        np.sign(base) * (float(limits.max) / 4),
        np.where(place == 0, float(limits.max) / 2, base),
        base * 10.0 ** np.linspace(0.8 * low, 0.8 * high, base.size).reshape(shape),
    ):
        yield point.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("h", "shape"), FUNCTIONS, ids=lambda case: str(case)[:30])
def test_proxes_stay_finite_and_are_no_worse_than_zero(h, shape, dtype):
    """Sizes to the ends of the range and steps beyond it: L21, GroupL2, Linf, ℓ1/2 and ℓ2/3 gave NaN."""
    for v in extreme_points(shape, dtype):
        for step in STEPS:
            with np.errstate(all="ignore"):
                u = h.prox(v.copy(), step)
                value = h(u)
            assert u.dtype == dtype
            assert np.all(np.isfinite(u))
            assert not math.isnan(value)
            if step > 1e-308 and type(h) in (L1, L21, GroupL2, L2, L0, LHalf):  # zero is a candidate
                unit = max(float(np.abs(v).max()), float(np.finfo(dtype).tiny))
                cost = value * (step / unit / unit) + 0.5 * float(np.sum(((u - v) / unit).astype(float) ** 2))
                at_zero = 0.5 * float(np.sum((v / unit).astype(float) ** 2))
                assert not math.isfinite(cost) or cost <= at_zero * (1 + 1e-5)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_projections_and_norms_do_not_depend_on_units(unit):
    """Row norms whose squares underflowed chose the wrong rows."""
    v = problems.rng(1).standard_normal((5, 4)) * np.array([[1.0], [3.0], [0.5], [2.0], [0.1]])
    groups = [[0, 1, 2], [5, 6]]
    for h in (NonzeroRows(2), NonzeroColumns(2), Rank(2), Cardinality(5), RowCardinality(2), NonNegative()):
        np.testing.assert_allclose(h.prox(unit * v, 1.0) / unit, h.prox(v, 1.0), rtol=1e-12, atol=1e-14)
    for h in (
        L1(0.5),
        L2(0.5),
        L21(0.5),
        Linf(0.5),
        GroupL2(0.5, groups),
        Nuclear(0.5),
        TotalVariation1D(0.5),
    ):
        np.testing.assert_allclose(h.prox(unit * v, unit) / unit, h.prox(v, 1.0), rtol=1e-9, atol=1e-12)
        assert h(unit * v) / unit == pytest.approx(h(v), rel=1e-12)


@pytest.mark.parametrize(
    "h", [Huber(0.3, 0.5), MoreauEnvelope(L1(0.15), 0.5)], ids=["Huber", "MoreauEnvelope"]
)
def test_long_steps_keep_the_digits_of_a_small_result(h):
    """u = v/(1 + sλ) was computed as v minus something almost as large."""
    v, step = np.array([0.1 * 3e9]), 1e10
    s = (v - h.prox(v, step)) / step
    u = h.prox(v, step)
    slope = 0.3 * u if isinstance(h, Huber) else u / 0.5
    assert abs(u[0]) < 0.5 * (1.0 if isinstance(h, Huber) else 0.15)
    np.testing.assert_allclose(slope, s, rtol=1e-12)
