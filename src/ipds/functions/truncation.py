"""The best approximation of a matrix by one of low rank: by Krylov spaces, powers of a Gram matrix, or a full SVD.

Of distributed rows, the directions of the columns are found on the driver.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, namespace, norm
from ..distributed import Rows

LARGE = 20
"""Few terms of a large matrix: at most 1/LARGE of the shorter side, which is at least 20 LARGE; a Gram matrix is
faster elsewhere."""
SHARE, LEAST = 8, 60
"""Powers of the Gram matrix are tried for at most 1/8 of the shorter side, which is at least 60: elsewhere its
eigenvectors take no longer."""
OVERSAMPLING = 6
"""Columns beyond s in a block: they speed convergence, and guard against a direction missed."""
TOL = 1e-11
"""What may be left of a space that is taken for invariant, relative to its smallest singular value."""
ROUNDS = 10
"""Powers of a Gram matrix at most."""


def truncate(v: Array, s: int) -> Array:
    """The best approximation of rank ≤ s."""
    xp, short = namespace(v), min(v.shape)
    if s >= short:
        return xp.asarray(v, copy=True)
    if s == 0:
        return xp.zeros_like(v)
    if type(v) is np.ndarray and v.dtype == np.float64:
        size = norm(v)
        if size == 0.0:
            return np.zeros_like(v)
        if not math.isfinite(size):
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
    if not has_basis(v, s):
        return truncate(v, s), None
    wide = v if v.shape[0] == short else v.T
    if warm is not None and warm.shape == (short, block) and warm.any():
        start = orthonormal(np.concatenate([warm[:, :-2], start_block(short, 2)], axis=1))
        found = leading(wide, s, start, blocks=8, at_least=2)
        if found is not None:
            return _product(*found, s, wide is v), found[0]
    x = truncate(v, s)
    rows = (x if wide is v else x.T) @ start_block(max(v.shape), s)
    return x, orthonormal(np.concatenate([rows, start_block(short, OVERSAMPLING)], axis=1))


def has_basis(v: np.ndarray, s: int) -> bool:
    """Whether a basis speeds up the next call."""
    return v.dtype == np.float64 and s > 0 and _is_thin(s, min(v.shape))


def _is_thin(s: int, short: int) -> bool:
    """Whether s are few terms of a large matrix."""
    return LARGE * s <= short >= 20 * LARGE


def _truncate_fast(v: np.ndarray, s: int) -> np.ndarray | None:
    """`truncate` by a Krylov space or a Gram matrix; None where these cannot vouch for the result."""
    short, wide = min(v.shape), v.shape[0] <= v.shape[1]
    if _is_thin(s, short):
        flat = v if wide else v.T
        found = leading(flat, s, orthonormal(flat @ start_block(flat.shape[1], s + OVERSAMPLING)))
        if found is not None:
            return _product(*found, s, wide)
    if 3 * s > short:
        return None
    gram = v @ v.T if wide else v.T @ v
    if SHARE * s <= short >= LEAST:
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
    v: np.ndarray, s: int, q: np.ndarray, blocks: int = 12, at_least: int = 1
) -> tuple[np.ndarray, np.ndarray] | None:
    """Leading left singular vectors u and images vᵀu, a block of them, from a block Krylov space of v vᵀ.

    Starts from the orthonormal columns of q, grows by what v vᵀ q_i - σ_i² q_i leaves of the leading Ritz vectors, and
    stops once that is at most `TOL` σ_1 σ_i for the s leading ones. None where `blocks` of them do not suffice.
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
        close = _lengths(rest)[:s] <= sigma[0] * np.maximum(TOL * sigma, 1e-14 * sigma[0])
        if close.all() and basis.shape[1] >= at_least * block:
            return left, right
        if basis.shape[1] + block > v.shape[0] // 2 or basis.shape[1] >= blocks * block:
            return None
        for _ in range(2):  # twice is enough for full orthogonality
            rest -= basis @ (basis.T @ rest)
            rest /= np.maximum(_lengths(rest), 1e-300)
        rest = orthonormal(rest)
        basis = np.concatenate([basis, rest], axis=1)
        images = np.concatenate([images, _images(v, rest)], axis=1)


