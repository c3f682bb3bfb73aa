"""Arithmetic on whole arrays, where NumPy has a faster or leaner spelling: in-place work happens only here."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import array_api_compat
import numpy as np
import scipy  # here and elsewhere without its parts, which load where they are first used

from ..distributed import Rows
from .namespaces import Array, namespace


def dot(x: Array, y: Array) -> Any:
    """Inner product ⟨x, y⟩ of two real arrays of one shape, over all entries."""
    if type(x) is np.ndarray:
        return float(np.vdot(x, y))  # unlike np.dot, silent where a diverging run overflows
    return array_api_compat.array_namespace(x).sum(x * y)


def magnitude(x: Array) -> Any:
    """Euclidean (Frobenius) norm over all entries, safe from overflow and underflow."""
    if type(x) is np.ndarray:
        square = float(np.vdot(x, x))
        return math.sqrt(square) if 1e-280 < square < 1e280 else _extreme(x, square)
    if type(x) is Rows:  # each chunk by itself, so that one pass will do
        return x.reduce(magnitude, np.hypot)
    xp = array_api_compat.array_namespace(x)
    if 0 in x.shape:
        return 0.0
    top = xp.max(xp.abs(x))
    unit = xp.where((top > 0) & xp.isfinite(top), top, xp.ones_like(top))
    scaled = x / unit
    return xp.where(xp.isfinite(top), unit * xp.sqrt(xp.sum(scaled * scaled)), top)


def _extreme(x: np.ndarray, square: float) -> float:
    """That of an array whose sum of squares is 0, or may have overflowed or underflowed."""
    top = max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
    if top == 0.0 or not math.isfinite(top):
        return top
    scaled = x / top
    return top * math.sqrt(float(np.vdot(scaled, scaled)))


def norm(x: Array) -> float:
    """The `magnitude` as a float, fetched at once."""
    if type(x) is np.ndarray:  # a call less
        square = float(np.vdot(x, x))
        return math.sqrt(square) if 1e-280 < square < 1e280 else _extreme(x, square)
    return float(magnitude(x))


def add_scaled(x: Array, factor: float, y: Array) -> Array:
    """x + factor·y, with one temporary less in NumPy."""
    if type(y) is np.ndarray:
        if type(factor) is float and abs(factor) == 1.0:
            return x + y if factor == 1.0 else x - y
        out = factor * y
        fits = type(x) is float or (type(x) is np.ndarray and x.dtype == out.dtype)
        return np.add(x, out, out=out) if fits else x + out
    return x + factor * y


def _fits(own: Any, x: Any) -> bool:
    """Whether a sum with x fits into `own`."""
    if type(own) is not np.ndarray:
        return False
    if type(x) is np.ndarray:
        return x.dtype is own.dtype or np.result_type(own, x) == own.dtype
    return isinstance(x, float)


def add_in_place(own: Array, x: Any) -> Array:
    """own + x, where `own` is a temporary of the caller's: in place in NumPy."""
    return np.add(own, x, out=own) if _fits(own, x) else own + x


def subtract_in_place(own: Array, x: Any) -> Array:
    """own - x, where `own` is a temporary of the caller's: in place in NumPy."""
    return np.subtract(own, x, out=own) if _fits(own, x) else own - x


def multiply_in_place(own: Array, x: Any) -> Array:
    """own · x, where `own` is a temporary of the caller's: in place in NumPy."""
    return np.multiply(own, x, out=own) if _fits(own, x) else own * x


def divide_in_place(own: Array, number: Any) -> Array:
    """own / number, where `own` is a temporary of the caller's: in place in NumPy."""
    return np.divide(own, number, out=own) if _fits(own, number) else own / number


SHORT = 2048
"""Entries up to which the price of a call counts more than that of an entry."""
PIECE = 8192
"""Entries that stay in the cache between one pass and the next."""
WHOLE = 4 * PIECE
"""Entries up to which arrays are not cut into pieces: the cuts would take longer than the passes."""


