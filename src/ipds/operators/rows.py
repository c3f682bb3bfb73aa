"""The map of a matrix whose rows are distributed."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, Shape, adopted, to_numpy
from ..distributed import Rows
from . import spectrum
from .base import Operator

GRAM_LIMIT = 2000
"""Matrices with at most so many columns send their Gram matrix, once, where it is of use."""


class RowMatrix(Operator):
    """x ↦ M x for a Dask array M cut by rows: x, which is short, travels to the rows; M x stays with them.

    Mᵀ y is a sum over the rows: of every chunk only an array of the shape of x travels back.

    >>> import dask.array as da
    >>> A = RowMatrix(da.ones((6, 2), chunks=(3, 2)))
    >>> np.asarray(A.adjoint(A.apply(np.ones(2))))
    array([12., 12.])
    """

    def __init__(self, matrix: Any):
        matrix = adopted(matrix, "the matrix")
        if not isinstance(matrix, Rows) or matrix.ndim != 2:
            kind, shape = type(matrix).__name__, tuple(getattr(matrix, "shape", ()))
            raise ValueError(f"RowMatrix: expected a 2-D Dask array cut by rows, got {kind} of shape {shape}")
        self.matrix = self.rows = matrix

    def output_shape(self, shape: Shape) -> Shape:
        rows, columns = self.matrix.shape
        if not shape or shape[0] != columns or len(shape) > 2:
            raise ValueError(
                f"a distributed {rows}x{columns} matrix acts on vectors and matrices whose first axis has length "
                f"{columns}, but the shape is {tuple(shape)}"
            )
        return (rows, *shape[1:])

    def input_shape(self, shape: Shape) -> Shape:
        return (self.matrix.shape[1], *shape[1:])

    def apply(self, x: Array) -> Array:
        return self.matrix @ x

    def adjoint(self, y: Array) -> Array:
        return self.matrix.T @ y

    @cached_property
    def gram_matrix(self) -> np.ndarray:
        """MᵀM, in one pass."""
        return to_numpy(self.matrix.T @ self.matrix)

    @cached_property
    def _norm(self) -> float:
        if self.matrix.shape[1] <= GRAM_LIMIT:
            return math.sqrt(spectrum.largest_eigenvalue(self.gram_matrix))
        gram = lambda v: to_numpy(self.adjoint(self.apply(v)))  # noqa: E731
        return math.sqrt(spectrum.lanczos_upper(gram, self.matrix.shape[1]))

    def norm(self) -> float:
        return self._norm

    @cached_property
    def is_zero(self) -> bool:
        """Whether A = 0, without a decomposition."""
        return not bool(np.any(self.matrix != 0))

    def extremes(self, shape: Shape) -> tuple[float, float]:
        rows, columns = self.matrix.shape
        if rows > columns:
            return 0.0, self.norm() ** 2
        return spectrum.matrix_extremes(to_numpy(self.matrix))

    def __repr__(self) -> str:
        return f"RowMatrix({self.matrix.shape[0]}x{self.matrix.shape[1]}, {self.matrix.layout})"
