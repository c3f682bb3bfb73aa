"""Indicators of sets of vectors (arrays of any shape): 0 inside, ∞ outside; the prox is the projection.

Membership is judged up to rounding: a relative slack of √eps of the dtype, so that projections are members.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial

import numpy as np

from .._arrays import (
    Array,
    Shape,
    absolute_sum,
    choose,
    dot,
    either,
    is_jax,
    magnitude,
    namespace,
    norm,
    scalar,
    to_numpy,
    truth,
)
from ..operators import Operator
from ._arguments import bound, number
from .base import Nonsmooth
from .faces import Manifold
from .far import largest_entry
from .jacobians import RankOnePerGroup, centring
from .kinks import Kinks
from .levels import simplex_level
from .rescaling import one_unit, over, units
from .scalar import fit, one_step


def slack(x: Array) -> float:
    """Relative rounding allowed when membership is judged: √eps of the dtype."""
    return math.sqrt(float(namespace(x).finfo(x.dtype).eps))


class Indicator(Nonsmooth):
    """h(x) = 0 for x in the set, ∞ elsewhere; a subclass gives `contains` and `project`."""

    is_set = True

    @abstractmethod
    def contains(self, x: Array) -> bool:
        """Whether x belongs to the set, up to rounding."""

    @abstractmethod
    def project(self, v: Array) -> Array:
        """A nearest point of the set."""

    def __call__(self, x: Array) -> float:
        return choose(self.contains(x), 0.0, math.inf)

    def prox(self, v: Array, step: float) -> Array:
        if not self.is_entrywise:
            one_step(self, step)
        return self.project(v)

    def subgradient(self, x: Array) -> Array:
        """0, which is normal to the set at each of its points."""
        return namespace(x).zeros_like(x)


class Box(Indicator):
    """{x : lo ≤ x ≤ hi}, bounds being numbers (infinite ones too) or arrays; prox(v, s) = clip(v, lo, hi).

    >>> Box(0, 1).prox(np.array([-1.0, 0.5, 2.0]), 1.0)
    array([0. , 0.5, 1. ])
    """

    is_convex = True
    is_entrywise = True

    def __init__(self, lo: float | Array = 0.0, hi: float | Array = 1.0) -> None:
        self.lo, self.hi = bound("Box", "lo", lo), bound("Box", "hi", hi)
        ordered = self.lo <= self.hi if type(self.lo) is type(self.hi) is float else None
        if not (np.all(to_numpy(self.lo) <= to_numpy(self.hi)) if ordered is None else ordered):
            low, high = np.broadcast_arrays(to_numpy(self.lo), to_numpy(self.hi))
            k = int(np.argmax(low > high))
            raise ValueError(f"Box: lo must be ≤ hi in every entry, got {low.flat[k]:g} and {high.flat[k]:g}")

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        room = slack(x) * scalar(xp.max(xp.abs(x)))
        return truth(xp.all((x >= fit(self.lo, x) - room) & (x <= fit(self.hi, x) + room)))

    def project(self, v: Array) -> Array:
        lo, hi = fit(self.lo, v), fit(self.hi, v)
        if type(v) is np.ndarray:  # a third of the time of its clip
            return np.asarray(np.minimum(np.maximum(v, lo), hi))
        return namespace(v).clip(v, lo, hi)

    def kinks(self, shape: Shape) -> Kinks:
        return Kinks(lower=self.lo, upper=self.hi)

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """1 inside, 0 at the bounds and beyond."""
        xp = namespace(v)
        return xp.asarray(xp.astype((v > fit(self.lo, v)) & (v < fit(self.hi, v)), v.dtype))

    def rescaled(self, d: float | Array) -> Box:
        """The bounds divided by d."""
        d = units(d)
        return Box(over(self.lo, d), over(self.hi, d))


class NonNegative(Indicator):
    """{x : x ≥ 0}; prox(v, s) = max(v, 0)."""

    is_convex = True
    is_entrywise = True
    unit_powers = ()

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        return truth(xp.all(x >= -slack(x) * scalar(xp.max(xp.abs(x)))))

    def project(self, v: Array) -> Array:
        if type(v) is np.ndarray:
            return np.asarray(np.maximum(v, 0.0))
        return namespace(v).clip(v, 0.0, None)

    def kinks(self, shape: Shape) -> Kinks:
        return Kinks(lower=0.0)

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """1 where v > 0, else 0."""
        xp = namespace(v)
        return xp.asarray(xp.astype(v > 0, v.dtype))


class OfRadius(Indicator):
    """A set that a number says, its radius: points of it differ by 2·radius at most in every entry."""

    is_point_at_zero = True
    """Whether a radius of 0 leaves one point, and is allowed."""
    unit_powers = (("radius", -1),)

    def __init__(self, radius: float = 1.0) -> None:
        name, zero = type(self).__name__, self.is_point_at_zero
        self.radius = number(name, "radius", radius, above=0.0, or_equal=zero)

    def width(self, shape: Shape) -> float:
        """2·radius."""
        return 2.0 * self.radius


class Simplex(OfRadius):
    """{x ≥ 0 : Σ x_i = radius}; prox(v, s) = (v - τ)₊ with τ such that the sum is right.

    Held, Wolfe & Crowder, Validation of subgradient optimization, Math. Program. 6 (1974).

    >>> Simplex().prox(np.array([1.0, 0.8, -1.0]), 1.0)
    array([0.6, 0.4, 0. ])
    """

    is_convex = True
    is_point_at_zero = False

    def width(self, shape: Shape) -> float:
        """radius."""
        return self.radius

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        room = slack(x) * self.radius
        return truth(xp.all(x >= -room) & (abs(xp.sum(x) - self.radius) <= room))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        # Shifting all entries by a constant does not move the projection, and saves digits of large ones.
        v = v - scalar(xp.max(v))
        level = simplex_level(xp.reshape(v, (-1,)), self.radius)
        return np.asarray(np.maximum(v - level, 0.0)) if xp is np else xp.clip(v - level, 0.0, None)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I - 11ᵀ/k on the k entries that are not 0."""
        return centring(namespace(v).astype(self.project(v) > 0, v.dtype))

    def support(self, y: Array) -> float:
        """radius · max y_i."""
        return self.radius * scalar(namespace(y).max(y))


