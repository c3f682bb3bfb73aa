"""A problem as the method sees it: min f(v) + H(u) subject to u = M v + c, v free, in units of its own.

The last block is u, with A_n = a·I: u = (b - Σ A_j v_j)/a. A convex h_j of another block joins H by rows that pick v_j,
a smooth f_n(u) joins f as f_n(M v + c). Multipliers: y ∈ ∂H(u) and ∇f(v) + Mᵀy = 0, so that z = -(y + ∇f_n(u))/a on the
rows of the last block.

Units: v = C v', u' = E u. Rows and columns of the general part of M are brought to norm one (Ruiz), rows that pick one
entry become rows of the identity, and what is known by its prox only gets one unit for all its entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy

from ..._arrays import Array, Shape, is_array, norm, on_device, scaled_matrix, to_numpy
from ...errors import AssumptionError
from ...functions import Composed, Kinks, Linear, Nonsmooth, Scaled, Stacked, Zero
from ...functions.entrywise import Entrywise
from ...functions.recognising import PiecewiseLinear
from ...operators import Identity, Reshape
from ...presolve.restrict import restricted
from ...problem import Problem
from .algebra import Rows
from .gauges import asked, gauges, may_fall_apart
from .inside import Inside, inside
from .matrices import beside, general_rows, picked
from .saddle import entries_of
from .smooth import Part, SmoothPart, describe
from .terms import Entries, Piece, Terms
from .units import Turned, equilibrated, orthonormal, powers_of_two, rough_norm, turned

FAINT = 1e-15
"""Part of the largest right-hand side of an equation below which others are 0, as far tails of densities are, for
certificates, too (`theory.fixed.faint_part`): with more, equations that depend on each other would disagree."""


@dataclass(frozen=True, eq=False)
class Form:
    """f, H, M and c, and how to go back."""

    smooth: SmoothPart
    terms: Terms
    M: Rows
    c: np.ndarray
    C: np.ndarray
    E: np.ndarray
    source: np.ndarray
    """Where each row stands among the entries of u and of the blocks with an h of their own."""
    blocks: tuple[tuple[slice, slice | None], ...]
    """Of every block but the last: its entries in v, and its rows among the sources where it has an h."""
    scale: float
    """a of A_n = a·I."""
    start: np.ndarray
    """v of the starting point, where f may be asked, in the units of the problem."""
    lone: tuple[np.ndarray, np.ndarray, np.ndarray]
    """(rows, entries, coefficients), in the units of the problem: those rows of losses that pick an entry of v."""
    mix: np.ndarray | None = None
    """A triangular T, where columns were made orthonormal: v' = T v/C."""
    turned: Turned | None = None
    """How equations were made orthonormal, where they were."""

    def inward(self, v: np.ndarray) -> np.ndarray:
        """v in the units of the method."""
        return v / self.C if self.mix is None else self.mix @ (v / self.C)

    def outward(self, v: np.ndarray) -> np.ndarray:
        """v in the units of the problem."""
        if self.mix is None:
            return self.C * v
        return self.C * scipy.linalg.solve_triangular(self.mix, v, check_finite=False)

    @property
    def confined(self) -> np.ndarray:
        """Entries of v at which f may be asked inside their bounds only."""
        found = np.zeros(self.n, bool)
        for part in self.smooth.parts:
            if isinstance(part.f, Inside):
                found[part.place] = True
        return found

    @cached_property
    def constraints(self) -> tuple[np.ndarray, Any]:
        """The general rows with bounds and without a price, and |M| there; none where M is known by its products."""
        e, begin, G = self.terms.entries, self.terms.last.start, self.M.G
        count = self.general - begin
        free = (e.left[:count] == 0) & (e.right[:count] == 0)
        rows = begin + np.flatnonzero(free & (np.isfinite(e.lower[:count]) | np.isfinite(e.upper[:count])))
        if not rows.size or isinstance(G, scipy.sparse.linalg.LinearOperator):
            return np.empty(0, int), np.zeros((0, self.n))
        return rows, abs(G if rows.size == self.general else G[rows])

    @cached_property
    def picks(self) -> np.ndarray:
        """Of the rows that pick an entry of v, the first for each of these."""
        first, rows = np.full(self.n, -1), np.arange(len(self.M.index))
        first[self.M.index[::-1]] = rows[::-1]
        return first[first >= 0]

    @cached_property
    def c_norm(self) -> float:
        """‖c‖."""
        return norm(self.c)

    @cached_property
    def slope(self) -> np.ndarray:
        """∇f(0)."""
        return self.smooth.gradient(np.zeros(self.n))

    @property
    def n(self) -> int:
        """Entries of v."""
        return len(self.C)

    @property
    def m(self) -> int:
        """Rows of M."""
        return len(self.E)

    @property
    def general(self) -> int:
        """General rows."""
        return self.M.general

    @property
    def entries(self) -> float:
        """Of the general rows, and of ∇²f as far as it does not change."""
        return sum(map(entries_of, (self.M.G, self.smooth.Q, self.smooth.R)))

    def apply(self, v: np.ndarray) -> np.ndarray:
        """M v."""
        return self.M.apply(v)

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """Mᵀ y."""
        return self.M.adjoint(y)


