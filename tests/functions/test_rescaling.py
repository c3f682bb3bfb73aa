"""Other units: u ↦ h(d·u) of every function has the right values, and a prox that is a global minimiser."""

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
    Cardinality,
    Composed,
    DiagonalEquals,
    ElasticNet,
    GroupL2,
    HalfSpace,
    Huber,
    HuberLoss,
    IsotropicTotalVariation,
    Jumps,
    L1Ball,
    L2Ball,
    LeastSquares,
    LHalf,
    Linear,
    Linf,
    LinfBall,
    LogDet,
    Logistic,
    LogSum,
    LTwoThirds,
    MoreauEnvelope,
    NonNegative,
    Nonsmooth,
    NonzeroColumns,
    NonzeroRows,
    Nuclear,
    PCAReconstruction,
    PCAVariance,
    PhaseRetrieval,
    Precomposed,
    Quadratic,
    Rank,
    RowCardinality,
    Scaled,
    Separable,
    Simplex,
    Smooth,
    SmoothSum,
    Sphere,
    Stacked,
    Stiefel,
    Sum,
    TotalVariation1D,
    Translated,
    Weighted,
    Zero,
    check_jacobian,
    check_prox,
    smooth,
)
from ipds.functions.adapters import as_nonsmooth
from ipds.operators import DCT, Diagonal, Matrix

rng = np.random.default_rng(4)
ROTATION = np.linalg.qr(rng.standard_normal((4, 4)))[0]
WEIGHTS = np.array([0.0, 0.5, 1.0, 3.0])
A25, A24 = rng.standard_normal((2, 5)), rng.standard_normal((2, 4))


class _Own:
    def __repr__(self) -> str:
        return type(self).__name__

    def __call__(self, x: Any) -> float:
        return float(np.abs(x).sum())

    def prox(self, v: Any, step: float) -> Any:
        return L1(1.0).prox(v, step)


class _OwnRescaled(_Own):
    is_convex = True

    def rescaled(self, d: Any) -> Any:
        return L1(d)


any_d = "any"  # for every d > 0
rows = "rows"  # where d is the same within each row
one = "one"  # for one number
never = "never"  # for 1 alone

