"""The numbers that units are chosen by: entries of the equation by parts and variables, curvatures of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape
from ..functions import Nonsmooth, Stacked, Zero
from ..operators import Compose, Diagonal, FlatStack, Identity, Operator, Reshape, Sampling, Segment
from ..problem import Problem
from .slack import is_nothing, multiple, taken
from .squares import barrier, curvature, square_sums, squared

PASSES = 10
"""Passes at most: each takes the square root of what is left to do."""
EVEN = 1.4
"""Largest factor of a pass that is the last: the units are rounded to powers of two."""
SPREAD = 16.0
"""Units are left alone where the largest is no more than this many times the smallest, of columns and of rows, and of
rows and 1 where U is a set."""

SAME, OWN = "a_i a_j", "a_i b_j"
"""Units of a matrix that are products: of those of the rows for both, or with units of its own for the columns."""


class Piece:
    """A variable, or a part of U, with a function that allows units of a certain shape, found when asked for."""

    def __init__(self, h: Nonsmooth, shape: Shape):
        self.h, self.shape = h, shape
        self.copies: list[Piece] = []
        """Of a variable: the parts of U that are multiples of it."""

    @property
    def units(self) -> Shape | None:
        """The shape of D: the piece's own, one number per row, () for one number, None for 1."""
        return self._finest[0]

    @cached_property
    def two_sided(self) -> bool:
        """Whether D_ij = a_i a_j: the units of the rows are those of the columns."""
        if len(self.shape) != 2 or self.shape[0] != self.shape[1]:
            return False
        return self._finest[1] is SAME or (self.units == self.shape and any(p.two_sided for p in self.copies))

    @cached_property
    def _finest(self) -> tuple[Shape | None, str]:
        """The finest units that h allows, and whether they are products of those of rows and of columns."""
        h, shape = self.h, self.shape
        if rescaled(h, _trial(shape)) is not None:
            return shape, ""
        rows, columns = (_trial(shape[k : k + 1]) for k in (0, 1))
        if len(shape) == 2 and rescaled(h, np.outer(rows, columns**2)) is not None:
            return shape, OWN
        by_row = shape[:1] + (1,) * (len(shape) - 1)
        if rescaled(h, _trial(by_row)) is not None:
            return by_row, ""
        if len(shape) == 2 and shape[0] == shape[1] and rescaled(h, np.outer(rows, rows)) is not None:
            return shape, SAME
        return () if rescaled(h, 2.0) is not None else None, ""

    def shared(self, size: Array) -> Array:
        """Positive numbers for every entry as such units: their geometric mean over what shares one."""
        if self.units is None:
            return np.ones(())
        if self.two_sided:
            return _outer_sum(np.log(size), np.exp)
        if self._finest[1] is OWN:
            return _sum_of_both(np.log(size), np.exp)
        if self.units == self.shape:
            return size
        axes = tuple(
            k for k in range(len(self.shape)) if not self.units or self.units[k] == 1 != self.shape[k]
        )
        return np.exp(np.log(size).mean(axis=axes, keepdims=bool(self.units)))

    def rounded(self, units: Array, dtype: Any) -> Array:
        """Such units as powers of two."""
        logs = np.log2(units)
        of_sides = _outer_sum if self.two_sided else _sum_of_both if self._finest[1] is OWN else None
        powers = np.exp2(np.round(logs)) if of_sides is None else of_sides(logs, np.exp2, np.round)
        return powers.astype(dtype)


def _outer_sum(logs: Array, exp: Any, through: Any = lambda a: a) -> Array:
    """exp(a_i + a_j) with the a that are nearest in the mean of squares: a_i = mean_j logs_ij - mean logs/2."""
    a = through(0.5 * (logs.mean(axis=0) + logs.mean(axis=1) - logs.mean()))
    return exp(a[:, None] + a)


def _sum_of_both(logs: Array, exp: Any, through: Any = lambda a: a) -> Array:
    """exp(a_i + b_j) with the a and b that are nearest in the mean of squares: means of rows; of columns, less all."""
    return exp(through(logs.mean(axis=1))[:, None] + through(logs.mean(axis=0) - logs.mean()))


