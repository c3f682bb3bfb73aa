"""Sums of two functions that are one function with an exact prox: a registry, asked by `Sum`.

A rule makes h + g of h and g, or None where it does not apply; `@pair(kinds, kinds)` registers it for both orders. The
rules are in `joint_entrywise` and `joint_sets`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Nonsmooth
from .matrix_sets import Stiefel
from .sets import NonNegative

Kinds = type | tuple[type, ...]
_RULES: list[tuple[Kinds, Kinds, Callable[[Any, Any], Nonsmooth | None]]] = []


def pair(first: Kinds, second: Kinds) -> Callable[..., Any]:
    """Register a rule for sums of a function of the `first` kinds and one of the `second`, in either order."""

    def register(rule: Callable[[Any, Any], Nonsmooth | None]) -> Any:
        _RULES.append((first, second, rule))
        return rule

    return register


def joint(h: Nonsmooth, g: Nonsmooth) -> Nonsmooth | None:
    """h + g as one function with an exact prox, None where no rule gives one."""
    for first, second, rule in _RULES:
        for a, b in ((h, g), (g, h)):
            if isinstance(a, first) and isinstance(b, second):
                made = rule(a, b)
                if made is not None:
                    return made
    return None


def remedy(h: Nonsmooth, g: Nonsmooth) -> str:
    """What to do where there is no joint prox."""
    pieces = {type(h), type(g)}
    if pieces == {Stiefel, NonNegative}:
        return (
            "put Stiefel() on a block Y and NonNegative() on a block X with the constraint X - Y = 0: every row of a "
            "nonnegative X with orthonormal columns has one nonzero entry at most, and choosing it is a hard problem"
        )
    return "put the set on a further block y with the constraint x - y = 0 instead"
