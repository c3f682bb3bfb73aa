"""Methods: how a problem is solved."""

from __future__ import annotations

from ..problem import Problem
from .accelerated import AcceleratedIPDS
from .base import Method, State
from .ipds import IPDS
from .reduction import eliminable

__all__ = ["AcceleratedIPDS", "IPDS", "Method", "State", "candidates", "named"]

_NAMES = {"ipds": IPDS, "sound": lambda: IPDS("sound")}


def named(name: str) -> Method:
    """The method called `name`, with default settings."""
    if not isinstance(name, str) or name not in _NAMES:
        raise ValueError(f"method must be 'auto', a Method or one of {sorted(_NAMES)}, got {name!r}")
    return _NAMES[name]()  # type: ignore[no-any-return, operator]


def candidates(problem: Problem) -> list[Method]:
    """Methods for this problem, the fastest sound choice first."""
    accelerated: list[Method] = [] if eliminable(problem) is None else [AcceleratedIPDS()]
    return [*accelerated, IPDS("practical")]
