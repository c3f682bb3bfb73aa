"""One call of `solve`: how a run of it is made, and what methods that follow one another come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ..deadline import deadline
from ..errors import AssumptionError, DivergenceError, with_result
from ..methods import Method, candidates
from ..methods.choosing import given_to, handover
from ..methods.faces import GivenFace
from ..presolve import Presolved
from ..problem import Problem
from ..status import Status
from .checkpoint import Journal
from .history import joined
from .loop import run_method
from .options import Options
from .run import FINAL
from .starting import Start
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result


@dataclass
class Call:
    """What a call of `solve` asks for, checked and presolved."""

    problem: Problem
    done: Presolved
    chosen: Method | None
    """None for "auto"."""
    options: Options
    log: Journal
    begun: Stopwatch
    seed: Any
    presolve: bool
    methods: Sequence[Method] = ()
    """Of "auto", once known; those that failed at first are not tried from another start."""

    def near(self, start: Start) -> Result | None:
        """The answer, where a start with a multiplier is so near that its face leads to it; else None."""
        if self.chosen is not None or self.log.saves or not start.gives_multiplier:
            return None
        try:
            result = run_method(self.done.in_units, start, GivenFace(), self.options, self.log, self.begun)
        except (AssumptionError, np.linalg.LinAlgError):
            return None
        result.method = f"auto: {result.method}"
        return result

    def run(self, start: Start, options: Options | None = None) -> Result:
        """One run, on the clock and in the journal of the call; with the options of the call, or these."""
        return self._run(start, options or self.options, self.log, self.begun)

    def rerun(self, start: Start, options: Options) -> Result:
        """A run from another start, with a clock and a journal of its own."""
        return self._run(start, options, Journal(self.seed), Stopwatch())

    def _run(self, start: Start, options: Options, log: Journal, begun: Stopwatch) -> Result:
        if self.chosen is not None:
            done = given_to(self.chosen, self.done) if self.presolve else self.done
            return run_method(done, start, self.chosen, options, log, begun)
        with deadline(begun.over):
            choices = self.methods or candidates(self.problem, self.done.problem, not self.log.saves)
        result, rest = _first_answer(self.done, start, choices, options, log, begun)
        self.methods = self.methods or rest
        return result


def _first_answer(
    done: Presolved,
    start: Start,
    choices: Sequence[Method],
    options: Options,
    log: Journal,
    begun: Stopwatch,
) -> tuple[Result, Sequence[Method]]:
    """One method after the other until one neither stalls nor diverges; else the best of what they found.

    With the choices that are left where one of them has the answer: those before it failed.
    """
    tried: list[Result] = []
    handed: list[Result] = []
    rest = choices
    for k, (choice, following) in enumerate(zip_longest(choices, choices[1:])):
        patience = handover(choice, following, done.problem)
        left = options.less(tried).after(handed, patience)
        if tried and left.time_limit == 0:
            continue
        try:
            clock = Stopwatch() if tried else begun
            result = run_method(given_to(choice, done), start, choice, left, log, clock)
        except (AssumptionError, np.linalg.LinAlgError):  # this one has no say here; another one may have
            if not tried and following is None:
                raise
            continue
        except Exception as error:  # of the caller's functions, after others have handed over
            _with_earlier(error, handed)
            raise
        result.method = f"auto: {result.method}" + (f" ({choice.why})" if choice.why else "")
        tried.append(result)
        if result.proof is not None:
            return _after(handed, result), choices
        if result.status is Status.MAX_ITER and result.nit == patience:
            result.state = None  # of many arrays, of which the next method needs x and z
            handed.append(result)
            start = start.moved(result.x, result.z)
        elif result.status not in FINAL:
            break
        else:
            rest = choices[k + 1 :]
    best = min(tried, key=lambda r: (r.status is Status.DIVERGED, r.certificate.relative))
    if best.status is Status.DIVERGED:
        names = ", ".join(r.method for r in tried)
        said = f"every method diverged ({names}): is the objective bounded below?"
        raise DivergenceError(f"{said} The best finite point is in .result", best)
    rest = rest if best.success else choices
    if not any(best is r for r in handed):
        return _after(handed, best), rest
    if best is not tried[-1]:  # those that went on from there found nothing better
        best.status, best.message = tried[-1].status, tried[-1].message
    return best, rest


def _with_earlier(error: Exception, handed: Sequence[Result]) -> None:
    """The result that an error carries, with what other methods had found before: the best point, the whole history."""
    if not handed:
        return
    last = getattr(error, "result", None)  # None where the method had not begun
    found = [*handed, *([] if last is None else [last])]
    best = min(found, key=lambda r: r.certificate.relative)
    best.history = joined([r.history for r in found])
    best.status, best.message, best.success = Status.FAILED, Status.FAILED.value, False
    with_result(error, best, instead=True)


def _after(handed: Sequence[Result], result: Result) -> Result:
    """The result of a method that went on from where others handed over; what they did counts."""
    if handed:
        result.history = joined([r.history for r in (*handed, result)])
        result.nit += sum(r.nit for r in handed)
        result.seconds += sum(r.seconds for r in handed)
    return result
