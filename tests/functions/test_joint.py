"""Sums of two functions with a joint prox: against all supports, by sampling, by differences; refusals that teach."""

from __future__ import annotations

import itertools
import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds import Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    L2,
    PSD,
    Affine,
    Binary,
    Box,
    CappedSimplex,
    Cardinality,
    ColumnSimplex,
    Entropy,
    Exponential,
    ExponentialCone,
    Hinge,
    L2Ball,
    LinfBall,
    LogisticLoss,
    NegativeLog,
    NonNegative,
    Nonsmooth,
    NonzeroRows,
    Nuclear,
    Poisson,
    Quantile,
    Rank,
    RowCardinality,
    RowSimplex,
    SecondOrderCone,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    SumSquares,
    TrimmedSquares,
    Zero,
    check_prox,
)
from ipds.modelling import sum_squares

Case = tuple[list[Any], tuple[int, ...]]
SPARSE: list[Case] = [
    ([Cardinality(2), NonNegative()], (5,)),
    ([Cardinality(2), Box(-0.5, 2.0)], (5,)),
    ([Cardinality(3), Box(np.array([0.0, -1.0, -2.0, 0.0]), np.array([1.0, 0.0, 2.0, math.inf]))], (4,)),
    ([LinfBall(0.7), Cardinality(2)], (2, 2)),
    ([RowCardinality(1), NonNegative()], (3, 3)),
    ([Cardinality(2), Simplex(1.5)], (5,)),
    ([Cardinality(1), Simplex()], (4,)),
    ([RowCardinality(2), RowSimplex(np.array([1.0, 2.0]))], (2, 3)),
    ([Cardinality(2), L2Ball(0.8)], (5,)),
    ([Cardinality(2), Sphere(1.3)], (5,)),
    ([Cardinality(2), NonNegative(), L2Ball(0.8)], (5,)),
    ([Sphere(), Cardinality(2), NonNegative()], (5,)),
    ([Cardinality(2), Binary(0.0, 1.0)], (5,)),
    ([Cardinality(2), Hinge(0.7)], (5,)),
    ([Cardinality(2), LogisticLoss(1.0, 2.0)], (5,)),
    ([Cardinality(2), Entropy(0.7)], (4,)),
    ([Cardinality(2), SumSquares(0.7, 0.4)], (5,)),
    ([Cardinality(2), SumSquares(0.7, 0.4), NonNegative()], (5,)),
    ([NonNegative(), L1(0.5), Cardinality(2)], (5,)),
    ([Cardinality(2), L0(0.5), Box(-1.0, 1.0)], (4,)),
    ([Hinge(0.7), Box(-1.0, 0.5), Cardinality(2)], (4,)),
]
OTHERS: list[Case] = [
    ([Sphere(1.3), NonNegative()], (4,)),
    ([NonNegative(), L2Ball(0.7)], (4,)),
    ([NonzeroRows(1), Sphere()], (3, 2)),
    ([Rank(1), L2Ball(0.9)], (3, 4)),
    ([Rank(2), Sphere(2.0)], (3, 3)),
    ([PSD(), L2Ball(0.9)], (3, 3)),
    ([PSD(), Sphere()], (3, 3)),
    ([Rank(1), PSD()], (3, 3)),
    ([Rank(2), PSD(), L2Ball()], (3, 3)),
    ([Rank(1), PSD(), Sphere()], (3, 3)),
    ([SecondOrderCone(), L2Ball(0.8)], (4,)),
    ([ExponentialCone(), L2Ball(0.8)], (3,)),
    ([Simplex(), Box(-1.0, 0.4)], (4,)),
    ([Simplex(1.5), Box(0.0, np.array([0.5, 0.2, 2.0, 3.0]))], (4,)),
    ([CappedSimplex(1.0, 0.6), Box(0.0, 0.4)], (4,)),
    ([Simplex(), NonNegative()], (4,)),
    ([Box(-1.0, 0.5), NonNegative()], (4,)),
    ([L1(0.7), Box(-math.inf, -0.3)], (4,)),
    ([Quantile(0.2), NonNegative()], (4,)),
    ([Poisson(np.array([1.0, 0.0, 3.0, 2.0])), Box(0.0, 1.0)], (4,)),
    ([NegativeLog(0.7), Box(0.5, 2.0)], (4,)),
    ([Exponential(), Box(np.array([0.0, -1.0]), 1.0)], (2,)),
    ([Hinge(), Binary()], (4,)),
    ([SumSquares(0.7, np.array([1.0, 2.0, 0.0, -1.0])), L2(0.5)], (4,)),
    ([SumSquares(0.7), Stiefel()], (4, 2)),
    ([SumSquares(0.7, 0.3), Nuclear(0.5)], (3, 3)),
    ([SumSquares(np.array([0.0, 1.0, 2.0, 3.0]), 0.4), L1(0.5)], (4,)),
    ([SumSquares(0.3), SumSquares(0.7, 1.0)], (4,)),
    ([SumSquares(0.7), TrimmedSquares(1)], (4,)),
    ([L0(0.5), Box(-1.0, 2.0)], (4,)),
    ([L0(np.array([0.1, 3.0, 0.5, 0.5])), NonNegative()], (4,)),
    ([L0(0.5), Box(np.array([0.0, -1.0, 0.3, -2.0]), np.array([1.0, 0.0, 2.0, -0.5]))], (4,)),
]
EVERY = [*SPARSE, *OTHERS]
every = pytest.mark.parametrize(("parts", "shape"), EVERY, ids=str)


