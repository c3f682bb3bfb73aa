"""Columns that have one entry in all rows, as slack variables do: they soften their rows, and leave the matrix.

A row k with the weight w and the slack column p adds w(R_k x + a x_p)² + d x_p² to xᵀK x. Its minimum over x_p is

    w'(R_k x)²,  w' = w d/(d + w a²),

so that K without such columns is of the same form with weights w', and much smaller where a program is written with
one slack for each of its rows: support vectors, expected shortfalls, soft constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import as_csr, products_with, transposed
from .weights import Weights

if TYPE_CHECKING:
    from .strategies import Factorised, Strategy

MANY, SHARE = 100, 0.25
"""Columns from which on slack ones are looked for, and the part of them that is worth it."""
LOOKS = 16
"""Rows of a dense matrix that tell of most columns that they have more than one entry."""


class Slacks(NamedTuple):
    """Slack columns of stacked rows, one in a row at most."""

    columns: np.ndarray
    rows: np.ndarray
    """The row of each."""
    entries: np.ndarray
    """The entry of each."""
    others: np.ndarray
    """All other columns."""


def slacks_of(n: int, Q: Any, rows: Sequence[Any]) -> Slacks | None:
    """The slack columns of the rows that Q does not touch either; None where they are few."""
    if n < MANY or not rows:
        return None
    single = np.flatnonzero(sum((counts_of(A) for A in rows), np.zeros(n, int)) == 1)
    if len(single) >= SHARE * n and Q is not None:
        single = single[np.diff(scipy.sparse.csc_array(Q[:, single]).indptr) == 0]
    if len(single) < SHARE * n:
        return None
    stacked = scipy.sparse.vstack([scipy.sparse.csc_array(A[:, single]) for A in rows], format="csc")
    stacked.eliminate_zeros()
    _, first = np.unique(stacked.indices, return_index=True)
    if len(first) < SHARE * n or len(first) == n:  # or rows that pick entries
        return None
    columns, others = single[first], np.ones(n, bool)
    others[columns] = False
    return Slacks(columns, stacked.indices[first], stacked.data[first], np.flatnonzero(others))


def counts_of(A: Any) -> np.ndarray:
    """The entries in every column, or some two where there are more."""
    n = A.shape[1]
    if scipy.sparse.issparse(A):
        A = as_csr(A)
        return np.bincount(A.indices[A.data != 0], minlength=n)
    found = np.count_nonzero(A[:LOOKS], axis=0)
    left = np.flatnonzero(found < 2)
    if len(left) >= SHARE * n:
        found[left] += np.count_nonzero(A[LOOKS:, left], axis=0)
    return found


class Softened:
    """K by that of the other columns, with the weights w'."""

    def __init__(self, slacks: Slacks, rows: Sequence[Any], inner: Strategy):
        self.slacks, self.inner = slacks, inner
        self.products = [products_with(A) for A in rows]
        self.adjoints = [products_with(transposed(A)) for A in rows]
        self.ends = np.cumsum([0, *(A.shape[0] for A in rows)])

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        columns, at, entries, others = self.slacks
        pivot, softer = diagonal[columns] + w[at] * entries**2, w.copy()
        softer[at] = w[at] * (diagonal[columns] / pivot)
        share = w[at] * entries / pivot
        solved, inner = self.inner.factorise(softer, diagonal[others], rest, W)

        def whole(x: np.ndarray, a: np.ndarray, b: Any) -> np.ndarray:
            out = np.empty(len(diagonal))
            out[others] = x
            out[columns] = a[columns] / pivot + share * (b - self._apply(x)[at])
            return out

        def left(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            t = np.zeros(len(w))
            t[at] = share * a[columns]
            return a[others] - self._adjoint(t), t

        def solve(a: np.ndarray) -> np.ndarray:
            return whole(solved(left(a)[0]), a, 0.0)

        def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            right, more = left(a)
            x, t = inner(right, b)  # type: ignore[misc]
            return whole(x, a, b[at]), t + more

        return solve, None if inner is None else augmented

    def _apply(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([product(x) for product in self.products])

    def _adjoint(self, t: np.ndarray) -> np.ndarray:
        pieces = zip(self.adjoints, self.ends[:-1], self.ends[1:], strict=True)
        return sum((adjoint(t[i:j]) for adjoint, i, j in pieces), np.zeros(len(self.slacks.others)))