CASES: list[tuple[Any, tuple[int, ...], str]] = [
    (Zero(), (4,), any_d),
    (L1(0.7), (2, 3), any_d),
    (L1(WEIGHTS), (3, 4), any_d),
    (ElasticNet(0.7, 0.4), (5,), any_d),
    (ElasticNet(WEIGHTS, WEIGHTS[::-1]), (4,), any_d),
    (Huber(0.7, 0.5), (5,), any_d),
    (Huber(WEIGHTS, np.array([0.1, 0.5, 1.0, 3.0])), (3, 4), any_d),
    (L0(0.7), (5,), any_d),
    (L0(WEIGHTS), (4,), any_d),
    (LHalf(0.7), (5,), any_d),
    (LTwoThirds(WEIGHTS), (4,), any_d),
    (CappedL1(0.7, 0.5), (5,), any_d),
    (LogSum(0.7, 0.4), (5,), any_d),
    (LogSum(WEIGHTS, 0.4), (2, 4), any_d),
    (MCP(0.7, 1.5), (5,), any_d),
    (SCAD(0.7, 3.0), (5,), one),
    (Box(-0.5, 1.0), (5,), any_d),
    (Box(np.array([-1.0, 0.2, -math.inf, 0.0]), np.array([1.0, 3.0, 0.0, 0.0])), (4,), any_d),
    (Box(0.0, math.inf), (4,), any_d),
    (NonNegative(), (5,), any_d),
    (LinfBall(0.8), (5,), any_d),
    (HalfSpace(np.array([1.0, -2.0, 0.5]), 0.3), (3,), any_d),
    (HalfSpace(np.ones((2, 3)), 0.3), (2, 3), any_d),
    (Affine(A25, np.ones(2)), (5,), any_d),
    (DiagonalEquals(np.array([1.0, -2.0, 0.5])), (3, 3), any_d),
    (Affine(A24, np.ones((2, 3))), (4, 3), rows),
    (Simplex(0.9), (5,), one),
    (L1Ball(0.9), (2, 3), one),
    (L2Ball(0.9), (2, 3), one),
    (Sphere(1.5), (4,), one),
    (Binary(-1.0, 2.0), (4,), one),
    (L2(0.7), (2, 3), one),
    (Linf(0.7), (2, 3), one),
    (L21(0.7), (4, 3), rows),
    (L21(WEIGHTS), (4, 2), rows),
    (L21(0.7), (4,), any_d),
    (GroupL2(0.7, [[0, 1], [2, 3]], [1.0, 0.3]), (3, 2), rows),
    (TotalVariation1D(0.7), (7,), one),
    (IsotropicTotalVariation(0.7), (4, 3), one),
    (Jumps(0.7), (7,), one),
    (Nuclear(0.7), (3, 4), one),
    (PSD(), (4, 4), one),
    (Cardinality(2), (5,), any_d),
    (RowCardinality(1), (3, 3), any_d),
    (NonzeroRows(1), (3, 2), any_d),
    (NonzeroColumns(1), (3, 2), any_d),
    (Rank(1), (3, 4), rows),
    (Stiefel(), (4, 2), never),
    (Scaled(L1(0.7), 2.5), (4,), any_d),
    (Scaled(Simplex(), 2.5), (4,), one),
    (Translated(L1(0.7), np.array([1.0, 2.0, 3.0])), (3,), any_d),
    (Translated(Box(0.0, 1.0), 1.5), (3,), any_d),
    (Translated(Stiefel(), 1.5), (3, 2), one),
    (Precomposed(Huber(0.7, 0.4), -2.0, 0.3), (4,), any_d),
    (Precomposed(L2(0.7), -2.0, 0.3), (4,), one),
    (Precomposed(L1(0.7), ROTATION, 0.3), (4,), one),
    (Separable([([3, 0], L1(0.7)), ([1, 2], NonNegative())]), (4, 2), any_d),
    (Separable([([3, 0], L21(0.7)), ([1, 2], Huber(0.7))]), (4, 2), rows),
    (Stacked([(L1(0.7), ()), (Huber(0.7), (2, 2))]), (5,), any_d),
    (Stacked([(L1(0.7), 2), (Nuclear(0.7), (2, 2))]), (6,), one),
    (Sum(L1(0.7), Box(-0.4, 2.0)), (4,), any_d),
    (Sum(MCP(0.7, 1.5), NonNegative()), (4,), any_d),
    (Sum(L1(0.7), Cardinality(2)), (4,), any_d),
    (Sum(L1(0.7), Simplex()), (4,), one),
    (Sum(L21(0.7), NonNegative()), (3, 2), rows),
    (Sum(Nuclear(0.7), Rank(1)), (3, 3), one),
    (as_nonsmooth(_Own(), "h"), (4,), one),
    (as_nonsmooth(_OwnRescaled(), "h"), (4,), any_d),
]
cases = pytest.mark.parametrize(("h", "shape", "kind"), CASES, ids=[f"{h!r}-{s}"[:90] for h, s, _ in CASES])
UNITS = {any_d: 0, rows: 1, one: 2, never: 3}


def drawn(kind: str, shape: tuple[int, ...], seed: int) -> Any:
    """Units of a kind: over four powers of ten, and powers of two as equilibration makes them."""
    g = np.random.default_rng(seed)
    sizes = {any_d: shape, rows: shape[:1] + (1,) * (len(shape) - 1), one: (), never: ()}[kind]
    exponents = g.uniform(-2.0, 2.0, sizes)
    d = 10.0**exponents if seed % 2 else np.exp2(np.round(exponents))
    return np.ones(()) if kind == never else d


