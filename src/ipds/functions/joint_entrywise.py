"""Joint proxes of sums over entries: in intervals, with squares, with few nonzero entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, namespace, to_numpy
from .base import Nonsmooth
from .entrywise import Entrywise
from .faces import Support
from .joint import pair
from .logarithmic import NegativeLog, Poisson
from .scalar import ScalarPenalty, fit, keep, one_step, own_step
from .sets import Box, NonNegative
from .sparse_sets import Binary, Cardinality, RowCardinality
from .squares import SumSquares
from .thresholding import L0


def bounds(c: Box | NonNegative) -> tuple[Any, Any]:
    """Lower and upper bounds of the entries."""
    return (c.lo, c.hi) if isinstance(c, Box) else (0.0, math.inf)


@pair((Box, NonNegative), (Box, NonNegative))
def _interval(a: Any, b: Any) -> Nonsmooth:
    (low, high), (lower, upper) = bounds(a), bounds(b)
    lo, hi = (np.maximum(low, lower), np.minimum(high, upper))
    return Box(*(float(x) if np.ndim(x) == 0 else x for x in (lo, hi)))


class Clipped(Nonsmooth):
    """h(x) for lo ≤ x ≤ hi, h a convex sum over entries; prox = the one of h, clipped."""

    is_convex = True
    is_entrywise = True

    def __init__(self, h: Entrywise, box: Box | NonNegative) -> None:
        self.h, self.box = h, box

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.h.domain

    def terms(self, x: Array) -> Array:
        xp, (lo, hi) = namespace(x), bounds(self.box)
        return xp.where((x >= fit(lo, x)) & (x <= fit(hi, x)), self.h.terms(x), math.inf)

    def __call__(self, x: Array) -> float:
        return self.h(x) + self.box(x)

    def prox(self, v: Array, step: float | Array) -> Array:
        return self.box.project(self.h.prox(v, step))

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        return self.h.prox_jacobian(v, step) * self.box.prox_jacobian(self.h.prox(v, step), step)


@pair(Entrywise, (Box, NonNegative))
def _clipped(h: Any, box: Any) -> Nonsmooth | None:
    _, hi = bounds(box)
    if h.domain is not None and not np.all(to_numpy(hi) > 0):
        raise ValueError(f"Sum: {h!r} is finite for positive entries only, and {box!r} admits none of them")
    return Clipped(h, box)


class Damped(Nonsmooth):
    """h(x) + Σ λ_i (x_i - t_i)², λ a number unless h is a sum over entries.

    prox(v, s) = prox_h((v + 2sλt)/(1 + 2sλ), s/(1 + 2sλ)), for any h.
    Combettes & Pesquet, Proximal splitting methods in signal processing (2011), table 1.
    """

    def __init__(self, h: Nonsmooth, squares: SumSquares) -> None:
        self.h, self.squares = h, squares
        self.is_convex, self.is_entrywise = h.is_convex, h.is_entrywise

    def __call__(self, x: Array) -> float:
        return self.h(x) + self.squares(x)

    def _inner(self, v: Array, step: Any) -> tuple[Array, Any, Any]:
        """Where and with which step the prox of h is asked, and by how much both shrink."""
        step = own_step(step, v) if self.is_entrywise else one_step(self, step)
        shrink = 1.0 / (1.0 + 2.0 * fit(self.squares.lam, v) * step)
        return self.squares.prox(v, step), shrink * step, shrink

    def prox(self, v: Array, step: float | Array) -> Array:
        at, inner, _ = self._inner(v, step)
        return self.h.prox(at, inner)

    def prox_jacobian(self, v: Array, step: float | Array) -> Any:
        at, inner, shrink = self._inner(v, step)
        J = self.h.prox_jacobian(at, inner)
        return None if J is None else shrink * J


@pair(SumSquares, Nonsmooth)
def _damped(squares: Any, h: Any) -> Nonsmooth | None:
    return Damped(h, squares) if type(squares.lam) is float or h.is_entrywise else None


class InIntervals(Nonsmooth):
    """A function whose nonzero entries stay in the intervals of `box`: what its faces ask of it."""

    box: Any

    def inside(self, free: np.ndarray) -> Nonsmooth:
        """The intervals of these entries."""
        if isinstance(self.box, NonNegative):
            return self.box
        lo, hi = (b if np.ndim(b) == 0 else np.ravel(b)[free] for b in bounds(self.box))
        return Box(lo, hi)

    def pull(self, g: np.ndarray, free: np.ndarray) -> np.ndarray:
        """|g| where the interval lets an entry leave 0 against g, else 0."""
        lo, hi = (np.broadcast_to(b, g.shape) for b in bounds(self.box))
        return np.where(np.where(g < 0, hi > 0, lo < 0), np.abs(g), 0.0)


class FewOf(InIntervals):
    """h(x) = Σ φ_i(x_i) for x with few nonzero entries, 0 in the domain of every φ_i; `few` says how many and where.

    A support S costs a constant minus Σ_S gain_i, gain_i = φ(0) - φ(u_i) + u_i (v_i - u_i/2)/s, u_i the prox of φ_i:
    prox(v, s) = u on the largest gains, 0 elsewhere.
    """

    def __init__(self, few: Cardinality | RowCardinality, inner: Any, penalty: Any = None) -> None:
        self.few, self.inner = few, inner
        # φ where it is finite
        self._penalty = None if inner.is_set else inner if penalty is None else penalty
        self.is_set = inner.is_set
        self.is_cone = isinstance(inner, NonNegative)
        self.has_faces = isinstance(inner, Box | NonNegative)

    @property
    def box(self) -> Any:
        return self.inner

    def __call__(self, x: Array) -> float:
        return self.few(x) + self.inner(x)

    def prox(self, v: Array, step: float) -> Array:
        xp, step = namespace(v), one_step(self, step)
        u = self.inner.prox(v, step)
        gain = u * (v - 0.5 * u) / step
        if self._penalty is not None:
            gain = gain + self._penalty.terms(xp.zeros_like(v)) - self._penalty.terms(u)
        return xp.asarray(keep(xp, self.few.mask(xp.clip(gain, 0.0, None)), u))

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """That of the prox of φ on the support, 0 elsewhere."""
        xp = namespace(v)
        return self.inner.prox_jacobian(v, step) * xp.astype(self.prox(v, step) != 0, v.dtype)

    def face(self, x: Array) -> Support | None:
        """The nonzeros, once there are as many as may be; they stay in their interval."""
        face = self.few.face(x) if self.has_faces else None
        return None if face is None else Support(x, face.label, face.exchange, self)


class CountedIn(InIntervals):
    """h(x) = Σ λ_i [x_i ≠ 0] for lo ≤ x ≤ hi, 0 between them.

    prox(v, s) = u, which is v clipped, where u (v - u/2) > s λ, else 0.
    """

    is_entrywise = True
    has_faces = True

    def __init__(self, count: L0, box: Box | NonNegative) -> None:
        self.count, self.box = count, box

    def __call__(self, x: Array) -> float:
        return self.count(x) + self.box(x)

    def prox(self, v: Array, step: float | Array) -> Array:
        xp, u = namespace(v), self.box.project(v)
        worth = u * (v - 0.5 * u) > own_step(step, v) * fit(self.count.lam, v)
        return xp.asarray(keep(xp, worth, u))

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """1 for entries that are free, 0 at 0 and at the ends."""
        xp = namespace(v)
        kept = xp.astype(self.prox(v, step) != 0, v.dtype)
        return kept * self.box.prox_jacobian(v, step)

    def face(self, x: Array) -> Support:
        """The nonzeros, each at its price; they stay in their interval."""
        own = self.count.face(x)
        return Support(x, own.label, own.exchange, self, own.cost)


@pair(L0, (Box, NonNegative))
def _counted(count: Any, box: Any) -> Nonsmooth | None:
    return CountedIn(count, box) if holds_zero(box) else None


@pair((Cardinality, RowCardinality), CountedIn)
def _few_counted(few: Any, inner: Any) -> Nonsmooth:
    return FewOf(few, inner, inner.count)


@pair((Cardinality, RowCardinality), (Box, NonNegative, Binary, Entrywise, ScalarPenalty, Clipped))
def _few(few: Any, inner: Any) -> Nonsmooth | None:
    h, c = (inner.h, inner.box) if isinstance(inner, Clipped) else (inner, inner)
    if isinstance(h, NegativeLog | Poisson):  # infinite at 0
        return None
    if isinstance(c, Box | NonNegative | Binary) and not holds_zero(c):
        return None
    return FewOf(few, inner)


def holds_zero(c: Box | NonNegative | Binary) -> bool:
    """Whether entries may be 0."""
    if isinstance(c, Binary):
        return 0.0 in (c.lo, c.hi)
    lo, hi = bounds(c)
    return bool(np.all(to_numpy(lo) <= 0) and np.all(to_numpy(hi) >= 0))