def _trial(units: Shape) -> Any:
    """Different numbers, one for each of the units; one number where there are no axes."""
    count = max(1, math.prod(units))
    return 1.0 + np.arange(count).reshape(units) / count if units else 2.0


def rescaled(h: Nonsmooth, d: Any) -> Nonsmooth | None:
    """u ↦ h(d·u), None where h allows no such units."""
    make = getattr(h, "rescaled", None)
    return None if make is None else make(d)


class Table:
    """The entries of the equation by parts of U and variables, and the curvatures of the variables.

    Parts of U that are free, or pick single entries of a variable, follow the units of these and do not count, unless U
    has an f.
    """

    def __init__(self, problem: Problem, columns: list[Piece]):
        *blocks, last = problem.blocks
        parts = last.h.parts if isinstance(last.h, Stacked) else [(last.h, last.shape)]
        self.rows = [Piece(h, shape) for h, shape in parts]
        shapes = [part.shape for part in self.rows]
        self.maps = [by_part(A, b.shape, shapes) for A, b in zip(problem.operators, blocks, strict=False)]
        self.columns = columns
        for c, maps in zip(columns, self.maps, strict=True):
            c.copies = [p for p, A in zip(self.rows, maps, strict=True) if p.shape == c.shape and _is_copy(A)]
        self.bends = [
            sum((barrier(p.h, b.f, b.shape) for p in (c, *c.copies)), curvature(b.f, b.shape))
            for b, c in zip(blocks, columns, strict=True)
        ]
        smooth = last.f is not None
        self.counts = [smooth or not self._follows(k) for k in range(len(self.rows))]
        self.is_free = last.h.is_set and not smooth
        """Whether rows may be of any size, all alike: U costs nothing, and says nothing of its unit."""

    def _follows(self, k: int) -> bool:
        """Whether part k of U is free, or picks entries of one variable."""
        if isinstance(self.rows[k].h, Zero):
            return True
        present = [
            (c, parts[k])
            for c, parts in zip(self.columns, self.maps, strict=True)
            if not is_nothing(parts[k])
        ]
        if len(present) != 1:
            return False
        column, A = present[0]
        return isinstance(A, Identity | Diagonal | Sampling | Segment) or (column.two_sided and _is_copy(A))

    @property
    def is_even(self) -> bool:
        """Whether no row and no column that may have other units is much larger than another as things are."""
        reach = [np.zeros(part.shape) for part in self.rows]
        linear = [np.zeros(column.shape) for column in self.columns]
        for j, (column, parts) in enumerate(zip(self.columns, self.maps, strict=True)):
            for k, A in enumerate(parts):
                if self.counts[k] and not is_nothing(A):
                    along, down = square_sums(A, column.shape)
                    reach[k] = reach[k] + along.reshape(self.rows[k].shape)
                    linear[j] = linear[j] + down
        if self.is_free and spread([np.ones(1), *(size[size > 0] for size in reach)]) > SPREAD**2:
            return False
        both = (self.rows, reach), (self.columns, _balanced(linear, self.bends))
        return all(_are_even(pieces, sizes) for pieces, sizes in both)

    def changes(self, d: list[Array], e: list[Array]) -> float:
        """The largest factor between units of columns, or of rows, or of these and 1 where they may be of any size."""
        return max(spread(d), spread([*e, np.ones(1)] if self.is_free else e))

    def equilibrate(self) -> tuple[list[Array], list[Array]]:
        """D of every variable and E of every part of U: rows of norm one, columns of one norm."""
        squares = [
            [None if is_nothing(A) else squared(A, c.shape) for A in parts]
            for c, parts in zip(self.columns, self.maps, strict=True)
        ]
        d, e = [np.ones(c.shape) for c in self.columns], [np.ones(r.shape) for r in self.rows]

        def reach(k: int) -> Array:
            terms = [
                own.apply(np.square(D)) for S, D in zip(squares, d, strict=True) if (own := S[k]) is not None
            ]
            return np.sqrt(
                sum((np.reshape(t, self.rows[k].shape) for t in terms), np.zeros(self.rows[k].shape))
            )

        def linear(j: int) -> Array:
            terms = [
                S.adjoint(_shaped(np.square(e[k]), A, self.columns[j].shape))
                for k, (S, A) in enumerate(zip(squares[j], self.maps[j], strict=True))
                if S is not None and self.counts[k]
            ]
            return np.square(d[j]) * sum(terms, np.zeros(self.columns[j].shape))

        for _ in range(PASSES):
            by_row = [np.sqrt(p.shared(_positive(e[k] * reach(k)))) for k, p in enumerate(self.rows)]
            e = [E / factor for E, factor in zip(e, by_row, strict=True)]
            bent = [np.square(D) * H for H, D in zip(self.bends, d, strict=True)]
            sizes = _balanced([linear(j) for j in range(len(d))], bent)
            level = _level(sizes)
            by_column = [
                np.sqrt(c.shared(_positive(np.sqrt(size / level))))
                for c, size in zip(self.columns, sizes, strict=True)
            ]
            d = [D / factor for D, factor in zip(d, by_column, strict=True)]
            if all(np.all((factor <= EVEN) & (factor * EVEN >= 1)) for factor in (*by_row, *by_column)):
                break
        d = [c.shared(D) + np.zeros(c.shape) for c, D in zip(self.columns, d, strict=True)]
        e = [
            part.shared(E if counts else 1 / _positive(reach(k)))
            for k, (part, E, counts) in enumerate(zip(self.rows, e, self.counts, strict=True))
        ]
        return [c.shared(D) for c, D in zip(self.columns, d, strict=True)], e


