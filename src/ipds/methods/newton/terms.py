"""H in the units of the method: what its rows are, their prox, and the generalised Jacobian of that.

Rows come in three kinds, in this order: pieces known by their prox only, groups with a Euclidean norm, and entries
with a kink or with bounds (`functions.Kinks`), which interior-point steps can use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._arrays import Array, Shape, asarray, to_numpy
from ...functions import Nonsmooth
from ...functions.jacobians import Conjugated, Jacobian, Spectral
from .weights import Weights

Prox = Callable[[np.ndarray], np.ndarray]
RANK = 300
"""Largest rank with which a Jacobian is taken as a diagonal and a low rank."""
EXPLICIT = 1000
"""A Jacobian that comes as a map is written out as a matrix up to this size."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A function known by its prox, on rows of its own."""

    h: Nonsmooth
    shape: Shape
    rows: slice
    scale: float
    """u' = scale · u: one number, as the prox knows no other."""
    like: Array

    def _own(self, w: np.ndarray) -> Array:
        u = (w[self.rows] / self.scale).reshape(self.shape)
        return u if type(self.like) is np.ndarray else asarray(u, self.like)

    def prox(self, w: np.ndarray, beta: float | np.ndarray) -> np.ndarray:
        """prox of u' ↦ h(u'/scale), flat; of a sum over entries, each may have its own β."""
        step: Any = 1 / (beta * self.scale**2)
        step = step.reshape(self.shape) if isinstance(beta, np.ndarray) else step
        return self.scale * to_numpy(self.h.prox(self._own(w), step)).ravel()

    def is_finite(self, u: np.ndarray) -> bool:
        """Whether h is, at u' = u."""
        return math.isfinite(self.h(self._own(u)))

    def rest(self, w: np.ndarray, beta: float) -> Any:
        """I - J: a diagonal, (a, V, c) for diag(a) - V diag(c) Vᵀ, a matrix or a function; None where J is unknown."""
        J = self.h.prox_jacobian(self._own(w), 1 / (beta * self.scale**2))
        if J is None or not hasattr(J, "apply"):
            return None if J is None else 1.0 - to_numpy(J).ravel()
        size = math.prod(self.shape)
        low = J.low_rank() if isinstance(J, Jacobian) else None
        if low is not None and low[1].shape[1] <= RANK:
            return 1.0 - low[0], low[1], low[2]

        def product(d: np.ndarray) -> np.ndarray:
            return d - to_numpy(J.apply(asarray(d.reshape(self.shape), self.like))).ravel()

        if size > EXPLICIT:
            return product
        if isinstance(J, Conjugated | Spectral) and type(self.like) is np.ndarray:
            return np.eye(size) - J.matrix()
        matrix = np.stack([product(e) for e in np.eye(size)])
        return 0.5 * (matrix + matrix.T)


