"""A time limit that is felt inside a step: loops within a method ask here whether they may go on.

A loop whose result is of use at any moment stops where it is (`late`); a search that has found nothing yet leaves the
whole step (`raise_if_late`), and what was before it stands. Every thread and every nested solve has its own deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar


class OutOfTime(Exception):
    """A step was left because its time is over."""


_over: ContextVar[Callable[[], bool] | None] = ContextVar("deadline", default=None)


class deadline:
    """Within this context the time is over once `over` says so; None is no limit."""

    def __init__(self, over: Callable[[], bool] | None):
        self._limit = over

    def __enter__(self) -> None:
        self._before = _over.set(self._limit)

    def __exit__(self, *error: object) -> None:
        _over.reset(self._before)


def late() -> bool:
    """Whether the time is over.

    >>> with deadline(lambda: True):
    ...     late()
    True
    >>> late()
    False
    """
    over = _over.get()
    return over is not None and over()


def raise_if_late() -> None:
    """Leave the step where the time is over."""
    if late():
        raise OutOfTime
