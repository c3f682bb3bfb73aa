"""Step lengths and searches that gradient methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..deadline import raise_if_late

TRIES = 20
"""Lengths that a search tries at most."""
SHORTER = 0.25
"""Factor from one length to the next."""
SHORTEST = 1e-307
"""No step is shorter; anything above the range of denormals may be what the units of the data ask for."""
LONGEST, LEAST = 1e4, 1e-4
"""Factors between which a length lies of the one before."""

Outcome = TypeVar("Outcome")


class Reference(NamedTuple):
    """The value a nonmonotone search compares with: a weighted mean of those so far (Zhang & Hager, SIOPT 2004).

    >>> round(Reference(2.0).after(1.0).value, 4)
    1.4595
    """

    value: float
    weight: float = 1.0

    def after(self, value: float, memory: float = 0.85) -> Reference:
        """The reference after one more value."""
        weight = memory * self.weight + 1
        return Reference((memory * self.weight * self.value + value) / weight, weight)


class Search(NamedTuple):
    """Where the search for the next step starts; anew with every stage."""

    alpha: float
    """The length it tries first."""
    reference: Reference
    inner: int
    """Steps since the stage began."""


def barzilai_borwein(dx_dx: float, dx_dg: float, dg_dg: float, *, long: bool) -> float:
    """⟨Δx,Δx⟩/|⟨Δx,Δg⟩| (long) or |⟨Δx,Δg⟩|/⟨Δg,Δg⟩ (short); 0 where the gradient did not change along Δx.

    Barzilai & Borwein, Two-point step size gradient methods, IMA J. Numer. Anal. 8 (1988).

    >>> barzilai_borwein(4.0, -2.0, 2.0, long=True), barzilai_borwein(4.0, -2.0, 2.0, long=False)
    (2.0, 1.0)
    """
    if dx_dg == 0 or dg_dg == 0:
        return 0.0
    return dx_dx / abs(dx_dg) if long else abs(dx_dg) / dg_dg


def next_length(alpha: float, proposed: float) -> float:
    """The first length of the next search: the proposed one, between `LEAST` and `LONGEST` times α; α where that is 0.

    >>> next_length(2.0, 3.0), next_length(2.0, 0.0), next_length(1.0, 1e9)
    (3.0, 2.0, 10000.0)
    """
    return max(min(proposed or alpha, LONGEST * alpha), LEAST * alpha, SHORTEST)


def backtrack(attempt: Callable[[float], tuple[bool, Outcome]], alpha: float) -> tuple[float, Outcome]:
    """(α, outcome) of the first attempt(α) = (accepted, outcome) that is accepted, α a quarter as long every time.

    The last of `TRIES` is taken as it is.

    >>> backtrack(lambda alpha: (alpha < 0.1, f"tried {alpha}"), 1.0)
    (0.0625, 'tried 0.0625')
    """
    accepted, outcome = attempt(alpha)
    for _ in range(TRIES - 1):
        if accepted:
            break
        raise_if_late()
        del outcome  # so that one that was refused is not kept while the next is made
        alpha = max(SHORTER * alpha, SHORTEST)
        accepted, outcome = attempt(alpha)
    return alpha, outcome
