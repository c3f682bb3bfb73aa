"""The squares of the entries of a linear map, as a map of nonnegative arrays: what row and column norms are made of."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy

from .._arrays import Array, Shape, by_rows, sums_of_squares, with_data
from ..functions import (
    Composed,
    HuberLoss,
    LeastSquares,
    LogDet,
    Logistic,
    Nonsmooth,
    Quadratic,
    Smooth,
    SmoothSum,
    Weighted,
)
from ..operators import (
    Compose,
    Diagonal,
    FiniteDifference,
    FlatStack,
    Gradient,
    Identity,
    Matrix,
    Operator,
    Reshape,
    Sampling,
    Scaled,
    Segment,
    SumOver,
    ZeroMap,
)

PROBES = 6
"""Random signs by which the squares of a map are estimated that is known by its products only."""


class Squared(Protocol):
    """(S w)_i = Σ_j a_ij² w_j and its transpose."""

    def apply(self, x: Array) -> Array:
        """S w."""

    def adjoint(self, y: Array) -> Array:
        """Sᵀ w."""


class Probed:
    """The squares of a map by random signs ε: E (A(√w ε))_i² = Σ_j a_ij² w_j."""

    def __init__(self, A: Operator, shape: Shape):
        self.A, self.output = A, A.output_shape(shape)
        rng = np.random.default_rng(0)
        self.inner = [rng.choice([-1.0, 1.0], shape) for _ in range(PROBES)]
        self.outer = [rng.choice([-1.0, 1.0], self.output) for _ in range(PROBES)]

    def apply(self, x: Array) -> Array:
        """S w, roughly."""
        root = np.sqrt(x)
        return sum(np.square(self.A.apply(root * signs)) for signs in self.inner) / PROBES

    def adjoint(self, y: Array) -> Array:
        """Sᵀ w, roughly."""
        root = np.sqrt(y)
        return sum(np.square(self.A.adjoint(root * signs)) for signs in self.outer) / PROBES


def squared(A: Operator, shape: Shape) -> Squared:
    """The squares of the entries of A on blocks of `shape`."""
    return _exact(A, shape) or Probed(A, shape)


def _exact(A: Operator, shape: Shape) -> Operator | None:
    """The same as an operator, None where the entries are not at hand."""
    if isinstance(A, Identity):
        return Identity(A.scale**2) if A.scale == 0 or 1e-75 < abs(A.scale) < 1e75 else None
    if isinstance(A, Reshape | Segment | Sampling | ZeroMap):  # entries 0 and 1
        return A
    if isinstance(A, Diagonal):
        return Diagonal(np.square(A.diagonal))
    if isinstance(A, Matrix) and A.natural_shape() is not None:
        return _of_matrix(A.matrix)
    if isinstance(A, Compose) and isinstance(A.left, Reshape):
        inner = _exact(A.right, shape)
        return None if inner is None else Compose(A.left, inner)
    matrix = A.as_matrix(shape)
    squares = None if matrix is None else _of_matrix(matrix)
    if squares is None:
        return None
    flat = Compose(squares, Reshape(shape))
    output = A.output_shape(shape)
    return flat if len(output) == 1 else Compose(Reshape(matrix.shape[0], output), flat)


def _of_matrix(matrix: Array) -> Matrix | None:
    """The squares of a matrix, None where these would overflow or vanish."""
    entries = matrix.data if scipy.sparse.issparse(matrix) else matrix
    top = float(np.max(np.abs(entries), initial=0.0))
    if top > 0 and not 1e-75 < top < 1e75:
        return None
    if not scipy.sparse.issparse(matrix):
        return Matrix(np.square(matrix))
    rows = by_rows(matrix)
    return Matrix(with_data(rows, np.square(rows.data)))


def square_sums(A: Operator, shape: Shape) -> tuple[Array, Array]:
    """(Σ_j a_ij² of every row, Σ_i a_ij² of every column), in the shapes of A x and x."""
    output = A.output_shape(shape)
    if isinstance(A, Matrix) and A.natural_shape() is not None:
        rows, columns = A.row_squares, A.column_squares
        if len(shape) == 1:
            return rows, columns
        rows, columns = (s.reshape(-1, *(1,) * (len(shape) - 1)) for s in (rows, columns))
        return np.broadcast_to(rows, output), np.broadcast_to(columns, shape)
    if isinstance(A, Scaled):
        rows, columns = square_sums(A.inner, shape)
        return A.scale**2 * rows, A.scale**2 * columns
    if isinstance(A, FlatStack):
        along, down = zip(*[square_sums(part, shape) for part in A.parts], strict=True)
        return np.concatenate([np.ravel(sums) for sums in along]), sum(down[1:], start=down[0])
    matrix = A.as_matrix(shape) if isinstance(A, FiniteDifference | Gradient | SumOver) else None
    if matrix is not None:
        rows, columns = sums_of_squares(matrix)
        return rows.reshape(output), columns.reshape(shape)
    S = squared(A, shape)
    return S.apply(np.ones(shape)), S.adjoint(np.ones(output))


def curvature(f: Smooth | None, shape: Shape) -> Array:
    """The diagonal of the Hessian of f, or of a bound on it; zeros where nothing is known."""
    if isinstance(f, SmoothSum):
        return sum((curvature(term, shape) for term in f.terms), np.zeros(shape))
    if isinstance(f, Weighted):
        return abs(f.weight) * curvature(f.f, shape)
    if isinstance(f, Composed):
        return squared(f.A, shape).adjoint(curvature(f.f, f.A.output_shape(shape)))
    if isinstance(f, LeastSquares | HuberLoss | Logistic):
        found = square_sums(f.G, shape)[1]
        return found / 4 if isinstance(f, Logistic) else found
    if isinstance(f, Quadratic):
        return _diagonal(f.Q, shape)
    return np.zeros(shape)


def barrier(h: Nonsmooth, f: Smooth | None, shape: Shape) -> Any:
    """The curvature of h = -λ log det where it is least beside ⟨C, x⟩ with the diagonal C of ∇f(0): C_ii C_jj/λ.

    0 for others: the units of a block under a determinant are those of its forces, as no equation may bind it.
    """
    if not isinstance(h, LogDet) or f is None or not f.is_quadratic:
        return 0.0
    diagonal = np.diagonal(f.grad(np.zeros(shape)))
    return np.outer(diagonal, diagonal) / h.lam if np.all(diagonal > 0) else 0.0


def _diagonal(Q: Operator, shape: Shape) -> Array:
    """|Q_jj|."""
    if isinstance(Q, Identity):
        return np.full(shape, abs(Q.scale))
    if isinstance(Q, Diagonal):
        return np.abs(Q.diagonal)
    if isinstance(Q, Matrix) and Q.natural_shape() is not None:
        diagonal = np.abs(Q.matrix.diagonal())
        return np.broadcast_to(diagonal.reshape(-1, *(1,) * (len(shape) - 1)), shape)
    return np.zeros(shape)
