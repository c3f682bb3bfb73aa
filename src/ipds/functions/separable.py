"""Sums over parts of a block: `Separable` cuts its first axis, `Stacked` cuts a vector into arrays of any shapes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Shape, is_array, namespace, to_numpy
from ..operators import Operator
from .adapters import required
from .base import Nonsmooth
from .jacobians import OnParts
from .kinks import Kinks
from .rescaling import units
from .scalar import fit


class Separable(Nonsmooth):
    """h(x) = Σ_k h_k(x[part_k]) over parts of the first axis: a list of (slice or integer indices, function).

    prox = the parts' own. The parts must cover every row once; that is checked when a size is first seen.

    >>> from ipds.functions import L1, NonNegative
    >>> Separable([(slice(0, 1), L1(1.0)), ([1, 2], NonNegative())]).prox(np.array([3.0, -1.0, 4.0]), 1.0)
    array([2., 0., 4.])
    """

    def __init__(self, parts: Sequence[tuple[Any, Nonsmooth]]) -> None:
        if not parts:
            raise ValueError("Separable: parts must not be empty")
        for part in parts:
            if not (isinstance(part, tuple) and len(part) == 2 and hasattr(part[1], "prox")):
                raise TypeError("Separable: parts must be pairs (slice or indices, function with a prox)")
        self.parts = [(place, required(h, f"Separable: part {k}")) for k, (place, h) in enumerate(parts)]
        self.is_convex = all(h.is_convex for _, h in self.parts)
        self.is_set = all(h.is_set for _, h in self.parts)
        self.is_entrywise = all(h.is_entrywise for _, h in self.parts)
        self._plans: dict[int, tuple[list[np.ndarray], np.ndarray]] = {}

    def __repr__(self) -> str:
        return f"Separable({self.parts})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plans": {}}  # what it is, not what it has seen

    def _plan(self, rows: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Indices of each part, and the permutation that puts the parts back in place."""
        if rows not in self._plans:
            everything = np.arange(rows)
            try:
                picks = [everything[p if isinstance(p, slice) else np.asarray(p)] for p, _ in self.parts]
            except IndexError as error:
                raise ValueError(f"Separable: a part lies outside the {rows} rows of the block") from error
            if any(len(pick) == 0 for pick in picks):
                raise ValueError(f"Separable: a part selects none of the {rows} rows of the block")
            order = np.concatenate(picks)
            if len(order) != rows or len(np.unique(order)) != rows:
                raise ValueError(f"Separable: the parts must cover each of the {rows} rows of the block once")
            self._plans[rows] = picks, np.argsort(order)
        return self._plans[rows]

    def _split(self, x: Array) -> list[Array]:
        xp = namespace(x)
        picks, _ = self._plan(x.shape[0])
        return [xp.take(x, xp.asarray(p), axis=0) for p in picks]

    def _join(self, pieces: list[Array], rows: int) -> Array:
        xp = namespace(pieces[0])
        return xp.take(xp.concat(pieces, axis=0), xp.asarray(self._plan(rows)[1]), axis=0)

    def __call__(self, x: Array) -> float:
        return sum(h(piece) for (_, h), piece in zip(self.parts, self._split(x), strict=True))

    def _steps(self, step: Any, v: Array) -> list[Any]:
        """The step of each part."""
        if not is_array(step) or not step.ndim:
            return [step] * len(self.parts)
        return [_one_number(piece) for piece in self._split(namespace(v).broadcast_to(fit(step, v), v.shape))]

    def prox(self, v: Array, step: float) -> Array:
        pieces = zip(self.parts, self._split(v), self._steps(step, v), strict=True)
        return self._join([h.prox(piece, own) for (_, h), piece, own in pieces], v.shape[0])

    def prox_jacobian(self, v: Array, step: float) -> Any:
        pieces = zip(self.parts, self._split(v), self._steps(step, v), strict=True)
        found = [h.prox_jacobian(piece, own) for (_, h), piece, own in pieces]
        if any(J is None for J in found):
            return None
        if not any(isinstance(J, Operator) for J in found):
            return self._join(found, v.shape[0])
        picks, _ = self._plan(v.shape[0])
        places = np.arange(math.prod(v.shape)).reshape(v.shape)
        return OnParts(
            [(places[p].reshape(-1), J, places[p].shape) for p, J in zip(picks, found, strict=True)], v.shape
        )

    def prox_size(self, v: Array) -> Any:
        return sum(h.prox_size(piece) for (_, h), piece in zip(self.parts, self._split(v), strict=True))

    def lipschitz(self, shape: Shape) -> float:
        picks, _ = self._plan(shape[0])
        constants = [
            h.lipschitz((len(pick), *shape[1:])) for (_, h), pick in zip(self.parts, picks, strict=True)
        ]
        return math.hypot(*constants)

    def kinks(self, shape: Shape) -> Kinks | None:
        """Those of the parts, where all have them."""
        picks, _ = self._plan(shape[0])
        arrays = [np.empty(shape) for _ in Kinks._fields]
        for (_, h), pick in zip(self.parts, picks, strict=True):
            inner = (len(pick), *shape[1:])
            own = h.kinks(inner)
            if own is None:
                return None
            for array, value in zip(arrays, own.filled(inner), strict=True):
                array[pick] = value
        return Kinks(*arrays)

    def support(self, y: Array) -> float:
        return sum(h.support(piece) for (_, h), piece in zip(self.parts, self._split(y), strict=True))

    def recession(self, d: Array) -> float:
        return sum(h.recession(piece) for (_, h), piece in zip(self.parts, self._split(d), strict=True))

    def receding(self, d: Array) -> Array:
        pieces = zip(self.parts, self._split(d), strict=True)
        return self._join([h.receding(piece) for (_, h), piece in pieces], d.shape[0])

    def width(self, shape: Shape) -> float | Array:
        picks, _ = self._plan(shape[0])
        found = np.empty(shape)
        for (_, h), pick in zip(self.parts, picks, strict=True):
            found[pick] = to_numpy(h.width((len(pick), *shape[1:])))
        return found

    def subgradient(self, x: Array) -> Array:
        pieces = zip(self.parts, self._split(x), strict=True)
        return self._join([h.subgradient(piece) for (_, h), piece in pieces], x.shape[0])

    def rescaled(self, d: float | Array) -> Separable | None:
        """Of every part; None where one offers none."""
        found = units(d)
        if isinstance(found, float) or found.shape[0] == 1:
            own = [found] * len(self.parts)
        else:
            own = [_one_number(piece) for piece in self._split(found)]
        parts = [(place, h.rescaled(unit)) for (place, h), unit in zip(self.parts, own, strict=True)]
        return None if any(h is None for _, h in parts) else Separable(parts)  # type: ignore[arg-type]


