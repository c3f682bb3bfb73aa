"""Blocks that the equation can be solved for: x_i = A_i⁻¹(b - Σ_{j≠i} A_j x_j) on the rows that A_i reaches.

A_i may be c·I, a diagonal, an isometry onto the whole equation (a cosine transform, say), or a matrix that puts the
entries of x_i, each times a number, into rows of its own: a slack.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .._abstract import Abstract
from .._arrays import (
    Array,
    Shape,
    by_rows,
    entry_rows,
    is_array,
    namespace,
    rows_of,
    scaled_matrix,
    sparse_of,
)
from ..operators import (
    Compose,
    Diagonal,
    FlatStack,
    Identity,
    Matrix,
    Operator,
    Reshape,
    Sampling,
    Scaled,
    Stack,
    ZeroMap,
)
from ..problem import Problem

DENSE = 0.2
"""Matrices with a larger share of entries than this are better dense."""
LARGE, FILL = 20_000, 0.05
"""Dense matrices of this size are better sparse where AᵀA has no larger share of entries than `FILL`."""


class Slack(metaclass=Abstract):
    """How block `block` is solved for. `rows`: flat indices of the rows it reaches, None for all, in order."""

    block: int
    rows: np.ndarray | None

    @abstractmethod
    def divide(self, A: Operator, shape: Shape) -> Operator:
        """A_i⁻¹ A_j on those rows, for blocks j of `shape`."""

    @abstractmethod
    def divide_right(self, b: Any) -> Any:
        """A_i⁻¹ b on those rows."""

    @abstractmethod
    def multiplier(self, force: Array) -> Array:
        """A_i⁻ᵀ force: the z on those rows with A_iᵀz = force (of the equation's shape where `rows` is None)."""


@dataclass(frozen=True, eq=False)
class Multiple(Slack):
    """A_i = c·I."""

    block: int
    c: float
    rows = None

    def divide(self, A: Operator, shape: Shape) -> Operator:
        return times(A, 1 / self.c)

    def divide_right(self, b: Any) -> Any:
        return b if self.c == 1.0 else b / self.c

    def multiplier(self, force: Array) -> Array:
        return force if self.c == 1.0 else force / self.c


@dataclass(frozen=True, eq=False)
class Isometry(Slack):
    """A_i square with A_iᵀA_i = γ·I."""

    block: int
    own: Operator
    gamma: float
    equation: Shape
    rows = None

    def divide(self, A: Operator, shape: Shape) -> Operator:
        return Compose(Scaled(self.own.T, 1 / self.gamma), A)

    def divide_right(self, b: Any) -> Any:
        if not is_array(b):
            if b == 0.0:
                return b
            b = np.full(self.equation, b)
        return self.own.adjoint(b) / self.gamma

    def multiplier(self, force: Array) -> Array:
        return self.own.apply(force) / self.gamma


@dataclass(frozen=True, eq=False)
class Placement(Slack):
    """Entry k of the flattened block stands in row rows[k], times factors[k]."""

    block: int
    shape: Shape
    equation: Shape
    rows: np.ndarray
    factors: np.ndarray

    def divide(self, A: Operator, shape: Shape) -> Operator:
        return taken(A, shape, self.equation, self.rows, 1 / self.factors, self.shape)

    def divide_right(self, b: Any) -> Any:
        right = np.broadcast_to(b, self.equation).reshape(-1)[self.rows] / self.factors
        return right.reshape(self.shape)

    def multiplier(self, force: Array) -> Array:
        return force.reshape(-1) / self.factors


def slacks(problem: Problem) -> list[Slack]:
    """Blocks with convex h to solve the equation for: one that reaches every row, or several that share no row.

    Preferred without f, then the last ones. One block at least is left.
    """
    order = sorted(
        (i for i, block in enumerate(problem.blocks) if block.h.is_convex),
        key=lambda i: (problem.blocks[i].f is None, i),
        reverse=True,
    )
    if len(problem.blocks) < 2:
        return []
    for i in order:
        op, size = problem.operators[i], math.prod(problem.blocks[i].shape)
        if c := multiple(op):
            return [Multiple(i, c)]
        if op.gram and size == math.prod(problem.shape) and not isinstance(op, Matrix):
            return [Isometry(i, op, op.gram, problem.shape)]
    found: list[Slack] = []
    free = np.ones(math.prod(problem.shape), dtype=bool)
    for i in order:
        slack = _placement(problem, i)
        if slack is not None and free[slack.rows].all() and len(found) < len(problem.blocks) - 1:
            found.append(slack)
            free[slack.rows] = False
    return found


def _placement(problem: Problem, i: int) -> Placement | None:
    """Block i as a `Placement`, None where its A is none."""
    shape, op = problem.blocks[i].shape, problem.operators[i]
    if _entries(op, shape) not in (math.prod(shape), None):
        return None
    matrix = op.as_matrix(shape)
    if matrix is None or matrix.shape[1] > matrix.shape[0]:
        return None
    A = by_rows(matrix) if scipy.sparse.issparse(matrix) else sparse_of(matrix)
    there = np.flatnonzero(A.data)
    rows, columns = entry_rows(A)[there], A.indices[there]
    if (np.bincount(columns, minlength=A.shape[1]) != 1).any() or (np.bincount(rows) > 1).any():
        return None
    order = columns.argsort()
    return Placement(i, shape, problem.shape, rows[order], A.data[there][order].astype(float))


def _entries(A: Operator, shape: Shape) -> int | None:
    """How many entries of the matrix of A differ from 0, None where that is not seen at once."""
    if isinstance(A, Identity):
        return math.prod(shape) if A.scale else 0
    if isinstance(A, Matrix) and A.natural_shape() is not None:
        matrix = A.matrix
        count = matrix.count_nonzero() if scipy.sparse.issparse(matrix) else np.count_nonzero(matrix)
        return int(count) * math.prod(shape[1:])
    if isinstance(A, Scaled):
        return _entries(A.inner, shape) if A.scale else 0
    if isinstance(A, Stack | FlatStack):
        parts = [_entries(part, shape) for part in A.parts]
        return None if None in parts else sum(count for count in parts if count is not None)
    return None


def times(A: Operator, factor: float) -> Operator:
    """factor · A, as simple as it can be said."""
    if factor == 1.0 or isinstance(A, ZeroMap):
        return A
    if isinstance(A, Identity):
        return Identity(factor * A.scale)
    if isinstance(A, Matrix):
        return Matrix(factor * A.matrix)
    if isinstance(A, Diagonal):
        return Diagonal(factor * A.diagonal)
    return times(A.inner, factor * A.scale) if isinstance(A, Scaled) else Scaled(A, factor)


def taken(
    A: Operator, shape: Shape, equation: Shape, rows: np.ndarray, factors: Any, output: Shape
) -> Operator:
    """x ↦ factors · (A x)[rows] in the shape `output`: rows of A, for x of `shape`."""
    part = _part(A, shape, rows)
    if part is not None and np.all(factors == np.ravel(factors)[0]):
        own = times(part, float(np.ravel(factors)[0]))
        made = tuple(own.output_shape(shape))
        return own if made == output else Compose(Reshape(made, output), own)
    matrix = A.as_matrix(shape)
    if matrix is None:
        picked: Operator = Compose(Sampling(rows, shape=equation), A)
        if np.any(factors != 1.0):
            picked = Compose(Diagonal(np.broadcast_to(factors, rows.shape) + 0.0), picked)
    else:
        part = rows_of(matrix, rows)
        if np.any(factors != 1.0):
            part = scaled_matrix(np.broadcast_to(factors, rows.shape), part, None)
        picked = as_map(part, shape)
    return picked if len(output) == 1 else Compose(Reshape(rows.size, output), picked)


def _part(A: Operator, shape: Shape, rows: np.ndarray) -> Operator | None:
    """The map among those stacked in A whose rows these are, None where there is none."""
    if isinstance(A, Scaled):
        inner = _part(A.inner, shape, rows)
        return None if inner is None else times(inner, A.scale)
    if not isinstance(A, Stack | FlatStack):
        return None
    begin = 0
    for part in A.parts:
        end = begin + math.prod(part.output_shape(shape))
        if rows.size == end - begin and np.array_equal(rows, np.arange(begin, end)):
            return part
        begin = end
    return None


def as_map(matrix: Any, shape: Shape) -> Operator:
    """The map of a matrix that acts on the flattened block of `shape`: zero and identity said as such."""
    if scipy.sparse.issparse(matrix) and matrix.nnz > DENSE * math.prod(matrix.shape):
        matrix = matrix.toarray()
    entries = matrix.data if scipy.sparse.issparse(matrix) else matrix
    if not np.any(entries):
        return ZeroMap(shape, matrix.shape[0])
    if len(shape) == 1 and (a := _diagonal_number(matrix)):
        return Identity(a)
    return Matrix(matrix) if len(shape) == 1 else Compose(Matrix(matrix), Reshape(shape))


def _diagonal_number(matrix: Any) -> float | None:
    """a where the matrix is a·I with a ≠ 0, else None."""
    rows, columns = matrix.shape
    if rows != columns or not rows:
        return None
    diagonal = matrix.diagonal()
    if diagonal[0] == 0 or not (diagonal == diagonal[0]).all():
        return None
    entries = matrix.count_nonzero() if scipy.sparse.issparse(matrix) else np.count_nonzero(matrix)
    return float(diagonal[0]) if entries == rows else None


def thin(A: Operator) -> Operator:
    """A; where it is a large dense matrix with so few entries that AᵀA has few, as differences, the sparse one."""
    if not (isinstance(A, Matrix) and type(A.matrix) is np.ndarray) or A.matrix.size < LARGE:
        return A
    rows, columns = A.matrix.shape
    some = A.matrix[:: 1 + rows // 16]
    if np.count_nonzero(some != 0) > DENSE * some.size:  # of numbers that takes several times as long
        return A
    entries = np.count_nonzero(A.matrix != 0)
    few = entries**2 < FILL * rows * columns**2  # k entries in each of m rows: k²m in AᵀA at most
    return Matrix(sparse_of(A.matrix)) if few else A


def is_nothing(A: Operator) -> bool:
    """Whether A = 0, where that is seen without products."""
    if isinstance(A, Scaled):
        return A.scale == 0 or is_nothing(A.inner)
    return isinstance(A, ZeroMap) or (isinstance(A, Identity | Matrix) and A.is_zero)


def multiple(A: Operator) -> float | None:
    """a where A = a·I is seen without products, else None."""
    if isinstance(A, Identity):
        return A.scale
    if isinstance(A, Scaled):
        inner = multiple(A.inner)
        return None if inner is None else A.scale * inner
    return _diagonal_number(A.matrix) if isinstance(A, Matrix) and A.natural_shape() is not None else None


def stacked_right(pieces: Sequence[tuple[Any, Shape]]) -> Array:
    """Right-hand sides (numbers or arrays) of the given shapes, flattened and joined."""
    arrays = [c for c, _ in pieces if is_array(c)]
    xp = namespace(arrays[0]) if arrays else np
    like = arrays[0] if arrays else np.zeros(0)
    flat = [
        xp.reshape(c, (-1,)) if is_array(c) else xp.full((math.prod(shape),), float(c), dtype=like.dtype)
        for c, shape in pieces
    ]
    return xp.concat(flat) if len(flat) > 1 else flat[0]
