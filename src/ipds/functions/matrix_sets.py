"""Indicator functions of sets of matrices: orthonormal columns, bounded rank, positive semidefinite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from .._array import Array, either, increased, magnitude, namespace, precision, truth
from ..distributed import Rows
from ._arguments import count
from .row_rank import truncate_rows
from .sets import Indicator, slack
from .truncation import truncate, truncate_warm


class Stiefel(Indicator):
    """{x : xᵀx = I}; prox(v, s) = the polar factor v (vᵀv)^(-1/2), or U Wᵀ from v = U Σ Wᵀ.

    The square root comes from an r×r eigendecomposition where v is well conditioned, else from an SVD of v.
    Absil, Mahony & Sepulchre, Optimization Algorithms on Matrix Manifolds (2008).

    >>> Stiefel().prox(np.array([[3.0], [4.0]]), 1.0)
    array([[0.6],
           [0.8]])
    """

    is_manifold = True

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        return truth(
            magnitude(x.T @ x - xp.eye(x.shape[1], dtype=x.dtype)) <= slack(x) * math.sqrt(x.shape[1])
        )

    def project(self, v: Array) -> Array:
        if type(v) is not np.ndarray:
            return _polar_by_gram(v)
        if v.dtype != np.float64:
            return _polar_by_svd(v)
        gram = scipy.linalg.blas.dsyrk(1.0, v.T)  # upper half of vᵀv, without NumPy's overflow warnings
        if not 1e-250 < gram.trace() < 1e250:  # also catches NaN
            return _polar_by_svd(v)
        w, q, _ = scipy.linalg.lapack.dsyevd(gram, lower=0, overwrite_a=1)
        condition = w[0] / w[-1]
        if condition < 1e-8:
            return _polar_by_svd(v)
        x = v.dot((q / np.sqrt(w)).dot(q.T))
        if condition < 1e-3:  # a Newton-Schulz step takes away what squaring the condition lost
            x = 1.5 * x - 0.5 * x.dot(x.T.dot(x))
        return x

    def tangent(self, x: Array, g: Array) -> Array:
        """Projection on the tangent space at x: g - x sym(xᵀg)."""
        cross = x.T @ g
        return increased(x @ (-0.5 * (cross + cross.T)), g)


def _polar_by_gram(v: Array) -> Array:
    """Polar factor through the small vᵀv where that is well conditioned; a Newton-Schulz step restores its digits."""
    xp = namespace(v)
    if v.ndim != 2 or v.shape[0] < v.shape[1]:
        return _polar_by_svd(v)
    w, q = xp.linalg.eigh(v.T @ v)

    def through_gram(v: Array) -> Array:
        x = v @ ((q / xp.sqrt(w)) @ q.T)
        return either(truth(w[0] * 1e-12 >= precision(v) * w[-1]), lambda x: x, _newton_schulz, x)

    # an overflow makes this NaN, and the comparison false
    return either(
        truth(w[0] >= math.sqrt(precision(v)) * w[-1]) & truth(w[0] > 0), through_gram, _polar_by_svd, v
    )


def _newton_schulz(x: Array) -> Array:
    """One step towards orthonormal columns: it squares the error that is left."""
    return 1.5 * x - 0.5 * (x @ (x.T @ x))


def _polar_by_svd(v: Array) -> Array:
    """Polar factor for any finite input, rank-deficient or zero ones included."""
    xp = namespace(v)
    if v.ndim != 2 or v.shape[0] < v.shape[1]:
        raise ValueError(f"Stiefel: needs a matrix with no more columns than rows, got shape {v.shape}")
    top = xp.max(xp.abs(v))
    if type(v) is np.ndarray and not math.isfinite(top):
        return np.full_like(v, math.nan)  # a diverged iterate: let the solver see it
    u, _, wt = xp.linalg.svd(v / xp.where(top > 0, top, xp.ones_like(top)), full_matrices=False)
    return u @ wt


class Rank(Indicator):
    """{x : rank x ≤ s}; prox(v, s) = the s leading terms of the singular value decomposition of v.

    How they are found, and how that is verified, stands in `truncation`.
    Eckart & Young, The approximation of one matrix by another of lower rank, Psychometrika 1 (1936).

    >>> Rank(1).prox(np.diag([3.0, 2.0]), 1.0)
    array([[3., 0.],
           [0., 0.]])
    """

    def __init__(self, s: int) -> None:
        self.s = count("Rank", "s", s)

    def contains(self, x: Array) -> bool:
        return truth(magnitude(x - self.project(x)) <= slack(x) * magnitude(x))

    def project(self, v: Array) -> Array:
        return truncate_rows(v, self.s) if type(v) is Rows else truncate(v, self.s)

    def prox_warm(self, v: Array, step: float, warm: Any = None) -> tuple[Array, Any]:
        """(prox(v, step), a basis for the next call), sooner where `warm` comes from a call at a near-by v.

        >>> h, v = Rank(2), np.random.default_rng(0).standard_normal((400, 2)) @ np.ones((2, 500))
        >>> x, basis = h.prox_warm(v, 1.0)
        >>> np.allclose(h.prox_warm(v + 1e-3, 1.0, basis)[0], h.prox(v + 1e-3, 1.0))
        True
        """
        return truncate_warm(v, self.s, warm) if type(v) is np.ndarray else (self.project(v), None)


class PSD(Indicator):
    """{x : x symmetric, no eigenvalue below 0}; prox symmetrises v and sets negative eigenvalues to 0.

    Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra Appl. 103 (1988).
    """

    is_convex = True

    def contains(self, x: Array) -> bool:
        xp, room = namespace(x), slack(x) * magnitude(x)
        lowest = xp.min(xp.linalg.eigvalsh(0.5 * (x + x.T)))
        return truth((magnitude(x - x.T) <= room) & (lowest >= -room))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        w, q = xp.linalg.eigh(0.5 * (v + v.T))
        half = q * xp.sqrt(xp.clip(w, 0.0, None))
        return half @ half.T