class Stacked(Nonsmooth):
    """h(u) = Σ_k h_k(u_k): a vector cut into consecutive pieces u_k, each read row by row in a shape of its own.

    `parts` is a list of (function, shape); a number is the length of a vector. prox = the parts' own. `slices`
    holds the place of each part. An array `step` of the length of u is cut in the same way.

    >>> from ipds.functions import L1, Nuclear
    >>> h = Stacked([(L1(1.0), 2), (Nuclear(1.0), (2, 2))])
    >>> h.prox(np.array([3.0, -0.5, 2.0, 0.0, 0.0, 5.0]), 1.0)
    array([2., 0., 1., 0., 0., 4.])
    """

    def __init__(self, parts: Sequence[tuple[Nonsmooth, Shape | int]]) -> None:
        if not len(parts):
            raise ValueError("Stacked: parts must not be empty")
        self.parts = [_part(k, part) for k, part in enumerate(parts)]
        sizes = [math.prod(shape) for _, shape in self.parts]
        self.slices = [slice(end - n, end) for end, n in zip(np.cumsum(sizes).tolist(), sizes, strict=True)]
        self.is_convex = all(h.is_convex for h, _ in self.parts)
        self.is_set = all(h.is_set for h, _ in self.parts)
        self.is_entrywise = all(h.is_entrywise for h, _ in self.parts)

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.slices[-1].stop

    def __repr__(self) -> str:
        return f"Stacked({self.parts})"

    def _cut(self, u: Array) -> list[Array]:
        """The pieces u_k; views in NumPy."""
        if tuple(u.shape) != (self.size,):
            raise ValueError(f"Stacked: acts on vectors of length {self.size}, got shape {tuple(u.shape)}")
        reshape = namespace(u).reshape
        return [
            u[place] if len(shape) == 1 else reshape(u[place], shape)
            for place, (_, shape) in zip(self.slices, self.parts, strict=True)
        ]

    def _steps(self, step: Any, v: Array) -> list[Any]:
        """The step of each part."""
        if not is_array(step) or not step.ndim:
            return [step] * len(self.parts)
        return [_one_number(piece) for piece in self._cut(namespace(v).broadcast_to(fit(step, v), v.shape))]

    def _each(self, name: str, *arguments: Any) -> list[Any]:
        """h_k.name(a_k, b_k, …) of every part, from the lists of a_k, of b_k, …"""
        return [getattr(h, name)(*own) for (h, _), *own in zip(self.parts, *arguments, strict=True)]

    def __call__(self, x: Array) -> float:
        return sum(self._each("__call__", self._cut(x)))

    def prox(self, v: Array, step: float) -> Array:
        return _joined(self._each("prox", self._cut(v), self._steps(step, v)))

    def prox_jacobian(self, v: Array, step: float) -> Any:
        found = self._each("prox_jacobian", self._cut(v), self._steps(step, v))
        if any(J is None for J in found):
            return None
        if not any(isinstance(J, Operator) for J in found):
            return _joined(found)
        shapes = [shape for _, shape in self.parts]
        return OnParts(list(zip(self.slices, found, shapes, strict=True)), v.shape)

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        values, slopes = zip(*self._each("soften", self._cut(u), [s] * len(self.parts)), strict=True)
        return sum(values), _joined(slopes)

    def prox_size(self, v: Array) -> Any:
        return sum(self._each("prox_size", self._cut(v)))

    def lipschitz(self, shape: Shape) -> float:
        return math.hypot(*self._each("lipschitz", [own for _, own in self.parts]))

    def kinks(self, shape: Shape) -> Kinks | None:
        """Those of the parts, where all have them."""
        found = [h.kinks(own) for h, own in self.parts]
        if any(k is None for k in found):
            return None
        filled = [k.filled(own) for k, (_, own) in zip(found, self.parts, strict=True) if k is not None]
        return Kinks(*(np.concatenate([np.ravel(x) for x in field]) for field in zip(*filled, strict=True)))

    def support(self, y: Array) -> float:
        return sum(self._each("support", self._cut(y)))

    def recession(self, d: Array) -> float:
        return sum(self._each("recession", self._cut(d)))

    def receding(self, d: Array) -> Array:
        return _joined(self._each("receding", self._cut(d)))

    def width(self, shape: Shape) -> float | Array:
        found = [np.broadcast_to(to_numpy(h.width(own)), own).reshape(-1) for h, own in self.parts]
        return np.concatenate(found)

    def subgradient(self, x: Array) -> Array:
        return _joined(self._each("subgradient", self._cut(x)))

    def rescaled(self, d: float | Array) -> Stacked | None:
        """Of every part; None where one offers none."""
        found = units(d)
        numbers = isinstance(found, float)
        own = [found] * len(self.parts) if numbers else [_one_number(piece) for piece in self._cut(found)]
        parts = [(h.rescaled(unit), shape) for (h, shape), unit in zip(self.parts, own, strict=True)]
        return None if any(h is None for h, _ in parts) else Stacked(parts)  # type: ignore[arg-type]