@every
def test_joint_prox_is_a_global_minimiser(parts: list[Any], shape: tuple[int, ...]) -> None:
    h = Sum(parts)
    assert h.is_set == all(part.is_set for part in parts)
    assert h.is_convex == all(part.is_convex for part in parts)
    check_prox(h, shape, steps=(0.5,) if h.is_set else (1e-3, 0.5, 1e3))
    check_prox(h, shape, steps=(0.5,), xp=array_api_strict, dtype="float32")


@every
def test_order_does_not_matter(parts: list[Any], shape: tuple[int, ...]) -> None:
    v = 2.0 * np.random.default_rng(0).standard_normal(shape)
    for order in itertools.permutations(parts):
        np.testing.assert_allclose(Sum(list(order)).prox(v, 0.6), Sum(parts).prox(v, 0.6), atol=1e-12)


def objective(parts: list[Any], u: np.ndarray, v: np.ndarray, step: float) -> float:
    return sum(part(u) for part in parts) + float(np.sum((u - v) ** 2)) / (2 * step)


@pytest.mark.parametrize(("parts", "shape"), SPARSE, ids=str)
def test_few_entries_against_all_supports(parts: list[Any], shape: tuple[int, ...]) -> None:
    """With the support fixed the rest is known: its prox on the support, by the parts without the cardinality."""
    rng = np.random.default_rng(1)
    few = next(part for part in parts if isinstance(part, Cardinality | RowCardinality))
    rest = [part for part in parts if part is not few]
    h = Sum(parts)
    for step in (0.1, 1.0, 10.0):
        for v in (
            *(2.0 * rng.standard_normal((4, *shape))),
            np.round(rng.standard_normal(shape)),
            np.zeros(shape),
        ):
            found = objective(parts, h.prox(v, step), v, step)
            best = math.inf
            for bits in itertools.product([False, True], repeat=math.prod(shape)):
                mask = np.reshape(bits, shape)
                if few(mask.astype(float)) == 0.0:
                    best = min(best, _on_support(rest, mask, v, step))
            assert found <= best + 1e-7 * (1 + abs(best))
            assert found >= best - 1e-7 * (1 + abs(best))


