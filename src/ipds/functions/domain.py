"""Where a function with logarithms is finite, and how to get there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .._arrays import Array


class Domain(NamedTuple):
    """The open set on which a function is finite and smooth, for searches that must stay inside it.

    `contains(x)` tests a point; `inside(x)` is x itself where it lies inside, else a point inside, a start, that agrees
    with x as far as it can. `text` says it in words, for messages.
    """

    contains: Callable[[Array], bool]
    inside: Callable[[Array], Array]
    text: str