@dataclass(frozen=True, eq=False)
class Entries:
    """Σ max(left(u - place), right(u - place)) + [lower ≤ u ≤ upper] over the last rows."""

    left: np.ndarray
    right: np.ndarray
    place: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def are_sets(self) -> bool:
        """Whether there are bounds and nothing else."""
        return not (self.left.any() or self.right.any())

    @cached_property
    def are_free(self) -> bool:
        """Whether there are no bounds."""
        return not (np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @cached_property
    def are_moved(self) -> bool:
        """Whether some kink is not at 0."""
        return bool(self.place.any())

    @cached_property
    def have_kinks(self) -> np.ndarray:
        """Where there is one."""
        return self.left < self.right

    def prox(self, step: float) -> Prox:
        """A shift towards the kink, then a clip: in one dimension that is the prox of the sum."""
        place, lower, upper = self.place, self.lower, self.upper

        def clipped(w: np.ndarray) -> np.ndarray:
            return np.minimum(np.maximum(w, lower), upper)

        if self.are_sets:
            return clipped
        left, right = step * self.left, step * self.right

        def shrunk(w: np.ndarray) -> np.ndarray:
            return w - np.minimum(np.maximum(w, left), right)

        def shifted(w: np.ndarray) -> np.ndarray:
            off = w - place
            shift = np.minimum(np.maximum(off, left), right)
            return np.where(off == shift, place, w - shift)

        free = shifted if self.are_moved else shrunk
        return free if self.are_free else lambda w: clipped(free(w))

    def held(self, w: np.ndarray, step: Any) -> np.ndarray:
        """Where the prox does not move with w: at the kink and at bounds."""
        if self.are_sets:
            return (w <= self.lower) | (w >= self.upper)
        shift = w - self.place
        at_kink = (shift >= step * self.left) & (shift <= step * self.right) & self.have_kinks
        return at_kink if self.are_free else at_kink | (w <= self.lower) | (w >= self.upper)


class Terms:
    """Σ of pieces, norms of groups, and entries."""

    def __init__(
        self, pieces: tuple[Piece, ...], label: np.ndarray, radius: np.ndarray, entries: Entries, general: int
    ):
        self.pieces, self.label, self.radius, self.entries = pieces, label, radius, entries
        begin = max((p.rows.stop for p in pieces), default=0)
        self.members = np.arange(begin, begin + len(label))
        self.last = slice(begin + len(label), begin + len(label) + len(entries.left))
        self.m, self.general = self.last.stop, general

    @property
    def is_described(self) -> bool:
        """Whether every row has kinks, bounds or a norm."""
        return not self.pieces

    def norms(self, u: np.ndarray) -> np.ndarray:
        """Euclidean norm of each group."""
        x = u[self.members]
        return np.sqrt(np.bincount(self.label, x * x, len(self.radius)))

    def prox(self, w: np.ndarray, beta: float) -> np.ndarray:
        """argmin H(u) + β/2‖u - w‖²."""
        return self.prox_with(beta)(w)

    def prox_with(self, beta: float) -> Prox:
        """The same as a function of w."""
        entries = self.entries.prox(1 / beta)
        if self.last.start == 0:
            return entries

        def prox(w: np.ndarray) -> np.ndarray:
            u = np.empty_like(w)
            for piece in self.pieces:
                u[piece.rows] = piece.prox(w, beta)
            if self.label.size:
                keep = 1 - np.minimum(1.0, self.radius / np.maximum(beta * self.norms(w), 1e-300))
                u[self.members] = keep[self.label] * w[self.members]
            u[self.last] = entries(w[self.last])
            return u

        return prox

    def weights(self, w: np.ndarray, beta: float) -> Weights | None:
        """β(I - J) at w, J an element of the generalised Jacobian of the prox; None where one is not known."""
        diagonal, low, blocks = np.zeros(self.m), [], []
        for piece in self.pieces:
            rest = piece.rest(w, beta)
            if rest is None:
                return None
            if isinstance(rest, np.ndarray) and rest.ndim == 1:
                diagonal[piece.rows] = beta * rest
            elif isinstance(rest, tuple):
                diagonal[piece.rows] = beta * rest[0]
                low.append((piece.rows, rest[1], beta * rest[2]))
            else:
                diagonal[piece.rows] = beta
                blocks.append((piece.rows, _times(beta, rest)))
        along, direction = np.zeros(len(self.radius)), np.zeros(len(self.label))
        if self.label.size:
            size = self.norms(w)
            share = np.minimum(1.0, self.radius / np.maximum(beta * size, 1e-300))
            diagonal[self.members] = beta * share[self.label]
            along = np.where(share < 1, 0.0, beta)
            direction = np.where(share < 1, 1 / np.maximum(size, 1e-300), 0.0)[self.label] * w[self.members]
        diagonal[self.last] = beta * self.entries.held(w[self.last], 1 / beta)
        return Weights(
            diagonal, self.general, self.members, self.label, direction, along, tuple(low), tuple(blocks)
        )


def _times(beta: float, rest: Any) -> Any:
    return (lambda d: beta * rest(d)) if callable(rest) else beta * rest
