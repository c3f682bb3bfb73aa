"""New functions from old ones, where the prox stays exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, Shape, asarray, dot, is_array, magnitude, namespace, scalar, to_numpy
from ..operators import Identity, Matrix, Operator
from ._arguments import bound, number
from .adapters import require_nonsmooth
from .base import Nonsmooth, Smooth
from .far import vanishes
from .jacobians import jacobian_map
from .kinks import Groups, Kinks
from .rescaling import one_unit, units


class _Around(Nonsmooth):
    """What a wrapped function inherits from the one inside."""

    h: Nonsmooth

    def _wrap(self, h: Any) -> None:
        self.h = require_nonsmooth(h, type(self).__name__)
        self.is_convex, self.is_set, self.is_manifold = self.h.is_convex, self.h.is_set, self.h.is_manifold
        self.is_entrywise, self.is_discrete = self.h.is_entrywise, self.h.is_discrete


class Scaled(_Around):
    """c h(x), c > 0; prox(v, s) = prox_h(v, c s).

    >>> from ipds.functions import L1
    >>> Scaled(L1(1.0), 2.0).prox(np.array([3.0]), 1.0)
    array([1.])
    """

    def __init__(self, h: Nonsmooth, c: float) -> None:
        self._wrap(h)
        self.c = number("Scaled", "c", c, above=0.0)

    def __call__(self, x: Array) -> float:
        return self.c * self.h(x)

    def prox(self, v: Array, step: float) -> Array:
        return self.h.prox(v, self.c * step)

    def prox_jacobian(self, v: Array, step: float) -> Any:
        return self.h.prox_jacobian(v, self.c * step)

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        value, d = self.h.soften(u, self.c * s)
        return self.c * value, self.c * d

    def prox_size(self, v: Array) -> Any:
        return self.h.prox_size(v)

    def lipschitz(self, shape: Shape) -> float:
        return self.c * self.h.lipschitz(shape)

    def kinks(self, shape: Shape) -> Kinks | None:
        own = self.h.kinks(shape)
        return None if own is None else own.times(self.c)

    def groups(self, shape: Shape) -> Groups | None:
        own = self.h.groups(shape)
        return None if own is None else own._replace(radius=self.c * own.radius)

    def support(self, y: Array) -> float:
        return self.h.support(y)

    def recession(self, d: Array) -> float:
        return self.c * self.h.recession(d)

    def receding(self, d: Array) -> Array:
        return self.h.receding(d)

    def width(self, shape: Shape) -> float | Array:
        return self.h.width(shape)

    def subgradient(self, x: Array) -> Array:
        return self.c * self.h.subgradient(x)

    def tangent(self, x: Array, g: Array) -> Array:
        return self.h.tangent(x, g)

    def mirror(self, x: Array, y: Array) -> Array:
        return self.h.mirror(x, y)

    def rescaled(self, d: float | Array) -> Scaled | None:
        """c times what h becomes."""
        inner = self.h.rescaled(d)
        return None if inner is None else Scaled(inner, self.c)


class Precomposed(_Around):
    """h(a x + shift), `a` a number ≠ 0, or a matrix on the first axis with a aᵀ = c I, as orthogonal ones.

    prox(v, s) = v + aᵀ(w - y)/c with y = a v + shift and w = prox_h(y, c s); for a number, aᵀ = a and c = a².
    Valid for any h: what lies outside the range of aᵀ does not enter h and stays.
    Combettes & Pesquet, Proximal splitting methods in signal processing (2011), table 1.
    """

    def __init__(self, h: Nonsmooth, a: float | Array = 1.0, shift: float | Array = 0.0) -> None:
        self._wrap(h)
        self.shift = bound("Precomposed", "shift", shift)
        if not np.all(np.isfinite(to_numpy(self.shift))):
            raise ValueError("Precomposed: shift must be finite")
        if np.ndim(a) == 0:
            self.a: float | Array = number("Precomposed", "a", float(a) if is_array(a) else a)
            if self.a == 0.0:
                raise ValueError("Precomposed: a must not be 0")
            self._c = self.a**2
            return
        plain = to_numpy(a)
        if plain.ndim != 2 or not np.all(np.isfinite(plain)):
            raise ValueError(f"Precomposed: a must be a number or a finite matrix, got shape {plain.shape}")
        self.a, gram = np.array(plain) if isinstance(a, np.ndarray) else a, plain @ plain.T
        self._c = float(np.trace(gram)) / plain.shape[0]
        if self._c == 0.0 or np.abs(gram / self._c - np.eye(len(gram))).max() > 1e-8:
            raise ValueError(
                "Precomposed: the rows of a must be orthogonal and of one length (a aᵀ = c I), else the "
                "prox is not exact; use a further block with the operator a instead"
            )
        # Tangent spaces of {x : a x ∈ M} need a square a; the general case is not offered.
        self.is_manifold = self.is_entrywise = False

    def _linear(self, x: Array) -> Array:
        return self.a * x if type(self.a) is float else asarray(self.a, x) @ x

    def _forward(self, x: Array) -> Array:
        shift = self.shift if type(self.shift) is float else asarray(self.shift, x)
        return self._linear(x) + shift

    def _adjoint(self, y: Array) -> Array:
        return self.a * y if type(self.a) is float else asarray(self.a, y).T @ y

    def __call__(self, x: Array) -> float:
        return self.h(self._forward(x))

    def prox(self, v: Array, step: float) -> Array:
        y = namespace(v).asarray(self._forward(v))
        w = self.h.prox(y, self._c * step)
        if type(self.a) is float:  # without the detour through v: keeps w's exact zeros and bounds
            shift = self.shift if type(self.shift) is float else asarray(self.shift, v)
            return namespace(v).asarray((w - shift) / self.a)
        return v + self._adjoint(w - y) / self._c

    def prox_jacobian(self, v: Array, step: float) -> Any:
        """That of h at y for a number; for a matrix I + aᵀ(J - I)a/c."""
        J = self.h.prox_jacobian(namespace(v).asarray(self._forward(v)), self._c * step)
        if J is None or type(self.a) is float:
            return J
        change, a = jacobian_map(J) - Identity(), Matrix(asarray(self.a, v))
        return Identity() + (1.0 / self._c) * (a.T @ change @ a)

    def prox_size(self, v: Array) -> Any:
        """Where ‖shift‖ ≫ ‖a v‖, y keeps few digits of v."""
        y = namespace(v).asarray(self._forward(v))
        if type(self.shift) is float:
            shift = abs(self.shift) * math.sqrt(math.prod(y.shape))
        else:
            shift = magnitude(asarray(self.shift, v) + 0.0 * y)  # of the size of y, where it is broadcast
        return magnitude(v) + (self.h.prox_size(y) + shift) / math.sqrt(self._c)

    def lipschitz(self, shape: Shape) -> float:
        inner = shape if type(self.a) is float else (to_numpy(self.a).shape[0], *shape[1:])
        return math.sqrt(self._c) * self.h.lipschitz(inner)

    def kinks(self, shape: Shape) -> Kinks | None:
        """Those of h, where `a` is a number."""
        own = self.h.kinks(shape) if type(self.a) is float else None
        return None if own is None else own.of(self.a, self.shift)

    def support(self, y: Array) -> float:
        """The support of h at u less ⟨u, shift⟩, where y = aᵀu; ∞ where no u gives y."""
        if type(self.a) is float:
            u = y / self.a
        else:
            u = asarray(self.a, y) @ y / self._c
            if not vanishes(y - self._adjoint(u), 1.0, y):
                return math.inf
        shift = self.shift if type(self.shift) is float else asarray(self.shift, y)
        return self.h.support(u) - scalar(namespace(y).sum(u * shift))

    def recession(self, d: Array) -> float:
        inner = self._linear(d)
        return self.h.recession(0.0 * inner if vanishes(inner, math.sqrt(self._c), d) else inner)

    def receding(self, d: Array) -> Array:
        """What lies outside the range of aᵀ does not enter h."""
        if type(self.a) is float:
            return self.h.receding(self.a * d) / self.a
        inner = self._linear(d)
        return d + self._adjoint(self.h.receding(inner) - inner) / self._c

    def width(self, shape: Shape) -> float | Array:
        return self.h.width(shape) / abs(self.a) if type(self.a) is float else math.inf

    def subgradient(self, x: Array) -> Array:
        return self._adjoint(self.h.subgradient(self._forward(x)))

    def tangent(self, x: Array, g: Array) -> Array:
        if type(self.a) is not float:
            raise NotImplementedError("Precomposed by a matrix offers no tangent")
        return self.h.tangent(self._forward(x), g)

    def rescaled(self, d: float | Array) -> Precomposed | None:
        """h(a d x + shift); for an array g(a x + shift/d) with g(x) = h(d x), None where h offers no such g."""
        found = units(d)
        if isinstance(found, float):
            return Precomposed(self.h, self.a * found, self.shift)
        inner = self.h.rescaled(found) if type(self.a) is float else None
        return None if inner is None else Precomposed(inner, self.a, self.shift / found)


class Translated(Precomposed):
    """h(x - t); prox(v, s) = t + prox_h(v - t, s).

    >>> from ipds.functions import L1
    >>> Translated(L1(1.0), 5.0).prox(np.array([5.5, 8.0]), 1.0)
    array([5., 7.])
    """

    def __init__(self, h: Nonsmooth, t: float | Array) -> None:
        self.t = bound("Translated", "t", t)
        super().__init__(h, 1.0, -self.t)

    def rescaled(self, d: float | Array) -> Precomposed | None:
        """g(x - t/d) with g(x) = h(d x); where h offers no such g, h(d x - t) for a number."""
        found = units(d)
        inner = self.h.rescaled(found)
        return super().rescaled(found) if inner is None else Translated(inner, self.t / found)


class MoreauEnvelope(Smooth):
    """f(x) = min_u h(u) + ‖u - x‖²/(2μ) for convex h; ∇f(x) = (x - prox_h(x, μ))/μ, 1/μ-Lipschitz.

    Its own prox(v, s) = v + s/(μ + s) (prox_h(v, μ + s) - v).
    Moreau, Proximité et dualité dans un espace hilbertien, Bull. Soc. Math. France 93 (1965).

    >>> from ipds.functions import L1
    >>> MoreauEnvelope(L1(1.0), 0.5).grad(np.array([0.25, 3.0]))
    array([0.5, 1. ])
    """

    is_convex = True

    def __init__(self, h: Nonsmooth, mu: float) -> None:
        self.h = require_nonsmooth(h, "MoreauEnvelope")
        if not self.h.is_convex:
            raise ValueError(f"MoreauEnvelope: h must be convex for a smooth envelope, {h!r} is not")
        self.mu = number("MoreauEnvelope", "mu", mu, above=0.0)
        self.lipschitz = 1.0 / self.mu

    def __call__(self, x: Array) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        return (x - self.h.prox(x, self.mu)) / self.mu

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        u = self.h.prox(x, self.mu)
        d = (x - u) / self.mu
        return self.h(u) + 0.5 * self.mu * dot(d, d), d

    def hessian(self, x: Array) -> Any:
        """(I - J)/μ, J an element of the generalised Jacobian of prox_h(·, μ) at x."""
        J = self.h.prox_jacobian(x, self.mu)
        if isinstance(J, Operator):
            return (1.0 / self.mu) * (Identity() - J)
        return super().hessian(x) if J is None else namespace(x).reshape((1.0 - J) / self.mu, (-1,))

    def curvature(self, x: Array, d: Array) -> Array:
        J = self.h.prox_jacobian(x, self.mu)
        if J is None:
            return super().curvature(x, d)
        return (d - (J.apply(d) if isinstance(J, Operator) else J * d)) / self.mu

    def prox(self, v: Array, step: float) -> Array:
        """argmin_u f(u) + ‖u - v‖²/(2 step)."""
        total = self.mu + step
        return (self.mu / total) * v + (step / total) * self.h.prox(v, total)

    def prox_jacobian(self, v: Array, step: float) -> Any:
        """(μI + s J)/(μ + s), J that of h at v with the step μ + s."""
        total = self.mu + step
        J = self.h.prox_jacobian(v, total)
        if isinstance(J, Operator):
            return Identity(self.mu / total) + (step / total) * J
        return None if J is None else (self.mu + step * J) / total

    def rescaled(self, d: float | Array) -> MoreauEnvelope | None:
        """The envelope of x ↦ h(d x) with μ/d², for a number."""
        unit = one_unit(d)
        inner = None if unit is None else self.h.rescaled(unit)
        return None if unit is None or inner is None else MoreauEnvelope(inner, self.mu / unit**2)
