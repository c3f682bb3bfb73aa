"""What a linear map must offer, and the algebra of maps: `A @ B`, `A + B`, `2 * A`, `-A`, `A.T`, `Stack`."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape, namespace
from ..distributed import Rows
from . import spectrum


class Operator(ABC):
    """A linear map A between arrays of fixed shapes.

    `adjoint` satisfies ⟨A x, y⟩ = ⟨x, Aᵀ y⟩; verify your own with `check_adjoint`.
    """

    gram: float | None = None
    """γ where AᵀA = γ·I is known (scaled identities, isometries), so that ‖A x - y‖² is closed-form in x."""

    rows: Rows | None = None
    """The distributed matrix behind the map, where there is one: the map takes a short array to a distributed one."""

    __array_ufunc__ = None  # NumPy scalars and arrays leave `2 * A` to us

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """Shape of A x for x of `shape`; ValueError when A cannot act on that shape."""

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """A x."""

    @abstractmethod
    def adjoint(self, y: Array) -> Array:
        """Aᵀ y."""

    @abstractmethod
    def norm(self) -> float:
        """The spectral norm ‖A‖, or an upper bound close to it."""

    @property
    def is_zero(self) -> bool:
        """Whether A = 0."""
        return self.norm() == 0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        """(λ_, λ̄): smallest and largest eigenvalue of A Aᵀ for inputs of `shape`."""
        return spectrum.gram_extremes(self, shape)

    def input_shape(self, shape: Shape) -> Shape:
        """Shape of Aᵀ y for y of `shape`; needed by `.T` only, found by applying Aᵀ once."""
        return tuple(self.adjoint(np.zeros(shape)).shape)

    def natural_shape(self) -> Shape | None:
        """A NumPy input shape on which ‖A‖ is attained, None where A acts on blocks of any size."""
        return None

    @property
    def T(self) -> Operator:
        """The transpose Aᵀ as an operator."""
        return Transpose(self)

    def __matmul__(self, other: Operator) -> Operator:
        return Compose(self, other) if isinstance(other, Operator) else NotImplemented

    def __add__(self, other: Operator) -> Operator:
        return Sum([self, other]) if isinstance(other, Operator) else NotImplemented

    def __sub__(self, other: Operator) -> Operator:
        return Sum([self, -other]) if isinstance(other, Operator) else NotImplemented

    def __mul__(self, scale: float) -> Operator:
        return Scaled(self, float(scale)) if isinstance(scale, numbers.Real) else NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> Operator:
        return Scaled(self, -1.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Transpose(Operator):
    """y ↦ Aᵀ y."""

    def __init__(self, inner: Operator):
        self.inner = _operator("Transpose", inner)

    def output_shape(self, shape: Shape) -> Shape:
        found = self.inner.input_shape(shape)
        if tuple(self.inner.output_shape(found)) != tuple(shape):
            raise ValueError(f"{self!r} acts on shape {self.inner.output_shape(found)}, not {tuple(shape)}")
        return found

    def input_shape(self, shape: Shape) -> Shape:
        return self.inner.output_shape(shape)

    def natural_shape(self) -> Shape | None:
        shape = self.inner.natural_shape()
        return None if shape is None else self.inner.output_shape(shape)

    def apply(self, x: Array) -> Array:
        return self.inner.adjoint(x)

    def adjoint(self, y: Array) -> Array:
        return self.inner.apply(y)

    def norm(self) -> float:
        return self.inner.norm()

    @property
    def T(self) -> Operator:
        """The map that was transposed."""
        return self.inner

    def __repr__(self) -> str:
        return f"{self.inner!r}.T"


class Scaled(Operator):
    """x ↦ scale · A x."""

    def __init__(self, inner: Operator, scale: float):
        if not math.isfinite(scale):
            raise ValueError(f"Scaled: scale must be finite, got {scale}")
        self.inner = _operator("Scaled", inner)
        self.scale = float(scale)
        self.gram = None if inner.gram is None else self.scale**2 * inner.gram
        self.rows = inner.rows

    def output_shape(self, shape: Shape) -> Shape:
        return self.inner.output_shape(shape)

    def input_shape(self, shape: Shape) -> Shape:
        return self.inner.input_shape(shape)

    def natural_shape(self) -> Shape | None:
        return self.inner.natural_shape()

    def apply(self, x: Array) -> Array:
        return self.scale * self.inner.apply(x)

    def adjoint(self, y: Array) -> Array:
        return self.scale * self.inner.adjoint(y)

    def norm(self) -> float:
        return abs(self.scale) * self.inner.norm()

    @property
    def is_zero(self) -> bool:
        """Whether A = 0."""
        return self.norm() == 0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        lower, upper = self.inner.extremes(shape)
        return self.scale**2 * lower, self.scale**2 * upper

    def __repr__(self) -> str:
        return f"{self.scale:g}·{self.inner!r}"


class Compose(Operator):
    """x ↦ A (B x), written `A @ B`."""

    def __init__(self, left: Operator, right: Operator):
        self.left, self.right = _operator("Compose", left), _operator("Compose", right)
        self.rows = right.rows if left.rows is None else left.rows
        self.gram = None if left.gram is None or right.gram is None else left.gram * right.gram
        inner, outer = right.natural_shape(), left.natural_shape()
        if inner is not None and outer is not None:
            self.output_shape(inner)  # says now, not at the first product, that the shapes do not meet

    def output_shape(self, shape: Shape) -> Shape:
        return self.left.output_shape(self.right.output_shape(shape))

    def input_shape(self, shape: Shape) -> Shape:
        return self.right.input_shape(self.left.input_shape(shape))

    def natural_shape(self) -> Shape | None:
        return self.right.natural_shape()

    def apply(self, x: Array) -> Array:
        return self.left.apply(self.right.apply(x))

    def adjoint(self, y: Array) -> Array:
        return self.right.adjoint(self.left.adjoint(y))

    @cached_property
    def _norm(self) -> float:
        return _tightened(self, self.left.norm() * self.right.norm())

    def norm(self) -> float:
        return self._norm

    def __repr__(self) -> str:
        return f"({self.left!r} @ {self.right!r})"


class Sum(Operator):
    """x ↦ A₁ x + A₂ x + …, written `A1 + A2`."""

    def __init__(self, terms: Sequence[Operator]):
        if not terms:
            raise ValueError("Sum: needs at least one operator")
        self.terms = [_operator("Sum", term) for term in terms]
        self.rows = next((term.rows for term in self.terms if term.rows is not None), None)

    def output_shape(self, shape: Shape) -> Shape:
        shapes = [tuple(term.output_shape(shape)) for term in self.terms]
        if len(set(shapes)) > 1:
            raise ValueError(f"Sum: the terms map shape {tuple(shape)} to different shapes: {shapes}")
        return shapes[0]

    def input_shape(self, shape: Shape) -> Shape:
        return self.terms[0].input_shape(shape)

    def natural_shape(self) -> Shape | None:
        return _common_shape(self.terms)

    def apply(self, x: Array) -> Array:
        total = self.terms[0].apply(x)
        for term in self.terms[1:]:
            total = total + term.apply(x)
        return total

    def adjoint(self, y: Array) -> Array:
        total = self.terms[0].adjoint(y)
        for term in self.terms[1:]:
            total = total + term.adjoint(y)
        return total

    @cached_property
    def _norm(self) -> float:
        return _tightened(self, sum(term.norm() for term in self.terms))

    def norm(self) -> float:
        return self._norm

    def __repr__(self) -> str:
        return "(" + " + ".join(map(repr, self.terms)) + ")"


class Stack(Operator):
    """x ↦ (A₁ x; A₂ x; …), one below the other along the first axis.

    `shape` is the block's shape, needed only where no part knows it (identities, differences, transforms).

    >>> from ipds.operators import Identity
    >>> Stack([Identity(), Identity(2.0)], shape=2).apply(np.array([1.0, 3.0]))
    array([1., 3., 2., 6.])
    """

    def __init__(self, parts: Sequence[Operator], shape: Shape | int | None = None):
        if not parts:
            raise ValueError("Stack: needs at least one operator")
        self.parts = [_operator("Stack", part) for part in parts]
        given = _common_shape(self.parts) if shape is None else shape
        if given is None:
            raise ValueError("Stack: none of the operators fixes the shape of the block; pass shape=")
        self.shape = as_shape(given)
        outputs = [part.output_shape(self.shape) for part in self.parts]
        if any(not o for o in outputs) or len({o[1:] for o in outputs}) > 1:
            raise ValueError(f"Stack: the outputs differ beyond the first axis: {outputs}")
        self._ends = [int(e) for e in np.cumsum([o[0] for o in outputs])]
        grams = [part.gram for part in self.parts]
        self.gram = None if None in grams else float(sum(g for g in grams if g is not None))

    def output_shape(self, shape: Shape) -> Shape:
        outputs = [part.output_shape(shape) for part in self.parts]
        if tuple(shape)[:1] != self.shape[:1] or len({o[1:] for o in outputs}) > 1:
            raise ValueError(f"Stack acts on shape {self.shape}, not {tuple(shape)}")
        return (self._ends[-1], *outputs[0][1:])

    def input_shape(self, shape: Shape) -> Shape:
        return self.parts[0].input_shape((self._ends[0], *shape[1:]))

    def natural_shape(self) -> Shape | None:
        return _common_shape(self.parts)

    def apply(self, x: Array) -> Array:
        return namespace(x).concat([part.apply(x) for part in self.parts], axis=0)

    def adjoint(self, y: Array) -> Array:
        total = self.parts[0].adjoint(y[: self._ends[0], ...])
        for part, start, end in zip(self.parts[1:], self._ends[:-1], self._ends[1:], strict=True):
            total = total + part.adjoint(y[start:end, ...])
        return total

    @cached_property
    def _norm(self) -> float:
        return _tightened(self, math.sqrt(sum(part.norm() ** 2 for part in self.parts)))

    def norm(self) -> float:
        return self._norm

    def __repr__(self) -> str:
        return f"Stack([{', '.join(map(repr, self.parts))}])"


def as_shape(shape: Shape | int) -> Shape:
    """A shape as a tuple; a number is the length of a vector."""
    return (int(shape),) if isinstance(shape, numbers.Integral) else tuple(int(n) for n in shape)  # type: ignore[union-attr]


def _operator(name: str, value: Any) -> Operator:
    if not isinstance(value, Operator):
        raise TypeError(f"{name}: expected an operator, got {type(value).__name__}; wrap it with as_operator")
    return value


def _common_shape(operators: Sequence[Operator]) -> Shape | None:
    """The natural shape of the first operator that has one; other array libraries' matrices have none."""
    return next((s for s in (op.natural_shape() for op in operators) if s is not None), None)


def _tightened(operator: Operator, bound: float) -> float:
    """The norm from γ or numerically on the natural shape, never above `bound`."""
    if operator.gram is not None:
        return math.sqrt(operator.gram)
    shape = operator.natural_shape()
    return bound if shape is None else min(bound, math.sqrt(spectrum.operator_norm_squared(operator, shape)))
