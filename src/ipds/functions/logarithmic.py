"""Convex functions of positive numbers: entropy, Poisson likelihood, Kullback-Leibler divergence, barrier.

They are finite for x > 0 only (some at 0 too): see `domain`. Every prox lies inside.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, at_least, namespace, to_numpy, truth
from ._arguments import weight
from .base import Domain
from .entrywise import Entrywise
from .kinks import Kinks
from .omega import logarithm, omega
from .scalar import fit


def positive(unit: float | Array = 1.0, counts: float | Array = 1.0) -> Domain:
    """{x : x > 0}, and x ≥ 0 for entries whose `counts` are 0; entries outside start at `unit`."""

    def contained(x: Array) -> Array:
        return (x > 0) | ((x == 0) & (fit(counts, x) == 0))

    def contains(x: Array) -> bool:
        return truth(namespace(x).all(contained(x)))

    def inside(x: Array) -> Array:
        xp = namespace(x)
        return xp.where(contained(x), x, fit(unit, x) * xp.ones_like(x))

    return Domain(contains, inside, "every entry must be > 0")


class Entropy(Entrywise):
    """h(x) = Σ λ_i x_i log(x_i/r_i) for x ≥ 0 (0 at 0), the negative entropy relative to the reference r.

    prox(v, s) = c ω(v/c - 1 + log(r/c)) with c = sλ and ω(a) + log ω(a) = a, the Wright omega function.
    Chierchia, Chouzenoux, Combettes & Pesquet, The proximity operator repository (2020).

    >>> import numpy as np
    >>> Entropy().prox(np.array([1.0, 2.0]), 1.0).round(6)
    array([0.567143, 1.      ])
    """

    is_differentiable = True
    unit_powers = (("lam", 1), ("reference", -1))

    def __init__(self, lam: float | Array = 1.0, reference: float | Array = 1.0) -> None:
        self.lam = weight("Entropy", "lam", lam)
        self.reference = weight("Entropy", "reference", reference, positive=True)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return positive(self.reference)

    def terms(self, x: Array) -> Array:
        xp = namespace(x)
        safe = xp.where(x > 0, x, 1.0)
        inside = fit(self.lam, x) * xp.where(x > 0, x, 0.0) * xp.log(safe / fit(self.reference, x))
        return xp.where(x >= 0, inside, math.inf)

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        c = fit(self.lam, v) * step
        # with a smaller c/|v| the result would round to the same, and v/c might overflow
        large = xp.maximum(1e-20 * xp.abs(v) + float(xp.finfo(v.dtype).smallest_normal), c)
        root = large * omega(xp, v / large - 1.0 + logarithm(xp, fit(self.reference, v)) - xp.log(large))
        return xp.where(c + 0.0 * v > 0, root, at_least(xp, v, 0.0))

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        u = self._prox(xp, v, step)
        total = u + fit(self.lam, v) * step  # ω' = ω/(1 + ω) with ω = u/c
        return u / xp.where(total > 0, total, 1.0)

    def _recession(self, xp: Any, d: Array) -> Array:
        return xp.where((d < 0) | (fit(self.lam, d) * d > 0), math.inf, 0.0 * d)

    def subgradient(self, x: Array) -> Array:
        """λ(log(x/r) + 1), -∞ at 0, where there is none."""
        xp = namespace(x)
        slope = fit(self.lam, x) * (1.0 + xp.log(xp.where(x > 0, x, 1.0) / fit(self.reference, x)))
        return xp.where(x > 0, slope, -math.inf)

    def bend(self, x: Array) -> Array:
        return fit(self.lam, x) / x


def positive_root(xp: Any, b: Array, q: float | Array) -> tuple[Array, Array]:
    """(u, r): u ≥ 0 the larger root of u² - b u - q = 0, q ≥ 0, without cancellation, and r = √(b² + 4q)."""
    r = _hypotenuse(xp, b, q)
    far = 0.5 * (xp.abs(b) + r)  # the root of larger magnitude; the product of both is -q
    near = q / xp.where(far == 0, 1.0, far)
    tiny = float(xp.finfo(b.dtype).smallest_normal)
    return xp.where(b > 0, far, xp.where(q + 0.0 * b > 0, xp.clip(near, tiny, None), near)), r


def _hypotenuse(xp: Any, b: Array, q: float | Array) -> Array:
    """√(b² + 4q); where no square overflows, in a tenth of the time of `hypot`."""
    if xp is np:
        with np.errstate(over="ignore"):
            r = np.sqrt(b * b + 4.0 * q)
        if np.max(r, initial=0.0) < math.inf:
            return np.maximum(r, np.abs(b))  # where a square vanishes
    return xp.hypot(b, 2.0 * q**0.5 + 0.0 * b)


class Poisson(Entrywise):
    """h(x) = Σ λ_i (e_i x_i - y_i log(e_i x_i)) for x ≥ 0: counts y of the mean e·x, e the exposure (0 log 0 = 0).

    prox(v, s) = the root u ≥ 0 of u² - (v - sλe) u - sλy = 0.
    Combettes & Pesquet, A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery,
    IEEE J. Sel. Top. Signal Process. 1 (2007).

    >>> import numpy as np
    >>> Poisson(2.0).prox(np.array([2.0, -5.0]), 1.0).round(6)
    array([2.      , 0.316625])
    """

    is_differentiable = True
    unit_powers = (("exposure", 1),)

    def __init__(self, y: float | Array, lam: float | Array = 1.0, exposure: float | Array = 1.0) -> None:
        name = type(self).__name__
        self.y, self.lam = weight(name, "y", y), weight(name, "lam", lam)
        self.exposure = weight(name, "exposure", exposure, positive=True)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return positive(1.0 / self.exposure, self.y)

    def terms(self, x: Array) -> Array:
        xp, lam, y = namespace(x), fit(self.lam, x), fit(self.y, x)
        mean = fit(self.exposure, x) * xp.where(x > 0, x, 1.0)
        inside = (x > 0) | ((x == 0) & (lam * y == 0))
        value = xp.where(x > 0, mean, 0.0) - y * xp.log(mean)
        return xp.where(inside, lam * value, math.inf)

    def _root(self, xp: Any, v: Array, step: Any) -> tuple[Array, Array]:
        c = fit(self.lam, v) * step
        return positive_root(xp, v - c * fit(self.exposure, v), c * fit(self.y, v))

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        return self._root(xp, v, step)[0]

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        u, r = self._root(xp, v, step)
        return u / xp.where(r > 0, r, 1.0)

    def _recession(self, xp: Any, d: Array) -> Array:
        return xp.where(d < 0, math.inf, fit(self.lam, d) * fit(self.exposure, d) * d)

    def subgradient(self, x: Array) -> Array:
        """λ(e - y/x), -∞ at 0 where y > 0: there is none there."""
        xp, lam, y = namespace(x), fit(self.lam, x), fit(self.y, x)
        slope = lam * (fit(self.exposure, x) - y / xp.where(x > 0, x, 1.0))
        return xp.where((x > 0) | (lam * y == 0), slope, -math.inf)

    def bend(self, x: Array) -> Array:
        return fit(self.lam, x) * fit(self.y, x) / (x * x)

    def straight(self, shape: Shape) -> tuple[np.ndarray, Kinks] | None:
        """Counts of 0: λ e x for x ≥ 0."""
        where = np.flatnonzero(np.broadcast_to(to_numpy(self.lam * self.y) == 0, shape))
        slope = np.ravel(np.broadcast_to(to_numpy(self.lam * self.exposure), shape))[where]
        return (where, Kinks(slope, slope, 0.0, 0.0)) if where.size else None


class KLDivergence(Poisson):
    """h(x) = Σ λ_i (y_i log(y_i/(e_i x_i)) - y_i + e_i x_i), the divergence of e·x from y: ≥ 0, and 0 where e·x = y.

    `Poisson` plus a constant, with the same prox. The divergence of y from x, Σ x log(x/y) - x + y, is `Entropy` with
    the reference exp(1)·y, plus Σ y.
    Csiszár, Why least squares and maximum entropy?, Ann. Statist. 19 (1991).

    >>> import numpy as np
    >>> KLDivergence(np.array([1.0, 2.0]))(np.array([1.0, 2.0]))
    0.0
    """

    def terms(self, x: Array) -> Array:
        # y (t - log(1 + t)) with t = e x/y - 1: near t = 0 what is left has digits
        xp, lam = namespace(x), fit(self.lam, x)
        y = fit(self.y, x) + 0.0 * x
        mean, safe = fit(self.exposure, x) * xp.where(x > 0, x, 0.0), xp.where(y > 0, y, 1.0)
        inside = (x > 0) | ((x == 0) & (lam * y == 0))
        t = xp.where(inside & (y > 0), (mean - y) / safe, 0.0)
        near = xp.log1p(xp.clip(t, -0.5, None))
        log = xp.where(t > -0.5, near, xp.log(xp.where(inside & (mean > 0), mean, 1.0) / safe))
        return xp.where(inside, lam * xp.where(y > 0, y * (t - log), mean), math.inf)


class NegativeLog(Entrywise):
    """h(x) = -Σ λ_i log(x_i/m_i) for x > 0, m a unit of measure; prox(v, s) = (v + √(v² + 4sλ))/2.

    Parikh & Boyd, Proximal Algorithms (2014), section 6.1.3.

    >>> import numpy as np
    >>> NegativeLog().prox(np.array([0.0, 1.5]), 1.0)
    array([1., 2.])
    """

    is_differentiable = True
    unit_powers = (("unit", -1),)

    def __init__(self, lam: float | Array = 1.0, unit: float | Array = 1.0) -> None:
        self.lam = weight("NegativeLog", "lam", lam)
        self.unit = weight("NegativeLog", "unit", unit, positive=True)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return positive(self.unit)

    def terms(self, x: Array) -> Array:
        xp, lam = namespace(x), fit(self.lam, x)
        inside = (x > 0) | ((x == 0) & (lam == 0))
        return xp.where(inside, -lam * xp.log(xp.where(x > 0, x, 1.0) / fit(self.unit, x)), math.inf)

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        return positive_root(xp, v, fit(self.lam, v) * step)[0]

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        u, r = positive_root(xp, v, fit(self.lam, v) * step)
        return u / xp.where(r > 0, r, 1.0)

    def _recession(self, xp: Any, d: Array) -> Array:
        return xp.where(d < 0, math.inf, 0.0 * d)

    def subgradient(self, x: Array) -> Array:
        """-λ/x, -∞ at 0, where there is none."""
        xp, lam = namespace(x), fit(self.lam, x)
        return xp.where((x > 0) | (lam == 0), -lam / xp.where(x > 0, x, 1.0), -math.inf)

    def bend(self, x: Array) -> Array:
        return fit(self.lam, x) / (x * x)
