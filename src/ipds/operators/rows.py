"""The map of a matrix whose rows are distributed."""

from __future__ import annotations

import math
import operator
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape, adopted, to_numpy
from ..distributed import Rows
from . import spectrum
from .base import Operator

GRAM_LIMIT = 2000
"""Matrices with at most so many columns send their Gram matrix, once, where it is of use."""


class RowMatrix(Operator):
    """x ↦ M x for a Dask array M cut by rows: x, which is short, travels to the rows; M x stays with them.

    Mᵀ y is a sum over the rows: of every group of chunks only an array of the shape of x travels back. With `mean` and
    `scale`, one number per column, it is the map of (M - 1·meanᵀ)/scale, of which no copy is made.

    >>> import dask.array as da
    >>> A = RowMatrix(da.ones((6, 2), chunks=(3, 2)))
    >>> np.asarray(A.adjoint(A.apply(np.ones(2))))
    array([12., 12.])
    """

    def __init__(self, matrix: Any, mean: np.ndarray | None = None, scale: np.ndarray | None = None):
        matrix = adopted(matrix, "the matrix")
        if not isinstance(matrix, Rows) or matrix.ndim != 2:
            kind, shape = type(matrix).__name__, tuple(getattr(matrix, "shape", ()))
            raise ValueError(f"RowMatrix: expected a 2-D Dask array cut by rows, got {kind} of shape {shape}")
        self.matrix = self.rows = matrix
        columns = matrix.shape[1]
        self.mean = np.zeros(columns, dtype=matrix.dtype) if mean is None else mean
        self.scale = np.ones(columns, dtype=matrix.dtype) if scale is None else scale
        self._plain = mean is None and scale is None

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
        if self._plain:
            return self.matrix @ x
        return self.matrix.map(_product, self.mean, (x.T / self.scale).T)

    def adjoint(self, y: Array) -> Array:
        if self._plain:
            return self.matrix.T @ y
        return (self.matrix.reduce(_adjoint, operator.add, self.mean, y).T / self.scale).T

    @cached_property
    def gram_matrix(self) -> np.ndarray:
        """MᵀM, in one pass."""
        C = to_numpy(self.matrix.reduce(_gram, operator.add, self.mean))
        return C / np.outer(self.scale, self.scale)

    @cached_property
    def _norm(self) -> float:
        if self.matrix.shape[1] <= GRAM_LIMIT:
            return math.sqrt(spectrum.largest_eigenvalue(self.gram_matrix))
        gram = lambda v: to_numpy(self.adjoint(self.apply(v)))  # noqa: E731
        return math.sqrt(spectrum.lanczos_upper(gram, self.matrix.shape[1]))

    @cached_property
    def is_zero(self) -> bool:
        """Whether A = 0, without a decomposition."""
        return not bool(np.any(self.matrix != self.mean))

    def extremes(self, shape: Shape) -> tuple[float, float]:
        rows, columns = self.matrix.shape
        if rows > columns:
            return 0.0, self.norm() ** 2
        return spectrum.matrix_extremes((to_numpy(self.matrix) - self.mean) / self.scale)

    def __repr__(self) -> str:
        return f"RowMatrix({self.matrix.shape[0]}x{self.matrix.shape[1]}, {self.matrix.layout})"


def _product(chunk: np.ndarray, mean: np.ndarray, x: np.ndarray) -> np.ndarray:
    return chunk @ x - mean @ x


def _adjoint(chunk: np.ndarray, mean: np.ndarray, y: np.ndarray) -> np.ndarray:
    return chunk.T @ y - np.multiply.outer(mean, y.sum(axis=0))


def _gram(chunk: np.ndarray, mean: np.ndarray) -> np.ndarray:
    centred = chunk - mean
    return centred.T @ centred
