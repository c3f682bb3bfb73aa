"""Matrices with a given diagonal."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, Shape, asarray, namespace, scalar, to_numpy, truth
from .entrywise import finite
from .kinks import Kinks
from .sets import Indicator, slack


class DiagonalEquals(Indicator):
    """{x square : x_ii = c_i}, c the `values`, a number or one for each row; prox(v, s) = v with that diagonal.

    Together with `PSD` on a second block: correlation matrices, with `Rank` those of few factors.
    Higham, Computing the nearest correlation matrix, IMA J. Numer. Anal. 22 (2002).

    >>> import numpy as np
    >>> DiagonalEquals(1.0).prox(np.array([[3.0, 0.5], [0.5, 2.0]]), 1.0)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    is_convex = True
    is_entrywise = True

    def __init__(self, values: float | Array = 1.0) -> None:
        self.values = finite("DiagonalEquals", "values", values)
        if np.ndim(self.values) > 1:
            raise ValueError(
                f"DiagonalEquals: values must be a number or a vector, got {np.shape(self.values)}"
            )

    def _eye(self, x: Array) -> Array:
        """Which entries are on the diagonal."""
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"DiagonalEquals: needs a square matrix, got shape {tuple(x.shape)}")
        xp = namespace(x)
        return xp.eye(x.shape[0], dtype=x.dtype) > 0

    def _values(self, x: Array) -> Array:
        """The values as a column that broadcasts to x, of which the diagonal counts."""
        column = asarray(self.values, x)
        return column if column.ndim == 0 else column[:, None]

    def contains(self, x: Array) -> bool:
        xp, values = namespace(x), self._values(x)
        room = slack(x) * (xp.abs(values) + xp.max(xp.abs(x)))
        return truth(xp.all((xp.abs(x - values) <= room) | ~self._eye(x)))

    def project(self, v: Array) -> Array:
        return namespace(v).where(self._eye(v), self._values(v), v)

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """1 off the diagonal, 0 on it."""
        xp = namespace(v)
        return xp.astype(~self._eye(v), v.dtype)

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the set: Σ c_i y_ii for a diagonal y, else ∞."""
        xp, on = namespace(y), self._eye(y)
        if bool(xp.any((y != 0) & ~on)):
            return math.inf
        return scalar(xp.sum(xp.where(on, self._values(y) * y, 0.0)))

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: d without its diagonal."""
        return namespace(d).where(self._eye(d), 0.0, d)

    def recession(self, d: Array) -> float:
        """0 for directions without a diagonal, else ∞."""
        return math.inf if bool(namespace(d).any((d != 0) & self._eye(d))) else 0.0

    def rescaled(self, d: float | Array) -> DiagonalEquals:
        """u ↦ h(d·u), d > 0: the values divided by the diagonal of d."""
        if np.ndim(d) == 2:
            d = np.diagonal(np.broadcast_to(d, (max(np.shape(d)),) * 2))
        return DiagonalEquals(self.values / d)

    def kinks(self, shape: Shape) -> Kinks:
        """Bounds that fix the diagonal and leave the rest free."""
        values = np.broadcast_to(to_numpy(self.values), shape[:1])
        lower, upper = np.full(shape, -math.inf), np.full(shape, math.inf)
        np.fill_diagonal(lower, values)
        np.fill_diagonal(upper, values)
        return Kinks(lower=lower, upper=upper)
