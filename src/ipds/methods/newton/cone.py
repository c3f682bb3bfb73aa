"""What barriers have in common: the rows they stand on, and cones that are their own duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..._arrays import Shape

INWARD = 0.3
"""Part of the size of a cone's points that every eigenvalue has at the start, at least."""


class OnRows:
    """What a point holds of a barrier is u, and nothing else."""

    rows: slice

    @property
    def size(self) -> int:
        return self.rows.stop - self.rows.start


@dataclass(frozen=True, eq=False)
class Cone(OnRows, ABC):
    """k u + shift ∈ K and s = -y/k ∈ K, K its own dual."""

    rows: slice
    shape: Shape
    k: float
    shift: np.ndarray

    @abstractmethod
    def primal(self, u: np.ndarray) -> np.ndarray:
        """k u + shift."""

    @abstractmethod
    def dual(self, y: np.ndarray) -> np.ndarray:
        """-y/k."""

    def product(self, u: np.ndarray, y: np.ndarray) -> float:
        """⟨k u + shift, s⟩."""
        return float(np.vdot(self.primal(u), self.dual(y)))
