"""A smooth function times a number, plus a number."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from .._arrays import Array, choose
from ._arguments import number
from .adapters import required_smooth
from .base import Domain, Smooth


class Weighted(Smooth):
    """weight·f(x) + constant, the weight of either sign; Lipschitz with |weight|·L.

    >>> import numpy as np
    >>> from ipds.functions import Quadratic
    >>> Weighted(Quadratic(1.0), -2.0, constant=1.0).value_and_grad(np.array([3.0]))
    (-8.0, array([-6.]))
    """

    def __init__(self, f: Smooth, weight: float = 1.0, constant: float = 0.0) -> None:
        self.f = required_smooth(f, "Weighted")
        self.is_quadratic = self.f.is_quadratic
        self.weight = number("Weighted", "weight", weight)
        self.constant = number("Weighted", "constant", constant)

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """That of f: outside of it the value is ∞, whatever the sign of the weight."""
        return self.f.domain

    def _value(self, value: float) -> float:
        found = self.weight * value + self.constant
        return found if self.f.domain is None else choose(value == math.inf, math.inf, found)

    def __call__(self, x: Array) -> float:
        return self._value(self.f(x))

    def grad(self, x: Array) -> Array:
        return self.weight * self.f.grad(x)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, slope = self.f.value_and_grad(x)
        return self._value(value), self.weight * slope

    def curvature(self, x: Array, d: Array) -> Array:
        return self.weight * self.f.curvature(x, d)

    def recession(self, d: Array) -> float:
        """That of f times the weight, where that is ≥ 0; else that is not known."""
        return self.weight * self.f.recession(d) if self.weight > 0 else super().recession(d)

    def hessian(self, x: Array) -> Any:
        return self.weight * self.f.hessian(x)

    @property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """Whether f is, where the weight is ≥ 0; what is concave is not known."""
        return True if self.weight == 0 else self.f.is_convex if self.weight > 0 else None

    @cached_property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """|weight|·L, None where f has no global constant."""
        L = self.f.lipschitz
        return None if L is None else abs(self.weight) * L

    def rescaled(self, d: float | Array) -> Weighted | None:
        """The same of what f becomes."""
        inner = self.f.rescaled(d)
        return None if inner is None else Weighted(inner, self.weight, self.constant)
