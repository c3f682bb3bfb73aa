"""Entries of an expression chosen, put into another shape, and added up: as NumPy does with those of an array."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import Shape
from .maps import Body, choice, sums
from .writing import WHOLE, Text, shown_index


class Shaped:
    """The shape of an expression and what follows from it; `_then` applies a map to the entries."""

    __slots__ = ()

    shape: Shape
    text: Text

    def _then(self, left: Body, shape: Shape, text: Text) -> Any:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    def __getitem__(self, key: Any) -> Any:
        inside = ", ".join(map(shown_index, key if isinstance(key, tuple) else (key,)))
        text = Text(f"{self.text.within(WHOLE)}[{inside}]", WHOLE)
        try:
            indices = np.asarray(np.arange(self.size).reshape(self.shape)[key])
        except IndexError as error:
            raise IndexError(f"`{text}`: {error}; `{self}` has shape {self.shape}") from None
        if indices.size == 0:
            raise IndexError(f"`{text}` selects none of the {self.size} entries of `{self}`")
        return self._pick(indices, text)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError(f"`{self}` is a single number: there are no entries to go through")
        return (self[k] for k in range(self.shape[0]))

    def reshape(self, *shape: Any) -> Any:
        """The same entries, row by row, in another shape; one length may be -1."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], numbers.Integral) else shape
        try:
            indices = np.arange(self.size).reshape(wanted)
        except (TypeError, ValueError):
            raise ValueError(
                f"`{self}` of shape {self.shape} has {self.size} entries and cannot be reshaped to {wanted}"
            ) from None
        return self._pick(indices, Text(f"{self.text.within(WHOLE)}.reshape{indices.shape}", WHOLE))

    def ravel(self) -> Any:
        """All entries as a vector, row by row."""
        return self.reshape(-1)

    flatten = ravel

    @property
    def T(self) -> Any:
        """The transpose: axes in reverse order."""
        return self._pick(
            np.arange(self.size).reshape(self.shape).T, Text(f"{self.text.within(WHOLE)}.T", WHOLE)
        )

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """Sum over an axis or several, or of all entries; with `keepdims` these axes are kept, of length 1."""
        return self._add_up("sum", axis, keepdims)

    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """Mean over an axis or several, or of all entries; with `keepdims` these axes are kept, of length 1."""
        return self._add_up("mean", axis, keepdims)

    def _add_up(self, name: str, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
        axes = tuple(range(self.ndim)) if axis is None else _different_axes(self, axis)
        kept = [a for a in range(self.ndim) if a not in axes]
        indices = np.arange(self.size).reshape(self.shape).transpose(*kept, *axes)
        groups = indices.reshape(math.prod(self.shape[a] for a in kept), -1)
        lengths = [1 if a in axes else n for a, n in enumerate(self.shape) if keepdims or a in kept]
        given = [f"axis={axis}"] * (axis is not None) + ["keepdims=True"] * bool(keepdims)
        text = Text(f"{self.text.within(WHOLE)}.{name}({', '.join(given)})", WHOLE)
        weight = 1.0 if name == "sum" else 1.0 / groups.shape[1]
        return self._then(weight * sums(groups, self.size), tuple(lengths), text)

    def _pick(self, indices: np.ndarray, text: Text) -> Any:
        return self._then(choice(indices, self.size), indices.shape, text)


def require_axis(e: Shaped, axis: Any) -> None:
    """ValueError where e has no such axis."""
    if not isinstance(axis, int | np.integer) or not -e.ndim <= axis < e.ndim:
        several = "; several axes are a tuple" if isinstance(axis, list) else ""
        raise ValueError(f"axis {axis!r} does not exist: `{e}` has shape {e.shape}{several}")


def _different_axes(e: Shaped, axis: int | tuple[int, ...]) -> tuple[int, ...]:
    """The axes of e that `axis` names, counted from the first; ValueError where there is no such axis, or one twice."""
    given = axis if isinstance(axis, tuple) else (axis,)
    for one in given:
        require_axis(e, one)
    axes = tuple(int(one) % e.ndim for one in given)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis {axis!r} names an axis of `{e}` twice")
    return axes