class _Row:
    """Pieces of H while they are collected: a function, its shape, its rows among the sources."""

    def __init__(self, h: Nonsmooth, shape: Shape, rows: np.ndarray, like: Array):
        self.h, self.shape, self.rows, self.like = h, shape, rows, like
        kinks = h.kinks(shape)
        self.kinks = None if kinks is None else _filled(kinks, shape)
        self.groups = h.groups(shape) if kinks is None else None


def read(problem: Problem, x0: Sequence[Array]) -> Form:
    """The form of a canonical problem; AssumptionError where it is not one."""
    require_convex(problem)
    for name, x in zip(problem.names, x0, strict=True):
        if type(x) is not np.ndarray and not on_device(x):
            raise AssumptionError(
                f"NewtonALM: block {name!r} is a distributed array, which it cannot factorise"
            )
    last, operator = problem.blocks[-1], problem.operators[-1]
    assert isinstance(operator, Identity)
    a, size = operator.scale, math.prod(last.shape)
    ends = [0, *accumulate(math.prod(block.shape) for block in problem.blocks[:-1])]
    places = [slice(i, j) for i, j in pairwise(ends)]
    n, pieces, blocks, m = ends[-1], _pieces(last.h, last.shape, 0, x0[-1]), [], size
    for block, place, like in zip(problem.blocks[:-1], places, x0[:-1], strict=True):
        own = None if isinstance(block.h, Zero) else slice(m, m + place.stop - place.start)
        if own is not None:
            pieces += _pieces(block.h, block.shape, m, like)
            m = own.stop
        blocks.append((place, own))
    b = np.zeros(size) + (np.ravel(to_numpy(problem.b)) if is_array(problem.b) else problem.b)
    c = np.concatenate([b / a, np.zeros(m - size)])
    parts = []
    interior = all(piece.kinks is not None or piece.groups is not None for piece in pieces)
    for block, place, like in zip(problem.blocks[:-1], places, x0[:-1], strict=True):
        constant, bends, unknown = describe(block.f, block.shape, like)
        f = inside(block, not unknown, interior)
        if isinstance(f, Inside):
            unknown = [Inside(g, f.lower, f.upper) for g in unknown]
        parts.append(Part(f, place, block.shape, like, tuple(constant), tuple(bends), tuple(unknown)))
    M = beside(problem, x0, -1 / a)
    if last.f is not None:  # f(u) = f(M v + c) is a smooth term of all of v
        if isinstance(M, scipy.sparse.linalg.LinearOperator) or type(x0[0]) is not np.ndarray:
            name = problem.names[-1]
            raise AssumptionError(
                f"NewtonALM: a smooth f of the last block {name!r} needs matrices of NumPy or SciPy"
            )
        inner = last.f if len(last.shape) == 1 else Composed(last.f, Reshape((size,), last.shape))
        joint = Composed(inner, M, b / a)
        constant, bends, unknown = describe(joint, (n,), x0[0])
        parts.append(Part(joint, slice(0, n), (n,), x0[0], tuple(constant), tuple(bends), tuple(unknown)))
    start = np.concatenate([np.ravel(to_numpy(x)).astype(float) for x in x0[:-1]])
    for part in parts:
        if isinstance(part.f, Inside):
            start[part.place] = part.f.start(start[part.place], _unit(M, c[:size]))
    return _scaled(pieces, blocks, c, parts, M, a, start)


def _unit(M: Any, c: np.ndarray) -> float:
    """The size of the entries of v, all the same, with which M v is as large as c where c is not 0."""
    ones = norm((M @ np.ones(M.shape[1]))[c != 0])
    return norm(c) / ones if ones > 0 else 1.0


