"""Expressions and terms as text, close to what the user wrote; arrays are told by their shapes."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import is_array
from ..operators import Operator

COMPARISON, SUM, PRODUCT, WHOLE = -1, 0, 1, 2
"""How tightly a text holds together: a <= b, a + b, a * b, or a name or call."""
LONGEST = 160
"""Longer texts are cut."""
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "@": PRODUCT} | dict.fromkeys(
    ("==", "<=", ">="), COMPARISON
)


@dataclass(frozen=True)
class Text:
    """What to show, and how tightly it holds together."""

    words: str
    level: int

    def within(self, level: int) -> str:
        """The words, in brackets where they would fall apart next to an operator of that level."""
        return self.words if self.level >= level else f"({self.words})"

    def __str__(self) -> str:
        return self.words


def joined(left: Text, sign: str, right: Text) -> Text:
    """`left sign right`, with the brackets it needs."""
    level = _LEVELS[sign]
    after = level + 1 if sign in "-/@" or level == PRODUCT else level
    words = f"{left.within(level)} {sign} {right.within(after)}"
    return Text(words if len(words) <= LONGEST else words[: LONGEST - 1] + "…", level)


def shown(value: Any) -> str:
    """A number by its value, an array by its shape, other things by their own words.

    >>> import numpy as np
    >>> shown(2.0), shown(np.ones((2, 3))), shown(np.ones(4))
    ('2', 'array(2, 3)', 'array(4)')
    """
    if isinstance(value, numbers.Real):
        return f"{float(value):.6g}"
    if hasattr(value, "text"):
        return str(value.text)
    listed = isinstance(value, list | tuple)
    shape = np.shape(value) if listed else getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and not isinstance(value, Operator):
        kind = "array" if listed or is_array(value) else type(value).__name__
        return f"{kind}({', '.join(map(str, shape))})"
    return "..." if value is Ellipsis else str(value)


def shown_index(key: Any) -> str:
    """What stands between the brackets of an index."""
    if isinstance(key, slice):
        parts = ["" if end is None else str(end) for end in (key.start, key.stop)]
        return ":".join(parts if key.step is None else [*parts, str(key.step)])
    return shown(key)