def by_part(A: Operator, shape: Shape, parts: Sequence[Shape]) -> list[Operator]:
    """The rows of A for every part of U, by the shapes of these."""
    if len(parts) == 1:
        return [A]
    sizes = [math.prod(part) for part in parts]
    if isinstance(A, FlatStack) and [math.prod(o) for o in A.outputs] == sizes:
        return list(A.parts)
    ends = np.cumsum(sizes)
    whole = (int(ends[-1]),)
    return [taken(A, shape, whole, np.arange(e - n, e), 1.0, (n,)) for e, n in zip(ends, sizes, strict=True)]


def _is_copy(A: Operator) -> bool:
    """Whether a part u = c - A v of U is a positive multiple of a variable, in any shape."""
    while isinstance(A, Compose) and Reshape in (type(A.left), type(A.right)):
        A = A.right if isinstance(A.left, Reshape) else A.left
    a = multiple(A)
    return a is not None and a < 0


def _shaped(x: Array, A: Operator, shape: Shape) -> Array:
    """x in the shape of what A makes of blocks of `shape`."""
    return np.reshape(x, A.output_shape(shape))


def _positive(size: Array) -> Array:
    return np.where(size > 0, size, 1.0)


def _balanced(linear: list[Array], bent: list[Array]) -> list[Array]:
    """Squares of columns of the equation plus curvatures, these in the unit in which both are alike on the whole."""
    if not any(H.any() for H in bent):
        return linear
    both = [(H > 0) & (N > 0) for N, H in zip(linear, bent, strict=True)]
    logs = np.log(np.concatenate([H[b] / N[b] for N, H, b in zip(linear, bent, both, strict=True)]))
    unit = math.exp(-float(logs.mean())) if logs.size else 1.0
    return [N + unit * H for N, H in zip(linear, bent, strict=True)]


def _level(sizes: list[Array]) -> float:
    """The geometric mean of what is positive."""
    logs = np.concatenate([np.log(s[s > 0]) for s in sizes])
    return math.exp(float(logs.mean())) if logs.size else 1.0


def _are_even(pieces: list[Piece], sizes: list[Array]) -> bool:
    """Whether the squared sizes of the pieces differ little; of all, or of those that may have units of their own."""
    positive = [s[s > 0] for s in sizes]
    if spread(positive) <= SPREAD**2:
        return True
    return spread([s for p, s in zip(pieces, positive, strict=True) if p.units]) <= SPREAD**2


def spread(units: list[Array]) -> float:
    """The largest over the smallest."""
    present = [u for u in units if u.size]
    if not present:
        return 1.0
    return float(max(u.max() for u in present)) / float(min(u.min() for u in present))
