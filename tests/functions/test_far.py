"""Support functions, slopes far out and directions without end, against points and values."""

import math

import numpy as np
import pytest

from ipds.functions import (
    L1,
    L2,
    L21,
    PSD,
    Affine,
    Box,
    CappedSimplex,
    ColumnSimplex,
    Composed,
    DiagonalEquals,
    ElasticNet,
    Entropy,
    ExponentialCone,
    GroupL2,
    HalfSpace,
    Hinge,
    Huber,
    HuberLoss,
    L1Ball,
    L2Ball,
    LeastSquares,
    Linear,
    Linf,
    LinfBall,
    Logistic,
    LogisticLoss,
    NonNegative,
    Nuclear,
    Precomposed,
    Quadratic,
    Quantile,
    RowSimplex,
    Scaled,
    SecondOrderCone,
    Separable,
    Simplex,
    SmoothSum,
    Stacked,
    Sum,
    SumSquares,
    TotalVariation1D,
    Translated,
    Weighted,
    Zero,
)

g = np.random.default_rng(3)
ROWS = g.standard_normal((2, 6))
ORTHOGONAL = 2.0 * np.linalg.qr(g.standard_normal((6, 6)))[0][:4]

CASES = {
    "zero": (Zero(), (6,)),
    "l1": (L1(np.arange(1.0, 7.0)), (6,)),
    "l2": (L2(2.0), (6,)),
    "l21": (L21(0.5), (3, 2)),
    "groups": (GroupL2(1.0, [[0, 1], [2, 3]]), (6,)),
    "linf": (Linf(3.0), (6,)),
    "nuclear": (Nuclear(1.0), (3, 2)),
    "variation": (TotalVariation1D(1.0), (6,)),
    "huber": (Huber(2.0, 0.5), (6,)),
    "elastic net": (ElasticNet(1.0, 0.5), (6,)),
    "elastic net without square": (ElasticNet(1.0, 0.0), (6,)),
    "quantile": (Quantile(0.3, 2.0), (6,)),
    "hinge": (Hinge(), (6,)),
    "squares": (SumSquares(), (6,)),
    "logistic": (LogisticLoss(), (6,)),
    "entropy": (Entropy(), (6,)),
    "box": (Box(-1.0, np.arange(6.0)), (6,)),
    "half open box": (
        Box(np.array([0, 0, 0, -np.inf, -np.inf, 1.0]), np.array([1, 1, np.inf, np.inf, 2, 1])),
        (6,),
    ),
    "ball of linf": (LinfBall(2.0), (6,)),
    "nonnegative": (NonNegative(), (6,)),
    "simplex": (Simplex(2.0), (6,)),
    "row simplex": (RowSimplex(), (3, 2)),
    "column simplex": (ColumnSimplex(2.0), (3, 2)),
    "capped simplex": (CappedSimplex(0.7, 2.0), (6,)),
    "l1 ball": (L1Ball(2.0), (6,)),
    "l2 ball": (L2Ball(2.0), (6,)),
    "affine": (Affine(ROWS, np.array([1.0, -2.0])), (6,)),
    "half space": (HalfSpace(ROWS[0], 2.0), (6,)),
    "psd": (PSD(), (3, 3)),
    "second order cone": (SecondOrderCone(), (4,)),
    "exponential cone": (ExponentialCone(), (3,)),
    "diagonal": (DiagonalEquals(2.0), (3, 3)),
    "scaled": (Scaled(L1(1.0), 3.0), (6,)),
    "translated": (Translated(Box(0.0, 1.0), 5.0), (6,)),
    "mirrored": (Precomposed(NonNegative(), -2.0, 1.0), (6,)),
    "rotated": (Precomposed(Simplex(), ORTHOGONAL, 0.1), (6,)),
    "separable": (Separable([(slice(0, 2), L1(1.0)), (slice(2, 6), Simplex())]), (6,)),
    "stacked": (Stacked([(NonNegative(), 2), (Box(0.0, 1.0), 4)]), (6,)),
    "sum": (Sum(L1(1.0), NonNegative()), (6,)),
}


def points(h, shape, count=20):
    """Points of the domain, some of them far out."""
    found = [h.prox(size * g.standard_normal(shape), 1e-6) for size in np.geomspace(0.1, 1e4, count)]
    return [x for x in found if math.isfinite(h(x))]


