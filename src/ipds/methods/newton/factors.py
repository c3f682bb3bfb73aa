"""Factorisations of a symmetric positive definite matrix, each with `solve(g)`: dense, banded, sparse, low rank.

None of them gives up on a matrix that rounding has made singular: a ridge of rounding size is added until it factors,
and the refinement of the system that asked (`algebra.System.solve`) takes its effect away again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ..._arrays import as_csr, row_counts, with_data

Vector = np.ndarray
Solve = Callable[[np.ndarray], np.ndarray]

RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3, 1.0)
"""Relative ridges, tried in this order; rounding of a Gram matrix is some 1e-16 in units of its diagonal.

The last ones are for an f that is not convex after all: the step is then a short one."""


MOST_DENSE = 3000
"""Rows up to which a sparse matrix may have dense factors."""
FILLED, FILLED_BY = 0.04, 1.2e-4
"""Share of the entries from which on dense factors of few rows take less time than SuperLU's, and what every further
row adds to it: SuperLU takes 5e-8 s for an entry of its factors, a dense Cholesky factor 2e-9 s·n² + 6.5e-12 s·n³."""


LONG = 20_000
"""Products of entries from which on a sparse matrix sums them faster than NumPy does; it takes longer to be made."""


def dense_cholesky(K: np.ndarray) -> Solve:
    """K = L Lᵀ, of what K has on its diagonal and above; in units in which the diagonal is one where a ridge is needed.

    K is overwritten.
    """
    if not K.size:
        return lambda g: g
    dpotrf, dpotrs = scipy.linalg.lapack.dpotrf, scipy.linalg.lapack.dpotrs
    factor, info = dpotrf(K.T, lower=1, clean=0)
    if info == 0:
        return lambda g: dpotrs(factor, g, lower=1)[0]
    diagonal = np.maximum(K.diagonal(), 0.0)
    top = float(diagonal.max(initial=0.0)) or 1.0
    s = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300 * top + 1e-300))
    K *= s
    for ridge in RIDGES:
        shifted = K * s[:, None]
        if ridge:
            shifted.flat[:: len(K) + 1] += ridge
        factor, info = dpotrf(shifted.T, lower=1, overwrite_a=1)
        if info == 0:
            return lambda g: s * dpotrs(factor, s * g, lower=1, overwrite_b=1)[0]
    raise np.linalg.LinAlgError("K is not positive definite: f is not convex")


def banded_cholesky(made: Callable[[], np.ndarray]) -> Solve:
    """The same for bands[k, j] = K[j + k, j], made for every try as it overwrites them; the first one mostly works."""
    for ridge in RIDGES:
        bands = made()
        top = float(bands[0].max(initial=0.0)) or 1.0
        bands[0] += ridge * np.maximum(bands[0], ridge * top)
        factor, info = scipy.linalg.lapack.dpbtrf(bands, lower=1, overwrite_ab=1)
        if info == 0:
            return lambda g: scipy.linalg.lapack.dpbtrs(factor, g, lower=1)[0]
    raise np.linalg.LinAlgError("K is not positive definite: f is not convex")


def sparse_lu(K: Any) -> Solve:
    """SuperLU in symmetric mode: pivots on the diagonal, ordered by minimum degree of K + Kᵀ."""
    diagonal = K.diagonal()
    for ridge in RIDGES:
        shifted = K + scipy.sparse.diags_array(ridge * np.maximum(diagonal, ridge)) if ridge else K
        try:
            return _super_lu(shifted).solve
        except RuntimeError:  # exactly singular
            continue
    raise np.linalg.LinAlgError("K is singular")


def _super_lu(K: Any) -> Any:
    return scipy.sparse.linalg.splu(
        scipy.sparse.csc_matrix(K),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def fills_in(gram: Gram) -> bool:
    """Whether the factors of a matrix are so full that dense ones take less time: those of networks without an order.

    By the entries of SuperLU's factors of one matrix of that pattern, its diagonal large enough for all pivots.
    """
    n = gram.n
    if n > MOST_DENSE:
        return False
    ones = gram.triangle(np.ones(gram.weights))
    ones[gram.diagonal] = 1.0 + 2.0 * float(np.abs(ones).sum())
    return bool(_super_lu(gram.matrix(ones)).nnz > (FILLED + FILLED_BY * n) * n * n)


def conjugate_gradients(
    product: Callable[[Vector], Vector], inverse_diagonal: Vector, tol: float = 1e-10, most: int = 2000
) -> Solve:
    """Preconditioned by the diagonal, to a relative residual `tol` or where rounding or `most` ends it."""

    def solve(g: Vector) -> Vector:
        x, r = np.zeros_like(g), g.copy()
        p = s = inverse_diagonal * r
        rho, goal = float(r @ s), tol * float(np.linalg.norm(g))
        for _ in range(most):
            if np.linalg.norm(r) <= goal:
                break
            Kp = product(p)
            curvature = float(p @ Kp)
            if not curvature > 0:
                break
            step = rho / curvature
            x = x + step * p
            r = r - step * Kp
            s = inverse_diagonal * r
            rho, before = float(r @ s), rho
            p = s + (rho / before) * p
        return x

    return solve


class Gram:
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
        pattern, place = np.unique(np.concatenate(keys), return_inverse=True)
        self.row, self.column = np.divmod(pattern, n)
        """Places of the entries; the diagonal is always among them."""
        self.diagonal = place[:n]
        self._owner = np.concatenate([np.empty(0, int), *owners])
        self._values = np.concatenate([np.empty(0), *values])
        self._place = place[n : n + len(self._owner)]
        if Q is not None:
            self._constant = np.bincount(place[n + len(self._owner) :], lower.data, len(pattern))
        self.n = n

    @staticmethod
    def work(R: Any) -> int:
        """Number of products that make the entries."""
        return Gram.pairs(row_counts(R))

    @staticmethod
    def pairs(counts: np.ndarray) -> int:
        """The same for rows of so many entries."""
        counts = counts.astype(np.int64)
        return int(np.sum(counts * (counts + 1) // 2))

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

    def matrix(self, data: Vector) -> Any:
        """A lower triangle as a whole symmetric sparse matrix."""
        whole, place = self._whole
        return with_data(whole, data[place])

    def dense(self, data: Vector) -> np.ndarray:
        """The same as a dense array above its diagonal, and 0 below: what `dense_cholesky` reads."""
        K = np.zeros(self.n * self.n)
        K[self._above] = data
        return K.reshape(self.n, self.n)

    @cached_property
    def _above(self) -> np.ndarray:
        return self.column * self.n + self.row

    @cached_property
    def _whole(self) -> tuple[Any, np.ndarray]:
        """The pattern of the whole matrix, and where in the lower triangle its entries are."""
        off = np.flatnonzero(self.row != self.column)
        rows, columns = np.append(self.row, self.column[off]), np.append(self.column, self.row[off])
        place = np.append(np.arange(len(self.row)), off)
        pattern = scipy.sparse.coo_array((place + 1.0, (rows, columns)), shape=(self.n, self.n)).tocsc()
        return pattern, pattern.data.astype(int) - 1


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
