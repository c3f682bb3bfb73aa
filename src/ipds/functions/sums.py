"""A penalty plus the indicator of a set, where the joint prox is exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._arrays import Array, namespace, scalar
from .adapters import required
from .base import Nonsmooth
from .groups import L2, L21, GroupL2
from .matrix_sets import PSD, Rank
from .penalties import L1, Zero
from .scalar import ScalarPenalty, fit, keep
from .sets import Box, Indicator, L1Ball, L2Ball, NonNegative, Simplex
from .sparse_sets import Binary, Cardinality, RowCardinality
from .structured import Linf, Nuclear, TotalVariation1D

Rule = Callable[[Array, float], Array]


class Sum(Nonsmooth):
    """h(x) = penalty(x) + indicator of a set; refused where the joint prox has no exact formula.

    prox, for each pair that is accepted:

    - convex entrywise penalty + `Box`, `LinfBall`, `NonNegative`: the prox, clipped;
    - nonconvex entrywise penalty + the same: the best of all stationary points and bounds;
    - entrywise penalty + `Cardinality`, `RowCardinality`: the prox of those that gain most by it;
    - entrywise penalty + `Binary`: the cheaper of both values;
    - a norm (`L1`, `L2`, `L21`, `GroupL2`, `Linf`, `Nuclear`, `TotalVariation1D`) + `L2Ball`: project
      the prox;
    - `L2`, `L21`, `GroupL2` + `NonNegative`: the prox of the projection;
    - `L1` + `L1Ball`: project the prox; `L1` + `Simplex`: project, the penalty being constant there;
    - `TotalVariation1D` + `NonNegative` or a `Box` with number bounds: the prox, clipped;
    - `Nuclear` + `PSD`: project v - sλI; `Nuclear` + `Rank`: project the prox; `Zero` + anything.

    Yu, On decomposing the proximal map, NeurIPS (2013), for the compositions.

    >>> import numpy as np
    >>> from ipds.functions import L1, NonNegative
    >>> Sum(L1(1.0), NonNegative()).prox(np.array([3.0, -2.0]), 1.0)
    array([2., 0.])
    """

    def __init__(self, penalty: Nonsmooth, constraint: Nonsmooth) -> None:
        penalty, constraint = required(penalty, "Sum"), required(constraint, "Sum")
        rule = _rule(penalty, constraint)
        if rule is None:
            raise TypeError(
                f"Sum: no exact joint prox is known for {penalty!r} + {constraint!r}; put the set on a "
                "further block y with the constraint x - y = 0 instead"
            )
        self.penalty, self.constraint = penalty, constraint
        self.is_convex = penalty.is_convex and constraint.is_convex
        self._rule = rule

    def __call__(self, x: Array) -> float:
        return self.penalty(x) + self.constraint(x)

    def prox(self, v: Array, step: float) -> Array:
        return self._rule(v, scalar(step))

    def prox_size(self, v: Array) -> Any:
        return self.penalty.prox_size(v) + self.constraint.prox_size(v)

    def subgradient(self, x: Array) -> Array:
        """One of the penalty: 0 is normal to the set. Where the other is no set, the penalty is `Zero`."""
        if not self.is_convex:
            raise NotImplementedError("Sum offers a subgradient for convex sums only")
        return (self.penalty if self.constraint.is_set else self.constraint).subgradient(x)


def _rule(h: Any, c: Any) -> Rule | None:
    """The joint prox as a function of (v, step), None where there is none."""
    if isinstance(h, Zero):
        return c.prox
    if not isinstance(c, Indicator):
        return None
    norm_like = (L1, L2, L21, GroupL2, Linf, Nuclear, TotalVariation1D)
    flat_l1 = isinstance(h, L1) and type(h.lam) is float
    even_box = isinstance(c, NonNegative) or (
        isinstance(c, Box) and type(c.lo) is float and type(c.hi) is float
    )
    project_prox = (
        (isinstance(h, ScalarPenalty) and h.is_convex and isinstance(c, (Box, NonNegative)))
        or (isinstance(h, norm_like) and isinstance(c, L2Ball))
        or (flat_l1 and isinstance(c, L1Ball))
        or (isinstance(h, TotalVariation1D) and even_box)
        or (isinstance(h, Nuclear) and isinstance(c, Rank))
    )
    if project_prox:
        return lambda v, step: c.project(h.prox(v, step))
    if isinstance(h, (L2, L21, GroupL2)) and isinstance(c, NonNegative):
        return lambda v, step: h.prox(c.project(v), step)
    if flat_l1 and isinstance(c, Simplex):
        return c.prox
    if isinstance(h, Nuclear) and isinstance(c, PSD):
        return lambda v, step: c.project(v - h.lam * step * namespace(v).eye(v.shape[0], dtype=v.dtype))
    if isinstance(h, ScalarPenalty):
        return _entrywise(h, c)
    return None


def _entrywise(h: ScalarPenalty, c: Indicator) -> Rule | None:
    """Rules for entrywise penalties that are not a projection after or before a prox."""
    if isinstance(c, (Box, NonNegative)):
        lo, hi = (c.lo, c.hi) if isinstance(c, Box) else (0.0, math.inf)
        return lambda v, step: _best_in_box(h, v, step, lo, hi)
    if isinstance(c, (Cardinality, RowCardinality)):
        return lambda v, step: _most_worth_keeping(h, c, v, step)
    if isinstance(c, Binary):
        return lambda v, step: _cheaper(h, c, v, step)
    return None


def _most_worth_keeping(h: ScalarPenalty, c: Cardinality | RowCardinality, v: Array, step: float) -> Array:
    """As φ(0) = 0, a support S costs a constant minus Σ_S gain_i: take the largest gains."""
    xp = namespace(v)
    u = h.prox(v, step)
    gain = u * (v - 0.5 * u) / step - h.terms(u)
    return xp.asarray(keep(xp, c.mask(xp.clip(gain, 0.0, None)), u))


def _cheaper(h: ScalarPenalty, c: Binary, v: Array, step: float) -> Array:
    """lo or hi, whichever has the smaller objective."""
    xp = namespace(v)
    low, high = xp.full_like(v, c.lo), xp.full_like(v, c.hi)
    # difference of the squares, without squaring v
    rise = h.terms(high) - h.terms(low) + (c.hi - c.lo) * (0.5 * (c.hi + c.lo) - v) / step
    return xp.where(rise < 0, high, low)


def _best_in_box(h: ScalarPenalty, v: Array, step: float, lo: float | Array, hi: float | Array) -> Array:
    """Minimise over [lo, hi] one sign at a time: stationary points of φ, clipped, and the end nearer to 0.

    φ does not decrease with |u|, so nothing beyond |v| needs a look but the end nearer to 0.
    """
    xp, zero = namespace(v), namespace(v).zeros_like(v)
    lo, hi, lam = fit(lo, v) + zero, fit(hi, v) + zero, fit(h.lam, v)
    best, best_cost = xp.clip(v, lo, hi), xp.full_like(v, math.inf)
    for sign, low, high in ((1.0, lo, hi), (-1.0, -hi, -lo)):
        low, x = xp.maximum(low, zero), sign * v
        for candidate in (*h._candidates(xp, x, lam, step), x, low):
            u = xp.clip(candidate, low, xp.maximum(high, low))
            cost = h._phi(xp, u, lam) + u * (0.5 * u - x) / step  # v²/(2 step) left out
            better = (cost < best_cost) & (high >= low)
            best, best_cost = xp.where(better, sign * u, best), xp.where(better, cost, best_cost)
    return xp.asarray(best)
