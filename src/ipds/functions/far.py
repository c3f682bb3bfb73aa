"""How convex functions behave far out: what proofs that a problem is empty, or unbounded below, are made of.

With D = dom h, and the cone of directions d in which D never ends (x + t d ∈ D for all t > 0):

    support(y)   = sup of ⟨y, x⟩ over x in D,
    recession(d) = lim h(x + t d)/t for t → ∞,
    receding(d)  = the projection of d on that cone,
    width        = how far apart two points of D can be in every entry.

y - receding(y) is then the nearest y whose support may be finite.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, magnitude, namespace, scalar, to_numpy
from .kinks import Kinks

FLAT = 1e-7
"""A product that is smaller than this share of its factors counts as 0, where a direction is tried."""


def is_zero(x: Array) -> bool:
    """Whether every entry is 0."""
    return not bool(namespace(x).any(x != 0))


def support_by_bounds(kinks: Kinks, y: Array) -> float:
    """Σ sup of y x over lower ≤ x ≤ upper."""
    y, k = to_numpy(y), kinks.plain()
    with np.errstate(invalid="ignore"):
        terms = np.where(y > 0, y * k.upper, np.where(y < 0, y * k.lower, 0.0))
    return float(terms.sum())


def recession_by_slopes(kinks: Kinks, d: Array) -> float:
    """Σ of the outer slope times d; ∞ where a bound is in the way."""
    d, k = to_numpy(d), kinks.plain()
    if _blocked(k, d).any():
        return math.inf
    return float(np.where(d > 0, k.right * d, np.where(d < 0, k.left * d, 0.0)).sum())


def receding_by_bounds(kinks: Kinks, d: Array) -> Array:
    """d without the entries that run into a bound."""
    blocked = _blocked(kinks.plain(), to_numpy(d))
    return d * namespace(d).asarray(np.where(blocked, 0.0, 1.0), dtype=d.dtype)


def _blocked(k: Kinks, d: np.ndarray) -> np.ndarray:
    """Where a bound is in the way of d."""
    return ((d > 0) & np.isfinite(k.upper)) | ((d < 0) & np.isfinite(k.lower))


def vanishes(product: Array, size: float, d: Array) -> bool:
    """Whether a product with d is 0 up to `FLAT` of the norms of its factors, the first of which is `size`."""
    return float(magnitude(product)) <= FLAT * size * float(magnitude(d))


def largest_entry(y: Array) -> float:
    """max |y_i|."""
    xp = namespace(y)
    return scalar(xp.max(xp.abs(y)))