@cases
def test_values_and_prox(h: Any, shape: tuple[int, ...], kind: str) -> None:
    g = np.random.default_rng(0)
    for finer in [k for k in UNITS if UNITS[k] >= UNITS[kind]]:
        d = drawn(finer, shape, 1)
        if finer == rows and UNITS[kind] < 2:
            d = np.broadcast_to(d, shape)
        new = h.rescaled(d if d.ndim else float(d))
        assert new is not None
        assert (new.is_convex, new.is_set) == (h.is_convex, h.is_set)
        for size in (0.1, 1.0, 10.0):
            u = new.prox(size * g.standard_normal(shape), 0.5)  # in the domain
            w = h.prox(size * g.standard_normal(shape), 0.5) / d
            for point in (u, w, size * g.standard_normal(shape)):
                assert new(point) == pytest.approx(h(d * point), rel=1e-9, abs=1e-12)
        if finer == kind:
            middle = float(np.exp(np.log(d).mean()))
            points = [s / middle * g.standard_normal(shape) for s in (0.3, 1.0, 5.0)]
            for step in (1e-2, 1.0, 100.0):
                check_prox(new, shape, steps=[step / middle**2], points=points)


@cases
def test_none_where_it_is_not_known(h: Any, shape: tuple[int, ...], kind: str) -> None:
    """And the answer is the same for every d of a kind, as a presolve may ask once."""
    for finer in [k for k in UNITS if UNITS[k] < UNITS[kind]]:
        for seed in (1, 3):
            d = drawn(finer, shape, seed)
            wide = np.ptp(d.reshape(d.shape[0], -1), axis=1).max() == 0 if d.ndim else True
            if finer == any_d and len(shape) == 1 and kind == rows and wide:
                continue  # rows of a vector are its entries
            assert h.rescaled(np.broadcast_to(d, shape) if d.ndim else 2.0) is None
    if kind == never:
        assert h.rescaled(2.0) is None
        assert h.rescaled(1.0) is h