def products_of_differences(a: Array, b: Array, c: Array, d: Array) -> tuple[Any, Any, Any]:
    """‖a - b‖², ⟨a - b, c - d⟩, ‖c - d‖² of four arrays of one shape; in NumPy piece by piece, without temporaries.

    >>> products_of_differences(np.ones(2), np.zeros(2), np.array([1.0, 2.0]), np.zeros(2))
    (2.0, 3.0, 5.0)
    """
    long = type(a) is np.ndarray and a.size > WHOLE
    if not long or not all(type(x) is np.ndarray and x.flags.c_contiguous for x in (a, b, c, d)):
        move, change = a - b, c - d
        if type(move) is type(change) is np.ndarray:  # three calls less
            return float(np.vdot(move, move)), float(np.vdot(move, change)), float(np.vdot(change, change))
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
        free = into_second and y.size > SHORT and np.result_type(x, y) == y.dtype
        out = np.subtract(x, y, out=y if free and not np.may_share_memory(x, y) else None)
        out *= factor
        return out
    return factor * (x - y)


def absolute_sum(x: Array) -> Any:
    """Σ|x_i| over all entries; one pass for long float64 arrays in NumPy.

    BLAS's `dasum` rounds differently for arrays that lie differently in memory, and equal solves would differ in the
    last digit: it is given pieces that begin at multiples of 64 bytes, moved there where need be.
    """
    if type(x) is not np.ndarray:
        xp = array_api_compat.array_namespace(x)
        return xp.sum(xp.abs(x))
    if x.dtype != np.float64 or x.size <= PIECE:
        return float(np.add.reduce(np.abs(x), axis=None))
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


def kth_largest(x: Array, k: int) -> Any:
    """The k-th largest entry along the last axis (kept, of length 1), 1 ≤ k ≤ size: by partition in NumPy."""
    place = x.shape[-1] - k
    ordered = np.partition(x, place) if type(x) is np.ndarray else namespace(x).sort(x, axis=-1)
    return ordered[..., place : place + 1]


def at_least(xp: Any, x: Array, low: float) -> Array:
    """max(x_i, low): NumPy's `maximum` takes a fifth of the time of `clip` where arrays are small, else twice that."""
    if xp is not np:
        return xp.clip(x, low, None)
    return x.clip(low, np.inf) if type(x) is np.ndarray and x.size > SHORT else np.maximum(x, low)


def at_most(xp: Any, x: Array, high: float) -> Array:
    """min(x_i, high)."""
    return np.minimum(x, high) if xp is np else xp.clip(x, None, high)


def between(xp: Any, x: Array, low: Any, high: Any) -> Array:
    """min(max(x_i, low), high), as `at_least` and `at_most` where arrays are small."""
    short = xp is np and x.size <= SHORT
    return np.minimum(np.maximum(x, low), high) if short else xp.clip(x, low, high)


def maximum_in_place(own: Array, x: Any) -> Array:
    """max(own, x), where `own` is a temporary of the caller's: in place in NumPy."""
    return np.maximum(own, x, out=own) if _fits(own, x) else namespace(own).maximum(own, x)


def abs_in_place(own: Array) -> Array:
    """|own|, where `own` is a temporary of the caller's: in place in NumPy."""
    return np.abs(own, out=own) if type(own) is np.ndarray else abs(own)


def far_above(x: Array, here: Array, side: float = 1.0) -> Array:
    """x with the entries `here` beyond all that they will be compared with, above or (`side` = -1.0) below.

    A product with the mask in NumPy: where it has no order, `where` and the like take up to ten times as long.
    """
    far = side * _far(namespace(x), x.dtype)
    if type(x) is not np.ndarray:
        return namespace(x).where(here, x + far, x)
    out = np.multiply(here, x.dtype.type(far))
    out += x
    return out


@lru_cache(maxsize=8)
def _far(xp: Any, dtype: Any) -> float:
    """What is left of numbers beyond this is no answer, and their sum with it does not overflow."""
    return 1e-4 * float(xp.finfo(dtype).max)
