"""The linear map from a variable to an expression, kept explicit as long as that is cheap.

A `Map` takes arrays of shape `inputs` to arrays of shape `outputs`. Its body is one of

- a number c: the entries, row by row, times c (a multiple of the identity, a reshape);
- a matrix, SciPy sparse or dense: acts on the flattened array, and the result is folded into `outputs`;
- an `Operator` between the two shapes, for everything else.

Sums and products of explicit bodies stay explicit where the result is not larger than what went in; otherwise
operators are summed or composed, and no matrix is formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, diagonal_matrix, matrix_product, matrix_sum, number_sum, picking
from ..operators import Compose, FiniteDifference, Identity, Matrix, Operator, Reshape, Scaled, Sum
from ..operators.one_shape import OfOneShape

Body = Any  # float, SciPy sparse array, 2-D NumPy array or Operator
WORK = 10**8
"""Products of dense matrices beyond so many multiplications are left to the operators."""
COPY = 10**7
"""Dense matrices with more entries are not copied."""


@dataclass(frozen=True, eq=False)
class Map:
    """x ↦ body · x, from `inputs` to `outputs`."""

    inputs: Shape
    outputs: Shape
    body: Body

    @property
    def is_explicit(self) -> bool:
        """Whether the body is a number or a matrix."""
        return not isinstance(self.body, Operator)

    @property
    def multiple(self) -> float | None:
        """c where the map is x ↦ c·x, else None."""
        return self.body if isinstance(self.body, float) and self.inputs == self.outputs else None

    @property
    def weights(self) -> np.ndarray | None:
        """d where the map is x ↦ d·x entry by entry with numbers d ≠ 0, in the shape of x, else None."""
        size = math.prod(self.inputs)
        if self.inputs != self.outputs or not scipy.sparse.issparse(self.body) or self.body.nnz != size:
            return None
        d = self.body.diagonal()
        return d.reshape(self.inputs) if np.all(d) else None

    @property
    def is_difference(self) -> bool:
        """Whether the map is a multiple of the differences of neighbours along the first axis."""
        if not self.inputs or self.outputs != (self.inputs[0] - 1, *self.inputs[1:]):
            return False
        if isinstance(self.body, FiniteDifference):
            return not self.body.several and self.body.axes == (0,)
        if not scipy.sparse.issparse(self.body) or not self.body.nnz:
            return False
        indices = np.arange(math.prod(self.inputs)).reshape(self.inputs)
        plain = differences(indices[:-1], indices[1:], indices.size)
        factor = float(self.body.tocsr()[0, indices[1].flat[0]])
        return factor != 0 and abs(self.body - factor * plain).max() == 0

    @property
    def is_zero(self) -> bool:
        """Whether the body is a sparse matrix without entries."""
        return scipy.sparse.issparse(self.body) and not self.body.count_nonzero()

    @property
    def plain(self) -> Map:
        """The same with a number for a sparse multiple of the identity."""
        size = math.prod(self.inputs)
        if not scipy.sparse.issparse(self.body) or self.body.shape != (size, size) or self.body.nnz != size:
            return self
        d = self.body.diagonal()
        return Map(self.inputs, self.outputs, float(d[0])) if d[0] and np.all(d == d[0]) else self

    @property
    def chosen(self) -> np.ndarray | None:
        """Which entries of the flattened x the map takes, where it takes some of them, each once, and no others."""
        M = self.body
        if not scipy.sparse.issparse(M) or not M.shape[0] == M.nnz < M.shape[1]:
            return None
        M = M.tocsr()
        plain = np.all(np.diff(M.indptr) == 1) and np.all(M.data == 1.0)
        return M.indices if plain and np.unique(M.indices).size == M.nnz else None

    @property
    def matrix(self) -> Any:
        """An explicit body as a matrix on flattened arrays."""
        if isinstance(self.body, float):
            return self.body * scipy.sparse.eye_array(math.prod(self.inputs), format="csr")
        return self.body

    @cached_property
    def operator(self) -> Operator:
        """The map as an operator; made once, so that norms found on the way are kept."""
        if isinstance(self.body, Operator):
            return self.body
        if isinstance(self.body, float):
            scale = Identity(self.body)
            if self.inputs == self.outputs:
                return scale
            fold: Operator = Reshape(self.inputs, self.outputs)
            return fold if self.body == 1.0 else Compose(scale, fold)
        inner: Operator = Matrix(self.body)
        if len(self.inputs) != 1:
            inner = Compose(inner, Reshape(self.inputs))
        if len(self.outputs) != 1:
            inner = Compose(Reshape(math.prod(self.outputs), self.outputs), inner)
        return inner

    @cached_property
    def negative(self) -> Operator:
        """The operator of -A, explicit where A is."""
        if isinstance(self.body, Operator) or _size(self.body) > COPY:
            return Scaled(self.operator, -1.0)
        return Map(self.inputs, self.outputs, -self.body).operator

    def apply(self, x: Array) -> Array:
        """A x."""
        return self.operator.apply(x)

    def scaled(self, c: float) -> Map:
        """c·A."""
        if c == 1.0:
            return self
        if isinstance(self.body, float) or (self.is_explicit and _size(self.body) <= COPY):
            return Map(self.inputs, self.outputs, c * self.body)
        return Map(self.inputs, self.outputs, Scaled(self.operator, c))

    def plus(self, other: Map) -> Map:
        """A + B, both between the same shapes."""
        if isinstance(self.body, float) and isinstance(other.body, float):
            return Map(self.inputs, self.outputs, number_sum(self.body, other.body))
        if self.is_explicit and other.is_explicit and _size(self.body) <= COPY:
            return Map(self.inputs, self.outputs, _plain(matrix_sum([self.matrix, other.matrix])))
        return Map(self.inputs, self.outputs, Sum([_part(self), _part(other)]))

    def then(self, left: Body, outputs: Shape) -> Map:
        """left·A, where `left` is a body from A's outputs to `outputs`."""
        if isinstance(left, float):
            if self.is_explicit:
                return Map(self.inputs, outputs, self.body).scaled(left)
            if self.outputs == outputs:
                return self.scaled(left)
        elif not isinstance(left, Operator):
            if isinstance(self.body, float):
                return Map(self.inputs, outputs, left if self.body == 1.0 else self.body * left)
            product = _product(left, self.body) if self.is_explicit else None
            if product is not None:
                return Map(self.inputs, outputs, product)
        elif self.multiple is not None:
            return Map(self.inputs, outputs, left).scaled(self.multiple)
        return Map(self.inputs, outputs, Compose(Map(self.outputs, outputs, left).operator, _part(self)))


