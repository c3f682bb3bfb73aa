"""What an interior-point step needs to know of a piecewise linear function of every entry."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._arrays import Array


class Kinks(NamedTuple):
    """h(u) = Σ max(left·(u - place), right·(u - place)) + indicator of lower ≤ u ≤ upper, entry by entry.

    Numbers, or arrays that broadcast to the block.
    """

    left: float | Array = 0.0
    right: float | Array = 0.0
    place: float | Array = 0.0
    lower: float | Array = -math.inf
    upper: float | Array = math.inf
