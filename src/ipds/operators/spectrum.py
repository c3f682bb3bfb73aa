"""Extreme eigenvalues of A Aᵀ: exact for small maps, bounds by Lanczos for large or matrix-free ones.

In what sense the bounds hold. k steps of Lanczos from a start q, uniform on the sphere, give Ritz values
θ_1 ≥ … ≥ θ_k and the off-diagonal β_1 … β_k. The next Lanczos polynomial p(t) = Π (t - θ_j)/β_j satisfies
‖p(A) q‖ = 1, so the top eigenvalue obeys |p(λ)|·|c| ≤ 1, c being the component of q along its eigenvector.
p grows beyond θ_1: if |c| ≥ τ, then λ lies below the point t > θ_1 where p(t) = 1/τ. The same holds on the
left of θ_k. For τ = FAILURE·√(π/2n) the condition fails with probability at most FAILURE = 1e-10 over the
start, whatever the spectrum. (van Dorsselaer, Hochstenbach & van der Vorst, *Computing probabilistic bounds
for extreme eigenvalues of symmetric matrices with the Lanczos method*, SIAM J. Matrix Anal. Appl. 2001.)
For explicit matrices the rigorous bound min(‖M‖₁‖M‖∞, ‖M‖_F²) caps the result as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from .._arrays import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Operator

EXACT_LIMIT = 600
"""Maps with at most this many rows and columns are decomposed exactly."""
GRAM_LIMIT = 1500
"""Explicit matrices whose smaller side is at most this long give their extremes through the Gram matrix."""
NORM_LIMIT = 300
"""Up to this smaller side the norm comes from the Gram matrix: as fast as Lanczos, and exact."""
FAILURE = 1e-10
"""Probability at most with which a bound by Lanczos fails, over its random start."""
RTOL = 0.005
"""How near a bound by Lanczos comes to what it bounds."""
_BASIS_ENTRIES = 2**26  # the Lanczos basis takes at most half a gigabyte
_EPS = float(np.finfo(float).eps)


class Bounds(NamedTuple):
    """Guaranteed interval [lower, upper] around the spectrum of a symmetric map."""

    lower: float
    upper: float


def lanczos_bounds(
    gram: Callable[[np.ndarray], np.ndarray],
    size: int,
    *,
    steps: int = 150,
    both_ends: bool = False,
    eps: float = _EPS,
) -> Bounds:
    """Bounds on the spectrum of a symmetric positive semidefinite map of R^size.

    Stops once the upper bound is within `RTOL` of the largest Ritz value (with `both_ends`, also the lower
    bound within 10·`RTOL` of the smallest), or after `steps` products. `eps` is the rounding unit of `gram`.
    """
    rng = np.random.default_rng(20240)
    steps = min(steps, size, max(20, _BASIS_ENTRIES // size))
    basis = np.empty((steps, size))
    q = rng.standard_normal(size)
    basis[0] = q / np.linalg.norm(q)
    diagonal = np.zeros(steps)
    off = np.zeros(steps)
    log_tau = math.log(FAILURE) + 0.5 * math.log(math.pi / (2 * size))
    for k in range(steps):
        w = np.asarray(gram(basis[k]), dtype=float)
        diagonal[k] = np.dot(w, basis[k])
        known = basis[: k + 1]
        for _ in range(2):  # the identities above need an orthogonal basis: once is not enough
            w = w - known.T @ (known @ w)
        off[k] = np.linalg.norm(w)
        last = k + 1 == steps
        # what is left is rounding: the Krylov space is invariant and its Ritz values are eigenvalues
        size_so_far = max(float(np.max(np.abs(diagonal[: k + 1]))), off[0])
        exhausted = off[k] <= 64 * eps * math.sqrt(size) * size_so_far
        if last or exhausted or k % 6 == 5:
            ritz = scipy.linalg.eigh_tridiagonal(diagonal[: k + 1], off[:k], eigvals_only=True)
            top, bottom = float(ritz[-1]), float(ritz[0])
            slack = 64 * eps * math.sqrt(size) * max(abs(top), abs(bottom))
            if exhausted or k + 1 == size:
                return Bounds(max(0.0, bottom - slack), top + slack)
            goal = float(np.sum(np.log(off[: k + 1]))) - log_tau
            upper = top + _reach(top - ritz[::-1], goal, top) + slack
            lower = max(0.0, bottom - _reach(ritz - bottom, goal, top) - slack) if both_ends else 0.0
            tight = upper <= (1 + RTOL) * top and (not both_ends or lower >= (1 - 10 * RTOL) * bottom)
            if last or tight:
                return Bounds(lower, upper)
        basis[k + 1] = w / off[k]
    raise AssertionError("unreachable: the last step returns")


def lanczos_upper(gram: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """Upper bound on the largest eigenvalue of a symmetric positive semidefinite map of R^size."""
    return lanczos_bounds(gram, size).upper


def _reach(gaps: np.ndarray, goal: float, scale: float) -> float:
    """The x > 0 with Σ log(x + gap_j) = goal, by bisection from above; the sum increases in x."""
    low, high = 0.0, max(scale, 1e-300)
    while np.sum(np.log(high + gaps)) < goal:
        high *= 2
    while high - low > 1e-6 * high and high > 1e-14 * scale:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sum(np.log(middle + gaps)) < goal else (low, middle)
    return high


def matrix_norm_squared(M: Any) -> float:
    """‖M‖² of a NumPy or SciPy sparse matrix: exact for small ones, else a safe bound within about 1%."""
    rows, columns = M.shape
    if min(rows, columns) == 0:
        return 0.0
    if min(rows, columns) <= NORM_LIMIT:
        return max(0.0, _top(_smaller_gram(M)))
    tall = rows > columns
    upper = lanczos_bounds(_gram_of(M.T if tall else M), min(rows, columns), eps=_unit(M)).upper
    return min(upper, holder_bound(M))


def largest_eigenvalue(C: np.ndarray) -> float:
    """λ_max of a symmetric positive semidefinite matrix: exact if small, else a safe bound within 1%."""
    if C.shape[0] <= NORM_LIMIT:
        return max(0.0, _top(C))
    upper = lanczos_bounds(lambda v: C @ v.astype(C.dtype, copy=False), C.shape[0], eps=_unit(C)).upper
    return min(upper, float(np.max(np.sum(np.abs(C), axis=1))))


def matrix_extremes(M: Any) -> tuple[float, float]:
    """(λ_, λ̄) of M Mᵀ for a NumPy or SciPy sparse matrix."""
    rows, columns = M.shape
    if min(rows, columns) == 0:
        return 0.0, 0.0
    if max(rows, columns) <= EXACT_LIMIT:
        return dense_extremes(M.toarray() if scipy.sparse.issparse(M) else M)
    if rows > columns:
        return 0.0, matrix_norm_squared(M)
    if rows <= GRAM_LIMIT:
        values = scipy.linalg.eigvalsh(_smaller_gram(M).astype(float, copy=False))
        lower, upper = float(values[0]), max(0.0, float(values[-1]))
        return (lower if lower > 10 * rows * _EPS * upper else 0.0), upper
    inverse = _inverse_of_sparse_gram(M) if scipy.sparse.issparse(M) else None
    if inverse is not None:
        # λ_ is the inverse of the top of the inverse, which Lanczos finds quickly however small λ_ is
        upper = matrix_norm_squared(M)
        lower = 1.0 / lanczos_bounds(inverse, rows).upper
        return (lower if lower > 10 * rows * _EPS * upper else 0.0), upper
    bounds = lanczos_bounds(_gram_of(M), rows, steps=300, both_ends=True, eps=_unit(M))
    return bounds.lower, min(bounds.upper, holder_bound(M))


def _inverse_of_sparse_gram(M: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """v ↦ (M Mᵀ)⁻¹ v by a sparse factorisation; None where M Mᵀ is singular or would fill in."""
    product = scipy.sparse.csc_array(M @ M.T, dtype=float)
    if product.nnz > 10 * product.shape[0]:
        return None
    try:
        solve = scipy.sparse.linalg.splu(product).solve
    except RuntimeError:  # "Factor is exactly singular"
        return None
    # a singular one may pass with a pivot of rounding size, even a negative one: its solutions give it away
    v = np.random.default_rng(0).standard_normal(product.shape[0])
    residual = np.linalg.norm(product @ solve(v) - v)
    return solve if residual <= 1e-6 * np.linalg.norm(v) else None


def dense_extremes(matrix: np.ndarray) -> tuple[float, float]:
    """Exact (λ_, λ̄) of M Mᵀ."""
    m, k = matrix.shape
    if m == 0 or k == 0:
        return 0.0, 0.0
    # singular values, not Gram eigenvalues: squaring the matrix would lose λ_ below 1e-16 λ̄
    singular = np.linalg.svd(matrix.astype(float, copy=False), compute_uv=False)
    top = float(singular[0]) ** 2
    lower = float(singular[-1]) ** 2 if k >= m else 0.0
    return (lower if lower > 1e-28 * max(m, k) ** 2 * top else 0.0), top


def gram_extremes(operator: Operator, shape: Shape) -> tuple[float, float]:
    """(λ_, λ̄) of A Aᵀ for a map of NumPy arrays known by `apply` and `adjoint` only."""
    output = operator.output_shape(shape)
    rows, columns = math.prod(output), math.prod(shape)
    if rows == 0 or columns == 0:
        return 0.0, 0.0
    if max(rows, columns) <= EXACT_LIMIT:
        return dense_extremes(_to_dense(operator, shape))
    if rows > columns:
        return 0.0, operator_norm_squared(operator, shape)

    def gram(v: np.ndarray) -> np.ndarray:
        return np.asarray(operator.apply(operator.adjoint(v.reshape(output)))).reshape(-1)

    bounds = lanczos_bounds(gram, rows, steps=300, both_ends=True)
    return bounds.lower, bounds.upper


def operator_norm_squared(operator: Operator, shape: Shape) -> float:
    """‖A‖² on inputs of `shape` through `apply` and `adjoint`, by Lanczos on the smaller side."""
    output = operator.output_shape(shape)
    rows, columns = math.prod(output), math.prod(shape)
    if rows == 0 or columns == 0:
        return 0.0
    if max(rows, columns) <= EXACT_LIMIT:
        return dense_extremes(_to_dense(operator, shape))[1]

    def gram(v: np.ndarray) -> np.ndarray:
        if rows < columns:
            return np.asarray(operator.apply(operator.adjoint(v.reshape(output)))).reshape(-1)
        return np.asarray(operator.adjoint(operator.apply(v.reshape(shape)))).reshape(-1)

    return lanczos_bounds(gram, min(rows, columns)).upper


def holder_bound(matrix: Any) -> float:
    """Rigorous bound ‖M‖² ≤ min(‖M‖₁·‖M‖∞, ‖M‖_F²) of a dense or sparse matrix."""
    magnitude = abs(matrix)
    # sums in float64, with room for their rounding: a float32 sum may fall below the truth
    rows, columns = magnitude.sum(axis=1, dtype=float), magnitude.sum(axis=0, dtype=float)
    entries = magnitude.data if scipy.sparse.issparse(magnitude) else magnitude.reshape(-1)
    square = np.sum(np.square(entries, dtype=float))
    return float(min(np.max(rows) * np.max(columns), square)) * (1 + 64 * _EPS)


def _gram_of(M: Any) -> Callable[[np.ndarray], np.ndarray]:
    """v ↦ M Mᵀ v in the precision of M: a wider v would make NumPy widen the matrix at every product."""
    transpose = scipy.sparse.csr_array(M.T) if scipy.sparse.issparse(M) else M.T
    narrow = M.dtype if np.issubdtype(M.dtype, np.floating) else float
    return lambda v: M @ (transpose @ v.astype(narrow, copy=False))


def _smaller_gram(M: Any) -> np.ndarray:
    """The smaller of M Mᵀ and MᵀM."""
    product = M @ M.T if M.shape[0] <= M.shape[1] else M.T @ M
    return product.toarray() if scipy.sparse.issparse(product) else product


def _top(C: np.ndarray) -> float:
    """λ_max of a symmetric matrix: alone it takes half the time of all of them."""
    last, C = len(C) - 1, C.astype(float, copy=False)
    return float(scipy.linalg.eigh(C, eigvals_only=True, subset_by_index=[last, last])[0])


def _unit(M: Any) -> float:
    return float(np.finfo(M.dtype).eps) if np.issubdtype(M.dtype, np.floating) else _EPS


def _to_dense(operator: Operator, shape: Shape) -> np.ndarray:
    """The matrix of a map for NumPy inputs of `shape`, column by column."""
    columns = np.eye(math.prod(shape))
    return np.stack([np.asarray(operator.apply(e.reshape(shape))).reshape(-1) for e in columns], axis=1)
