"""Indicator functions of sets of matrices: orthonormal columns, bounded rank, positive semidefinite."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, either, increased, magnitude, namespace, norm, precision, truth
from ..distributed import Rows
from ..operators import Operator
from ._arguments import count
from .jacobians import Conjugated, Spectral
from .rescaling import one_unit, units
from .row_rank import truncate_rows
from .sets import Indicator, slack


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
        return increased(x @ (-0.5 * (cross + cross.T)), g)

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
        return (
            np.zeros((short, block), order="F") if type(x) is np.ndarray and _has_basis(x, self.s) else None
        )

    def rescaled(self, d: float | Array) -> Rank | None:
        """Itself for one number, or where d_ij = r_i c_j: rows and columns have units of their own; else None."""
        found = units(d)
        if isinstance(found, float):
            return self
        if found.ndim != 2:
            return None
        gap = np.abs(found * found[:1, :1] / (found[:, :1] * found[:1, :]) - 1.0)
        return self if gap.max() <= 8 * np.finfo(float).eps else None


LARGE = 20
"""Few terms of a large matrix: at most 1/LARGE of the shorter side, which is at least 20 LARGE; a Gram matrix is
faster elsewhere."""
GAP = 8, 60
"""Powers of the Gram matrix are tried for at most 1/8 of the shorter side, which is at least 60: elsewhere its
eigenvectors take no longer."""
OVERSAMPLING = 6  # columns beyond s in a block: they speed convergence, and guard against a direction missed


def truncate(v: Array, s: int) -> Array:
    """The best approximation of rank ≤ s."""
    xp, short = namespace(v), min(v.shape)
    if s >= short:
        return xp.asarray(v, copy=True)
    if s == 0:
        return xp.zeros_like(v)
    if type(v) is np.ndarray and v.dtype == np.float64:
        size = norm(v)
        if size == 0.0 or not math.isfinite(size):
            return v * 0.0
        if not 1e-100 < size < 1e100:  # the methods below square the entries
            return truncate(v / size, s) * size
        x = _truncate_fast(v, s)
        if x is not None:
            return x
    u, sigma, wt = xp.linalg.svd(v, full_matrices=False)
    return (u[:, :s] * sigma[:s]) @ wt[:s, :]


def truncate_warm(v: np.ndarray, s: int, warm: Any = None) -> tuple[np.ndarray, Any]:
    """`truncate`, and a basis that makes the next call at a near-by v faster; None where a basis is of no use.

    It holds leading singular vectors of the shorter side, a few more than s. The residuals are checked as in a cold
    start, which takes over where the basis is poor. Two random directions join it and are followed for one step at
    least, so that what is new and orthogonal to the basis is seen.
    """
    block, short = s + OVERSAMPLING, min(v.shape)
    if not _has_basis(v, s):
        return truncate(v, s), None
    wide = v if v.shape[0] == short else v.T
    if warm is not None and warm.shape == (short, block) and warm.any():
        start = _orthonormal(np.concatenate([warm[:, :-2], _start(short, 2)], axis=1))
        found = leading(wide, s, start, blocks=8, at_least=2)
        if found is not None:
            return _product(*found, s, wide is v), found[0]
    x = truncate(v, s)
    rows = (x if wide is v else x.T) @ _start(max(v.shape), s)
    return x, _orthonormal(np.concatenate([rows, _start(short, OVERSAMPLING)], axis=1))


def _has_basis(v: np.ndarray, s: int) -> bool:
    """Whether a basis speeds up the next call."""
    return v.dtype == np.float64 and 0 < LARGE * s <= min(v.shape) >= 20 * LARGE


def _truncate_fast(v: np.ndarray, s: int) -> np.ndarray | None:
    """`truncate` by a Krylov space or a Gram matrix; None where these cannot vouch for the result."""
    short, wide = min(v.shape), v.shape[0] <= v.shape[1]
    if LARGE * s <= short >= 20 * LARGE:
        flat = v if wide else v.T
        found = leading(flat, s, _orthonormal(flat @ _start(flat.shape[1], s + OVERSAMPLING)))
        if found is not None:
            return _product(*found, s, wide)
    if 3 * s > short:
        return None
    gram = v @ v.T if wide else v.T @ v
    if GAP[0] * s <= short >= GAP[1]:
        q = dominant(gram, _first(short, s))
        if q is not None:
            return q @ (q.T @ v) if wide else (v @ q) @ q.T
    w, q = scipy.linalg.eigh(
        gram, subset_by_index=(short - s, short - 1), overwrite_a=True, check_finite=False, driver="evr"
    )
    if w[0] < 1e-9 * w[-1]:  # squared singular values: half of the digits of the small ones are gone
        return None
    return q @ (q.T @ v) if wide else (v @ q) @ q.T


def _product(left: np.ndarray, right: np.ndarray, s: int, wide: bool) -> np.ndarray:
    """The s leading terms u (vᵀu)ᵀ, transposed where v was."""
    left, right = left[:, :s], right[:, :s]
    return left @ right.T if wide else right @ left.T


def leading(
    v: np.ndarray, s: int, q: np.ndarray, tol: float = 1e-11, blocks: int = 12, at_least: int = 1
) -> tuple[np.ndarray, np.ndarray] | None:
    """Leading left singular vectors u and images vᵀu, a block of them, from a block Krylov space of v vᵀ.

    Starts from the orthonormal columns of q, grows by what v vᵀ q_i - σ_i² q_i leaves of the leading Ritz vectors, and
    stops once that is at most tol σ_1 σ_i for the s leading ones. None where `blocks` of them do not suffice.
    """
    block = q.shape[1]
    basis, images = q, _images(v, q)
    while True:
        gram = images.T @ images
        if not 1e-200 < gram.trace() < 1e200:  # also catches NaN
            return None
        theta, ritz = np.linalg.eigh(gram)
        theta, ritz = theta[: -block - 1 : -1], ritz[:, : -block - 1 : -1]
        left, right = basis @ ritz, images @ ritz
        rest = v @ right
        rest -= left * theta
        sigma = np.sqrt(np.maximum(theta[:s], 0.0))
        close = _lengths(rest)[:s] <= sigma[0] * np.maximum(tol * sigma, 1e-14 * sigma[0])
        if close.all() and basis.shape[1] >= at_least * block:
            return left, right
        if basis.shape[1] + block > v.shape[0] // 2 or basis.shape[1] >= blocks * block:
            return None
        for _ in range(2):  # twice is enough for full orthogonality
            rest -= basis @ (basis.T @ rest)
            rest /= np.maximum(_lengths(rest), 1e-300)
        rest = _orthonormal(rest)
        basis = np.concatenate([basis, rest], axis=1)
        images = np.concatenate([images, _images(v, rest)], axis=1)


def dominant(gram: np.ndarray, q: np.ndarray, tol: float = 1e-11, rounds: int = 10) -> np.ndarray | None:
    """Orthonormal columns that span the leading eigenvectors of a Gram matrix G, as many as q has, by powers of G.

    With T = QᵀGQ, what is left of GQ - QT must be at most tol √(λ_1(T) λ_s(T)): then Q is invariant. It is the leading
    space if the part of G beside it is smaller than λ_s(T), which its Frobenius norm proves,

        ‖(I - QQᵀ)G(I - QQᵀ)‖² = ‖G‖² - 2‖GQ‖² + ‖T‖² < λ_s(T)².

    None where that fails, or as soon as the pace says that `rounds` will not suffice: without a gap nothing is proved.
    """
    total, before = np.vdot(gram, gram), math.inf
    if not 1e-200 < total < 1e200:  # also catches NaN
        return None
    for left in reversed(range(rounds)):
        image = gram @ q
        core = q.T @ image
        error = norm(image - q @ core)
        w = np.linalg.eigvalsh(core)
        enough = tol * math.sqrt(max(w[0] * w[-1], 0.0))
        if error <= enough:
            beside = total - 2 * np.vdot(image, image) + np.vdot(core, core)
            return q if beside + 1e-13 * total < 0.98 * w[0] ** 2 else None  # rounding included
        if left < rounds - 2 and error * (error / before) ** left > enough:
            return None
        before = error
        # two powers at a time, unless that costs digits
        q = _orthonormal(gram @ image if w[-1] < 100 * w[0] else image)
    return None


def _images(v: np.ndarray, q: np.ndarray) -> np.ndarray:
    """vᵀq, in the order in which a row-major v is read along its rows."""
    return (q.T @ v).T if v.flags.c_contiguous else v.T @ q


def _orthonormal(x: np.ndarray) -> np.ndarray:
    """Q of the QR factorisation of a tall x."""
    factored, tau, *_ = scipy.linalg.lapack.dgeqrf(x, lwork=64 * x.shape[1])
    return scipy.linalg.lapack.dorgqr(factored, tau, lwork=64 * x.shape[1])[0]


def _lengths(x: np.ndarray) -> np.ndarray:
    """Norms of the columns."""
    return np.sqrt(np.einsum("ij,ij->j", x, x))


@lru_cache(maxsize=16)
def _start(rows: int, columns: int) -> np.ndarray:
    """A fixed random block: the same input gives the same result."""
    return np.random.default_rng(0).standard_normal((rows, columns))


@lru_cache(maxsize=16)
def _first(rows: int, columns: int) -> np.ndarray:
    """The same with orthonormal columns."""
    return _orthonormal(_start(rows, columns))


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

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """H ↦ Q (Ω ∘ Qᵀ sym(H) Q) Qᵀ from the eigenvectors Q of sym(v), Ω_ij = (λ_i⁺ + λ_j⁺)/(|λ_i| + |λ_j|)."""
        xp = namespace(v)
        w, q = xp.linalg.eigh(0.5 * (v + v.T))
        sizes = xp.abs(w)[:, None] + xp.abs(w)
        above = xp.clip(w, 0.0, None)[:, None] + xp.clip(w, 0.0, None)
        return Conjugated(q, above / xp.where(sizes > 0, sizes, xp.ones_like(sizes)))

    def rescaled(self, d: float | Array) -> PSD | None:
        """Itself for one number, else None."""
        return None if one_unit(d) is None else self
