"""Sparse matrices of known pattern, made at once: SciPy's own ways there take several matrices each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy

SHORT = 10_000
"""Entries of a sparse matrix up to which its transpose is not sorted by rows: that takes as long as fifty products."""


def _alike(matrix: Any) -> Any:
    """A matrix of the same kind that shares all it holds."""
    new = object.__new__(type(matrix))
    new.__dict__.update(matrix.__dict__)
    return new


@lru_cache
def _empty(kind: str) -> Any:
    return getattr(scipy.sparse, kind)((0, 0))


def of_arrays(kind: str, shape: tuple[int, int], data: np.ndarray, indices: Any, ends: Any) -> Any:
    """A "csr_array" or a "csc_array" of arrays that fit together: what SciPy looks at takes as long as twenty products.

    >>> of_arrays("csr_array", (1, 2), np.array([3.0]), np.array([1]), np.array([0, 1])).toarray()
    array([[0., 3.]])
    """
    new = _alike(_empty(kind))
    index = np.int32 if max(*shape, len(data)) < 2**31 else np.int64
    new.data, new._shape = data, (int(shape[0]), int(shape[1]))
    new.indices, new.indptr = indices.astype(index, copy=False), ends.astype(index, copy=False)
    return new


def as_csr(matrix: Any) -> Any:
    """A matrix as SciPy's array by rows: itself where it is one, so that its entries are not to be changed."""
    if type(matrix) is np.ndarray:
        return sparse_of(matrix)
    return matrix if type(matrix) is scipy.sparse.csr_array else scipy.sparse.csr_array(matrix)


def stacked_rows(matrices: Sequence[Any]) -> Any:
    """Matrices one below another, as a sparse one by rows.

    >>> stacked_rows([np.eye(2), np.array([[0.0, 3.0]])]).toarray()
    array([[1., 0.],
           [0., 1.],
           [0., 3.]])
    """
    rows = [as_csr(matrix) for matrix in matrices]
    if len(rows) == 1:
        return rows[0]
    counts, columns = np.concatenate([row_counts(A) for A in rows]), rows[0].shape[1]
    data, indices = np.concatenate([A.data for A in rows]), np.concatenate([A.indices for A in rows])
    return of_arrays("csr_array", (len(counts), columns), data, indices, _ends(counts))


def rows_of(matrix: Any, rows: np.ndarray) -> Any:
    """Rows of a matrix by their indices, dense or sparse as the matrix is.

    >>> rows_of(picking(np.array([2, 0]), 3), np.array([1])).toarray()
    array([[1., 0., 0.]])
    """
    if not scipy.sparse.issparse(matrix):
        return matrix[rows]
    A = as_csr(matrix)
    counts = row_counts(A)[rows]
    ends = _ends(counts)
    there = np.arange(ends[-1]) + np.repeat(A.indptr[rows] - ends[:-1], counts)
    return of_arrays("csr_array", (len(counts), A.shape[1]), A.data[there], A.indices[there], ends)


def _ends(counts: np.ndarray) -> np.ndarray:
    """Where rows of so many entries begin, and the last one ends."""
    ends = np.zeros(len(counts) + 1, int)
    counts.cumsum(out=ends[1:])
    return ends


def multiple(factor: float, matrix: Any) -> Any:
    """factor·matrix, dense or sparse as the matrix is."""
    if not scipy.sparse.issparse(matrix):
        return factor * matrix
    rows = by_rows(matrix)
    return with_data(rows, factor * rows.data)


def without_zeros(matrix: Any) -> Any:
    """A sparse matrix without entries that are 0: itself where it has none."""
    if matrix.data.all():
        return matrix
    found = matrix.copy()
    found.eliminate_zeros()
    return found


def row_counts(matrix: Any) -> np.ndarray:
    """The number of entries that a sparse matrix holds in every row."""
    ends = as_csr(matrix).indptr
    return ends[1:] - ends[:-1]


def entry_rows(matrix: Any) -> np.ndarray:
    """The row of every entry that a sparse matrix holds, row by row."""
    return np.repeat(np.arange(matrix.shape[0]), row_counts(matrix))


