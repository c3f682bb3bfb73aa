"""Units: v_j = D_j v'_j and u' = E u, so that rows and columns of the equation, and curvatures of f, are of one size.

    u' + Σ_j (E N_j D_j) v'_j = E c,   f'_j(v') = f_j(D_j v'),   h'_j(v') = h_j(D_j v'),   H'(u') = H(u'/E)

D and E are powers of two: multiplying by them rounds nothing. They are arrays where `h.rescaled` takes arrays, one
number per row or one for all where it takes only that, those of rows times those of columns for determinants and
semidefinite matrices, and 1 where the function has units of its own.

    v = D v',  u = u'/E,  z = E z',  s_v = s'_v/D:  the prox point (p', τ) of v' is (D p', D²τ) for v

Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034 (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array, Shape, scaled_matrix
from ..functions import Composed, Nonsmooth, Smooth, Stacked
from ..operators import (
    Compose,
    Diagonal,
    FlatStack,
    Identity,
    Matrix,
    Operator,
    Sampling,
    Scaled,
    Segment,
    ZeroMap,
)
from ..problem import Block, Problem
from ..theory.state import State
from .slack import multiple
from .table import SPREAD, Piece, Table, rescaled


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
        own = [(_own(part.h, 1 / unit), part.shape) for part, unit in parts]
        h = Stacked(own) if isinstance(last.h, Stacked) else own[0][0]
        u = Block(f=_smooth(last.f, 1 / e), h=h, shape=last.shape, name=last.name)
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
            gradients=None,  # those of f in other units: a certificate takes f as stated
            values=None,
            adjoints=each(state.adjoints, inverse),
        )


def equilibrated(problem: Problem) -> Equilibrated | None:
    """A canonical problem of NumPy arrays in better units; None where those it has are good enough."""
    if _is_one_to_one(problem):
        return None
    *blocks, _ = problem.blocks
    if all(b.h.is_manifold and rescaled(b.h, 2.0) is None for b in blocks):
        return None
    columns = [Piece(b.h, b.shape) for b in blocks]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        table = Table(problem, columns)
        if table.is_even or (not table.is_free and all(p.units is None for p in columns)):
            return None
        d, e = table.equilibrate()
        # squares of huge entries overflow: then as they are
        if not SPREAD < table.changes(d, e) < math.inf:
            return None
    dtype = precision_of(problem)
    d = [p.rounded(D, dtype) for p, D in zip(columns, d, strict=True)]
    e = [p.rounded(E, dtype) for p, E in zip(table.rows, e, strict=True)]
    own = list(zip(table.rows, e, strict=True))
    whole = np.concatenate([np.broadcast_to(E, p.shape).reshape(-1) for p, E in own]).reshape(problem.shape)
    return Equilibrated(problem, d, whole, own)


def _is_one_to_one(problem: Problem) -> bool:
    """Whether U is one part and picks entries of one variable without a smooth f: there are no sizes to compare."""
    *blocks, last = problem.blocks
    alone = len(blocks) == 1 and blocks[0].f is None and not isinstance(last.h, Stacked)
    A = problem.operators[0]
    return alone and isinstance(
        A.inner if isinstance(A, Scaled) else A, Identity | Diagonal | Sampling | Segment
    )


def precision_of(problem: Problem) -> Any:
    """float32 where the data are, so that units do not promote them."""
    held = [problem.b, *(A.matrix for A in problem.operators if isinstance(A, Matrix))]
    dtypes = [x.dtype for x in held if hasattr(x, "dtype")]
    return np.result_type(*dtypes, np.float32 if dtypes else float)


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
        return Matrix(scaled_matrix(left, A.matrix, right))
    inner = A if np.all(d == 1.0) else Compose(A, Diagonal(d + 0.0))
    return inner if np.all(e == 1.0) else Compose(Diagonal(e + 0.0), inner)


def _first_axis(x: Array) -> Array | None:
    """Numbers that vary along the first axis only, by row; None where they vary along others."""
    rows = x.reshape(x.shape[0], -1)
    return rows[:, 0] if rows.shape[1] == 1 or np.all(rows == rows[:, :1]) else None
