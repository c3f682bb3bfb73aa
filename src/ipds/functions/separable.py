"""Sums over parts of a block: `Separable` cuts its first axis, `Stacked` cuts a vector into arrays of any shapes."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Shape, is_array, namespace, to_numpy
from ..operators import Operator
from .adapters import require_nonsmooth
from .base import Nonsmooth
from .jacobians import OnParts
from .kinks import Kinks
from .rescaling import units
from .scalar import fit


class OnPieces(Nonsmooth):
    """h(x) = Σ_k h_k(x_k) over pieces x_k of a block: the prox is the parts' own, as is all else.

    A subclass says what the h_k are, and how a block is cut and put together again.
    """

    @property
    @abstractmethod
    def _functions(self) -> list[Nonsmooth]:
        """The h_k."""

    @abstractmethod
    def _cut(self, x: Array) -> list[Array]:
        """The pieces x_k."""

    @abstractmethod
    def _join(self, pieces: Sequence[Array], shape: Shape) -> Array:
        """The block of `shape` that has these pieces."""

    @abstractmethod
    def _shapes(self, shape: Shape) -> list[Shape]:
        """The shapes of the pieces."""

    @abstractmethod
    def _places(self, shape: Shape) -> Sequence[Any]:
        """Where the pieces lie in the flattened block."""

    def _summarise(self) -> None:
        """What holds of all parts holds of h."""
        own = self._functions
        self.is_convex, self.is_set = all(h.is_convex for h in own), all(h.is_set for h in own)
        self.is_entrywise = all(h.is_entrywise for h in own)

    def _each(self, name: str, *arguments: Any) -> list[Any]:
        """h_k.name(a_k, b_k, …) of every part, from the lists of a_k, of b_k, …"""
        return [getattr(h, name)(*own) for h, *own in zip(self._functions, *arguments, strict=True)]

    def _steps(self, step: Any, v: Array) -> list[Any]:
        """The step of each part."""
        if not is_array(step) or not step.ndim:
            return [step] * len(self._functions)
        return [_one_number(piece) for piece in self._cut(namespace(v).broadcast_to(fit(step, v), v.shape))]

    def values(self, x: Array) -> list[Any]:
        """The h_k(x_k)."""
        return self._each("__call__", self._cut(x))

    def __call__(self, x: Array) -> float:
        return sum(self.values(x))

    def prox(self, v: Array, step: float) -> Array:
        return self._join(self._each("prox", self._cut(v), self._steps(step, v)), v.shape)

    def prox_jacobian(self, v: Array, step: float) -> Any:
        found = self._each("prox_jacobian", self._cut(v), self._steps(step, v))
        if any(J is None for J in found):
            return None
        if not any(isinstance(J, Operator) for J in found):
            return self._join(found, v.shape)
        return OnParts(list(zip(self._places(v.shape), found, self._shapes(v.shape), strict=True)), v.shape)

    def prox_size(self, v: Array) -> Any:
        return sum(self._each("prox_size", self._cut(v)))

    def on_pieces(self, measure: Callable[..., Any], q: Array, v: Array, step: Any) -> list[tuple[int, Any]]:
        """(size, measure(h_k, q_k, v_k, step_k)) of every piece; a step for each entry is cut as v is."""
        single = not is_array(step) or not step.ndim
        steps = [step] * len(self._functions) if single else self._cut(np.broadcast_to(step, v.shape))
        pieces = zip(self._functions, self._cut(q), self._cut(v), steps, strict=True)
        return [(q.size, measure(h, q, v, step)) for h, q, v, step in pieces]

    def from_pieces(self, pieces: Sequence[Array], shape: Shape) -> Array:
        """The block of `shape` with these pieces, given flat."""
        shapes = self._shapes(shape)
        return self._join([own.reshape(inner) for own, inner in zip(pieces, shapes, strict=True)], shape)

    def lipschitz(self, shape: Shape) -> float:
        return math.hypot(*self._each("lipschitz", self._shapes(shape)))

    def kinks(self, shape: Shape) -> Kinks | None:
        """Those of the parts, where all have them."""
        shapes = self._shapes(shape)
        found = self._each("kinks", shapes)
        if any(own is None for own in found):
            return None
        fields = np.empty((len(Kinks._fields), math.prod(shape)))
        for own, inner, place in zip(found, shapes, self._places(shape), strict=True):
            for field, x in zip(fields, own, strict=True):
                field[place] = x if type(x) is float else np.broadcast_to(to_numpy(x), inner).reshape(-1)
        return Kinks(*fields.reshape(-1, *shape))

    def support(self, y: Array) -> float:
        return sum(self._each("support", self._cut(y)))

    def recession(self, d: Array) -> float:
        return sum(self._each("recession", self._cut(d)))

    def receding(self, d: Array) -> Array:
        return self._join(self._each("receding", self._cut(d)), d.shape)

    def width(self, shape: Shape) -> float | Array:
        shapes = self._shapes(shape)
        widths = map(to_numpy, self._each("width", shapes))
        return self._join(
            [np.broadcast_to(own, inner) for own, inner in zip(widths, shapes, strict=True)], shape
        )

    def subgradient(self, x: Array) -> Array:
        return self._join(self._each("subgradient", self._cut(x)), x.shape)

    def _rescaled(self, d: float | Array) -> list[Nonsmooth] | None:
        """u_k ↦ h_k(d_k·u_k) of every part; None where one offers none."""
        found = units(d)
        shared = isinstance(found, float) or found.shape[0] == 1
        own = [found] * len(self._functions) if shared else [_one_number(piece) for piece in self._cut(found)]
        parts = self._each("rescaled", own)
        return None if any(h is None for h in parts) else parts


class Separable(OnPieces):
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
        self.parts = [
            (place, require_nonsmooth(h, f"Separable: part {k}")) for k, (place, h) in enumerate(parts)
        ]
        self._summarise()
        self._plans: dict[int, tuple[list[np.ndarray], np.ndarray]] = {}

    @property
    def _functions(self) -> list[Nonsmooth]:
        return [h for _, h in self.parts]

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

    def _cut(self, x: Array) -> list[Array]:
        xp = namespace(x)
        picks, _ = self._plan(x.shape[0])
        return [xp.take(x, xp.asarray(p), axis=0) for p in picks]

    def _join(self, pieces: Sequence[Array], shape: Shape) -> Array:
        xp = namespace(pieces[0])
        return xp.take(xp.concat(list(pieces), axis=0), xp.asarray(self._plan(shape[0])[1]), axis=0)

    def _shapes(self, shape: Shape) -> list[Shape]:
        return [(len(pick), *shape[1:]) for pick in self._plan(shape[0])[0]]

    def _places(self, shape: Shape) -> list[np.ndarray]:
        everything = np.arange(math.prod(shape)).reshape(shape)
        return [everything[pick].reshape(-1) for pick in self._plan(shape[0])[0]]

    def rescaled(self, d: float | Array) -> Separable | None:
        """Of every part; None where one offers none."""
        found = self._rescaled(d)
        return None if found is None else Separable(list(zip([p for p, _ in self.parts], found, strict=True)))


class Stacked(OnPieces):
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
        self._summarise()

    @property
    def _functions(self) -> list[Nonsmooth]:
        return [h for h, _ in self.parts]

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.slices[-1].stop

    def __repr__(self) -> str:
        return f"Stacked({self.parts})"

    def _cut(self, x: Array) -> list[Array]:
        """The pieces; views in NumPy."""
        if tuple(x.shape) != (self.size,):
            raise ValueError(f"Stacked: acts on vectors of length {self.size}, got shape {tuple(x.shape)}")
        reshape = namespace(x).reshape
        return [
            x[place] if len(shape) == 1 else reshape(x[place], shape)
            for place, (_, shape) in zip(self.slices, self.parts, strict=True)
        ]

    def _join(self, pieces: Sequence[Array], shape: Shape) -> Array:
        xp = namespace(pieces[0])
        return xp.concat([p if p.ndim == 1 else xp.reshape(p, (-1,)) for p in pieces], axis=0)

    def _shapes(self, shape: Shape) -> list[Shape]:
        return [own for _, own in self.parts]

    def _places(self, shape: Shape) -> list[slice]:
        return self.slices

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        values, slopes = zip(*self._each("soften", self._cut(u), [s] * len(self.parts)), strict=True)
        return sum(values), self._join(slopes, u.shape)

    def rescaled(self, d: float | Array) -> Stacked | None:
        """Of every part; None where one offers none."""
        found = self._rescaled(d)
        return None if found is None else Stacked(list(zip(found, self._shapes(()), strict=True)))


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
    return require_nonsmooth(h, f"Stacked: part {k}"), tuple(int(n) for n in lengths)


def _one_number(step: Array) -> Any:
    """A step that is the same for all entries as a number: then any prox takes it."""
    flat = namespace(step).reshape(step, (-1,))
    same = type(step) is np.ndarray and flat.size > 0 and bool(np.all(flat == flat[0]))
    return float(flat[0]) if same else step
