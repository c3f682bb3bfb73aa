"""The one place that knows about array libraries.

Blocks may be arrays of any library that follows the array API standard. Everything that differs between
libraries, or that has a faster spelling in NumPy, is spelled here once.
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np
from scipy.linalg.blas import dasum

Array = Any
Shape = tuple[int, ...]


def namespace(x: Array) -> Any:
    """Array API namespace of `x`; the NumPy case costs one comparison."""
    if type(x) is np.ndarray:
        return np
    return array_api_compat.array_namespace(x)


def is_array(x: object) -> bool:
    """Whether `x` is an array of a library we can work with (0-d included)."""
    return isinstance(x, np.ndarray) or array_api_compat.is_array_api_obj(x)


def dot(x: Array, y: Array) -> Any:
    """Inner product ⟨x, y⟩ of two real arrays of one shape, over all entries."""
    if type(x) is np.ndarray:
        return np.vdot(x, y)  # unlike np.dot, silent where a diverging run overflows
    return array_api_compat.array_namespace(x).sum(x * y)


def norm(x: Array) -> float:
    """Euclidean (Frobenius) norm over all entries, safe from overflow and underflow."""
    if type(x) is np.ndarray:
        square = float(np.vdot(x, x))
        if 1e-280 < square < 1e280:
            return math.sqrt(square)
        top = float(np.max(np.abs(x))) if x.size else 0.0
        if top == 0.0 or not math.isfinite(top):
            return top
        scaled = x / top
        return top * math.sqrt(float(np.vdot(scaled, scaled)))
    xp = array_api_compat.array_namespace(x)
    if x.size == 0:
        return 0.0
    top = float(xp.max(xp.abs(x)))
    if top == 0.0 or not math.isfinite(top):
        return top
    scaled = x / top
    return top * math.sqrt(float(xp.sum(scaled * scaled)))


def add_scaled(x: Array, factor: float, y: Array) -> Array:
    """x + factor·y, with one temporary less in NumPy."""
    if type(y) is np.ndarray:
        out = factor * y
        return np.add(x, out, out=out) if type(x) is np.ndarray and x.dtype == out.dtype else x + out
    return x + factor * y


def scaled_difference(x: Array, y: Array, factor: float) -> Array:
    """factor·(x - y), with one temporary less in NumPy."""
    if type(y) is np.ndarray:
        out = x - y
        out *= factor
        return out
    return factor * (x - y)


def absolute_sum(x: Array) -> float:
    """Σ|x_i| over all entries; one pass and no temporary for contiguous float64 in NumPy."""
    if type(x) is np.ndarray:
        if x.dtype == np.float64 and x.size and (x.flags.c_contiguous or x.flags.f_contiguous):
            return float(dasum(x.reshape(-1, order="A")))
        return float(np.abs(x).sum())
    xp = array_api_compat.array_namespace(x)
    return float(xp.sum(xp.abs(x)))


def precision(x: Array) -> float:
    """Distance from 1 to the next number of the dtype of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)


def all_finite(x: Array) -> bool:
    """Whether every entry is finite."""
    xp = namespace(x)
    return bool(xp.all(xp.isfinite(x)))


def kth_largest(x: Array, k: int) -> Any:
    """The k-th largest entry of a 1-d array, 1 ≤ k ≤ size: by partition in NumPy, O(size)."""
    if type(x) is np.ndarray:
        return np.partition(x, x.shape[0] - k)[x.shape[0] - k]
    return namespace(x).sort(x)[x.shape[0] - k]


def asarray(x: Any, like: Array) -> Array:
    """`x` as an array of the library, dtype and device of `like`."""
    if type(like) is np.ndarray:
        return np.asarray(x, dtype=like.dtype)
    xp = namespace(like)
    return xp.asarray(x, dtype=like.dtype, device=array_api_compat.device(like))


def to_numpy(x: Array) -> np.ndarray:
    """A NumPy copy or view of `x`, for reports and for SciPy routines."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().numpy())
    return np.asarray(x)