def _on_support(rest: list[Any], mask: np.ndarray, v: np.ndarray, step: float) -> float:
    """The least objective over u that vanish off the mask; inf where there is none."""
    if isinstance(rest[0], Simplex | RowSimplex):
        rows = v.reshape(-1, v.shape[-1]) if isinstance(rest[0], RowSimplex) else v.reshape(1, -1)
        u = np.zeros(rows.shape)
        for i, (row, on) in enumerate(zip(rows, mask.reshape(rows.shape), strict=True)):
            if not on.any():
                return math.inf
            radius = float(np.broadcast_to(rest[0].radius, (len(rows),))[i])
            u[i, on] = Simplex(radius).prox(row[on], step)
        return objective(rest, u.reshape(v.shape), v, step)
    if any(isinstance(part, Sphere | L2Ball) for part in rest):
        inner = np.where(mask, v, 0.0)
        signed = any(isinstance(part, NonNegative) for part in rest)
        direction = np.maximum(inner, 0.0) if signed else inner
        last = next(part for part in rest if isinstance(part, Sphere | L2Ball))
        if isinstance(last, Sphere) and not direction.any():
            if not mask.any():
                return math.inf
            direction = np.where(mask & (v == v[mask].max()), 1.0, 0.0)
            direction /= np.count_nonzero(direction)
            direction[np.flatnonzero(direction)[1:]] = 0.0
        return objective(rest, last.prox(direction, 1.0), v, step)
    whole = rest[0] if len(rest) == 1 else Sum(rest)
    return objective(rest, np.where(mask, whole.prox(v, step), 0.0), v, step)


