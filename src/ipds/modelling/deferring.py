"""Arithmetic that NumPy, SciPy, PyLops and pandas would do themselves is left to expressions.

NumPy's functions ask `__array_ufunc__` and `__array_function__`. SciPy's sparse matrices let the right operand of `@`
speak first when they do not know it. LinearOperators and data frames do not: they turn it into an array. Here their `@`
learns to stand back, for expressions alone.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import scipy

from . import refusals
from .writing import shown

_DEFERRING: set[type] = set()


def make_others_defer(expression: type) -> None:
    """From now on `A @ e` asks `e.__rmatmul__` where e is an `expression`; all else is as before."""
    pylops, pandas = (sys.modules.get(name) for name in ("pylops", "pandas"))
    frames = (getattr(pandas, name, None) for name in ("DataFrame", "Series"))
    for cls in (scipy.sparse.linalg.LinearOperator, getattr(pylops, "LinearOperator", None), *frames):
        if cls is not None and cls not in _DEFERRING:
            _DEFERRING.add(cls)
            cls.__matmul__ = _deferring(cls.__matmul__, expression)


def _deferring(matmul: Any, expression: type) -> Any:
    @functools.wraps(matmul)
    def __matmul__(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, expression) else matmul(self, other)

    return __matmul__


class LeftAlone:
    """What NumPy's functions do with an expression: arithmetic is its own, all else is refused."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's arrays and numbers leave arithmetic to us; other functions of entries are not affine."""
        name = _ARITHMETIC.get(ufunc.__name__)
        if method != "__call__" or kwargs or name is None:
            raise TypeError(refusals.numpy_function(self, ufunc.__name__, [shown(i) for i in inputs]))
        left, right = inputs
        if isinstance(left, LeftAlone):
            return getattr(left, f"__{name}__")(right)
        return getattr(right, f"__{_REFLECTED.get(name, 'r' + name)}__")(left)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(refusals.numpy_function(self, function.__name__, [shown(a) for a in args]))


_ARITHMETIC = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "matmul": "matmul",
    "equal": "eq",
    "not_equal": "ne",
    "less_equal": "le",
    "greater_equal": "ge",
    "less": "lt",
    "greater": "gt",
    "power": "pow",
}
_REFLECTED = {"eq": "eq", "ne": "ne", "le": "ge", "ge": "le", "lt": "gt", "gt": "lt"}
