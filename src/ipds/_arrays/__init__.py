"""The one place that knows about array libraries.

Blocks may be arrays of any library that follows the array API standard. Everything that differs between
libraries, or that has a faster spelling in NumPy, is spelled here once.

Numbers computed from arrays (`dot`, `magnitude`, values of functions) are floats in NumPy. In other libraries they stay
0-d arrays, so that a step can be compiled, sent to a device or to a cluster as a whole; `fetch` turns many of them into
floats at once. Code between two fetches never branches on them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat
import numpy as np
import scipy  # here and elsewhere without its parts, which load where they are first used

from ..distributed import Later, Rows, cut_like, rows, to_dask

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


def is_jax(x: object) -> bool:
    """Whether `x` is a JAX array, traced ones included."""
    return type(x) is not np.ndarray and array_api_compat.is_jax_array(x)


def on_device(x: object) -> bool:
    """Whether `x` belongs to a library with devices of its own: PyTorch, JAX or CuPy."""
    return is_jax(x) or array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x)


def is_traced(x: object) -> bool:
    """Whether `x` stands for an array in what JAX is compiling: its entries cannot be looked at."""
    return is_jax(x) and isinstance(x, importlib.import_module("jax").core.Tracer)


def dot(x: Array, y: Array) -> Any:
    """Inner product ⟨x, y⟩ of two real arrays of one shape, over all entries."""
    if type(x) is np.ndarray:
        return float(np.vdot(x, y))  # unlike np.dot, silent where a diverging run overflows
    return array_api_compat.array_namespace(x).sum(x * y)


def magnitude(x: Array) -> Any:
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
    if type(x) is Rows:  # each chunk by itself, so that one pass will do
        return x.reduce(magnitude, np.hypot)
    xp = array_api_compat.array_namespace(x)
    if 0 in x.shape:
        return 0.0
    top = xp.max(xp.abs(x))
    unit = xp.where((top > 0) & xp.isfinite(top), top, xp.ones_like(top))
    scaled = x / unit
    return xp.where(xp.isfinite(top), unit * xp.sqrt(xp.sum(scaled * scaled)), top)


def norm(x: Array) -> float:
    """The `magnitude` as a float, fetched at once."""
    return float(magnitude(x))


def fetch(numbers: Sequence[Any], *carried: Any) -> Any:
    """`numbers` as floats, in one go, and what is carried on (arrays in nested tuples) ready for use.

    One transfer for PyTorch and JAX; one round trip for Dask, which computes both and keeps the arrays where they are.
    Returns the tuple of floats, followed by `carried` where there is any. What JAX is compiling stays as it is.

    >>> fetch((1.0, np.float32(0.5)))
    (1.0, 0.5)
    """
    found = next((value for value in numbers if type(value) is not float), 0.0)
    if type(found) is float:
        floats = tuple(numbers)
    elif array_api_compat.is_torch_array(found):
        xp = array_api_compat.array_namespace(found)
        wide = [xp.asarray(value, dtype=found.dtype, device=found.device) for value in numbers]
        floats = tuple(xp.stack(wide).tolist())
    elif array_api_compat.is_jax_array(found):
        device_get = importlib.import_module("jax").device_get
        floats = tuple(numbers) if is_traced(found) else tuple(map(float, device_get(tuple(numbers))))
    elif array_api_compat.is_dask_array(found):
        dask = importlib.import_module("dask")
        numbers, *carried = dask.persist(tuple(numbers), *carried)
        floats = tuple(map(float, dask.compute(*numbers)))
    else:
        floats = tuple(map(float, numbers))
    return (floats, *carried) if carried else floats


def scalar(value: Any) -> Any:
    """A number that came out of an array: a float in NumPy, the 0-d array as it is elsewhere."""
    if isinstance(value, float | int | np.generic | np.ndarray) or value.ndim:
        return float(value)
    return value


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the number `condition` is true, else `no`; JAX and Dask need not look at it to go on."""
    if not isinstance(condition, bool) and (is_jax(condition) or array_api_compat.is_dask_array(condition)):
        return array_api_compat.array_namespace(condition).where(condition, yes, no)
    return yes if condition else no


