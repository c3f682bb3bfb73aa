"""Factorisations of a symmetric positive definite matrix, each with `solve(g)`: dense, banded, sparse, low rank.

None of them gives up on a matrix that rounding has made singular: a ridge of rounding size is added until it factors,
and the refinement of the system that asked (`algebra.System.solve`) takes its effect away again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

Vector = np.ndarray
Solve = Callable[[np.ndarray], np.ndarray]

RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3, 1.0)
"""Relative ridges, tried in this order; rounding of a Gram matrix is some 1e-16 in units of its diagonal.

The last ones are for an f that is not convex after all: the step is then a short one."""


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


def banded_lu(bands: np.ndarray, width: int) -> Solve:
    """By bands[2 width + i - j, j] = K[i, j], which are overwritten; those above are for what pivots fill."""
    factor, pivots, info = scipy.linalg.lapack.dgbtrf(bands, width, width, overwrite_ab=1)
    if info:
        raise np.linalg.LinAlgError("K is singular")
    return lambda g: scipy.linalg.lapack.dgbtrs(factor, width, width, g, pivots)[0]


def sparse_cholesky(K: Any, permc_spec: str = "MMD_AT_PLUS_A") -> Any:
    """SuperLU's factors in symmetric mode: pivots on the diagonal, ordered by minimum degree of K + Kᵀ."""
    diagonal, options = K.diagonal(), {"SymmetricMode": True}
    for ridge in RIDGES:
        shifted = (
            K + scipy.sparse.diags_array(ridge * np.maximum(diagonal, ridge), format="csc") if ridge else K
        )
        try:
            return scipy.sparse.linalg.splu(shifted, permc_spec, diag_pivot_thresh=0.0, options=options)
        except RuntimeError:  # exactly singular
            continue
    raise np.linalg.LinAlgError("K is singular")


def sparse_lu(K: Any, permc_spec: str = "COLAMD") -> Any:
    """The same with pivots of every row; short columns make no panels."""
    try:
        return scipy.sparse.linalg.splu(K, permc_spec, relax=1, panel_size=1)
    except RuntimeError as error:
        raise np.linalg.LinAlgError("K is singular") from error


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
