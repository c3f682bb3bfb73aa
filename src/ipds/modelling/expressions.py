"""Variables and affine expressions of them: M₁ x₁ + M₂ x₂ + … + c.

An expression is immutable and knows its shape; whatever does not fit is refused on the line where it is written.
It follows NumPy: `@`, `+`, `-`, `*` and `/` by numbers and arrays, indexing, `.T`, `.reshape`, `.sum(axis)`,
`.mean(axis)`.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy
from array_api_compat import is_dask_array

from .._arrays import Array, Shape, all_finite, is_array, require_real, to_numpy
from ..operators import Operator, TwoSided, as_operator, from_linear_operator
from . import refusals
from .constants import as_matrix, constant_after, constant_in, local
from .constraints import Constraint
from .deferring import LeftAlone, make_others_defer
from .maps import Body, Map, choice, scaling
from .shapes import Shaped
from .terms import Objective, Term
from .writing import PRODUCT, SUM, WHOLE, Text, joined, shown


class Expression(Shaped, LeftAlone):
    """An affine expression Σ_j M_j x_j + c of variables x_j, of a fixed shape.

    Made from `Variable`s by arithmetic, not by hand.

    >>> x = Variable(3, name="x")
    >>> e = 2 * x[:2] - np.ones(2)
    >>> e, e.shape
    (2 * x[:2] - array(2), (2,))
    >>> e.at({x: np.arange(3.0)})
    array([-1.,  1.])
    """

    __slots__ = ("constant", "maps", "shape", "text")
    __hash__ = object.__hash__
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # pandas leaves +, - and * with data frames and their columns to expressions

    shape: Shape
    maps: Mapping[Variable, Map]
    constant: Any
    text: Text

    def __init__(self, shape: Shape, maps: Mapping[Variable, Map], constant: Any, text: Text):
        for name, value in (("shape", shape), ("maps", maps), ("constant", constant), ("text", text)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(refusals.assigned(self, name))

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():  # as pickle has it for classes with slots
            object.__setattr__(self, name, value)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in it, in the order in which they were written."""
        return tuple(self.maps)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Refused: values belong to results, functions of entries are terms."""
            if name.startswith("_") or name in Expression.__slots__:  # asked while it is being made
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise AttributeError(refusals.no_attribute(self, name))

    def at(self, values: Mapping[Variable, Array]) -> Array:
        """The value where each variable has the given one."""
        total = self.constant
        for variable, map_ in self.maps.items():
            total = total + map_.apply(np.reshape(values[variable], variable.shape))
        return np.broadcast_to(total, self.shape) + 0.0 if np.ndim(total) != self.ndim else total

    def __repr__(self) -> str:
        return str(self.text)

    # ------------------------------------------------------------------ functions and constraints of expressions

    def __ipds_term__(self, function: Any) -> Term:
        """The term function(expression): what a function of `ipds.functions` returns when called on an expression."""
        return Term(function, self)

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        return self._compared(other, "==")

    def __le__(self, other: Any) -> Constraint:
        return self._compared(other, "<=")

    def __ge__(self, other: Any) -> Constraint:
        return self._compared(other, ">=")

    def _compared(self, other: Any, sense: Any) -> Constraint:
        right = as_expression(other)
        if right is None:
            raise TypeError(refusals.not_comparable(self, sense, other))
        return Constraint(self, sense, right)

    def __ne__(self, other: object) -> Any:
        raise TypeError(refusals.comparison(self, "!=", other))

    def __lt__(self, other: Any) -> Any:
        raise TypeError(refusals.comparison(self, "<", other))

    def __gt__(self, other: Any) -> Any:
        raise TypeError(refusals.comparison(self, ">", other))

    def __rshift__(self, other: Any) -> Any:
        raise TypeError(refusals.semidefinite(self, ">>", other))

    def __lshift__(self, other: Any) -> Any:
        raise TypeError(refusals.semidefinite(self, "<<", other))

    def __bool__(self) -> bool:
        raise TypeError(refusals.truth(self))

    # ------------------------------------------------------------------ sums

    def __add__(self, other: Any) -> Any:
        return self._sum(other, "+")

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, "-")

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, numbers.Real) and other == 0:  # sum([...]) begins with 0
            return self
        left = as_expression(other)
        return NotImplemented if left is None else left._add(self, "+")

    def __rsub__(self, other: Any) -> Any:
        left = as_expression(other)
        return NotImplemented if left is None else left._add(self, "-")

    def __neg__(self) -> Expression:
        return self._then(-1.0, self.shape, Text(f"-{self.text.within(PRODUCT)}", SUM))

    def __pos__(self) -> Expression:
        return self

    def _sum(self, other: Any, sign: str) -> Any:
        if isinstance(other, Term | Objective):
            return NotImplemented  # a scalar expression and a term: theirs to add
        right = as_expression(other)
        return NotImplemented if right is None else self._add(right, sign)

    def _add(self, other: Expression, sign: str) -> Expression:
        shape = refusals.common_shape(self, other, sign)
        left, right = self._broadcast(shape), other._broadcast(shape)
        maps = dict(left.maps)
        for variable, map_ in right.maps.items():
            signed = map_ if sign == "+" else map_.scaled(-1.0)
            maps[variable] = maps[variable].plus(signed) if variable in maps else signed
        constant = left.constant + right.constant if sign == "+" else left.constant - right.constant
        return Expression(shape, maps, constant, joined(self.text, sign, other.text))

    def _broadcast(self, shape: Shape) -> Expression:
        if shape == self.shape:
            return self
        if not self.maps:
            return Expression(shape, {}, constant_in(self.constant, shape), self.text)
        indices = np.broadcast_to(np.arange(self.size).reshape(self.shape), shape)
        return self._then(choice(indices, self.size), shape, self.text)

    # ------------------------------------------------------------------ products

    def __mul__(self, other: Any) -> Any:
        return self._times(other, first=False)

    def __rmul__(self, other: Any) -> Any:
        return self._times(other, first=True)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Expression | Term | Objective):
            raise TypeError(refusals.product(self, "/", other))
        factor = as_expression(other)
        if factor is None:
            return NotImplemented
        if not np.all(to_numpy(np.asarray(factor.constant)) != 0):
            raise ZeroDivisionError(f"`{self} / {factor}` divides by 0")
        scaled = self._times(1.0 / factor.constant, first=False)
        return scaled._named(Text(f"{self.text.within(PRODUCT)} / {factor.text.within(WHOLE)}", PRODUCT))

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(refusals.nonaffine(self, f"{shown(other)} / {self.text.within(WHOLE)}"))

    def __pow__(self, other: Any) -> Any:
        raise TypeError(refusals.power(self, other))

    def __abs__(self) -> Any:
        raise TypeError(refusals.absolute(self))

    def _times(self, other: Any, first: bool) -> Any:
        """Entry by entry."""
        if isinstance(other, Expression | Term | Objective) and not _is_constant(other):
            if not self.maps and isinstance(other, Expression):
                return other._times(self.constant, first=not first)
            raise TypeError(refusals.product(self, "*", other))
        factor = as_expression(other)
        if factor is None:
            return NotImplemented
        pair = (factor.text, self.text) if first else (self.text, factor.text)
        text = joined(pair[0], "*", pair[1])
        if factor.size == 1 and factor.ndim <= self.ndim:
            c = float(np.reshape(to_numpy(np.asarray(factor.constant)), ()))
            return self._then(c, self.shape, text)
        shape = refusals.product_shape(self, factor, first)
        grown = self._broadcast(shape)
        weights = np.broadcast_to(to_numpy(factor.constant), shape)
        return grown._then(scaling(np.ascontiguousarray(weights)), shape, text)

    def __matmul__(self, other: Any) -> Any:
        """X @ R: R acts on the last axis of X."""
        if isinstance(other, Expression | Term | Objective):
            raise TypeError(refusals.product(self, "@", other))
        R = as_matrix(other)
        if R is None:
            return NotImplemented
        text = joined(self.text, "@", Text(shown(other), WHOLE))
        if not self.ndim or self.ndim > 2 or R.ndim not in (1, 2) or self.shape[-1] != R.shape[0]:
            raise ValueError(refusals.matrix_sides(self, R, left=False))
        shape = (*self.shape[:-1], *R.shape[1:])
        if self.ndim == 1:
            return self._then(R.reshape(R.shape[0], -1).T, shape, text)
        if R.ndim == 2:
            return self._then(TwoSided(1.0, R), shape, text)
        rows = scipy.sparse.eye_array(self.shape[0], format="csr")  # of X, each times the vector
        return self._then(scipy.sparse.kron(rows, R[None, :], format="csr"), shape, text)

    def __rmatmul__(self, other: Any) -> Any:
        """M @ x: M acts on the first axis of x, operators on x as a whole."""
        text = joined(Text(shown(other), WHOLE), "@", self.text)
        if isinstance(other, Operator):
            try:
                shape = tuple(other.output_shape(self.shape))
            except ValueError as error:
                raise ValueError(f"`{text}`: {error}") from None
            return self._then(other, shape, text)
        if isinstance(other, scipy.sparse.linalg.LinearOperator) or callable(getattr(other, "rmatvec", None)):
            if other.shape[1] != self.size:
                raise ValueError(refusals.linear_operator(self, other))
            output = getattr(other, "dimsd", None) if self.shape == getattr(other, "dims", None) else None
            linear = from_linear_operator(other, self.shape, output)
            return self._then(linear, linear.output, text)
        M = as_matrix(other)
        if M is None and is_dask_array(other) and other.ndim == 2:  # its rows stay where they are
            return self.__rmatmul__(as_operator(other))._named(text)
        if M is None:
            return NotImplemented
        if not self.ndim or self.ndim > 2 or M.ndim not in (1, 2) or self.shape[0] != M.shape[-1]:
            raise ValueError(refusals.matrix_sides(self, M, left=True))
        shape = (*M.shape[:-1], *self.shape[1:])
        rows = M.reshape(-1, M.shape[-1]) if M.ndim == 1 else M
        if self.ndim == 1:
            return self._then(rows, shape, text)
        if M.ndim == 1:  # one row times X: a sum over the first axis
            return self._then(scipy.sparse.kron(rows, np.eye(self.shape[1]), format="csr"), shape, text)
        return self._then(as_operator(rows), shape, text)

    def _then(self, left: Body, shape: Shape, text: Text) -> Expression:
        """left · self, where `left` is a body (see `Map`) from this shape to `shape`."""
        maps = {variable: map_.then(left, shape) for variable, map_ in self.maps.items()}
        return Expression(shape, maps, constant_after(left, self.constant, self.shape, shape), text)

    def _named(self, text: Text) -> Expression:
        return Expression(self.shape, self.maps, self.constant, text)


class Variable(Expression):
    """An unknown array: x = Variable(100, name="x"), X = Variable((20, 3)), t = Variable().

    Parameters
    ----------
    shape : an int for a vector, a tuple for an array; () for a number.
    name : how messages and blocks call it; x1, x2, … where none is given.

    >>> X = Variable((4, 2), name="X")
    >>> X.shape, (X @ np.ones((2, 3))).shape, X.T.shape, X[0].shape
    ((4, 2), (4, 3), (2, 4), (2,))
    """

    __slots__ = ("name",)
    name: str

    def __init__(self, shape: Shape | int = (), name: str | None = None, **attributes: Any):
        make_others_defer(Expression)
        if attributes:
            raise TypeError(refusals.attribute(next(iter(attributes))))
        sizes: Any = (shape,) if isinstance(shape, numbers.Integral) else shape
        valid = isinstance(sizes, tuple | list) and all(
            isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in sizes
        )
        if not valid:
            named = f"; for the name write Variable(name={shape!r})" if isinstance(shape, str) else ""
            raise TypeError(f"Variable: shape must be an int or a tuple of ints, got {shape!r}{named}")
        if any(n < 1 for n in sizes):
            raise ValueError(f"Variable: every entry of shape must be at least 1, got {shape!r}")
        if name is not None and (not isinstance(name, str) or not name):
            raise TypeError(f"Variable: name must be a string that is not empty, got {name!r}")
        shape = tuple(int(n) for n in sizes)
        name = f"x{next(_UNNAMED)}" if name is None else name
        object.__setattr__(self, "name", name)
        super().__init__(shape, {self: Map(shape, shape, 1.0)}, 0.0, Text(name, WHOLE))


_UNNAMED = itertools.count(1)


def as_expression(value: Any) -> Expression | None:
    """Expressions as they are; numbers, arrays and lists as constants; None for anything else."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Term | Objective | str | bool):
        return None
    if isinstance(value, numbers.Real):
        value = float(value)
        if not math.isfinite(value):
            raise ValueError(refusals.not_finite(str(value), value))
        return Expression((), {}, value, Text(shown(value), SUM if value < 0 else WHOLE))
    if isinstance(value, list | tuple) and any(isinstance(v, Expression) for v in value):
        raise TypeError(refusals.listed(value))
    value = local(value)
    text = Text(shown(value), WHOLE)
    if scipy.sparse.issparse(value):
        value = value.toarray()
    elif isinstance(value, list | tuple):
        value = np.asarray(value)
    if not is_array(value):
        return None
    if isinstance(value, np.ndarray):
        require_real("the constant", value)
        value = value.astype(float) if value.dtype.kind != "f" else value
    if not all_finite(value):
        raise ValueError(refusals.not_finite(str(text), value))
    return Expression(tuple(value.shape), {}, value if value.ndim else float(value), text)


def _is_constant(value: Any) -> bool:
    return isinstance(value, Expression) and not value.maps
