"""Jacobians of proxes with a step for every entry, of own functions, and mistakes in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ipds.functions import (
    L1,
    L2,
    L21,
    PSD,
    GroupL2,
    Linf,
    MoreauEnvelope,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Rank,
    Scaled,
    Separable,
    Simplex,
    Stacked,
    TotalVariation1D,
    Translated,
    check_jacobian,
)
from ipds.operators import Matrix
from problems import matrix_of

rng = np.random.default_rng(3)


ROTATION = np.linalg.qr(rng.standard_normal((4, 4)))[0]


@pytest.mark.parametrize(
    "h",
    [L2(), L21(), GroupL2(1.0, [[0]]), Linf(), Nuclear(), TotalVariation1D(), Simplex(), Rank(1), PSD()],
    ids=str,
)
def test_an_array_of_steps_is_refused_elsewhere(h: Nonsmooth) -> None:
    with pytest.raises(ValueError, match=r"needs one step for all, got an array of shape \(3, 3\)"):
        h.prox(np.ones((3, 3)), np.ones((3, 3)))


def test_stacks_cut_steps_and_take_equal_ones_for_one() -> None:
    h = Stacked([(L2(1.0), 2), (L1(1.0), 2)])
    v, steps = np.array([3.0, 4.0, 3.0, 4.0]), np.array([2.5, 2.5, 1.0, 2.0])
    np.testing.assert_allclose(h.prox(v, steps), [1.5, 2.0, 2.0, 2.0])
    J = h.prox_jacobian(v, steps)
    np.testing.assert_allclose(J.apply(v)[:2], v[:2])  # a norm is linear along v
    with pytest.raises(ValueError, match="needs one step for all"):
        h.prox(v, np.array([2.5, 2.0, 1.0, 2.0]))


class _Wrong(Nonsmooth):
    """A soft threshold with a derivative that is not its own."""

    is_convex = True

    def __init__(self, derivative: Any) -> None:
        self.derivative = derivative

    def __call__(self, x: Any) -> float:
        return L1(1.0)(x)

    def prox(self, v: Any, step: float) -> Any:
        return L1(1.0).prox(v, step)

    def prox_jacobian(self, v: Any, step: float) -> Any:
        return self.derivative(v, step)


@pytest.mark.parametrize(
    ("derivative", "message"),
    [
        (lambda v, step: np.ones(3), "differences of the prox say"),
        (lambda v, step: 1.001 * (np.abs(v) > step), "not in"),
        (lambda v, step: -1e-6 * np.ones(3), "not in"),
        (lambda v, step: np.full(3, np.nan), "not finite"),
        (lambda v, step: Matrix(np.triu(np.ones((3, 3)))), "not symmetric"),
        (lambda v, step: np.ones(2), "of shape"),
        (lambda v, step: None, "not known"),
    ],
)
def test_the_check_sees_mistakes(derivative: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_jacobian(_Wrong(derivative), (3,))


class _Own:
    is_convex = True

    def __call__(self, x: Any) -> float:
        return float(np.abs(x).sum())

    def prox(self, v: Any, step: float) -> Any:
        return L1(1.0).prox(v, step)


class _OwnWithJacobian(_Own):
    def prox_jacobian(self, v: Any, step: float) -> Any:
        return L1(1.0).prox_jacobian(v, step)


def test_own_functions_have_one_where_they_offer_it() -> None:
    v = np.array([2.0, 0.5, -3.0])
    for make in (
        lambda own: Scaled(own, 2.0),
        lambda own: Translated(own, 1.0),
        lambda own: Precomposed(own, np.eye(3)),
        lambda own: Separable([([0, 1], own), ([2], L2(1.0))]),
        lambda own: Stacked([(own, 2), (L2(1.0), 1)]),
        lambda own: MoreauEnvelope(own, 1.0),
    ):
        assert make(_Own()).prox_jacobian(v, 0.3) is None
        known, ours = make(_OwnWithJacobian()).prox_jacobian(v, 0.3), make(L1(1.0)).prox_jacobian(v, 0.3)
        np.testing.assert_array_equal(matrix_of(known, (3,)), matrix_of(ours, (3,)))