def picking(columns: np.ndarray, size: int, values: Any = 1.0) -> Any:
    """The sparse matrix with one entry in every row: row k has values[k] in columns[k] of `size`.

    >>> picking(np.array([2, 0]), 3).toarray()
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    rows = len(columns)
    data = np.full(rows, values, float) if np.ndim(values) == 0 else values
    return of_arrays("csr_array", (rows, size), data, columns, np.arange(rows + 1))


def to_dense(matrix: Any) -> np.ndarray:
    """A matrix as a dense array."""
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def sparse_of(matrix: np.ndarray) -> Any:
    """A dense matrix as a sparse one: an eighth of the time that SciPy takes where few entries are not 0.

    >>> sparse_of(np.array([[0.0, 2.0], [0.0, 0.0]])).nnz
    1
    """
    rows, columns = np.divmod(np.flatnonzero(matrix != 0), matrix.shape[1])
    ends = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
    return of_arrays("csr_array", matrix.shape, matrix[rows, columns], columns, ends)


def diagonal_matrix(values: np.ndarray) -> Any:
    """diag(values) as a sparse matrix."""
    return picking(np.arange(len(values)), len(values), values)


def by_rows(matrix: Any) -> Any:
    """A sparse matrix by rows, each with its entries in order and one for a column; a copy where they are not.

    SciPy puts entries in order in place as soon as it has a use for that. A matrix that shares its columns with another
    one, but not its values, would be another one from then on.
    """
    rows = as_csr(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def scaled_matrix(left: Any, matrix: Any, right: Any) -> Any:
    """diag(left) · matrix · diag(right), dense or sparse as the matrix is; None stands for ones.

    >>> scaled_matrix(np.array([2.0]), np.array([[1.0, 3.0]]), None)
    array([[2., 6.]])
    """
    if not scipy.sparse.issparse(matrix):
        matrix = matrix if left is None else left[:, None] * matrix
        return matrix if right is None else matrix * right
    rows = by_rows(matrix)
    data = rows.data if left is None else np.repeat(left, row_counts(rows)) * rows.data
    return with_data(rows, data if right is None else data * right[rows.indices])


def with_data(matrix: Any, data: np.ndarray) -> Any:
    """The sparse matrix of the same pattern with these entries: without the checks that SciPy makes of a new one."""
    new = _alike(matrix)
    new.data = data
    return new


def transposed(matrix: Any) -> Any:
    """matrixᵀ for products; where it is sparse and long sorted by rows, as those by columns are twice as slow."""
    if not scipy.sparse.issparse(matrix):
        return matrix.T
    if matrix.nnz > SHORT:
        return scipy.sparse.csr_array(matrix.T)
    if type(matrix) is not scipy.sparse.csr_array:
        return matrix.T
    return of_arrays("csc_array", matrix.shape[::-1], matrix.data, matrix.indices, matrix.indptr)


def products_with(matrix: Any) -> Callable[[np.ndarray], np.ndarray]:
    """x ↦ matrix·x for many short x: what SciPy looks at before each product takes five times as long as that.

    >>> products_with(picking(np.array([2, 0]), 3))(np.array([1.0, 2.0, 3.0]))
    array([3., 1.])
    """
    kinds = {"csr": "csr_matvec", "csc": "csc_matvec"}
    if type(matrix) is np.ndarray:
        return matrix.dot
    if not scipy.sparse.issparse(matrix) or matrix.format not in kinds or matrix.dtype != np.float64:
        return partial(operator.matmul, matrix)
    return partial(_product, getattr(scipy.sparse._sparsetools, kinds[matrix.format]), matrix)


def _product(add_product: Callable[..., None], matrix: Any, x: np.ndarray) -> np.ndarray:
    (rows, columns), out = matrix.shape, np.zeros(matrix.shape[0])
    add_product(rows, columns, matrix.indptr, matrix.indices, matrix.data, x, out)
    return out


def row_squares(matrix: Any) -> np.ndarray:
    """Σ_j a_ij² of every row, without a copy of a dense matrix; of rows in one piece at the speed of BLAS.

    >>> row_squares(np.array([[1.0, 2.0]]))
    array([5.])
    """
    if scipy.sparse.issparse(matrix):
        rows = as_csr(matrix)
        return np.bincount(entry_rows(rows), np.square(rows.data), rows.shape[0])
    in_one_piece = matrix.flags.c_contiguous and matrix.shape[1] > 1
    return np.asarray(np.vecdot(matrix, matrix) if in_one_piece else np.einsum("ij,ij->i", matrix, matrix))


def column_squares(matrix: Any) -> np.ndarray:
    """Σ_i a_ij² of every column.

    >>> column_squares(np.array([[1.0, 2.0]]))
    array([1., 4.])
    """
    if scipy.sparse.issparse(matrix):
        rows = by_rows(matrix)
        return np.bincount(rows.indices, np.square(rows.data), rows.shape[1])
    return row_squares(matrix.T)


def sums_of_squares(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """(Σ_j a_ij² of every row, Σ_i a_ij² of every column).

    >>> sums_of_squares(np.array([[1.0, 2.0]]))
    (array([5.]), array([1., 4.]))
    """
    return row_squares(matrix), column_squares(matrix)
