"""LinearOperators of SciPy and PyLops and users' own maps as operators; `as_operator` for all that stands for a map."""

from __future__ import annotations

import math
import numbers
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, adopted, is_array
from ..distributed import Rows
from . import spectrum
from .base import Operator, as_shape, in_numpy
from .maps import Identity, Matrix
from .one_shape import ByProducts
from .rows import RowMatrix


class Flattened(ByProducts):
    """A SciPy (or PyLops) LinearOperator acting on the flattened block."""

    called = "the LinearOperator"

    def __init__(self, linear: Any, shape: Shape, output: Shape | None = None):
        dtype = getattr(linear, "dtype", None)
        if dtype is not None and np.issubdtype(dtype, np.complexfloating):
            raise TypeError("a LinearOperator must be real; stack its real and imaginary parts instead")
        self.linear = linear
        self.shape = tuple(shape)
        self.output = (linear.shape[0],) if output is None else tuple(output)
        if math.prod(self.shape) != linear.shape[1] or math.prod(self.output) != linear.shape[0]:
            raise ValueError(
                f"a LinearOperator of shape {tuple(linear.shape)} cannot map blocks of shape {self.shape} "
                f"to shape {self.output}"
            )

    @in_numpy
    def apply(self, x: Array) -> Array:
        return self.linear.matvec(x.reshape(-1)).reshape(self.output)

    @in_numpy
    def adjoint(self, y: Array) -> Array:
        return self.linear.rmatvec(y.reshape(-1)).reshape(self.shape)

    def __repr__(self) -> str:
        return f"Flattened({self.linear.shape[0]}x{self.linear.shape[1]})"


def from_linear_operator(
    linear: Any, shape: Shape | int | None = None, output_shape: Shape | int | None = None
) -> Flattened:
    """Wrap a SciPy or PyLops LinearOperator for blocks of `shape`.

    Anything with `shape`, `matvec` and `rmatvec` will do. The default shapes are PyLops' `dims` and `dimsd`
    where the object has them, flat vectors otherwise.

    >>> import scipy.sparse.linalg as spla
    >>> A = from_linear_operator(spla.aslinearoperator(np.eye(6)), shape=(2, 3))
    >>> A.apply(np.ones((2, 3))).shape
    (6,)
    """
    if not isinstance(linear, scipy.sparse.linalg.LinearOperator) and not (
        callable(getattr(linear, "matvec", None)) and callable(getattr(linear, "rmatvec", None))
    ):
        raise TypeError(
            "from_linear_operator: expected an object with matvec, rmatvec and shape, "
            f"got {type(linear).__name__}; use Matrix for arrays"
        )
    if shape is None:
        shape = getattr(linear, "dims", linear.shape[1])
        output_shape = getattr(linear, "dimsd", None) if output_shape is None else output_shape
    return Flattened(linear, as_shape(shape), None if output_shape is None else as_shape(output_shape))


def as_operator(A: Any) -> Operator:
    """`A` as an operator: number (scaled identity), dense or sparse matrix, LinearOperator, operator."""
    if isinstance(A, Operator):
        return A
    if isinstance(A, float):
        return Identity(float(A))
    if scipy.sparse.issparse(A) or isinstance(A, list | tuple):
        return Matrix(A)
    A = adopted(A, "the matrix")
    if isinstance(A, Rows):
        return RowMatrix(A)
    if is_array(A):
        return Identity(float(A)) if A.ndim == 0 else Matrix(A)
    if isinstance(A, numbers.Real) and not isinstance(A, bool):
        return Identity(float(A))
    if isinstance(A, scipy.sparse.linalg.LinearOperator) or callable(getattr(A, "rmatvec", None)):
        return from_linear_operator(A)
    raise TypeError(
        "expected a number, a 2-D array, a sparse matrix, a LinearOperator or an ipds operator, "
        f"got {type(A).__name__}"
    )


class UserOperator(ByProducts):
    """An object with `apply` and `adjoint`; `norm` (a number or a method) as it states it, else by Lanczos."""

    called = "the operator"
    is_natural = False

    def __init__(self, operator: Any, shape: Shape):
        self.operator = operator
        self.shape = shape
        self.output = _shape("apply", operator.apply(np.zeros(shape)))
        back = _shape("adjoint", operator.adjoint(np.zeros(self.output)))
        if back != shape:
            raise ValueError(f"adjoint returns shape {back} for arrays of shape {self.output}, not {shape}")

    def apply(self, x: Array) -> Array:
        return self.operator.apply(x)

    def adjoint(self, y: Array) -> Array:
        return self.operator.adjoint(y)

    @cached_property
    def _norm(self) -> float:
        stated = getattr(self.operator, "norm", None)
        if stated is not None:
            return float(stated() if callable(stated) else stated)

        def gram(v: np.ndarray) -> np.ndarray:
            return np.asarray(self.adjoint(self.apply(v.reshape(self.shape)))).ravel()

        return math.sqrt(spectrum.lanczos_upper(gram, math.prod(self.shape)))

    def __repr__(self) -> str:
        return f"UserOperator({type(self.operator).__name__})"


def acts_linearly(A: Any) -> bool:
    """Whether A has `apply` and `adjoint`, as our operators have."""
    return callable(getattr(A, "apply", None)) and callable(getattr(A, "adjoint", None))


def operator_on(A: Any, shape: Shape) -> Operator:
    """A as an operator on blocks of `shape`: an object with `apply` and `adjoint`, or what `as_operator` takes."""
    own = acts_linearly(A) and not isinstance(A, Operator)
    return UserOperator(A, shape) if own else as_operator(A)


def _shape(name: str, value: Any) -> Shape:
    """The shape of the array that a method of that name has returned."""
    if not hasattr(value, "shape"):
        raise TypeError(f"{name} must return an array, got {type(value).__name__}")
    return tuple(value.shape)
