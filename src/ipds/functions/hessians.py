"""Second derivatives of smooth functions: how they are represented, added and, where nothing is known, approximated.

`f.hessian(x)` is a 1-D array, the diagonal on the flattened block; a 2-D array or SciPy sparse matrix on the flattened
block; or a symmetric `Operator` on arrays like x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, choose, magnitude, namespace, precision, to_dense, to_numpy
from ..operators import Diagonal, Identity, Matrix, Operator, Reshape, spectrum
from .jacobians import Jacobian

FEW = 8
"""Entries from which on it is asked whether each is alone."""
ULPS = 4 * float(np.finfo(float).eps)
"""What rounding may change, relative to the entries of a gradient."""
FACTORED = 3000
"""Matrices up to this size are tested for definiteness by a dense factorisation."""
WRITTEN = 400
"""Entries up to which a constant second derivative that is known by its products is written out."""


class Products(Jacobian):
    """A second derivative known by its products d ↦ ∇²f(x) d."""

    def __init__(self, product: Callable[[Array], Array], shape: Shape) -> None:
        super().__init__(shape)
        self.product = product

    def apply(self, x: Array) -> Array:
        return self.product(x)

    def norm(self) -> float:
        def square(v: np.ndarray) -> np.ndarray:
            return to_numpy(self.product(self.product(v.reshape(self.shape)))).reshape(-1)

        return math.sqrt(spectrum.lanczos_upper(square, math.prod(self.shape)))


def difference(grad: Callable[[Array], Array], x: Array, d: Array) -> Array:
    """∇²f(x) d by a central difference of the gradient: (∇f(x + t d) - ∇f(x - t d))/(2t).

    t‖d‖ = ∛eps·‖x‖, where rounding and the third derivative cost about the same digits.
    """
    length, size = magnitude(d), magnitude(x)
    t = precision(x) ** (1 / 3) * choose(size > 0, size, 1.0) / choose(length > 0, length, 1.0)
    return (grad(x + t * d) - grad(x - t * d)) / (2 * t)


def by_differences(
    grad: Callable[[Array], Array], x: np.ndarray, steps: np.ndarray, here: np.ndarray | None = None
) -> np.ndarray:
    """∇²f(x) as a matrix on the flattened block by such differences, entry j of x moved by steps[j] to both sides.

    To one side where ∇f(x) is given `here`: half of the gradients, and half of the digits.
    """
    moves = np.diag(steps).reshape(-1, *x.shape)
    change = np.stack([np.ravel(grad(point)) for point in x + moves])
    if here is None:
        change -= np.stack([np.ravel(grad(point)) for point in x - moves])
        steps = 2 * steps
    else:
        change -= np.ravel(here)
    H = change / steps[:, None]
    return 0.5 * (H + H.T)


def of_entries(
    grad: Callable[[np.ndarray], np.ndarray], x: np.ndarray, steps: np.ndarray
) -> np.ndarray | None:
    """The diagonal of ∇²f(x) by such differences to both sides, where each entry of ∇f depends on its own of x only.

    None where others change it by more than rounding, and for so few entries that a column for each costs no more. Any
    two entries go to different sides in one of log₂ n further points: what ties them shows there, as it would in the
    columns.
    """
    place = np.arange(x.size)
    if x.size < FEW:
        return None

    def at(move: np.ndarray) -> np.ndarray:
        return np.ravel(grad(x + move.reshape(x.shape)))

    up, down = at(steps), at(-steps)
    for k in range((x.size - 1).bit_length()):
        is_down = (place >> k & 1).astype(bool)
        alone = np.where(is_down, down, up)
        if not (np.abs(at(np.where(is_down, -steps, steps)) - alone) <= ULPS * np.abs(alone)).all():
            return None
    return (up - down) / (2 * steps)


def is_still(
    H: np.ndarray,
    grad: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    steps: np.ndarray,
    here: np.ndarray | None,
) -> bool:
    """Whether ∇²f(x) is H, to the rounding of gradients: H d is their change along a random d, one or two of them.

    Two matrices that differ give the same product with probability 0 (Freivalds, 1977). Entry i of a gradient is
    rounded by parts of itself and of (|H| |x|)_i, each of the columns that H comes from as well. No entry of x moves by
    more than its step, to both sides unless ∇f(x) is given `here`.
    """
    d = steps * np.random.default_rng(0).uniform(-1.0, 1.0, x.size)
    move = d.reshape(x.shape)
    up, down = np.ravel(grad(x + move)), np.ravel(grad(x - move) if here is None else here)
    product = H @ (2 * d if here is None else d)
    rounding = math.sqrt(x.size) * ULPS * (np.abs(up) + np.abs(H) @ np.abs(x.ravel()))
    return bool((np.abs(up - down - product) <= rounding).all())


def step_size(x: np.ndarray, sides: int) -> float:
    """A step for differences to so many sides, at which rounding and the next derivative cost about the same digits."""
    return float(np.finfo(x.dtype).eps ** (1 / (1 + sides)) * (np.linalg.norm(x) or 1.0))


def as_map(H: Any, shape: Shape) -> Operator:
    """A second derivative as an operator on arrays of `shape`."""
    if isinstance(H, Operator):
        return H
    if H.ndim == 1:
        return Diagonal(namespace(H).reshape(H, shape)) if shape else Identity(float(H[0]))
    if len(shape) == 1:
        return Matrix(H)
    flat = Reshape(shape)
    return flat.T @ Matrix(H) @ flat


def add(parts: Sequence[Any], shape: Shape) -> Any:
    """The sum of second derivatives, in the simplest form that they share."""
    if any(isinstance(H, Operator) for H in parts):
        maps = [as_map(H, shape) for H in parts]
        return sum(maps[1:], start=maps[0])
    return reduce(_plus, parts)


def _plus(H: Any, K: Any) -> Any:
    """H + K of arrays: a 1-D one is added to the diagonal of a matrix."""
    if H.ndim == K.ndim:
        return H + K
    matrix, diagonal = (H, to_numpy(K)) if H.ndim == 2 else (K, to_numpy(H))
    if scipy.sparse.issparse(matrix):
        return matrix + scipy.sparse.diags_array(diagonal, format="csr")
    dense = to_numpy(matrix)
    total = dense.astype(np.result_type(dense, diagonal))  # a copy
    total.flat[:: len(total) + 1] += diagonal
    return total


def between(A: Operator, H: Any, shape: Shape) -> Any:
    """Aᵀ H A for a map A of blocks of `shape`: a matrix where A is sparse, or dense with no fewer rows than columns.

    Else an operator, which takes less room and time.
    """
    if isinstance(A, Identity):
        return H if A.scale == 1.0 else A.scale**2 * H
    matrix = A.as_matrix(shape) if len(shape) == 1 and not isinstance(H, Operator) else None
    if matrix is None or (not scipy.sparse.issparse(matrix) and matrix.shape[0] < matrix.shape[1]):
        return A.T @ as_map(H, A.output_shape(shape)) @ A
    if H.ndim == 2:
        return matrix.T @ (H @ matrix)
    if scipy.sparse.issparse(matrix):
        return matrix.T @ (scipy.sparse.diags_array(to_numpy(H)) @ matrix)
    return matrix.T @ (H[:, None] * matrix)


def semidefinite(Q: Operator) -> bool | None:
    """Whether a symmetric Q has no eigenvalue below -1e-12‖Q‖, None where neither its form nor a factorisation says."""
    if isinstance(Q, Identity):
        return Q.scale >= 0
    if isinstance(Q, Diagonal):
        return bool(np.all(to_numpy(Q.diagonal) >= 0))
    if not isinstance(Q, Matrix) or Q.natural_shape() is None:
        return None
    matrix, diagonal = Q.matrix, Q.matrix.diagonal()
    size = matrix.shape[0]
    if np.any(diagonal < 0):
        return False
    if scipy.sparse.issparse(matrix):
        if np.all(2 * diagonal >= abs(matrix).sum(axis=1)):  # Gershgorin: its circles lie right of 0
            return True
        if size > FACTORED:
            return _by_sparse_pivots(matrix)
        matrix = matrix.toarray()
    if size > FACTORED:
        return None
    shift = 1e-12 * float(np.linalg.norm(matrix)) or 1.0
    return scipy.linalg.lapack.dpotrf(matrix + shift * np.eye(size), lower=1, clean=0)[1] == 0


def _by_sparse_pivots(matrix: Any) -> bool | None:
    """The signs of the pivots of Q + shift I without row exchanges are those of its eigenvalues (Sylvester)."""
    size = float(scipy.sparse.linalg.norm(matrix))
    shifted = scipy.sparse.csc_array(matrix + 1e-12 * size * scipy.sparse.eye_array(matrix.shape[0]))
    options = {"SymmetricMode": True, "Equil": False}
    try:
        factors = scipy.sparse.linalg.splu(
            shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
        )
    except (RuntimeError, MemoryError):  # a pivot of 0, or too many entries
        return None
    if np.any(factors.perm_r != factors.perm_c):
        return None
    return bool(np.all(factors.U.diagonal() > 0))


def constant_hessian(f: Any, x: np.ndarray) -> np.ndarray | None:
    """∇²f of a quadratic f as an array, its diagonal where that is all.

    None for other f, and for one of more than `WRITTEN` entries that is known by its products.
    """
    bend: Any = to_dense(f.hessian(x)) if f.is_quadratic else None
    if isinstance(bend, Operator) and x.size <= WRITTEN:
        bend = np.stack([np.ravel(bend.apply(e.reshape(x.shape))) for e in np.eye(x.size)])
    return bend if isinstance(bend, np.ndarray) else None
