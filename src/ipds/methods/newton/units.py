"""Units of rows and columns: v = C v', u' = E u, so that those of M have norm one and ∇²f is of one size."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import entry_rows, norm, products_with, transposed

PASSES = 10
"""Passes of Ruiz' scaling at most: each takes the square root of what is left to do."""
EVEN = 1.1
"""Largest factor of a pass that is the last: the units are rounded to powers of two."""
POWERS = 4
"""Power iterations for ‖M‖, a unit: within a factor of two it does not matter."""
ORTHONORMAL = 1000
"""Columns up to which rows without anything else are made orthonormal where it helps."""
SLANTED = 0.01
"""Smallest pivot, relative to the largest, of columns that are left as they are."""
DEPENDENT = 1e-13
"""Smallest pivot of columns that are not dependent."""
AGREEING = 1e-9
"""Rounding of equations that depend on each other."""


def equilibrated(G: Any, n: int, curvature: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E, C): rows of diag(E) G diag(C) near norm one, its columns and those of √diag(∇²f) near a common norm.

    The first rows share a unit with those of the same `owner`, numbers in order.
    """
    E, C, root = np.ones(0 if G is None else G.shape[0]), np.ones(n), np.maximum(curvature, 0.0)
    if isinstance(G, scipy.sparse.linalg.LinearOperator):
        return E, C
    squares = None if G is None else _Squares(G)
    counts, members = np.maximum(np.bincount(owner), 1), slice(0, len(owner))
    # from here on squares: E, C, sizes, and the unit f of f's rows √(∇²f)_jj, one for all: they stand for column norms
    is_curved = bool(root.any())
    f, change = 1.0, np.ones(1)
    if squares is not None:  # one unit for all rows, so that passes are left with their differences
        E /= float(squares.of_rows(C).sum()) / len(E) or 1.0
    for _ in range(PASSES if squares is not None or is_curved else 0):
        if squares is not None:
            size = E * squares.of_rows(C)
            if owner.size:  # the mean of rows that share a unit
                size[members] = (np.bincount(owner, size[members]) / counts)[owner]
            change = _root(size)
            E /= change
        if is_curved:
            f /= math.sqrt(f * float(root @ C) / n) or 1.0
        size = f * root if squares is None else squares.of_columns(E) + f * root
        size *= C
        used = size if np.count_nonzero(size) == n else size[size > 0]
        if used.size:
            factor = _root(size / math.exp(float(np.log(used).sum()) / len(used)))
            C /= factor
            if _is_even(factor) and _is_even(change):
                break
    return powers_of_two(np.sqrt(E)), powers_of_two(np.sqrt(C))


class _Squares:
    """|G_ij|² of a matrix, summed with weights."""

    def __init__(self, G: Any):
        self.is_sparse = scipy.sparse.issparse(G)
        if self.is_sparse:
            self.shape, self.column = G.shape, G.indices
            self.row = entry_rows(G)
        self.values = np.square(G.data if self.is_sparse else G)

    def of_rows(self, C: np.ndarray) -> np.ndarray:
        """Σ_j |G_ij|² C_j of every row."""
        if not self.is_sparse:
            return self.values @ C
        return np.bincount(self.row, self.values * C[self.column], self.shape[0]).astype(float, copy=False)

    def of_columns(self, E: np.ndarray) -> np.ndarray:
        """Σ_i |G_ij|² E_i of every column."""
        if not self.is_sparse:
            return E @ self.values
        return np.bincount(self.column, self.values * E[self.row], self.shape[1]).astype(float, copy=False)


def _root(size: np.ndarray) -> np.ndarray:
    """√size, and 1 where there is nothing."""
    return np.sqrt(size if np.count_nonzero(size) == len(size) else np.where(size > 0, size, 1.0))


def _is_even(squares: np.ndarray) -> bool:
    """Whether none of the factors with these squares changes much."""
    return bool(np.maximum.reduce(squares) <= EVEN**2 and np.minimum.reduce(squares) * EVEN**2 >= 1)


def orthonormal(G: Any) -> tuple[Any, np.ndarray | None]:
    """(Q, T) with G = Q T, Q orthonormal columns, for dense rows that are far from it; (G, None) for others.

    Where f = 0 and h = 0 nothing holds v to its entries, and ε would weigh directions in which G hardly moves: with
    columns of one size but condition 1e6, interior-point steps then take hundreds instead of tens.
    """
    if not isinstance(G, np.ndarray) or not 0 < G.shape[1] <= min(G.shape[0], ORTHONORMAL):
        return G, None
    factor, info = scipy.linalg.lapack.dpotrf(G.T @ G)
    diagonal = np.abs(factor.diagonal())
    if info == 0 and diagonal.min() > SLANTED * diagonal.max():
        return G, None
    Q, T = scipy.linalg.qr(G, mode="economic", check_finite=False)
    diagonal = np.abs(T.diagonal())
    return (Q, T) if diagonal.min() > DEPENDENT * diagonal.max() else (G, None)


class Turned(NamedTuple):
    """Equations A v = d as orthonormal ones, N v = d' with A_i = Σ_k R_ki N_k for the rows i in `order`."""

    rows: np.ndarray
    """Where the equations stand among all rows."""
    order: np.ndarray
    R: np.ndarray

    def inward(self, y: np.ndarray) -> np.ndarray:
        """The forces of N that are those of A."""
        y, own = y.copy(), self.R @ y[self.rows[self.order]]
        y[self.rows] = np.append(own, np.zeros(len(self.rows) - len(own)))
        return y

    def outward(self, y: np.ndarray) -> np.ndarray:
        """Those of A, from those of N: rows that depend on others have none."""
        y, rank = y.copy(), len(self.R)
        own = scipy.linalg.solve_triangular(self.R[:, :rank], y[self.rows[:rank]], check_finite=False)
        y[self.rows] = 0.0
        y[self.rows[self.order[:rank]]] = own
        return y


