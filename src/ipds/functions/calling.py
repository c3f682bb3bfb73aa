"""Functions are called on arrays, for a value, and on expressions of a model, for a term of its objective."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


class OnExpressions:
    """A subclass's `__call__` answers arrays; an x with `__ipds_term__` is asked for x.__ipds_term__(self) instead."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls):
            cls.__call__ = _value_or_term(vars(cls)["__call__"])  # type: ignore[method-assign]


def _value_or_term(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def __call__(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is not np.ndarray and hasattr(x, "__ipds_term__"):
            if args or kwargs:
                raise TypeError(f"{self!r} takes one expression; of several, write concatenate([...])")
            return x.__ipds_term__(self)
        return call(self, x, *args, **kwargs)

    return __call__
