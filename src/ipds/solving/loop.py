"""The only loop of the package: step, check, record, call back, stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, to_caller
from ..deadline import OutOfTime, deadline
from ..distributed import at_most, looking
from ..errors import with_result
from ..methods import Method, State
from ..presolve import Presolved
from ..status import Status
from .advance import Advance
from .checkpoint import Journal
from .options import Options
from .progress import Progress
from .remarks import certified, growing, overgrown, unsolved
from .run import FINAL, Look, Run
from .starting import Start
from .stopping import GRACE, Stopwatch
from .watch import Stopped, Watch

if TYPE_CHECKING:
    from ..result import Result

PASSES = 4
"""Iterations after which a check of distributed blocks is read: its numbers need so many passes, one after the other,
and come with those of the steps."""


def run_method(
    done: Presolved,
    start: Start,
    method: Method,
    options: Options,
    log: Journal,
    begun: Stopwatch,
) -> Result:
    """A method from its start, or from where it was saved, to its end; `begun` runs since the solve was called."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), Progress(options) as bar:
        x0, z0 = start.take()
        setup, carry = method.init(done.problem, *done.start(x0, z0, start.gives_multiplier))
        run = Run.begin(done.stated, x0, z0, method.may_smooth(setup))
        run, carry = log.resume(run, carry)
        advance = Advance(done.problem, method, setup, z0)
        held, dtype = [carry], z0.dtype
        del x0, z0, carry  # `held` and the run hold what is needed of them
        clock = Stopwatch(run.seconds + begun.seconds(), options.time_limit)
        if run.status not in FINAL:  # an earlier part of the solve may have ended where this one may go on
            run.status = run.limits(options)
        watch = Watch(clock, options.callback)
        try:
            try:
                with deadline(clock.over), looking(watch):
                    Loop(done, options, not method.announces, run, clock, bar, log, watch).until_the_end(
                        advance, held
                    )
            except KeyboardInterrupt:
                run.status = Status.INTERRUPTED
            except OutOfTime:  # in the middle of a check, while waiting for workers
                run.status = Status.TIME_LIMIT
            except Stopped:
                run.status = Status.CALLBACK
            run.seconds = clock.seconds()
            with looking(at_most(GRACE)):
                log.keep(run)
        except Exception as error:
            # of the caller's functions, operators or callback, of the disk or the cluster
            run.status = run.status or Status.FAILED
            reached = result_of(done, method, run, method.parameters_of(setup), options.tol, dtype)
            with_result(error, done.stated.answer(reached))
            log.failed(error)
            with looking(at_most(GRACE)):
                log.keep(run)
            raise
    return done.stated.answer(result_of(done, method, run, method.parameters_of(setup), options.tol, dtype))


