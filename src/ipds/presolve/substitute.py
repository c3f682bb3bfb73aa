"""Known entries substituted: what is left of a canonical problem once they, and the rows that told them, are gone.

    u_R + Σ_j N_j[R, K] v_j[K] = c_R - Σ_j N_j[R, F] v_j[F],   f_j and h_j as functions of v_j[K]   (`restrict`)

for the entries F that are known and the others K, the rows R that are left (`known`). On the way back rows that were
left out get z = -s with s ∈ ∂h_U(u), those that told entries the z that makes these stationary, a triangular system; an
entry that its h has told gets the s that makes it stationary, which is normal to the point whatever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from ..functions import Nonsmooth, Stacked, Zero
from ..operators import FlatStack, Identity, Operator, ZeroMap
from ..problem import Block, Problem
from ..theory.state import State, prox_step
from .equilibrate import precision_of
from .known import Contradiction, Known, may_be_known
from .restrict import restricted, restricted_map, restricted_smooth

Point = tuple[Array | None, Any]


class Substituted:
    """A canonical problem without its known entries, with the way there and back. `note` says which these are."""

    def __init__(self, stated: Problem, known: Known):
        self.stated, self._known, self._dtype = stated, known, precision_of(stated)
        self._rows = np.flatnonzero(~np.concatenate([part.dropped for part in known.parts]))
        self._left = [j for j, v in enumerate(known.columns) if not v.held.all()]
        self.problem = self._problem()

    @property
    def note(self) -> str:
        """What was done, in words."""
        counts = {
            b.name: int(v.held.sum()) for b, v in zip(self.stated.blocks, self._known.columns, strict=False)
        }
        told = [f"{n} of {name!r}" for name, n in counts.items() if n]
        many = sum(counts.values()) > 1
        gone = sum(int(np.sum(p.dropped & p.points.held)) for p in self._known.parts if p.points is not None)
        rows = f", with {gone} equation{'s' if gone > 1 else ''}" if gone else ""
        return f"fixed entr{'ies' if many else 'y'} substituted ({', '.join(told)}){rows}"

    def _problem(self) -> Problem:
        known, (*blocks, last) = self._known, self.stated.blocks
        keep = {j: np.flatnonzero(~known.columns[j].held) for j in self._left}
        cut = {j: k if known.columns[j].held.any() else None for j, k in keep.items()}
        rows = [np.flatnonzero(~part.dropped) for part in known.parts]
        chosen = [own if part.dropped.any() else None for own, part in zip(rows, known.parts, strict=True)]
        there = [k for k, own in enumerate(rows) if own.size]

        def variable(j: int) -> Block:
            b, v, own = blocks[j], known.columns[j], cut[j]
            maps = [
                restricted_map(p.maps[j], b.shape, p.shape, own, chosen[k]) for k, p in enumerate(known.parts)
            ]
            shape = b.shape if own is None else (own.size,)
            A = self._column([maps[k] for k in there], shape, first=j == self._left[0])
            if own is None:
                return Block(f=b.f, h=b.h, A=A, shape=shape, name=b.name)
            f = (
                None
                if b.f is None
                else restricted_smooth(b.f, v.at.reshape(b.shape).astype(self._dtype), own)
            )
            return Block(f=f, h=_own(b.h, b.shape, own), A=A, shape=shape, name=b.name)

        variables = [variable(j) for j in self._left]
        if not there:
            u = Block(h=Zero(), shape=variables[0].shape, name=last.name)
            return Problem([*variables, u], 0.0)
        parts = [
            (p.h, p.shape) if (r := chosen[k]) is None else (_own(p.h, p.shape, r), (r.size,))
            for k in there
            for p in [known.parts[k]]
        ]
        whole = not any(part.dropped.any() for part in known.parts)
        shape = last.shape if whole else (self._rows.size,)
        h = Stacked(parts) if len(known.parts) > 1 else parts[0][0]
        return Problem([*variables, Block(h=h, shape=shape, name=last.name)], self._right().reshape(shape))

    def _column(self, maps: list[Operator], shape: Any, first: bool) -> Operator:
        """The part of a variable in the rows that are left; where none is, U is free and follows the first one."""
        if not maps:
            return Identity(-1.0) if first else ZeroMap(shape, self._first_shape)
        return maps[0] if len(self._known.parts) == 1 else FlatStack(maps, shape)

    @property
    def _first_shape(self) -> Any:
        first = self._known.columns[self._left[0]]
        return (int((~first.held).sum()),) if first.held.any() else first.shape

    def _right(self) -> np.ndarray:
        """c - Σ N v of what is known, on the rows that are left."""
        right = np.broadcast_to(self.stated.b, self.stated.shape).reshape(-1)
        for v, A in zip(self._known.columns, self.stated.operators, strict=False):
            if v.held.any():
                right = right - A.apply(v.at.reshape(v.shape)).reshape(-1)
        return right[self._rows].astype(self._dtype)

    def start(self, x0: Sequence[Array], z0: Array | None) -> tuple[tuple[Array, ...], Array]:
        """The entries that are left of a starting point."""
        assert z0 is not None
        *v, u = (x.reshape(-1) for x in x0)
        blocks = self.problem.blocks
        kept = [v[j][~self._known.columns[j].held] for j in self._left]
        x = [own.reshape(b.shape) for own, b in zip(kept, blocks, strict=False)]
        if not self._rows.size:
            return (*x, x[0]), np.zeros_like(x[0])
        shape = blocks[-1].shape
        return (*x, u[self._rows].reshape(shape)), z0.reshape(-1)[self._rows].reshape(shape)

    def undo(self, state: State) -> State:
        """The state with the known entries in their places."""
        known, parts = self._known, self._known.parts
        *q, q_last = state.q
        u, z = np.concatenate([part.u for part in parts]), -np.concatenate([part.s for part in parts])
        u, z = u.astype(q_last.dtype), z.astype(q_last.dtype)
        if self._rows.size:
            u[self._rows], z[self._rows] = q_last.reshape(-1), state.z.reshape(-1)
        own = dict(zip(self._left, q, strict=True))
        x = [_put(v, own.get(j), u.dtype) for j, v in enumerate(known.columns)]
        forces = self._forces(x, z)
        points_by = dict(zip(self._left, state.prox_points, strict=False))
        points = [
            self._point(j, x[j], forces[j], points_by.get(j)) if v.held.any() else points_by[j]
            for j, v in enumerate(known.columns)
        ]
        points.append(self._last_point(u, z, state.prox_points[-1]))
        shape = self.stated.shape
        return replace(
            state,
            x=(*x, u.reshape(shape)),
            x_breve=u.reshape(shape),
            z=z.reshape(shape),
            last=-1,
            products=(None,) * (len(x) + 1),
            prox_points=tuple(points),
            gradients=None,
            adjoints=None,
            values=None,
        )

    def _forces(self, x: list[Array], z: np.ndarray) -> dict[int, np.ndarray]:
        """∇f + Nᵀz of the variables with known entries; on the way z gets its values in the rows that told them."""
        blocks, operators, shape = self.stated.blocks, self.stated.operators, self.stated.shape
        columns = self._known.columns
        slopes = {
            j: np.zeros(v.at.size, z.dtype) if (f := blocks[j].f) is None else f.grad(x[j]).reshape(-1)
            for j, v in enumerate(columns)
            if v.held.any()
        }

        def forces() -> dict[int, np.ndarray]:
            return {j: g + operators[j].adjoint(z.reshape(shape)).reshape(-1) for j, g in slopes.items()}

        found = forces()
        if self._known.telling is None:
            return found
        rest = np.concatenate([(found[j] + v.s)[v.by_row] for j, v in enumerate(columns) if j in found])
        z[np.concatenate([part.tells for part in self._known.parts])] = -self._known.telling.solve(rest, "T")
        return forces()

    def _point(self, j: int, x: Array, force: np.ndarray, point: Point | None) -> Point:
        """The prox point of a variable with known entries."""
        v = self._known.columns[j]
        s = np.where(v.by_row, v.s, -force)[v.held].astype(x.dtype)
        t = prox_step(x.reshape(-1)[v.held], s)
        if point is None:
            return x + t * s.reshape(x.shape), t
        p, step = point
        steps, places = np.full(v.at.size, t, x.dtype), x.reshape(-1).copy()
        places[v.held] += t * s
        steps[~v.held] = np.ravel(step)
        if p is None:  # then s = -Nᵀz
            f = self.stated.blocks[j].f
            pull = force if f is None else force - f.grad(x).reshape(-1)
            places[~v.held] -= (steps * pull)[~v.held]
        else:
            places[~v.held] = np.ravel(p)
        return places.reshape(x.shape), steps.reshape(x.shape)

    def _last_point(self, u: np.ndarray, z: np.ndarray, point: Point) -> Point:
        """The prox point of U: s = -z in the rows that were left out."""
        p, step = point
        shape = self.stated.shape
        if self._rows.size == u.size:
            return (
                point if p is None else (p.reshape(shape), step if not np.ndim(step) else step.reshape(shape))
            )
        out = np.ones(u.size, dtype=bool)
        out[self._rows] = False
        t = prox_step(u[out], z[out])
        places, steps = u - t * z, np.full(u.size, t, u.dtype)
        if self._rows.size:
            steps[self._rows] = np.ravel(step)
            places[self._rows] = (u - steps * z)[self._rows] if p is None else np.ravel(p)
        return places.reshape(shape), steps.reshape(shape)


def substituted(problem: Problem) -> Substituted | None:
    """A canonical problem of NumPy arrays without its known entries; None where there are none, or nothing else.

    None also where two of them contradict each other: methods find that the problem has no solution.
    """
    if problem.blocks[-1].f is not None or not may_be_known(problem):
        return None
    try:
        known = Known(problem)
    except Contradiction:
        return None
    held = [v.held for v in known.columns]
    if not any(own.any() for own in held) or all(own.all() for own in held):
        return None
    return Substituted(problem, known)


def _own(h: Nonsmooth, shape: Any, keep: np.ndarray) -> Nonsmooth:
    found = restricted(h, shape, keep)
    assert found is not None
    return found


def _put(v: Any, q: Array | None, dtype: Any) -> Array:
    """A variable with its known entries in their places, q being the others."""
    if not v.held.any():
        assert q is not None
        return q
    x = v.at.astype(dtype)
    if q is not None:
        x[~v.held] = q.reshape(-1)
    return x.reshape(v.shape)
