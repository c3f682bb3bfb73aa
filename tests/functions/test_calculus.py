"""New functions from old ones: the joint prox globally, values, gradients, and refusals."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds import Block, Problem, solve
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
    MoreauEnvelope,
    NonNegative,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Quadratic,
    Rank,
    RowCardinality,
    Scaled,
    Separable,
    Simplex,
    Smooth,
    Sphere,
    Stacked,
    Stiefel,
    Sum,
    TotalVariation1D,
    Translated,
    Zero,
    check_gradient,
    check_prox,
)

ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
FRAME = 3.0 * ROTATION[:2]
SHIFT = np.array([0.5, -1.0, 0.0, 2.0])
COMPOSED: list[tuple[Nonsmooth, tuple[int, ...]]] = [
    (Scaled(L1(0.7), 2.5), (4,)),
    (Scaled(MCP(0.7, 1.5), 0.1), (4,)),
    (Scaled(Simplex(), 3.0), (4,)),
    (Translated(L1(0.7), SHIFT), (3, 4)),
    (Translated(L0(0.7), 1.5), (4,)),
    (Translated(Sphere(), SHIFT), (4,)),
    (Precomposed(L1(0.7), -2.0, 0.3), (4,)),
    (Precomposed(LogSum(0.7, 0.2), 0.5, SHIFT), (4,)),
    (Precomposed(NonNegative(), -1.0), (4,)),
    (Precomposed(L1(0.7), ROTATION), (4,)),
    (Precomposed(CappedL1(0.7, 0.5), ROTATION, SHIFT), (4,)),
    (Precomposed(L21(0.7), ROTATION), (4, 3)),
    (Precomposed(L1(0.7), FRAME), (4,)),
    (Precomposed(MCP(0.7, 1.5), FRAME), (4,)),
    (Separable([(slice(0, 2), L1(0.7)), (slice(2, 4), L0(0.7))]), (4,)),
    (Separable([([3, 0], L2(0.7)), ([1, 2], Simplex())]), (4,)),
    (Separable([(slice(None, None, 2), L21(0.7)), (slice(1, None, 2), Stiefel())]), (4, 2)),
    (Stacked([(L1(0.7), 3), (Simplex(), (2,))]), (5,)),
    (Stacked([(L21(0.7), (2, 2)), (L0(0.7), ()), (Zero(), 1)]), (6,)),
    (Stacked([(Stiefel(), (2, 1)), (MCP(0.7, 1.5), (2, 1))]), (4,)),
]


@pytest.mark.parametrize(("h", "shape"), COMPOSED, ids=str)
def test_composed_prox_is_a_global_minimiser(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    check_prox(h, shape, steps=(1e-3, 1.0, 1e3))
    check_prox(h, shape, steps=(1.0,), dtype="float32")
    check_prox(h, shape, steps=(1.0,), xp=array_api_strict)


@pytest.mark.parametrize(("h", "shape"), COMPOSED, ids=str)
def test_composed_subgradient_and_lipschitz(h: Nonsmooth, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    constant = h.lipschitz(shape)
    for _ in range(5):
        x = h.prox(rng.standard_normal(shape), 0.1)
        g = h.subgradient(x)
        for y in rng.standard_normal((10, *shape)):
            y = h.prox(y, 0.1)
            assert abs(h(x) - h(y)) <= constant * np.linalg.norm(x - y) * (1 + 1e-9)
            if h.is_convex:
                assert h(y) >= h(x) + np.sum(g * (y - x)) - 1e-10


def test_composed_values() -> None:
    x = np.array([1.0, -2.0, 0.0, 3.0])
    assert Scaled(L1(1.0), 2.0)(x) == 12.0
    assert Translated(L1(1.0), SHIFT)(x) == pytest.approx(np.abs(x - SHIFT).sum())
    assert Precomposed(L1(1.0), ROTATION, SHIFT)(x) == pytest.approx(np.abs(ROTATION @ x + SHIFT).sum())
    assert Separable([(slice(0, 2), L1(1.0)), (slice(2, 4), L0(5.0))])(x) == 8.0
    assert Scaled(Stiefel(), 2.0).is_manifold
    assert Scaled(L1(0.5), 3.0).lipschitz((4,)) == pytest.approx(3.0)
    assert Precomposed(L1(0.5), FRAME).lipschitz((4,)) == pytest.approx(3.0 * 0.5 * math.sqrt(2.0))
    assert Separable([([0], L1(3.0)), ([1], L1(4.0))]).lipschitz((2,)) == pytest.approx(5.0)


def test_tangent_passes_through() -> None:
    rng = np.random.default_rng(0)
    x, g = Stiefel().prox(rng.standard_normal((4, 2)), 1.0), rng.standard_normal((4, 2))
    assert np.array_equal(Scaled(Stiefel(), 2.0).tangent(x, g), Stiefel().tangent(x, g))
    assert np.array_equal(
        Translated(Stiefel(), 1.0).tangent(x + 1.0, g), Stiefel().tangent((x + 1.0) - 1.0, g)
    )


def test_separable_refuses_parts_that_do_not_fit() -> None:
    for parts in ([(slice(0, 2), L1(1.0))], [([0, 1], L1(1.0)), ([1, 2], L1(1.0))]):
        with pytest.raises(ValueError, match="cover each of the 3 rows"):
            Separable(parts).prox(np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="outside the 3 rows"):
        Separable([([0, 5], L1(1.0))])(np.zeros(3))


def test_stacked_by_hand() -> None:
    h = Stacked([(L1(2.0), 2), (Nuclear(1.0), (2, 2)), (NonNegative(), ())])
    assert (h.size, h.slices, h.is_convex, h.is_set) == (
        7,
        [slice(0, 2), slice(2, 6), slice(6, 7)],
        True,
        False,
    )
    u = np.array([1.0, -3.0, 3.0, 0.0, 0.0, 4.0, 2.0])
    assert h(u) == pytest.approx(2.0 * 4.0 + 7.0)
    assert h(-u) == math.inf
    assert h.lipschitz((7,)) == math.inf
    assert Stacked([(L1(3.0), 1), (L1(4.0), (1, 1))]).lipschitz((2,)) == pytest.approx(5.0)
    smooth = Stacked([(L1(2.0), 2), (Linf(1.0), (2, 2))])
    value, slope = smooth.soften(u[:6], 0.3)
    parts = L1(2.0).soften(u[:2], 0.3), Linf(1.0).soften(u[2:6].reshape(2, 2), 0.3)
    assert value == pytest.approx(parts[0][0] + parts[1][0])
    assert np.array_equal(slope, np.concatenate([parts[0][1], parts[1][1].reshape(-1)]))


def test_stacked_cuts_an_array_of_steps() -> None:
    h = Stacked([(L1(1.0), 2), (L2(1.0), 2)])
    v = np.array([3.0, -3.0, 3.0, 4.0])
    assert np.allclose(h.prox(v, np.array([1.0, 1.0, 2.5, 2.5])), [2.0, -2.0, 1.5, 2.0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "must not be empty"),
        ([L1(1.0)], "part 0 must be a pair"),
        ([(L1(1.0), 2), ("l1", 2)], "part 1: h must be callable and have prox"),
        ([(L1, 2)], "pass an object"),
        ([(L1(1.0), 2.5)], "shape of part 0 must be a number or a tuple"),
        ([(L1(1.0), (2, -1))], "shape of part 0"),
    ],
)
def test_stacked_refuses_what_does_not_fit(parts: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Stacked(parts)
    with pytest.raises(ValueError, match=r"vectors of length 2, got shape \(3,\)"):
        Stacked([(L1(1.0), 2)]).prox(np.zeros(3), 1.0)


ENVELOPED = [L1(0.7), L2(0.7), Linf(0.7), Huber(0.7, 0.5), NonNegative(), Simplex(), TotalVariation1D(0.7)]


@pytest.mark.parametrize("mu", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("h", ENVELOPED, ids=repr)
def test_moreau_envelope(h: Nonsmooth, mu: float) -> None:
    f = MoreauEnvelope(h, mu)
    assert f.lipschitz == 1.0 / mu
    check_gradient(f, (5,), tol=1e-5)
    x = np.random.default_rng(0).standard_normal(5)
    assert f(x) <= h(x) + 1e-12
    # Its prox: the gradient of the objective vanishes there.
    for step in (0.1, 10.0):
        u = f.prox(x, step)
        assert np.allclose(f.grad(u) + (u - x) / step, 0.0, atol=1e-9 * max(1.0, 1 / mu))


class _Own:
    """All that a user's own h must have: no base class, no optional method."""

    def __call__(self, x: Any) -> float:
        return 0.0 if np.all(x >= -1e-12) else math.inf

    def prox(self, v: Any, step: float) -> Any:
        return np.maximum(v, 0.0)