def truth(condition: Any) -> Any:
    """A condition on a whole array: a bool where it can be looked at, else (JAX, Dask) the 0-d array itself."""
    lazy = is_jax(condition) or array_api_compat.is_dask_array(condition)
    return condition if lazy else bool(condition)


def either(condition: Any, yes: Callable[..., Array], no: Callable[..., Array], *arguments: Array) -> Array:
    """yes(*arguments) where `condition` is true, else no(*arguments); one of the two is run, also in compiled code."""
    if is_traced(condition):  # at any other time JAX would compile both anew
        return importlib.import_module("jax").lax.cond(condition, yes, no, *arguments)
    return yes(*arguments) if condition else no(*arguments)


def least(x: Any, y: Any) -> Any:
    """The smaller of two numbers, floats or 0-d arrays."""
    return choose(y < x, y, x)


def greatest(x: Any, y: Any) -> Any:
    """The larger of two numbers, floats or 0-d arrays."""
    return choose(y > x, y, x)


def add_scaled(x: Array, factor: float, y: Array) -> Array:
    """x + factor·y, with one temporary less in NumPy."""
    if type(y) is np.ndarray:
        out = factor * y
        fits = type(x) is float or (type(x) is np.ndarray and x.dtype == out.dtype)
        return np.add(x, out, out=out) if fits else x + out
    return x + factor * y


def _fits(own: Any, x: Any) -> bool:
    """Whether a sum with x fits into `own`."""
    plain = type(own) is np.ndarray and isinstance(x, np.ndarray | float)
    return plain and np.result_type(own, x) == own.dtype


def increased(own: Array, x: Any) -> Array:
    """own + x, where `own` is a temporary of the caller's: in place in NumPy."""
    if _fits(own, x):
        return np.add(own, x, out=own)
    return own + x


def decreased(own: Array, x: Any) -> Array:
    """own - x, where `own` is a temporary of the caller's: in place in NumPy."""
    if _fits(own, x):
        return np.subtract(own, x, out=own)
    return own - x


def divided(own: Array, number: Any) -> Array:
    """own / number, where `own` is a temporary of the caller's: in place in NumPy."""
    if _fits(own, number):
        return np.divide(own, number, out=own)
    return own / number


PIECE = 8192
"""Entries that stay in the cache between one pass and the next."""


def products_of_differences(a: Array, b: Array, c: Array, d: Array) -> tuple[Any, Any, Any]:
    """‖a - b‖², ⟨a - b, c - d⟩, ‖c - d‖² of four arrays of one shape; in NumPy piece by piece, without temporaries.

    >>> products_of_differences(np.ones(2), np.zeros(2), np.array([1.0, 2.0]), np.zeros(2))
    (2.0, 3.0, 5.0)
    """
    if not all(type(x) is np.ndarray and x.flags.c_contiguous for x in (a, b, c, d)) or a.size <= PIECE:
        move, change = a - b, c - d
        return dot(move, move), dot(move, change), dot(change, change)
    flat = [x.reshape(-1) for x in (a, b, c, d)]
    moves, changes = np.empty(PIECE, np.result_type(a, b)), np.empty(PIECE, np.result_type(c, d))
    moved = crossed = bent = 0.0
    for start in range(0, flat[0].size, PIECE):
        a, b, c, d = (x[start : start + PIECE] for x in flat)
        move, change = np.subtract(a, b, out=moves[: a.size]), np.subtract(c, d, out=changes[: a.size])
        moved, crossed, bent = (
            moved + dot(move, move),
            crossed + dot(move, change),
            bent + dot(change, change),
        )
    return moved, crossed, bent


