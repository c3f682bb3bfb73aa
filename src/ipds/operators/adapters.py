"""Users' own linear maps, brought to the interface of `Operator`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape
from . import spectrum
from .one_shape import OfOneShape


class UserOperator(OfOneShape):
    """An object with `apply` and `adjoint`; `norm` (a number or a method) as it states it, else by Lanczos."""

    called = "the operator"
    is_natural = False

    def __init__(self, operator: Any, shape: Shape):
        self.operator = operator
        self.shape = shape
        self.output = tuple(operator.apply(np.zeros(shape)).shape)

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