def turned(G: np.ndarray, rows: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, Turned] | None:
    """(N, d', how) for the equations G[rows] v = d where these are near dependent; zeros for those that depend.

    Steps on rows hold them with weights of at most 1e10: in directions in which a millionth of v is seen they would
    take thousands. None where nothing is to be gained, or where equations that depend on each other disagree.
    """
    A = G[rows]
    if len(rows) < 2 or len(rows) > ORTHONORMAL:
        return None
    factor, info = scipy.linalg.lapack.dpotrf(A @ A.T)
    diagonal = np.abs(factor.diagonal())
    if info == 0 and diagonal.min() > SLANTED * diagonal.max():
        return None
    Q, R, order = scipy.linalg.qr(A.T, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(R.diagonal())
    rank = int(np.count_nonzero(pivots > DEPENDENT * pivots[0]))
    if not rank:
        return None
    N, R = np.zeros_like(A), R[:rank]
    N[:rank] = Q[:, :rank].T
    right = scipy.linalg.solve_triangular(R[:, :rank], d[order[:rank]], trans="T", check_finite=False)
    size = np.abs(R).T @ np.abs(right) + np.abs(d[order])
    if np.any(np.abs(R.T @ right - d[order]) > AGREEING * size):
        return None
    return N, np.append(right, np.zeros(len(rows) - rank)), Turned(rows, order, R)


def powers_of_two(units: np.ndarray) -> np.ndarray:
    """The nearest powers of two: changes of units are then free of rounding, and bounds stay what they are."""
    return np.exp2(np.rint(np.log2(units)))


def rough_norm(G: Any, n: int) -> float:
    """‖G‖ by a few power iterations: a unit, so that a rough value will do."""
    x = np.sin(1.0 + np.arange(n))  # as good as random, and made at once
    product, adjoint = products_with(G), products_with(transposed(G))
    for _ in range(POWERS):
        before, x = x, adjoint(product(x))
    size = norm(before)
    return math.sqrt(norm(x) / size) if size > 0 else 0.0
