"""Units: v_j = D_j v'_j and u' = E u, so that rows and columns of the equation, and curvatures of f, are of one size.

    u' + Σ_j (E N_j D_j) v'_j = E c,   f'_j(v') = f_j(D_j v'),   h'_j(v') = h_j(D_j v'),   H'(u') = H(u'/E)

D and E are powers of two: multiplying by them rounds nothing. They are arrays where `h.rescaled` takes arrays, one
number per row or one for all where it takes only that, and 1 where the function has units of its own.

    v = D v',  u = u'/E,  z = E z',  s_v = s'_v/D:  the prox point (p', τ) of v' is (D p', D²τ) for v

Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034 (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import Array, Shape
from ..functions import Composed, Nonsmooth, Smooth, Stacked, Zero
from ..operators import (
    Compose,
    Diagonal,
    FlatStack,
    Identity,
    Matrix,
    Operator,
    Sampling,
    Segment,
    ZeroMap,
)
from ..problem import Block, Problem
from ..theory.state import State
from .slack import is_nothing, multiple
from .squares import curvature, squared

PASSES = 10
SPREAD = 16.0
"""Units are left alone where the largest is no more than this many times the smallest, of columns and of rows."""


class Piece(NamedTuple):
    """A variable, or a part of U, with a function that allows units of a certain shape."""

    h: Nonsmooth
    shape: Shape
    units: Shape | None
    """The shape of D: the piece's own, one number per row, () for one number, None for 1."""

    def shared(self, size: Array) -> Array:
        """Positive numbers for every entry as such units: their geometric mean over what shares one."""
        if self.units is None:
            return np.ones(())
        logs = np.log(size)
        axes = tuple(
            k for k in range(len(self.shape)) if not self.units or self.units[k] == 1 != self.shape[k]
        )
        return np.exp(logs.mean(axis=axes, keepdims=bool(self.units))) if axes else size


def piece(h: Nonsmooth, shape: Shape) -> Piece:
    """h with the finest units that it allows."""
    by_row = shape[:1] + (1,) * (len(shape) - 1)
    for units in (shape, by_row, ()):
        trial = 1.0 + np.arange(math.prod(units)).reshape(units) / max(1, math.prod(units))
        if rescaled(h, trial if units else 2.0) is not None:
            return Piece(h, shape, units)
    return Piece(h, shape, None)


def rescaled(h: Nonsmooth, d: Any) -> Nonsmooth | None:
    """u ↦ h(d·u), None where h allows no such units."""
    make = getattr(h, "rescaled", None)
    return None if make is None else make(d)


class Equilibrated:
    """A canonical problem in other units, with the way there and back. `note` says what they are."""

    def __init__(self, stated: Problem, d: Sequence[Array], e: Array, parts: Sequence[tuple[Piece, Array]]):
        self.stated, self._e = stated, e
        self._units = [*d, 1 / e]
        values = np.concatenate([np.ravel(D) for D in (*d, e)])
        self.note = (
            f"columns and rows were brought to one size (units from {values.min():.3g} to {values.max():.3g})"
        )
        *blocks, last = stated.blocks
        new = [
            Block(f=_smooth(b.f, D), h=_own(b.h, D), A=_scaled(A, b.shape, e, D), shape=b.shape, name=b.name)
            for b, A, D in zip(blocks, stated.operators, d, strict=False)
        ]
        h = [_own(part.h, 1 / own) for part, own in parts]
        joint = Stacked([(hk, p.shape) for hk, (p, _) in zip(h, parts, strict=True)])
        u = Block(
            f=_smooth(last.f, 1 / e),
            h=joint if isinstance(last.h, Stacked) else h[0],
            shape=last.shape,
            name=last.name,
        )
        self.problem = Problem([*new, u], e * stated.b)

    def start(self, x0: Sequence[Array], z0: Array | None) -> tuple[tuple[Array, ...], Array]:
        """A starting point in these units."""
        assert z0 is not None
        return tuple(x / unit for x, unit in zip(x0, self._units, strict=True)), z0 / self._e

    def undo(self, state: State) -> State:
        """The state in the units of the problem as stated."""
        units, n = self._units, len(state.x)
        points = zip(state.prox_points, units, strict=True)

        def each(arrays: Any, factors: Sequence[Any]) -> Any:
            if arrays is None:
                return None
            return tuple(None if a is None else a * k for a, k in zip(arrays, factors, strict=True))

        inverse = [1 / unit for unit in units]
        return replace(
            state,
            x=each(state.x, units),
            x_breve=state.x_breve * units[state.last % n],
            z=state.z * self._e,
            products=each(state.products, [1 / self._e] * n),
            prox_points=tuple((None if p is None else p * k, step * k**2) for (p, step), k in points),
            gradients=each(state.gradients, inverse),
            adjoints=each(state.adjoints, inverse),
        )


