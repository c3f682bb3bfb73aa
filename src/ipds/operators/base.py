"""What a linear map must offer, and the algebra of maps: `A @ B`, `A + B`, `2 * A`, `-A`, `A.T`."""

from __future__ import annotations

import math
import numbers
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, reduce, wraps
from typing import Any

import numpy as np

from .._abstract import Abstract
from .._arrays import Array, Shape, asarray, is_array, matrix_product, matrix_sum, multiple, to_numpy
from ..distributed import Rows
from . import spectrum

KEPT = 100_000
"""Entries of a matrix up to which it is kept once it was made: to make a small one takes as long as fifty products."""


def made_once(make: Callable[[Any, Shape], Any]) -> Callable[[Any, Shape], Any]:
    """An `as_matrix` of a map that does not change, whose small matrices are kept: a solve asks for them often."""

    @wraps(make)
    def as_matrix(self: Any, shape: Shape) -> Any:
        kept = self.kept_matrices
        if shape in kept:
            return kept[shape]
        matrix = make(self, shape)
        if matrix is None or (matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz) <= KEPT:
            kept[shape] = matrix
        return matrix

    return as_matrix


def in_numpy(product: Callable[..., Any]) -> Callable[..., Any]:
    """A product that is known for NumPy's arrays: those of other libraries are copied there and back."""

    @wraps(product)
    def through(self: Any, x: Array, *more: Any) -> Array:
        if type(x) is np.ndarray:
            return product(self, x, *more)
        return asarray(product(self, to_numpy(x), *more), like=x)

    return through


