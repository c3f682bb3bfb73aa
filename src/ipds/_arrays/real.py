"""Data must be plain real numbers: what would be misread in silence is refused, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

HELD = {"U": "text", "S": "text", "O": "objects", "M": "dates", "m": "spans of time", "V": "records"}
"""What arrays of other kinds than numbers hold."""


def require_real(what: str, value: Any) -> None:
    """Refuse masked and complex arrays, those of text, objects or dates, and `numpy.matrix`; anything else passes.

    >>> require_real("b", np.array(["1", "2"]))
    Traceback (most recent call last):
        ...
    TypeError: b holds text (dtype <U1), and numbers are wanted; convert it, e.g. by numpy.asarray(b, dtype=float)
    """
    require_unmasked(what, value)
    if isinstance(value, np.matrix):
        raise TypeError(
            f"{what} is a numpy.matrix, whose products differ from an array's; pass numpy.asarray(...)"
        )
    dtype = getattr(value, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "f":
        return
    if isinstance(value, complex) or kind == "c" or "complex" in str(dtype or ""):
        raise TypeError(
            f"{what} must hold real numbers, not complex ones; stack its real and imaginary parts instead"
        )
    if kind in HELD:
        name = what.rsplit(" ", 1)[-1]
        raise TypeError(
            f"{what} holds {HELD[kind]} (dtype {dtype}), and numbers are wanted; convert it, e.g. by "
            f"numpy.asarray({name}, dtype=float)"
        )


def require_unmasked(what: str, value: Any) -> None:
    """Refuse masked arrays, which other libraries read without their mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{what} is a masked array, and its mask would be lost; leave the masked entries out "
            "(ipds.operators.Sampling observes a part of a block), or fill them: .filled(value)"
        )


def require_dense(what: str, value: Any) -> None:
    """Refuse sparse matrices, where an array is wanted."""
    if scipy.sparse.issparse(value):
        name = what.rsplit(" ", 1)[-1]
        raise TypeError(f"{what} must be a dense array, got a sparse one; pass {name}.toarray()")
