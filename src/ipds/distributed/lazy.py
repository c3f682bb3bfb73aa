"""Arrays cut into chunks of rows that live elsewhere, and numbers that come out of them: NumPy calls, written down.

`Rows` is a long array on the workers, `Later` a short array or a number on the driver. Operations on either are only
written down, as `Node`s. The first look at a number (`float(x)`, `np.asarray(x)`, a comparison in an `if`) carries out
what it needs in passes over the chunks (`plan.force`), and all that is waiting goes along as far as these passes can
take it: every chunk computes its part of it, keeps the long arrays somebody still holds, and answers with its share of
the sums. So a step of a method, which looks at its numbers at its end, costs one round trip.

A node whose `Rows` object has died is a temporary and is not kept on the workers.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .layout import Layout, Split
from .nodes import Node, wait_for
from .plan import collect, force

COMBINE: dict[Any, Callable[[Any, Any], Any]] = {
    np.sum: operator.add,
    np.count_nonzero: operator.add,
    np.max: np.maximum,
    np.min: np.minimum,
    np.all: np.logical_and,
    np.any: np.logical_or,
}
"""Reductions over rows: the results of two chunks are combined so."""
BY_ROW = frozenset({np.where, np.clip, np.zeros_like, np.ones_like, np.full_like, np.nan_to_num, np.copy})
"""Functions that treat every row by itself; so do all ufuncs."""


class Lazy(NDArrayOperatorsMixin):
    """What `Rows` and `Later` share: operators, ufuncs and NumPy functions write themselves down."""

    __slots__ = ("__weakref__", "node")
    __hash__ = object.__hash__
    # nothing is ever changed in place: x += y makes a new x
    __iadd__, __isub__ = NDArrayOperatorsMixin.__add__, NDArrayOperatorsMixin.__sub__
    __imul__, __itruediv__ = NDArrayOperatorsMixin.__mul__, NDArrayOperatorsMixin.__truediv__

    def __init__(self, node: Node):
        self.node = node
        node.handle = weakref.ref(self)
        if not node.done:
            wait_for(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or keywords.pop("out", None) is not None:
            return NotImplemented
        return record(ufunc, inputs, keywords)

    def __reduce__(self) -> Any:
        """Pickled as the NumPy array it stands for: who reads it may have no cluster."""
        return np.asarray, (np.asarray(self),)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        return record(function, arguments, keywords)

    @property
    def dtype(self) -> Any:
        """dtype of the entries."""
        return self.node.like.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.node.like.ndim)

    @property
    def device(self) -> str:
        """The array API's device of NumPy arrays."""
        return "cpu"

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        return tuple(self.node.like.shape)

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The array with entries of another type."""
        if self.dtype == dtype:
            return self
        return record(_astype, (self, dtype), {})

    def __getitem__(self, key: Any) -> Any:
        return record(operator.getitem, (self, key), {})


class Later(Lazy):
    """A number or a short array that is computed on the driver, from what the workers answer."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        force(self.node)
        return np.asarray(self.node.value, dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    @property
    def T(self) -> Any:
        """The transpose."""
        return record(np.transpose, (self,), {})

    def __repr__(self) -> str:
        state = f"{self.node.value}" if self.node.done else "to be computed"
        return f"Later(shape={self.shape}, {state})"


class Rows(Lazy):
    """A long array whose chunks of rows live on the workers (or, without a cluster, in the chunks of this process).

    What acts row by row works as in NumPy, sums over the rows give a `Later`; anything that would have to move rows
    between chunks is refused. `np.asarray` brings the whole array here.
    """

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        """How the rows are cut."""
        assert self.node.layout is not None
        return self.node.layout

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.layout.length, *self.node.like.shape[1:])

    @property
    def T(self) -> Transposed:
        """The transpose, for products with another long array."""
        return Transposed(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(collect(self.node), dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace

    def reduce(self, function: Any, combine: Any, *others: Any, **keywords: Any) -> Later:
        """combine over the chunks of function(chunk of rows, *others): of other `Rows` their chunks."""
        return _reduced(function, (self, *others), keywords, combine)

    def map(self, function: Any, *others: Any, **keywords: Any) -> Rows:
        """function(chunk of rows, *others), which must keep the number of rows."""
        return _mapped(function, (self, *others), keywords)

    def zeros(self, shape: tuple[int, ...]) -> Rows:
        """Zeros of that shape, cut into the same chunks."""
        if shape[0] != self.layout.length:
            raise ValueError(f"shape {shape} has not the {self.layout.length} rows of the distributed array")
        return self.map(_zeros, shape[1:])

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype}, {self.layout})"


class Transposed:
    """xᵀ of a long array x: xᵀ y sums over the rows."""

    __array_ufunc__ = None

    def __init__(self, rows: Rows):
        self.T = rows

    def __matmul__(self, other: Any) -> Any:
        return _reduced(_inner, (self.T, other), {}, operator.add)