@pytest.mark.parametrize(("parts", "shape"), OTHERS, ids=str)
def test_joint_prox_against_many_feasible_points(parts: list[Any], shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    h = Sum(parts)
    for step in (0.1, 1.0, 5.0):
        for v in (*(2.0 * rng.standard_normal((5, *shape))), -np.abs(rng.standard_normal(shape))):
            u = h.prox(v, step)
            best = objective(parts, u, v, step)
            assert math.isfinite(best)
            for _ in range(30):
                w = h.prox(
                    u + rng.choice([1e-3, 0.1, 1.0]) * rng.standard_normal(shape),
                    step * rng.choice([0.1, 1.0]),
                )
                assert objective(parts, w, v, step) >= best - 1e-9 * (1 + abs(best))


def test_nonnegative_points_of_a_sphere() -> None:
    h = Sum(Sphere(2.0), NonNegative())
    np.testing.assert_allclose(h.prox(np.array([3.0, -1.0, 4.0]), 1.0), [1.2, 0.0, 1.6])
    np.testing.assert_allclose(h.prox(np.array([-3.0, -1.0, -4.0]), 1.0), [0.0, 2.0, 0.0])
    assert h(h.prox(np.zeros(3), 1.0)) == 0.0


@every
def test_jacobian_of_the_joint_prox_by_differences(parts: list[Any], shape: tuple[int, ...]) -> None:
    rng, h = np.random.default_rng(3), Sum(parts)
    agreed = total = 0
    for step in (0.3, 2.0):
        for _ in range(12):
            v, d = 2.0 * rng.standard_normal((2, *shape))
            J, width = h.prox_jacobian(v, step), 1e-6
            if J is None:
                continue
            total += 1
            quotient = (h.prox(v + width * d, step) - h.prox(v - width * d, step)) / (2 * width)
            product = J.apply(d) if hasattr(J, "apply") else J * d
            agreed += np.allclose(product, quotient, rtol=1e-4, atol=1e-6)
    assert total >= 12
    assert agreed >= total - 1  # a kink may lie between the two ends


def test_kinks_of_sums() -> None:
    for h in (Sum(L1(2.0), NonNegative()), Sum(NonNegative(), L1(2.0))):
        k = h.kinks((3,))
        assert k is not None
        assert (k.left, k.right, float(k.lower), float(k.upper)) == (-2.0, 2.0, 0.0, math.inf)
    k = Sum(Zero(), Quantile(0.25)).kinks((3,))
    assert k is not None
    assert (k.left, k.right) == (-0.75, 0.25)
    assert Sum(SumSquares(), L1()).kinks((3,)) is None
    assert Sum(Cardinality(1), NonNegative()).kinks((3,)) is None


def test_sums_in_other_units() -> None:
    for parts in ([Simplex(), Box(0.0, 0.4)], [SumSquares(0.7, 0.3), L1(0.5)], [Hinge(0.7), NonNegative()]):
        h = Sum(parts)
        scaled = h.rescaled(4.0)
        assert scaled is not None
        v = np.array([0.3, 0.1, -0.2])
        # h(4u) + ‖u - v‖²/(2s) = h(w) + ‖w - 4v‖²/(32s) with w = 4u
        np.testing.assert_allclose(4.0 * scaled.prox(v, 0.1), h.prox(4.0 * v, 1.6), rtol=1e-12, atol=1e-14)


def test_sums_that_are_known_functions() -> None:
    assert isinstance(Sum(Simplex(), Box(0.0, 0.4))._made, CappedSimplex)
    assert Sum(Simplex(), NonNegative())._made is not None
    box = Sum(Box(-1.0, np.array([1.0, 2.0])), NonNegative())._made
    assert isinstance(box, Box)
    assert box.lo == 0.0
    assert Sum(NegativeLog(), Box(0.0, 1.0)).domain is not None
    assert Sum(L1(), NonNegative()).domain is None
    np.testing.assert_allclose(Sum(SumSquares(0.5), L1(2.0)).subgradient(np.array([1.0, -3.0])), [3.0, -5.0])


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ([Stiefel(), NonNegative()], TypeError, r"Stiefel\(\) on a block Y and NonNegative\(\) on a block X"),
        ([NonNegative(), Stiefel()], TypeError, r"X - Y = 0"),
        ([Cardinality(2), PSD()], TypeError, "further block"),
        ([PSD(), Affine(np.ones((1, 2)), [1.0])], TypeError, "further block"),
        ([Simplex(), Box(0.1, 0.5)], TypeError, "further block"),
        ([Cardinality(2), Box(0.1, 0.5)], TypeError, "further block"),
        ([Cardinality(2), NegativeLog()], TypeError, "further block"),
        ([RowCardinality(1), ColumnSimplex()], TypeError, "further block"),
        ([SecondOrderCone(), Sphere()], TypeError, "further block"),
        ([SumSquares(np.ones(3)), L2()], TypeError, "further block"),
        ([L1(), L2(), PSD()], TypeError, r"L1\(lam=1.0\) \+ L2\(lam=1.0\) \+ PSD\(\).* further block"),
        ([L1()], TypeError, "list of at least two"),
        ([Cardinality(0), Simplex()], ValueError, "0 nonzero entries"),
        ([Cardinality(0), Sphere()], ValueError, "holds 0 only"),
        ([Entropy(), Box(-2.0, -1.0)], ValueError, "admits none"),
    ],
    ids=str,
)
def test_refusals_say_what_to_write_instead(parts: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Sum(parts)


class _WrongFew(Nonsmooth):
    """Chooses by |v|, not by what is gained: wrong with a sign."""

    def __call__(self, x: Any) -> float:
        return Sum(Cardinality(1), NonNegative())(x)

    def prox(self, v: Any, step: float) -> Any:
        return NonNegative().prox(Cardinality(1).prox(v, step), step)


def test_the_check_sees_a_wrong_choice() -> None:
    with pytest.raises(AssertionError, match="not a global minimiser"):
        check_prox(_WrongFew(), (4,))


def test_rounding_of_a_sum_counts_the_point_once_and_the_constants_of_both() -> None:
    v, penalty, box = np.array([3e2, 4e2]), Hinge(1.0, 7e3), Box(1e3, 2e3)
    assert Sum(Cardinality(1), NonNegative()).prox_size(v) == pytest.approx(5e2)
    constants = penalty.prox_size(v) + box.prox_size(v) - 1e3
    assert constants > 1e3
    assert Sum(penalty, box).prox_size(v) == pytest.approx(5e2 + constants)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_few_nonnegative_entries_in_columns_of_any_unit_are_certified(seed: int) -> None:
    """The rounding of one large entry must not count over the step of another that is tiny."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((60, 10)) * 10.0 ** rng.uniform(-3, 3, 10)
    true = np.zeros(10)
    true[[1, 4, 7]] = np.array([1, 2, 0.5]) / np.abs(G[:, [1, 4, 7]]).mean(axis=0)
    y = G @ true + 3 + 0.3 * rng.standard_normal(60)
    x, t = Variable(10), Variable()
    result = solve(minimize(0.5 * sum_squares(G @ x + t - y) + Cardinality(3)(x), [x >= 0]))
    own = np.linalg.lstsq(np.c_[G[:, [1, 4, 7]], np.ones(60)], y, rcond=None)[1]
    assert result.success
    assert result.fun == pytest.approx(0.5 * own[0], rel=1e-9)
