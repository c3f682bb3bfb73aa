"""A stopwatch that scores: best feasible objective against CPU time, with the scoring off the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Point = Any
Scorer = Callable[[Point], tuple[float, Point] | None]


@dataclass
class Recorder:
    """Solvers call it with their current point, or points, or functions that make one; cheap when called often.

    `score` maps a point to (objective, feasible point), or None where there is none. StopIteration ends a run that
    has used `budget` seconds, or has not improved by SMALL for `patience` seconds and 1.5 times as long as it had run.
    """

    score: Scorer
    budget: float
    patience: float = math.inf
    curve: list[tuple[float, float]] = field(default_factory=list)
    best: tuple[float, Point] = (math.inf, None)
    paused: float = 0.0
    due: float = 0.0
    improved: float = 0.0
    began: float = 0.0
    over: bool = False
    """Whether it has ended the run."""

    def start(self) -> None:
        self.began = time.process_time()

    def seconds(self) -> float:
        return time.process_time() - self.began - self.paused

    def __call__(self, *points: Point, final: bool = False) -> None:
        entered = time.process_time()
        t = entered - self.began - self.paused
        if t >= self.due or final:
            for point in points:
                self._see(t, point() if callable(point) else point)
            self.due = 1.03 * t + 2e-4
            self.paused += time.process_time() - entered
        if not final and (t > self.budget or t > self.patience + 2.5 * self.improved):
            self.over = True
            raise StopIteration

    def _see(self, t: float, point: Point) -> None:
        scored = self.score(point)
        if scored is None or not scored[0] < self.best[0]:
            return
        if not scored[0] > self.best[0] - SMALL * abs(scored[0]):
            self.improved = t
        self.best = scored
        self.curve.append((t, scored[0]))

    def reached(self, target: float) -> float:
        """CPU seconds until the objective was at most `target`; inf if never."""
        return next((t for t, value in self.curve if value <= target), math.inf)


SMALL = 1e-7
"""Relative improvement that counts as progress."""
