"""Progress for people: two live lines in a terminal, a small table in a notebook, nothing in a pipe."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .options import Options
    from .stopping import Check

EVERY = 0.1
"""Seconds between updates at least: drawing must not cost more than solving."""


class Progress:
    """Shows iteration, objective, feasibility, certificate with its target, β, time and time left."""

    def __init__(self, options: Options):
        self._display = _display() if options.progress else None
        self._forecast = Forecast(options.tol, options.max_iter, options.time_limit)
        self._target = options.tol
        self._last = -math.inf
        self._fields: dict[str, str] = {}

    def __enter__(self) -> Progress:
        if self._display is not None:
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            if self._fields:
                self._display.update(self._fields)
            self._display.stop()

    def show(self, check: Check, seconds: float) -> None:
        """Update what is shown."""
        if self._display is None:
            return
        certificate = check.certificate
        self._forecast.note(check.t, seconds, certificate.relative)
        self._fields = {
            "iteration": str(check.t),
            "objective": f"{check.fun:.8g}",
            "feasibility": f"{certificate.feasibility:.1e}",
            f"certificate (→ {self._target:.0e})": f"{certificate.relative:.1e}",
            "β": f"{check.beta:.3g}",
            "time": _duration(seconds),
            "left": self._forecast.left(),
        }
        now = time.perf_counter()
        if now - self._last >= EVERY:
            self._last = now
            self._display.update(self._fields)


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


class _Display(Protocol):
    """Where progress is drawn."""

    def start(self) -> None: ...
    def update(self, fields: dict[str, str]) -> None: ...
    def stop(self) -> None: ...


class _Terminal:
    """Names and values on two lines, which vanish at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)

    def start(self) -> None:
        self._live.start()

    def update(self, fields: dict[str, str]) -> None:
        from rich.table import Table
        from rich.text import Text

        lines = Table.grid(padding=(0, 2))
        lines.add_row(*(Text(name, style="dim") for name in fields))
        lines.add_row(*fields.values())
        self._live.update(lines, refresh=True)

    def stop(self) -> None:
        self._live.stop()


class _Notebook:
    """A table that is redrawn in place; the last one stays."""

    def __init__(self) -> None:
        self._handle: Any = None

    def start(self) -> None:
        """The table appears with the first values."""

    def update(self, fields: dict[str, str]) -> None:
        from IPython.display import HTML, display

        names = "".join(f"<th>{escape(name)}</th>" for name in fields)
        values = "".join(f"<td>{escape(value)}</td>" for value in fields.values())
        table = HTML(f"<table><tr>{names}</tr><tr>{values}</tr></table>")
        if self._handle is None:
            self._handle = display(table, display_id=True)
        else:
            self._handle.update(table)

    def stop(self) -> None:
        """The table stays as it is."""


def _display() -> _Display | None:
    """A display for where we are; None where nobody looks."""
    if _in_notebook():
        return _Notebook()
    return _Terminal() if sys.stderr.isatty() else None


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this (IPython in a terminal does not count)."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


def _duration(seconds: float) -> str:
    """3 s, 2 min, 1.5 h: as exact as anyone wants to know."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
