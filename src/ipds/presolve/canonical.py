"""Canonical form: the last block U has A = I and convex h, every other block one nonsmooth term at most.

    min Σ_j f_j(v_j) + h_j(v_j) + H(u)   subject to   u + Σ_j N_j v_j = c

A point (v, u, z') of it gives one of the problem as stated. Blocks that the equation is solved for (slacks) get the
multiplier that makes them stationary, z = -A_i⁻ᵀ(∇f_i(x_i) + s_i); on rows that no slack reaches z = z'. What is left
of the canonical residuals is found in the feasibility and in the stationarity of the other blocks, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, asarray, namespace, zeros
from ..functions import Smooth
from ..operators import Identity
from ..problem import Problem
from ..theory.state import State
from .draft import Group, read
from .equations import leave_out_repeated
from .recovery import (
    Found,
    FromGroup,
    FromLevel,
    FromRows,
    FromVariable,
    Recovery,
    View,
    innermost,
    layers,
)
from .rules import simplify
from .slack import Multiple

Start = tuple[tuple[Array, ...], Array]


class Canonical:
    """A problem in canonical form, with the way there and back. `notes` say what was done."""

    def __init__(self, stated: Problem):
        self.stated = stated
        self._draft = read(stated)
        simplify(self._draft)
        leave_out_repeated(self._draft)
        self.notes = self._draft.notes
        self.problem = stated if self.is_as_stated else self._draft.problem()

    @property
    def is_as_stated(self) -> bool:
        """Whether the problem as stated is in canonical form."""
        draft, last = self._draft, len(self.stated.blocks) - 1
        if self.notes or draft.rest is not None or [slack.block for slack in draft.slacks] != [last]:
            return False
        (slack,), f = draft.slacks, self.stated.blocks[-1].f
        return self._says_multiple and isinstance(slack, Multiple) and slack.c == 1.0 and f is None

    @property
    def _says_multiple(self) -> bool:
        """Whether the block that the equation is solved for has a number for A: a matrix c·I is not seen by methods."""
        slack = self._draft.slacks[0]
        return not isinstance(slack, Multiple) or isinstance(self.stated.operators[slack.block], Identity)

    @property
    def is_trivial(self) -> bool:
        """Whether the problem as stated says the same in the same form, or is best left to methods that see to it.

        Those that eliminate a block find it wherever it stands; problems that are not convex go to them.
        """
        if self.is_as_stated:
            return True
        if self.notes or self._draft.rest is not None or not self._draft.slacks:
            return False
        return self._draft.slacks[0].rows is None and not self._draft.convex and self._says_multiple

    @property
    def report(self) -> list[str]:
        """What was done, in words; which block stands alone, where nothing else was."""
        if self.notes or self.is_trivial:
            return list(self.notes)
        names = ", ".join(repr(self.stated.names[slack.block]) for slack in self._draft.slacks)
        return [
            f"the equation solved for {names}" if names else "the equation as rows of a block of their own"
        ]

    def start(self, x0: Sequence[Array], z0: Array | None) -> Start:
        """A starting point of the problem as stated in the canonical coordinates; z0 None is zero in both."""
        draft, like = self._draft, x0[0]
        places = {v: zeros(v.shape, like) for v in draft.variables}
        for x, found in zip(x0, draft.blocks, strict=True):
            inner = innermost(found)
            if isinstance(inner, FromVariable) and inner.variable in places:
                places[inner.variable] = _placed(places[inner.variable], inner, x)
        for level, (k, place) in draft.levels.items():
            places[level] = places[level] + np.abs(x0[k].reshape(-1)[place]).max(initial=0.0)
        view = View({v: Found(x, (x, 1.0)) for v, x in {**places, **draft.fixed}.items()}, {}, {})
        rows, multipliers = [], []
        for group in draft.groups:
            i = self._slack_block(group)
            rows.append(group.h.prox(_full(view.solved(group), group, like), 1.0) if i is None else x0[i])
            multipliers.append(zeros(group.shape, like) if z0 is None else self._multiplier(group, i, x0, z0))
        if not draft.groups:
            first = draft.variables[0]
            rows, multipliers = [places[first]], [zeros(first.shape, like)]
        u, z = (_joined(arrays) for arrays in (rows, multipliers))
        return (*places.values(), u), z

    def undo(self, state: State) -> State:
        """The state of the problem as stated."""
        draft, view = self._draft, self._view(state)
        found = [
            recovery.find(view, block.h)
            for recovery, block in zip(draft.blocks, self.stated.blocks, strict=True)
        ]
        q = tuple(one.q for one in found)
        gradients, values = self._slopes(state)
        return replace(
            state,
            x=q,
            x_breve=q[-1],
            z=self._multiplier_stated(found, view, state.z),
            last=-1,
            products=self._products(view),
            prox_points=tuple(one.point for one in found),
            gradients=gradients,
            adjoints=None,
            values=values,
        )

    def _slopes(self, state: State) -> tuple[tuple[Array | None, ...], tuple[float | None, ...]]:
        """∇f_i and f_i of the blocks that are variables with the f as stated, where the state has them."""
        count, variables = len(state.x), self._draft.variables
        known = zip(state.gradients or (None,) * count, state.values or (None,) * count, strict=True)
        by_variable = dict(zip(variables, known, strict=False))

        def slope(recovery: Recovery, f: Smooth | None) -> tuple[Array | None, float | None]:
            if not isinstance(recovery, FromVariable) or recovery.place is not None:
                return None, None
            smooth = recovery.variable.smooth
            is_same = len(smooth) == 1 and smooth[0] is f
            return by_variable.get(recovery.variable, (None, None)) if is_same else (None, None)

        pairs = zip(self._draft.blocks, self.stated.blocks, strict=True)
        found = [slope(recovery, block.f) for recovery, block in pairs]
        return tuple([gradient for gradient, _ in found]), tuple([value for _, value in found])

    def _view(self, state: State) -> View:
        """The state by variables and groups."""
        draft = self._draft
        *v, u = (Found(q, point) for q, point in zip(state.q, state.prox_points, strict=True))
        variables = dict(zip(draft.variables, v, strict=True))
        variables |= {fixed: Found(x, (x, 1.0)) for fixed, x in draft.fixed.items()}
        if len(draft.groups) == 1:
            known = zip(draft.variables, state.products, strict=False)
            products = {(draft.groups[0], v): p for v, p in known if p is not None}
            return View(variables, {draft.groups[0]: (u, state.z)}, products)
        groups, start = {}, 0
        for group in draft.groups:
            place = slice(start, start + math.prod(group.shape))
            p, step = u.point
            point = (None if p is None else _cut(p, place, group), _cut(step, place, group))
            groups[group] = Found(_cut(u.q, place, group), point), _cut(state.z, place, group)
            start = place.stop
        return View(variables, groups, {})

    def _products(self, view: View) -> tuple[Array | None, ...]:
        """A_i x_i of the blocks as stated, where one slack c·I fills the equation: c·N v then."""
        draft = self._draft
        if len(draft.slacks) != 1 or not isinstance(draft.slacks[0], Multiple):
            return (None,) * len(draft.blocks)
        slack, group = draft.slacks[0], draft.slack_groups[0]

        def product(found: Recovery) -> Array | None:
            if not isinstance(found, FromVariable) or found.place is not None:
                return None
            known = view.products.get((group, found.variable))
            return known if known is None or slack.c == 1.0 else slack.c * known

        return tuple(map(product, draft.blocks))

    def _multiplier_stated(self, found: list[Found], view: View, like: Array) -> Array:
        """z of the equation as stated."""
        draft, blocks = self._draft, self.stated.blocks
        parts: list[tuple[Any, Array]] = []  # rows of the equation, None for all, and z there
        for slack in draft.slacks:
            f, one = blocks[slack.block].f, found[slack.block]
            force = -one.s if f is None else -(f.grad(one.q) + one.s)
            parts.append((slack.rows, slack.multiplier(force)))
        if draft.rest is not None:
            group, rows = draft.rest
            parts.append((rows, view.groups[group][1]))
        if not parts:
            return zeros(self.stated.shape, like)
        if parts[0][0] is None:
            return parts[0][1]
        z = np.zeros(math.prod(self.stated.shape), dtype=like.dtype)
        for rows, own in parts:
            z[rows] = own
        return z.reshape(self.stated.shape)

    def _slack_block(self, group: Group) -> int | None:
        """The block that is this group."""
        blocks = self._draft.blocks
        found = enumerate(map(innermost, blocks))
        return next((i for i, r in found if isinstance(r, FromGroup) and r.group is group), None)

    def _multiplier(self, group: Group, i: int | None, x0: Sequence[Array], z0: Array) -> Array:
        """z' of a group at a given (x0, z0)."""
        draft, blocks, operators = self._draft, self.stated.blocks, self.stated.operators
        if draft.rest is not None and group is draft.rest[0]:
            rows = draft.rest[1]
            return z0 if rows is None else z0.reshape(-1)[rows]
        if i is not None:
            pull, f = operators[i].adjoint(z0), blocks[i].f
            return pull if f is None or group.f is not None else pull + f.grad(x0[i])
        k, recovery = next(
            (k, own) for k, found in enumerate(draft.blocks) for own in layers(found) if own.group is group
        )
        f, pull = blocks[k].f, operators[k].adjoint(z0)
        force = pull if f is None else pull + f.grad(x0[k])
        if isinstance(recovery, FromLevel):
            own = force.reshape(-1)[recovery.place]
            return np.concatenate([np.minimum(own, 0.0), -np.maximum(own, 0.0)])
        return _least_squares(recovery, force, group, x0[k])


