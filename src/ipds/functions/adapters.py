"""Users' own objects, brought to the interface of `Nonsmooth` and `Smooth`.

An object with the right methods need not subclass anything; here, once, what it lacks is filled in.
"""

from __future__ import annotations

import functools
import math
import types
from typing import Any

from .._arrays import Array, Shape, scalar
from .base import Domain, Nonsmooth, Smooth
from .hessians import as_map
from .rescaling import one_unit


def called(function: Any) -> str:
    """How messages call an object of the user's: by its own words, or by its class where these are an address."""
    text = repr(function)
    return f"{type(function).__name__}()" if " at 0x" in text else text


def _offered(name: str) -> Any:
    """The method of that name: the object's own where it has one, else what `Nonsmooth` says by default."""
    default = getattr(Nonsmooth, name)

    @functools.wraps(default)
    def method(self: UserNonsmooth, *arguments: Any) -> Any:
        own = getattr(self.function, name, None)
        return default(self, *arguments) if own is None else own(*arguments)

    return method


class UserNonsmooth(Nonsmooth):
    """An object with `__call__` and `prox`; convexity and Lipschitz constant as it states them, else assumed absent."""

    def __init__(self, function: Any):
        self.function = function
        self.is_convex = bool(getattr(function, "is_convex", False))
        self.is_set = bool(getattr(function, "is_set", False))
        self.is_entrywise = bool(getattr(function, "is_entrywise", False))
        self.is_manifold = bool(getattr(function, "is_manifold", False)) and hasattr(function, "tangent")

    def __call__(self, x: Array) -> float:
        return returned_number(type(self.function).__name__, self.function(x))

    def prox(self, v: Array, step: float) -> Array:
        return self.function.prox(v, step)

    def lipschitz(self, shape: Shape) -> float:
        stated = getattr(self.function, "lipschitz", None)
        return math.inf if stated is None else float(stated(shape) if callable(stated) else stated)

    def rescaled(self, d: float | Array) -> Nonsmooth | None:
        """The object's own, where it offers one; else h(d x) for one number, which any prox allows."""
        if hasattr(self.function, "rescaled"):
            found = self.function.rescaled(d)
            return None if found is None else as_nonsmooth(found, "rescaled")
        unit = one_unit(d)
        return None if unit is None else InUnits(self, unit)

    def __repr__(self) -> str:
        return called(self.function)

    prox_size = _offered("prox_size")
    prox_jacobian = _offered("prox_jacobian")
    kinks = _offered("kinks")
    groups = _offered("groups")
    support = _offered("support")
    recession = _offered("recession")
    receding = _offered("receding")
    width = _offered("width")
    subgradient = _offered("subgradient")
    tangent = _offered("tangent")


class InUnits(Nonsmooth):
    """x ↦ h(d·x) for one number d > 0; prox(v, s) = prox_h(d·v, d²s)/d."""

    def __init__(self, h: Nonsmooth, d: float):
        self.h, self.d = h, d
        self.is_convex, self.is_set, self.is_entrywise = h.is_convex, h.is_set, h.is_entrywise

    def __call__(self, x: Array) -> float:
        return self.h(self.d * x)

    def prox(self, v: Array, step: float) -> Array:
        return self.h.prox(self.d * v, self.d**2 * step) / self.d

    def prox_jacobian(self, v: Array, step: float) -> Any:
        return self.h.prox_jacobian(self.d * v, self.d**2 * step)

    def prox_size(self, v: Array) -> Any:
        return self.h.prox_size(self.d * v) / self.d

    def lipschitz(self, shape: Shape) -> float:
        return self.d * self.h.lipschitz(shape)

    def support(self, y: Array) -> float:
        return self.h.support(y) / self.d

    def recession(self, d: Array) -> float:
        return self.h.recession(self.d * d)

    def receding(self, d: Array) -> Array:
        return self.h.receding(d)

    def width(self, shape: Shape) -> float | Array:
        return self.h.width(shape) / self.d

    def subgradient(self, x: Array) -> Array:
        return self.d * self.h.subgradient(self.d * x)

    def rescaled(self, d: float | Array) -> Nonsmooth | None:
        unit = one_unit(d)
        return None if unit is None else InUnits(self.h, self.d * unit)


