"""Orthonormal matrices with prescribed zeros, and the set of matrices with few nonzeros per column."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spla

from .._arrays import Array, Shape
from ..functions import RowCardinality

NEWTON = 30
"""Steps at most towards orthonormal columns."""


class ColumnCardinality(RowCardinality):
    """{x : at most s nonzero entries in each column}; prox keeps the s largest of each column.

    >>> ColumnCardinality(1).prox(np.array([[1.0, 5.0], [2.0, -6.0]]), 1.0)
    array([[ 0.,  0.],
           [ 2., -6.]])
    """

    def contains(self, x: Array) -> bool:
        return super().contains(x.T)

    def mask(self, score: Array) -> Array:
        return super().mask(score.T).T

    def is_idle(self, shape: Shape) -> bool:
        return super().is_idle(shape[::-1])

    def face(self, x: Array) -> None:
        """None: columns on given supports are orthonormal only where those suit each other, so none is exchanged."""


def orthonormal_on_support(V: np.ndarray) -> np.ndarray | None:
    """A matrix near V with VᵀV = I to rounding and the zeros of V; None where Newton's method finds none.

    Each step adds P(VΛ), P the projection on the support and Λ symmetric with VᵀP(VΛ) + P(VΛ)ᵀV = I - VᵀV: the
    smallest change within the support that solves the linearised equations.

    >>> V = orthonormal_on_support(np.array([[1.0, 0.1], [-0.1, 1.0], [0.2, 0.0]]))
    >>> bool(np.allclose(V.T @ V, np.eye(2))), float(V[2, 1])
    (True, 0.0)
    """
    norms = np.linalg.norm(V, axis=0)
    if not np.all(norms > 0):
        return None
    support, r, identity = V != 0, V.shape[1], np.eye(V.shape[1])
    V = V / norms
    for _ in range(NEWTON):
        gap = identity - V.T @ V
        size = float(np.abs(gap).max())
        if size <= 1e-14 * r + 4e-16 * len(V):
            break

        def change(L: np.ndarray, V: np.ndarray = V) -> np.ndarray:
            L = L.reshape(r, r)
            return np.where(support, V @ (0.5 * (L + L.T)), 0.0)

        def normal(L: np.ndarray, V: np.ndarray = V) -> np.ndarray:
            product = V.T @ change(L, V)
            return (product + product.T).ravel()

        system = spla.LinearOperator((r * r, r * r), matvec=normal, dtype=float)
        with np.errstate(all="ignore"):  # a singular system shows in the step
            multipliers, _ = spla.cg(system, gap.ravel(), rtol=1e-6, maxiter=20 * r + 50)
        step = change(multipliers)
        reach = float(np.linalg.norm(step))
        if not np.isfinite(reach) or reach > 10 * r:
            return None
        V = V + step
    good = float(np.abs(V.T @ V - identity).max()) <= 1e-10 and bool(np.all(np.linalg.norm(V, axis=0) > 0.5))
    return V if good else None
