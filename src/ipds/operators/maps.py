"""Explicit maps: scaled identity, matrix, diagonal."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import (
    PIECE,
    Array,
    Shape,
    all_finite,
    as_csr,
    asarray,
    by_rows,
    column_squares,
    diagonal_matrix,
    entry_rows,
    is_array,
    namespace,
    of_arrays,
    products_with,
    require_real,
    row_squares,
    rows_of,
    to_numpy,
    transposed,
)
from . import spectrum
from .base import Operator, Symmetric, made_once

LARGEST, SMALLEST = 1e152, 1e-152
"""Sizes whose squares, summed, are numbers still."""


def require_squares(what: str, size: float) -> None:
    """Refuse a map whose A Aᵀ would overflow or vanish."""
    if size > LARGEST or 0 < size < SMALLEST:
        raise ValueError(
            f"{what} of size {size:.0e}, whose square {'overflows' if size > 1 else 'vanishes'}; "
            "use other units: multiply by a factor, and the variable or the constraint accordingly"
        )


class Identity(Symmetric):
    """x ↦ scale · x."""

    def __init__(self, scale: float = 1.0):
        if not math.isfinite(scale):
            raise ValueError(f"Identity: scale must be finite, got {scale}")
        require_squares("Identity: scale is", abs(scale))
        self.scale = float(scale)
        self.gram = self.scale**2

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def apply(self, x: Array) -> Array:
        return x if self.scale == 1.0 else -x if self.scale == -1.0 else self.scale * x

    def norm(self) -> float:
        return abs(self.scale)

    @property
    def is_zero(self) -> bool:
        return self.scale == 0

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        return diagonal_matrix(np.full(math.prod(shape), self.scale))

    def __repr__(self) -> str:
        return f"{self.scale:g}·I"


GATHER = 10
"""A vector with fewer than 1/GATHER of its entries nonzero is multiplied through its support."""


class Matrix(Operator):
    """x ↦ M x along the first axis of x; M is a real dense array or SciPy sparse matrix.

    >>> Matrix([[1.0, 2.0], [0.0, 1.0]]).apply(np.array([1.0, 1.0]))
    array([3., 1.])
    """

    def __init__(self, matrix: Any):
        self._hold(matrix)
        if self.natural_shape() is not None:
            self._require_finite()

    @classmethod
    def known(cls, matrix: Any) -> Matrix:
        """The same of a matrix whose entries were looked at before: all are finite, and so are their squares."""
        new = cls.__new__(cls)
        new._hold(matrix)
        return new

    def _hold(self, matrix: Any) -> None:
        if scipy.sparse.issparse(matrix):
            matrix = by_rows(matrix)
        elif not is_array(matrix):
            matrix = np.asarray(matrix)
        require_real("Matrix: the matrix", matrix)
        if matrix.ndim != 2:
            raise ValueError(f"Matrix: expected a 2-D array, got shape {tuple(matrix.shape)}")
        self._is_sparse = scipy.sparse.issparse(matrix)
        is_numeric = self._is_sparse or type(matrix) is np.ndarray
        if is_numeric and matrix.dtype.kind != "f":
            matrix = matrix.astype(float)
        self.matrix = matrix
        # in large dense matrices the columns of a sparse x are worth picking out
        self._may_gather = type(matrix) is np.ndarray and matrix.size > 100_000

    def _require_finite(self) -> None:
        """Refuse entries that are not finite, or whose squares overflow or vanish.

        Sums of squares tell in one pass that there are none, unless the largest entry is far from one.
        """
        if not self._is_sparse and self.matrix.flags.c_contiguous:
            with np.errstate(over="ignore", invalid="ignore"):
                total = float(self.row_squares.sum())
            if self.matrix.size * SMALLEST**2 < total < LARGEST**2:
                return
        entries = self.matrix.data if self._is_sparse else self.matrix
        top = max(float(np.max(entries, initial=0.0)), -float(np.min(entries, initial=0.0)))
        if not math.isfinite(top):
            raise ValueError("Matrix: contains NaN or infinity")
        require_squares("Matrix: the largest entry is", top)

    @property
    def _transpose(self) -> Any:
        # not kept where dense: made while JAX traces, it would be of no use once that is over
        return self._sparse_transpose if self._is_sparse else self.matrix.T

    @cached_property
    def _sparse_transpose(self) -> Any:
        return transposed(self.matrix)

    @cached_property
    def _products(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """Of a sparse M, products of M and of Mᵀ with vectors that fit."""
        return products_with(self.matrix), products_with(self._transpose)

    @property
    def _numeric(self) -> Any:
        return self.matrix if self._is_sparse else to_numpy(self.matrix)

    def output_shape(self, shape: Shape) -> Shape:
        rows, columns = self.matrix.shape
        if not shape or shape[0] != columns:
            raise ValueError(
                f"a {rows}x{columns} matrix acts on the first axis, which must have length {columns}, "
                f"but the shape is {tuple(shape)}"
            )
        return (rows, *shape[1:])

    def input_shape(self, shape: Shape) -> Shape:
        return self.T.output_shape(shape)

    def natural_shape(self) -> Shape | None:
        known = self._is_sparse or type(self.matrix) is np.ndarray
        return (self.matrix.shape[1],) if known else None

    def apply(self, x: Array) -> Array:
        if self._is_sparse and type(x) is not np.ndarray:  # SciPy would answer with a NumPy array
            return asarray(self.apply(to_numpy(x)), like=x)
        if self._is_sparse and x.shape == self.matrix.shape[1:] and x.dtype == np.float64:
            return self._products[0](x)
        if x.ndim == 1 and self._may_gather:
            support = np.flatnonzero(x)
            if GATHER * support.size < x.size:
                return self.apply_sparse(x, support)
        return self.matrix @ x if x.ndim <= 2 else _along_first_axis(self.matrix, x)

    def adjoint(self, y: Array) -> Array:
        if self._is_sparse and type(y) is not np.ndarray:
            return asarray(self.adjoint(to_numpy(y)), like=y)
        if self._is_sparse and y.shape == self.matrix.shape[:1] and y.dtype == np.float64:
            return self._products[1](y)
        return self._transpose @ y if y.ndim <= 2 else _along_first_axis(self._transpose, y)

    def apply_sparse(self, x: Array, support: np.ndarray) -> Array:
        """A x for an x that vanishes outside the indices `support` of its first axis, from those columns alone."""
        if self._is_sparse:
            return self._transpose[support].T @ x[support]
        part, rows = x[support], max(1, PIECE // max(1, support.size))
        if type(self.matrix) is not np.ndarray or part.ndim > 1:
            return self.matrix[:, support] @ part
        out = np.empty(self.matrix.shape[0], np.result_type(self.matrix, part))
        for begin in range(0, out.size, rows):  # a few rows at a time: what is picked out stays in the cache
            np.dot(
                self.matrix[begin : begin + rows].take(support, axis=1), part, out=out[begin : begin + rows]
            )
        return out

    @cached_property
    def row_squares(self) -> np.ndarray:
        """Σ_j a_ij² of every row, of a matrix of NumPy or SciPy."""
        return row_squares(self.matrix)

    @cached_property
    def column_squares(self) -> np.ndarray:
        """Σ_i a_ij² of every column."""
        return column_squares(self.matrix)

    @cached_property
    def is_zero(self) -> bool:
        """Whether A = 0, without a decomposition."""
        entries = self.matrix.data if self._is_sparse else self.matrix
        if type(entries) is np.ndarray and entries.size and entries.flat[0] != 0:
            return False
        return not bool(namespace(entries).any(entries != 0))

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        return spectrum.matrix_extremes(self._numeric)

    @cached_property
    def _norm(self) -> float:
        return math.sqrt(spectrum.matrix_norm_squared(self._numeric))

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self._extremes

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        if self.natural_shape() is None:
            return None
        return on_rows(self.matrix, math.prod(self.output_shape(shape)[1:]))

    @property
    def T(self) -> Operator:
        """The transposed matrix."""
        return Matrix.known(self.matrix.T)

    def __repr__(self) -> str:
        kind = "sparse" if self._is_sparse else "dense"
        return f"Matrix({self.matrix.shape[0]}x{self.matrix.shape[1]} {kind})"


def on_rows(matrix: Any, entries: int) -> Any:
    """The matrix of X ↦ matrix·X on flattened blocks X, whose rows have so many entries."""
    if entries == 1:
        return matrix
    each = rows_of(as_csr(matrix), np.repeat(np.arange(matrix.shape[0]), entries))
    columns = each.indices * entries + entry_rows(each) % entries
    shape = each.shape[0], matrix.shape[1] * entries
    return of_arrays("csr_array", shape, each.data, columns, each.indptr)


def _along_first_axis(matrix: Any, x: Array) -> Array:
    xp = namespace(x)
    flat = xp.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
    return xp.reshape(matrix @ flat, (matrix.shape[0], *x.shape[1:]))


class Diagonal(Symmetric):
    """x ↦ d · x entrywise, for an array d of the block's shape.

    >>> Diagonal([1.0, -2.0]).norm()
    2.0
    """

    def __init__(self, diagonal: Any):
        if not is_array(diagonal):
            diagonal = np.asarray(diagonal, dtype=float)
        if not diagonal.ndim:
            raise ValueError("Diagonal: expected an array of the block's shape; for a number use Identity")
        if not all_finite(diagonal):
            raise ValueError("Diagonal: contains NaN or infinity")
        self.diagonal = diagonal
        self._lower, self._upper = self._square_range()
        self.gram = self._upper if self._lower == self._upper else None

    def _square_range(self) -> tuple[float, float]:
        if math.prod(self.diagonal.shape) == 0:
            return 0.0, 0.0
        xp = namespace(self.diagonal)
        size = xp.abs(self.diagonal)
        return float(xp.min(size)) ** 2, float(xp.max(size)) ** 2

    def output_shape(self, shape: Shape) -> Shape:
        if tuple(shape) != tuple(self.diagonal.shape):
            raise ValueError(f"Diagonal acts on shape {tuple(self.diagonal.shape)}, not {tuple(shape)}")
        return shape

    def natural_shape(self) -> Shape | None:
        return tuple(self.diagonal.shape) if type(self.diagonal) is np.ndarray else None

    def apply(self, x: Array) -> Array:
        return self.diagonal * x

    def norm(self) -> float:
        return math.sqrt(self._upper)

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self._lower, self._upper

    def as_matrix(self, shape: Shape) -> Any:
        if self.natural_shape() is None:
            return None
        return diagonal_matrix(self.diagonal.reshape(-1))

    def __repr__(self) -> str:
        return f"Diagonal({tuple(self.diagonal.shape)})"
