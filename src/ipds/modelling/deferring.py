"""`A @ x` where A is a LinearOperator of SciPy or PyLops.

NumPy arrays and SciPy's sparse matrices let the right operand of `@` speak first when they do not know it.
LinearOperators do not: they turn it into an array. Here their `@` learns to stand back, for expressions alone.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import scipy

_DEFERRING: set[type] = set()


def make_linear_operators_defer(expression: type) -> None:
    """From now on `A @ e` asks `e.__rmatmul__` where e is an `expression`; all else is as before."""
    pylops = sys.modules.get("pylops")
    for cls in (scipy.sparse.linalg.LinearOperator, getattr(pylops, "LinearOperator", None)):
        if cls is not None and cls not in _DEFERRING:
            _DEFERRING.add(cls)
            cls.__matmul__ = _deferring(cls.__matmul__, expression)


def _deferring(matmul: Any, expression: type) -> Any:
    @functools.wraps(matmul)
    def __matmul__(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, expression) else matmul(self, other)

    return __matmul__