def equilibrated(problem: Problem) -> Equilibrated | None:
    """A canonical problem of NumPy arrays in better units; None where those it has are good enough."""
    *blocks, last = problem.blocks
    columns = [piece(b.h, b.shape) for b in blocks]
    parts = last.h.parts if isinstance(last.h, Stacked) else [(last.h, last.shape)]
    rows = [piece(h, shape) for h, shape in parts]
    if all(p.units is None for p in columns):
        return None
    d, e = _ruiz(problem, columns, rows)
    if max(_spread(d), _spread(e)) <= SPREAD:
        return None
    dtype = _precision(problem)
    d, e = [_power_of_two(D, dtype) for D in d], [_power_of_two(E, dtype) for E in e]
    own = list(zip(rows, e, strict=True))
    whole = np.concatenate([np.broadcast_to(E, p.shape).reshape(-1) for p, E in own]).reshape(last.shape)
    return Equilibrated(problem, d, whole, own)


def _ruiz(problem: Problem, columns: list[Piece], rows: list[Piece]) -> tuple[list[Array], list[Array]]:
    """D of every variable and E of every part of U: rows of norm one, columns of one norm.

    Parts of U that are free, or pick single entries of a variable, follow the units of these and do not count.
    """
    maps = [squared(A, p.shape) for A, p in zip(problem.operators, columns, strict=False)]
    bends = [curvature(b.f, b.shape) for b in problem.blocks[:-1]]
    shape = problem.blocks[-1].shape
    ends = np.cumsum([math.prod(p.shape) for p in rows])[:-1]
    counts = [float(not _follows(problem, k, part)) for k, part in enumerate(rows)]
    d, e = [np.ones(p.shape) for p in columns], [np.ones(p.shape) for p in rows]

    def reaches() -> list[Array]:
        reach: Any = sum(S.apply(np.square(D)) for S, D in zip(maps, d, strict=True))
        return [
            np.sqrt(r).reshape(p.shape)
            for r, p in zip(np.split(np.reshape(reach, -1), ends), rows, strict=True)
        ]

    for _ in range(PASSES):
        for k, (part, reach) in enumerate(zip(rows, reaches(), strict=True)):
            e[k] = e[k] / np.sqrt(part.shared(_positive(e[k] * reach)))
        weights = [np.square(E).reshape(-1) * count for E, count in zip(e, counts, strict=True)]
        whole = np.concatenate(weights).reshape(shape)
        linear = [np.square(D) * S.adjoint(whole) for S, D in zip(maps, d, strict=True)]
        bent = [np.square(D) * H for H, D in zip(bends, d, strict=True)]
        sizes = _balanced(linear, bent)
        level = _level(sizes)
        for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
            d[j] = d[j] / np.sqrt(column.shared(_positive(np.sqrt(size / level))))
    d = [p.shared(D) + np.zeros(p.shape) for p, D in zip(columns, d, strict=True)]
    for k, (part, reach) in enumerate(zip(rows, reaches(), strict=True)):
        e[k] = part.shared(e[k] if counts[k] else 1 / _positive(reach))
    return [p.shared(D) for p, D in zip(columns, d, strict=True)], e


def _follows(problem: Problem, k: int, part: Piece) -> bool:
    """Whether part k of U is free, or picks entries of one variable."""
    if isinstance(part.h, Zero):
        return True
    own = [A.parts[k] if isinstance(A, FlatStack) else A for A in problem.operators[:-1]]
    present = [A for A in own if not is_nothing(A)]
    return len(present) == 1 and isinstance(present[0], Identity | Diagonal | Sampling | Segment)


