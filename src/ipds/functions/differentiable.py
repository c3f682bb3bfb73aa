"""Losses with a prox, as smooth functions: for blocks that another h already holds."""

from __future__ import annotations

import math
from typing import Any

from .._arrays import Array, choose, namespace
from .base import Domain, Smooth
from .entrywise import Entrywise
from .log_det import LogDet
from .squares import SumSquares


class Differentiable(Smooth):
    """f(x) = h(x) for an h that is differentiable where it is finite; ∇f is its only subgradient there.

    h is one of `SumSquares`, `SquaredHinge`, `LogisticLoss`, `Exponential`, `Entropy`, `Poisson`, `KLDivergence`,
    `NegativeLog`, `LogDet`. Those of positive arguments are infinite elsewhere: `domain` says where they are finite,
    starts lie inside, and a search that leaves it turns back. Their gradients have no global Lipschitz constant.
    Of affine expressions: `Composed(Differentiable(h), A, shift)`.

    >>> import numpy as np
    >>> from ipds.functions import NegativeLog
    >>> f = Differentiable(NegativeLog())
    >>> f(np.array([1.0, 2.0])), f.grad(np.array([0.5, 2.0])), f(np.array([1.0, -1.0]))
    (-0.6931471805599453, array([-2. , -0.5]), inf)
    """

    is_convex = True

    def __init__(self, h: Entrywise | LogDet) -> None:
        if not (isinstance(h, LogDet) or (isinstance(h, Entrywise) and h.is_differentiable)):
            raise TypeError(
                f"Differentiable: h must be SumSquares, SquaredHinge, LogisticLoss, Exponential, Entropy, Poisson, "
                f"KLDivergence, NegativeLog or LogDet, got {h!r}"
            )
        self.h = h
        self.is_quadratic = isinstance(h, SumSquares)
        self.lipschitz = None if isinstance(h, LogDet) else h.largest_bend()

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """Where f is finite, None where that is everywhere."""
        return self.h.domain

    def __call__(self, x: Array) -> float:
        """h(x), and ∞ where the slope is infinite, as that of `Entropy` at 0: a search must not end there."""
        return self.h(x) if self.domain is None else choose(self.domain.contains(x), self.h(x), math.inf)

    def grad(self, x: Array) -> Array:
        """∇h(x); outside of the domain, where there is none, 0 in place of it."""
        xp = namespace(x)
        if isinstance(self.h, LogDet):
            return self.h.subgradient(x) if self.h.domain.contains(x) else xp.zeros_like(x)
        slope = self.h.subgradient(x)
        return slope if self.domain is None else xp.where(xp.isfinite(slope), slope, 0.0)

    def curvature(self, x: Array, d: Array) -> Array:
        if isinstance(self.h, LogDet):  # the derivative of -λ x⁻¹ along d
            inverse = namespace(x).linalg.inv(x)
            return self.h.lam * (inverse @ d @ inverse)
        return self.h.bend(x) * d

    def hessian(self, x: Array) -> Any:
        if isinstance(self.h, LogDet):
            return super().hessian(x)
        return namespace(x).reshape(self.h.bend(x), (-1,))

    def rescaled(self, d: float | Array) -> Differentiable | None:
        h = self.h.rescaled(d)
        return Differentiable(h) if isinstance(h, Entrywise | LogDet) else None