class _Namespace:
    """The array API for `Rows`: NumPy's functions, which come back to us, less those that would bring it here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asarray(x: Any, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
        """x itself (nothing is ever changed in place), with entries of `dtype`."""
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    @staticmethod
    def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
        """x with entries of `dtype`."""
        return x.astype(dtype)


namespace = _Namespace()


def record(function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Write a call down; made at once where nothing in it waits."""
    if not any(isinstance(a, Rows) for a in _flat(arguments)):
        plain = [a.node.value if isinstance(a, Later) and a.node.done else a for a in arguments]
        if not any(isinstance(a, Later) for a in _flat(plain)):
            return function(*plain, **keywords)
        like = function(*[a.node.like if isinstance(a, Later) else a for a in plain], **keywords)
        if isinstance(like, tuple):  # a decomposition: several arrays, wanted now
            return function(*[np.asarray(a) if isinstance(a, Later) else a for a in plain], **keywords)
        nodes = tuple(a.node if isinstance(a, Later) else a for a in plain)
        return Later(Node(function, nodes, keywords, _stand_in(like)))
    first = arguments[0]
    if function in COMBINE and isinstance(first, Rows):
        axis = keywords.get("axis", arguments[1] if len(arguments) > 1 else None)
        axes = (0,) if axis is None else (axis,) if isinstance(axis, int) else axis
        if any(a % first.ndim == 0 for a in axes):
            return _reduced(function, arguments, keywords, COMBINE[function])
        return _mapped(function, arguments, keywords)
    if function is np.mean and isinstance(first, Rows):
        total = np.sum(first, *arguments[1:], **keywords)
        return total * (total.size / first.size)
    if function is np.vdot:
        return np.sum(arguments[0] * arguments[1])
    if function is np.reshape:
        return _reshaped(first, *arguments[1:], **keywords)
    if function is operator.getitem:
        return _mapped(function, (first, _row_key(arguments[1], first)), keywords)
    if isinstance(function, np.ufunc) or function in BY_ROW or function is _astype:
        return _mapped(function, arguments, keywords, split=function is not np.matmul)
    name = getattr(function, "__name__", function)
    raise TypeError(
        f"{name} does not act row by row, so it cannot be applied to an array distributed by rows; "
        "put the function that needs it on a block that is not distributed"
    )


def _flat(arguments: Any) -> list[Any]:
    found: list[Any] = []
    for argument in arguments:
        found += argument if isinstance(argument, list | tuple) else [argument]
    return found


def _nodes(arguments: Any, split: bool = False) -> tuple[list[Any], list[Any], Layout]:
    """(arguments as nodes, their stand-ins, the layout they have in common).

    `split`: arrays at hand with as many rows go along row by row.
    """
    layout = next(a.layout for a in arguments if isinstance(a, Rows))
    nodes, likes = [], []
    rank = max(a.ndim for a in arguments if isinstance(a, Rows))
    for a in arguments:
        if isinstance(a, Rows):
            layout.require(a.layout)
        elif split and isinstance(a, np.ndarray) and a.ndim == rank and a.shape[0] == layout.length > 1:
            a = Split(a)
        if isinstance(a, Later) and a.node.done:
            a = a.node.value
        nodes.append(a.node if isinstance(a, Lazy) else a)
        likes.append(a.node.like if isinstance(a, Lazy) else a.array[:1] if isinstance(a, Split) else a)
    return nodes, likes, layout


def _mapped(function: Any, arguments: Any, keywords: dict[str, Any], split: bool = False) -> Rows:
    nodes, likes, layout = _nodes(arguments, split)
    with np.errstate(all="ignore"):
        like = function(*likes, **keywords)
    if like.shape[:1] != (1,):
        raise ValueError(
            f"{getattr(function, '__name__', function)}: shapes {[tuple(np.shape(a)) for a in arguments]} do not fit "
            "row by row"
        )
    return Rows(Node(function, tuple(nodes), keywords, like, layout))


def _reduced(function: Any, arguments: Any, keywords: dict[str, Any], combine: Any) -> Later:
    nodes, likes, layout = _nodes(arguments)
    with np.errstate(all="ignore"):
        like = function(*likes, **keywords)
    return Later(Node(function, tuple(nodes), keywords, _stand_in(like), layout, combine))


def _stand_in(like: Any) -> np.ndarray:
    return np.ones_like(np.asarray(like))


def _reshaped(x: Rows, shape: Any, **keywords: Any) -> Rows:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if shape == (-1,) and x.ndim == 1:
        return x
    if shape[0] not in (-1, x.shape[0]) or (shape[0] == -1 and np.prod(shape[1:]) != np.prod(x.shape[1:])):
        raise ValueError(f"reshape from {x.shape} to {shape} would tear rows apart")
    rest = (
        shape[1:]
        if -1 not in shape[1:]
        else tuple(np.empty((1, *x.shape[1:])).reshape(1, *shape[1:]).shape[1:])
    )
    return _mapped(_reshape, (x, rest), {})


def _row_key(key: Any, x: Rows) -> Any:
    key = key if isinstance(key, tuple) else (key,)
    if key[0] is not Ellipsis and not (isinstance(key[0], slice) and key[0] == slice(None)):
        raise TypeError(
            f"rows of a distributed array of shape {x.shape} cannot be picked out by [{key[0]}]; "
            "np.asarray(x) brings the array here"
        )
    return key


def _reshape(chunk: np.ndarray, rest: tuple[int, ...]) -> np.ndarray:
    return chunk.reshape((chunk.shape[0], *rest))


def _zeros(chunk: np.ndarray, rest: tuple[int, ...]) -> np.ndarray:
    return np.zeros((chunk.shape[0], *rest), dtype=chunk.dtype)


def _astype(chunk: np.ndarray, dtype: Any) -> np.ndarray:
    return chunk.astype(dtype)


def _inner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x.T @ y