def require_convex(problem: Problem) -> None:
    """Refuse what is not of the canonical form, or not convex, with the reason."""
    name, operator = problem.names[-1], problem.operators[-1]
    advice = "; solve(..., presolve=True) rewrites convex problems into that form"
    if len(problem.blocks) < 2:
        raise AssumptionError(f"NewtonALM needs a block besides the last one, {name!r}{advice}")
    if not isinstance(operator, Identity) or operator.scale == 0:
        raise AssumptionError(
            f"NewtonALM: the last block {name!r} must have A = c·I, it has {operator!r}{advice}"
        )
    for label, block in zip(problem.names, problem.blocks, strict=True):
        for what, function in (("h", block.h), ("f", block.f)):
            if function is not None and function.is_convex is False:
                reason = f"{what} of block {label!r}, {function!r}, is not"
                raise AssumptionError(f"NewtonALM is for convex problems, but {reason}")


def _pieces(h: Nonsmooth, shape: Shape, begin: int, like: Array) -> list[_Row]:
    if not isinstance(h, Stacked):
        rows = np.arange(begin, begin + math.prod(shape))
        return _apart(h, shape, rows, like) or [_Row(h, shape, rows, like)]
    places = zip(h.parts, h.slices, strict=True)
    return [row for (own, at), place in places for row in _pieces(own, at, begin + place.start, like)]


def _filled(kinks: Kinks, shape: Shape) -> np.ndarray:
    """The fields of kinks as rows, entry by entry of the flattened block."""
    out = np.empty((len(kinks), *shape))
    for row, x in zip(out, kinks, strict=True):
        row[...] = x if type(x) is float else to_numpy(x)
    return out.reshape(len(kinks), -1)


def _apart(h: Nonsmooth, shape: Shape, rows: np.ndarray, like: Array) -> list[_Row] | None:
    """A loss in two pieces where some of its entries are linear up to a bound: at it they have no gradient to keep to.
    None for others."""
    c = 1.0
    while isinstance(h, Scaled):
        c, h = c * h.c, h.h
    found = h.straight(shape) if isinstance(h, Entrywise) and type(like) is np.ndarray else None
    if found is None:
        return None
    where, kinks = found
    keep = np.setdiff1d(np.arange(len(rows)), where)
    rest = restricted(h, shape, keep)
    assert rest is not None
    bent = [_Row(Scaled(rest, c), keep.shape, rows[keep], like)] if keep.size else []
    return [*bent, _Row(PiecewiseLinear(kinks.times(c)), where.shape, rows[where], like)]