def scaled_difference(x: Array, y: Array, factor: float, into_second: bool = False) -> Array:
    """factor·(x - y), with one temporary less in NumPy; with none where y is a temporary and x no part of it."""
    if type(y) is np.ndarray:
        free = into_second and np.result_type(x, y) == y.dtype and not np.may_share_memory(x, y)
        out = np.subtract(x, y, out=y if free else None)
        out *= factor
        return out
    return factor * (x - y)


def absolute_sum(x: Array) -> Any:
    """Σ|x_i| over all entries; one pass for large float64 arrays in NumPy.

    BLAS's `dasum` rounds differently for arrays that lie differently in memory, and equal solves would differ in the
    last digit: it is given pieces that begin at multiples of 64 bytes, moved there where need be.
    """
    if type(x) is not np.ndarray:
        xp = array_api_compat.array_namespace(x)
        return xp.sum(xp.abs(x))
    if x.dtype != np.float64 or x.size <= PIECE:
        return float(np.abs(x).sum())
    flat, total, dasum = x.reshape(-1, order="A"), 0.0, scipy.linalg.blas.dasum
    aligned, room = _address(flat) % 64 == 0, np.empty(PIECE + 7)
    room = room[-(_address(room) // 8) % 8 :]
    for begin in range(0, flat.shape[0], PIECE):
        piece = flat[begin : begin + PIECE]
        if not aligned:
            room[: piece.shape[0]] = piece
            piece = room[: piece.shape[0]]
        total += float(dasum(piece))
    return total


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def precision(x: Array) -> float:
    """Distance from 1 to the next number of the dtype of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)


def all_finite(x: Array) -> bool:
    """Whether every entry is finite; taken for granted while JAX is compiling."""
    xp = namespace(x)
    finite = xp.all(xp.isfinite(x))
    return is_traced(finite) or bool(finite)


def kth_largest(x: Array, k: int) -> Any:
    """The k-th largest entry along the last axis (kept, of length 1), 1 ≤ k ≤ size: by partition in NumPy."""
    place = x.shape[-1] - k
    ordered = np.partition(x, place) if type(x) is np.ndarray else namespace(x).sort(x, axis=-1)
    return ordered[..., place : place + 1]


def asarray(x: Any, like: Array) -> Array:
    """`x` as an array of the library, dtype and device of `like`."""
    if type(like) is np.ndarray:
        return np.asarray(x, dtype=like.dtype)
    if type(like) is Rows:
        x = adopted(x, "the array")
        return x.astype(like.dtype) if type(x) is Rows else cut_like(x, like)
    xp = namespace(like)
    return xp.asarray(x, dtype=like.dtype, device=array_api_compat.device(like))


def zeros(shape: Shape, like: Array) -> Array:
    """Zeros of the library, dtype and device of `like`; where that is distributed, on the same workers."""
    if type(like) is Rows:
        return like.zeros(shape)
    xp = namespace(like)
    return xp.zeros(shape, dtype=like.dtype, device=array_api_compat.device(like))


def adopted(x: Any, name: str) -> Any:
    """`x`, or, where it is a Dask array, the long array whose rows stay on the workers."""
    return rows(x, name) if array_api_compat.is_dask_array(x) else x


def outward(x: Array) -> Array:
    """`x` as the caller knows its kind: a Dask array where it is distributed."""
    return to_dask(x) if type(x) is Rows else np.asarray(x) if type(x) is Later else x


def to_numpy(x: Array) -> np.ndarray:
    """A NumPy copy or view of `x`, for reports and for SciPy routines."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().numpy())
    return np.asarray(x)


def from_numpy(x: np.ndarray, like: Array) -> Array:
    """`x` in the library and on the device of `like` (in its chunks, for Dask, where shapes agree); the dtype stays."""
    if type(like) is np.ndarray:
        return x
    xp = namespace(like)
    if array_api_compat.is_dask_array(like):
        return xp.from_array(x, chunks=like.chunks if like.shape == x.shape else "auto")
    return xp.asarray(x, device=array_api_compat.device(like))
