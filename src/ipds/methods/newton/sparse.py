"""Factors of a sparse K = Q + rest + diag + RᵀWR: banded after reverse Cuthill-McKee where the band is narrow, else
SuperLU's, or dense ones where these fill in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..._arrays import as_csr, row_counts
from .factors import Gram, banded_cholesky, dense_cholesky, fills_in, sparse_lu
from .weights import Weights

if TYPE_CHECKING:
    from .strategies import Factorised

BANDWIDTH = 150
"""Widest band that is factorised as one: beyond, SuperLU's fill is less work."""
PAIRS = 20_000_000
"""Products that the entries of a sparse Gram matrix may be made of: they are in memory at once."""


def reordered(R: Any, others: Sequence[Any], gram: Gram | None = None) -> tuple[np.ndarray, int]:
    """An order of the columns in which RᵀR and the others have a narrow band, and its width.

    As they are where the entries of the longest row are next to each other: no order is better then. With the `gram` of
    R alone the pattern is known.
    """
    R = as_csr(R)
    counts = row_counts(R)
    if not others and R.nnz:
        starts = R.indptr[:-1][counts > 0]
        width = int(np.max(np.maximum.reduceat(R.indices, starts) - np.minimum.reduceat(R.indices, starts)))
        if width < counts.max():
            return np.arange(R.shape[1]), width
    if gram is None:
        ones = abs(R)
        added = sum((abs(A) for A in others), ones.T @ ones + scipy.sparse.eye_array(R.shape[1]))
        pattern = as_csr(added)
        row, column = pattern.tocoo().coords
    else:
        pattern, row, column = gram.matrix(np.ones(len(gram.row))), gram.row, gram.column
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True)
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    return order, int(np.max(np.abs(place[row] - place[column]), initial=0))


class Sparse:
    """K by `Gram` where ∇²f `is_constant`, and what groups take from RᵀWR is by their couples of rows."""

    def __init__(self, n: int, Q: Any, others: Sequence[Any], R: Any, W: Weights, is_constant: bool):
        self.n, self.Q, self.R, self.gram = n, Q, R, None
        counts, members = row_counts(R), R.shape[0] - W.general + W.members
        together = np.bincount(W.label, np.maximum(counts[members], 1))
        if is_constant and not W.low and Gram.pairs(counts) + float(together @ together) <= PAIRS:
            self.couples = W.couples()
            self.gram = Gram(R, members[self.couples], Q)
        self.order, self.width = reordered(R, others, self.gram)
        self.is_in_order = bool((self.order == np.arange(n)).all())
        self.place = np.empty(n, int)
        self.place[self.order] = np.arange(n)
        self.is_dense = self.gram is not None and self.width > BANDWIDTH and fills_in(self.gram)
        if self.gram is not None:
            self.slots = self._in_bands(self.gram.row, self.gram.column)

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        if self.gram is not None:
            data = self.gram.entries(W.coupled(w, self.couples), diagonal)
            if self.is_dense:
                return dense_cholesky(self.gram.dense(data)), None
            if self.width > BANDWIDTH:
                return sparse_lu(self.gram.matrix(data)), None
            slots = self.slots
        else:
            K = self._assembled(w, diagonal, rest, W)
            if self.width > BANDWIDTH:
                return sparse_lu(K), None
            coo = scipy.sparse.coo_array(K)
            coo.sum_duplicates()
            lower = coo.row >= coo.col
            data, slots = coo.data[lower], self._in_bands(coo.row[lower], coo.col[lower])

        def bands() -> np.ndarray:
            made = np.zeros((self.width + 1) * self.n)
            made[slots] = data
            return made.reshape(self.n, self.width + 1).T

        solve = banded_cholesky(bands)
        return (solve if self.is_in_order else lambda g: solve(g[self.order])[self.place]), None

    def _in_bands(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Where entries of the lower triangle stand in the bands, column after column."""
        row, column = self.place[row], self.place[column]
        return np.minimum(row, column) * (self.width + 1) + np.abs(row - column)

    def _assembled(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Any:
        K = self.R.T @ scipy.sparse.diags_array(w) @ self.R + scipy.sparse.diags_array(diagonal)
        for A in (self.Q, rest):
            if A is not None:
                K = K + A
        general = self.R[len(w) - W.general :]
        if W.members.size:
            P, drop = W.lowered(general)
            K = K - P.T @ scipy.sparse.diags_array(drop) @ P
        return K