def _positive(size: Array) -> Array:
    return np.where(size > 0, size, 1.0)


def _balanced(linear: list[Array], bent: list[Array]) -> list[Array]:
    """Squares of columns of the equation plus curvatures, these in the unit in which both are alike on the whole."""
    ratio = [np.log(H[(H > 0) & (N > 0)] / N[(H > 0) & (N > 0)]) for N, H in zip(linear, bent, strict=True)]
    logs = np.concatenate([np.reshape(r, -1) for r in ratio])
    unit = math.exp(-float(logs.mean())) if logs.size else 1.0
    return [N + unit * H for N, H in zip(linear, bent, strict=True)]


def _level(sizes: list[Array]) -> float:
    """The geometric mean of what is positive."""
    logs = np.concatenate([np.log(s[s > 0]) for s in sizes])
    return math.exp(float(logs.mean())) if logs.size else 1.0


def _spread(units: list[Array]) -> float:
    lowest, highest = min(float(np.min(u)) for u in units), max(float(np.max(u)) for u in units)
    return highest / lowest


def _precision(problem: Problem) -> Any:
    """float32 where the data are, so that units do not promote them."""
    held = [problem.b, *(A.matrix for A in problem.operators if isinstance(A, Matrix))]
    return np.result_type(
        *(x.dtype for x in held if hasattr(x, "dtype")), np.float32 if _any_array(held) else float
    )


def _any_array(held: list[Any]) -> bool:
    return any(hasattr(x, "dtype") for x in held)


def _power_of_two(units: Array, dtype: Any) -> Array:
    return np.exp2(np.round(np.log2(units))).astype(dtype)


def _own(h: Nonsmooth, d: Array) -> Nonsmooth:
    """u ↦ h(d·u) for units that h allows."""
    if np.all(d == 1.0):
        return h
    found = rescaled(h, float(d) if not d.ndim else d)
    assert found is not None
    return found


def _smooth(f: Smooth | None, d: Array) -> Smooth | None:
    """x ↦ f(d·x)."""
    if f is None or np.all(d == 1.0):
        return f
    made = getattr(f, "rescaled", None)
    found = None if made is None else made(float(d) if not d.ndim else d)
    return found if found is not None else Composed(f, Diagonal(d) if d.ndim else Identity(float(d)))


def _scaled(A: Operator, shape: Shape, e: Array, d: Array) -> Operator:
    """E A D as simple as it can be said; e of the shape of U, d that broadcasts to the block's `shape`."""
    output = tuple(A.output_shape(shape))
    e = np.broadcast_to(e, output)
    a = multiple(A)
    if a is not None:
        diagonal = a * e * d
        return Identity(float(diagonal.flat[0])) if np.ptp(diagonal) == 0 else Diagonal(diagonal)
    if isinstance(A, ZeroMap):
        return A
    if isinstance(A, FlatStack):
        pieces = zip(A.parts, A.slices, A.outputs, strict=True)
        return FlatStack([_scaled(part, shape, e[cut].reshape(out), d) for part, cut, out in pieces], shape)
    d = np.broadcast_to(d, shape)
    left, right = _first_axis(e), _first_axis(d)
    if isinstance(A, Matrix) and A.natural_shape() is not None and left is not None and right is not None:
        matrix = A.matrix
        if scipy.sparse.issparse(matrix):
            return Matrix(scipy.sparse.diags_array(left) @ matrix @ scipy.sparse.diags_array(right))
        return Matrix(left[:, None] * matrix * right)
    inner = A if np.all(d == 1.0) else Compose(A, Diagonal(d + 0.0))
    return inner if np.all(e == 1.0) else Compose(Diagonal(e + 0.0), inner)


def _first_axis(x: Array) -> Array | None:
    """Numbers that vary along the first axis only, by row; None where they vary along others."""
    rows = x.reshape(x.shape[0], -1)
    return rows[:, 0] if rows.shape[1] == 1 or np.all(rows == rows[:, :1]) else None
