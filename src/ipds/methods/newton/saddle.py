"""K with its rows beside it, for rows whose W has no digits as a matrix: those of cones near a solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .strategies import Factorised, to_dense
from .weights import Weights


class Saddle:
    """The symmetric factors of [K - RᵀwR, Rᵀ; R, -w⁻¹] of Bunch and Kaufman: W⁻¹ is used, and never inverted."""

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
        factors, pivots, info = scipy.linalg.lapack.dsytrf(A, lower=1, lwork=32 * self.size, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("the saddle-point matrix is singular")

        def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            right = np.concatenate([a, np.where(off, 0.0, b)])
            found, _ = scipy.linalg.lapack.dsytrs(factors, pivots, right, lower=1)
            return found[:n], found[n:]

        return (lambda g: augmented(g, np.zeros(len(w)))[0]), augmented