def test_forms_stay_simple() -> None:
    """What is closed under other units stays of its class, and equal units are one number."""
    assert L1(2.0).rescaled(3.0).lam == 6.0
    assert L1(2.0).rescaled(np.full(4, 3.0)).lam == 6.0
    assert type(Box(0.0, math.inf).rescaled(np.array([1.0, 2.0])).lo) is float
    card, rank = Cardinality(2), Rank(2)
    assert card.rescaled(np.array([1.0, 2.0])) is card
    assert rank.rescaled(np.outer([1.0, 2.0, 4.0], [8.0, 0.5])) is rank
    assert rank.rescaled(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert L2Ball(2.0).rescaled(4.0).radius == 0.5
    assert type(LinfBall(2.0).rescaled(4.0)) is LinfBall
    assert type(Stacked([(L2(1.0), 2)]).rescaled(np.full(2, 3.0)).parts[0][0]) is L2


@pytest.mark.parametrize("h", [PSD(), LogDet(0.7, 2.0)], ids=str)
def test_units_of_rows_that_are_those_of_columns(h: Any) -> None:
    """a xa for a diagonal a keeps definiteness, and multiplies determinants by that of a²."""
    a = np.array([0.5, 1.0, 8.0, 3.7])
    d, g = np.outer(a, a), np.random.default_rng(0)
    new = h.rescaled(d)
    assert type(new) is type(h)
    for _ in range(5):
        u = new.prox(g.standard_normal((4, 4)), 0.5)
        assert new(u) == pytest.approx(h(d * u), rel=1e-9, abs=1e-12)
        assert new(-u - np.eye(4)) == h(-d * u - np.diag(a**2)) == math.inf
    assert h.rescaled(np.outer(a, a[::-1])) is None
    assert h.rescaled(np.where(np.eye(4) > 0, d, 2 * d)) is None


def test_own_functions_keep_what_they_offer() -> None:
    class Own(_Own):
        is_convex = True

        def lipschitz(self, shape: Any) -> float:
            return L1(1.0).lipschitz(shape)

        def subgradient(self, x: Any) -> Any:
            return np.sign(x)

        def prox_jacobian(self, v: Any, step: float) -> Any:
            return L1(1.0).prox_jacobian(v, step)

    new, ours = as_nonsmooth(Own(), "h").rescaled(2.0).rescaled(1.5), L1(3.0)  # type: ignore[union-attr]
    x = np.array([1.0, -2.0, 0.0])
    assert new is not None
    assert (new(x), new.lipschitz((3,)), new.prox_size(x)) == (
        ours(x),
        ours.lipschitz((3,)),
        ours.prox_size(x),
    )
    np.testing.assert_array_equal(new.subgradient(x), ours.subgradient(x))
    np.testing.assert_allclose(new.prox(x, 0.5), ours.prox(x, 0.5))
    check_jacobian(new, (3,))
    assert new.rescaled(np.array([1.0, 2.0, 3.0])) is None


@pytest.mark.parametrize("d", [0.0, -1.0, math.nan, math.inf, np.array([1.0, 0.0])])
def test_units_must_be_positive(d: Any) -> None:
    with pytest.raises(ValueError, match="d must be finite and > 0"):
        L1(1.0).rescaled(d)


TALL = rng.standard_normal((6, 4))
SPARSE = sp.random_array((6, 4), density=0.5, rng=np.random.default_rng(1), format="csr")
SYMMETRIC = TALL.T @ TALL - np.eye(4)
LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
SMOOTH: dict[str, tuple[Smooth, tuple[int, ...], str]] = {
    "least squares": (LeastSquares(TALL, np.ones(6)), (4,), any_d),
    "least squares, sparse": (LeastSquares(SPARSE, np.ones(6)), (4,), any_d),
    "least squares, matrix block": (LeastSquares(TALL, np.ones((6, 2))), (4, 2), any_d),
    "least squares, operator": (LeastSquares(DCT(), np.ones(5)), (5,), any_d),
    "least squares, identity": (LeastSquares(2.0, np.ones((2, 3))), (2, 3), any_d),
    "Huber": (HuberLoss(TALL, np.ones(6), 0.8), (4,), any_d),
    "logistic": (Logistic(TALL, LABELS), (4,), any_d),
    "logistic, identity": (Logistic(1.0, LABELS), (6,), any_d),
    "phase": (PhaseRetrieval(TALL, np.ones(6)), (4,), any_d),
    "phase, complex": (PhaseRetrieval(TALL[:3] + 1j * TALL[3:], np.ones(3)), (4,), any_d),
    "quadratic": (Quadratic(SYMMETRIC, np.ones(4)), (4,), any_d),
    "quadratic, sparse": (Quadratic(sp.csr_array(SYMMETRIC)), (4,), any_d),
    "quadratic, identity": (Quadratic(2.0, np.ones((2, 3))), (2, 3), any_d),
    "quadratic, number": (Quadratic(2.0, 1.0), (2, 3), any_d),
    "quadratic, diagonal": (Quadratic(Diagonal(np.arange(6.0))), (6,), any_d),
    "quadratic, operator": (Quadratic(Matrix(TALL).T @ Matrix(TALL)), (4,), any_d),
    "quadratic, matrix block": (Quadratic(SYMMETRIC), (4, 2), any_d),
    "linear": (Linear(np.ones((2, 3))), (2, 3), any_d),
    "linear, number": (Linear(2.0), (2, 3), any_d),
    "variance": (PCAVariance(TALL), (4, 2), one),
    "envelope": (MoreauEnvelope(L1(0.7), 0.3), (4,), one),
    "composed": (Composed(Logistic(TALL, LABELS), rng.standard_normal((4, 3)), 0.3), (3,), any_d),
    "sum": (SmoothSum([LeastSquares(TALL, 1.0), Linear(np.ones(4)), Quadratic(1.0)]), (4,), any_d),
    "weighted": (Weighted(LeastSquares(TALL, 1.0), -2.0, 3.0), (4,), any_d),
}


@pytest.mark.parametrize(("f", "shape", "kind"), SMOOTH.values(), ids=SMOOTH.keys())
def test_smooth_functions(f: Smooth, shape: tuple[int, ...], kind: str) -> None:
    g = np.random.default_rng(0)
    kept = f(np.ones(shape))
    _ = f.lipschitz, f.is_convex  # what is kept of the old one must not be that of the new one
    for finer in [k for k in (any_d, rows, one) if UNITS[k] >= UNITS[kind]]:
        d = drawn(finer, shape, 1)
        new = f.rescaled(d if d.ndim else float(d))
        if new is None:  # d with an axis of length 1 where the block's shape is not known
            assert finer == rows
            assert len(shape) > 1
            new = f.rescaled(np.broadcast_to(d, shape))
        assert new is not None
        for size in (0.1, 1.0):
            x = size * g.standard_normal(shape) / d
            value, slope = new.value_and_grad(x)
            assert value == pytest.approx(f(d * x), rel=1e-9)
            np.testing.assert_allclose(slope, d * f.grad(d * x), rtol=1e-8, atol=1e-10)
        x, y = g.standard_normal((2, *shape)) / d
        if new.lipschitz is not None:
            assert np.linalg.norm(new.grad(x) - new.grad(y)) <= new.lipschitz * np.linalg.norm(x - y) * (
                1 + 1e-9
            )
        assert new.is_quadratic == f.is_quadratic
        if f.is_convex is not None and kind == any_d:
            assert new.is_convex == f.is_convex
    assert f(np.ones(shape)) == kept


def test_smooth_functions_that_are_no_other() -> None:
    for f in (PCAReconstruction(TALL), smooth(lambda x: 0.0, lambda x: x), PCAVariance(TALL)):
        assert f.rescaled(np.array([1.0, 2.0, 3.0, 4.0])[:, None]) is None


def test_other_libraries() -> None:
    d = np.array([1.0, 2.0, 4.0])
    x = strict.asarray(np.array([1.0, -2.0, 0.5]))
    for h in (L1(0.7), Huber(0.7), Box(-1.0, 1.0), MCP(0.7), LogSum(0.7), CappedL1(0.7), ElasticNet(), L21()):
        new = h.rescaled(d)
        assert new is not None
        assert float(new(x)) == pytest.approx(float(h(strict.asarray(d) * x)))
        check_prox(new, (3,), steps=(0.1, 1.0, 10.0), xp=strict)
        check_prox(new, (3,), steps=(0.1, 1.0), dtype="float32")


ELSEWHERE = {"cones", "exponential", "exponential_cone", "log_det", "logarithmic"}
ELSEWHERE |= {
    "differentiable",
    "piecewise_linear",
    "ratio",
    "simplexes",
    "squares",
    "KBinary",
    "TrimmedSquares",
}
"""Files whose functions have tests of their own, and such functions."""


def test_no_function_is_forgotten() -> None:
    """Every convex function says what it is in other units; all but those of `ELSEWHERE` are looked at here."""
    tested = {type(h) for h, _, _ in CASES} | {type(f) for f, *_ in SMOOTH.values()} | {PCAReconstruction}
    for name in ipds.functions.__all__:
        c = getattr(ipds.functions, name)
        for base in (Nonsmooth, Smooth):
            if isinstance(c, type) and issubclass(c, base) and c is not base:
                says = c.rescaled is not base.rescaled or getattr(c, "unit_powers", None) is not None
                assert says or not c.is_convex, name
                assert c in tested or {c.__module__.split(".")[-1], name} & ELSEWHERE, name
