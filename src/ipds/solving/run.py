"""Where a run stands beside its method's carry: what was measured, the best point, what was recorded on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from .._arrays import Array, is_awaited
from ..problem import Problem
from ..status import Status
from ..theory.certificate import Certificate, ask, uncertified, unmeasured
from ..theory.objective import objective
from ..theory.proofs import Proof, no_solution
from ..theory.state import State, start_of
from ..theory.zeros import without_rounding
from .history import History
from .options import Options
from .stopping import Check, Stagnation, Stopwatch, out_of_reach

FINAL = (Status.DIVERGED, Status.STALLED, Status.STALLED_FEASIBLE, Status.PENALTY_CEILING)
"""Ends that higher limits would not change."""
PROOFS = 5
"""Checks between two tries to prove that there is no solution; the last check tries as well."""
ADRIFT = 1.0
"""Relative certificate from which on every check tries: what is left of the forces is as large as these are, as where
multipliers or blocks grow without end."""
PROVED = {"infeasible": Status.INFEASIBLE, "unbounded": Status.UNBOUNDED}


class Point(NamedTuple):
    """A point that may be the answer."""

    t: int
    x: tuple[Array, ...]
    z: Array
    certificate: Certificate
    fun: float

    @classmethod
    def of(cls, state: State, check: Check) -> Point:
        """The point of a State that was checked."""
        return cls(state.t, state.q, state.z, check.certificate, check.fun)

    def measured(self, problem: Problem) -> Point:
        """A starting point with its residual and its objective."""
        start = start_of(problem, self.x, self.z)
        return self._replace(certificate=uncertified(problem, start), fun=float(objective(problem, start)))


class Look:
    """A State at a check: its objective and its certificate, whose numbers may still be to come from a cluster."""

    def __init__(self, problem: Problem, state: State):
        self.problem, self.state = problem, state
        self.fun = objective(problem, state)  # a number still to come is there with those of the certificate
        self._answer: Callable[[], Certificate] | None = None

    def waits(self) -> bool:
        """Whether numbers are still to come: those of the certificate are asked for then as well."""
        if is_awaited(self.fun):
            self._answer = ask(self.problem, self.state)
        return self._answer is not None

    @cached_property
    def certificate(self) -> Certificate:
        """That of the State, from when it is read first."""
        return (self._answer or ask(self.problem, self.state))()

    def cleared(self, tol: float) -> Look:
        """The same, or a look at the point without rounding in rows 0 = 0 where these alone are in the way."""
        found = self.certificate
        if found.rows <= tol or found.work > tol:
            return self
        state = without_rounding(self.problem, self.state, tol)
        other = None if state is None else Look(self.problem, state)
        return self if other is None or other.certificate.relative >= found.relative else other


@dataclass
class Run:
    """A run as it goes on from check to check."""

    smooths: bool
    """Whether the method may smooth on purpose."""
    last: Check
    """The last finite check."""
    best: Point
    """The point of lowest objective where the method may smooth on purpose, else of lowest relative certificate.

    The only point that a run holds on to: for ends between two checks, and those at a smoothed point."""
    end: Point | None = None
    """The point of the last check, where the run ended there."""
    state: State | None = None
    """The State it came from."""
    watcher: Stagnation = field(default_factory=Stagnation)
    history: History = field(default_factory=History)
    seconds: float = 0.0
    status: Status | None = None
    """Why the run ended; None while it goes on."""
    proof: Proof | None = None
    """That there is no solution, where one was found."""

    @classmethod
    def begin(cls, problem: Problem, x0: tuple[Array, ...], z0: Array, may_smooth: bool) -> Run:
        """The run at t = 0; the start is measured where it turns out to be the answer (`measure_start`)."""
        check = Check(0, unmeasured(len(x0)), math.inf)
        best = Point(0, x0, z0, check.certificate, check.fun)
        return cls(may_smooth and problem.restorable is not None, check, best)

    def check(self, problem: Problem, look: Look, options: Options, clock: Stopwatch) -> None:
        """Certify a State and take note of it; sets the status where the run ends there."""
        state, certificate, fun = look.state, look.certificate, look.fun
        rest = state.beta, state.mu, state.settled, state.transient, float(state.moved)
        check = Check(state.t, certificate, float(fun), *rest)
        if not check.finite:
            self.status = Status.DIVERGED
            return
        self.record(check, Point.of(state, check), clock.seconds())
        self.status = self.limits(options) or self.watcher.status(check, state.z, options.tol)
        lost = state.exhausted or out_of_reach(self.history, certificate.rows)
        if lost and self.status in (None, Status.STALLED):
            self.status = Status.PENALTY_CEILING
        due = check.t % (PROOFS * options.check_every) == 0 or certificate.relative >= ADRIFT
        if due or self.status is not None:
            self.proof = no_solution(problem, state, certificate, options.tol)
            if self.proof is not None:
                self.status = PROVED[self.proof.kind]

    def record(self, check: Check, point: Point, seconds: float) -> None:
        """Take a finite check into account."""
        certificate = check.certificate
        self.last, self.seconds = check, seconds
        lowest = check.fun < self.best.fun
        nearest = certificate.relative <= self.best.certificate.relative
        if self.best.t == 0 or (lowest if self.smooths else nearest):
            self.best = point
        self.history.record(
            iteration=check.t,
            seconds=seconds,
            objective=check.fun,
            feasibility=certificate.feasibility,
            stationarity=sum(certificate.stationarity),
            critical=certificate.critical,
            relative=certificate.relative,
            beta=check.beta,
            mu=check.mu,
        )

    def limits(self, options: Options) -> Status | None:
        """The status at the last check by tolerance and limits alone; None where they let the run go on.

        Where the paper's stopping rule was asked for, a certified point waits for it; the rule alone is no success.
        """
        limit = None
        if self.last.t >= options.max_iter:
            limit = Status.MAX_ITER
        elif options.time_limit is not None and self.seconds > options.time_limit:
            limit = Status.TIME_LIMIT
        at_rest = self.last.moved <= options.tol
        if self.last.certificate.relative <= options.tol and self.last.settled and (at_rest or limit):
            return Status.CONVERGED
        return Status.AT_REST if at_rest and self.last.moved >= 0 else limit

    def finish(self, state: State) -> None:
        """End at the last check, whose State this is."""
        self.end, self.state = Point.of(state, self.last), state

    def measure_start(self, problem: Problem) -> None:
        """Measure the start where it is the answer; what cannot be measured any more stays as it is."""
        if self.end is None and self.best.t == 0:
            with suppress(
                Exception
            ):  # of the caller's functions or the cluster, which may have ended the run
                self.best = self.best.measured(problem)

    def answer(self) -> Point:
        """The point to report: that of the last check, or the best one before an end between two checks.

        Where the run was stopped while smoothed on purpose: the best feasible objective seen.
        """
        if self.end is None:
            return self.best
        smoothed = self.last.transient and self.status is not Status.CONVERGED
        return self.best if smoothed and self.smooths and self.best.t > 0 else self.end
