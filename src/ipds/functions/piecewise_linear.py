"""Piecewise linear losses with one kink: quantile and hinge."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Shape, namespace
from ._arguments import number, weight
from .entrywise import Entrywise, finite, sizes
from .kinks import Kinks
from .scalar import fit, size_over


class Quantile(Entrywise):
    """h(x) = Σ λ_i max(τ x_i, (τ - 1) x_i), 0 < τ < 1; prox(v, s) = v - clip(v, sλ(τ - 1), sλτ).

    Of residuals y - G w it fits the τ-quantile of y; τ = ½ is half of `L1`.
    Koenker & Bassett, Regression quantiles, Econometrica 46 (1978).

    >>> import numpy as np
    >>> Quantile(0.9).prox(np.array([2.0, 0.5, -2.0]), 1.0)
    array([ 1.1,  0. , -1.9])
    """

    unit_powers = (("lam", 1),)

    def __init__(self, tau: float = 0.5, lam: float | Array = 1.0) -> None:
        self.tau = number("Quantile", "tau", tau, above=0.0)
        if self.tau >= 1.0:
            raise ValueError(f"Quantile: tau must lie between 0 and 1, got {tau}")
        self.lam = weight("Quantile", "lam", lam)

    def terms(self, x: Array) -> Array:
        return fit(self.lam, x) * namespace(x).maximum(self.tau * x, (self.tau - 1.0) * x)

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        c = fit(self.lam, v) * step
        return v - xp.clip(v, c * (self.tau - 1.0), c * self.tau)

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        c = fit(self.lam, v) * step
        return xp.astype((v > c * self.tau) | (v < c * (self.tau - 1.0)), v.dtype)

    def _recession(self, xp: Any, d: Array) -> Array:
        return self.terms(d)

    def subgradient(self, x: Array) -> Array:
        """Between the slopes of both sides at 0: 0."""
        xp = namespace(x)
        return fit(self.lam, x) * (
            xp.where(x > 0, self.tau, 0.0 * x) + xp.where(x < 0, self.tau - 1.0, 0.0 * x)
        )

    def lipschitz(self, shape: Shape) -> float:
        return size_over(self.lam * max(self.tau, 1.0 - self.tau), shape)

    def kinks(self, shape: Shape) -> Kinks:
        """Slopes λ(τ - 1) and λτ on both sides of 0."""
        return Kinks(self.lam * (self.tau - 1.0), self.lam * self.tau)


class Hinge(Entrywise):
    """h(x) = Σ λ_i max(m_i - x_i, 0), m the margin; prox(v, s) = max(v, min(v + sλ, m)).

    Of margins y·(G w) with labels y = ±1 it is the loss of a support vector machine.
    Cortes & Vapnik, Support-vector networks, Machine Learning 20 (1995).

    >>> import numpy as np
    >>> Hinge().prox(np.array([2.0, 0.5, -2.0]), 1.0)
    array([ 2.,  1., -1.])
    """

    unit_powers = (("lam", 1), ("margin", -1))

    def __init__(self, lam: float | Array = 1.0, margin: float | Array = 1.0) -> None:
        self.lam, self.margin = weight("Hinge", "lam", lam), finite("Hinge", "margin", margin)

    def terms(self, x: Array) -> Array:
        return fit(self.lam, x) * namespace(x).clip(fit(self.margin, x) - x, 0.0, None)

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        c = fit(self.lam, v) * step
        return xp.maximum(v, xp.minimum(v + c, fit(self.margin, v)))

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        margin = fit(self.margin, v)
        return xp.astype((v >= margin) | (v + fit(self.lam, v) * step < margin), v.dtype)

    def _recession(self, xp: Any, d: Array) -> Array:
        return fit(self.lam, d) * xp.clip(-d, 0.0, None)

    def prox_size(self, v: Array) -> Any:
        return sizes(v, self.margin)

    def subgradient(self, x: Array) -> Array:
        return -fit(self.lam, x) * namespace(x).astype(x < fit(self.margin, x), x.dtype)

    def lipschitz(self, shape: Shape) -> float:
        return size_over(self.lam, shape)

    def kinks(self, shape: Shape) -> Kinks:
        """Slopes -λ and 0 on both sides of the margin."""
        return Kinks(-self.lam, 0.0, self.margin)