class Operator(metaclass=Abstract):
    """A linear map A between arrays of fixed shapes.

    `adjoint` satisfies ⟨A x, y⟩ = ⟨x, Aᵀ y⟩; verify your own with `check_adjoint`.
    """

    gram: float | None = None
    """γ where AᵀA = γ·I is known (scaled identities, isometries), so that ‖A x - y‖² is closed-form in x."""

    folds: bool = False
    """Whether A x has the entries of x in another shape, row by row: on flattened arrays A is the identity."""

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

    def norm(self) -> float:
        """The spectral norm ‖A‖, or an upper bound close to it; by default found on the natural shape, once."""
        return self._norm

    @cached_property
    def _norm(self) -> float:
        if self.gram is not None:
            return math.sqrt(self.gram)
        shape = self.natural_shape()
        if shape is None:
            raise NotImplementedError(f"{type(self).__name__} offers no norm")
        return math.sqrt(spectrum.operator_norm_squared(self, shape))

    @property
    def is_zero(self) -> bool:
        """Whether A = 0."""
        return self.norm() == 0

    def extremes(self, shape: Shape) -> tuple[float, float]:
        """(λ_, λ̄): smallest and largest eigenvalue of A Aᵀ for inputs of `shape`; by default γ where that is known."""
        if self.gram is None:
            return spectrum.gram_extremes(self, shape)
        rows, columns = math.prod(self.output_shape(shape)), math.prod(shape)
        upper = self.gram if rows and columns else 0.0
        return upper if rows == columns else 0.0, upper

    def input_shape(self, shape: Shape) -> Shape:
        """Shape of Aᵀ y for y of `shape`; needed by `.T` only, found by applying Aᵀ once."""
        return tuple(self.adjoint(np.zeros(shape)).shape)

    def natural_shape(self) -> Shape | None:
        """A NumPy input shape on which ‖A‖ is attained, None where A acts on blocks of any size."""
        return None

    @cached_property
    def kept_matrices(self) -> dict[Shape, Any]:
        """Those of `as_matrix`, where it is `made_once`."""
        return {}

    def as_matrix(self, shape: Shape) -> Any:
        """The matrix of A on blocks of `shape`, both sides flattened row by row: SciPy sparse or a 2-D NumPy array.

        None where A is known by its products only, or lives in another array library. The array may be A's own:
        read it, do not change it.
        """
        return None

    @property
    def T(self) -> Operator:
        """The transpose Aᵀ as an operator."""
        return Transpose(self)

    def __matmul__(self, other: Any) -> Any:
        """A B of two maps, A x of an array."""
        if isinstance(other, Operator):
            return Compose(self, other)
        return self.apply(other) if is_array(other) else NotImplemented

    def __add__(self, other: Operator) -> Operator:
        return Sum([self, require_operator(f"{self!r} + ...", other)])

    def __sub__(self, other: Operator) -> Operator:
        return Sum([self, -require_operator(f"{self!r} - ...", other)])

    def __mul__(self, scale: float) -> Operator:
        return Scaled(self, float(scale)) if isinstance(scale, numbers.Real) else NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> Operator:
        return Scaled(self, -1.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Symmetric(Operator):
    """A map with A = Aᵀ; a subclass gives `output_shape` and `apply`."""

    def input_shape(self, shape: Shape) -> Shape:
        return self.output_shape(shape)

    def adjoint(self, y: Array) -> Array:
        return self.apply(y)

    @property
    def T(self) -> Operator:
        """Itself."""
        return self


class Transpose(Operator):
    """y ↦ Aᵀ y."""

    def __init__(self, inner: Operator):
        self.inner = require_operator("Transpose", inner)

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

    def as_matrix(self, shape: Shape) -> Any:
        matrix = self.inner.as_matrix(self.inner.input_shape(shape))
        return None if matrix is None else matrix.T

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
        self.inner = require_operator("Scaled", inner)
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
        return self.scale == 0 or self.inner.is_zero

    def extremes(self, shape: Shape) -> tuple[float, float]:
        lower, upper = self.inner.extremes(shape)
        return self.scale**2 * lower, self.scale**2 * upper

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        matrix = self.inner.as_matrix(shape)
        return None if matrix is None else multiple(self.scale, matrix)

    def __repr__(self) -> str:
        return f"{self.scale:g}·{self.inner!r}"


def _takes(A: Operator, shape: Shape) -> bool:
    """Whether A acts on arrays of that shape."""
    try:
        A.output_shape(shape)
    except ValueError:
        return False
    return True


class Compose(Operator):
    """x ↦ A (B x), written `A @ B`."""

    def __init__(self, left: Operator, right: Operator):
        self.left, self.right = require_operator("Compose", left), require_operator("Compose", right)
        self.rows = right.rows if left.rows is None else left.rows
        self.gram = None if left.gram is None or right.gram is None else left.gram * right.gram
        inner, outer = right.natural_shape(), left.natural_shape()
        self._natural = inner
        if inner is not None and outer is not None:
            between = right.output_shape(inner)
            if between[:1] != outer[:1]:  # says now, not at the first product, that the shapes do not meet
                left.output_shape(between)
            elif len(between) < len(outer):  # a matrix acts on blocks of more axes than its natural shape has
                self._natural = None
        elif inner is not None and not _takes(left, right.output_shape(inner)):  # the same, further inside
            self._natural = None

    def output_shape(self, shape: Shape) -> Shape:
        return self.left.output_shape(self.right.output_shape(shape))

    def input_shape(self, shape: Shape) -> Shape:
        return self.right.input_shape(self.left.input_shape(shape))

    def natural_shape(self) -> Shape | None:
        return self._natural

    def apply(self, x: Array) -> Array:
        return self.left.apply(self.right.apply(x))

    def adjoint(self, y: Array) -> Array:
        return self.right.adjoint(self.left.adjoint(y))

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        if self.left.folds:
            return self.right.as_matrix(shape)
        left = self.left.as_matrix(self.right.output_shape(shape))
        if left is None or self.right.folds:
            return left
        right = self.right.as_matrix(shape)
        return None if right is None else matrix_product(left, right)

    @cached_property
    def _norm(self) -> float:
        return tightened(self, self.left.norm() * self.right.norm())

    @property
    def is_zero(self) -> bool:
        if self.left.folds or self.right.folds:  # the other one says it without a norm
            return self.right.is_zero if self.left.folds else self.left.is_zero
        return self.norm() == 0

    def __repr__(self) -> str:
        return f"({self.left!r} @ {self.right!r})"


class Sum(Operator):
    """x ↦ A₁ x + A₂ x + …, written `A1 + A2`."""

    def __init__(self, terms: Sequence[Operator]):
        if not terms:
            raise ValueError("Sum: needs at least one operator")
        self.terms = [require_operator("Sum", term) for term in terms]
        self.rows = next((term.rows for term in self.terms if term.rows is not None), None)

    def output_shape(self, shape: Shape) -> Shape:
        shapes = [tuple(term.output_shape(shape)) for term in self.terms]
        if len(set(shapes)) > 1:
            raise ValueError(f"Sum: the terms map shape {tuple(shape)} to different shapes: {shapes}")
        return shapes[0]

    def input_shape(self, shape: Shape) -> Shape:
        return self.terms[0].input_shape(shape)

    def natural_shape(self) -> Shape | None:
        return common_shape(self.terms)

    def apply(self, x: Array) -> Array:
        return reduce(operator.add, (term.apply(x) for term in self.terms))

    def adjoint(self, y: Array) -> Array:
        return reduce(operator.add, (term.adjoint(y) for term in self.terms))

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        matrices = [term.as_matrix(shape) for term in self.terms]
        return None if any(m is None for m in matrices) else matrix_sum(matrices)

    @cached_property
    def _norm(self) -> float:
        return tightened(self, sum(term.norm() for term in self.terms))

    def __repr__(self) -> str:
        return "(" + " + ".join(map(repr, self.terms)) + ")"


def as_shape(shape: Shape | int) -> Shape:
    """A shape as a tuple; a number is the length of a vector."""
    return (int(shape),) if isinstance(shape, numbers.Integral) else tuple(int(n) for n in shape)  # type: ignore[union-attr]


def require_operator(name: str, value: Any) -> Operator:
    """`value`, an operator; TypeError otherwise."""
    if not isinstance(value, Operator):
        raise TypeError(f"{name}: expected an operator, got {type(value).__name__}; wrap it with as_operator")
    return value


def common_shape(operators: Sequence[Operator]) -> Shape | None:
    """The natural shape of the first operator that has one; other array libraries' matrices have none."""
    return next((s for s in (op.natural_shape() for op in operators) if s is not None), None)


def tightened(operator: Operator, bound: float) -> float:
    """The norm from γ or numerically on the natural shape, never above `bound`."""
    if operator.gram is not None:
        return math.sqrt(operator.gram)
    shape = operator.natural_shape()
    return bound if shape is None else min(bound, math.sqrt(spectrum.operator_norm_squared(operator, shape)))
