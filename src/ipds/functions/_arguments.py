"""Checks of constructor arguments: once, when a function is made, never in a prox."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .._arrays import Array, is_array, is_traced, require_dense, require_real, to_numpy, unlabelled
from ..operators import Operator, as_operator


def number(owner: str, name: str, value: Any, *, above: float = -math.inf, or_equal: bool = False) -> float:
    """`value` as a finite float greater than `above` (or equal to it)."""
    rule = "finite" if above == -math.inf else f"finite and {'≥' if or_equal else '>'} {above:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(
            f"{owner}: {name} must be a number that is {rule}, got {type(value).__name__}{_call(owner, value)}"
        )
    value = float(value)
    if not math.isfinite(value) or value < above or (value == above and not or_equal):
        raise ValueError(f"{owner}: {name} must be {rule}, got {value}")
    return value


def _call(owner: str, value: Any) -> str:
    """What to write where an expression was passed that the function is to act on."""
    return (
        f"; to use it on an expression write {owner}(...)({value})" if hasattr(value, "__ipds_term__") else ""
    )


def weight(owner: str, name: str, value: Any, *, positive: bool = False) -> float | Array:
    """`value` as a float or an array of weights, all finite and ≥ 0, or > 0 where `positive`."""
    if type(value) is float:
        return number(owner, name, value, above=0.0, or_equal=not positive)
    value = _plain(owner, name, value)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if not is_array(value):
        return number(owner, name, value, above=0.0, or_equal=not positive)
    if is_traced(value):
        return value
    if len(value.shape) == 0:
        return number(owner, name, float(value), above=0.0, or_equal=not positive)
    plain = to_numpy(value)
    if plain.dtype.kind not in "iuf":
        raise TypeError(f"{owner}: {name} must hold real numbers, got dtype {plain.dtype}")
    if not np.all(np.isfinite(plain)) or np.any(plain <= 0 if positive else plain < 0):
        raise ValueError(f"{owner}: every entry of {name} must be finite and {'>' if positive else '≥'} 0")
    return value.astype(float) if isinstance(value, np.ndarray) else value


def count(owner: str, name: str, value: Any) -> int:
    """`value` as an integer ≥ 0."""
    try:
        if isinstance(value, bool):
            raise TypeError
        value = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{owner}: {name} must be an integer ≥ 0, got {value!r}{_call(owner, value)}"
        ) from None
    if value < 0:
        raise ValueError(f"{owner}: {name} must be an integer ≥ 0, got {value}")
    return int(value)


def bound(owner: str, name: str, value: Any) -> float | Array:
    """`value` as a float or array of bounds; infinite ones are fine, NaN is not."""
    if type(value) is float and not math.isnan(value):
        return value
    value = _plain(owner, name, value)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value, dtype=float)
    if is_array(value) and len(value.shape):
        if np.any(np.isnan(to_numpy(value))):
            raise ValueError(f"{owner}: {name} must not contain NaN")
        return value.astype(float) if isinstance(value, np.ndarray) else value
    if is_array(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{owner}: {name} must be a number or an array, got {type(value).__name__}")
    if math.isnan(value):
        raise ValueError(f"{owner}: {name} must not be NaN")
    return float(value)


def linear_map(owner: str, name: str, value: Any) -> Operator:
    """`value` as an operator; errors name the argument."""
    try:
        return as_operator(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner}: {name}: {error}") from None


def _plain(owner: str, name: str, value: Any) -> Any:
    """`value`, of data frames their numbers; sparse matrices, and what holds no real numbers, are refused."""
    value = unlabelled(value)
    require_dense(f"{owner}: {name}", value)
    require_real(f"{owner}: {name}", value)
    return value
