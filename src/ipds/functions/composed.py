"""Smooth functions from others: of affine expressions, sums on one block, multiples."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

from .._arrays import Array, asarray, choose, is_array, namespace
from ._arguments import bound, linear_map, number
from .adapters import require_smooth
from .base import Domain, Smooth
from .hessians import add, between
from .rescaling import after_units, units


class Composed(Smooth):
    """f(A x + shift), A a linear map; ∇ = Aᵀ∇f(A x + shift), Lipschitz with L‖A‖².

    >>> import numpy as np
    >>> from ipds.functions import Quadratic
    >>> Composed(Quadratic(1.0), np.array([[1.0, 1.0]]), shift=-3.0).grad(np.array([1.0, 1.0]))
    array([-1., -1.])
    """

    def __init__(self, f: Smooth, A: Any, shift: float | Array = 0.0) -> None:
        self.f, self.A = require_smooth(f, "Composed"), linear_map("Composed", "A", A)
        self.shift = bound("Composed", "shift", shift)
        self.is_quadratic = self.f.is_quadratic

    def inner(self, x: Array) -> Array:
        """A x + shift."""
        product = self.A.apply(x)
        if is_array(self.shift):
            return product + asarray(self.shift, product)
        return product + self.shift if self.shift else product

    def __call__(self, x: Array) -> float:
        return self.f(self.inner(x))

    def grad(self, x: Array) -> Array:
        return self.A.adjoint(self.f.grad(self.inner(x)))

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, slope = self.f.value_and_grad(self.inner(x))
        return value, self.A.adjoint(slope)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.A.adjoint(self.f.curvature(self.inner(x), self.A.apply(d)))

    def hessian(self, x: Array) -> Any:
        return between(self.A, self.f.hessian(self.inner(x)), x.shape)

    @property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """True where f is; a nonconvex f may be convex on the range of A."""
        return True if self.f.is_convex else None

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """{x : A x + shift in the domain of f}; starts inside are looked for among x, all ones, and all minus ones."""
        own = self.f.domain
        if own is None:
            return None

        def contains(x: Array) -> bool:
            return own.contains(self.inner(x))

        def inside(x: Array) -> Array:
            ones = namespace(x).ones_like(x)
            return next((trial for trial in (x, ones, -ones) if contains(trial)), x)

        return Domain(contains, inside, f"of A x + shift, {own.text}")

    def recession(self, d: Array) -> float:
        return self.f.recession(self.A.apply(d))

    @cached_property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """L‖A‖², None where f has no global constant."""
        L = self.f.lipschitz
        return None if L is None else L * self.A.norm() ** 2 if L else 0.0

    def rescaled(self, d: float | Array) -> Composed | None:
        """f(A(d·x) + shift)."""
        A = after_units(self.A, units(d))
        return None if A is None else Composed(self.f, A, self.shift)


def of_fewer(f: Smooth, x: Array) -> tuple[Composed, Any] | None:
    """(f, A) with the matrix A, dense or sparse, where f is g(A x + shift) with fewer entries than x; else None."""
    if not isinstance(f, Composed) or math.prod(f.A.output_shape(x.shape)) >= math.prod(x.shape):
        return None
    A = f.A.as_matrix(x.shape)
    return None if A is None else (f, A)


class SmoothSum(Smooth):
    """f(x) = Σ_k f_k(x), ∇f = Σ ∇f_k, Lipschitz with Σ L_k."""

    def __init__(self, terms: Sequence[Smooth]) -> None:
        if not terms:
            raise ValueError("SmoothSum: terms must not be empty")
        self.terms = [require_smooth(f, f"SmoothSum: term {k}") for k, f in enumerate(terms)]
        self.is_quadratic = all(f.is_quadratic for f in self.terms)

    def __call__(self, x: Array) -> float:
        return sum(f(x) for f in self.terms)

    def grad(self, x: Array) -> Array:
        return reduce(operator.add, (f.grad(x) for f in self.terms))

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        values, slopes = zip(*(f.value_and_grad(x) for f in self.terms), strict=True)
        return reduce(operator.add, values), reduce(operator.add, slopes)

    def grad_at_zero(self, x: Array) -> Array:
        return reduce(operator.add, (f.grad_at_zero(x) for f in self.terms))

    def curvature(self, x: Array, d: Array) -> Array:
        return reduce(operator.add, (f.curvature(x, d) for f in self.terms))

    def hessian(self, x: Array) -> Any:
        return add([f.hessian(x) for f in self.terms], x.shape)

    @property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """True where all terms are; that of the only one that is not linear; else one may make up for another."""
        curved = [f for f in self.terms if getattr(type(f), "lipschitz", None) != 0.0]
        if len(curved) == 1:
            return curved[0].is_convex
        return True if all(f.is_convex for f in curved) else None

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """Where all of the f_k are finite."""
        own = [f.domain for f in self.terms if f.domain is not None]
        if not own:
            return None

        def contains(x: Array) -> bool:
            return all(domain.contains(x) for domain in own)

        def inside(x: Array) -> Array:
            for domain in own:
                x = domain.inside(x)
            return x

        return Domain(contains, inside, "; ".join(domain.text for domain in own))

    def recession(self, d: Array) -> float:
        return sum(f.recession(d) for f in self.terms)

    @cached_property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """Σ L_k, None where one of the f_k has no global constant."""
        constants = [f.lipschitz for f in self.terms]
        return None if None in constants else float(sum(constants))  # type: ignore[arg-type]

    def rescaled(self, d: float | Array) -> SmoothSum | None:
        """Of every term; None where one offers none."""
        terms = [f.rescaled(d) for f in self.terms]
        return None if any(f is None for f in terms) else SmoothSum(terms)  # type: ignore[arg-type]


class Weighted(Smooth):
    """weight·f(x) + constant, the weight of either sign; Lipschitz with |weight|·L.

    >>> import numpy as np
    >>> from ipds.functions import Quadratic
    >>> Weighted(Quadratic(1.0), -2.0, constant=1.0).value_and_grad(np.array([3.0]))
    (-8.0, array([-6.]))
    """

    def __init__(self, f: Smooth, weight: float = 1.0, constant: float = 0.0) -> None:
        self.f = require_smooth(f, "Weighted")
        self.is_quadratic = self.f.is_quadratic
        self.weight = number("Weighted", "weight", weight)
        self.constant = number("Weighted", "constant", constant)

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """That of f: outside of it the value is ∞, whatever the sign of the weight."""
        return self.f.domain

    def _value(self, value: float) -> float:
        found = self.weight * value + self.constant
        return found if self.f.domain is None else choose(value == math.inf, math.inf, found)

    def __call__(self, x: Array) -> float:
        return self._value(self.f(x))

    def grad(self, x: Array) -> Array:
        return self.weight * self.f.grad(x)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, slope = self.f.value_and_grad(x)
        return self._value(value), self.weight * slope

    def grad_at_zero(self, x: Array) -> Array:
        return self.weight * self.f.grad_at_zero(x)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.weight * self.f.curvature(x, d)

    def recession(self, d: Array) -> float:
        """That of f times the weight, where that is ≥ 0; else that is not known."""
        return self.weight * self.f.recession(d) if self.weight > 0 else super().recession(d)

    def hessian(self, x: Array) -> Any:
        return self.weight * self.f.hessian(x)

    @property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """Whether f is, where the weight is ≥ 0; of a quadratic that is turned over, that it is not; else not known."""
        if self.weight >= 0:
            return True if self.weight == 0 else self.f.is_convex
        return False if self.f.is_convex and self.f.is_quadratic and self.f.lipschitz else None

    @cached_property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """|weight|·L, None where f has no global constant."""
        L = self.f.lipschitz
        return None if L is None else abs(self.weight) * L

    @cached_property
    def single(self) -> Weighted | None:
        """The same of f in single precision."""
        inner = self.f.single
        return None if inner is None else Weighted(inner, self.weight, self.constant)

    def rescaled(self, d: float | Array) -> Weighted | None:
        """The same of what f becomes."""
        inner = self.f.rescaled(d)
        return None if inner is None else Weighted(inner, self.weight, self.constant)


def constant_in(f: Smooth | None) -> float:
    """The constant that was added to what f says otherwise.

    >>> from ipds.functions import Quadratic
    >>> constant_in(Weighted(SmoothSum([Quadratic(1.0), Weighted(Quadratic(1.0), constant=2.0)]), 3.0, constant=1.0))
    7.0
    """
    if isinstance(f, SmoothSum):
        return sum(map(constant_in, f.terms))
    return f.weight * constant_in(f.f) + f.constant if isinstance(f, Weighted) else 0.0


def total(terms: Sequence[Smooth]) -> Smooth | None:
    """Σ f_k: None for no terms, the term itself for one."""
    return None if not terms else terms[0] if len(terms) == 1 else SmoothSum(terms)
