"""Who watches a solve: the clock and the callback, at checks and while workers keep the driver waiting."""

from __future__ import annotations

from typing import Any

from ..deadline import deadline, raise_if_late
from .options import Callback
from .stopping import Stopwatch

AGAIN = 5.0
"""Seconds of waiting for workers after which the callback is called again, with what it was shown last."""


class Stopped(Exception):
    """The callback has raised StopIteration."""


class Watch:
    """Calls back, off the clock; as a function, what to look at after so many seconds of waiting for workers."""

    def __init__(self, clock: Stopwatch, callback: Callback | None):
        self._clock, self._callback = clock, callback
        self._shown: Any = None
        self._next = AGAIN

    def show(self, shown: Any) -> None:
        """Call back with an intermediate result; `Stopped` where that ends the solve."""
        assert self._callback is not None
        distributed = any(type(block).__module__.startswith("dask") for block in (*shown.x, shown.z))
        self._shown = shown if distributed else None  # nothing else keeps the driver waiting
        try:
            with deadline(None):
                self._clock.outside(lambda: self._callback(shown))  # type: ignore[misc]
        except StopIteration:
            raise Stopped from None
        except Exception as error:
            error.add_note(f"ipds: raised by the callback at iteration {shown.nit}")
            raise

    def __call__(self, waited: float) -> None:
        raise_if_late()
        self._next = AGAIN if waited < AGAIN else self._next
        if waited >= self._next and self._shown is not None:
            self._next = waited + AGAIN
            self.show(self._shown)