def _part(k: int, part: Any) -> tuple[Nonsmooth, Shape]:
    """The k-th of the parts, checked: a function and its shape as a tuple."""
    if not (isinstance(part, tuple | list) and len(part) == 2):
        raise TypeError(f"Stacked: part {k} must be a pair (function, shape), got {part!r}")
    h, shape = part
    lengths = (shape,) if isinstance(shape, numbers.Integral) else shape
    if not isinstance(lengths, tuple | list) or not all(
        isinstance(n, numbers.Integral) and int(n) >= 0 for n in lengths
    ):
        raise TypeError(
            f"Stacked: the shape of part {k} must be a number or a tuple of them ≥ 0, got {shape!r}"
        )
    return required(h, f"Stacked: part {k}"), tuple(int(n) for n in lengths)


def _one_number(step: Array) -> Any:
    """A step that is the same for all entries as a number: then any prox takes it."""
    flat = namespace(step).reshape(step, (-1,))
    same = type(step) is np.ndarray and flat.size > 0 and bool(np.all(flat == flat[0]))
    return float(flat[0]) if same else step


def _joined(pieces: Sequence[Array]) -> Array:
    """The pieces, flattened row by row, as one vector."""
    xp = namespace(pieces[0])
    return xp.concat([p if p.ndim == 1 else xp.reshape(p, (-1,)) for p in pieces], axis=0)
