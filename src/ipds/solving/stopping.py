"""What the loop looks at to stop: the clock, a check of the state, and whether anything still moves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._arrays import Array, norm, precision
from ..status import Status
from ..theory.certificate import Certificate
from .history import History

GRACE = 5.0
"""Seconds that workers are given to answer once a solve has ended, before what they hold is left."""


class Stopwatch:
    """Seconds of solving; pauses while callers' code runs."""

    def __init__(self, before: float = 0.0, limit: float | None = None) -> None:
        """`before`: seconds already spent; `limit`: seconds at most."""
        self._start, self._paused = time.perf_counter() - before, 0.0
        self._limit = math.inf if limit is None else limit

    def seconds(self) -> float:
        """Seconds on the clock."""
        return time.perf_counter() - self._start - self._paused

    def left(self) -> float:
        """Seconds until the limit; ∞ where there is none."""
        return max(0.0, self._limit - self.seconds())

    def over(self) -> bool:
        """Whether the limit has passed."""
        return self.seconds() > self._limit

    def long_over(self) -> bool:
        """Whether it passed so long ago that workers which have not answered yet are not waited for."""
        return self.seconds() > self._limit + GRACE

    def outside(self, call: Callable[[], object]) -> None:
        """Run `call` off the clock."""
        begin = time.perf_counter()
        try:
            call()
        finally:
            self._paused += time.perf_counter() - begin


class Check(NamedTuple):
    """What was measured of a State: numbers alone."""

    t: int
    certificate: Certificate
    fun: float
    beta: float = 0.0
    mu: float = 0.0
    settled: bool = True
    transient: bool = False
    moved: float = -math.inf
    """What the paper's stopping rule compares with `tol`; -∞ where the certificate alone decides."""

    @property
    def finite(self) -> bool:
        """Whether everything measured is finite; then so are the blocks and the multiplier.

        An objective of +∞ is none of ours: a set that does not say it is one may miss its own points by rounding.
        """
        return math.isfinite(self.certificate.critical) and self.fun > -math.inf


HUGE = 1e8
"""A penalty that has grown by this factor can do no more for the equation."""
AWAY = 1e-2
"""An equation whose rows are off by more than this does not hold in any sense."""


class Mark(NamedTuple):
    """What is remembered of a check to see whether anything has moved since."""

    t: int
    relative: float
    fun: float


NOWHERE = Mark(0, math.inf, math.inf)


@dataclass
class Stagnation:
    """Sees when progress has ended: a stretch of checks in which nothing moves any more."""

    CHECKS: ClassVar[int] = 30
    ITERATIONS: ClassVar[int] = 300

    since: Mark = NOWHERE
    """The check at which something last moved."""
    count: int = 0
    """Checks since then."""
    z: Array | None = None
    """The multiplier at the first of them, None where there is none: a run that moves need not hold an old one."""

    def status(self, check: Check, z: Array, tol: float) -> Status | None:
        """A stalled status once neither certificate nor objective has moved for long, else None."""
        since = self.since
        if since.t == 0 or self._moved(since, check, precision(z)):
            self._begin(check)
            return None
        self.count += 1
        self.z = z if self.z is None else self.z
        if self.count < self.CHECKS or check.t - since.t < self.ITERATIONS:
            return None
        if check.certificate.rows <= tol:
            return Status.STALLED_FEASIBLE
        if norm(z - self.z) > 0.01 * norm(self.z):
            # not feasible, and the multiplier still on its way: all else may be waiting for it (x̆_n = 0, say)
            self._begin(check)
            return None
        return Status.STALLED

    def _begin(self, check: Check) -> None:
        self.since, self.count, self.z = Mark(check.t, check.certificate.relative, check.fun), 0, None

    @staticmethod
    def _moved(since: Mark, check: Check, eps: float) -> bool:
        better = check.certificate.relative < 0.98 * since.relative
        noise = max(1e-9, 50 * eps)
        return better or abs(check.fun - since.fun) > noise * max(abs(check.fun), abs(since.fun))


def out_of_reach(history: History, rows: float) -> bool:
    """Whether the equation comes no nearer to holding although the penalty has been `HUGE` for long.

    The iterates may go on for ever all the same, from one point of a nonconvex set to the next.
    """
    huge = HUGE * history.first("beta")
    if rows <= AWAY or history.last("beta") < huge or huge == 0.0:  # some methods have no penalty
        return False
    smaller = np.flatnonzero(history["beta"] < huge)
    t, residual = (history[name][smaller[-1] + 1 :] for name in ("iteration", "feasibility"))
    if len(t) < Stagnation.CHECKS or t[-1] - t[0] < Stagnation.ITERATIONS:
        return False
    half = len(t) // 2
    return bool(residual[half:].min() >= 0.98 * residual[:half].min())
