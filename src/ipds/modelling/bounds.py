"""Inequalities of a variable alone: its bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Shape
from ..functions import Box, NonNegative, Nonsmooth
from .consistency import ROUNDING
from .constants import block_constant, plain
from .constraints import Constraint
from .expressions import Expression, Variable


@dataclass(frozen=True, eq=False)
class Bound:
    """x ≤ place where `upper`, else x ≥ place; written as factor·x + … compared with 0."""

    place: Any
    upper: bool
    factor: float

    def decides(self, before: Sequence[Bound], after: Sequence[Bound], shape: Shape) -> np.ndarray:
        """Where no other bound on the same side is tighter; of equal ones the first decides."""
        decides = np.ones(shape, dtype=bool)
        sign = 1.0 if self.upper else -1.0
        for others, compare in ((before, np.less), (after, np.less_equal)):
            for other in others:
                if other.upper == self.upper:
                    decides &= compare(sign * self.place, sign * other.place)
        return decides


def multiple_of_variable(e: Expression) -> tuple[Variable, float] | None:
    """(x, a) where e = a·x + c, a ≠ 0."""
    if len(e.maps) != 1:
        return None
    ((variable, map_),) = e.maps.items()
    a = map_.multiple
    return None if not a else (variable, a)


def bound_of(constraint: Constraint) -> Bound:
    """The bound that an inequality a·x + c ≤ 0 or ≥ 0 is."""
    on = multiple_of_variable(constraint.difference)
    assert on is not None
    _, a = on
    return Bound(
        -block_constant(constraint.difference.constant) / a, (constraint.sense == "<=") == (a > 0), a
    )


def box_of(constraints: Sequence[Constraint], shape: Shape) -> Nonsmooth:
    """The set of all bounds of a variable: numbers where they are the same for all entries."""
    low: Any = -math.inf
    high: Any = math.inf
    for bound in map(bound_of, constraints):
        low, high = (
            (low, np.minimum(high, bound.place)) if bound.upper else (np.maximum(low, bound.place), high)
        )
    room = ROUNDING * np.abs(np.where(np.isfinite(low), low, 0.0))
    if np.any(low > high + room):
        texts = ", ".join(f"`{constraint}`" for constraint in constraints)
        raise ValueError(f"minimize: no point satisfies {texts}: the bounds cross")
    low, high = (_number_or_array(end, shape) for end in (low, np.maximum(low, high)))
    if plain(low) and plain(high) and low == 0.0 and high == math.inf:
        return NonNegative()
    return Box(low, high)


def _number_or_array(end: Any, shape: Shape) -> Any:
    return float(end) if np.ndim(end) == 0 else np.broadcast_to(end, shape) + 0.0
