"""Differences laid out so that row norms see a pixel's differences together: isotropic total variation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, namespace
from .base import as_shape, made_once
from .differences import FiniteDifference
from .one_shape import OfOneShape


class Gradient(OfOneShape):
    """x ↦ one row for every pixel: its forward differences along all `axes`, 0 at the far end.

    Blocks have the `shape`; `axes` are those of the pixels, all by default, and what the others hold (colours) joins
    the row. `L21` of A x, the sum of the norms of the rows, is the isotropic total variation; `L1` of A x is the
    anisotropic one.
    Rudin, Osher & Fatemi, Nonlinear total variation based noise removal algorithms, Physica D 60 (1992).

    >>> import numpy as np
    >>> Gradient((2, 2)).apply(np.array([[1.0, 2.0], [4.0, 8.0]]))
    array([[3., 1.],
           [6., 0.],
           [0., 4.],
           [0., 0.]])
    >>> Gradient((64, 48, 3), axes=(0, 1)).output_shape((64, 48, 3))
    (3072, 6)
    """

    def __init__(self, shape: Shape | int, axes: tuple[int, ...] | None = None):
        self.shape = as_shape(shape)
        self.axes = tuple(range(len(self.shape))) if axes is None else tuple(axes)
        self._differences = FiniteDifference(self.axes)
        whole = self._differences.output_shape(self.shape)  # (axes, *shape)
        pixels = [a + 1 for a in self.axes]
        # pixels first, then the axis of the differences, then what else there is
        self._order = (*pixels, 0, *(a for a in range(1, len(whole)) if a not in pixels))
        self._laid_out = tuple(whole[a] for a in self._order)
        self._back = tuple(self._order.index(a) for a in range(len(whole)))
        rows = math.prod(self.shape[a] for a in self.axes)
        self.output = (rows, math.prod(self._laid_out) // rows)

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.reshape(xp.permute_dims(self._differences.apply(x), self._order), self.output)

    def adjoint(self, y: Array) -> Array:
        xp = namespace(y)
        return self._differences.adjoint(xp.permute_dims(xp.reshape(y, self._laid_out), self._back))

    def norm(self) -> float:
        return math.sqrt(self.extremes(self.shape)[1])

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self._differences.extremes(self.shape)

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        whole = self._differences.output_shape(self.shape)
        place = np.arange(math.prod(whole)).reshape(whole)
        return self._differences.as_matrix(self.shape)[place.transpose(self._order).ravel()]

    def __repr__(self) -> str:
        return f"Gradient({self.shape}, axes={self.axes})"
