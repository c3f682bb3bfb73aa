"""Shared base of convex sums over entries, Σ φ_i(x_i), that need not be even as a `ScalarPenalty` is."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from typing import Any

import numpy as np

from .._arrays import PIECE, Array, Shape, is_traced, magnitude, namespace, scalar, to_numpy
from ._arguments import bound
from .base import Nonsmooth
from .kinks import Kinks
from .scalar import fit, own_step


class Entrywise(Nonsmooth):
    """h(x) = Σ_i φ_i(x_i), every φ_i convex; parameters are numbers or arrays that broadcast to x.

    A subclass gives φ (`terms`), a slope of it (`subgradient`), the prox of every entry (`_prox`) and its derivative
    (`_jacobian`); the slope of φ far out (`_recession`) and, where φ is not finite everywhere, `domain`. Steps may be
    arrays that broadcast to x, one for each entry.
    """

    is_convex = True
    is_entrywise = True
    is_differentiable: bool = False
    """Whether every φ_i is differentiable where it is finite: then `Differentiable` makes a smooth f of h."""

    @abstractmethod
    def terms(self, x: Array) -> Array:
        """The summands φ_i(x_i), `inf` outside the domain."""

    @abstractmethod
    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        """argmin_u φ(u) + (u - v)²/(2 step) for each entry."""

    @abstractmethod
    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        """d prox(v)/dv for each entry, one value of it at kinks."""

    @abstractmethod
    def _recession(self, xp: Any, d: Array) -> Array:
        """lim φ(x + t d)/t for t → ∞, for each entry."""

    def bend(self, x: Array) -> Array:
        """φ_i''(x_i) for x inside the domain, where `is_differentiable`."""
        raise NotImplementedError(f"{type(self).__name__} has kinks")

    def largest_bend(self) -> float | None:
        """sup φ'', None where there is none."""
        return None

    def straight(self, shape: Shape) -> tuple[np.ndarray, Kinks] | None:
        """(where, kinks): the entries of a flat block at which φ_i is linear inside its domain, and what it is there;
        None where there are none."""
        return None

    def __call__(self, x: Array) -> float:
        return scalar(namespace(x).sum(self.terms(x)))

    def prox(self, v: Array, step: float | Array) -> Array:
        xp, step = namespace(v), own_step(step, v)
        if type(v) is np.ndarray and v.size > 2 * PIECE and v.flags.c_contiguous:
            return self._in_pieces(v, step)
        return xp.asarray(self._prox(xp, v, step))

    def _in_pieces(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The prox of a large array, a piece at a time: what the many passes over it make stays in the cache."""
        arrays = {name: value for name, value in vars(self).items() if type(value) is np.ndarray}
        flat = {name: np.broadcast_to(value, v.shape).reshape(-1) for name, value in arrays.items()}
        steps = np.broadcast_to(step, v.shape).reshape(-1) if type(step) is np.ndarray else None
        source, out, part = v.reshape(-1), np.empty_like(v), copy.copy(self)
        for begin in range(0, v.size, PIECE):
            piece = slice(begin, begin + PIECE)
            vars(part).update({name: value[piece] for name, value in flat.items()})
            out.reshape(-1)[piece] = part._prox(np, source[piece], step if steps is None else steps[piece])
        return out

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """The diagonal of the derivative of the prox at v: numbers in [0, 1], one for each entry."""
        xp = namespace(v)
        return xp.asarray(self._jacobian(xp, v, own_step(step, v)))

    def recession(self, d: Array) -> float:
        """lim h(x + t d)/t for t → ∞: how fast h rises along d in the end, `inf` where d leads out of the domain."""
        xp = namespace(d)
        return scalar(xp.sum(self._recession(xp, d)))

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: d, or its positive part."""
        return d if self.domain is None else namespace(d).clip(d, 0.0, None)

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the domain of h: here all of the space, or x ≥ 0."""
        xp = namespace(y)
        inside = xp.all(y == 0) if self.domain is None else xp.all(y <= 0)
        return 0.0 if bool(inside) else math.inf


def finite(owner: str, name: str, value: Any) -> float | Array:
    """`value` as a float or an array of finite numbers."""
    value = bound(owner, name, value)
    if not is_traced(value) and not np.all(np.isfinite(to_numpy(value))):
        raise ValueError(f"{owner}: {name} must be finite")
    return value


def sizes(v: Array, shift: float | Array) -> Any:
    """‖v‖ + ‖shift‖ over all entries: what a prox computes with that adds a shift and takes it away again."""
    return magnitude(v) + magnitude(fit(shift, v) * namespace(v).ones_like(v))
