"""K with its rows beside it, for rows whose W has no digits as a matrix: those of cones near a solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy

from ..._arrays import as_csr, to_dense
from .factors import Solve
from .patterns import Pattern
from .strategies import Factorised
from .weights import Weights

THIN, SMALL = 0.05, 400
"""Share of entries other than 0 up to which a matrix is factorised as a sparse one, unless it is so small."""


def entries_of(A: Any) -> float:
    """Those that a matrix has: 0 for none or a diagonal, ∞ for one that is known by its products."""
    if A is None or len(A.shape) == 1:
        return 0
    if scipy.sparse.issparse(A):
        return int(A.nnz)
    return math.prod(A.shape) if isinstance(A, np.ndarray) else math.inf


class Saddle:
    """The factors of [K - RᵀwR, Rᵀ; R, -w⁻¹]: W⁻¹ is used, and never inverted.

    The symmetric ones of Bunch and Kaufman; where it is large and has few entries, as trajectories have, those of its
    `Pattern`, which is kept from one matrix to the next.
    """

    def __init__(self, n: int, Q: Any, rows: Sequence[Any]):
        self.n, self.Q, self.rows = n, Q, rows
        self.size = n + sum(A.shape[0] for A in rows)
        self._grouped: np.ndarray | None = None
        self._kept: tuple[Pattern, np.ndarray] | None = None
        self._found = np.empty((0, 2), int), np.empty(0, int)
        """The pairs before, and where they are."""

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        n, off = self.n, w <= 0
        soft = 1 / np.where(off, 1.0, w)
        inverse = W._replace(diagonal=soft[len(w) - W.general :], along=1 / W.along)
        factorised = self._sparse if self._is_thin(rest, W) else self._dense
        solve = factorised(soft, diagonal, rest, inverse, off)

        def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = solve(np.concatenate([a, np.where(off, 0.0, b)]))
            return found[:n], found[n:]

        return (lambda g: augmented(g, np.zeros(len(w)))[0]), augmented

    def serves(self, rest: Any, W: Weights) -> bool:
        """Whether it takes little time where W is no matter of inverses, too."""
        return not (W.low or W.blocks) and self._is_thin(rest, W)

    def _is_thin(self, rest: Any, W: Weights) -> bool:
        """Whether few entries are not 0."""
        if self.size <= SMALL:
            return False
        changing = sum(blocks.size for _, blocks in W.inverses) + W.grouped + entries_of(rest)
        return self.size + 2 * len(self._still.data) + changing <= THIN * self.size**2

    @cached_property
    def _still(self) -> Any:
        """What stays in the lower triangle."""
        n, R = self.n, scipy.sparse.vstack([as_csr(A) for A in self.rows])
        Q = scipy.sparse.csr_array((n, n)) if self.Q is None else scipy.sparse.tril(self.Q)
        empty = scipy.sparse.csr_array((self.size - n, self.size - n))
        return scipy.sparse.block_array([[Q, None], [R, empty]], format="coo")

    @cached_property
    def _start(self) -> np.ndarray:
        """The same as an array."""
        start = np.zeros((self.size, self.size), order="F")
        if self.Q is not None:
            start[: self.n, : self.n] = to_dense(self.Q)
        start[self.n :, : self.n] = np.vstack([to_dense(A) for A in self.rows])
        return start

    def _dense(
        self, soft: np.ndarray, diagonal: np.ndarray, rest: Any, inverse: Weights, off: np.ndarray
    ) -> Solve:
        n, size = self.n, self.size
        A = self._start.copy(order="F")
        if rest is not None:
            A[:n, :n] += to_dense(rest)
        if off.any():  # rows that do not count: t = 0
            A[n:, :n][off] = 0.0
        A.T.flat[: n * size : size + 1] += diagonal
        A.T.flat[n * size + n :: size + 1] = -soft
        first = size - inverse.general
        if inverse.members.size:
            E = np.zeros((len(inverse.along), len(inverse.members)))
            E[inverse.label, np.arange(len(inverse.members))] = inverse.direction
            grouped = np.ix_(first + inverse.members, first + inverse.members)
            A[grouped] -= E.T @ ((inverse.along - inverse.across())[:, None] * E)
        for rows, blocks in inverse.inverses:
            for begin, block in zip(first + rows[:, 0], blocks, strict=True):
                own = slice(begin, begin + len(block))
                A[own, own] = -block
        factors, pivots, info = scipy.linalg.lapack.dsytrf(A, lower=1, lwork=32 * size, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("the saddle-point matrix is singular")
        return lambda right: scipy.linalg.lapack.dsytrs(factors, pivots, right, lower=1)[0]

    def _sparse(
        self, soft: np.ndarray, diagonal: np.ndarray, rest: Any, inverse: Weights, off: np.ndarray
    ) -> Solve:
        n, first, couples = self.n, len(soft) - inverse.general, self._couples(inverse)
        coupled = inverse.coupled(soft, couples)
        on, pairs, values = -coupled[: len(soft)], [inverse.members[couples]], [-coupled[len(soft) :]]
        for rows, blocks in inverse.inverses:
            below = _below(rows.shape[1])
            on[first + rows] = -blocks.diagonal(axis1=1, axis2=2)
            pairs.append(rows[:, below].reshape(-1, 2))
            values.append(-blocks[:, below[:, 0], below[:, 1]].ravel())
        further = n + first + np.concatenate(pairs)
        if rest is not None:
            lower = scipy.sparse.tril(rest, format="coo")
            further = np.concatenate([further, np.stack(lower.coords, axis=1)])
            values.append(lower.data)
        pattern, place, still = self._pattern(further)
        data = still + np.bincount(place, np.concatenate(values), len(still))
        data[pattern.diagonal] += np.concatenate([diagonal, on])
        if off.any():
            is_off = np.concatenate([np.zeros(n, bool), off])
            data[(is_off[pattern.row] | is_off[pattern.column]) & (pattern.row != pattern.column)] = 0.0
        return pattern.indefinite(data)

    def _couples(self, inverse: Weights) -> np.ndarray:
        """Those of rows in groups, which stay the same."""
        if self._grouped is None:
            self._grouped = inverse.couples()
        return self._grouped

    def _pattern(self, pairs: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
        """A pattern with these pairs, where they are, and what stays: the one before, unless it lacks some."""
        size, (before, place) = self.size, self._found
        if self._kept is not None and np.array_equal(pairs, before):
            return self._kept[0], place, self._kept[1]
        keys = pairs.max(axis=1) * size + pairs.min(axis=1)
        known = np.arange(size) * (size + 1)
        if self._kept is not None:
            known = self._kept[0].keys
            place = np.searchsorted(known, keys)
            if np.array_equal(known.take(place, mode="clip"), keys):
                self._found = pairs, place
                return self._kept[0], place, self._kept[1]
        own = self._still.row.astype(np.int64) * size + self._still.col
        found = np.unique(np.concatenate([known, own, keys]))
        still = np.bincount(np.searchsorted(found, own), self._still.data, len(found))
        self._kept, self._found = (Pattern(size, found), still), (pairs, np.searchsorted(found, keys))
        return self._kept[0], self._found[1], still


@lru_cache
def _below(count: int) -> np.ndarray:
    """The (rows, columns) below the diagonal of a matrix of so many, one after the other."""
    return np.stack(np.tril_indices(count, -1), axis=1)
