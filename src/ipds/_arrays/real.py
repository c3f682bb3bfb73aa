"""Data must be plain real numbers: what would be misread in silence is refused, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_real(what: str, value: Any) -> None:
    """Refuse masked, complex, text and object arrays, and `numpy.matrix`; anything else passes.

    >>> require_real("b", np.array(["1", "2"]))
    Traceback (most recent call last):
        ...
    TypeError: b holds text (dtype <U1), and numbers are wanted; convert it, e.g. by numpy.asarray(b, dtype=float)
    """
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{what} is a masked array, and its mask would be lost; leave the masked entries out "
            "(ipds.operators.Sampling observes a part of a block), or fill them: .filled(value)"
        )
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
    if kind in ("U", "S", "O"):
        held = "objects" if kind == "O" else "text"
        name = what.rsplit(" ", 1)[-1]
        raise TypeError(
            f"{what} holds {held} (dtype {dtype}), and numbers are wanted; convert it, e.g. by "
            f"numpy.asarray({name}, dtype=float)"
        )