def _scaled(
    pieces: list[_Row],
    blocks: list[tuple[slice, slice | None]],
    c: np.ndarray,
    parts: list[Part],
    M: Any,
    a: float,
    start: np.ndarray,
) -> Form:
    """Sort the rows, choose the units, and put everything into them."""
    n = M.shape[1]
    column, coefficient = picked(M, blocks, len(c))
    others = [p for p in pieces if p.kinks is None and p.groups is None]
    grouped = [p for p in pieces if p.groups is not None]
    entries = np.concatenate([p.rows for p in pieces if p.kinks is not None] or [np.empty(0, int)])
    fields = np.concatenate([p.kinks for p in pieces if p.kinks is not None] or [np.empty((5, 0))], axis=1)
    if grouped:  # entries in no group: h = 0 there
        free = np.concatenate([p.rows[p.groups.label < 0] for p in grouped if p.groups is not None])
        entries = np.concatenate([entries, free])
        fields = np.concatenate([fields, _filled(Kinks(), free.shape)], axis=1)
    is_picked = column[entries] >= 0
    sort, count = is_picked.argsort(kind="stable"), len(entries) - np.count_nonzero(is_picked)
    entries, fields = entries[sort], fields[:, sort]
    members, label, radius = _groups(grouped)
    general = np.concatenate([*(p.rows for p in others), members, entries[:count]])
    source = np.concatenate([general, entries[count:]])
    index, picks = column[entries[count:]], coefficient[entries[count:]]
    G = general_rows(M, general, column)
    owner = np.repeat(np.arange(len(others)), [len(p.rows) for p in others])
    owner = np.append(owner, len(others) + label)  # rows of one group have one unit, too
    smooth = SmoothPart(parts, np.ones(n))
    curvature = smooth.curvature(start)
    E_general, C = equilibrated(G, n, curvature, owner)
    if may_fall_apart(G):
        sizes = np.abs(c[source])
        sizes[len(source) - len(entries) :] = asked(fields, c[entries])
        sizes *= np.concatenate([E_general, 1 / np.abs(picks * C[index])])
        bent = np.flatnonzero(curvature) if smooth.is_quadratic and sizes.any() else np.empty(0, int)
        reach = np.abs(smooth.gradient(np.zeros(n))[bent]) / (curvature * C)[bent]
        own = gauges(G, np.concatenate([sizes, reach]), np.concatenate([index, bent]), owner, curvature)
        if own is not None:
            E_general, C = E_general / own[0], C * own[1]
    E = np.concatenate([E_general, 1 / (picks * C[index])])
    mix = None
    if G is not None:
        if not isinstance(G, scipy.sparse.linalg.LinearOperator):
            G = scaled_matrix(E_general, G, C)
        is_linear = smooth.is_quadratic and not curvature.any()
        if not index.size and is_linear and all(own is None for _, own in blocks):
            G, mix = orthonormal(G)
        unit = float(powers_of_two(np.array(rough_norm(G, n) or 1.0)))
        E[: len(general)] /= unit
        if scipy.sparse.issparse(G):
            G.data /= unit  # made anew above
        else:
            G = (1 / unit) * G
    first = len(source) - len(entries)
    e = E[first:]
    k = Kinks(*fields).of(1 / e)
    terms = Terms(
        tuple(
            Piece(p.h, p.shape, slice(offset, offset + len(p.rows)), float(E[offset]), p.like)
            for p, offset in _offsets(others)
        ),
        label,
        radius / _per_group(E[sum(len(p.rows) for p in others) : first], label, len(radius)),
        Entries(k.left, k.right, k.place, k.lower, k.upper),  # type: ignore[arg-type]
        len(general),
    )
    smooth = smooth.rescaled(C) if mix is None else _mixed(smooth.rescaled(C), mix)
    c, bounds = E * c[source], terms.entries
    equal = np.flatnonzero(bounds.lower[:count] == bounds.upper[:count])
    found = None
    if equal.size:
        c[first + equal] = _without_faint(c[first + equal], bounds.lower[equal])
        equal = equal[(bounds.left[equal] == 0) & (bounds.right[equal] == 0)]
        rows, place = first + equal, bounds.lower[equal]
        found = turned(G, rows, place - c[rows]) if type(G) is np.ndarray else None
        if found is not None:
            G[rows], right, _ = found  # G was made anew above
            c[rows] = place - right
    how = None if found is None else found[2]
    losses = [np.arange(offset, offset + len(p.rows)) for p, offset in _offsets(others) if p.h.is_entrywise]
    rows = np.concatenate(losses) if losses else np.empty(0, int)
    rows = rows[column[source[rows]] >= 0]
    lone = rows, column[source[rows]], coefficient[source[rows]]
    return Form(smooth, terms, Rows(G, index, n), c, C, E, source, tuple(blocks), a, start, lone, mix, how)


def _without_faint(c: np.ndarray, place: np.ndarray) -> np.ndarray:
    """c, but `place` where M v = place - c asks for less than `FAINT` of the largest."""
    size = np.abs(place - c)
    return np.where(size < FAINT * size.max(initial=0.0), place, c)


def _mixed(smooth: SmoothPart, T: np.ndarray) -> SmoothPart:
    """⟨c, v⟩ as a function of v' = T v: ⟨T⁻ᵀc, v'⟩."""
    slope = smooth.gradient(np.zeros(smooth.n))
    if not slope.any():
        return smooth
    f = Linear(scipy.linalg.solve_triangular(T, slope, trans="T", check_finite=False))
    return SmoothPart([Part(f, slice(0, smooth.n), (smooth.n,), slope)], np.ones(smooth.n))


def _groups(grouped: list[_Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sources, group, weights) of all groups, sorted by group."""
    if not grouped:
        return np.empty(0, int), np.empty(0, int), np.empty(0)
    members, labels, radii, count = [], [], [], 0
    for p in grouped:
        assert p.groups is not None
        order = np.argsort(p.groups.label, kind="stable")
        order = order[p.groups.label[order] >= 0]
        members.append(p.rows[order])
        labels.append(p.groups.label[order] + count)
        radii.append(p.groups.radius)
        count += len(p.groups.radius)
    return np.concatenate(members), np.concatenate(labels), np.concatenate(radii)


def _offsets(rows: list[_Row]) -> list[tuple[_Row, int]]:
    return list(zip(rows, accumulate((len(p.rows) for p in rows), initial=0), strict=False))


def _per_group(E: np.ndarray, label: np.ndarray, count: int) -> np.ndarray:
    """The unit of each group, whose rows all have the same."""
    unit = np.ones(count)
    unit[label] = np.abs(E[: len(label)])
    return unit