def _least_squares(recovery: FromRows, force: Array, group: Group, x: Array) -> Array:
    """z' with Cᵀz' = force, as nearly as can be; at the bounds that have stayed of a simplex these have a say."""
    shape, C = force.shape, recovery.C
    free = (x > 0) & (x < x.max()) if recovery.stays else np.ones_like(x)
    free = free if np.any(free) else x > 0
    linear = scipy.sparse.linalg.LinearOperator(
        (force.size, math.prod(group.shape)),
        matvec=lambda z: (free * C.adjoint(z.reshape(group.shape))).reshape(-1),
        rmatvec=lambda x: C.apply(free * x.reshape(shape)).reshape(-1),
        dtype=float,
    )
    right = (free * force).reshape(-1)
    return scipy.sparse.linalg.lsmr(linear, right, atol=1e-12, btol=1e-12)[0].reshape(group.shape)


def _placed(whole: Array, place: FromVariable, x: Array) -> Array:
    """The variable with block x in its place."""
    if place.place is None:
        return x
    out = whole.copy()
    out[place.place] = x.reshape(-1)
    return out


def _cut(x: Any, place: slice, group: Group) -> Any:
    return namespace(x).reshape(x[place], group.shape) if getattr(x, "shape", ()) else x


def _full(x: Any, group: Group, like: Array) -> Array:
    """x as an array of the group's shape; where the group has no variables it may be a number."""
    return x if getattr(x, "shape", None) == group.shape else asarray(x, like) + zeros(group.shape, like)


def _joined(arrays: list[Array]) -> Array:
    if len(arrays) == 1:
        return arrays[0]
    xp = namespace(arrays[0])
    return xp.concat([xp.reshape(a, (-1,)) for a in arrays])
