"""Which entries of a canonical problem are known before it is solved, and which rows say nothing once they are.

An entry v_i is known where its h leaves it one point, lo_i = hi_i, or where an equation (a row whose u has one point)
has no other unknown: v_i = (c_k - u_k - what is known)/n_ki. What one round finds may leave one unknown in another row.
Rows without unknowns are left out, where h_U is a sum over its rows.

    v_i by its h: any s_i is normal to a point.   v_i by row k: s_i ∈ ∂h_i(v_i), and z_k makes the entry stationary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import Array, Shape, as_csr, entry_rows, row_counts, to_numpy
from ..functions import Nonsmooth, Stacked
from ..operators import FlatStack, Operator
from ..problem import Problem
from ..theory.state import prox_step
from .restrict import restricted
from .slack import is_nothing
from .table import by_part

ROUNDS = 50
"""How often equations are looked through for what the entries found last leave in them."""
SAME = 1e-10
"""Two values of an entry agree up to this share of the terms they are made of."""
SMALL = 1e-9
"""An entry of a row, relative to its largest one, that may be the rounding of 0."""


class Contradiction(Exception):
    """There is no such point; methods will say so of the problem as it is."""


class Points(NamedTuple):
    """Entries of a flattened block that its h leaves one point only, and where that is."""

    held: np.ndarray
    at: np.ndarray


def points(h: Nonsmooth, shape: Shape) -> Points | None:
    """The entries with lo = hi, None where there are none, or nothing is known."""
    if isinstance(h, Stacked):
        return _stacked_points(h)
    kinks = h.kinks(shape)
    if kinks is None:
        return None
    lower, upper = kinks.lower, kinks.upper
    if type(lower) is float and type(upper) is float and lower != upper:
        return None
    lower, upper = np.asarray(to_numpy(lower)), np.asarray(to_numpy(upper))
    same = (lower == upper) & np.isfinite(lower)
    if not same.any():
        return None
    return Points(np.full(shape, same).reshape(-1), np.full(shape, lower).reshape(-1))


def _stacked_points(h: Stacked) -> Points | None:
    found = [(points(part, shape), math.prod(shape)) for part, shape in h.parts]
    if all(own is None for own, _ in found):
        return None
    filled = [Points(np.zeros(n, dtype=bool), np.zeros(n)) if own is None else own for own, n in found]
    return Points(*(np.concatenate(field) for field in zip(*filled, strict=True)))


def parts_of(h: Nonsmooth, shape: Shape) -> list[tuple[Nonsmooth, Shape]]:
    """The parts of U."""
    return h.parts if isinstance(h, Stacked) else [(h, shape)]


def may_be_known(problem: Problem) -> bool:
    """Whether some entry has one point, or some equation may have one entry: False where a glance tells."""
    *blocks, last = problem.blocks
    if any(points(b.h, b.shape) is not None for b in blocks):
        return True
    begin = 0
    for k, (h, shape) in enumerate(parts_of(last.h, last.shape)):
        found, place = points(h, shape), slice(begin, begin + math.prod(shape))
        begin = place.stop
        if found is None:
            continue
        pairs = list(zip(blocks, problem.operators, strict=False))
        if not any(_has_long_rows(A, b.shape, place, k, found.held) for b, A in pairs):
            return any(_may_lose(b.h, b.shape) for b in blocks)
    return False


def _may_lose(h: Nonsmooth, shape: Shape) -> bool:
    """Whether a variable can lose some of its entries: h, or a part of it, is a sum over these."""
    return any(restricted(part, own, np.arange(1)) is not None for part, own in parts_of(h, shape))


def _has_long_rows(A: Operator, shape: Shape, place: slice, k: int, held: np.ndarray) -> bool:
    """Whether the rows of A that are `held`, of those in this `place`, its part k, have two entries at least."""
    if isinstance(A, FlatStack) and A.slices[k : k + 1] == [place]:
        A, place = A.parts[k], slice(None)
    matrix = A.as_matrix(shape)
    if matrix is None or matrix.shape[1] < 2:
        return False
    if scipy.sparse.issparse(matrix):
        rows = as_csr(matrix)
        return bool(row_counts(rows)[place][held].min() > 1 and rows.data.all())
    own = matrix[place][held]
    short = ~own[:, :2].all(axis=1)
    return not short.any() or bool((np.count_nonzero(own[short], axis=1) > 1).all())


def tangent(h: Nonsmooth, x: np.ndarray) -> np.ndarray | None:
    """s ∈ ∂h(x), None where h gives none; `Contradiction` where x is not in the domain."""
    try:
        s = np.asarray(h.subgradient(x), dtype=float)
    except NotImplementedError:
        return None
    t = prox_step(x, s)
    near = h.prox(x + t * s, t)
    size = np.maximum(np.abs(x), t * np.abs(s))
    if not np.all(np.isfinite(s)) or np.any(np.abs(near - x) > SAME * size):
        raise Contradiction
    return s


class Part:
    """A part of U: rows u + Σ_j N_j v_j = c with h(u)."""

    def __init__(
        self, h: Nonsmooth, shape: Shape, maps: list[Operator], shapes: Sequence[Shape], c: np.ndarray
    ):
        self.h, self.shape, self.maps, self.c = h, shape, maps, c
        self._shapes = shapes
        self.points = points(h, shape)
        """The rows that are equations."""
        self.dropped, self.tells = np.zeros(c.size, dtype=bool), np.zeros(c.size, dtype=bool)
        """The rows that are left out, and those of them that told where an entry is."""
        self.u, self.s = np.zeros(c.size), np.zeros(c.size)
        """Where the rows that are left out stand, and an element of ∂h there."""

    @cached_property
    def matrices(self) -> list[Any] | None:
        """Those of the N_j, where rows may be dropped: all are known, and h is a sum over rows; None elsewhere."""
        if restricted(self.h, self.shape, np.arange(1)) is None:
            return None
        found = [A.as_matrix(shape) for A, shape in zip(self.maps, self._shapes, strict=True)]
        if any(M is None for M in found):
            return None
        return [as_csr(M) if scipy.sparse.issparse(M) else M for M in found]

    def equations(self) -> Points | None:
        """The rows that are equations, where they may be dropped."""
        return None if self.points is None or self.matrices is None else self.points


class Column:
    """A variable: which of its entries are known, and where they stand."""

    def __init__(self, h: Nonsmooth, shape: Shape, maps: list[Operator]):
        self.h, self.shape, self._maps = h, shape, maps
        size = math.prod(shape)
        self.held, self.at, self.s = np.zeros(size, dtype=bool), np.zeros(size), np.zeros(size)
        self.by_row = np.zeros(size, dtype=bool)
        """Whether a row says where the entry is, and s is an element of ∂h there; else h does."""
        own = points(h, shape)
        if own is not None:
            self.held = own.held if own.held.all() else own.held & self.may_be_cut
            self.at[self.held] = own.at[self.held]

    @cached_property
    def may_be_cut(self) -> np.ndarray:
        """Which entries it can lose one by one: h is a sum over these, and the columns of its maps are known."""
        known = all(is_nothing(A) or A.as_matrix(self.shape) is not None for A in self._maps)
        parts = [
            (restricted(h, shape, np.arange(1)), math.prod(shape))
            for h, shape in parts_of(self.h, self.shape)
        ]
        return np.concatenate([np.full(size, known and own is not None) for own, size in parts])

    def hold(self, entries: np.ndarray, at: np.ndarray) -> bool:
        """Let a row say where these entries are; False where h gives no subgradient there."""
        h = restricted(self.h, self.shape, entries)
        s = None if h is None or not np.all(np.isfinite(at)) else tangent(h, at)
        if h is None or s is None:
            return False
        kinks = h.kinks(at.shape)
        inside = at if kinks is None else np.clip(at, kinks.lower, kinks.upper)
        self.held[entries], self.by_row[entries], self.at[entries], self.s[entries] = True, True, inside, s
        return True


class Known:
    """What is known of a canonical problem: of its variables (`columns`), and of the rows of U (`parts`)."""

    def __init__(self, problem: Problem):
        *blocks, last = problem.blocks
        shapes = [b.shape for b in blocks]
        rows = parts_of(last.h, last.shape)
        c = np.broadcast_to(problem.b, problem.shape).reshape(-1)
        ends = np.cumsum([math.prod(shape) for _, shape in rows]).tolist()
        by = [
            by_part(A, b.shape, [shape for _, shape in rows])
            for A, b in zip(problem.operators, blocks, strict=False)
        ]
        self.parts = [
            Part(h, shape, [maps[k] for maps in by], shapes, c[end - math.prod(shape) : end])
            for k, ((h, shape), end) in enumerate(zip(rows, ends, strict=True))
        ]
        self.columns = [Column(b.h, b.shape, maps) for b, maps in zip(blocks, by, strict=True)]
        rounds = 0
        while self._round(hold=rounds < ROUNDS):
            rounds += 1
        for part in self.parts:
            self._drop_decided(part)

    def _round(self, hold: bool) -> bool:
        """Drop equations without unknowns, and `hold` the entries that are alone in one; whether there were such."""
        found = False
        for part in self.parts:
            equations = part.equations()
            rows = np.empty(0, dtype=int) if equations is None else self._short(part, equations)
            if equations is None or not rows.size:
                continue
            counts = [_count(M, ~v.held, rows) for M, v in self._pairs(part)]
            rest, size = self._rest(part, rows, equations.at[rows])
            unknowns = np.sum(counts, axis=0)
            if np.any(np.abs(rest[unknowns == 0]) > SAME * size[unknowns == 0]):
                raise Contradiction
            gone = [rows[unknowns == 0]]
            for j, (M, v) in enumerate(self._pairs(part) if hold else ()):
                own = (unknowns == 1) & (counts[j] == 1)
                if own.any():
                    told = self._tell(part, v, M, rows[own], rest[own])
                    part.tells[told], found = True, found or told.size > 0
                    gone.append(told)
            dropped = np.concatenate(gone)
            part.dropped[dropped], part.u[dropped] = True, equations.at[dropped]
        return found

    def _tell(self, part: Part, v: Column, M: Any, rows: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Hold the entries of v that are alone in these rows; returns the rows that told them, one for each."""
        assert part.matrices is not None
        entries, factors = _only(M, ~v.held, rows)
        fit = v.may_be_cut[entries] & (np.abs(factors) > SMALL * _largest(part.matrices, rows))
        _, first = np.unique(np.where(fit, entries, -1), return_index=True)
        first = first[fit[first]]
        held = first.size > 0 and v.hold(entries[first], rest[first] / factors[first])
        return rows[first] if held else rows[:0]

    def _pairs(self, part: Part) -> list[tuple[Any, Column]]:
        """Matrices and variables of a part."""
        assert part.matrices is not None
        return list(zip(part.matrices, self.columns, strict=True))

    def _short(self, part: Part, equations: Points) -> np.ndarray:
        """Equations that may have one unknown or none: of a dense matrix those with zeros in its first columns."""
        rows = np.flatnonzero(equations.held & ~part.dropped)
        for M, v in self._pairs(part):
            if not scipy.sparse.issparse(M):
                first = np.flatnonzero(~v.held)[:2]
                rows = rows[np.count_nonzero(M[np.ix_(rows, first)], axis=1) < 2]
        return rows

    def _rest(self, part: Part, rows: np.ndarray, u: Any) -> tuple[np.ndarray, np.ndarray]:
        """c - u - Σ N v of the entries that are known, 0 where that is rounding; and the sizes of its terms."""
        rest, size = part.c[rows] - u, np.abs(part.c[rows]) + np.abs(u)
        for M, v in self._pairs(part):
            if v.held.any():
                own, sizes = _products(M, np.where(v.held, v.at, 0.0), rows)
                rest, size = rest - own, size + sizes
        return np.where(np.abs(rest) <= 8 * np.finfo(float).eps * size, 0.0, rest), size

    def _drop_decided(self, part: Part) -> None:
        """Leave out the rows in which no unknown is left, where h says a subgradient there."""
        present = zip(self.columns, part.maps, strict=True)
        if not any(v.held.any() and not is_nothing(A) for v, A in present) or part.matrices is None:
            return
        rows = np.flatnonzero(~part.dropped)
        before = sum(_count(M, np.ones(v.held.size, dtype=bool), rows) for M, v in self._pairs(part))
        unknowns = sum(_count(M, ~v.held, rows) for M, v in self._pairs(part))
        rows = rows[(unknowns == 0) & (before > 0)]
        h = restricted(part.h, part.shape, rows) if rows.size else None
        if h is None:
            return
        u, _ = self._rest(part, rows, 0.0)
        try:
            s = tangent(h, u)
        except Contradiction:  # the rows stay, and a method will find that they cannot be satisfied
            return
        if s is not None:
            part.dropped[rows], part.u[rows], part.s[rows] = True, u, s

    @cached_property
    def telling(self) -> Any:
        """A factorisation of the rows that told entries, in the columns of these; None where there are none.

        It is a square matrix, triangular in the order in which the entries were found.
        """
        parts = [part for part in self.parts if part.tells.any()]
        if not parts:
            return None
        entries, rows = [], 0
        for part in parts:
            columns = 0
            for M, v in self._pairs(part):
                value, row, column = _between(M, part.tells, v.by_row)
                entries.append((value, rows + row, columns + column))
                columns += int(np.count_nonzero(v.by_row))
            rows += int(np.count_nonzero(part.tells))
        value, row, column = map(np.concatenate, zip(*entries, strict=True))
        return scipy.sparse.linalg.splu(scipy.sparse.csc_array((value, (row, column)), shape=(rows, rows)))


