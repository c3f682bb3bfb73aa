"""What norms with one weight have in common."""

from __future__ import annotations

from .._arrays import Array
from ._arguments import number
from .base import Nonsmooth


class Norm(Nonsmooth):
    """h(x) = λ‖x‖ for a norm or seminorm of the block and a number λ ≥ 0; a subclass gives the value and the prox."""

    is_convex = True
    unit_powers = (("lam", 1),)

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = number(type(self).__name__, "lam", lam, above=0.0, or_equal=True)

    def recession(self, d: Array) -> float:
        """h(d): h is positively homogeneous."""
        return self(d)
