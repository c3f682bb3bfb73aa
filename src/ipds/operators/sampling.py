"""Maps that pick entries: `Sampling` (each at most once) and `Grouping` (overlapping groups)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import array_api_compat
import numpy as np

from .._arrays import Array, Shape, asarray, namespace, picking, to_numpy
from .base import as_shape
from .one_shape import OfOneShape


class Sampling(OfOneShape):
    """x ↦ the vector of observed entries of x, in row-major order of the mask or in the order of the indices.

    `where` is a boolean mask of the block's shape, or distinct integer indices into the flattened block,
    whose shape is then given by `shape`. A Aᵀ = I; Aᵀ y puts y back and zeros elsewhere.

    >>> A = Sampling(np.array([[True, False], [True, True]]))
    >>> A.apply(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 3., 4.])
    >>> A.adjoint(np.ones(3))
    array([[1., 0.],
           [1., 1.]])
    """

    def __init__(self, where: Any, shape: Shape | int | None = None):
        where = np.asarray(to_numpy(where))
        if where.dtype == bool:
            if shape is not None and as_shape(shape) != where.shape:
                raise ValueError(
                    f"Sampling: a mask of shape {where.shape} does not fit shape {as_shape(shape)}"
                )
            self.shape = where.shape
            self.indices = np.flatnonzero(where)
        else:
            self.indices = _indices("Sampling", where)
            if shape is None:
                raise ValueError(
                    "Sampling: integer indices need shape=, the shape of the block; or pass a mask"
                )
            self.shape = as_shape(shape)
            _require_inside("Sampling", self.indices, self.shape)
            if np.unique(self.indices).size != self.indices.size:
                raise ValueError("Sampling: indices must be distinct; use Grouping for repeated entries")
        self.output = (self.indices.size,)
        self.gram = 1.0 if self.indices.size == math.prod(self.shape) else None
        # position of each entry of x in (y, 0): the adjoint as a gather, for libraries without scatter
        self._back = np.full(math.prod(self.shape), self.indices.size)
        self._back[self.indices] = np.arange(self.indices.size)

    def apply(self, x: Array) -> Array:
        if type(x) is np.ndarray:
            return x.reshape(-1)[self.indices]
        return _gather(namespace(x).reshape(x, (-1,)), self.indices)

    def adjoint(self, y: Array) -> Array:
        if type(y) is np.ndarray:
            out = np.zeros(math.prod(self.shape), dtype=y.dtype)
            out[self.indices] = y
            return out.reshape(self.shape)
        return namespace(y).reshape(_gather(_with_zero(y), self._back), self.shape)

    def norm(self) -> float:
        return 1.0 if self.indices.size else 0.0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return (1.0, 1.0) if self.indices.size else (0.0, 0.0)

    def as_matrix(self, shape: Shape) -> Any:
        return picking(self.indices, math.prod(self.shape))

    def __repr__(self) -> str:
        return f"Sampling({self.indices.size} of {math.prod(self.shape)} entries)"


class Grouping(OfOneShape):
    """x ↦ (x[g₁], x[g₂], …): the entries of each group, one group after another; groups may overlap.

    AᵀA is diagonal and counts in how many groups each entry lies. `slices` holds the place of each group in
    the result: the groups of a `GroupL2` penalty there.

    >>> A = Grouping([[0, 1], [1, 2]], shape=3)
    >>> A.apply(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 2., 3.])
    >>> A.adjoint(np.ones(4))
    array([1., 2., 1.])
    """

    def __init__(self, groups: Iterable[Sequence[int]], shape: Shape | int):
        self.shape = as_shape(shape)
        parts = [_indices("Grouping", np.asarray(g)) for g in groups]
        if not parts:
            raise ValueError("Grouping: needs at least one group")
        for part in parts:
            _require_inside("Grouping", part, self.shape)
            if part.size == 0 or np.unique(part).size != part.size:
                raise ValueError(
                    f"Grouping: a group must be non-empty and without repetition, got {part.tolist()}"
                )
        self.indices = np.concatenate(parts)
        self.output = (self.indices.size,)
        ends = np.cumsum([p.size for p in parts])
        self.slices = [slice(int(e - p.size), int(e)) for e, p in zip(ends, parts, strict=True)]
        size = math.prod(self.shape)
        self.counts = np.bincount(self.indices, minlength=size)
        same = size > 0 and self.counts.min() == self.counts.max()
        self.gram = float(self.counts[0]) if same else None
        # row k: where entry j of x stands for the k-th time in (y, 0)
        order = np.argsort(self.indices, kind="stable")
        rank = np.arange(order.size) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        self._back = np.full((int(self.counts.max()), size), order.size)
        self._back[rank, self.indices[order]] = order

    def apply(self, x: Array) -> Array:
        return _gather(namespace(x).reshape(x, (-1,)), self.indices)

    def adjoint(self, y: Array) -> Array:
        padded = _with_zero(y)
        total = _gather(padded, self._back[0])
        for row in self._back[1:]:
            total = total + _gather(padded, row)
        return namespace(y).reshape(total, self.shape)

    def norm(self) -> float:
        return math.sqrt(self.counts.max())

    def extremes(self, shape: Shape) -> tuple[float, float]:
        # the non-zero eigenvalues of A Aᵀ are the counts; 0 joins them once an entry is repeated
        covered = self.counts[self.counts > 0]
        lower = 1.0 if covered.max() == 1 else 0.0
        return lower, float(covered.max())

    def as_matrix(self, shape: Shape) -> Any:
        return picking(self.indices, math.prod(self.shape))

    def __repr__(self) -> str:
        return f"Grouping({len(self.slices)} groups of {math.prod(self.shape)} entries)"


def _gather(flat: Array, indices: np.ndarray) -> Array:
    if type(flat) is np.ndarray:
        return flat[indices]
    xp = namespace(flat)
    return xp.take(flat, xp.asarray(indices, device=array_api_compat.device(flat)), axis=0)


def _with_zero(y: Array) -> Array:
    return namespace(y).concat([y, asarray([0.0], like=y)])


def _indices(name: str, where: np.ndarray) -> np.ndarray:
    if where.size == 0:
        return where.reshape(-1).astype(np.intp)
    if not np.issubdtype(where.dtype, np.integer) or where.ndim != 1:
        raise TypeError(
            f"{name}: indices must be a 1-D sequence of integers, got {where.dtype} of shape {where.shape}"
        )
    return where.astype(np.intp)


def _require_inside(name: str, indices: np.ndarray, shape: Shape) -> None:
    size = math.prod(shape)
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(
            f"{name}: indices must lie in 0..{size - 1} for shape {shape}, "
            f"got {indices.min()}..{indices.max()}"
        )
