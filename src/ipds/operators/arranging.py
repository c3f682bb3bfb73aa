"""Maps that rearrange or add up the entries of an array: `Permute` its axes, `SumOver` some of them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, namespace, picking
from .base import Operator, as_shape, made_once
from .one_shape import OfOneShape


class Permute(Operator):
    """x ↦ x with its axes in another order, as `numpy.transpose`: by default reversed, Xᵀ for a matrix. Aᵀ = A⁻¹.

    >>> Permute().apply(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    >>> Permute((2, 0, 1)).output_shape((4, 5, 6))
    (6, 4, 5)
    """

    gram = 1.0

    def __init__(self, order: tuple[int, ...] | None = None):
        self.order = None if order is None else tuple(operator.index(axis) for axis in order)
        if self.order is not None and sorted(self.order) != list(range(len(self.order))):
            raise ValueError(
                f"Permute: order must name every axis once, 0 to {len(self.order) - 1}, got {order}"
            )

    def _order(self, ndim: int) -> tuple[int, ...]:
        if self.order is None:
            return tuple(reversed(range(ndim)))
        if len(self.order) != ndim:
            raise ValueError(
                f"Permute: the order {self.order} is one of {len(self.order)} axes, not of {ndim}"
            )
        return self.order

    def _inverse(self, ndim: int) -> tuple[int, ...]:
        return tuple(int(axis) for axis in np.argsort(self._order(ndim)))

    def output_shape(self, shape: Shape) -> Shape:
        return tuple(shape[axis] for axis in self._order(len(shape)))

    def input_shape(self, shape: Shape) -> Shape:
        return tuple(shape[axis] for axis in self._inverse(len(shape)))

    def apply(self, x: Array) -> Array:
        return namespace(x).permute_dims(x, self._order(x.ndim))

    def adjoint(self, y: Array) -> Array:
        return namespace(y).permute_dims(y, self._inverse(y.ndim))

    def as_matrix(self, shape: Shape) -> Any:
        source = self.apply(np.arange(math.prod(shape)).reshape(shape)).reshape(-1)
        return picking(source, source.size)

    def __repr__(self) -> str:
        return f"Permute({self.order or ''})"


class SumOver(OfOneShape):
    """x ↦ Σ x over an axis or several, all by default, for blocks of `shape`. A Aᵀ = N·I for sums of N entries.

    >>> SumOver((2, 3), axis=0).apply(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([5., 7., 9.])
    """

    def __init__(self, shape: Shape | int, axis: int | tuple[int, ...] | None = None):
        self.shape = as_shape(shape)
        ndim = len(self.shape)
        given = tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        if any(not -ndim <= a < ndim for a in given) or len({a % ndim for a in given}) < len(given):
            raise ValueError(f"SumOver: axis must name different axes of the shape {self.shape}, got {axis}")
        self.axes = tuple(sorted(a % ndim for a in given))
        self.output = tuple(n for a, n in enumerate(self.shape) if a not in self.axes)
        self.count = math.prod(self.shape[a] for a in self.axes)
        self.gram = 1.0 if self.count == 1 else None

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.asarray(xp.sum(x, axis=self.axes))

    def adjoint(self, y: Array) -> Array:
        xp = namespace(y)
        kept = tuple(1 if a in self.axes else n for a, n in enumerate(self.shape))
        return xp.asarray(xp.broadcast_to(xp.reshape(y, kept), self.shape), copy=True)

    def norm(self) -> float:
        return math.sqrt(self.count) if math.prod(self.shape) else 0.0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return (float(self.count),) * 2 if math.prod(self.shape) else (0.0, 0.0)

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        size, rows = math.prod(self.shape), math.prod(self.output)
        kept = [a for a in range(len(self.shape)) if a not in self.axes]
        columns = np.arange(size).reshape(self.shape).transpose(*kept, *self.axes).ravel()
        ends = np.arange(rows + 1) * self.count
        return scipy.sparse.csr_array((np.ones(size), columns, ends), shape=(rows, size))

    def __repr__(self) -> str:
        return f"SumOver({self.shape}, axis={self.axes})"
