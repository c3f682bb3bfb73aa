"""Convex functions with exponentials: the logistic loss and the exponential, with proxes to all digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, is_traced, namespace, to_numpy
from ._arguments import weight
from .entrywise import Entrywise, finite
from .omega import logarithm, omega
from .scalar import fit, select, size_over


class Exponential(Entrywise):
    """h(x) = Σ λ_i exp(r_i x_i), the rates r ≠ 0 of either sign.

    prox(v, s) = v - ω(r v + log(sλr²))/r with ω(a) + log ω(a) = a, the Wright omega function.
    Chierchia, Chouzenoux, Combettes & Pesquet, The proximity operator repository (2020).

    >>> import numpy as np
    >>> Exponential().prox(np.array([1.0]), 1.0)
    array([0.])
    """

    is_differentiable = True
    unit_powers = (("rate", 1),)

    def __init__(self, lam: float | Array = 1.0, rate: float | Array = 1.0) -> None:
        self.lam, self.rate = weight("Exponential", "lam", lam), finite("Exponential", "rate", rate)
        if not is_traced(self.rate) and not np.all(to_numpy(self.rate)):
            raise ValueError("Exponential: every entry of rate must differ from 0")

    def terms(self, x: Array) -> Array:
        xp, lam = namespace(x), fit(self.lam, x)
        with np.errstate(over="ignore"):  # ∞ is the value then, unless its weight is 0
            return lam * xp.exp(select(xp, lam > 0, fit(self.rate, x) * x, 0.0))

    def _omega(self, xp: Any, v: Array, step: Any) -> tuple[Array, Any]:
        """(w, log C): p = r u solves p + C eᵖ = r v, C = sλr², and w = C eᵖ."""
        rate = fit(self.rate, v)
        log_c = logarithm(xp, fit(self.lam, v) * step * rate * rate)
        return omega(xp, rate * v + log_c), log_c

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        w, log_c = self._omega(xp, v, step)
        rate = fit(self.rate, v)
        # p = r v - w where w is small, log(w/C) where it is not: neither loses digits
        finite_log = xp.where(w > 1.0, log_c + 0.0 * w, 0.0)
        return xp.where(w > 1.0, (xp.log(xp.clip(w, 1.0, None)) - finite_log) / rate, v - w / rate)

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        return 1.0 / (1.0 + self._omega(xp, v, step)[0])

    def _recession(self, xp: Any, d: Array) -> Array:
        rising = fit(self.lam, d) * fit(self.rate, d) * d > 0
        return xp.where(rising, math.inf, 0.0 * d)

    def subgradient(self, x: Array) -> Array:
        return fit(self.rate, x) * self.terms(x)

    def bend(self, x: Array) -> Array:
        return fit(self.rate, x) ** 2 * self.terms(x)


class LogisticLoss(Entrywise):
    """h(x) = Σ λ_i log(1 + exp(-a_i x_i)), a = label · scale, labels -1 and 1 (or 0 and 1, read as -1 and 1).

    prox(v, s) = p/a with p the root of p = a v + C/(1 + eᵖ), C = sλa²: Newton's method from below, which is monotone.
    As f of a linear model, `Logistic` is the better choice.
    Briceño-Arias, Chierchia, Chouzenoux & Pesquet, A random block-coordinate Douglas-Rachford splitting method with
    low computational complexity for binary logistic regression, Comput. Optim. Appl. 72 (2019).

    >>> import numpy as np
    >>> LogisticLoss().prox(np.array([-0.5]), 1.0)
    array([0.])
    """

    is_differentiable = True
    unit_powers = (("scale", 1),)

    def __init__(
        self, labels: float | Array = 1.0, lam: float | Array = 1.0, scale: float | Array = 1.0
    ) -> None:
        self.labels = _signs(finite("LogisticLoss", "labels", labels))
        self.lam = weight("LogisticLoss", "lam", lam)
        self.scale = weight("LogisticLoss", "scale", scale, positive=True)

    def _slopes(self, x: Array) -> float | Array:
        return fit(self.labels, x) * fit(self.scale, x)

    def terms(self, x: Array) -> Array:
        xp, p = namespace(x), self._slopes(x) * x
        return fit(self.lam, x) * (xp.log1p(xp.exp(-xp.abs(p))) + xp.clip(-p, 0.0, None))

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        a = self._slopes(v)
        return logistic_root(xp, a * v, fit(self.lam, v) * step * a * a) / a

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        a = self._slopes(v)
        c = fit(self.lam, v) * step * a * a
        t = xp.exp(-xp.abs(logistic_root(xp, a * v, c)))
        return 1.0 / (1.0 + c * t / (1.0 + t) ** 2)

    def _recession(self, xp: Any, d: Array) -> Array:
        return fit(self.lam, d) * xp.clip(-self._slopes(d) * d, 0.0, None)

    def subgradient(self, x: Array) -> Array:
        """-λa/(1 + exp(a x))."""
        xp, a = namespace(x), self._slopes(x)
        p = a * x
        t = xp.exp(-xp.abs(p))
        return -fit(self.lam, x) * a * xp.where(p > 0, t, 1.0) / (1.0 + t)

    def lipschitz(self, shape: Shape) -> float:
        return size_over(self.lam * self.scale, shape)

    def bend(self, x: Array) -> Array:
        """λa² t/(1 + t)² with t = exp(-|a x|)."""
        xp, a = namespace(x), self._slopes(x)
        t = xp.exp(-xp.abs(a * x))
        return fit(self.lam, x) * a * a * t / (1.0 + t) ** 2

    def largest_bend(self) -> float:
        return 0.25 * float(np.max(to_numpy(self.lam * self.scale**2), initial=0.0))


def logistic_root(xp: Any, q: Array, c: float | Array) -> Array:
    """p with p = q + c/(1 + eᵖ), entry by entry.

    The root has the sign of q + c/2, and -p solves the same equation with -(q + c): only roots p ≥ 0 need be found.
    There p - q - c/(1 + eᵖ) is concave, so Newton's method rises to the root from any point below it; since
    c e⁻ᵖ/2 ≤ c/(1 + eᵖ) ≤ c e⁻ᵖ, q + ω(log(c/2) - q) is one, and at most log 2 away.
    """
    flip = q + 0.5 * c < 0
    q = xp.where(flip, -(q + c), q)
    p = xp.clip(q + omega(xp, logarithm(xp, 0.5 * c) - q), 0.0, None)
    for _ in range(NEWTON):
        t = xp.exp(-p)
        share = c / (1.0 + t) * t  # c/(1 + eᵖ)
        p = p + (q + share - p) / (1.0 + share / (1.0 + t))
    return xp.where(flip, -p, p)


NEWTON = 5
"""Steps of Newton's method: enough for all digits from where it starts."""


def _signs(labels: float | Array) -> float | Array:
    """Labels 0 and 1 as -1 and 1; others must be -1 and 1."""
    if is_traced(labels):
        return labels
    plain = to_numpy(labels)
    if np.all((plain == 0) | (plain == 1)):
        labels = 2.0 * labels - 1.0
    elif not np.all(np.abs(plain) == 1):
        raise ValueError("LogisticLoss: labels must all be -1 or 1 (or all 0 or 1)")
    return labels
