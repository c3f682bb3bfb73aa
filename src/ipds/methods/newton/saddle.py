"""K with its rows beside it, for rows whose W has no digits as a matrix: those of cones near a solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .factors import Solve
from .strategies import Factorised, to_dense
from .weights import Weights

THIN, SMALL = 0.05, 400
"""Share of entries other than 0 up to which a matrix is factorised as a sparse one, unless it is so small."""


class Saddle:
    """The symmetric factors of [K - RᵀwR, Rᵀ; R, -w⁻¹] of Bunch and Kaufman: W⁻¹ is used, and never inverted.

    Those of SuperLU where it is large and has few entries, as trajectories have.
    """

    def __init__(self, n: int, Q: Any, rows: Sequence[Any]):
        R = np.vstack([to_dense(A) for A in rows]) if rows else np.zeros((0, n))
        self.n, self.size = n, n + len(R)
        self.start = np.zeros((self.size, self.size), order="F")
        if Q is not None:
            self.start[:n, :n] = to_dense(Q)
        self.start[n:, :n] = R

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        n, size, off = self.n, self.size, w <= 0
        A = self.start.copy(order="F")
        if rest is not None:
            A[:n, :n] += to_dense(rest)
        if off.any():  # rows that do not count: t = 0
            A[n:, :n][off] = 0.0
        A.T.flat[: n * size : size + 1] += diagonal
        A.T.flat[n * size + n :: size + 1] = -np.where(off, 1.0, 1 / np.where(off, 1.0, w))
        first = size - W.general
        if W.members.size:
            E = np.zeros((len(W.along), len(W.members)))
            E[W.label, np.arange(len(W.members))] = W.direction
            grouped = np.ix_(first + W.members, first + W.members)
            A[grouped] -= E.T @ ((1 / W.along - 1 / W.across())[:, None] * E)
        for at, inverse in W.inverses:
            own_rows = slice(first + at.start, first + at.stop)
            A[own_rows, own_rows] = -inverse
        solve = _solver(A)

        def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = solve(np.concatenate([a, np.where(off, 0.0, b)]))
            return found[:n], found[n:]

        return (lambda g: augmented(g, np.zeros(len(w)))[0]), augmented


def _solver(A: np.ndarray) -> Solve:
    """A⁻¹ of a symmetric matrix, given by its lower triangle, which is overwritten."""
    size = len(A)
    low = scipy.sparse.tril(scipy.sparse.csc_array(A), format="csc") if size > SMALL else None
    if low is not None and 2 * low.nnz <= THIN * size**2:
        whole = low + low.T - scipy.sparse.diags_array(low.diagonal())
        try:
            return scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(whole)).solve
        except RuntimeError as error:
            raise np.linalg.LinAlgError("the saddle-point matrix is singular") from error
    factors, pivots, info = scipy.linalg.lapack.dsytrf(A, lower=1, lwork=32 * size, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("the saddle-point matrix is singular")
    return lambda right: scipy.linalg.lapack.dsytrs(factors, pivots, right, lower=1)[0]
