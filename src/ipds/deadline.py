"""A time limit that is felt inside a step: loops within a method ask here whether they may go on.

A loop whose result is of use at any moment stops where it is (`late`); a search that has found nothing yet leaves the
whole step (`raise_if_late`), and what was before it stands. Every thread and every nested solve has its own deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class OutOfTime(Exception):
    """A step was left because its time is over."""


_over: ContextVar[Callable[[], bool] | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(over: Callable[[], bool] | None) -> Iterator[None]:
    """Within this context the time is over once `over` says so; None is no limit."""
    token = _over.set(over)
    try:
        yield
    finally:
        _over.reset(token)


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
