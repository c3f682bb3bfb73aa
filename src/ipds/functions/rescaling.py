"""Other units: what `rescaled(d)`, the function u ↦ h(d·u), asks of d, and linear maps of d·u."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape, is_array, scaled_matrix, to_numpy
from ..operators import Compose, Diagonal, Identity, Matrix, Operator

Powers = tuple[tuple[str, float], ...]
"""(parameter, power) pairs."""


def units(d: Any) -> float | np.ndarray:
    """d as a float, also where it is an array of equal entries, or as an array; ValueError unless all are positive."""
    if type(d) is float and 0 < d < math.inf:
        return d
    plain = np.asarray(to_numpy(d) if is_array(d) else d, dtype=float)
    if not plain.size:
        return plain
    least, largest = float(plain.min()), float(plain.max())
    if not 0 < least <= largest < math.inf:
        raise ValueError(f"rescaled: d must be finite and > 0, got {d!r}")
    return least if least == largest else plain


def one_unit(d: Any) -> float | None:
    """d where it is one number for all entries, else None."""
    found = units(d)
    return found if isinstance(found, float) else None


def row_units(d: Any) -> float | np.ndarray | None:
    """One number for all rows of a block, or one for each; None where d differs within a row."""
    found = units(d)
    if isinstance(found, float):
        return found
    rows = found.reshape(found.shape[0], -1)
    return rows[:, 0] if np.all(rows == rows[:, :1]) else None


def side_units(d: Any) -> np.ndarray | None:
    """a with d_ij = a_i a_j: units of the rows and, the same, of the columns of a square matrix; None for others."""
    found = np.asarray(units(d))
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        return None
    a = np.sqrt(found.diagonal())
    return a if np.all(np.abs(found / np.outer(a, a) - 1.0) <= 8 * np.finfo(float).eps) else None


def over(bound: float | Array, d: float | np.ndarray) -> float | Array:
    """bound/d; 0 and infinite numbers stay numbers."""
    return bound if type(bound) is float and (bound == 0.0 or not np.isfinite(bound)) else bound / d


def with_parts(f: Any, **parts: Any) -> Any:
    """A copy of f with other `parts`, less what it has computed from the old ones and kept."""
    new = copy.copy(f)
    for name in list(vars(new)):
        if isinstance(getattr(type(new), name, None), cached_property):
            del vars(new)[name]
    vars(new).update(parts)
    return new


def in_units(h: Any, d: float | np.ndarray, powers: Powers) -> Any:
    """A copy of h with each of its parameters in `powers` times d to the power; h itself where there are none."""
    changed = {
        name: getattr(h, name) * d**power if power > 0 else getattr(h, name) / d**-power
        for name, power in powers
    }
    return with_parts(h, **changed) if changed else h


def after_units(A: Operator, d: float | np.ndarray, shape: Shape | None = None) -> Operator | None:
    """x ↦ A(d·x), as simple as it can be said; `shape` is the block's where it is known.

    None where d is an array of which that shape does not say how it lies on the block.
    """
    if isinstance(d, float):
        if isinstance(A, Identity):
            return Identity(A.scale * d)
        known = isinstance(A, Matrix) and A.natural_shape() is not None
        return Matrix(d * A.matrix) if known and isinstance(A, Matrix) else d * A
    if isinstance(A, Matrix) and A.natural_shape() is not None:
        rows = row_units(d)
        if isinstance(rows, np.ndarray) and rows.size == A.matrix.shape[1]:
            return Matrix(scaled_matrix(None, A.matrix, rows))
        natural: Shape | None = None  # acts on blocks of more axes as well
    else:
        natural = A.natural_shape()
    shape = shape or natural or (d.shape if 1 not in d.shape else None)
    if shape is None or np.broadcast_shapes(d.shape, shape) != tuple(shape):
        return None
    full = np.ascontiguousarray(np.broadcast_to(d, shape))
    return Diagonal(A.scale * full) if isinstance(A, Identity) else Compose(A, Diagonal(full))
