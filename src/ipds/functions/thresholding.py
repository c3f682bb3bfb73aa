"""Nonconvex entrywise penalties, each with a prox that is a global minimiser for every step.

The prox of any function of one variable is monotone, so each is "small branch below a threshold, large branch
above"; the threshold is where the two branches cost the same. It has a closed form for all but `LogSum`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, either
from ._arguments import number, weight
from .base import Nonsmooth
from .calculus import Scaled
from .rescaling import one_unit, units
from .scalar import ScalarPenalty, cap_and_sign, fit, floor_at_zero, keep, select


class L0(ScalarPenalty):
    """h(x) = Σ λ_i [x_i ≠ 0]; prox(v, s) = v where |v| > √(2 s λ), else 0: the hard threshold.

    Blumensath & Davies, Iterative thresholding for sparse approximations, J. Fourier Anal. Appl. 14 (2008).

    >>> L0(0.5).prox(np.array([0.9, 1.1]), 1.0)
    array([0. , 1.1])
    """

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.astype(a > 0, a.dtype)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.zeros_like(a)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return 0.0

    def _steepest(self) -> float | Array:
        return math.inf

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        return keep(xp, xp.abs(v) > (2.0 * step * lam) ** 0.5, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        return [x]

    def rescaled(self, d: float | Array) -> L0:
        """Itself: the nonzeros stay the same."""
        return self


def _beyond(
    xp: Any, v: Array, threshold: float | Array, c: float | Array, root: Callable[[Any, Array, Any], Array]
) -> Array:
    """0 where |v| ≤ threshold, else root(|v|, c) with the sign of v."""
    if type(v) is np.ndarray and v.ndim and type(c) is float:
        u = np.zeros(v.shape, v.dtype)
        far = np.flatnonzero(np.abs(v) > threshold)  # usually few: only these pay for the root
        big = v.ravel()[far]
        u.ravel()[far] = np.copysign(root(np, np.abs(big), c), big)
        return u
    a = xp.abs(v)
    far, one = a > threshold, xp.ones_like(a)
    u = root(xp, xp.where(far, a, one), xp.where(far, c * one, 0.0 * one))
    return xp.where(far, xp.copysign(u, v), 0.0 * one)


class _Power(ScalarPenalty):
    """h(x) = Σ λ_i |x_i|^(1 - 1/k) for k = 2, 3, with u = wᵏ solving wᵏ⁺¹ - |v| w + (1 - 1/k) s λ = 0."""

    _k: int

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * a ** (1.0 - 1.0 / self._k)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        safe = xp.where(a > 0, a, xp.ones_like(a))
        return lam * (1.0 - 1.0 / self._k) * safe ** (-1.0 / self._k)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        k, safe = self._k, xp.where(a > 0, a, xp.ones_like(a))
        return xp.where(a > 0, -lam * (1.0 - 1.0 / k) / k * safe ** (-1.0 - 1.0 / k), xp.zeros_like(a))

    def _steepest(self) -> float | Array:
        return math.inf

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        # At a tie with 0 the other minimiser is u = (2(1-p)c)^(1/(2-p)), c = sλ, p = 1 - 1/k.
        k, c = self._k, step * lam
        tie = (2.0 / k * c) ** (k / (k + 1.0))
        return _beyond(xp, v, tie * (1.0 + 0.5 * (k - 1)), c, self._root)

    def _root(self, xp: Any, a: Array, c: float | Array, sweeps: int | None = None) -> Array:
        """The larger stationary point, by Newton from above: monotone, as the function of w is convex."""
        k = self._k
        q = (1.0 - 1.0 / k) * c
        w = xp.sqrt(a) if k == 2 else np.cbrt(a) if xp is np else a ** (1.0 / 3.0)
        w = w - q / (k * a)
        for _ in range(sweeps or k + 2):  # enough for all digits from the threshold on
            power = w * w if k == 2 else w * w * w
            w = (k * w - q / power) / ((k + 1) - a / power)  # divided by wᵏ: no power of a overflows
        return w * w if k == 2 else w * w * w

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        # wᵏ⁺¹ - xw + q has its least value at w = (x/(k+1))^(1/k); a root exists where that value is ≤ 0.
        k, c, one = self._k, step * lam, xp.ones_like(x)
        safe = xp.where(x > 0, x, one)
        low = (safe / (k + 1.0)) ** (1.0 / k)
        exists = (x > 0) & (k * low ** (k + 1) > (1.0 - 1.0 / k) * c * (1.0 + 1e-9))
        root = self._root(xp, xp.where(exists, x, one), xp.where(exists, c * one, 0.0 * one), sweeps=40)
        return [xp.where(exists, root, 0.0 * one)]

    def rescaled(self, d: float | Array) -> _Power:
        """The weights times d^(1 - 1/k)."""
        return type(self)(self.lam * units(d) ** (1.0 - 1.0 / self._k))


class LHalf(_Power):
    """h(x) = Σ λ_i |x_i|^(1/2); prox = 0 up to |v| = 3/2 (sλ)^(2/3), above it the root of u + sλ/(2√u) = |v|.

    Xu, Chang, Xu & Zhang, L1/2 regularization: a thresholding representation theory, IEEE TNNLS 23 (2012).
    """

    _k = 2


class LTwoThirds(_Power):
    """h(x) = Σ λ_i |x_i|^(2/3); prox = 0 up to |v| = 2 (2sλ/3)^(3/4), then the root of u + 2sλ/(3∛u) = |v|.

    Cao, Sun & Xu, Fast image deconvolution using closed-form thresholding formulas of Lq regularization,
    J. Vis. Commun. Image Represent. 24 (2013).
    """

    _k = 3


class CappedL1(ScalarPenalty):
    """h(x) = Σ λ_i min(|x_i|, θ_i); prox = soft threshold up to |v| = T, v above it.

    T = θ + sλ/2 while sλ ≤ 2θ, then √(2sλθ).
    Zhang, Analysis of multi-stage convex relaxation for sparse regularization, JMLR 11 (2010).
    """

    def __init__(self, lam: float | Array = 1.0, theta: float | Array = 1.0) -> None:
        super().__init__(lam)
        self.theta = weight("CappedL1", "theta", theta, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.minimum(a, fit(self.theta, a) + 0.0 * a)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.astype(a < fit(self.theta, a), a.dtype)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return 0.0

    def _steepest(self) -> float | Array:
        return self.lam

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        c, theta = lam * step, fit(self.theta, v)
        threshold = select(xp, c <= 2.0 * theta, theta + 0.5 * c, (2.0 * theta * c) ** 0.5)
        return _soft_below(xp, v, c, threshold)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        return [x - lam * step, fit(self.theta, x) + 0.0 * x, x]

    def rescaled(self, d: float | Array) -> CappedL1:
        """λ min(d·a, θ) = λd min(a, θ/d)."""
        d = units(d)
        return CappedL1(self.lam * d, self.theta / d)


def _branch(
    xp: Any, condition: Any, yes: Callable[[Array], Array], no: Callable[[Array], Array], v: Array
) -> Array:
    """yes(v) or no(v), by a condition on the step: on each entry where the steps differ."""
    if getattr(condition, "ndim", 0):
        return xp.where(condition, yes(v), no(v))
    return either(condition, yes, no, v)


def _soft_below(xp: Any, v: Array, c: float | Array, threshold: float | Array) -> Array:
    """Soft threshold by c for |v| ≤ threshold, v above: v - clip(v, -c, c)·[|v| ≤ threshold]."""
    inside = xp.abs(v)
    near = inside <= threshold
    if type(inside) is np.ndarray:
        v.clip(-c, c, out=inside)
        inside *= near
        return np.subtract(v, inside, out=inside)
    return v - xp.where(near, xp.clip(v, -c, c), xp.zeros_like(v))


class LogSum(ScalarPenalty):
    """h(x) = Σ λ_i log(1 + |x_i|/ε_i); prox = 0 up to |v| = T, then v - 2sλ/(|v| + ε + √((|v| + ε)² - 4sλ)).

    T = sλ/ε while sλ ≤ ε² (the objective is convex then), else where 0 and the other branch cost the same.
    Candès, Wakin & Boyd, Enhancing sparsity by reweighted l1 minimization, J. Fourier Anal. Appl. 14 (2008).
    """

    def __init__(self, lam: float | Array = 1.0, eps: float | Array = 1.0) -> None:
        super().__init__(lam)
        self.eps = weight("LogSum", "eps", eps, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.log1p(a / fit(self.eps, a))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam / (a + fit(self.eps, a))

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return -lam / (a + fit(self.eps, a)) ** 2

    def _steepest(self) -> float | Array:
        return self.lam / self.eps

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        c = lam * step
        if type(c) is float and type(self.eps) is float:
            return _beyond(xp, v, self._threshold(c, self.eps), c, self._root)
        a = xp.abs(v)
        u = self._root(xp, a, c)
        gain = u * (a - 0.5 * u) - c * xp.log1p(
            u / fit(self.eps, v)
        )  # what u saves next to 0, times the step
        return xp.where((u > 0) & (gain > 0), xp.copysign(u, v), xp.zeros_like(v))

    def _root(self, xp: Any, a: Array, c: float | Array) -> Array:
        """The larger stationary point, not below 0; where there is none, some point."""
        far, r = a + fit(self.eps, a), 2.0 * c**0.5
        root = xp.sqrt(xp.clip(far - r, 0.0, None)) * xp.sqrt(
            far + r
        )  # (far² - 4c)^(1/2), safe from overflow
        return xp.clip(a - 2.0 * c / (root + far), 0.0, None)

    @staticmethod
    def _threshold(c: float, eps: float) -> float:
        """Where u and 0 cost the same, by bisection: the gain of u over 0 grows with |v|."""
        if c <= eps * eps:
            return c / eps
        low, high = max(2.0 * math.sqrt(c) - eps, 0.0), c / eps
        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                return middle
            far = middle + eps
            u = max(middle - 2.0 * c / (far + math.sqrt(max(far * far - 4.0 * c, 0.0))), 0.0)
            if u * (middle - 0.5 * u) > c * math.log1p(u / eps):
                high = middle
            else:
                low = middle

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        return [self._root(xp, xp.clip(x, 0.0, None), lam * step)]

    def rescaled(self, d: float | Array) -> LogSum:
        """ε divided by d."""
        return LogSum(self.lam, self.eps / units(d))


class MCP(ScalarPenalty):
    """h(x) = Σ φ(x_i), φ(a) = λ|a| - a²/(2γ) up to |a| = γλ, then γλ²/2 (minimax concave penalty), γ > 0.

    prox for s < γ: min(|v|, (|v| - sλ)₊/(1 - s/γ)), the firm threshold; for s ≥ γ: v where |v| > λ√(γs),
    else 0, the hard threshold.
    Zhang, Nearly unbiased variable selection under minimax concave penalty, Ann. Statist. 38 (2010).
    """

    def __init__(self, lam: float | Array = 1.0, gamma: float | Array = 3.0) -> None:
        super().__init__(lam)
        self.gamma = weight("MCP", "gamma", gamma, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        gamma = fit(self.gamma, a)
        a = xp.minimum(a, gamma * lam + 0.0 * a)
        return a * (lam - a / (2.0 * gamma))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.clip(lam - a / fit(self.gamma, a), 0.0, None)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        gamma = fit(self.gamma, a)
        return xp.astype(a < gamma * lam, a.dtype) / -gamma

    def _steepest(self) -> float | Array:
        return self.lam

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        gamma = fit(self.gamma, v)

        def hard(v: Array) -> Array:
            return keep(xp, xp.abs(v) > lam * (gamma * step) ** 0.5, v)

        def firm(v: Array) -> Array:
            a = xp.abs(v)
            u = floor_at_zero(xp, a - lam * step)
            u *= 1.0 / select(xp, step < gamma, 1.0 - step / gamma, 1.0)
            return cap_and_sign(xp, u, a, v)

        return _branch(xp, step >= gamma, hard, firm, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        gamma = fit(self.gamma, x)
        bend = 1.0 - step / gamma
        # no stationary point without a bend: a guess more
        middle = (x - lam * step) / select(xp, bend > 0, bend, 1.0)
        return [middle, gamma * lam + 0.0 * x, x]

    def rescaled(self, d: float | Array) -> MCP:
        """λd·a - d²a²/(2γ): the weights times d, γ divided by d²."""
        d = units(d)
        return MCP(self.lam * d, self.gamma / (d * d))


class SCAD(ScalarPenalty):
    """h(x) = Σ φ(x_i), φ' = λ up to |x| = λ, then (aλ - |x|)/(a - 1) down to 0 at aλ; a > 2.

    prox for s < a - 1: min(|v|, max((|v| - sλ)₊, ((a-1)|v| - saλ)/(a-1-s))); beyond: the soft threshold up to
    |v| = T, v above, with T = λ(a+1+s)/2 while s ≤ a + 1, then λ√(s(a+1)).
    Fan & Li, Variable selection via nonconcave penalized likelihood, JASA 96 (2001).
    """

    def __init__(self, lam: float | Array = 1.0, a: float = 3.7) -> None:
        super().__init__(lam)
        self.a = number("SCAD", "a", a, above=2.0)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        # λ min(a, λ), and past λ the mean slope times what is travelled there
        start = xp.minimum(a, lam + 0.0 * a)
        past = xp.minimum(a, self.a * lam + 0.0 * a) - start
        return lam * start + past * (lam - 0.5 * past / (self.a - 1.0))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.clip((self.a * lam - a) / (self.a - 1.0), 0.0, lam)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return xp.astype((a > lam) & (a < self.a * lam), a.dtype) / (1.0 - self.a)

    def _steepest(self) -> float | Array:
        return self.lam

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        a, bend = self.a, select(xp, step < self.a - 1.0, self.a - 1.0 - step, 1.0)

        def two_pieces(v: Array) -> Array:
            threshold = select(xp, step <= a + 1.0, 0.5 * (a + 1.0 + step), (step * (a + 1.0)) ** 0.5)
            return _soft_below(xp, v, lam * step, lam * threshold)

        def three_pieces(v: Array) -> Array:
            x = xp.abs(v)
            middle = (a - 1.0) / bend * x
            middle -= a * step / bend * lam
            x -= lam * step
            u = np.maximum(x, middle, out=x) if type(x) is np.ndarray else xp.maximum(x, middle)
            u = floor_at_zero(xp, u)
            return cap_and_sign(xp, u, np.abs(v, out=middle) if type(x) is np.ndarray else xp.abs(v), v)

        return _branch(xp, step >= a - 1.0, two_pieces, three_pieces, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        a, bend = self.a, self.a - 1.0 - step
        middle = ((a - 1.0) * x - a * step * lam) / select(xp, bend > 0, bend, 1.0)
        return [x - lam * step, lam + 0.0 * x, middle, a * lam + 0.0 * x, x]

    def rescaled(self, d: float | Array) -> Nonsmooth | None:
        """d² times SCAD with the weights divided by d; None where d is not one number."""
        unit = one_unit(d)
        return None if unit is None else Scaled(SCAD(self.lam / unit, self.a), unit * unit)
