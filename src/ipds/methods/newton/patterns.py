"""Symmetric sparse matrices of one pattern, and their factors: where an entry goes is found once.

Banded after reverse Cuthill-McKee where the band is narrow, else SuperLU's in the order that it chose for the first of
them, or dense ones where these fill in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ..._arrays import with_data
from .factors import Solve, Vector, banded_cholesky, banded_lu, dense_cholesky, sparse_cholesky, sparse_lu

BANDWIDTH, NARROW = 150, 0.25
"""Widest band that is factorised as one, and its part of the rows: beyond, SuperLU's fill, or a dense one, is less
work."""
MOST_DENSE = 6000
"""Rows up to which a sparse matrix may have dense factors: of more they take a gigabyte."""
FULL = 0.05
"""Share of the entries in its lower triangle from which on a matrix without a narrow band does."""
FILLED, FILLED_BY, LONG = 0.04, 1.2e-4, 3000
"""The same of the entries of SuperLU's factors where rows are few, and what every further row adds to it up to so many:
SuperLU takes 5e-8 s for an entry of its factors, in longer ones 1.7e-11 s·n, a dense Cholesky factor
2e-9 s·n² + 6.5e-12 s·n³."""


def narrowed(pattern: Any, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, int]:
    """An order of a symmetric pattern, with entries in these places, in which its band is narrow, and its width."""
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True)
    place = inverse(order)
    return order, int(np.max(np.abs(place[row] - place[column]), initial=0))


def inverse(order: np.ndarray) -> np.ndarray:
    """Where each one stands in an order."""
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    return place


class Pattern:
    """The places of entries in the lower triangle, row by row; all of the diagonal is among them."""

    def __init__(self, n: int, keys: np.ndarray):
        """`keys` are row·n + column, in order."""
        self.n, self.keys = n, keys
        self.row, self.column = np.divmod(keys, n)
        self.diagonal = np.searchsorted(keys, np.arange(n) * (n + 1))
        self.width = 0
        """Of the band, where there is one."""
        self.order: np.ndarray | None = None
        """That of rows and columns there, unless they are as they were."""
        self.place: np.ndarray | None = None
        """Where each of them is then."""
        self._kept: tuple[Any, np.ndarray, np.ndarray, np.ndarray] | None = None

    def matrix(self, data: Vector) -> Any:
        """A lower triangle as a whole symmetric sparse matrix."""
        whole, source = self._by_columns
        return with_data(whole, data[source])

    def dense(self, data: Vector) -> np.ndarray:
        """The same as a dense array above its diagonal, and 0 below: what `dense_cholesky` reads."""
        K = np.zeros(self.n * self.n)
        K[self._above] = data
        return K.reshape(self.n, self.n)

    def definite(self, data: Vector) -> Solve:
        """The solver of a positive definite one."""
        if self.is_banded:
            return self._ordered(banded_cholesky(lambda: _bands(self._lower, data, self.n, self.width + 1)))
        if self.is_full:
            return dense_cholesky(self.dense(data))
        return self._by_super_lu(sparse_cholesky, data)

    def indefinite(self, data: Vector) -> Solve:
        """The solver of one that is not, by pivots of every row; LinAlgError where it is singular."""
        if not self.is_banded:
            return self._by_super_lu(sparse_lu, data)
        places, source = self._both
        bands = _bands(places, data[source], self.n, 3 * self.width + 1)
        return self._ordered(banded_lu(bands, self.width))

    @cached_property
    def is_full(self) -> bool:
        """Whether factors are so full that dense ones take less time: those of networks without an order.

        By the entries of SuperLU's factors of one matrix of that pattern, its diagonal large enough for all pivots.
        """
        n = self.n
        if n > MOST_DENSE or len(self.keys) > FULL * n * n:
            return n <= MOST_DENSE
        ones = np.ones(len(self.keys))
        ones[self.diagonal] += 2 * n
        factors = sparse_cholesky(self.matrix(ones))
        self._keep(factors)
        return bool(factors.nnz > (FILLED + FILLED_BY * min(n, LONG)) * n * n)

    @cached_property
    def is_banded(self) -> bool:
        """Whether the band is narrow in some order, that of the rows where there is no better one."""
        n, most = self.n, min(BANDWIDTH, int(NARROW * self.n))
        if len(self.keys) > (most + 1) * n:
            return False
        meetings = np.bincount(self.row, minlength=n) + np.bincount(self.column, minlength=n) - 2
        self.width = int((self.row - self.column).max(initial=0))
        if self.width > (meetings.max(initial=0) + 1) // 2:
            pattern = self.matrix(np.ones(len(self.keys)))
            self.order, self.width = narrowed(pattern, self.row, self.column)
            self.place = inverse(self.order)
        return self.width <= most

    def _ordered(self, solve: Solve) -> Solve:
        order, place = self.order, self.place
        return solve if order is None else lambda g: solve(g[order])[place]

    @cached_property
    def _lower(self) -> np.ndarray:
        """Where entries stand among the bands on and below the diagonal, column after column."""
        row, column = self._placed(self.row, self.column)
        return np.minimum(row, column) * (self.width + 1) + np.abs(row - column)

    @cached_property
    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of both triangles among all bands, below those that pivots fill."""
        row, column, source = self._whole
        row, column = self._placed(row, column)
        return column * (3 * self.width + 1) + 2 * self.width + row - column, source

    def _placed(self, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (row, column) if self.place is None else (self.place[row], self.place[column])

    def _by_super_lu(self, factorise: Callable[..., Any], data: Vector) -> Solve:
        """In the order that SuperLU chose for the first one."""
        if self._kept is None:
            factors = factorise(self.matrix(data))
            self._keep(factors)
            return factors.solve
        matrix, source, order, place = self._kept
        solve = factorise(with_data(matrix, data[source]), permc_spec="NATURAL").solve
        return lambda g: solve(g[order])[place]

    def _keep(self, factors: Any) -> None:
        place = factors.perm_c
        self._kept = *self._sorted(place), inverse(place), place

    @cached_property
    def _above(self) -> np.ndarray:
        return self.column * self.n + self.row

    @cached_property
    def _whole(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, columns) of both triangles, and where in the lower one their entries are."""
        off = np.flatnonzero(self.row != self.column)
        source = np.append(np.arange(len(self.row)), off)
        return np.append(self.row, self.column[off]), np.append(self.column, self.row[off]), source

    @cached_property
    def _by_columns(self) -> tuple[Any, np.ndarray]:
        return self._sorted(np.arange(self.n))

    def _sorted(self, place: np.ndarray) -> tuple[Any, np.ndarray]:
        """The whole matrix by columns with its rows and columns in these places, and where its entries come from."""
        row, column, source = self._whole
        triple = source + 1.0, (place[row], place[column])
        matrix = scipy.sparse.coo_array(triple, shape=(self.n, self.n)).tocsc()
        return matrix, matrix.data.astype(int) - 1


def _bands(places: np.ndarray, data: Vector, n: int, height: int) -> np.ndarray:
    """Column after column of so many bands, with entries in these places."""
    made = np.zeros(height * n)
    made[places] = data
    return made.reshape(n, height).T
