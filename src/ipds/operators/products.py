"""Products with structured matrices: X ↦ L X R, and Toeplitz matrices by the fast Fourier transform."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, all_finite, namespace, to_numpy
from .base import Operator, in_numpy, made_once
from .maps import Matrix, on_rows
from .wrapping import as_operator

DENSE = 2_000_000
"""Toeplitz matrices with more entries are not formed."""


class TwoSided(Operator):
    """X ↦ L X R for matrices X: on the entries of X, row by row, the Kronecker product L ⊗ Rᵀ.

    `left` and `right` are numbers, matrices (dense or sparse) or operators on the first axis. Nothing is multiplied
    out: ‖A‖ = ‖L‖‖R‖, and the extreme eigenvalues of A Aᵀ are products of those of L Lᵀ and RᵀR.

    >>> TwoSided([[1.0, 1.0]], [[1.0], [2.0]]).apply(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[16.]])
    """

    def __init__(self, left: Any, right: Any):
        self.left, self.right = as_operator(left), as_operator(right)
        self._across = self.right.T  # X R = (Rᵀ Xᵀ)ᵀ
        both = self.left.gram, self._across.gram
        self.gram = None if both[0] is None or both[1] is None else both[0] * both[1]

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise ValueError(f"TwoSided acts on matrices, not on shape {tuple(shape)}")
        rows, columns = self.left.output_shape(tuple(shape))
        return (rows, self._across.output_shape((columns, rows))[0])

    def input_shape(self, shape: Shape) -> Shape:
        rows, columns = shape
        inner = self._across.input_shape((columns, rows))[0]
        return (self.left.input_shape((rows, inner))[0], inner)

    def natural_shape(self) -> Shape | None:
        tall, wide = self.left.natural_shape(), self._across.natural_shape()
        return None if tall is None or wide is None else (tall[0], wide[0])

    def apply(self, x: Array) -> Array:
        return self._across.apply(self.left.apply(x).T).T

    def adjoint(self, y: Array) -> Array:
        return self.left.adjoint(self._across.adjoint(y.T).T)

    def norm(self) -> float:
        return self.left.norm() * self._across.norm()

    def extremes(self, shape: Shape) -> tuple[float, float]:
        if not math.prod(shape) or not math.prod(self.output_shape(shape)):
            return 0.0, 0.0
        low, high = self.left.extremes((shape[0],))
        lower, upper = self._across.extremes((shape[1],))
        return low * lower, high * upper

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        """Where L or R is sparse or a number; a Kronecker product of dense ones would be far larger than they are."""
        left, across = self.left.as_matrix((shape[0],)), self._across.as_matrix((shape[1],))
        if left is None or across is None:
            return None
        if not (scipy.sparse.issparse(left) or scipy.sparse.issparse(across)):
            return None
        return scipy.sparse.kron(left, across, format="csr")

    def __repr__(self) -> str:
        return f"TwoSided({self.left!r}, {self.right!r})"


class Kronecker(TwoSided):
    """x ↦ (A ⊗ B) x, the product with `numpy.kron(A, B)`, which is not multiplied out: A X Bᵀ with X = x row by row.

    Blocks are vectors, of as many entries as A and B have columns together, or matrices X; what comes out is one, too.
    `A` and `B` are matrices (dense or sparse) or operators on the first axis; for vectors, matrices.

    >>> A, B = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> Kronecker(A, B).apply(np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 7., 17.])
    >>> np.kron(A, B) @ np.array([1.0, 2.0, 3.0, 4.0])
    array([ 7., 17.])
    """

    def __init__(self, A: Any, B: Any):
        super().__init__(A, as_operator(B).T)

    def _grid(self, shape: Shape) -> Shape:
        """Of X, for blocks of `shape`."""
        if len(shape) != 1:
            return shape
        columns = self._columns()
        if math.prod(columns) != shape[0]:
            raise ValueError(
                f"Kronecker: vectors have as many entries as A and B have columns together, "
                f"{' x '.join(map(str, columns))}, got {shape[0]}"
            )
        return columns

    def _columns(self) -> tuple[int, int]:
        """Of A and of B, which say the length of vectors where they are matrices."""
        if not isinstance(self.left, Matrix) or not isinstance(self._across, Matrix):
            raise ValueError("Kronecker: acts on vectors where A and B are matrices; elsewhere on matrices X")
        return self.left.matrix.shape[1], self._across.matrix.shape[1]

    def natural_shape(self) -> Shape | None:
        natural = super().natural_shape()
        return None if natural is None else (math.prod(natural),)

    def output_shape(self, shape: Shape) -> Shape:
        out = super().output_shape(self._grid(shape))
        return (math.prod(out),) if len(shape) == 1 else out

    def input_shape(self, shape: Shape) -> Shape:
        if len(shape) != 1:
            return super().input_shape(shape)
        vector = (math.prod(self._columns()),)
        if self.output_shape(vector) != tuple(shape):
            raise ValueError(f"Kronecker: nothing is mapped to vectors of shape {tuple(shape)}")
        return vector

    def apply(self, x: Array) -> Array:
        if x.ndim != 1:
            return super().apply(x)
        xp = namespace(x)
        return xp.reshape(super().apply(xp.reshape(x, self._grid(tuple(x.shape)))), (-1,))

    def adjoint(self, y: Array) -> Array:
        if y.ndim != 1:
            return super().adjoint(y)
        xp, grid = namespace(y), self._grid(self.input_shape(tuple(y.shape)))
        return xp.reshape(super().adjoint(xp.reshape(y, super().output_shape(grid))), (-1,))

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return super().extremes(self._grid(shape))

    def as_matrix(self, shape: Shape) -> Any:
        return super().as_matrix(self._grid(shape))

    def __repr__(self) -> str:
        return f"Kronecker({self.left!r}, {self._across!r})"


class Toeplitz(Operator):
    """x ↦ T x along the first axis, T_ij = column[i - j] for i ≥ j, row[j - i] above; by default T is symmetric.

    By the fast Fourier transform of a circulant matrix around T: O((m + n) log(m + n)) for an m×n matrix, which is not
    formed. `row[0]` must equal `column[0]`.
    Golub & Van Loan, Matrix Computations (2013), section 4.8.

    >>> Toeplitz([1.0, 2.0, 3.0]).apply(np.array([1.0, 0.0, 0.0])).round(12)
    array([1., 2., 3.])
    """

    def __init__(self, column: Any, row: Any = None):
        self.column = _vector("column", column)
        self.row = self.column if row is None else _vector("row", row)
        if self.column[0] != self.row[0]:
            raise ValueError(
                f"Toeplitz: column and row share the first entry, but they begin with {self.column[0]:g} and "
                f"{self.row[0]:g}"
            )
        self._length = scipy.fft.next_fast_len(self.column.size + self.row.size - 1, real=True)

    @cached_property
    def _response(self) -> np.ndarray:
        """The eigenvalues of the circulant matrix whose first column is (column, 0, …, 0, row reversed)."""
        around = np.zeros(self._length, self.column.dtype)
        around[: self.column.size] = self.column
        around[self._length - self.row.size + 1 :] = self.row[:0:-1]
        return scipy.fft.rfft(around)

    def output_shape(self, shape: Shape) -> Shape:
        if not shape or shape[0] != self.row.size:
            raise ValueError(
                f"a {self.column.size}x{self.row.size} Toeplitz matrix acts on the first axis, which must have "
                f"length {self.row.size}, but the shape is {tuple(shape)}"
            )
        return (self.column.size, *shape[1:])

    def input_shape(self, shape: Shape) -> Shape:
        return (self.row.size, *shape[1:])

    def natural_shape(self) -> Shape | None:
        return (self.row.size,)

    @in_numpy
    def _filtered(self, x: Array, response: np.ndarray, size: int) -> Array:
        waves = scipy.fft.rfft(x, self._length, axis=0)
        waves *= response.reshape((-1,) + (1,) * (x.ndim - 1))
        return scipy.fft.irfft(waves, self._length, axis=0)[:size]

    def apply(self, x: Array) -> Array:
        return self._filtered(x, self._response, self.column.size)

    def adjoint(self, y: Array) -> Array:
        return self._filtered(y, self._response.conj(), self.row.size)

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        """The matrix while it has at most DENSE entries: the point of the map is not to form it."""
        if self.column.size * self.row.size > DENSE:
            return None
        return on_rows(scipy.linalg.toeplitz(self.column, self.row), math.prod(self.output_shape(shape)[1:]))

    @property
    def T(self) -> Operator:
        """The Toeplitz matrix with column and row exchanged."""
        return Toeplitz(self.row, self.column)

    def __repr__(self) -> str:
        return f"Toeplitz({self.column.size}x{self.row.size})"


def _vector(name: str, values: Any) -> np.ndarray:
    values = np.asarray(to_numpy(values))
    if values.ndim != 1 or values.size == 0 or not all_finite(values.astype(float)):
        raise ValueError(f"Toeplitz: {name} must be a vector of finite numbers, got shape {values.shape}")
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(float)
