"""What norms with one weight have in common."""

from __future__ import annotations

from typing import Self

from .._arrays import Array
from ._arguments import number
from .base import Nonsmooth
from .rescaling import one_unit


class Norm(Nonsmooth):
    """h(x) = λ‖x‖ for a norm or seminorm of the block and a number λ ≥ 0; a subclass gives the value and the prox."""

    is_convex = True

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = number(type(self).__name__, "lam", lam, above=0.0, or_equal=True)

    def recession(self, d: Array) -> float:
        """h(d): h is positively homogeneous."""
        return self(d)

    def rescaled(self, d: float | Array) -> Self | None:
        """λ times d; None where d is not one number."""
        unit = one_unit(d)
        return None if unit is None else type(self)(self.lam * unit)
