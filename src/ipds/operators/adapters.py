"""Users' own linear maps, brought to the interface of `Operator`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape
from . import spectrum
from .base import Operator
from .one_shape import ByProducts
from .wrapping import as_operator


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