def dominant(gram: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Orthonormal columns that span the leading eigenvectors of a Gram matrix G, as many as q has, by powers of G.

    With T = QᵀGQ, what is left of GQ - QT must be at most `TOL` √(λ_1(T) λ_s(T)): then Q is invariant. It is the
    leading space if the part of G beside it is smaller than λ_s(T), which its Frobenius norm proves,

        ‖(I - QQᵀ)G(I - QQᵀ)‖² = ‖G‖² - 2‖GQ‖² + ‖T‖² < λ_s(T)².

    None where that fails, or as soon as the pace says that `ROUNDS` will not suffice: without a gap nothing is proved.
    """
    total, before = np.vdot(gram, gram), math.inf
    if not 1e-200 < total < 1e200:  # also catches NaN
        return None
    for left in reversed(range(ROUNDS)):
        image = gram @ q
        core = q.T @ image
        error = norm(image - q @ core)
        w = np.linalg.eigvalsh(core)
        enough = TOL * math.sqrt(max(w[0] * w[-1], 0.0))
        if error <= enough:
            beside = total - 2 * np.vdot(image, image) + np.vdot(core, core)
            return q if beside + 1e-13 * total < 0.98 * w[0] ** 2 else None  # rounding included
        if left < ROUNDS - 2 and error * (error / before) ** left > enough:
            return None
        before = error
        # two powers at a time, unless that costs digits
        q = orthonormal(gram @ image if w[-1] < 100 * w[0] else image)
    return None


def _images(v: np.ndarray, q: np.ndarray) -> np.ndarray:
    """vᵀq, in the order in which a row-major v is read along its rows."""
    return (q.T @ v).T if v.flags.c_contiguous else v.T @ q


def orthonormal(x: np.ndarray) -> np.ndarray:
    """Q of the QR factorisation of a tall x."""
    factored, tau, *_ = scipy.linalg.lapack.dgeqrf(x, lwork=64 * x.shape[1])
    return scipy.linalg.lapack.dorgqr(factored, tau, lwork=64 * x.shape[1])[0]


def _lengths(x: np.ndarray) -> np.ndarray:
    """Norms of the columns."""
    return np.sqrt(np.einsum("ij,ij->j", x, x))


@lru_cache(maxsize=16)
def start_block(rows: int, columns: int) -> np.ndarray:
    """A fixed random block: the same input gives the same result."""
    return np.random.default_rng(0).standard_normal((rows, columns))


@lru_cache(maxsize=16)
def _first(rows: int, columns: int) -> np.ndarray:
    """The same with orthonormal columns."""
    return orthonormal(start_block(rows, columns))


def truncate_rows(v: Rows, s: int) -> Rows:
    """v Q Qᵀ with Q the s leading right singular vectors of v.

    They come from vᵀv; where that squares too many digits away, from the triangular factor of v, found chunk by chunk
    (Demmel, Grigori, Hoemmen & Langou, *Communication-optimal parallel and sequential QR*, SISC 2012). Of every group
    of chunks one columns×columns matrix travels.
    """
    if s >= min(v.shape):
        return v
    if s == 0:
        return 0.0 * v
    w, q = np.linalg.eigh(np.asarray(v.T @ v))
    if w[-s] < 1e-9 * w[-1]:
        q = np.linalg.svd(np.asarray(v.reduce(triangle, join)))[2][::-1].T
    return v.map(_project, q[:, -s:])


def _project(chunk: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (chunk @ q) @ q.T


def triangle(chunk: np.ndarray) -> np.ndarray:
    """R of the QR factorisation, padded to a square."""
    r, n = np.asarray(np.linalg.qr(chunk, mode="r")), chunk.shape[1]
    return np.concatenate([r, np.zeros((n - r.shape[0], n), dtype=r.dtype)])


def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The triangular factor of two chunks from those of each."""
    return np.asarray(np.linalg.qr(np.concatenate([a, b]), mode="r"))
