"""Extreme eigenvalues of A Aᵀ: exact for small maps, Lanczos for large or matrix-free ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._array import Array, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Operator

EXACT_LIMIT = 600
"""Up to this many rows or columns the Gram matrix is formed and decomposed."""


def lanczos_upper(
    gram: Callable[[np.ndarray], np.ndarray], size: int, steps: int = 40, rtol: float = 1e-6
) -> float:
    """Upper bound on the largest eigenvalue of a symmetric positive semidefinite map.

    k steps of Lanczos from a fixed random start with full reorthogonalisation; the bound is the largest Ritz
    value plus the norm of the last residual (Zhou & Li, *Bounding the spectrum of large Hermitian matrices*,
    LAA 2011), which lies above the spectrum unless the start is orthogonal to the top eigenvector.
    """
    rng = np.random.default_rng(0)
    q = rng.standard_normal(size)
    q /= np.linalg.norm(q)
    basis = [q]
    alphas: list[float] = []
    betas: list[float] = []
    upper = 0.0
    for k in range(min(steps, size)):
        w = gram(basis[-1])
        alphas.append(float(np.dot(w, basis[-1])))
        Q = np.stack(basis, axis=1)
        for _ in range(2):
            w = w - Q @ (Q.T @ w)
        residual = float(np.linalg.norm(w))
        ritz, vectors = np.linalg.eigh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))
        top = float(ritz[-1])
        upper = top + residual
        # the residual of the top Ritz pair is |last component|·residual: stop once it is negligible
        if residual <= 1e-14 * max(top, 1e-300):
            return top * (1 + 1e-12)
        if k >= 8 and abs(vectors[-1, -1]) * residual <= rtol * top:
            return top * (1 + 10 * rtol)
        betas.append(residual)
        basis.append(w / residual)
    return upper


def dense_extremes(matrix: np.ndarray) -> tuple[float, float]:
    """Exact (λ_min, λ_max) of M Mᵀ through the smaller Gram matrix."""
    m, k = matrix.shape
    if m == 0 or k == 0:
        return 0.0, 0.0
    # singular values, not Gram eigenvalues: squaring the matrix would lose λ_min below 1e-16 λ_max
    singular = np.linalg.svd(matrix, compute_uv=False)
    lower = float(singular[-1]) ** 2 if k >= m else 0.0
    top = float(singular[0]) ** 2
    return (lower if lower > 1e-28 * max(m, k) ** 2 * top else 0.0), top


def extremes_of_gram(
    gram: Callable[[np.ndarray], np.ndarray], rows: int, columns: int, known_upper: float = math.inf
) -> tuple[float, float]:
    """(λ_, λ̄) of a map on R^rows given only v ↦ A Aᵀ v; λ_ by Lanczos on λ̄·I - A Aᵀ."""
    upper = min(lanczos_upper(gram, rows), known_upper)
    if columns < rows or upper == 0.0:
        return 0.0, upper
    complement = lanczos_upper(lambda v: upper * v - gram(v), rows, steps=120, rtol=1e-4)
    lower = max(0.0, upper - complement)
    return lower, upper


def to_dense(operator: Operator, shape: Shape) -> np.ndarray:
    """The matrix of a map for NumPy inputs of `shape`, column by column."""
    size = math.prod(shape)
    columns = np.eye(size)
    return np.stack([np.asarray(operator.apply(e.reshape(shape))).ravel() for e in columns], axis=1)


def gram_extremes(operator: Operator, shape: Shape) -> tuple[float, float]:
    """(λ_, λ̄) of A Aᵀ for a map known by `apply` and `adjoint` only."""
    output = operator.output_shape(shape)
    rows, columns = math.prod(output), math.prod(shape)
    if rows == 0 or columns == 0:
        return 0.0, 0.0
    if max(rows, columns) <= EXACT_LIMIT:
        return dense_extremes(to_dense(operator, shape))

    def gram(v: np.ndarray) -> np.ndarray:
        out: Array = operator.apply(operator.adjoint(v.reshape(output)))
        return cast("np.ndarray", np.asarray(out)).ravel()

    return extremes_of_gram(gram, rows, columns)


def holder_bound(matrix: Any) -> float:
    """Rigorous bound ‖M‖² ≤ min(‖M‖₁·‖M‖∞, ‖M‖_F²) of a dense or sparse matrix."""
    magnitude = abs(matrix)
    rows, columns = magnitude.sum(axis=1), magnitude.sum(axis=0)
    frobenius = (magnitude.multiply(magnitude) if hasattr(magnitude, "multiply") else magnitude**2).sum()
    return float(min(np.max(rows) * np.max(columns), frobenius))
