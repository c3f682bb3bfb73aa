"""What closed convex cones have in common."""

from __future__ import annotations

import math

from .._arrays import Array
from .far import vanishes
from .sets import Indicator


class ConvexCone(Indicator):
    """A closed convex cone K: λx ∈ K for x ∈ K and λ ≥ 0; a subclass gives `contains` and `project`."""

    is_convex = True
    unit_powers = ()

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the cone: 0 for y in its polar cone, where the projection is 0; else ∞."""
        return 0.0 if vanishes(self.project(y), 1.0, y) else math.inf

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: its projection."""
        return self.project(d)

    def recession(self, d: Array) -> float:
        """0 for d in the cone, else ∞."""
        return 0.0 if vanishes(d - self.project(d), 1.0, d) else math.inf
