"""Matrices of one rank as a manifold: for steps along tangent spaces where the rank is settled."""

from __future__ import annotations

import numpy as np

from .matrix_sets import Rank
from .truncation import orthonormal, start_block

FEW = 1e-20
"""‖v‖² beyond the range that was found, relative to ‖v‖², up to which v has rank 2s."""


class RankManifold(Rank):
    """{x : rank x = s}; `tangent` at x = U diag(σ) Vᵀ is UUᵀg + (g - UUᵀg)VVᵀ, prox the nearest matrix of rank s.

    v = x + d with a tangent d has rank 2s at most, so a range of 2s columns holds all of it; where it does not, the
    prox is that of `Rank`. NumPy arrays of rank s.
    Absil & Malick, Projection-like retractions on matrix manifolds, SIAM J. Optim. 22 (2012).
    """

    is_manifold = True

    def bases(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """U and V with orthonormal columns: x = U Uᵀ x V Vᵀ."""
        U = orthonormal(np.asfortranarray(x @ start_block(x.shape[1], self.s)))
        return U, orthonormal(np.asfortranarray(x.T @ U))

    def tangent(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        U, V = self.bases(x)
        rows = U.T @ g
        return U @ rows + (g @ V - U @ (rows @ V)) @ V.T

    def project(self, v: np.ndarray) -> np.ndarray:
        few = 2 * self.s
        if few >= min(v.shape):
            return super().project(v)
        Q = orthonormal(np.asfortranarray(v @ start_block(v.shape[1], few)))
        small = Q.T @ v
        rest = v - Q @ small
        if np.vdot(rest, rest) > FEW * np.vdot(v, v):
            return super().project(v)
        u, sigma, wt = np.linalg.svd(small, full_matrices=False)
        return (Q @ (u[:, : self.s] * sigma[: self.s])) @ wt[: self.s]
