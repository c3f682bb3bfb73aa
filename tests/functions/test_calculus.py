"""New functions from old ones: the joint prox globally, values, gradients, and refusals."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    CappedL1,
    Huber,
    LHalf,
    Linf,
    LogSum,
    MoreauEnvelope,
    NonNegative,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Quadratic,
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
from ipds.modelling import diff, sum_squares

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
    assert np.array_equal(Scaled(Stiefel(), 2.0).mirror(-x, x), x)


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


@pytest.mark.parametrize(
    "h", [L0(0.7), LHalf(0.7), CappedL1(0.7, 0.4), LogSum(0.7, 0.3), MCP(0.7, 1.5)], ids=repr
)
def test_multiples_are_of_the_same_kind(h):
    own, scaled = Block(h=Scaled(h, 2.5), shape=6).h, Scaled(h, 2.5)
    assert type(own) is type(h)
    x = np.linspace(-2, 2, 6)
    assert own(x) == pytest.approx(scaled(x), rel=1e-12)
    for step in (1e-2, 1.0, 1e2):
        np.testing.assert_allclose(own.prox(x, step), scaled.prox(x, step), rtol=1e-12)


def test_a_multiple_in_a_model_is_solved_to_the_end_on_its_face():
    """Zeros of u = D x were zeros up to the tolerance in D x, and √1e-5 of an entry is 3e-3 of the objective."""
    y, x, t = np.array([0.1, -0.3, 0.2, 2.8, 3.1, 3.0]), Variable(6), Variable(6)
    jumps = 2 * LHalf(1.0)(diff(x))
    assert (
        np.count_nonzero(np.abs(np.diff(solve(minimize(0.5 * sum_squares(x - y) + jumps)).value(x))) > 1e-12)
        == 1
    )
    few = minimize(0.5 * sum_squares(t - y) + LHalf(1.0)(4 * t))
    assert few.blocks[0].h.lam == pytest.approx(2.0)
