"""A line of progress for people; quiet where nobody looks."""

from __future__ import annotations

import sys
from types import TracebackType


class Progress:
    """Shows iteration, objective, feasibility, certificate, β and time on one line of a terminal."""

    def __init__(self, enabled: bool):
        self._bar = None
        if enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status as Spinner

            self._bar = Spinner("starting", console=Console(stderr=True))

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(
        self,
        iteration: int,
        objective: float,
        feasibility: float,
        relative: float,
        beta: float,
        seconds: float,
    ) -> None:
        """Update the line."""
        if self._bar is not None:
            self._bar.update(
                f"iteration {iteration}  objective {objective:.8g}  feasibility {feasibility:.1e}  "
                f"certificate {relative:.1e}  beta {beta:.2g}  {seconds:.1f} s"
            )
