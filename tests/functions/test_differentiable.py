"""Losses as smooth functions: gradients and curvature by differences inside the domain, ∞ outside."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds.functions import (
    L1,
    Composed,
    Differentiable,
    Entropy,
    Exponential,
    Hinge,
    KLDivergence,
    Linear,
    LogDet,
    LogisticLoss,
    NegativeLog,
    Poisson,
    SmoothSum,
    SquaredHinge,
    SumSquares,
    Weighted,
    check_gradient,
)

WEIGHTS = np.array([0.3, 0.1, 2.0, 1.0])
EVERYWHERE: list[Any] = [
    SumSquares(WEIGHTS, 0.4),
    SquaredHinge(WEIGHTS),
    LogisticLoss(np.array([1.0, 0.0, 1.0, 0.0]), WEIGHTS, 3.0),
    Exponential(WEIGHTS, np.array([1.0, -1.0, 0.2, 0.5])),
]
POSITIVE: list[Any] = [
    Entropy(WEIGHTS, 2.0),
    Poisson(np.array([1.0, 0.0, 5.0, 2.0]), WEIGHTS),
    KLDivergence(np.array([1.0, 3.0, 5.0, 2.0]), 0.7),
    NegativeLog(WEIGHTS, 2.0),
]


def positive(g: np.random.Generator) -> np.ndarray:
    return 0.5 + g.random((3, 4)) * 3.0


def definite(g: np.random.Generator) -> np.ndarray:
    x = g.standard_normal((3, 3))
    return x @ x.T + np.eye(3)


@pytest.mark.parametrize("h", EVERYWHERE, ids=repr)
def test_gradients_everywhere(h: Any) -> None:
    f = Differentiable(h)
    assert f.domain is None
    check_gradient(f, (3, 4))


@pytest.mark.parametrize("h", POSITIVE, ids=repr)
def test_gradients_inside(h: Any) -> None:
    f = Differentiable(h)
    assert f.lipschitz is None
    check_gradient(f, (3, 4), draw=positive)
    x = positive(np.random.default_rng(0))
    x[1, 2] = -1.0
    value, slope = f.value_and_grad(x)
    assert value == math.inf
    assert np.all(np.isfinite(slope))


def test_borders_at_which_the_slope_is_infinite_are_outside() -> None:
    assert Entropy()(np.array([0.0, 1.0])) == 0.0
    assert Differentiable(Entropy())(np.array([0.0, 1.0])) == math.inf
    counts = Differentiable(Poisson(np.array([0.0, 2.0])))
    assert counts(np.array([0.0, 1.0])) == 1.0  # nothing counted: linear, down to 0
    np.testing.assert_array_equal(counts.grad(np.array([0.0, 1.0])), [1.0, -1.0])
    assert counts(np.array([1.0, 0.0])) == math.inf


def test_gradient_of_log_det() -> None:
    f = Differentiable(LogDet(0.7, 2.0))
    for seed in range(3):
        g = np.random.default_rng(seed)
        x, d = definite(g), g.standard_normal((3, 3))
        d = d + d.T
        width = 1e-5
        quotient = (f(x + width * d) - f(x - width * d)) / (2 * width)
        assert np.sum(f.grad(x) * d) == pytest.approx(quotient, rel=1e-7)
        turned = (f.grad(x + width * d) - f.grad(x - width * d)) / (2 * width)
        np.testing.assert_allclose(f.curvature(x, d), turned, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(f.hessian(x).apply(d), f.curvature(x, d))
    value, slope = f.value_and_grad(-np.eye(3))
    assert value == math.inf
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("h", [*EVERYWHERE, *POSITIVE], ids=repr)
def test_curvature_by_differences(h: Any) -> None:
    f, g = Differentiable(h), np.random.default_rng(1)
    x, d = (
        positive(g) + 1.2,
        g.standard_normal((3, 4)),
    )  # beyond the margin 1, where the squared hinge has a kink
    turned = (f.grad(x + 1e-6 * d) - f.grad(x - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(f.curvature(x, d), turned, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(f.hessian(x), f.curvature(x, np.ones_like(x)).reshape(-1))
    scaled = f.rescaled(2.0)
    assert scaled is not None
    assert scaled(x / 2.0) == pytest.approx(f(x))
    assert type(f.grad(array_api_strict.asarray(x))) is type(array_api_strict.asarray(x))


def test_domains_of_sums_and_compositions() -> None:
    log = Differentiable(NegativeLog())
    G = np.array([[1.0, 2.0], [0.5, 0.0]])
    f = SmoothSum([Composed(log, G), Linear(np.ones(2)), Weighted(Composed(log, np.eye(2)), 2.0)])
    domain = f.domain
    assert domain is not None
    assert not domain.contains(np.array([1.0, -0.1]))
    assert domain.contains(domain.inside(np.zeros(2)))
    assert "> 0" in domain.text
    assert SmoothSum([Linear(np.ones(2))]).domain is None
    assert Composed(log, -G).domain.inside(np.zeros(2)).tolist() == [-1.0, -1.0]  # type: ignore[union-attr]


def test_a_negative_weight_leaves_the_outside_infinite() -> None:
    f = Weighted(Differentiable(NegativeLog()), -1.0)
    assert f(np.array([1.0, -1.0])) == math.inf
    assert f.value_and_grad(np.array([1.0, -1.0]))[0] == math.inf
    assert f(np.array([math.e])) == pytest.approx(1.0)


@pytest.mark.parametrize("h", [L1(), Hinge(), 3.0], ids=str)
def test_kinks_are_refused(h: Any) -> None:
    with pytest.raises(TypeError, match="Differentiable: h must be SumSquares"):
        Differentiable(h)
