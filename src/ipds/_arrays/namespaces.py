"""Which array library an array belongs to, and what differs between them, spelled once.

Blocks may be arrays of any library that follows the array API standard. Numbers computed from arrays (`dot`,
`magnitude`, values of functions) are floats in NumPy. In other libraries they stay 0-d arrays, so that a step can be
compiled, sent to a device or to a cluster as a whole; `fetch` turns many of them into floats at once. Code between two
fetches never branches on them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import array_api_compat
import numpy as np

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
    return isinstance(x, np.ndarray) or (hasattr(x, "dtype") and array_api_compat.is_array_api_obj(x))


def held_arrays(owner: Any, depth: int = 2) -> Iterator[Any]:
    """The arrays among the attributes of an object, and among theirs."""
    for value in getattr(owner, "__dict__", {}).values():
        if is_array(value):
            yield value
        elif depth:
            yield from held_arrays(value, depth - 1)


def is_double(x: Any) -> bool:
    """Whether x is a dense array of NumPy in double precision."""
    return type(x) is np.ndarray and x.dtype == np.float64


def is_jax(x: object) -> bool:
    """Whether `x` is a JAX array, traced ones included."""
    return type(x) is not np.ndarray and array_api_compat.is_jax_array(x)


def on_device(x: object) -> bool:
    """Whether `x` belongs to a library with devices of its own: PyTorch, JAX or CuPy."""
    if isinstance(x, np.ndarray):
        return False
    return is_jax(x) or array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x)


def is_traced(x: object) -> bool:
    """Whether `x` stands for an array in what JAX is compiling: its entries cannot be looked at."""
    return is_jax(x) and isinstance(x, importlib.import_module("jax").core.Tracer)


def fetch(numbers: Sequence[Any], *carried: Any) -> Any:
    """`numbers` as floats, in one go, and what is carried on (arrays in nested tuples) ready for use.

    One transfer for PyTorch and JAX; one round trip for Dask, which computes both and keeps the arrays where they are.
    Returns the tuple of floats, followed by `carried` where there is any. What JAX is compiling stays as it is.

    >>> fetch((1.0, np.float32(0.5)))
    (1.0, 0.5)
    """
    for found in numbers:
        if type(found) is not float:
            break
    else:
        return (tuple(numbers), *carried) if carried else tuple(numbers)
    if array_api_compat.is_torch_array(found):
        xp = array_api_compat.array_namespace(found)
        wide = [xp.asarray(value, dtype=found.dtype, device=found.device) for value in numbers]
        floats = tuple(xp.stack(wide).tolist())
    elif array_api_compat.is_jax_array(found):
        device_get = importlib.import_module("jax").device_get
        floats = tuple(numbers) if is_traced(found) else tuple(map(float, device_get(tuple(numbers))))
    else:
        floats = tuple(map(float, numbers))
    return (floats, *carried) if carried else floats


def is_awaited(number: Any) -> bool:
    """Whether a number is still to come from the workers of a cluster: a look at it would wait for them."""
    return type(number) is Later and not number.node.done


def scalar(value: Any) -> Any:
    """A number that came out of an array: a float in NumPy, the 0-d array as it is elsewhere."""
    if type(value) is np.float64 or isinstance(value, (float, int, np.generic, np.ndarray)) or value.ndim:
        return float(value)
    return value


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the number `condition` is true, else `no`; JAX and Dask need not look at it to go on."""
    if type(condition) is Later or (not isinstance(condition, bool) and is_jax(condition)):
        return array_api_compat.array_namespace(condition).where(condition, yes, no)
    return yes if condition else no


def truth(condition: Any) -> Any:
    """A condition on a whole array: a bool where it can be looked at, else (JAX, Dask) the 0-d array itself."""
    return condition if type(condition) is Later or is_jax(condition) else bool(condition)


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
    if type(x) is type(y) is float:
        return y if y > x else x
    return choose(y > x, y, x)


def precision(x: Array) -> float:
    """Distance from 1 to the next number of the dtype of `x`."""
    return _precision(x.dtype) if type(x) is np.ndarray else float(namespace(x).finfo(x.dtype).eps)


@lru_cache(maxsize=8)
def _precision(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps)


def all_finite(x: Array) -> bool:
    """Whether every entry is finite; taken for granted while JAX is compiling."""
    if type(x) is np.ndarray:
        # no entry is infinite where the sum of squares is not
        return (x.dtype.kind == "f" and math.isfinite(np.vdot(x, x))) or bool(np.isfinite(x).all())
    xp = namespace(x)
    finite = xp.all(xp.isfinite(x))
    return is_traced(finite) or bool(finite)


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
    if type(like) is np.ndarray:
        return np.zeros(shape, like.dtype)
    if type(like) is Rows:
        return like.zeros(shape)
    xp = namespace(like)
    return xp.zeros(shape, dtype=like.dtype, device=array_api_compat.device(like))


def adopted(x: Any, name: str) -> Any:
    """`x`, or, where it is a Dask array, the long array whose rows stay on the workers; of a data frame its numbers."""
    return rows(x, name) if array_api_compat.is_dask_array(x) else unlabelled(x)


def unlabelled(x: Any) -> Any:
    """`x`, or, where it is a data frame or a column of one, its numbers as a NumPy array.

    Columns of numbers of several kinds (flags beside lengths, whole numbers of which some may be missing) are numbers
    too; TypeError names those that hold something else.
    """
    if not callable(getattr(x, "to_numpy", None)):
        return x
    values = x.to_numpy()
    if values.dtype.kind != "O" or not hasattr(x, "iloc"):  # pandas, as far as it is seen from here
        return values
    dtypes = dict(x.dtypes) if x.ndim == 2 else {x.name: x.dtype}
    others = [str(name) for name, dtype in dtypes.items() if dtype.kind not in "buif"]
    if others and x.ndim == 2:
        named = ", ".join(others[:5]) + (", ..." if others[5:] else "")
        raise TypeError(
            f"a data frame with columns that are no numbers: {named}; leave them out, or make numbers of them, e.g. by "
            "pandas.get_dummies"
        )
    return values if others else x.to_numpy(dtype=float, na_value=np.nan)


def to_caller(x: Array) -> Array:
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
    """`x` in the library and on the device of `like`; the dtype stays."""
    if type(like) is np.ndarray:
        return x
    xp = namespace(like)
    return xp.asarray(x, device=array_api_compat.device(like))
