"""Equations that say nothing: 0 = 0, and those that repeat another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from .._arrays import row_squares
from ..functions import Box
from ..operators import Matrix
from .draft import Draft, Group
from .recovery import FromRows
from .slack import as_map

SAME = 1e-12
"""Rows of norm one nearer than this are the same."""


def leave_out_repeated(draft: Draft) -> None:
    """Drop rows of equations that are zero or a multiple of an earlier one, with the right-hand side alike.

    The multiplier of such a row is zero. Rows that contradict another one stay.
    """
    for group in draft.groups:
        h = group.h
        if not (isinstance(h, Box) and _is_zero(h.lo) and _is_zero(h.hi)):
            continue
        matrices = {v: N.as_matrix(v.shape) for v, N in group.terms.items()}
        if not matrices or any(matrix is None for matrix in matrices.values()):
            continue
        right = np.full(group.shape, group.c).reshape(-1)
        keep = _telling(list(matrices.values()), right)
        if keep.size in (0, right.size) or not _cut_recovery(draft, group, keep):
            continue
        dropped = right.size - keep.size
        draft.notes.append(f"{dropped} equation{'s' if dropped > 1 else ''} that said nothing new left out")
        group.terms = {v: as_map(_rows(matrix, keep), v.shape) for v, matrix in matrices.items()}
        group.c, group.shape = right[keep], (keep.size,)


def _is_zero(bound: Any) -> bool:
    return bound == 0.0 if type(bound) is float else bool(np.all(np.asarray(bound) == 0))


def _telling(matrices: list[Any], right: np.ndarray) -> np.ndarray:
    """Indices of the rows of [A_1 A_2 …] x = right that are not zero and repeat no earlier one."""
    size: Any = np.sqrt(sum(map(row_squares, matrices)))
    unit = np.where(size > 0, size, 1.0)
    # equal rows have equal products with any vector, others almost surely not
    product, begin = np.zeros(len(size)), 0
    for A in matrices:
        product, begin = product + A @ np.sin(1.0 + np.arange(begin, begin + A.shape[1])), begin + A.shape[1]
    mark = np.abs(product) / unit
    order = mark.argsort(kind="stable")
    marks = mark[order]
    apart = not (marks[1:] - marks[:-1] <= 1e-9 * np.maximum(marks[1:], 1e-3)).any()
    if apart and size.all():
        return np.arange(len(size))
    keep = (size > 0) | (np.abs(right) > SAME * np.abs(right).max(initial=0.0))
    if apart:
        return np.flatnonzero(keep)
    begin = 0
    for k, row in enumerate(order):
        while mark[row] - mark[order[begin]] > 1e-9 * max(mark[row], 1e-3):
            begin += 1
        if not keep[row] or size[row] == 0:
            continue
        for other in order[begin:k]:
            if keep[other] and _repeats(matrices, right, unit, product, row, other):
                keep[max(row, other)] = False
                break
    return np.flatnonzero(keep)


def _repeats(
    matrices: list[Any], right: np.ndarray, unit: np.ndarray, product: np.ndarray, i: int, j: int
) -> bool:
    """Whether rows i and j are multiples of one another, right-hand sides included."""
    sign = 1.0 if product[i] * product[j] >= 0 else -1.0
    gap = sum(
        float(np.sum(np.square(_dense(A, i) / unit[i] - sign * _dense(A, j) / unit[j]))) for A in matrices
    )
    a, b = right[i] / unit[i], sign * right[j] / unit[j]
    return gap <= SAME**2 and abs(a - b) <= SAME * max(abs(a), abs(b), 1.0)


def _dense(A: Any, row: int) -> np.ndarray:
    return A[[row]].toarray().ravel() if scipy.sparse.issparse(A) else A[row]


def _rows(matrix: Any, keep: np.ndarray) -> Any:
    return scipy.sparse.csr_array(matrix)[keep] if scipy.sparse.issparse(matrix) else matrix[keep]


def _cut_recovery(draft: Draft, group: Group, keep: np.ndarray) -> bool:
    """Let the owner of the rows know which are left; False where it cannot be told."""
    if draft.rest is not None and group is draft.rest[0]:
        rows = draft.rest[1]
        draft.rest = group, keep if rows is None else rows[keep]
        return True
    for i, found in enumerate(draft.blocks):
        if isinstance(found, FromRows) and found.group is group:
            if not isinstance(found.C, Matrix) or len(group.shape) > 1:
                return False
            draft.blocks[i] = replace(found, C=Matrix(_rows(found.C.matrix, keep)))
            return True
    return False
