"""Progress for people: two live lines in a terminal or a notebook, as rich draws them; nothing in a pipe."""

from __future__ import annotations

import math
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .options import Options
    from .stopping import Check

EVERY = 0.1
"""Seconds between updates at least: drawing must not cost more than solving."""


class Progress:
    """Shows iteration, objective, feasibility, certificate with its target, β, time and time left."""

    def __init__(self, options: Options):
        self._live = _live() if options.progress else None
        self._forecast = Forecast(options.tol, options.max_iter, options.time_limit)
        self._target = options.tol
        self._last = -math.inf
        self._table: Any = None

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            if self._table is not None:
                self._live.update(self._table, refresh=True)
            self._live.stop()

    def show(self, check: Check, seconds: float) -> None:
        """Update what is shown."""
        if self._live is None:
            return
        certificate = check.certificate
        self._forecast.note(check.t, seconds, certificate.relative)
        self._table = _columns(
            {
                "iteration": str(check.t),
                "objective": f"{check.fun:.8g}",
                "feasibility": f"{certificate.feasibility:.1e}",
                f"certificate (→ {self._target:.0e})": f"{certificate.relative:.1e}",
                "β": f"{check.beta:.3g}",
                "time": _duration(seconds),
                "left": self._forecast.left(),
            }
        )
        now = time.perf_counter()
        if now - self._last >= EVERY:
            self._last = now
            self._live.update(self._table, refresh=True)


def _live() -> Any:
    """A live display on a terminal or in a notebook (where rich needs ipywidgets); None where nobody looks."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    watched = console.is_jupyter or console.is_terminal
    return Live(console=console, transient=True, auto_refresh=False) if watched else None


def _columns(fields: dict[str, str]) -> Any:
    """Names above values."""
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid(padding=(0, 2))
    lines.add_row(*(Text(name, style="dim") for name in fields))
    lines.add_row(*fields.values())
    return lines


class Forecast:
    """Time left: of the limits, or less where the certificate falls steadily.

    A certificate that fell by a factor over the last checks is taken to go on at that pace.

    >>> forecast = Forecast(tol=1e-4, max_iter=10_000, time_limit=None)
    >>> for k in range(5):
    ...     forecast.note(iteration=10 * (k + 1), seconds=k + 1.0, relative=10.0**-k / 10)
    >>> forecast.left()                              # a factor ten each second, at 1e-5 now
    '≈ 0 s'
    >>> limited = Forecast(tol=1e-9, max_iter=100, time_limit=60.0)
    >>> limited.note(iteration=50, seconds=20.0, relative=1.0)
    >>> limited.left()                               # 50 more iterations at this pace come before the time limit
    '≤ 20 s'
    """

    def __init__(self, tol: float, max_iter: int, time_limit: float | None):
        self.tol, self.max_iter, self.time_limit = tol, max_iter, time_limit
        self._recent: deque[tuple[int, float, float]] = deque(maxlen=20)

    def note(self, iteration: int, seconds: float, relative: float) -> None:
        """Take a check into account."""
        self._recent.append((iteration, seconds, relative))

    def left(self) -> str:
        """≈ where the certificate tells, ≤ where only the limits do."""
        iteration, seconds, relative = self._recent[-1]
        bound = (self.max_iter - iteration) * seconds / max(iteration, 1)
        if self.time_limit is not None:
            bound = min(bound, max(0.0, self.time_limit - seconds))
        estimate = self._estimate(seconds, relative)
        if estimate < bound:
            return f"≈ {_duration(estimate)}"
        return f"≤ {_duration(bound)}"

    def _estimate(self, seconds: float, relative: float) -> float:
        if relative <= self.tol:
            return 0.0
        _, then, before = self._recent[0]
        if len(self._recent) < 5 or not 0 < relative < before < math.inf or self.tol <= 0:
            return math.inf
        return (seconds - then) * math.log(relative / self.tol) / math.log(before / relative)


def _duration(seconds: float) -> str:
    """3 s, 2 min, 1.5 h: as exact as anyone wants to know."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
