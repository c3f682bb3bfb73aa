"""The linear maps themselves."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from .._array import Array, Shape, is_array, namespace, to_numpy
from . import spectrum
from .base import Operator


class Identity(Operator):
    """x ↦ scale · x."""

    def __init__(self, scale: float = 1.0):
        if not math.isfinite(scale):
            raise ValueError(f"Identity: scale must be finite, got {scale}")
        self.scale = float(scale)
        self.gram = self.scale**2

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def apply(self, x: Array) -> Array:
        return x if self.scale == 1.0 else -x if self.scale == -1.0 else self.scale * x

    def adjoint(self, y: Array) -> Array:
        return self.apply(y)

    def norm(self) -> float:
        return abs(self.scale)

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return (self.scale**2, self.scale**2) if math.prod(shape) else (0.0, 0.0)

    def __repr__(self) -> str:
        return f"{self.scale:g}·I"


class Matrix(Operator):
    """x ↦ M x along the first axis of x; M is a dense array or a SciPy sparse matrix."""

    def __init__(self, matrix: Any):
        if sp.issparse(matrix):
            self.matrix = sp.csr_array(matrix)
            # Aᵀ y through the transpose held in row form: a CSC product is twice as slow
            self._transpose = sp.csr_array(self.matrix.T)
        else:
            self.matrix = matrix if is_array(matrix) else np.asarray(matrix, dtype=float)
            if self.matrix.ndim != 2:
                raise ValueError(f"Matrix: expected a 2-D array, got shape {tuple(self.matrix.shape)}")
            self._transpose = self.matrix.T

    def output_shape(self, shape: Shape) -> Shape:
        if not shape or shape[0] != self.matrix.shape[1]:
            raise ValueError(
                f"a {self.matrix.shape[0]}x{self.matrix.shape[1]} matrix acts on the first axis, which must "
                f"have length {self.matrix.shape[1]}, but the shape is {shape}"
            )
        return (self.matrix.shape[0], *shape[1:])

    def apply(self, x: Array) -> Array:
        return _along_first_axis(self.matrix, x)

    def adjoint(self, y: Array) -> Array:
        return _along_first_axis(self._transpose, y)

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        rows, columns = self.matrix.shape
        dense = None if sp.issparse(self.matrix) else to_numpy(self.matrix)
        if dense is not None and max(rows, columns) <= spectrum.EXACT_LIMIT:
            return spectrum.dense_extremes(dense)
        M = self.matrix if dense is None else dense
        if max(rows, columns) <= spectrum.EXACT_LIMIT:
            return spectrum.dense_extremes(M.toarray())
        Mt = self._transpose if dense is None else dense.T
        return spectrum.extremes_of_gram(lambda v: M @ (Mt @ v), rows, columns, spectrum.holder_bound(M))

    @cached_property
    def _norm(self) -> float:
        if "_extremes" in self.__dict__ or max(self.matrix.shape) <= spectrum.EXACT_LIMIT:
            return math.sqrt(self._extremes[1])
        M = self.matrix if sp.issparse(self.matrix) else to_numpy(self.matrix)
        if M.shape[0] <= M.shape[1]:
            upper = spectrum.lanczos_upper(lambda v: M @ (M.T @ v), M.shape[0])
        else:
            upper = spectrum.lanczos_upper(lambda v: M.T @ (M @ v), M.shape[1])
        return math.sqrt(min(upper, spectrum.holder_bound(M)))

    def norm(self) -> float:
        return self._norm

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self._extremes

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.matrix) else "dense"
        return f"Matrix({self.matrix.shape[0]}x{self.matrix.shape[1]} {kind})"


def _along_first_axis(matrix: Any, x: Array) -> Array:
    if x.ndim <= 2:
        return matrix @ x
    flat = namespace(x).reshape(x, (x.shape[0], -1))
    return namespace(x).reshape(matrix @ flat, (matrix.shape[0], *x.shape[1:]))


class Flattened(Operator):
    """A SciPy (or PyLops) LinearOperator acting on the flattened block."""

    def __init__(self, linear: Any, shape: Shape, output: Shape | None = None):
        self.linear = linear
        self.shape = tuple(shape)
        self.output = (linear.shape[0],) if output is None else tuple(output)
        if math.prod(self.shape) != linear.shape[1] or math.prod(self.output) != linear.shape[0]:
            raise ValueError(
                f"a LinearOperator of shape {tuple(linear.shape)} cannot map blocks of shape {self.shape} "
                f"to shape {self.output}"
            )

    def output_shape(self, shape: Shape) -> Shape:
        if tuple(shape) != self.shape:
            raise ValueError(f"the operator acts on shape {self.shape}, not {tuple(shape)}")
        return self.output

    def apply(self, x: Array) -> Array:
        return self.linear.matvec(x.reshape(-1)).reshape(self.output)

    def adjoint(self, y: Array) -> Array:
        return self.linear.rmatvec(y.reshape(-1)).reshape(self.shape)

    @cached_property
    def _norm(self) -> float:
        return math.sqrt(
            spectrum.lanczos_upper(
                lambda v: self.linear.rmatvec(self.linear.matvec(v)), math.prod(self.shape)
            )
        )

    def norm(self) -> float:
        return self._norm

    def __repr__(self) -> str:
        return f"Flattened({self.linear.shape[0]}x{self.linear.shape[1]})"


def from_linear_operator(
    linear: Any, shape: Shape | None = None, output_shape: Shape | None = None
) -> Flattened:
    """Wrap a SciPy or PyLops LinearOperator for blocks of `shape` (default: flat).

    >>> import scipy.sparse.linalg as spla
    >>> A = from_linear_operator(spla.aslinearoperator(np.eye(6)), shape=(2, 3))
    >>> A.apply(np.ones((2, 3))).shape
    (6,)
    """
    linear = spla.aslinearoperator(linear)
    return Flattened(linear, (linear.shape[1],) if shape is None else shape, output_shape)


def as_operator(A: Any) -> Operator:
    """`A` as an operator: a number (scaled identity), a dense or sparse matrix, a LinearOperator or a map as is."""
    if isinstance(A, Operator):
        return A
    if isinstance(A, spla.LinearOperator):
        return from_linear_operator(A)
    if sp.issparse(A) or isinstance(A, list | tuple):
        return Matrix(A)
    if is_array(A):
        return Identity(float(A)) if A.ndim == 0 else Matrix(A)
    if isinstance(A, int | float):
        return Identity(A)
    raise TypeError(
        f"expected a number, a 2-D array, a sparse matrix, a LinearOperator or an ipds operator, "
        f"got {type(A).__name__}"
    )
