"""Factors of a sparse K = Q + rest + diag + RᵀWR, whose pattern mostly stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..._arrays import as_csr, entry_rows, row_counts
from .gram import Gram
from .patterns import Pattern, narrowed
from .weights import Weights

if TYPE_CHECKING:
    from .strategies import Factorised

PAIRS = 20_000_000
"""Products that the entries of a sparse Gram matrix may be made of: they are in memory at once."""


def reordered(R: Any) -> tuple[np.ndarray, int]:
    """An order of the columns in which RᵀR has a narrow band, and its width.

    As they are where the entries of the longest row are next to each other: no order is better then.
    """
    R = as_csr(R)
    counts = row_counts(R)
    if R.nnz:
        starts = R.indptr[:-1][counts > 0]
        width = int(np.max(np.maximum.reduceat(R.indices, starts) - np.minimum.reduceat(R.indices, starts)))
        if width < counts.max():
            return np.arange(R.shape[1]), width
    ones = abs(R)
    pattern = as_csr(ones.T @ ones + scipy.sparse.eye_array(R.shape[1]))
    return narrowed(pattern, *pattern.tocoo().coords)


class Sparse:
    """K by `Gram` where ∇²f `is_constant`, and what groups take from RᵀWR is by their couples of rows; else by the
    pattern of the one before, where it is the same."""

    def __init__(self, n: int, Q: Any, R: Any, W: Weights, is_constant: bool):
        self.n, self.Q, self.R = n, Q, R
        self.gram: Gram | None = None
        self._pattern: Pattern | None = None
        counts, members = row_counts(R), R.shape[0] - W.general + W.members
        together = np.bincount(W.label, np.maximum(counts[members], 1))
        if is_constant and not W.low and Gram.pairs(counts) + float(together @ together) <= PAIRS:
            self.couples = W.couples()
            self.gram = Gram(R, members[self.couples], Q)

    @property
    def is_full(self) -> bool:
        """Whether its factors are dense ones."""
        return self.gram is not None and not self.gram.is_banded and self.gram.is_full

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        if self.gram is not None:
            return self.gram.definite(self.gram.entries(W.coupled(w, self.couples), diagonal)), None
        K = scipy.sparse.tril(self._assembled(w, diagonal, rest, W), format="csr")
        K.sum_duplicates()
        keys = entry_rows(K) * self.n + K.indices
        if self._pattern is None or not np.array_equal(keys, self._pattern.keys):
            self._pattern = Pattern(self.n, keys)
        return self._pattern.definite(K.data), None

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