class AtOneShape(OfOneShape):
    """A map that acts on blocks of many shapes, held to one: its sums and products with others have a norm there."""

    def __init__(self, inner: Operator, shape: Shape):
        self.inner, self.shape = inner, shape
        self.output = tuple(inner.output_shape(shape))
        self.gram, self.rows = inner.gram, inner.rows

    @property
    def called(self) -> str:
        return repr(self.inner)

    def apply(self, x: Array) -> Array:
        return self.inner.apply(x)

    def adjoint(self, y: Array) -> Array:
        return self.inner.adjoint(y)

    def norm(self) -> float:
        return self.inner.norm()

    def as_matrix(self, shape: Shape) -> Any:
        return self.inner.as_matrix(shape)

    def __repr__(self) -> str:
        return repr(self.inner)


def _part(map_: Map) -> Operator:
    """The operator of a map, as part of a sum or product."""
    operator = map_.operator
    return operator if operator.natural_shape() in (None, map_.inputs) else AtOneShape(operator, map_.inputs)


def _size(body: Any) -> int:
    """Numbers that a body stores."""
    if isinstance(body, float):
        return 1
    return int(body.nnz if scipy.sparse.issparse(body) else body.size)


def _product(left: Any, right: Any) -> Any:
    """left @ right where it is cheap and not larger than its factors, else None."""
    if scipy.sparse.issparse(left) and scipy.sparse.issparse(right):
        # one number per row at most (a choice, a scaling) never fills in; other products are bounded beforehand
        if np.diff(left.indptr).max(initial=0) <= 1:
            return left @ right
        return matrix_product(left, right) if _fill(left, right) <= 2 * (left.nnz + right.nnz) else None
    if (
        not scipy.sparse.issparse(left)
        and scipy.sparse.issparse(right)
        and right.shape[1] > 2 * right.shape[0]
    ):
        # a dense matrix of few of the columns: sparse
        return _product(scipy.sparse.csr_array(left), right) if left.size <= COPY else None
    size = left.shape[0] * right.shape[1]
    work = _size(left) * right.shape[1] if scipy.sparse.issparse(left) else left.shape[0] * _size(right)
    if size > _size(left) + _size(right) or size > COPY or work > WORK:
        return None
    return _plain(matrix_product(left, right))


def _fill(left: Any, right: Any) -> int:
    """An upper bound of the nonzeros of left @ right."""
    return int(np.diff(right.indptr)[left.indices].sum())


def _plain(matrix: Any) -> Any:
    return matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def choice(indices: np.ndarray, size: int) -> Body:
    """x ↦ x[indices] on vectors of length `size`: a sparse matrix of ones, or 1.0 where that changes nothing."""
    flat = indices.reshape(-1)
    if flat.size == size and np.array_equal(flat, np.arange(size)):
        return 1.0
    return picking(flat, size)


def sums(groups: np.ndarray, size: int) -> Body:
    """x ↦ (Σ x[j] over the row groups[i])_i on vectors of length `size`."""
    return _rows(groups, np.ones(groups.size), size)


def differences(low: np.ndarray, high: np.ndarray, size: int) -> Body:
    """x ↦ x[high] - x[low] on vectors of length `size`."""
    pairs = np.stack([low.reshape(-1), high.reshape(-1)], axis=1)
    return _rows(pairs, np.tile([-1.0, 1.0], len(pairs)), size)


def placement(indices: np.ndarray, size: int) -> Body:
    """y ↦ the vector of length `size` with y at `indices` and 0 elsewhere."""
    return scipy.sparse.csr_array(picking(indices.reshape(-1), size).T)


def scaling(weights: np.ndarray) -> Body:
    """x ↦ weights·x on vectors."""
    return diagonal_matrix(weights.reshape(-1))


def _rows(columns: np.ndarray, values: np.ndarray, size: int) -> Any:
    """The sparse matrix whose row i holds `values` at the columns[i]."""
    count, width = columns.shape
    indptr = np.arange(0, count * width + 1, width) if width else np.zeros(count + 1, dtype=int)
    return scipy.sparse.csr_array((values, columns.reshape(-1), indptr), shape=(count, size))