def _between(M: Any, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(values, rows, columns) of the entries of some rows in some columns, counted among these."""
    if not scipy.sparse.issparse(M):
        own = M[np.ix_(rows, columns)]
        return own[own != 0], *np.nonzero(own)
    row = entry_rows(M)
    at = np.flatnonzero(rows[row] & columns[M.indices])
    return M.data[at], (np.cumsum(rows) - 1)[row[at]], (np.cumsum(columns) - 1)[M.indices[at]]


def _count(M: Any, free: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How many entries the rows have in the columns that are free."""
    if scipy.sparse.issparse(M):
        return np.bincount(entry_rows(M), free[M.indices], M.shape[0])[rows]
    return np.count_nonzero(M[np.ix_(rows, free)], axis=1)


def _products(M: Any, x: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M x and |M||x| in these rows."""
    if scipy.sparse.issparse(M):
        terms, row = M.data * x[M.indices], entry_rows(M)
        both = (np.bincount(row, weights, M.shape[0])[rows] for weights in (terms, np.abs(terms)))
        return next(both), next(both)
    known = np.flatnonzero(x)
    own = M[np.ix_(rows, known)]
    return own @ x[known], np.abs(own) @ np.abs(x[known])


def _only(M: Any, free: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns and the values of the only free entry of each of these rows, which are in order."""
    if scipy.sparse.issparse(M):
        chosen = np.zeros(M.shape[0], dtype=bool)
        chosen[rows] = True
        at = np.flatnonzero(chosen[entry_rows(M)] & free[M.indices])
        return M.indices[at], M.data[at]
    columns = np.argmax((M[rows] != 0) & free, axis=1)
    return columns, M[rows, columns]


def _largest(matrices: list[Any], rows: np.ndarray) -> Array:
    """The largest |entry| of every row."""
    found = np.zeros(rows.size)
    for M in matrices:
        if scipy.sparse.issparse(M):
            own = np.zeros(M.shape[0])
            np.maximum.at(own, entry_rows(M), np.abs(M.data))
            found = np.maximum(found, own[rows])
        else:
            found = np.maximum(found, np.max(np.abs(M[rows]), axis=1, initial=0.0))
    return found
