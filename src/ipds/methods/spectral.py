"""Step lengths and searches that gradient methods share."""

from __future__ import annotations

from typing import NamedTuple


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


def barzilai_borwein(moved: float, crossed: float, bent: float, *, long: bool) -> float | None:
    """⟨Δx,Δx⟩/|⟨Δx,Δg⟩| (long) or |⟨Δx,Δg⟩|/⟨Δg,Δg⟩ (short); None where the gradient did not change along Δx.

    Barzilai & Borwein, Two-point step size gradient methods, IMA J. Numer. Anal. 8 (1988).
    """
    if crossed == 0 or bent == 0:
        return None
    return moved / abs(crossed) if long else abs(crossed) / bent
