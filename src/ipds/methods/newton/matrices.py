"""The matrix of a form: the operators of the blocks side by side, and its rows that do more than pick an entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import scipy

from ..._arrays import (
    Array,
    as_csr,
    asarray,
    entry_rows,
    multiple,
    picking,
    row_counts,
    rows_of,
    stacked_rows,
    to_dense,
    to_numpy,
    without_zeros,
)
from ...problem import Problem
from .smooth import written_out
from .strategies import FULL

SMALL, LARGE, THIN = 50_000, 10_000_000, 0.05
"""Entries up to which a matrix is an array where a part of it is one, and beyond which it is not; share of those that
are not 0 up to which one between is sparse, as that of the variables of many moments, each of which has an array."""
FIRST = 16
"""Columns of a dense matrix that tell of most rows that they have more than one entry."""


def beside(problem: Problem, x0: Sequence[Array], factor: float) -> Any:
    """factor · [A_1 … A_{n-1}]: an array, a sparse matrix, or a LinearOperator."""
    found: list[Any] = []
    shape = problem.blocks[-1].shape
    rows = math.prod(shape)
    for block, operator, like in zip(problem.blocks[:-1], problem.operators[:-1], x0[:-1], strict=True):
        matrix = operator.as_matrix(block.shape)
        found.append(written_out(operator, block.shape, like) if matrix is None else matrix)
    if all(A is not None for A in found):
        return multiple(factor, side_by_side(found))
    shapes = [block.shape for block in problem.blocks[:-1]]
    ends = np.cumsum([0, *map(math.prod, shapes)])

    def apply(v: np.ndarray) -> np.ndarray:
        total = np.zeros(rows)
        for op, own, like, i, j in zip(problem.operators, shapes, x0, ends[:-1], ends[1:], strict=False):
            total += to_numpy(op.apply(asarray(v.ravel()[i:j].reshape(own), like))).ravel()
        return factor * total

    def adjoint(y: np.ndarray) -> np.ndarray:
        pairs = zip(problem.operators[:-1], x0[:-1], strict=True)
        pulled = [to_numpy(op.adjoint(asarray(y.reshape(shape), like))).ravel() for op, like in pairs]
        return factor * np.concatenate(pulled)

    return scipy.sparse.linalg.LinearOperator(
        (rows, int(ends[-1])), matvec=apply, rmatvec=adjoint, dtype=float
    )


def is_sparse(matrices: Sequence[Any]) -> bool:
    """Whether [A_1 … A_k] is a sparse matrix: where all of them are, or it is large and has few entries for that."""
    size = sum(math.prod(A.shape) for A in matrices)
    some = [scipy.sparse.issparse(A) for A in matrices]
    return (
        all(some)
        or (size > SMALL and sum(map(_entries, matrices)) <= THIN * size)
        or (any(some) and size > LARGE)
    )


def side_by_side(matrices: Sequence[Any]) -> Any:
    """[A_1 … A_k], as an array or a sparse matrix."""
    if not is_sparse(matrices):
        dense = [np.asarray(to_dense(A), float) for A in matrices]
        return dense[0] if len(dense) == 1 else np.hstack(dense)
    parts = list(map(as_csr, matrices))
    if len(parts) == 1:
        return without_zeros(parts[0])
    begins = accumulate((A.shape[1] for A in parts), initial=0)
    column = np.concatenate([A.indices + begin for A, begin in zip(parts, begins, strict=False)])
    data = np.concatenate([A.data for A in parts])
    row = np.concatenate([entry_rows(A) for A in parts])
    shape = parts[0].shape[0], sum(A.shape[1] for A in parts)
    return without_zeros(scipy.sparse.csr_array((data, (row, column)), shape=shape))


def _entries(A: Any) -> int:
    """How many are not 0: all of an array, where its first column is no sign that few are."""
    if scipy.sparse.issparse(A):
        return int(A.nnz)
    is_thin = np.count_nonzero(A[:, :1]) <= THIN * A.shape[0]
    return int(np.count_nonzero(A)) if is_thin else math.prod(A.shape)


def picked(M: Any, blocks: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """For every source the one entry of v that it picks and the coefficient; -1 where there is not exactly one."""
    column, coefficient = np.full(m, -1), np.ones(m)
    if scipy.sparse.issparse(M):
        single = np.flatnonzero(row_counts(M) == 1)
        column[single], coefficient[single] = M.indices[M.indptr[single]], M.data[M.indptr[single]]
    elif isinstance(M, np.ndarray):
        may_be = np.arange(len(M))
        if M.shape[1] > 1:  # full rows have both of these
            may_be = np.flatnonzero(~np.logical_and(M[:, 0], M[:, -1]))
        if may_be.size:
            may_be = may_be[np.count_nonzero(M[may_be, :FIRST], axis=1) <= 1]
            single = may_be[np.count_nonzero(M[may_be], axis=1) == 1]
            column[single] = np.argmax(M[single] != 0, axis=1)
            coefficient[single] = M[single, column[single]]
    for place, own in blocks:
        if own is not None:
            column[own] = np.arange(place.start, place.stop)
    return column, coefficient


def general_rows(M: Any, general: np.ndarray, column: np.ndarray) -> Any:
    """The general rows: of M, and of blocks whose h is no sum over entries."""
    if not len(general):
        return None
    size, n = M.shape
    if isinstance(M, scipy.sparse.linalg.LinearOperator):
        return _rows_of(M, general, column)
    is_own = general >= size
    own = general[is_own]
    whole = len(general) == size and np.array_equal(general, np.arange(size))
    rows = M if whole else rows_of(M, general[~is_own])
    if not own.size:
        return _full(rows) if scipy.sparse.issparse(rows) else rows
    picks = picking(column[own], n)
    both = stacked_rows([rows, picks])
    order = np.empty(len(general), int)  # M's rows stand first in `both`, in the order they have in `general`
    order[np.argsort(is_own, kind="stable")] = np.arange(len(general))
    both = rows_of(both, order)
    return _full(both) if scipy.sparse.issparse(M) else both.toarray()


def _full(rows: Any) -> Any:
    """Sparse rows as a dense array, where most of the work with them would be the same."""
    size = rows.shape[0] * rows.shape[1]
    return rows.toarray() if FULL * size < rows.nnz and size <= 10**8 else rows


def _rows_of(M: Any, general: np.ndarray, column: np.ndarray) -> Any:
    """Rows of a map, and rows that pick entries, as one map."""
    size, n = M.shape
    own = general >= size
    entries = column[general[own]]

    def product(v: np.ndarray) -> np.ndarray:
        v = v.ravel()
        out = np.empty(len(general))
        out[~own] = M.matvec(v)[general[~own]]
        out[own] = v[entries]
        return out

    def adjoint(y: np.ndarray) -> np.ndarray:
        y = y.ravel()
        full = np.bincount(general[~own], y[~own], size)
        return M.rmatvec(full) + np.bincount(entries, y[own], n)

    shape = (len(general), n)
    return scipy.sparse.linalg.LinearOperator(shape, matvec=product, rmatvec=adjoint, dtype=float)
