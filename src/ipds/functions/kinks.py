"""What an interior-point step needs to know of a function: kinks and bounds of entries, norms of groups."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._arrays import Array, Shape, to_numpy


class Kinks(NamedTuple):
    """h(u) = Σ max(left·(u - place), right·(u - place)) + indicator of lower ≤ u ≤ upper, entry by entry.

    Numbers, or arrays that broadcast to the block; left ≤ right.
    """

    left: float | Array = 0.0
    right: float | Array = 0.0
    place: float | Array = 0.0
    lower: float | Array = -math.inf
    upper: float | Array = math.inf

    def times(self, c: float) -> Kinks:
        """Those of c·h, c > 0."""
        return self._replace(left=self.left * c, right=self.right * c)

    def of(self, a: float | np.ndarray, shift: float | Array = 0.0) -> Kinks:
        """Those of u ↦ h(a·u + shift), a ≠ 0 a number or an array; a negative one turns left into right."""
        place, lower, upper = self.place, self.lower, self.upper
        if type(shift) is not float or shift != 0.0:
            place, lower, upper = place - shift, lower - shift, upper - shift
        place, lower, upper = place / a, lower / a, upper / a
        left, right = self.left * a, self.right * a
        positive = np.asarray(a) > 0
        if not positive.all():
            left, right = np.where(positive, left, right), np.where(positive, right, left)
            lower, upper = np.where(positive, lower, upper), np.where(positive, upper, lower)
        return Kinks(left, right, place, lower, upper)

    def within(self, other: Kinks) -> Kinks:
        """With the bounds of another one as well."""
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        return self._replace(lower=lower, upper=upper)

    def plain(self) -> Kinks:
        """As numbers and NumPy arrays."""
        return Kinks(*(x if type(x) is float else np.asarray(to_numpy(x), float) for x in self))

    def filled(self, shape: Shape) -> Kinks:
        """As NumPy arrays of the block's shape."""
        return Kinks(*(np.full(shape, x) if type(x) is float else _filled(x, shape) for x in self.plain()))


def _filled(x: Array, shape: Shape) -> Array:
    return x if x.shape == shape else np.broadcast_to(x, shape)


class Groups(NamedTuple):
    """h(u) = Σ_g radius_g ‖u_g‖₂ over disjoint groups of entries.

    `label` gives the group of each entry of the flattened block, -1 for entries in no group; `radius` one number for
    each group.
    """

    label: np.ndarray
    radius: np.ndarray
