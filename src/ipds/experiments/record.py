"""The clock: wall-clock seconds, with the scoring off it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its last point Y, a word, steps, ‖Y - V‖ and the relative certificate where there is one."""

    point: np.ndarray
    status: str
    steps: int
    feasibility: float
    certificate: float | None = None


@dataclass
class Recorder:
    """Called with the current point as often as one likes; scores it at times that grow by `RATIO`."""

    score: Callable[[np.ndarray], float]
    budget: float
    curve: list[tuple[float, float]] = field(default_factory=list)
    over: bool = False
    """The budget is used up."""
    _began: float = 0.0
    _paused: float = 0.0
    _due: float = 0.0
    _cpu: float = 0.0

    def start(self) -> None:
        """Start the clock."""
        self._cpu, self._began = time.process_time(), time.perf_counter()

    def seconds(self) -> float:
        """Wall-clock seconds, without the scoring."""
        return time.perf_counter() - self._began - self._paused

    def cpu_seconds(self) -> float:
        """CPU seconds, scoring included: near `seconds` where the machine was not shared."""
        return time.process_time() - self._cpu

    def __call__(self, Y: np.ndarray) -> None:
        t = self.seconds()
        self.over = t > self.budget
        if t >= self._due:
            entered = time.perf_counter()
            self.curve.append((t, self.score(Y)))
            self._due = RATIO * t + FIRST
            self._paused += time.perf_counter() - entered


RATIO, FIRST = 1.1, 1e-3