class L1Ball(OfRadius):
    """{x : Σ |x_i| ≤ radius}; prox(v, s) = soft threshold by the τ that brings the sum down to the radius.

    Duchi, Shalev-Shwartz, Singer & Chandra, Efficient projections onto the l1-ball, ICML (2008).
    """

    is_convex = True

    def contains(self, x: Array) -> bool:
        return truth(absolute_sum(x) <= self.radius * (1.0 + slack(x)))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        if self.radius == 0.0:
            return xp.zeros_like(v)

        def shrunk(v: Array) -> Array:
            a = xp.abs(v)
            # as for the simplex: else entries ≫ radius leave few digits, and the sum is off
            a = a - scalar(xp.max(a))
            level = simplex_level(xp.reshape(a, (-1,)), self.radius)
            return xp.asarray(xp.copysign(xp.clip(a - level, 0.0, None), v))

        return either(truth(absolute_sum(v) <= self.radius), partial(xp.asarray, copy=True), shrunk, v)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I inside; outside I - ssᵀ/k on the k entries that are not 0, with their signs s."""
        xp, p = namespace(v), self.project(v)
        inside, signs = absolute_sum(v) <= self.radius, xp.sign(p)
        kept = xp.abs(signs)
        return RankOnePerGroup(
            choose(inside, xp.ones_like(v), kept),
            signs,
            choose(inside, 0.0, -1.0 / xp.clip(xp.sum(kept), 1.0, None)),
        )

    def support(self, y: Array) -> float:
        """radius · max |y_i|."""
        return self.radius * largest_entry(y)


class L2Ball(OfRadius):
    """{x : ‖x‖₂ ≤ radius}; prox(v, s) = v min(1, radius/‖v‖)."""

    is_convex = True

    def contains(self, x: Array) -> bool:
        return truth(magnitude(x) <= self.radius * (1.0 + slack(x)))

    def project(self, v: Array) -> Array:
        xp, size = namespace(v), magnitude(v)
        outside = size > self.radius
        return xp.asarray(v / choose(outside, size, 1.0) * choose(outside, self.radius, 1.0))

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I inside; outside (r/‖v‖)(I - v̂v̂ᵀ) with v̂ = v/‖v‖."""
        size = magnitude(v)
        outside = size > self.radius
        shrink = choose(outside, self.radius / choose(outside, size, 1.0), 1.0)
        return RankOnePerGroup(shrink, v / choose(outside, size, 1.0), choose(outside, -shrink, 0.0))

    def support(self, y: Array) -> float:
        """radius · ‖y‖."""
        return self.radius * norm(y)


class LinfBall(Box):
    """{x : max |x_i| ≤ radius}; prox(v, s) = clip(v, -radius, radius)."""

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = number("LinfBall", "radius", radius, above=0.0, or_equal=True)
        super().__init__(-self.radius, self.radius)

    def rescaled(self, d: float | Array) -> Box:
        """The radius divided by d; a box where d is not one number."""
        unit = one_unit(d)
        return super().rescaled(d) if unit is None else LinfBall(self.radius / unit)


class Sphere(OfRadius):
    """{x : ‖x‖₂ = radius}; prox(v, s) = radius v/‖v‖, and for v = 0 the point with equal entries."""

    is_manifold = True
    is_point_at_zero = False

    def contains(self, x: Array) -> bool:
        return truth(abs(magnitude(x) - self.radius) <= slack(x) * self.radius)

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        if is_jax(v):
            top = xp.max(xp.abs(v))
            v = xp.where(top > 0, v / xp.where(top > 0, top, 1.0), 1.0)
            return v * (self.radius / magnitude(v))
        size = norm(v)
        if size == 0.0:
            return xp.full_like(v, self.radius / math.sqrt(math.prod(v.shape)))
        if not 1e-30 < size < 1e30:  # keep float32 and subnormal numbers from losing digits
            v = v / float(xp.max(xp.abs(v)))
            size = norm(v)
        return xp.asarray(v * (self.radius / size))

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """(r/‖v‖)(I - v̂v̂ᵀ) with v̂ = v/‖v‖; 0 at v = 0."""
        size = magnitude(v)
        unit = v / choose(size > 0, size, 1.0)
        shrink = choose(size > 0, self.radius / choose(size > 0, size, 1.0), 0.0)
        return RankOnePerGroup(shrink, unit, -shrink, bound=shrink)

    def tangent(self, x: Array, g: Array) -> Array:
        """Projection on the tangent space at x: g - x ⟨x, g⟩/radius²."""
        return g - x * (dot(x, g) / self.radius**2)

    def mirror(self, x: Array, y: Array) -> Array:
        """x or -x."""
        return -x if float(dot(x, y)) < 0 else x

    def face(self, x: Array) -> Manifold:
        """The sphere itself."""
        return Manifold(self, x, 1)
