"""f and A of a block as those of its free entries: x = embed(y) on a face."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ...functions import Composed, LeastSquares, Linear, Quadratic, Smooth, Weighted
from ...functions.composed import SmoothSum, total
from ...functions.faces import Coordinates
from ...functions.losses import LinearModel
from ...functions.rescaling import with_parts
from ...operators import Compose, Identity, Matrix, Operator, Transpose
from ...operators.sampling import Sampling

FEW = 100
"""Columns up to which they are written out one by one."""
WRITTEN_OUT = 10**6
"""Entries up to which they are, and sparse columns for exchanges."""


class Local(Smooth):
    """f where it may bend either way: what Newton steps find is looked at afterwards."""

    def __init__(self, f: Smooth):
        self.f = f

    def __call__(self, x: np.ndarray) -> float:
        return self.f(x)

    def grad(self, x: np.ndarray) -> np.ndarray:
        return self.f.grad(x)

    def value_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        return self.f.value_and_grad(x)

    def curvature(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.f.curvature(x, d)

    def hessian(self, x: np.ndarray) -> Any:
        return self.f.hessian(x)


def function_of(f: Smooth | None, face: Coordinates, fixed: np.ndarray) -> Smooth | None:
    """f as a function of the free entries, embed(y) = `fixed` + (y in its places)."""
    if f is None:
        return None
    is_linear = not np.any(fixed)
    if isinstance(f, LinearModel) and isinstance(f.G, Matrix) and fixed.ndim == 1 and is_linear:
        own = with_parts(f, G=Matrix(f.G.matrix[:, face.free]))
        return own if own.is_convex else Local(own)
    if isinstance(f, Linear) and is_linear:
        return Linear(np.broadcast_to(f.c, fixed.shape).ravel()[face.free])
    if isinstance(f, LeastSquares) and is_linear:
        G = _written_out(f.G, fixed.shape, face.free)
        if G is not None:
            y = np.ravel(np.broadcast_to(f.y, f.G.output_shape(fixed.shape)))
            return LeastSquares(G, y)
    if isinstance(f, Quadratic) and fixed.ndim == 1 and is_linear and _is_dense(f.Q):
        own = {"is_convex": True} if f.is_convex else {}  # every part of Q ≽ 0 is
        Q = f.Q.matrix[np.ix_(face.free, face.free)]  # type: ignore[attr-defined]
        return with_parts(
            f, Q=Matrix(Q), c=np.broadcast_to(f.c, fixed.shape)[face.free], _no_linear_term=False, **own
        )
    if isinstance(f, Weighted):
        inner = function_of(f.f, face, fixed)
        assert inner is not None
        return Weighted(inner, f.weight, f.constant)
    if isinstance(f, SmoothSum):
        return total([own for own in (function_of(term, face, fixed) for term in f.terms) if own is not None])
    k, n = face.dimension, fixed.size
    embed: Operator = _embedding(fixed.shape, face)
    if fixed.ndim == 1:
        embed = Matrix(scipy.sparse.csr_array((np.ones(k), (face.free, np.arange(k))), shape=(n, k)))
    return Composed(f, embed, 0.0 if is_linear else fixed)


def _embedding(shape: tuple[int, ...], face: Coordinates) -> Operator:
    """The free entries ↦ the block that has them, and zeros."""
    mask = np.zeros(shape, bool)
    mask.flat[face.free] = True
    return Transpose(Sampling(mask))


def _written_out(op: Operator, shape: tuple[int, ...], free: np.ndarray) -> np.ndarray | None:
    """The columns of A that belong to few free entries, as a matrix; None where they are many."""
    if len(free) > FEW or len(free) * math.prod(op.output_shape(shape)) > WRITTEN_OUT:
        return None
    columns, entry = [], np.zeros(shape)
    for k in free:
        entry.flat[k] = 1.0
        columns.append(np.array(op.apply(entry)).ravel())  # a copy: an identity returns what it is given
        entry.flat[k] = 0.0
    return np.stack(columns, axis=1) if columns else None


def _is_dense(op: Operator) -> bool:
    return isinstance(op, Matrix) and type(op.matrix) is np.ndarray


def columns(op: Operator, shape: tuple[int, ...], face: Coordinates) -> Any:
    """A on the free entries."""
    if _is_dense(op) and len(shape) == 1:
        return op.matrix[:, face.free]  # type: ignore[attr-defined]
    embed = _embedding(shape, face)
    return embed if isinstance(op, Identity) and op.scale == 1.0 else Compose(op, embed)