class _OwnConvex(_Own):
    is_convex = is_set = True


OWN = {
    "Scaled": lambda own: Scaled(own, 2.0),
    "Translated": lambda own: Translated(own, 2.0),
    "Precomposed": lambda own: Precomposed(own, ROTATION, SHIFT),
    "Separable": lambda own: Separable([(slice(0, 2), own), (slice(2, 4), L1(1.0))]),
    "Stacked": lambda own: Stacked([(own, (2, 1)), (L1(1.0), 2)]),
    "Sum": lambda own: Sum(Zero(), own),
    "all": lambda own: Scaled(
        Stacked([(Separable([([0, 1], Translated(own, 1.0))]), 2), (own, (1, 2))]), 3.0
    ),
}


@pytest.mark.parametrize("own", [_Own(), _OwnConvex()], ids=["bare", "convex"])
@pytest.mark.parametrize("make", OWN.values(), ids=OWN.keys())
def test_own_functions_in_the_calculus(make: Any, own: Any) -> None:
    h = make(own)
    check_prox(h, (4,), steps=(1e-3, 1.0, 1e3))
    assert h.is_convex == isinstance(own, _OwnConvex)
    assert h.lipschitz((4,)) == math.inf
    assert math.isfinite(h.prox_size(np.ones(4)))
    if not (isinstance(h, Sum) and h.is_convex):  # there 0 is normal to the set
        with pytest.raises(NotImplementedError, match=r"offers (no|a) subgradient"):
            h.subgradient(np.ones(4))


