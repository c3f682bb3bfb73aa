"""`prox_jacobian` of every function: against differences of the prox, and by what holds of generalised Jacobians."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp

import ipds.functions
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
    CappedSimplex,
    Cardinality,
    ColumnSimplex,
    DiagonalEquals,
    ElasticNet,
    Entropy,
    Exponential,
    ExponentialCone,
    GroupL2,
    HalfSpace,
    Hinge,
    Huber,
    Jumps,
    KBinary,
    KLDivergence,
    L1Ball,
    L1OverL2,
    L2Ball,
    LHalf,
    Linf,
    LinfBall,
    LogDet,
    LogisticLoss,
    LogSum,
    LTwoThirds,
    MoreauEnvelope,
    NegativeLog,
    NonNegative,
    Nonsmooth,
    NonzeroColumns,
    NonzeroRows,
    Nuclear,
    Poisson,
    Precomposed,
    Quantile,
    Rank,
    RowCardinality,
    RowSimplex,
    Scaled,
    SecondOrderCone,
    Separable,
    Simplex,
    Sphere,
    SquaredHinge,
    Stacked,
    Stiefel,
    Sum,
    SumSquares,
    TotalVariation1D,
    Translated,
    TrimmedSquares,
    Zero,
    check_jacobian,
)
from ipds.operators import Operator
from problems import matrix_of

rng = np.random.default_rng(3)
ROTATION = np.linalg.qr(rng.standard_normal((4, 4)))[0]
WEIGHTS = np.array([0.0, 0.5, 1.0, 3.0])
POSITIVE = np.array([0.1, 0.5, 1.0, 3.0])

CASES: list[tuple[Any, tuple[int, ...]]] = [
    (Zero(), (4,)),
    (L1(0.7), (2, 3)),
    (L1(WEIGHTS), (3, 4)),
    (L1(0.7), ()),
    (ElasticNet(0.7, 0.4), (5,)),
    (ElasticNet(WEIGHTS, 0.4), (4,)),
    (Huber(0.7, 0.5), (5,)),
    (Huber(WEIGHTS, 0.5), (4,)),
    (ElasticNet(0.7, WEIGHTS), (4,)),
    (Huber(0.7, POSITIVE), (3, 4)),
    (Box(-0.5, 1.0), (5,)),
    (Box(np.array([-1.0, 0.2, -math.inf, 0.0]), np.array([1.0, 3.0, 0.0, 0.0])), (4,)),
    (NonNegative(), (5,)),
    (LinfBall(0.8), (5,)),
    (HalfSpace(np.array([1.0, -2.0, 0.5]), 0.3), (3,)),
    (Affine(rng.standard_normal((2, 5)), np.ones(2)), (5,)),
    (Affine(rng.standard_normal((2, 4)), np.ones((2, 2))), (4, 2)),
    (Simplex(0.9), (5,)),
    (L1Ball(0.9), (2, 3)),
    (L1Ball(0.0), (3,)),
    (L2Ball(0.9), (2, 3)),
    (L2(0.7), (2, 3)),
    (L2(0.0), (3,)),
    (Linf(0.7), (2, 3)),
    (Linf(0.0), (3,)),
    (L21(0.7), (4, 3)),
    (L21(WEIGHTS), (4, 2)),
    (L21(0.7), (4,)),
    (GroupL2(0.7, [[0, 3], [1, 4, 5]], [1.0, 0.3]), (7,)),
    (GroupL2(0.7, [[0, 3], [1, 4, 5]]), (2, 4)),
    (TotalVariation1D(0.7), (7,)),
    (TotalVariation1D(0.7), (4, 2)),
    (TotalVariation1D(0.0), (4,)),
    (Jumps(0.3), (7,)),
    (Jumps(0.3), (4, 2)),
    (Nuclear(0.7), (3, 4)),
    (Nuclear(0.7), (4, 2)),
    (Nuclear(0.7), (3, 3)),
    (PSD(), (4, 4)),
    (Scaled(L1(0.7), 2.5), (4,)),
    (Scaled(Nuclear(0.7), 2.5), (2, 3)),
    (Translated(L2(0.7), 1.5), (4,)),
    (Translated(Box(0.0, 1.0), np.array([1.0, 2.0, 3.0])), (3,)),
    (Precomposed(Huber(0.7, 0.4), -2.0, 0.3), (4,)),
    (Precomposed(L1(0.7), ROTATION, 0.3), (4,)),
    (Precomposed(L2(0.7), 3.0 * ROTATION[:2]), (4,)),
    (Separable([([3, 0], L1(0.7)), ([1, 2], NonNegative())]), (4,)),
    (Separable([([3, 0], L2(0.7)), ([1, 2], Huber(0.7))]), (4, 2)),
    (Stacked([(L1(0.7), 2), (NonNegative(), (2, 1))]), (4,)),
    (Stacked([(L1(0.7), ()), (Nuclear(0.7), (2, 2)), (L2(0.3), 2)]), (7,)),
    (MoreauEnvelope(L1(0.7), 0.3), (4,)),
    (MoreauEnvelope(Nuclear(0.7), 0.3), (2, 3)),
    (Quantile(0.3), (4,)),
    (Hinge(0.7), (4,)),
    (SumSquares(0.7, 0.4), (4,)),
    (SquaredHinge(0.7), (4,)),
    (LogisticLoss(1.0, 0.7, 2.0), (4,)),
    (Exponential(0.7), (4,)),
    (Entropy(0.7), (4,)),
    (Poisson(2.0), (4,)),
    (KLDivergence(np.array([0.0, 1.0, 2.0, 3.0])), (4,)),
    (NegativeLog(0.7), (4,)),
    (LogDet(0.7), (3, 3)),
    (RowSimplex(), (3, 4)),
    (ColumnSimplex(2.0), (3, 4)),
    (CappedSimplex(1.0, 0.4), (4,)),
    (DiagonalEquals(1.0), (3, 3)),
    (SecondOrderCone(), (4,)),
    (SecondOrderCone(), (3, 3)),
    (ExponentialCone(), (4, 3)),
    (KBinary(2), (4,)),
    (TrimmedSquares(2), (5,)),
    (L1OverL2(0.7), (5,)),
    (Sum(L1(0.7), Box(-0.4, 2.0)), (4,)),
    (Sum(Huber(0.7), NonNegative()), (4,)),
    (Sum(Zero(), Simplex()), (4,)),
    (Sum(L1(0.7), Simplex()), (4,)),
    (Sum(L1(0.7), L1Ball(1.0)), (4,)),
    (Sum(L1(0.7), L2Ball(1.0)), (4,)),
    (Sum(L2(0.7), L2Ball(1.0)), (4,)),
    (Sum(L21(0.7), L2Ball(1.0)), (3, 2)),
    (Sum(Nuclear(0.7), L2Ball(1.0)), (3, 2)),
    (Sum(TotalVariation1D(0.7), L2Ball(1.0)), (5,)),
    (Sum(L21(0.7), NonNegative()), (3, 2)),
    (Sum(GroupL2(0.7, [[0, 2], [1, 3]]), NonNegative()), (5,)),
    (Sum(TotalVariation1D(0.7), Box(-0.3, 0.8)), (5,)),
    (Sum(Nuclear(0.7), PSD()), (3, 3)),
    # nonconvex from here on
    (L0(0.7), (5,)),
    (L0(WEIGHTS), (4,)),
    (LHalf(0.7), (5,)),
    (LTwoThirds(WEIGHTS), (4,)),
    (CappedL1(0.7, 0.5), (5,)),
    (LogSum(0.7, 0.4), (5,)),
    (CappedL1(WEIGHTS, POSITIVE), (4,)),
    (LogSum(0.7, POSITIVE), (4,)),
    (MCP(0.7, POSITIVE), (3, 4)),
    (MCP(0.7, 1.5), (5,)),
    (MCP(WEIGHTS, 1.5), (4,)),
    (SCAD(0.7, 3.0), (5,)),
    (SCAD(WEIGHTS, 3.0), (4,)),
    (Cardinality(2), (5,)),
    (RowCardinality(1), (3, 3)),
    (NonzeroRows(1), (3, 2)),
    (NonzeroColumns(1), (3, 2)),
    (Binary(-1.0, 1.0), (5,)),
    (Sphere(1.5), (4,)),
    (Stiefel(), (4, 2)),
    (Stiefel(), (3, 3)),
    (Rank(1), (3, 4)),
    (Rank(2), (5, 3)),
    (Stacked([(Rank(1), (2, 2)), (MCP(0.7, 1.5), 3)]), (7,)),
    (Sum(MCP(0.7, 1.5), Box(-0.4, 0.9)), (4,)),
    (Sum(LHalf(0.7), NonNegative()), (4,)),
    (Sum(SCAD(0.7, 3.0), Cardinality(2)), (4,)),
    (Sum(L1(0.7), Binary(0.0, 1.0)), (4,)),
    (Sum(Nuclear(0.7), Rank(1)), (3, 4)),
]
every = pytest.mark.parametrize(("h", "shape"), CASES, ids=str)


def draws(h: Any, shape: tuple[int, ...], count: int) -> Any:
    g = np.random.default_rng(0)
    for _ in range(count):
        step = 10.0 ** g.uniform(-1.5, 1.5)
        size = 10.0 ** g.uniform(-0.5, 1.0) * (1.0 + math.sqrt(step))
        yield size * g.standard_normal(shape), step


@every
def test_against_differences(h: Any, shape: tuple[int, ...]) -> None:
    assert check_jacobian(h, shape).comparisons >= 24


def special(h: Any, shape: tuple[int, ...]) -> Any:
    """Points where a prox often has kinks: zeros, ties, thresholds, results of the prox, and far or near ones."""
    g = np.random.default_rng(1)
    for step in (1e-3, 0.1, 1.0, 10.0, 1e3):
        yield np.zeros(shape), step
        yield np.ones(shape), step
        yield np.round(2.0 * g.standard_normal(shape)), step
        yield np.full(shape, 0.7 * step), step
        yield np.sign(g.standard_normal(shape)) * 0.7 * step, step
        yield h.prox(g.standard_normal(shape), step), step
        yield 1e-9 * g.standard_normal(shape), step
        yield 1e9 * g.standard_normal(shape), step
        yield step * g.standard_normal(shape), step


@every
def test_where_there_are_kinks(h: Any, shape: tuple[int, ...]) -> None:
    """Symmetric and finite wherever the point; for convex h, 0 ≼ J ≼ I, hence ⟨J d, d⟩ ≥ ‖J d‖²."""
    for v, step in special(h, shape):
        J = matrix_of(h.prox_jacobian(v, step), shape)
        assert np.all(np.isfinite(J))
        np.testing.assert_allclose(J, J.T, atol=1e-12 + 1e-9 * (not h.is_convex) * np.abs(J).max())
        if h.is_convex:
            values = np.linalg.eigvalsh(0.5 * (J + J.T))
            assert values.min() >= -1e-9
            assert values.max() <= 1.0 + 1e-9


@every
def test_the_point_is_left_alone(h: Any, shape: tuple[int, ...]) -> None:
    v = np.random.default_rng(0).standard_normal(shape)
    kept = v.copy()
    v.setflags(write=False)
    h.prox_jacobian(v, 0.5)
    np.testing.assert_array_equal(v, kept)


@every
def test_norm_matrix_and_factors(h: Any, shape: tuple[int, ...]) -> None:
    for v, step in draws(h, shape, 5):
        J = h.prox_jacobian(v, step)
        if not isinstance(J, Operator):
            assert type(J) is np.ndarray
            continue
        full = matrix_of(J, shape)
        assert np.linalg.norm(full, 2) <= J.norm() * (1 + 1e-9) + 1e-12
        matrix = J.as_matrix(shape)
        if matrix is not None:
            plain = matrix.toarray() if sp.issparse(matrix) else matrix
            np.testing.assert_allclose(plain, full, atol=1e-12 * (1.0 + np.abs(full).max()))


@pytest.mark.parametrize(
    "h",
    [L2(0.7), L21(0.7), GroupL2(0.7, [[0, 1]]), Simplex(), L1Ball(), Linf(0.7), TotalVariation1D(0.7)],
    ids=str,
)
def test_vector_norms_and_balls_give_their_factors(h: Nonsmooth) -> None:
    v = np.random.default_rng(0).standard_normal((5, 2))
    J = h.prox_jacobian(v, 0.5)
    a, V, c = J.low_rank()
    V = V.toarray() if sp.issparse(V) else V
    np.testing.assert_allclose(np.diag(a) + (V * c) @ V.T, matrix_of(J, (5, 2)), atol=1e-12)


@every
def test_other_libraries_and_precisions(h: Any, shape: tuple[int, ...]) -> None:
    v, d = np.random.default_rng(0).standard_normal((2, *shape))
    expected = h.prox_jacobian(v, 0.5)
    expected = expected.apply(d) if isinstance(expected, Operator) else expected * d
    J = h.prox_jacobian(strict.asarray(v), 0.5)
    product = J.apply(strict.asarray(d)) if isinstance(J, Operator) else J * strict.asarray(d)
    assert type(product) is type(strict.asarray(d))
    np.testing.assert_allclose(np.asarray(product), expected, atol=1e-12)
    J = h.prox_jacobian(v.astype(np.float32), 0.5)
    product = J.apply(d.astype(np.float32)) if isinstance(J, Operator) else J
    assert product.dtype == np.float32


def test_no_function_is_forgotten() -> None:
    """Every nonsmooth function has a Jacobian, and is looked at here; but one, whose prox is itself a solve."""
    tested = {type(h) for h, _ in CASES}
    classes = {getattr(ipds.functions, name) for name in ipds.functions.__all__}
    nonsmooth = {
        c for c in classes if isinstance(c, type) and issubclass(c, Nonsmooth) and c is not Nonsmooth
    } - {ipds.functions.IsotropicTotalVariation}
    assert all(c.prox_jacobian is not Nonsmooth.prox_jacobian for c in nonsmooth)
    assert nonsmooth <= tested


ENTRYWISE = [(h, shape) for h, shape in CASES if getattr(h, "is_entrywise", False)]


@pytest.mark.parametrize(("h", "shape"), ENTRYWISE, ids=str)
def test_steps_of_entries(h: Any, shape: tuple[int, ...]) -> None:
    """With an array of steps every entry is what it is with its own step for all."""
    g = np.random.default_rng(0)
    for size in (0.1, 1.0, 10.0):
        v, steps = size * g.standard_normal(shape), 10.0 ** g.uniform(-1.5, 1.5, shape)
        u, J = h.prox(v, steps), h.prox_jacobian(v, steps)
        assert u.shape == J.shape == shape
        for i in np.ndindex(shape):
            assert u[i] == pytest.approx(h.prox(v, float(steps[i]))[i], rel=1e-12, abs=1e-14)
            assert J[i] == pytest.approx(h.prox_jacobian(v, float(steps[i]))[i], rel=1e-12)
        assert h.prox(v.astype(np.float32), steps).dtype == np.float32


def test_entrywise_functions_say_so() -> None:
    names = {type(h).__name__ for h, _ in ENTRYWISE}
    scalar = {"Zero", "L1", "ElasticNet", "Huber", "Box", "NonNegative", "LinfBall", "Binary"}
    nonconvex = {"L0", "LHalf", "LTwoThirds", "CappedL1", "LogSum", "MCP", "SCAD"}
    losses = {"Quantile", "Hinge", "SquaredHinge", "SumSquares", "LogisticLoss", "Exponential"}
    positive = {"Entropy", "Poisson", "KLDivergence", "NegativeLog", "DiagonalEquals"}
    calculus = {"Scaled", "Translated", "Precomposed", "Separable", "Stacked", "Sum"}
    assert names == scalar | nonconvex | losses | positive | calculus
    assert not Precomposed(L1(1.0), ROTATION).is_entrywise


@pytest.mark.parametrize("h", [PSD(), LogDet(), Nuclear(0.4), Rank(2)], ids=repr)
def test_matrices_of_spectral_derivatives(h: Any) -> None:
    """Written out at once, they are what they make of every unit vector."""
    shape = (5, 5) if isinstance(h, PSD | LogDet) else (5, 3)
    J = h.prox_jacobian(np.random.default_rng(0).standard_normal(shape), 0.7)
    units = np.eye(math.prod(shape)).reshape(-1, *shape)
    each = np.stack([J.apply(unit).ravel() for unit in units], axis=1)
    np.testing.assert_allclose(J.matrix(), each, atol=1e-12)
