"""The Wright omega function ω(a), the w > 0 with w + log w = a: in the proxes of exponentials and entropies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, at_least, at_most

FEW = 400
"""Entries up to which SciPy's loop, three times as slow by entry, takes less time than some thirty calls of NumPy."""
LOWEST = -60.0
"""Below it ω(a) = exp(a)(1 - exp(a) + …) is exp(a) to all digits."""


def omega(xp: Any, a: Array) -> Array:
    """w with w + log w = a, entry by entry, to all digits that a determines: the relative error is eps·|a|/(1 + w).

    A step of fourth order, taken twice, from a guess that is good at both ends: a - log a for a ≥ 1, exp(a) far below.
    Fritsch, Shafer & Crowley, Solution of the transcendental equation w exp(w) = x, Comm. ACM 16 (1973);
    Corless & Jeffrey, The Wright ω function, LNCS 2385 (2002).
    """
    if xp is np and a.size <= FEW:
        return scipy.special.wrightomega(a)
    b = at_least(xp, a, LOWEST)
    low = xp.exp(at_most(xp, b, 1.0))
    high = at_least(xp, b, 1.0)
    w = xp.where(b > 1.0, high - xp.log(high), low / (1.0 + low))
    for _ in range(2):
        more = 1.0 + w
        step = (b - w - xp.log(w)) / more
        twice, back = 2.0 + 4.0 / 3.0 * step, step / more
        w = w * (1.0 + step * (twice - back) / (twice - 2.0 * back))
    return xp.where(a > LOWEST, w, xp.exp(at_most(xp, a, LOWEST)))


def logarithm(xp: Any, c: float | Array) -> float | Array:
    """log c of numbers c ≥ 0, -∞ at 0."""
    if type(c) is float:
        return math.log(c) if c > 0 else -math.inf
    return xp.where(c > 0, xp.log(xp.where(c > 0, c, 1.0)), -math.inf)
