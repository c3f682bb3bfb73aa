"""Indicator functions of sets of matrices: orthonormal columns, bounded rank, positive semidefinite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from .._arrays import (
    Array,
    Shape,
    add_in_place,
    asarray,
    either,
    magnitude,
    namespace,
    precision,
    to_numpy,
    truth,
)
from ..distributed import Rows
from ..operators import Operator
from ._arguments import count
from .cones import ConvexCone
from .faces import Manifold
from .fixed_rank import FixedRank, fixed_rank
from .jacobians import Conjugated, Spectral
from .rescaling import one_unit, side_units, units
from .sets import Indicator, slack
from .truncation import OVERSAMPLING, has_basis, truncate, truncate_rows, truncate_warm


class Stiefel(Indicator):
    """{x : xᵀx = I}; prox(v, s) = the polar factor v (vᵀv)^(-1/2), or U Wᵀ from v = U Σ Wᵀ.

    The square root comes from an r×r eigendecomposition where v is well conditioned, else from an SVD of v.
    Absil, Mahony & Sepulchre, Optimization Algorithms on Matrix Manifolds (2008).

    >>> Stiefel().prox(np.array([[3.0], [4.0]]), 1.0)
    array([[0.6],
           [0.8]])
    """

    is_manifold = True

    def width(self, shape: Shape) -> float:
        """2: no entry is larger than 1."""
        return 2.0

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        return truth(
            magnitude(x.T @ x - xp.eye(x.shape[1], dtype=x.dtype)) <= slack(x) * math.sqrt(x.shape[1])
        )

    def takes(self, shape: Shape) -> bool:
        return len(shape) == 2 and shape[0] >= shape[1]

    def project(self, v: Array) -> Array:
        if type(v) is not np.ndarray:
            return _polar_by_gram(v)
        if v.dtype == np.float64:
            product, spectrum, (low, high) = (
                scipy.linalg.blas.dsyrk,
                scipy.linalg.lapack.dsyevd,
                (1e-250, 1e250),
            )
        elif v.dtype == np.float32:
            product, spectrum, (low, high) = (
                scipy.linalg.blas.ssyrk,
                scipy.linalg.lapack.ssyevd,
                (1e-30, 1e30),
            )
        else:
            return _polar_by_svd(v)
        gram = product(1.0, v.T)  # upper half of vᵀv, without NumPy's overflow warnings
        if not low < gram.trace() < high:  # also catches NaN
            return _polar_by_svd(v)
        w, q, _ = spectrum(gram, lower=0, overwrite_a=1)
        condition = w[0] / w[-1]
        if condition < math.sqrt(precision(v)):
            return _polar_by_svd(v)
        x = v.dot((q / np.sqrt(w)).dot(q.T))
        if condition < 0.1:  # a Newton-Schulz step takes away what squaring the condition lost
            x = 1.5 * x - 0.5 * x.dot(x.T.dot(x))
        return x

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """`Spectral`: all singular values become 1, whatever they were."""
        xp = namespace(v)
        u, s, wt = xp.linalg.svd(v, full_matrices=False)
        return Spectral(u, s, wt, xp.ones_like(s), 0.0)

    def tangent(self, x: Array, g: Array) -> Array:
        """Projection on the tangent space at x: g - x sym(xᵀg)."""
        cross = x.T @ g
        return add_in_place(x @ (-0.5 * (cross + cross.T)), g)

    def steepest(self, x: Array, g: Array) -> Array:
        """g - x gᵀx, in the canonical metric: rotations x Ω count half as much as in the space around, where functions
        of x bend least along them. Edelman, Arias & Smith, SIAM J. Matrix Anal. Appl. 20 (1998), §2.4.

        >>> x, g = np.eye(3)[:, :2], np.arange(6.0).reshape(3, 2)
        >>> Stiefel().steepest(x, g)
        array([[ 0., -1.],
               [ 1.,  0.],
               [ 4.,  5.]])
        """
        return add_in_place(x @ (-(x.T @ g).T), g)

    def mirror(self, x: Array, y: Array) -> Array:
        """x P with the signed permutation P that is nearest to y: the assignment of largest Σ|xᵀy|.

        >>> x = np.eye(3)[:, :2]
        >>> Stiefel().mirror(-x[:, ::-1], x)
        array([[1., 0.],
               [0., 1.],
               [0., 0.]])
        """
        cross = x.T @ y
        C = to_numpy(cross)
        rows, columns = scipy.optimize.linear_sum_assignment(np.abs(C), maximize=True)
        P = np.zeros_like(C)
        P[rows, columns] = np.where(C[rows, columns] < 0, -1.0, 1.0)
        return x @ asarray(P, cross)

    def face(self, x: Array) -> Manifold:
        """The manifold itself: xᵀd + dᵀx = 0 are r(r + 1)/2 equations."""
        return Manifold(self, x, x.shape[1] * (x.shape[1] + 1) // 2)

    def rescaled(self, d: float | Array) -> Stiefel | None:
        """Itself for d = 1, else None."""
        return self if one_unit(d) == 1.0 else None


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

    Few terms of a large matrix come from a block Krylov space, with a check of the residuals; of a smaller one from the
    Gram matrix of the shorter side, by its powers where these prove a gap after the s-th, else by its eigenvectors.
    Where none of these can vouch for the result, the full decomposition decides.
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
        if v.ndim != 2:
            raise ValueError(f"Rank: needs a matrix, got shape {tuple(v.shape)}")
        return truncate_rows(v, self.s) if type(v) is Rows else truncate(v, self.s)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """`Spectral`: the s largest singular values stay."""
        xp = namespace(v)
        u, s, wt = xp.linalg.svd(v, full_matrices=False)
        return Spectral(u, s, wt, xp.where(xp.arange(s.shape[0]) < self.s, s, xp.zeros_like(s)), 1.0)

    def prox_warm(self, v: Array, step: float, warm: Any = None) -> tuple[Array, Any]:
        """(prox(v, step), a basis for the next call), sooner where `warm` comes from a call at a near-by v.

        >>> h, v = Rank(2), np.random.default_rng(0).standard_normal((400, 2)) @ np.ones((2, 500))
        >>> x, basis = h.prox_warm(v, 1.0)
        >>> np.allclose(h.prox_warm(v + 1e-3, 1.0, basis)[0], h.prox(v + 1e-3, 1.0))
        True
        """
        return truncate_warm(v, self.s, warm) if type(v) is np.ndarray else (self.project(v), None)

    def warm_start(self, x: Array) -> Any:
        """A basis of zeros, which `prox_warm` takes for none; None where it would return none."""
        short, block = min(x.shape), self.s + OVERSAMPLING
        return np.zeros((short, block), order="F") if type(x) is np.ndarray and has_basis(x, self.s) else None

    def face(self, x: Array) -> FixedRank | None:
        """The matrices of rank s, where x is one."""
        return fixed_rank(x, self.s)

    def rescaled(self, d: float | Array) -> Rank | None:
        """Itself for one number, or where d_ij = r_i c_j: rows and columns have units of their own; else None."""
        found = units(d)
        if isinstance(found, float):
            return self
        if found.ndim != 2:
            return None
        gap = np.abs(found * found[:1, :1] / (found[:, :1] * found[:1, :]) - 1.0)
        return self if gap.max() <= 8 * np.finfo(float).eps else None


class PSD(ConvexCone):
    """{x : x symmetric, no eigenvalue below 0}; prox symmetrises v and sets negative eigenvalues to 0.

    Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra Appl. 103 (1988).
    """

    def contains(self, x: Array) -> bool:
        xp, room = namespace(x), slack(x) * magnitude(x)
        lowest = xp.min(xp.linalg.eigvalsh(symmetric_part("PSD", x)))
        return truth((magnitude(x - x.T) <= room) & (lowest >= -room))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        w, q = xp.linalg.eigh(symmetric_part("PSD", v))
        half = q * xp.sqrt(xp.clip(w, 0.0, None))
        return half @ half.T

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """H ↦ Q (Ω ∘ Qᵀ sym(H) Q) Qᵀ from the eigenvectors Q of sym(v), Ω_ij = (λ_i⁺ + λ_j⁺)/(|λ_i| + |λ_j|)."""
        xp = namespace(v)
        w, q = xp.linalg.eigh(symmetric_part("PSD", v))
        sizes = xp.abs(w)[:, None] + xp.abs(w)
        above = xp.clip(w, 0.0, None)[:, None] + xp.clip(w, 0.0, None)
        return Conjugated(q, above / xp.where(sizes > 0, sizes, xp.ones_like(sizes)))

    def rescaled(self, d: float | Array) -> PSD | None:
        """Itself for one number, or where d_ij = a_i a_j; else None."""
        return None if one_unit(d) is None and side_units(d) is None else self


def symmetric_part(owner: str, x: Array) -> Array:
    """(x + xᵀ)/2 of a square matrix; ValueError where x is none."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"{owner}: needs a square matrix, got shape {tuple(x.shape)}")
    return 0.5 * (x + x.T)