@pytest.mark.parametrize("case", CASES)
def test_support_bounds_all_points_and_is_reached(case):
    h, shape = CASES[case]
    for _ in range(5):
        y = g.standard_normal(shape)
        y = y - h.receding(y)  # else it is infinite
        value = h.support(y)
        assert math.isfinite(value)
        size = np.linalg.norm(y)
        for x in points(h, shape):
            assert np.vdot(y, x) <= value + 1e-6 * size * (1 + np.linalg.norm(x))
        if size > 1e-9:  # the point of the domain nearest to a point far out along y
            far = h.prox(1e6 / size * y, 1e-9)
            assert np.vdot(y, far) >= value - 1e-3 * size


@pytest.mark.parametrize("case", CASES)
def test_directions_without_end(case):
    h, shape = CASES[case]
    for d in [*g.standard_normal((5, *shape)), np.zeros(shape)]:
        r = h.receding(d)
        assert abs(np.vdot(d - r, r)) <= 1e-8 * (1 + np.vdot(d, d))  # a projection on a cone
        np.testing.assert_allclose(h.receding(r), r, atol=1e-8)
        for x in points(h, shape, 3):
            assert math.isfinite(h(x + 1e5 * r))
        for x in points(h, shape, 6):  # nothing that never ends is nearer to d
            other = x / max(1e4, np.linalg.norm(x)) if np.linalg.norm(h.receding(x)) > 1e3 else 0.0 * x
            assert np.vdot(d - r, h.receding(other)) <= 1e-6 * (1 + np.linalg.norm(d))


@pytest.mark.parametrize("case", CASES)
def test_slopes_far_out(case):
    h, shape = CASES[case]
    for _ in range(5):
        d = h.receding(g.standard_normal(shape))
        x = points(h, shape, 1)[0]
        slope = h.recession(d)
        near, rise = ((h(x + 2 * far * d) - h(x + far * d)) / far for far in (1e4, 1e6))
        if math.isinf(slope):
            assert rise > 1.2 * near > 0
        else:
            assert rise == pytest.approx(slope, rel=1e-3, abs=1e-3)


G = g.standard_normal((4, 6))
FLAT = np.linalg.svd(G)[2][-1]
SMOOTH = {
    "linear": Linear(np.arange(6.0)),
    "least squares": LeastSquares(G, np.ones(4)),
    "quadratic": Quadratic(G.T @ G, np.ones(6)),
    "huber": HuberLoss(G, np.ones(4), 0.5),
    "logistic": Logistic(G, np.array([1.0, -1, 1, 1])),
    "composed": Composed(Linear(np.ones(4)), G, 1.0),
    "sum": SmoothSum([Linear(np.ones(6)), LeastSquares(G, np.ones(4))]),
    "weighted": Weighted(Linear(np.ones(6)), 2.0, 3.0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_of_smooth_functions(name):
    f, far = SMOOTH[name], 1e6
    for d in (FLAT, g.standard_normal(6)):
        slope = f.recession(d)
        rise = (f(2 * far * d) - f(far * d)) / far
        assert rise > 1e4 if math.isinf(slope) else rise == pytest.approx(slope, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("c", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("make", [lambda G: LeastSquares(G, np.ones(4)), lambda G: Quadratic(G.T @ G)])
def test_directions_are_flat_whatever_the_units_of_the_data(make, c):
    """A direction off the null space by 1e-9 is flat, one off it by 1e-3 is not."""
    f = make(c * G)
    assert f.recession(FLAT + 1e-9 * G[0]) == 0.0
    assert math.isinf(f.recession(FLAT + 1e-3 * G[0]))


def test_a_concave_quadratic_has_no_slope():
    assert math.isinf(Quadratic(-np.eye(3)).recession(np.ones(3)))


@pytest.mark.parametrize("case", CASES)
def test_no_two_points_are_further_apart_than_the_width(case):
    h, shape = CASES[case]
    width = np.broadcast_to(h.width(shape), shape)
    cloud = np.stack(points(h, shape))
    assert np.all(np.ptp(cloud, axis=0) <= width * (1 + 1e-9))
    if case in ("box", "simplex", "l2 ball", "translated"):  # and the width is no idle bound
        ends = [h.prox(1e6 * s * e.reshape(shape), 1.0) for s in (1, -1) for e in np.eye(6)]
        np.testing.assert_allclose(np.ptp(np.stack(ends), axis=0), width, rtol=1e-6)
