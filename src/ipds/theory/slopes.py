"""The subgradient of a piecewise linear h that balances the other forces best, entry by entry.

Where h has kinks and bounds alone (`h.kinks`), ∂h(q) is a product of intervals, and its element nearest to a given y is
known without a prox: y cut off at the ends of the interval. It has no rounding of its own, whatever the step was.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array, Shape, asarray, between, far_above, namespace, precision, to_numpy
from ..functions import L21, Nonsmooth, Stacked
from ..problem import Block

SLACK = 4.0
"""Units of rounding within which a point counts as on a kink or a bound."""


class Slopes(NamedTuple):
    """∂h(q) of every entry: {left} for q < below, {right} for q > above, [left, right] between; bounds add rays.

    Numbers, or arrays like q. Slopes to the left of `lower` reach down to -∞, to the right of `upper` up to ∞.
    """

    left: Any
    right: Any
    below: Any
    above: Any
    lower: Any
    upper: Any


def slopes_of(h: Nonsmooth, q: Array) -> Slopes | None:
    """∂h for blocks like q, where h is piecewise linear with one kink; else None."""
    kinks = h.kinks(tuple(q.shape))
    if kinks is None:
        return None
    units = SLACK * precision(q)
    values: list[Any] = [x if type(x) is float else np.asarray(to_numpy(x), float) for x in kinks]
    left, right, place, lower, upper = values
    near = units * abs(place)
    found = (
        left,
        right,
        place - near,
        place + near,
        lower + _slack(lower, units),
        upper - _slack(upper, units),
    )
    return Slopes(*[uniform(value, q) for value in found])


def _slack(bound: Any, units: float) -> Any:
    """Rounding of a bound; 0 for infinite ones, which stay where they are."""
    if type(bound) is float:
        return units * abs(bound) if math.isfinite(bound) else 0.0
    return units * np.where(np.isfinite(bound), np.abs(bound), 0.0)


def uniform(value: Any, q: Array) -> Any:
    """One number where all entries are alike, else an array like q."""
    if type(value) is float:
        return value
    if value.size and (value == (first := value.item(0))).all():
        return first
    return asarray(np.ascontiguousarray(np.broadcast_to(value, q.shape)), q)


def steepest(block: Block, q: Array) -> tuple[Any, bool]:
    """The largest |slope| of h in every entry, bounds aside, None where none is known or all are 0; whether all are."""
    found = _steepest(block.h, block.shape)
    if type(found) is float:
        return (found if found > 0 else None), not math.isnan(found)
    unknown = np.isnan(found)
    known = np.where(unknown, 0.0, found)
    return (uniform(known, q) if known.any() else None), not unknown.any()


def _steepest(h: Nonsmooth, shape: Shape) -> Any:
    """That of kinks and of norms of groups, also where they are stacked; NaN for entries of other functions.

    A single number where all entries are alike.
    """
    if isinstance(h, Stacked):
        return np.concatenate([np.broadcast_to(_steepest(part, own), own).ravel() for part, own in h.parts])
    kinks = h.kinks(shape)
    if kinks is not None:
        if type(kinks.left) is type(kinks.right) is float:
            return max(abs(kinks.left), abs(kinks.right))
        return np.asarray(np.maximum(abs(to_numpy(kinks.left)), abs(to_numpy(kinks.right))), float)
    if isinstance(h, L21) and type(h.lam) is float:  # what its groups would say
        return h.lam
    groups = h.groups(shape)
    if groups is None:
        return math.nan
    if groups.label.min() >= 0 and groups.radius.min() == groups.radius.max():
        return float(groups.radius[0])
    return np.append(groups.radius, 0.0)[groups.label].reshape(shape)


def nearest(slopes: Slopes, q: Array, y: Array) -> Array:
    """The element of ∂h(q) nearest to y."""
    left, right, below, above, lower, upper = slopes
    xp = namespace(q)
    if type(left) is type(right) is float and left == right:
        s = xp.full_like(q, left)
    else:
        s = between(xp, far_above(far_above(y, q < below, -1.0), q > above), left, right)
    if type(lower) is not float or lower != -math.inf:
        s = xp.minimum(s, far_above(y, q > lower))
    if type(upper) is not float or upper != math.inf:
        s = xp.maximum(s, far_above(y, q < upper, -1.0))
    return s
