"""Maps one below another: `Stack`, `FlatStack`; and what puts a block in its place: `Reshape`, `Segment`, `ZeroMap`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, diagonal_matrix, namespace, picking, stacked_rows, zeros
from .base import Operator, as_shape, common_shape, made_once, tightened
from .one_shape import OfOneShape
from .wrapping import as_operator


class _Parts(Operator):
    """What stacks of maps have in common: ‖A‖² ≤ Σ‖A_k‖²."""

    parts: list[Operator]

    @cached_property
    def _norm(self) -> float:
        return tightened(self, math.sqrt(sum(part.norm() ** 2 for part in self.parts)))

    @property
    def is_zero(self) -> bool:
        return all(part.is_zero for part in self.parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self.parts))}])"


class Stack(_Parts):
    """x ↦ (A₁ x; A₂ x; …), one below the other along the first axis.

    `shape` is the block's shape, needed only where no part knows it (identities, differences, transforms).

    >>> from ipds.operators import Identity
    >>> Stack([Identity(), Identity(2.0)], shape=2).apply(np.array([1.0, 3.0]))
    array([1., 3., 2., 6.])
    """

    def __init__(self, parts: Sequence[Operator], shape: Shape | int | None = None):
        if not parts:
            raise ValueError("Stack: needs at least one operator")
        self.parts = [as_operator(part) for part in parts]
        given = common_shape(self.parts) if shape is None else shape
        if given is None:
            raise ValueError("Stack: none of the operators fixes the shape of the block; pass shape=")
        self.shape = as_shape(given)
        outputs = [part.output_shape(self.shape) for part in self.parts]
        if any(not o for o in outputs) or len({o[1:] for o in outputs}) > 1:
            raise ValueError(f"Stack: the outputs differ beyond the first axis: {outputs}; use FlatStack")
        self._ends = [int(e) for e in np.cumsum([o[0] for o in outputs])]
        self.gram = _sum_of_grams(self.parts)

    def output_shape(self, shape: Shape) -> Shape:
        outputs = [part.output_shape(shape) for part in self.parts]
        if tuple(shape)[:1] != self.shape[:1] or len({o[1:] for o in outputs}) > 1:
            raise ValueError(f"Stack acts on shape {self.shape}, not {tuple(shape)}")
        return (self._ends[-1], *outputs[0][1:])

    def input_shape(self, shape: Shape) -> Shape:
        return self.parts[0].input_shape((self._ends[0], *shape[1:]))

    def natural_shape(self) -> Shape | None:
        return common_shape(self.parts)

    def apply(self, x: Array) -> Array:
        return namespace(x).concat([part.apply(x) for part in self.parts], axis=0)

    def adjoint(self, y: Array) -> Array:
        total = self.parts[0].adjoint(y[: self._ends[0], ...])
        for part, start, end in zip(self.parts[1:], self._ends[:-1], self._ends[1:], strict=True):
            total = total + part.adjoint(y[start:end, ...])
        return total

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        return _stacked_matrix([part.as_matrix(shape) for part in self.parts])


class FlatStack(_Parts, OfOneShape):
    """x ↦ (A₁ x, A₂ x, …) as one vector: every result flattened row by row, one after another.

    `shape` is the block's shape. The results may have any shapes, `outputs`; `slices` holds the place of each in the
    vector, as in `ipds.functions.Stacked`.

    >>> from ipds.operators import FiniteDifference, Identity
    >>> A = FlatStack([Identity(), FiniteDifference(axis=1)], shape=(2, 2))
    >>> A.apply(np.array([[1.0, 2.0], [3.0, 7.0]]))
    array([1., 2., 3., 7., 1., 4.])
    >>> A.adjoint(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0]))
    array([[-1.,  1.],
           [-2.,  2.]])
    """

    def __init__(self, parts: Sequence[Operator], shape: Shape | int):
        if not parts:
            raise ValueError("FlatStack: needs at least one operator")
        self.parts = [as_operator(part) for part in parts]
        self.shape = as_shape(shape)
        self.outputs = [tuple(part.output_shape(self.shape)) for part in self.parts]
        ends = [int(e) for e in np.cumsum([math.prod(o) for o in self.outputs])]
        self.slices = [slice(e - math.prod(o), e) for e, o in zip(ends, self.outputs, strict=True)]
        self.gram = _sum_of_grams(self.parts)
        self.output = (self.size,)

    @property
    def size(self) -> int:
        """Length of the vector A x."""
        return self.slices[-1].stop

    def natural_shape(self) -> Shape | None:
        return None if common_shape(self.parts) is None else self.shape

    def apply(self, x: Array) -> Array:
        return namespace(x).concat([_flat(part.apply(x)) for part in self.parts], axis=0)

    def adjoint(self, y: Array) -> Array:
        total = None
        for part, place, output in zip(self.parts, self.slices, self.outputs, strict=True):
            if isinstance(part, ZeroMap):
                continue
            piece = y[place] if len(output) == 1 else namespace(y).reshape(y[place], output)
            term = part.adjoint(piece)
            total = term if total is None else total + term
        return zeros(self.shape, y) if total is None else total

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        self.output_shape(shape)
        return _stacked_matrix([part.as_matrix(shape) for part in self.parts])


class Reshape(OfOneShape):
    """x ↦ the entries of x, row by row, in the shape `output`: by default as one vector. Aᵀ = A⁻¹.

    >>> Reshape((2, 2)).apply(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 2., 3., 4.])
    """

    gram = 1.0
    folds = True
    is_natural = False

    def __init__(self, shape: Shape | int, output: Shape | int | None = None):
        self.shape = as_shape(shape)
        self.output = (math.prod(self.shape),) if output is None else as_shape(output)
        if math.prod(self.shape) != math.prod(self.output):
            raise ValueError(
                f"Reshape: shapes {self.shape} and {self.output} differ in their number of entries"
            )

    def apply(self, x: Array) -> Array:
        return namespace(x).reshape(x, self.output)

    def adjoint(self, y: Array) -> Array:
        return namespace(y).reshape(y, self.shape)

    def norm(self) -> float:
        return 1.0 if math.prod(self.shape) else 0.0

    def as_matrix(self, shape: Shape) -> Any:
        return diagonal_matrix(np.ones(math.prod(self.shape)))

    def __repr__(self) -> str:
        return f"Reshape({self.shape} to {self.output})"


class Segment(OfOneShape):
    """u ↦ u[start : start + N] in the shape `output` of N entries, for vectors u of length `size`. A Aᵀ = I.

    >>> A = Segment(5, 1, (2, 2))
    >>> A.apply(np.arange(5.0))
    array([[1., 2.],
           [3., 4.]])
    >>> A.adjoint(np.ones((2, 2)))
    array([0., 1., 1., 1., 1.])
    """

    is_natural = False

    def __init__(self, size: int, start: int, output: Shape | int):
        self.size, self.start, self.output = int(size), int(start), as_shape(output)
        self.shape = (self.size,)
        self.stop = self.start + math.prod(self.output)
        if not 0 <= self.start <= self.stop <= self.size:
            raise ValueError(
                f"Segment: entries {self.start}..{self.stop - 1} do not lie in a vector of length {self.size}"
            )
        self.gram = 1.0 if self.stop - self.start == self.size else None

    def apply(self, x: Array) -> Array:
        return namespace(x).reshape(x[self.start : self.stop], self.output)

    def adjoint(self, y: Array) -> Array:
        flat, before, after = _flat(y), zeros((self.start,), y), zeros((self.size - self.stop,), y)
        return namespace(y).concat([before, flat, after], axis=0)

    def norm(self) -> float:
        return 1.0 if self.stop > self.start else 0.0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self.norm(), self.norm()

    def as_matrix(self, shape: Shape) -> Any:
        return picking(np.arange(self.start, self.stop), self.size)

    def __repr__(self) -> str:
        return f"Segment({self.start}:{self.stop} of {self.size}, as {self.output})"


class ZeroMap(OfOneShape):
    """x ↦ 0 in the shape `output`, for blocks of `shape`: the rows of a stack in which a block has no part.

    >>> ZeroMap(2, 3).apply(np.ones(2))
    array([0., 0., 0.])
    """

    gram = 0.0
    is_natural = False

    def __init__(self, shape: Shape | int, output: Shape | int):
        self.shape, self.output = as_shape(shape), as_shape(output)

    def apply(self, x: Array) -> Array:
        return zeros(self.output, x)

    def adjoint(self, y: Array) -> Array:
        return zeros(self.shape, y)

    def as_matrix(self, shape: Shape) -> Any:
        return scipy.sparse.csr_array((math.prod(self.output), math.prod(self.shape)))

    def __repr__(self) -> str:
        return f"ZeroMap({self.shape} to {self.output})"


def _flat(y: Array) -> Array:
    return y if y.ndim == 1 else namespace(y).reshape(y, (-1,))


def _sum_of_grams(parts: Sequence[Operator]) -> float | None:
    """γ of a stack: AᵀA is the sum of the parts' own."""
    grams = [part.gram for part in parts]
    return None if None in grams else float(sum(g for g in grams if g is not None))


def _stacked_matrix(matrices: Sequence[Any]) -> Any:
    """The matrices one below another, sparse where one of them is; None where one is unknown."""
    if any(m is None for m in matrices):
        return None
    if any(scipy.sparse.issparse(m) for m in matrices):
        return stacked_rows(matrices)
    return np.concatenate(matrices, axis=0)