@dataclass
class Loop:
    """A run, and all that watches it."""

    done: Presolved
    options: Options
    first: bool
    """Whether the first iteration is checked in any case."""
    run: Run
    clock: Stopwatch
    bar: Progress
    log: Journal
    watch: Watch
    pending: tuple[Any, Look] | None = None
    """The carry and the look of an earlier iteration whose numbers are still to come, with those of later steps."""

    def until_the_end(self, advance: Advance, held: list[Any]) -> None:
        """Step, check, record, call back, save; ends by giving the run a status. `held` holds the carry, and no more.

        While a step runs, what came before it is held only where a time limit may end the step halfway.
        """
        run, options, state = self.run, self.options, None
        while run.status is None:
            before, state = (held[0], state) if options.time_limit is not None else (None, None)
            try:
                carry, state = advance(held, self.until(held[0].t))
                run.end = None
            except OutOfTime:  # in the middle of a step, which then did not happen
                carry = before
            held.append(carry)
            del carry, before
            with deadline(self.clock.long_over):
                if self.pending is not None and not self.clock.over():  # then a later one is checked
                    self.conclude(*self.pending)
                if run.status is None:
                    self.look_at(held[0], state)

    def look_at(self, carry: Any, state: State | None) -> None:
        """Check the state where that is due."""
        run = self.run
        if state is None or state.t == run.last.t:  # no step was made since the last check
            run.status = Status.TIME_LIMIT
            if state is not None:
                run.finish(self.done.undo(state))
        elif self.is_due(state):
            self.check(carry, self.done.undo(state))

    def is_due(self, state: State) -> bool:
        """Whether a state is checked."""
        t, options = state.t, self.options
        regular = (self.first and t == 1) or t % options.check_every == 0 or t >= options.max_iter
        return state.due or regular or self.clock.over()

    def until(self, t: int) -> int:
        """The iteration to go on to after t: that of the next check, or where the last one is to be read."""
        due = self.options.next_check(t, self.first, self.run.last.transient)
        return due if self.pending is None else min(due, t + PASSES)

    def check(self, carry: Any, state: State) -> None:
        """Look at a state; conclude the check, or leave that until the numbers have come."""
        look = Look(self.done.stated, state)
        if state.t < self.options.max_iter and not self.clock.over() and look.waits():
            self.pending = carry, look
        else:
            self.conclude(carry, look)

    def conclude(self, carry: Any, look: Look) -> None:
        """Certify a state, show it, call back, save; gives the run a status where it ends there."""
        look = look.cleared(self.options.tol)
        run, state, self.pending = self.run, look.state, None
        run.check(self.done.stated, look, self.options, self.clock)
        if run.status is not Status.DIVERGED:
            self.log.note(run, carry, state)
            self.bar.show(run.last, run.seconds)
            if self.options.callback is not None and not self.goes_on(state):
                run.status = Status.CALLBACK
            if run.status is not None:
                run.finish(state)
        self.log.keep(run)

    def goes_on(self, state: State) -> bool:
        """Call back, off the clock; False where the callback raises StopIteration."""
        from ..result import intermediate

        # copies: a callback that writes into what it is shown must not disturb the solve
        *blocks, z = (to_caller(copied) for copied in [array + 0 for array in (*state.q, state.z)])
        last, nit = self.run.last, self.options.before + self.run.last.t
        shown = intermediate(x=tuple(blocks), z=z, fun=last.fun, nit=nit, certificate=last.certificate)
        try:
            self.watch.show(shown)
        except Stopped:
            return False
        return True


def result_of(
    done: Presolved, method: Method, run: Run, parameters: Any, tol: float, dtype: Any = None
) -> Result:
    """What a run has found, in the precision of its start (`dtype`) where presolve has changed it."""
    from ..result import Result

    with looking(at_most(GRACE)):
        run.measure_start(done.stated)
    point, status = run.answer(), run.status or Status.FAILED
    remarks = [] if run.proof is None else [str(run.proof)]
    grown = overgrown(done.stated, point.x, point.fun) if status is Status.CONVERGED else []
    if grown:  # certified by rounding, and no answer
        status, remarks = Status.STALLED, grown
    elif status is Status.CONVERGED:
        remarks = certified(done.stated, point.x, point.fun, point.t)
    elif run.proof is None:
        remarks = unsolved(run.history, point.certificate.rows, tol, status)
        remarks = remarks or growing(done.stated, point.x, status, point.t)
    return Result(
        x=tuple([to_caller(_in_precision(xi, dtype)) for xi in point.x]),
        z=to_caller(_in_precision(point.z, dtype)),
        fun=point.fun,
        success=status is Status.CONVERGED,
        status=status,
        message="; ".join([status.value, *remarks]),
        nit=point.t,
        seconds=run.seconds,
        certificate=point.certificate,
        history=run.history,
        state=run.state if point is run.end else None,
        parameters=parameters,
        method=method.name,
        presolve=done.report,
        starts=1,
        proof=run.proof,
    )


def _in_precision(x: Array, dtype: Any) -> Array:
    return x.astype(dtype) if type(x) is np.ndarray and dtype is not None and x.dtype != dtype else x
