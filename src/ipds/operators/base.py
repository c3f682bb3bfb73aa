"""What a linear map must offer, and the algebra of such maps."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._array import Array, Shape


class Operator(ABC):
    """A linear map A between arrays of fixed shapes.

    `adjoint` satisfies ⟨A x, y⟩ = ⟨x, Aᵀ y⟩; verify your own with `check_adjoint`.
    """

    gram: float | None = None
    """γ where AᵀA = γ·I is known (scaled identities, isometries), so that ‖A x - y‖² is closed-form in x."""

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """Shape of A x for x of `shape`; ValueError when A cannot act on that shape."""

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """A x."""

    @abstractmethod
    def adjoint(self, y: Array) -> Array:
        """Aᵀ y."""

    @abstractmethod
    def norm(self) -> float:
        """The spectral norm ‖A‖, or an upper bound close to it."""

    def extremes(self, shape: Shape) -> tuple[float, float]:
        """(λ_, λ̄): smallest and largest eigenvalue of A Aᵀ for inputs of `shape`."""
        from .spectrum import gram_extremes

        return gram_extremes(self, shape)

    def input_shape(self, shape: Shape) -> Shape:
        """Shape of Aᵀ y for y of `shape`; needed by `.T` only, found by applying Aᵀ once."""
        return tuple(self.adjoint(np.zeros(shape)).shape)

    def natural_shape(self) -> Shape | None:
        """An input shape on which ‖A‖ is attained, None where A acts on blocks of any size."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
