"""Functions and maps of a block of which some entries are known: what they are of the entries that are left.

With x = (x_K, x_F), x_F given: f(x_K, x_F) and h(x_K, x_F) as functions of the vector x_K, up to a constant, and the
columns K of a linear map. `keep` are the places K in the flattened block, in their order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, rows_of
from ..functions import (
    Box,
    Composed,
    HuberLoss,
    LeastSquares,
    Linear,
    NonNegative,
    Nonsmooth,
    Quadratic,
    Smooth,
    SmoothSum,
    Stacked,
    Weighted,
    Zero,
)
from ..functions.entrywise import Entrywise
from ..functions.kinks import Kinks
from ..functions.recognising import PiecewiseLinear
from ..functions.rescaling import with_parts
from ..functions.scalar import ScalarPenalty
from ..operators import Compose, Diagonal, Identity, Matrix, Operator, Reshape, Sampling, ZeroMap
from .slack import as_map, is_nothing, multiple


def restricted(h: Nonsmooth, shape: Shape, keep: np.ndarray) -> Nonsmooth | None:
    """h of the entries `keep` alone, where it is a convex sum over entries, or of parts that are; else None."""
    if isinstance(h, Zero | NonNegative):
        return h
    if isinstance(h, Stacked):
        return _restricted_parts(h, keep)
    if not h.is_convex:
        return None

    def of(value: Any) -> Any:
        array = isinstance(value, np.ndarray) and value.ndim
        return np.broadcast_to(value, shape).reshape(-1)[keep] if array else value

    if isinstance(h, Box):
        return Box(of(h.lo), of(h.hi))
    if isinstance(h, Entrywise | ScalarPenalty):
        return with_parts(h, **{name: of(value) for name, value in vars(h).items()})
    kinks = h.kinks(shape)
    return None if kinks is None else PiecewiseLinear(Kinks(*map(of, kinks)))


def _restricted_parts(h: Stacked, keep: np.ndarray) -> Stacked | None:
    made: list[tuple[Nonsmooth, Any]] = []
    for (part, shape), place in zip(h.parts, h.slices, strict=True):
        own = keep[(keep >= place.start) & (keep < place.stop)] - place.start
        if own.size == math.prod(shape):
            made.append((part, shape))
        elif own.size:
            found = restricted(part, shape, own)
            if found is None:
                return None
            made.append((found, own.size))
    return Stacked(made)


def restricted_smooth(f: Smooth, at: Array, keep: np.ndarray) -> Smooth:
    """f of the entries `keep` alone, the others being those of `at`, which is 0 in the places `keep`."""
    if isinstance(f, SmoothSum):
        return SmoothSum([restricted_smooth(term, at, keep) for term in f.terms])
    if isinstance(f, Weighted):
        return Weighted(restricted_smooth(f.f, at, keep), f.weight, f.constant)
    if isinstance(f, Linear):
        return Linear(np.broadcast_to(f.c, at.shape).reshape(-1)[keep])
    if isinstance(f, Quadratic) and (Q := _principal(f.Q, at.shape, keep)) is not None:
        # ½⟨x, Qx⟩ + ⟨c, x⟩: the slope at x_K = 0 is c_K + Q_KF x_F
        return Quadratic(Q, f.grad(at).reshape(-1)[keep])
    if isinstance(f, LeastSquares | HuberLoss) and isinstance(f.G, Identity):
        return with_parts(f, y=np.broadcast_to(f.y, at.shape).reshape(-1)[keep])
    if isinstance(f, LeastSquares | HuberLoss) and at.ndim == 1 and (G := _columns(f.G, keep)) is not None:
        return with_parts(f, G=G, y=f.y - f.G.apply(at))
    if isinstance(f, Composed) and at.ndim == 1 and (A := _columns(f.A, keep)) is not None:
        return Composed(f.f, A, f.inner(at))
    return Composed(f, Sampling(keep, shape=at.shape).T, at)


def _principal(Q: Operator, shape: Shape, keep: np.ndarray) -> Any:
    """The rows and columns `keep` of Q, None where they are not at hand."""
    if isinstance(Q, Identity):
        return Q
    if isinstance(Q, Diagonal):
        return Diagonal(Q.diagonal.reshape(-1)[keep])
    known = isinstance(Q, Matrix) and len(shape) == 1 and Q.natural_shape() is not None
    return Q.matrix[keep][:, keep] if known and isinstance(Q, Matrix) else None


def _columns(A: Operator, keep: np.ndarray) -> Matrix | None:
    """The columns `keep` of a matrix."""
    return Matrix(A.matrix[:, keep]) if isinstance(A, Matrix) and A.natural_shape() is not None else None


def restricted_map(
    A: Operator, shape: Shape, output: Shape, keep: np.ndarray | None, rows: np.ndarray | None
) -> Operator:
    """The columns `keep` and the `rows` of A, for blocks of `shape` with A x of shape `output`; None stands for all.

    A has a matrix, unless all of it is asked for.
    """
    if keep is None and rows is None:
        return A
    inner = shape if keep is None else (keep.size,)
    outer = output if rows is None else (rows.size,)
    if is_nothing(A):
        return ZeroMap(inner, outer)
    a = multiple(A)
    if a is not None and keep is not None and rows is not None and np.array_equal(keep, rows):
        return Identity(a)
    matrix = A.as_matrix(shape)
    matrix = matrix if rows is None else rows_of(matrix, rows)
    made = as_map(matrix if keep is None else matrix[:, keep], inner)
    own = tuple(made.output_shape(inner))
    return made if own == tuple(outer) else Compose(Reshape(own, outer), made)
