"""Where a function with logarithms is finite, and how to get there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .._arrays import Array, namespace, truth
from .scalar import fit


class Domain(NamedTuple):
    """The open set on which a function is finite and smooth, for searches that must stay inside it.

    `contains(x)` tests a point; `inside(x)` is x itself where it lies inside, else a point inside that agrees with x
    as far as it can: a start. `text` says it in words, for messages.
    """

    contains: Callable[[Array], bool]
    inside: Callable[[Array], Array]
    text: str


def positive(unit: float | Array = 1.0) -> Domain:
    """{x : x > 0}; entries outside start at `unit`."""

    def contains(x: Array) -> bool:
        return truth(namespace(x).all(x > 0))

    def inside(x: Array) -> Array:
        xp = namespace(x)
        return xp.where(x > 0, x, fit(unit, x) * xp.ones_like(x))

    return Domain(contains, inside, "every entry must be > 0")
