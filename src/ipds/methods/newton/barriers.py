"""Rows that are neither entries nor norms, as interior-point steps see them: smooth losses, and cones by barriers.

Every kind has u and y of its rows as variables. A step obeys du = ψ dy + ρ, with ψ ≻ 0 the scaling at (u, y):

    losses   y = ∇h(u) at every point, so that ρ = 0 and ψ = ∇²h(u)⁻¹; a step ends at prox_h(w + dw, 1/β) with
             w = u + y/β and dw = du + dy/β, which keeps it so, and inside the domain of h
    cones    u ∈ K, s = -y ∈ K*, u∘s = μe; ψ is the scaling of Nesterov and Todd: ψ s = u
    balls    ‖u‖ ≤ r and y = t u with t (r² - ‖u‖²)/2 = μ

`graphs` has the losses, -λ log det among them, `spectra` the cones of eigenvalues and singular values, `lorentz` those
of norms, and balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from ..._arrays import Shape
from ...functions import PSD, Huber, L2Ball, LogDet, Nonsmooth, Nuclear, Precomposed, Scaled
from ...functions.entrywise import Entrywise
from ...theory.structure import has_barrier
from .graphs import Determinant, Loss
from .lorentz import Ball, Cones
from .saddle import THIN
from .spectra import Matrices, SingularValues
from .terms import Piece

LARGEST, SPARSE, LONG = 400, 1500, 10_000
"""Rows and columns of a saddle-point matrix at most: its factors take a millisecond, and so do those of one that is
`THIN`; with `FEW` entries in a row, they take less than the other steps even where these have no order."""
FEW = 10
"""Entries in a row of a long one."""


class Scaling(Protocol):
    """A barrier at (u, y)."""

    product: float
    """⟨u, s⟩, of the pairs that ought to be μ."""
    psi: np.ndarray
    """ψ: its diagonal, a matrix, or several of one size along its diagonal."""

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        """ρ of the step to products of `goal`, corrected by what a first step (du, dy) would leave of them."""

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """du = ψ dy + ρ."""

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        """1/t for the longest step t that stays inside."""

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        """(u, y) after a step."""


class Barrier(Protocol):
    """One kind of rows."""

    @property
    def rows(self) -> slice:
        """Of the form."""

    @property
    def degree(self) -> int:
        """Number of pairs."""

    @property
    def size(self) -> int:
        """Numbers of a point: u, and for singular values some more after it."""

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """A point well inside, near (u, y)."""

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Scaling:
        """The scaling at a point; ψ⁻¹ is at most about `cap`."""

    def product(self, u: np.ndarray, y: np.ndarray) -> float:
        """⟨u, s⟩."""


def known_barriers(
    pieces: Sequence[Piece], size: int, entries: float, further: float = 0
) -> list[Barrier] | None:
    """The barriers of the pieces; None where one of them has none, or the saddle-point matrix would be too large.

    It has `size` rows and columns, `entries` but for those of ψ, and `further` ones of groups and of what changes in
    ∇²f: ∞ where that is known by its products, and there is no such matrix.
    """
    if not all(type(p.like) is np.ndarray and has_barrier(p.h, p.shape) for p in pieces):
        return None
    found = [_barrier(piece) for piece in pieces]
    if size <= LARGEST or all(isinstance(b, Loss) for b in found):
        return found
    entries += sum(map(_entries, found))
    if size <= SPARSE:
        return found if entries <= THIN * size**2 and math.isfinite(further) else None
    return found if size <= LONG and entries + further <= FEW * size else None


def _entries(barrier: Barrier) -> int:
    """Of ψ: cones, and the entries of losses, have blocks of their own."""
    count = barrier.rows.stop - barrier.rows.start
    width = 1 if isinstance(barrier, Loss) else barrier.shape[-1] if isinstance(barrier, Cones) else count
    return count * width


def _barrier(piece: Piece) -> Barrier:
    (h, c, a, shift), rows = _inner(piece.h, piece.shape), piece.rows
    own, k = replace(piece, rows=slice(0, math.prod(piece.shape))), a / piece.scale
    if isinstance(h, Entrywise | Huber):
        return Loss(own, rows)
    if isinstance(h, LogDet):
        return Determinant(own, rows, c * h.lam, k, shift)
    if isinstance(h, PSD):
        return Matrices(rows, piece.shape, k, shift)
    if isinstance(h, Nuclear):
        return SingularValues(rows, piece.shape, c * h.lam, k, shift)
    if isinstance(h, L2Ball):
        return Ball(rows, h.radius, k, shift)
    return Cones(rows, piece.shape, k, shift)


def _inner(h: Nonsmooth, shape: Shape) -> tuple[Nonsmooth, float, float, np.ndarray]:
    """(g, c, a, shift) with h(u) = c g(a u + shift)."""
    c, a, shift = 1.0, 1.0, np.zeros(shape)
    while True:
        if isinstance(h, Scaled):
            c, h = c * h.c, h.h
        elif isinstance(h, Precomposed) and type(h.a) is float:
            a, shift, h = a * h.a, shift * h.a + h.shift, h.h
        else:
            return h, c, a, shift.ravel()


@dataclass(frozen=True)
class Placed:
    """A barrier, and where it is."""

    barrier: Barrier
    variables: slice
    """Its u and y among the variables of interior-point steps."""
    numbers: slice
    """What points hold of it."""
    forces: slice
    """Its y there."""

    @property
    def count(self) -> int:
        """Of its rows."""
        return self.forces.stop - self.forces.start

    @property
    def shown(self) -> slice:
        """Its u among what points hold."""
        return slice(self.numbers.start, self.numbers.start + self.count)

    def of(self, p: Any) -> tuple[np.ndarray, np.ndarray]:
        """Its part of a point or a step."""
        return p.u[self.numbers], p.y[self.forces]


def placed(barriers: Sequence[Barrier], begin: int) -> list[Placed]:
    """One after the other; their variables from `begin` on."""
    counts = [b.rows.stop - b.rows.start for b in barriers]
    kinds = (counts, begin), ([b.size for b in barriers], 0), (counts, 0)
    places = [[slice(i, j) for i, j in pairwise(accumulate(sizes, initial=first))] for sizes, first in kinds]
    return [Placed(*each) for each in zip(barriers, *places, strict=True)]
