"""Nonconvex entrywise penalties, each with a prox that is a global minimiser for every step.

The prox of any function of one variable is monotone, so each is "small branch below a threshold, large branch
above"; the threshold is where the two branches cost the same. It has a closed form for all but `LogSum`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, Shape
from ._arguments import weight
from .faces import Support
from .scalar import ScalarPenalty, fit, keep, select


class L0(ScalarPenalty):
    """h(x) = Σ λ_i [x_i ≠ 0]; prox(v, s) = v where |v| > √(2 s λ), else 0: the hard threshold.

    Blumensath & Davies, Iterative thresholding for sparse approximations, J. Fourier Anal. Appl. 14 (2008).

    >>> L0(0.5).prox(np.array([0.9, 1.1]), 1.0)
    array([0. , 1.1])
    """

    unit_powers = ()

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.astype(a > 0, a.dtype)

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.zeros_like(a)

    def _steepest(self) -> float | Array:
        return math.inf

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        return keep(xp, xp.abs(v) > (2.0 * step * lam) ** 0.5, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        return [x]

    def face(self, x: Array) -> Support:
        """The nonzeros, each at its price, and what has none."""
        cost = np.broadcast_to(np.asarray(self.lam, float), x.shape)
        return Support(x, (x != 0) | (cost == 0), exchange=(cost == 0).astype(np.int8), cost=cost)


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

    def slope_at_zero(self, shape: Shape) -> Array:
        return np.full(shape, math.inf)

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


class LHalf(_Power):
    """h(x) = Σ λ_i |x_i|^(1/2); prox = 0 up to |v| = 3/2 (sλ)^(2/3), above it the root of u + sλ/(2√u) = |v|.

    Xu, Chang, Xu & Zhang, L1/2 regularization: a thresholding representation theory, IEEE TNNLS 23 (2012).
    """

    _k = 2
    unit_powers = (("lam", 1.0 - 1.0 / 2),)


class LTwoThirds(_Power):
    """h(x) = Σ λ_i |x_i|^(2/3); prox = 0 up to |v| = 2 (2sλ/3)^(3/4), then the root of u + 2sλ/(3∛u) = |v|.

    Cao, Sun & Xu, Fast image deconvolution using closed-form thresholding formulas of Lq regularization,
    J. Vis. Commun. Image Represent. 24 (2013).
    """

    _k = 3
    unit_powers = (("lam", 1.0 - 1.0 / 3),)


class CappedL1(ScalarPenalty):
    """h(x) = Σ λ_i min(|x_i|, θ_i); prox = soft threshold up to |v| = T, v above it.

    T = θ + sλ/2 while sλ ≤ 2θ, then √(2sλθ).
    Zhang, Analysis of multi-stage convex relaxation for sparse regularization, JMLR 11 (2010).
    """

    is_piecewise_quadratic = True
    unit_powers = (("lam", 1), ("theta", -1))

    def __init__(self, lam: float | Array = 1.0, theta: float | Array = 1.0) -> None:
        super().__init__(lam)
        self.theta = weight("CappedL1", "theta", theta, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.clip(a, None, fit(self.theta, a))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return lam * xp.astype(a < fit(self.theta, a), a.dtype)

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        c, theta = lam * step, fit(self.theta, v)
        threshold = select(xp, c <= 2.0 * theta, theta + 0.5 * c, (2.0 * theta * c) ** 0.5)
        return soft_below(xp, v, c, threshold)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        return [x - lam * step, fit(self.theta, x) + 0.0 * x, x]


def soft_below(xp: Any, v: Array, c: float | Array, threshold: float | Array) -> Array:
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

    unit_powers = (("eps", -1),)

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
        # what u saves next to 0, times the step
        gain = u * (a - 0.5 * u) - c * xp.log1p(u / fit(self.eps, v))
        return xp.where((u > 0) & (gain > 0), xp.copysign(u, v), xp.zeros_like(v))

    def _root(self, xp: Any, a: Array, c: float | Array) -> Array:
        """The larger stationary point, not below 0; where there is none, some point."""
        far, r = a + fit(self.eps, a), 2.0 * c**0.5
        # (far² - 4c)^(1/2), safe from overflow
        root = xp.sqrt(xp.clip(far - r, 0.0, None)) * xp.sqrt(far + r)
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
