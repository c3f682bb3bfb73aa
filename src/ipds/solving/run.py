"""Where a run stands: all that the loop carries from check to check, and all that a checkpoint keeps of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..methods import Method, State
from ..problem import Problem
from ..status import Status
from ..theory.diagnostics import certify, objective, uncertified
from .history import History
from .options import Options
from .stopping import Check, Stagnation, Stopwatch

FINAL = (Status.DIVERGED, Status.STALLED, Status.STALLED_FEASIBLE)
"""Ends that higher limits would not change."""
BETWEEN = (Status.DIVERGED, Status.FAILED, Status.INTERRUPTED)
"""Ends that come between two checks: what can be reported is the best of the checks before."""


@dataclass
class Run:
    """The last good check, the best one, and what was recorded on the way."""

    caps: tuple[float, ...]
    """The scale of a certificate may be as large as this where larger ones were seen before (`scales.units`)."""
    good: Check
    """The last finite check; once the run has gone on from it, `passed`, or `kept` for a journal."""
    best: Check
    """The check of lowest objective where the method may smooth on purpose, else of lowest relative certificate.

    The only point that a run holds on to: for ends between two checks, and those at a smoothed point."""
    state: State | None
    """The state of the last finite check; None once the run has gone on and no journal may have to go back."""
    smooths: bool
    """Whether the method may smooth on purpose."""
    largest: tuple[float, ...] = ()
    """The largest scales of certificates so far."""
    watcher: Stagnation = field(default_factory=Stagnation)
    history: History = field(default_factory=History)
    seconds: float = 0.0
    status: Status | None = None
    """Why the run ended; None while it goes on."""

    @classmethod
    def begin(cls, problem: Problem, method: Method, state: State, caps: tuple[float, ...]) -> Run:
        """The run at t = 0."""
        check = Check(state, uncertified(problem, state), float(objective(problem, state)))
        smooths = method.may_smooth(state) and problem.restorable is not None
        return cls(caps, check, check.kept(), state, smooths)

    def look(self, problem: Problem, state: State, options: Options, clock: Stopwatch) -> Status | None:
        """Certify and note a state; the status that ends the run there, or None."""
        fun = objective(problem, state)  # a number still to come is there with those of the certificate
        check = Check(state, certify(problem, state, self.largest), float(fun))
        if not check.finite:
            return Status.DIVERGED
        self.note(check, clock.seconds())
        return self.limits(options) or self.watcher.status(check, options.tol)

    def note(self, check: Check, seconds: float) -> None:
        """Take a finite check into account."""
        certificate, seen = check.certificate, check.certificate.scales
        self.good, self.state, self.seconds = check, check.state, seconds
        self.largest = tuple(map(min, self.caps, map(max, seen, self.largest or seen)))
        lowest = check.fun < self.best.fun
        nearest = certificate.relative <= self.best.certificate.relative
        if self.best.state.t == 0 or (lowest if self.smooths else nearest):
            self.best = check.kept()
        self.history.record(
            iteration=check.state.t,
            seconds=seconds,
            objective=check.fun,
            feasibility=certificate.feasibility,
            stationarity=sum(certificate.stationarity),
            critical=certificate.critical,
            relative=certificate.relative,
            beta=check.state.beta,
            mu=check.state.mu,
        )

    def leave(self, state: State | None) -> None:
        """Go on from the last check; `state` is what a journal may have to go back to, None where there is none."""
        if state is None:
            self.good, self.state = self.good.passed(), None
        else:
            latest = self.best.state.t == self.good.state.t
            self.good, self.state = self.best if latest else self.good.kept(), state

    def limits(self, options: Options) -> Status | None:
        """The status at the last check by tolerance and limits alone; None where they let the run go on."""
        if self.good.certificate.relative <= options.tol and self.good.state.settled:
            return Status.CONVERGED
        if self.good.state.t >= options.max_iter:
            return Status.MAX_ITER
        if options.time_limit is not None and self.seconds > options.time_limit:
            return Status.TIME_LIMIT
        return None

    @property
    def lowest(self) -> Check | None:
        """The check of lowest objective, where a smoothed point may have to be replaced."""
        return self.best if self.smooths and self.best.state.t > 0 else None

    def answer(self) -> Check:
        """The check to report."""
        if self.status is Status.CONVERGED:
            return self.good
        found = self.best if self.status in BETWEEN else self.good
        if found.state.transient and self.lowest is not None:
            found = self.lowest  # stopped while smoothed on purpose: the best feasible objective seen
        whole = self.good.state.t == found.state.t and self.good.state.x
        return self.good if whole else found
