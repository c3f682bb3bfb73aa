"""What closed convex cones have in common."""

from __future__ import annotations

from typing import Self

import numpy as np

from .._arrays import Array
from .far import recession_of_cone, support_of_cone
from .sets import Indicator


class ConvexCone(Indicator):
    """A closed convex cone K: λx ∈ K for x ∈ K and λ ≥ 0; a subclass gives `contains` and `project`."""

    is_convex = True

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the cone: 0 for y in its polar cone, else ∞."""
        return support_of_cone(self.project, y)

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: its projection."""
        return self.project(d)

    def recession(self, d: Array) -> float:
        """0 for d in the cone, else ∞."""
        return recession_of_cone(self.project, d)

    def rescaled(self, d: float | Array) -> Self | None:
        """u ↦ h(d·u): the same for a number d; None for others."""
        return self if np.ndim(d) == 0 else None