class UserSmooth(Smooth):
    """An object with `__call__` and `grad`; `lipschitz` as it states it, else None."""

    def __init__(self, function: Any):
        self.function = function
        stated = getattr(function, "lipschitz", None)
        self.lipschitz = None if stated is None else float(stated)
        convex = getattr(function, "is_convex", None)
        self.is_convex = None if convex is None else bool(convex)
        self.is_quadratic = bool(getattr(function, "is_quadratic", False))

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        return getattr(self.function, "domain", None)

    def __call__(self, x: Array) -> float:
        return returned_number(type(self.function).__name__, self.function(x))

    def grad(self, x: Array) -> Array:
        return self.function.grad(x)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        if hasattr(self.function, "value_and_grad"):
            value, gradient = self.function.value_and_grad(x)
            return scalar(value), gradient
        return super().value_and_grad(x)

    def grad_at_zero(self, x: Array) -> Array:
        own = getattr(self.function, "grad_at_zero", None)
        return super().grad_at_zero(x) if own is None else own(x)

    def curvature(self, x: Array, d: Array) -> Array:
        """The object's own, or from its `hessian`, or by differences of its gradient."""
        if hasattr(self.function, "curvature"):
            return self.function.curvature(x, d)
        if hasattr(self.function, "hessian"):
            return as_map(self.function.hessian(x), x.shape).apply(d)
        return super().curvature(x, d)

    def hessian(self, x: Array) -> Any:
        return self.function.hessian(x) if hasattr(self.function, "hessian") else super().hessian(x)

    def __repr__(self) -> str:
        return called(self.function)


def returned_number(name: str, value: Any) -> Any:
    """What a function of the caller's, called `name`, has returned, as a number; TypeError where it is none."""
    try:
        return scalar(value)
    except (AttributeError, TypeError, ValueError):
        shape = getattr(value, "shape", None)
        what = type(value).__name__ if shape is None else f"an array of shape {tuple(shape)}"
        raise TypeError(f"{name} must return a number, got {what}") from None


def as_nonsmooth(h: Any, label: str) -> Nonsmooth:
    """`h` as a `Nonsmooth`; None is the zero function."""
    if isinstance(h, Nonsmooth):
        return h
    if h is None:
        from .penalties import Zero

        return Zero()
    if isinstance(h, type):
        raise TypeError(f"{label}: h is the class {h.__name__}; pass an object, e.g. {h.__name__}(...)")
    if not callable(h) or not callable(getattr(h, "prox", None)):
        smooth = "; it has a gradient: pass it as f" if callable(getattr(h, "grad", None)) else ""
        if isinstance(h, types.FunctionType):
            smooth = "; a smooth function is smooth(fun)"
        raise TypeError(f"{label}: h must be callable and have prox(v, step), got {type(h).__name__}{smooth}")
    return UserNonsmooth(h)


def require_nonsmooth(h: Any, label: str) -> Nonsmooth:
    """`h` as a `Nonsmooth`, where there must be one."""
    if h is None:
        raise TypeError(f"{label}: h must be callable and have prox(v, step), got None")
    return as_nonsmooth(h, label)


def require_smooth(f: Any, label: str) -> Smooth:
    """`f` as a `Smooth`, where there must be one."""
    found = as_smooth(f, label)
    if found is None:
        raise TypeError(f"{label}: f must be callable and have grad(x), got None")
    return found


def as_smooth(f: Any, label: str) -> Smooth | None:
    """`f` as a `Smooth`, or None for the zero function."""
    if f is None or isinstance(f, Smooth):
        return f
    if isinstance(f, type):
        raise TypeError(f"{label}: f is the class {f.__name__}; pass an object, e.g. {f.__name__}(...)")
    if not callable(f):
        raise TypeError(f"{label}: f must be callable and have grad(x), got {type(f).__name__}")
    if not callable(getattr(f, "grad", None)):
        remedy = "it has a prox: pass it as h" if callable(getattr(f, "prox", None)) else ""
        remedy = remedy or "wrap it as ipds.functions.smooth(fun, grad)"
        raise TypeError(f"{label}: f has no gradient; {remedy}")
    return UserSmooth(f)
