"""Every set: its projection globally, membership, tangent spaces; extremes of the matrix sets."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds.functions import (
    PSD,
    Affine,
    Binary,
    Box,
    Cardinality,
    HalfSpace,
    L1Ball,
    L2Ball,
    LinfBall,
    NonNegative,
    Nonsmooth,
    NonzeroColumns,
    NonzeroRows,
    Rank,
    RowCardinality,
    Simplex,
    Sphere,
    Stiefel,
    check_prox,
)

ANY_SHAPE: list[Nonsmooth] = [
    Box(-0.5, 0.7),
    Box(-math.inf, 0.0),
    NonNegative(),
    Simplex(1.5),
    L1Ball(0.8),
    L2Ball(0.8),
    LinfBall(0.8),
    Sphere(1.3),
    Cardinality(2),
    Binary(-1.0, 2.0),
]
SHAPED: list[tuple[Nonsmooth, tuple[int, ...]]] = [
    (Box(np.array([0.0, -1.0, -math.inf]), np.array([0.0, 1.0, 2.0])), (4, 3)),
    (Cardinality(0), (3,)),
    (Cardinality(9), (3,)),
    (L1Ball(0.0), (3,)),
    (L2Ball(0.0), (3,)),
    (RowCardinality(2), (3, 4)),
    (RowCardinality(3), (2, 3, 2)),
    (NonzeroRows(2), (4, 3)),
    (NonzeroRows(1), (3, 2, 2)),
    (NonzeroColumns(1), (4, 3)),
    (Stiefel(), (5, 3)),
    (Stiefel(), (3, 3)),
    (Stiefel(), (4, 1)),
    (Rank(0), (4, 3)),
    (Rank(1), (4, 3)),
    (Rank(2), (3, 6)),
    (Rank(3), (3, 3)),
    (PSD(), (4, 4)),
    (Affine([[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]], [1.0, 2.0]), (3,)),
    (Affine([[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [2.0, 0.0]]), (2, 2)),
    (HalfSpace(np.array([1.0, -2.0, 0.5]), 0.3), (3,)),
    (HalfSpace(np.array([[1.0, -2.0], [0.5, 0.0]]), -1.0), (2, 2)),
]
EVERY = [*SHAPED, *((h, (3, 4)) for h in ANY_SHAPE)]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("h", ANY_SHAPE, ids=repr)
def test_projection_is_a_nearest_point(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=(1.0,))


@pytest.mark.parametrize(("h", "shape"), EVERY, ids=str)
def test_projection_in_dtypes_and_libraries(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=(1e-3, 1e3))
    check_prox(h, shape, steps=(1.0,), dtype="float32")
    check_prox(h, shape, steps=(1.0,), xp=array_api_strict)


@pytest.mark.parametrize(("h", "shape"), EVERY, ids=str)
def test_value_is_zero_or_infinity(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    """Projections are members at every size; projecting again changes nothing; the subgradient is 0."""
    rng = np.random.default_rng(0)
    assert h.is_set
    assert h.lipschitz(shape) == math.inf
    for size in (1e-3, 1.0, 1e3):
        for dtype in (np.float32, np.float64):
            u = h.prox((size * rng.standard_normal(shape)).astype(dtype), 1.0)
            assert h(u) == 0.0
            assert np.allclose(
                h.prox(u, 1.0), u, rtol=1e-4 if dtype == np.float32 else 1e-7, atol=1e-6 * size
            )
            assert not np.any(h.subgradient(u))


@pytest.mark.parametrize(
    ("h", "outside"),
    [
        (Box(0.0, 1.0), [1.1, 0.0]),
        (NonNegative(), [1.0, -1e-5]),
        (Simplex(), [0.5, 0.6]),
        (Simplex(), [1.5, -0.5]),
        (L1Ball(), [0.6, -0.5]),
        (L2Ball(), [0.8, 0.8]),
        (LinfBall(), [0.0, -1.001]),
        (Sphere(), [0.5, 0.5]),
        (Cardinality(1), [1.0, 1e-30]),
        (RowCardinality(1), [[1.0, 1e-30], [0.0, 1.0]]),
        (NonzeroRows(1), [[1.0, 0.0], [0.0, 1e-30]]),
        (NonzeroColumns(1), [[1.0, 0.0], [0.0, 1e-30]]),
        (Binary(), [0.0, 0.5]),
        (Stiefel(), [[1.0, 0.0], [0.0, 1.01]]),
        (Rank(1), [[1.0, 0.0], [0.0, 1e-4]]),
        (PSD(), [[1.0, 0.0], [0.0, -1e-4]]),
        (PSD(), [[1.0, 0.1], [0.0, 1.0]]),
        (Affine([[1.0, 1.0]], [1.0]), [1.0, 1.0]),
        (HalfSpace([1.0, 1.0], 1.0), [1.0, 1.0]),
    ],
    ids=str,
)
def test_outside_points_have_infinite_value(h: Nonsmooth, outside: Any) -> None:
    assert h(np.array(outside)) == math.inf


class _LooseSimplex(Simplex):
    """Divides by the sum: a member, but not the nearest."""

    def project(self, v: Any) -> Any:
        a = np.abs(v) + 1e-9
        return a / a.sum() * self.radius


class _LooseRank(Rank):
    """Leading rows instead of leading singular vectors."""

    def project(self, v: Any) -> Any:
        if not np.any(v):
            return np.zeros_like(v)
        q = np.linalg.qr(v[: self.s].T)[0]
        return (v @ q) @ q.T


class _LooseStiefel(Stiefel):
    """Gram-Schmidt: orthonormal, but not the nearest."""

    def project(self, v: Any) -> Any:
        return np.linalg.qr(v)[0]


@pytest.mark.parametrize("wrong", [_LooseSimplex(1.5), _LooseRank(1), _LooseStiefel()], ids=repr)
def test_the_checker_catches_members_that_are_not_nearest(wrong: Nonsmooth) -> None:
    with pytest.raises(AssertionError, match="not a global minimiser"):
        check_prox(wrong, (5, 3))


def test_exactly_s_entries_survive_ties() -> None:
    for s in range(7):
        u = Cardinality(s).prox(np.array([1.0, -1.0, 1.0, 0.5, 1.0, -1.0]), 1.0)
        assert np.count_nonzero(u) == s
    assert Cardinality(2).prox(np.zeros(4), 1.0).tolist() == [0.0] * 4
    assert np.count_nonzero(RowCardinality(1).prox(np.ones((3, 4)), 1.0)) == 3
    assert np.count_nonzero(NonzeroRows(2).prox(np.ones((3, 4)), 1.0)) == 8
    assert np.count_nonzero(NonzeroColumns(2).prox(np.ones((3, 4)), 1.0)) == 6


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1.0, 1e30, 1e200])
@pytest.mark.parametrize("h", [Simplex(2.0), L1Ball(2.0), L2Ball(2.0), Sphere(2.0)], ids=repr)
def test_vector_sets_at_extreme_sizes(h: Nonsmooth, size: float) -> None:
    v = size * np.random.default_rng(0).standard_normal(50)
    u = h.prox(v, 1.0)
    assert h(u) == 0.0
    if isinstance(h, (L2Ball, Sphere)) and size >= 1:
        assert np.allclose(u, v / np.linalg.norm(v / size) / size * 2.0)


def test_simplex_level_is_exact_for_many_entries() -> None:
    rng = np.random.default_rng(0)
    for v in (rng.standard_normal(10_000), rng.exponential(size=10_000), np.ones(1000), np.arange(1000.0)):
        for radius in (1e-3, 1.0, 100.0, 1e6):
            u = Simplex(radius).prox(v, 1.0)
            assert u.sum() == pytest.approx(radius, rel=1e-10)
            level = (v - u)[u > 0]
            assert np.ptp(level) <= 1e-9 * max(radius, 1.0)
            assert np.all(v[u == 0] <= level.mean() + 1e-9 * max(radius, 1.0))


@pytest.mark.parametrize(("h", "shape"), EVERY, ids=str)
def test_projection_on_torch_tensors(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch")
    import array_api_compat.torch as xp

    check_prox(h, shape, steps=(1.0,), xp=xp, dtype="float32")


def test_simplex_ends_where_rounding_moves_entries_across_the_level():
    """A vector on the simplex already: the level is 0 up to rounding, which once made the search cycle for ever."""
    g = np.random.default_rng(0)
    for size in (2, 3, 4, 7, 50):
        for _ in range(300):
            v = Simplex().prox(g.standard_normal(size), 1.0)
            np.testing.assert_allclose(Simplex().prox(v, 1.0), v, atol=1e-12)
            np.testing.assert_allclose(L1Ball(1.0).prox(-v, 1.0), -v, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("h", [Simplex(0.7), L1Ball(0.7), L2Ball(0.7), Sphere(0.7)], ids=repr)
def test_points_far_out_are_projected_into_the_set(h, dtype):
    """Entries of 1e6 beside a radius of 0.7: the result lies in the set to its own last digits."""
    g = np.random.default_rng(2)
    for _ in range(20):
        x = h.prox((1e6 * g.standard_normal((3, 2))).astype(dtype), 1.0).astype(float)
        size = np.abs(x).sum() if isinstance(h, L1Ball | Simplex) else np.linalg.norm(x)
        assert size == pytest.approx(0.7, rel=8 * float(np.finfo(dtype).eps))


def test_half_space_far_out() -> None:
    """What the subtraction of a large number loses would leave the point outside."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 6):
        h = HalfSpace(rng.standard_normal(n), 0.2)
        for size in (1.0, 1e6, 1e12):
            x = h.prox(h.a * size + rng.standard_normal(n), 1.0)
            assert np.linalg.norm(h.prox(x, 1.0) - x) <= 4 * np.finfo(float).eps * np.linalg.norm(x)