@pytest.mark.parametrize("make", OWN.values(), ids=OWN.keys())
def test_problems_with_own_functions_in_the_calculus(make: Any) -> None:
    """½‖x‖² - ⟨c, x⟩ + h(x), whose minimiser is the prox of h at c."""
    h, c = make(_OwnConvex()), np.array([1.0, -2.0, 3.0, 0.5])
    problem = Problem([Block(f=Quadratic(1.0, -c), A=-1.0, shape=4), Block(h=h, shape=4)])
    result = solve(problem, tol=1e-8)
    assert result.success
    assert np.allclose(result.x[1], h.prox(c, 1.0), atol=1e-6)


def test_a_sum_with_zero_is_the_other() -> None:
    h, x = Sum(Zero(), L1(0.7)), np.array([1.0, -2.0, 0.0])
    check_prox(h, (3,), steps=(0.1, 5.0))
    assert (h(x), h.is_convex) == (L1(0.7)(x), True)
    assert np.array_equal(h.subgradient(x), L1(0.7).subgradient(x))


def test_moreau_envelope_of_an_own_function() -> None:
    assert np.allclose(MoreauEnvelope(_OwnConvex(), 0.5).grad(np.array([1.0, -2.0])), [0.0, -4.0])
    with pytest.raises(ValueError, match="must be convex"):
        MoreauEnvelope(_Own(), 0.5)


class _WrongGradient(Smooth):
    lipschitz = 1.0

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> float:
        return float(np.sum(x**2))

    def grad(self, x: Any) -> Any:
        return self.factor * x


def test_check_gradient_catches_mistakes() -> None:
    with pytest.raises(AssertionError, match="by differences"):
        check_gradient(_WrongGradient(2.001), (3,))
    with pytest.raises(AssertionError, match="more than lipschitz"):
        check_gradient(_WrongGradient(2.0), (3,))


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
