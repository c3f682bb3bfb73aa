"""Sums of two nonsmooth functions whose prox is known exactly."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    PSD,
    SCAD,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    ElasticNet,
    GroupL2,
    Huber,
    L1Ball,
    L2Ball,
    LHalf,
    Linf,
    LinfBall,
    LogSum,
    LTwoThirds,
    NonNegative,
    Nonsmooth,
    Nuclear,
    Rank,
    RowCardinality,
    Simplex,
    Stiefel,
    Sum,
    TotalVariation1D,
    Zero,
    check_prox,
)


def test_a_sum_with_zero_is_the_other() -> None:
    h, x = Sum(Zero(), L1(0.7)), np.array([1.0, -2.0, 0.0])
    check_prox(h, (3,), steps=(0.1, 5.0))
    assert (h(x), h.is_convex) == (L1(0.7)(x), True)
    assert np.array_equal(h.subgradient(x), L1(0.7).subgradient(x))


class _Gridded(Nonsmooth):
    """A sum over entries seen as such, so that the checker searches a dense grid in each entry."""

    def __init__(self, h: Sum, lo: Any, hi: Any) -> None:
        self.h, self.lo, self.hi = h, lo, hi

    def __repr__(self) -> str:
        return repr(self.h)

    def __call__(self, x: Any) -> float:
        return self.h(x)

    def prox(self, v: Any, step: float) -> Any:
        return self.h.prox(v, step)

    def terms(self, x: Any) -> Any:
        inside = (x >= self.lo) & (x <= self.hi)
        return np.where(inside, self.h.penalty.terms(x), math.inf)  # type: ignore[attr-defined]


ENTRYWISE = [
    L1(0.7),
    ElasticNet(0.7, 0.3),
    Huber(0.7, 0.4),
    L0(0.7),
    LHalf(0.7),
    LTwoThirds(0.7),
    CappedL1(0.7, 0.6),
    LogSum(0.7, 0.3),
    MCP(0.7, 1.6),
    SCAD(0.7, 2.7),
    MCP(np.array([0.0, 0.5, 1.0, 3.0]), 1.6),
]


BOXES = [(-1.0, 0.5), (0.0, math.inf), (0.3, 2.0), (-3.0, -0.2), (-math.inf, 1.0), (0.0, 0.0), (-0.1, 4.0)]


@pytest.mark.parametrize("h", ENTRYWISE, ids=repr)
def test_entrywise_penalty_in_a_box(h: Nonsmooth) -> None:
    rng = np.random.default_rng(0)
    for lo, hi in BOXES:
        for step in (1e-3, 0.1, 1.0, 1.6, 2.0, 5.0, 1e3):
            line = rng.uniform(-4.0, 4.0, (8, 4)) * (1.0 + math.sqrt(step))
            check_prox(_Gridded(Sum(h, Box(lo, hi)), lo, hi), line.shape, steps=[step], points=[line])


def test_entrywise_penalty_in_a_box_of_arrays() -> None:
    lo, hi = np.array([-1.0, 0.2, -math.inf, -2.0]), np.array([1.0, 3.0, 0.0, -1.0])
    points = list(np.random.default_rng(0).uniform(-5.0, 5.0, (4, 5, 4)))
    for h in ENTRYWISE:
        check_prox(_Gridded(Sum(h, Box(lo, hi)), lo, hi), (5, 4), steps=[0.1, 2.0, 50.0], points=points)


SUMS: list[tuple[Nonsmooth, Any, tuple[int, ...]]] = [
    (Zero(), Simplex(), (4,)),
    (Zero(), Stiefel(), (4, 2)),
    (L1(0.7), NonNegative(), (4,)),
    (L1(0.7), LinfBall(0.5), (2, 2)),
    (L0(0.7), NonNegative(), ()),
    (L1(0.7), L1Ball(1.0), (5,)),
    (L1(0.7), Simplex(1.0), (5,)),
    (L1(0.7), Cardinality(2), (5,)),
    (L1(np.array([0.1, 3.0, 0.5, 0.5])), Cardinality(2), (4,)),
    (SCAD(0.7, 2.5), Cardinality(2), (5,)),
    (L0(np.array([0.1, 3.0, 0.5, 0.5])), RowCardinality(1), (3, 4)),
    (L0(0.7), Binary(0.0, 1.0), (4,)),
    (L1(0.7), Binary(-1.0, 2.0), (4,)),
    (L2(0.7), NonNegative(), (4,)),
    (L21(0.7), NonNegative(), (3, 3)),
    (GroupL2(0.7, [[0, 2], [1, 3]]), NonNegative(), (5,)),
    (L1(0.7), L2Ball(1.0), (4,)),
    (L2(0.7), L2Ball(1.0), (4,)),
    (L21(0.7), L2Ball(1.0), (3, 3)),
    (Linf(0.7), L2Ball(1.0), (4,)),
    (Nuclear(0.7), L2Ball(1.0), (3, 3)),
    (TotalVariation1D(0.7), L2Ball(1.0), (5,)),
    (TotalVariation1D(0.7), NonNegative(), (5,)),
    (TotalVariation1D(0.7), Box(-0.3, 0.8), (5,)),
    (Nuclear(0.7), PSD(), (3, 3)),
    (Nuclear(0.7), Rank(1), (3, 4)),
]


@pytest.mark.parametrize(("penalty", "constraint", "shape"), SUMS, ids=str)
def test_sum_prox_is_a_global_minimiser(penalty: Nonsmooth, constraint: Any, shape: tuple[int, ...]) -> None:
    h = Sum(penalty, constraint)
    check_prox(h, shape, steps=(0.1, 5.0))
    check_prox(h, shape, steps=(0.5,), dtype="float32")
    check_prox(h, shape, steps=(0.5,), xp=array_api_strict)


@pytest.mark.parametrize(("penalty", "constraint", "shape"), SUMS, ids=str)
def test_sum_prox_against_many_feasible_points(
    penalty: Nonsmooth, constraint: Any, shape: tuple[int, ...]
) -> None:
    """Feasible competitors from both functions' own proxes, composed either way."""
    rng = np.random.default_rng(1)
    h = Sum(penalty, constraint)
    for step in (0.1, 1.0, 5.0):
        v = 2.0 * rng.standard_normal(shape)
        u = h.prox(v, step)
        best = penalty(u) + np.sum((u - v) ** 2) / (2 * step)
        assert constraint(u) == 0.0
        for _ in range(40):
            w = u + rng.choice([1e-3, 0.1, 1.0]) * rng.standard_normal(shape)
            for start in (w, penalty.prox(w, step), penalty.prox(w, 0.3 * step)):
                other = constraint.prox(start, 1.0)
                assert penalty(other) + np.sum((other - v) ** 2) / (2 * step) >= best - 1e-9


@pytest.mark.parametrize(
    ("penalty", "constraint"),
    [
        (Linf(1.0), Box(0.0, 1.0)),
        (L1(np.array([1.0, 2.0])), Simplex()),
        (L1(np.array([1.0, 2.0])), L1Ball()),
        (L1(1.0), Stiefel()),
        (L1(1.0), Rank(2)),
        (L0(1.0), L2Ball()),
        (L21(1.0), Box(0.0, 1.0)),
        (TotalVariation1D(1.0), Box(np.zeros(3), np.ones(3))),
        (Nuclear(1.0), NonNegative()),
        (L1(1.0), L2(1.0)),
    ],
    ids=str,
)
def test_sum_refuses_what_is_not_exact(penalty: Nonsmooth, constraint: Any) -> None:
    with pytest.raises(TypeError, match=r"no exact joint prox .* further block"):
        Sum(penalty, constraint)


def test_sum_subgradient() -> None:
    assert Sum(L1(2.0), NonNegative()).subgradient(np.array([1.0, 0.0])).tolist() == [2.0, 0.0]
    with pytest.raises(NotImplementedError, match="convex"):
        Sum(L0(2.0), NonNegative()).subgradient(np.ones(2))
