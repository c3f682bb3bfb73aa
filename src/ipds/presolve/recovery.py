"""How a block of the problem as stated is found from a point of the canonical one: q_i and s_i ∈ ∂h_i(q_i)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._abstract import Abstract
from .._arrays import Array, Shape, is_array, namespace, scaled_difference, zeros
from ..functions import Nonsmooth
from ..operators import Operator
from ..theory.state import prox_step

if TYPE_CHECKING:
    from .draft import Group, Variable

Point = tuple[Array | None, Any]
"""(v, step) with s = (v - q)/step ∈ ∂h(q); v may be None, as in `State.prox_points`."""


class Found(NamedTuple):
    """A block: where it is, and the point whose prox it is."""

    q: Array
    point: Point

    @property
    def s(self) -> Array:
        """(v - q)/step ∈ ∂h(q)."""
        v, step = self.point
        assert v is not None
        return scaled_difference(v, self.q, 1 / step)


class View(NamedTuple):
    """A point of the canonical problem, by variables and groups."""

    variables: dict[Variable, Found]
    groups: dict[Group, tuple[Found, Array]]
    """Of every group that is left: u_k, its prox point, and the multiplier z_k of its rows."""
    products: dict[tuple[Group, Variable], Array]
    """N_kj v_j, those that are known."""

    def solved(self, group: Group) -> Array:
        """c - Σ_j N_j v_j."""
        total = group.c
        if not group.terms and not is_array(total):
            total = total + zeros(group.shape, next(iter(self.variables.values())).q)
        for variable, N in group.terms.items():
            product = self.products.get((group, variable))
            if product is None:
                product = self.products[group, variable] = N.apply(self.variables[variable].q)
            total = total - product
        return total


class Recovery(metaclass=Abstract):
    """What has become of a block."""

    @abstractmethod
    def find(self, view: View, h: Nonsmooth) -> Found:
        """The block at `view`; `h` is its own."""


@dataclass(frozen=True, eq=False)
class FromVariable(Recovery):
    """It is a variable, or the part `place` of one; `free` where the variable's h has come from elsewhere."""

    variable: Variable
    place: slice | None = None
    shape: Shape = ()
    free: bool = False

    def find(self, view: View, h: Nonsmooth) -> Found:
        q, (v, step) = view.variables[self.variable]
        if self.free:
            return Found(self._cut(q), (self._cut(q), 1.0))
        return Found(self._cut(q), (None if v is None else self._cut(v), self._cut(step)))

    def _cut(self, x: Any) -> Any:
        if self.place is None or not getattr(x, "shape", ()):
            return x
        return namespace(x).reshape(x[self.place], self.shape)


@dataclass(frozen=True, eq=False)
class FromGroup(Recovery):
    """It is a group of rows; where these were dropped, h = 0 and it is what the equation leaves for it."""

    group: Group

    def find(self, view: View, h: Nonsmooth) -> Found:
        if self.group not in view.groups:
            q = view.solved(self.group)
            return Found(q, (q, 1.0))
        (q, (v, step)), z = view.groups[self.group]
        return Found(q, (q - step * z if v is None else v, step))


@dataclass(frozen=True, eq=False)
class FromHost(Recovery):
    """Its h has moved to a variable: x = c - a v with h_v(v) = h(c - a v), so s = -s_v/a."""

    variable: Variable
    a: float
    c: Any

    def find(self, view: View, h: Nonsmooth) -> Found:
        q, (v, step) = view.variables[self.variable]
        assert v is not None
        return Found(self.c - self.a * q, (self.c - self.a * v, self.a**2 * step))


@dataclass(frozen=True, eq=False)
class FromLevel(Recovery):
    """Its λ max|u_i|, of the part `place`, became rows (u - t, -u - t) ≤ 0: s = z⁻ - z⁺ there, made exact by a prox."""

    inner: Recovery
    group: Group
    own: Nonsmooth
    place: slice
    shape: Shape

    def find(self, view: View, h: Nonsmooth) -> Found:
        q, (v, step) = self.inner.find(view, h)
        assert v is not None
        rows, z = view.groups[self.group]
        (high, low), (above, below) = rows.q.reshape(2, -1), z.reshape(2, -1)
        near, s = q.reshape(-1)[self.place].reshape(self.shape), (below - above).reshape(self.shape)
        if not (high.any() or low.any()):  # u = t = 0, and what is left of a variable is rounding
            near = np.zeros(self.shape)
        # rounding in u is that of what adds up to it, c beside others, and δ in an entry of u makes δ/step of s: with
        # c/λ for the step that weighs, times c, as much as it changes λ max|u_i| by
        large, total = np.abs(self.group.c).max(initial=0.0), np.abs(s).sum()
        own_step = max(prox_step(near, s), float(large / total) if total > 0 else 0.0)
        own_v = near + own_step * s
        parts = (q, self.own.prox(own_v, own_step)), (v, own_v), (step, own_step)
        q, v, step = (self._with(whole, own, q.shape) for whole, own in parts)
        return Found(q, (v, step))

    def _with(self, whole: Any, own: Any, shape: Shape) -> Array:
        """An array of the block with its own part in its place."""
        flat = np.array(np.broadcast_to(whole, shape)).reshape(-1)
        flat[self.place] = np.ravel(own)
        return flat.reshape(shape)


@dataclass(frozen=True, eq=False)
class FromRows(Recovery):
    """Its set {x : C x - d ∈ K} became rows: s = -Cᵀz near `inner`'s place, made exact by a prox.

    Where a part of the set has stayed with `inner`, the s found there is added.
    """

    inner: Recovery
    group: Group
    C: Operator
    stays: bool = False

    def find(self, view: View, h: Nonsmooth) -> Found:
        inner, pull = self.inner.find(view, h), self.C.adjoint(view.groups[self.group][1])
        near, s = inner.q, inner.s - pull if self.stays else -pull
        step = prox_step(near, s)
        v = h.prox(near, step) + step * s
        return Found(h.prox(v, step), (v, step))


def layers(found: Recovery) -> Iterator[FromRows | FromLevel]:
    """The rewritings of a block's function as rows, the last one first."""
    while isinstance(found, FromRows | FromLevel):
        yield found
        found = found.inner


def innermost(found: Recovery) -> Recovery:
    """What a block is, whatever has become of its function."""
    while isinstance(found, FromRows | FromLevel):
        found = found.inner
    return found
