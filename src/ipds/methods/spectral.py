"""Step lengths and searches that gradient methods share."""

from __future__ import annotations

from typing import NamedTuple

from .._array import dot
from .composite import square
from .reduction import Arrays


class Reference(NamedTuple):
    """The value a nonmonotone search compares with: a weighted mean of those seen (Zhang & Hager, SIOPT 2004).

    >>> round(Reference(2.0).seen(1.0).value, 4)
    1.4595
    """

    value: float
    weight: float = 1.0

    def seen(self, value: float, memory: float = 0.85) -> Reference:
        """The reference after one more value."""
        weight = memory * self.weight + 1
        return Reference((memory * self.weight * self.value + value) / weight, weight)


def barzilai_borwein(moves: Arrays, changes: Arrays, long: bool) -> float | None:
    """‖Δx‖²/|⟨Δx, Δg⟩| (long) or |⟨Δx, Δg⟩|/‖Δg‖² (short); None where the gradient did not change along Δx."""
    product = abs(sum([float(dot(a, b)) for a, b in zip(moves, changes, strict=True)]))
    if not product > 0:
        return None
    return square(moves) / product if long else product / square(changes)
