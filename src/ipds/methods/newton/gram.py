"""RᵀWR for many W."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ..._arrays import as_csr, row_counts, with_data
from .factors import Vector
from .patterns import Pattern

PAIRS = 20_000_000
"""Products that the entries of a sparse Gram matrix may be made of: they are in memory at once."""
LONG = 20_000
"""Products of entries from which on a sparse matrix sums them faster than NumPy does; it takes longer to be made."""


class Gram(Pattern):
    """Q + RᵀWR for sparse R and Q and many W: the pattern is found once, the entries are one sparse product with W.

    Entry (i, j) of RᵀWR is Σ R_ki R_lj w_kl, so the lower triangle is T w with a sparse T made here. W is diagonal, but
    for `couples` (k, l) of rows, k ≠ l, whose w_kl = w_lk follow the diagonal in w.
    """

    def __init__(self, R: Any, couples: Any = (), Q: Any = None):
        R = as_csr(R)
        R.sort_indices()
        n, counts = R.shape[1], row_counts(R)
        keys, owners, values = [np.arange(n) * n + np.arange(n)], [], []
        for count in np.unique(counts[counts > 0]):
            rows = np.flatnonzero(counts == count)
            places = R.indptr[rows][:, None] + np.arange(count)
            columns, entries = R.indices[places].astype(np.int64), R.data[places]
            i, j = np.tril_indices(count)  # columns are sorted: i ≥ j is the lower triangle
            keys.append((columns[:, i] * n + columns[:, j]).ravel())
            owners.append(np.repeat(rows, len(i)))
            values.append((entries[:, i] * entries[:, j]).ravel())
        self.weights = R.shape[0] + len(couples)
        for key, owner, value in _coupled(R, np.asarray(couples)) if len(couples) else ():
            keys.append(key)
            owners.append(R.shape[0] + owner)
            values.append(value)
        self._constant: np.ndarray | None = None
        if Q is not None:
            lower = scipy.sparse.tril(Q, format="coo")
            keys.append(lower.row.astype(np.int64) * n + lower.col)
        found, place = np.unique(np.concatenate(keys), return_inverse=True)
        super().__init__(n, found)
        self._owner = np.concatenate([np.empty(0, int), *owners])
        self._values = np.concatenate([np.empty(0), *values])
        self._place = place[n : n + len(self._owner)]
        if Q is not None:
            self._constant = np.bincount(place[n + len(self._owner) :], lower.data, len(found))

    @staticmethod
    def work(R: Any) -> int:
        """Number of products that make the entries."""
        return Gram.pairs(row_counts(R))

    @staticmethod
    def pairs(counts: np.ndarray) -> int:
        """The same for rows of so many entries."""
        counts = counts.astype(np.int64)
        return int(np.sum(counts * (counts + 1) // 2))

    @staticmethod
    def fills(R: Any, share: float, further: int = 0) -> bool:
        """Whether the lower triangle of RᵀR, and `further` entries, fill more than this share of n².

        By the number of products, which is no less; and by the entries where there are not too many products: rows that
        see the same columns make the same entries.
        """
        room, work = share * R.shape[1] ** 2 - further, Gram.work(R)
        if work <= room or work > PAIRS:
            return work > room
        ones = with_data(R, np.ones(R.nnz, np.float32))
        return bool(((ones.T @ ones).nnz + R.shape[1]) // 2 > room)

    @cached_property
    def _map(self) -> Any:
        """T."""
        shape = len(self.row), self.weights
        return scipy.sparse.csr_array((self._values, (self._place, self._owner)), shape=shape)

    def triangle(self, w: Vector) -> Vector:
        """The lower triangle of Q + RᵀWR: T w, and what is constant."""
        if len(self._values) > LONG:
            found = self._map @ w
        else:  # sums of nothing are integers
            summed = np.bincount(self._place, self._values * w[self._owner], len(self.row))
            found = summed.astype(float, copy=False)
        return found if self._constant is None else found + self._constant

    def entries(self, w: Vector, diagonal: Vector) -> Vector:
        """The lower triangle of Q + RᵀWR + diag."""
        data = self.triangle(w)
        data[self.diagonal] += diagonal
        return data


def _coupled(R: Any, couples: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(place, couple, value) of the products R_ki R_lj and R_li R_kj of couples of rows in the lower triangle.

    By the numbers of entries of both, which are few.
    """
    n, counts = R.shape[1], row_counts(R)[couples]
    for sizes in np.unique(counts, axis=0):
        chosen = np.flatnonzero((counts == sizes).all(axis=1))
        first, second = (R.indptr[couples[chosen, t]][:, None] + np.arange(sizes[t]) for t in (0, 1))
        i, j = R.indices[first].astype(np.int64)[:, :, None], R.indices[second].astype(np.int64)[:, None, :]
        products = R.data[first][:, :, None] * R.data[second][:, None, :]
        key = np.maximum(i, j) * n + np.minimum(i, j)
        yield (
            key.ravel(),
            np.repeat(chosen, math.prod(sizes)),
            np.where(i == j, 2.0, 1.0).ravel() * products.ravel(),
        )
