"""Convex entrywise penalties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, absolute_sum, namespace, to_numpy
from ._arguments import weight
from .base import Nonsmooth
from .kinks import Kinks
from .scalar import ScalarPenalty, fit, pseudo_huber, soft


class Zero(Nonsmooth):
    """h(x) = 0; prox(v, s) = v.

    >>> import numpy as np
    >>> Zero()(np.ones(3))
    0.0
    """

    is_convex = True
    is_entrywise = True
    unit_powers = ()

    def __call__(self, x: Array) -> float:
        return 0.0

    def prox(self, v: Array, step: float | Array) -> Array:
        return namespace(v).asarray(v, copy=True)

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """1 everywhere."""
        return namespace(v).ones_like(v)

    def lipschitz(self, shape: Shape) -> float:
        return 0.0

    def kinks(self, shape: Shape) -> Kinks:
        return Kinks()

    def subgradient(self, x: Array) -> Array:
        return namespace(x).zeros_like(x)


class L1(ScalarPenalty):
    """h(x) = Σ λ_i |x_i|; prox(v, s) = sign(v) max(|v| - sλ, 0), the soft threshold.

    Donoho, De-noising by soft-thresholding, IEEE Trans. Inf. Theory 41 (1995).

    >>> import numpy as np
    >>> L1(1.0).prox(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2.,  0., -1.])
    """

    is_convex = True
    unit_powers = (("lam", 1),)

    def __call__(self, x: Array) -> float:
        return self.lam * absolute_sum(x) if type(self.lam) is float else super().__call__(x)

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        """The pseudo-Huber function Σ λ√(x_i² + e²) with e = sλ; the envelope where weights differ."""
        if type(self.lam) is not float or not self.lam:
            return super().soften(u, s)
        return pseudo_huber(u, self.lam, self.lam * s, by_row=False)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * a

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        return soft(xp, v, lam * step)

    def kinks(self, shape: Shape) -> Kinks:
        """Slopes -λ and λ on both sides of 0."""
        return Kinks(-self.lam, self.lam)


class ElasticNet(ScalarPenalty):
    """h(x) = Σ λ_i |x_i| + μ_i x_i²/2 with λ = l1, μ = l2; prox(v, s) = soft(v, sλ)/(1 + sμ).

    Zou & Hastie, Regularization and variable selection via the elastic net, JRSS B 67 (2005).
    """

    is_convex = True
    unit_powers = (("lam", 1), ("l2", 2))

    def __init__(self, l1: float | Array = 1.0, l2: float | Array = 1.0) -> None:
        self.lam = weight("ElasticNet", "l1", l1)
        self.l2 = weight("ElasticNet", "l2", l2)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return a * (lam + 0.5 * fit(self.l2, a) * a)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam + fit(self.l2, a) * a

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return fit(self.l2, a)

    def _steepest(self) -> float | Array:
        if type(self.l2) is float:
            return math.inf if self.l2 else self.lam
        return np.where(to_numpy(self.l2) > 0, math.inf, to_numpy(self.lam))

    def receding(self, d: Array) -> Array:
        """d: h is finite everywhere."""
        return d

    def recession(self, d: Array) -> float:
        """λ|d| where μ = 0; where it is not, ∞ but for d = 0."""
        bent = np.broadcast_to(to_numpy(self.l2), d.shape) > 0
        return math.inf if np.any(to_numpy(d)[bent] != 0) else L1(self.lam)(d)

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        u = soft(xp, v, lam * step)
        u *= 1.0 / (1.0 + step * fit(self.l2, v))
        return u


class Huber(ScalarPenalty):
    """h(x) = Σ λ_i H(x_i), H(a) = a²/2 up to |a| = δ_i, then δ_i|a| - δ_i²/2.

    prox(v, s) = v - sλ clip(v/(1 + sλ), -δ, δ).
    Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35 (1964).
    """

    is_convex = True
    _kink_at_zero = False
    unit_powers = (("lam", 2), ("delta", -1))

    def __init__(self, lam: float | Array = 1.0, delta: float | Array = 1.0) -> None:
        super().__init__(lam)
        self.delta = weight("Huber", "delta", delta, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        low = xp.clip(a, None, fit(self.delta, a))
        return lam * low * (a - 0.5 * low)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.clip(a, None, fit(self.delta, a))

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return lam * xp.astype(a < fit(self.delta, a), a.dtype)

    def _steepest(self) -> float | Array:
        return self.lam * self.delta

    def recession(self, d: Array) -> float:
        """δ Σ λ_i |d_i|."""
        return self.delta * L1(self.lam)(d)

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        c = lam * step
        a = xp.abs(v)
        # not v minus something almost as large: with c ≫ 1 that would leave few digits of v/(1 + c)
        return xp.copysign(xp.maximum(a * (1.0 / (1.0 + c)), a - c * fit(self.delta, v)), v)
