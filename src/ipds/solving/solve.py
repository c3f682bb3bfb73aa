"""The only loop of the package: step, check, record, call back, stop."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import outward
from ..errors import AssumptionError, DivergenceError, naming_blocks, with_result
from ..methods import Method, State, candidates, named
from ..methods.deadline import OutOfTime, deadline
from ..problem import Problem
from ..status import Status
from ..theory.scales import units
from .advance import Advance
from .checkpoint import Checkpoint, Journal, journal
from .options import Callback, Options, check_options, check_problem, convention
from .progress import Progress
from .run import FINAL, Run
from .starting import Start, starting_point
from .stopping import Check, Stopwatch

if TYPE_CHECKING:
    from ..result import Result


def solve(
    problem: Problem,
    x0: Sequence[Any] | None = None,
    z0: Any = None,
    method: str | Method = "auto",
    *,
    max_iter: int = 10_000,
    tol: float = 1e-4,
    time_limit: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    check_every: int = 10,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    seed: int | None = None,
) -> Result:
    """Solve a problem and certify the answer.

    Parameters
    ----------
    problem : the blocks and the constraint.
    x0, z0 : starting blocks and multiplier; default: feasible, seeded by `seed`, made for the problem.
    method : "auto", a name, or a method object such as `IPDS("sound")`.
    max_iter : iterations at most.
    tol : success means that the relative certificate is at most this.
    time_limit : seconds at most; time spent in the callback does not count.
    callback : called as callback(intermediate_result) at every check (x, z, fun, nit, certificate); raise
        StopIteration to stop.
    progress : show live figures in a terminal or notebook (nothing in a pipe).
    check_every : iterations between checks (certificate, record, callback).
    checkpoint : a path, or a `Checkpoint`, where the solve saves itself as it goes. Where the file holds an earlier
        part of the same solve, that is resumed, to the same bits; limits and tolerance may have changed, and count for
        the whole. Where it belongs to another problem it is refused.
    seed : of the starting point, where one is drawn.

    Returns
    -------
    Result : x (blocks; the smoothed one is x̆), z, fun, success, status, certificate, history and more.

    >>> import numpy as np
    >>> from ipds import Block, Problem, solve
    >>> from ipds.functions import L1, LeastSquares
    >>> y = np.array([3.0, -0.5, 1.0])
    >>> problem = Problem([Block(f=LeastSquares(np.eye(3), y), shape=3, name="x", A=-1.0),
    ...                    Block(h=L1(1.0), shape=3, name="v")])
    >>> result = solve(problem)
    >>> result.success, bool(np.allclose(result.x[1], [2, 0, 0], atol=1e-3))
    (True, True)
    """
    check_problem(problem)
    check_options(max_iter, tol, time_limit, callback, check_every)
    chosen = None if method == "auto" else _as_method(method)
    options = Options(max_iter, tol, time_limit, convention(callback), progress, check_every)
    with naming_blocks(problem):
        log = journal(checkpoint, problem, x0, z0, chosen or "auto", seed)
        choices = candidates(problem) if chosen is None else [chosen]
        fixed: Any = np.random.SeedSequence(seed).entropy  # so that a start made again is the same
        start = Start(lambda: log.start(lambda: starting_point(problem, x0, z0, fixed), len(choices)))
        scales = units(problem, *start.look(), fixed, invent=x0 is not None)
        if chosen is not None:
            return _run(problem, start, chosen, options, scales, log)
        return _first_answer(problem, start, choices, options, scales, log)


def _first_answer(
    problem: Problem,
    start: Start,
    choices: Sequence[Method],
    options: Options,
    scales: tuple[float, ...],
    log: Journal,
) -> Result:
    """One method after the other until one neither stalls nor diverges; else the best of what they found."""
    tried = log.tried
    for number, choice in enumerate(choices):
        left = options.less(tried)
        if number < log.candidate or (tried and left.time_limit == 0):
            continue
        log.candidate = number
        try:
            result = _run(problem, start, choice, left, scales, log)
        except AssumptionError:  # this one has no say here; an earlier one may have answered
            if not tried:
                raise
            continue
        result.method = f"auto: {result.method}"
        tried.append(result)
        if result.status not in FINAL:
            break
    best = min(tried, key=lambda r: (r.status is Status.DIVERGED, r.certificate.relative))
    if best.status is Status.DIVERGED:
        names = ", ".join(r.method for r in tried)
        raise DivergenceError(f"every method diverged ({names}); the best finite point is in .result", best)
    return best


def iterate(
    problem: Problem,
    x0: Sequence[Any] | None = None,
    z0: Any = None,
    method: str | Method = "auto",
    *,
    seed: int | None = None,
) -> Iterator[State]:
    """Yield the State after each iteration, without end: step the algorithm by hand.

    Parameters
    ----------
    problem, x0, z0, method, seed : as in `solve`. There is no stopping rule, and "auto" is its first choice throughout.

    Yields
    ------
    State : t, x, x_breve, z, beta, mu after iteration t = 1, 2, ... Where the data are Dask arrays, long blocks stay on
        the workers, as the solver holds them: `ipds.theory.diagnostics` takes
        them, `numpy.asarray(state.x[i])` fetches one.

    >>> from ipds import Block, Problem, iterate
    >>> from ipds.functions import L1
    >>> from ipds.methods import IPDS
    >>> problem = Problem([Block(h=L1(1.0), shape=2, A=-1.0), Block(h=L1(2.0), shape=2)], b=1.0)
    >>> next(iterate(problem, method=IPDS("sound"))).t
    1
    """
    check_problem(problem)
    chosen = candidates(problem)[0] if method == "auto" else _as_method(method)
    x, z = starting_point(problem, x0, z0, seed)
    state = chosen.init(problem, x, z)
    while True:
        with naming_blocks(problem):
            state = chosen.step(problem, state)
        yield state


def _run(
    problem: Problem,
    start: Start,
    method: Method,
    options: Options,
    scales: tuple[float, ...],
    log: Journal,
) -> Result:
    """A method from its start, or from where it was saved, to its end; `scales` cap those of the certificate."""
    begun = Stopwatch()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), Progress(options) as bar:
        run = Run.begin(problem, method, method.init(problem, *start.take()), scales)
        parameters = method.parameters_of(run.good.state)
        run = log.resume(problem, method, run)
        clock = Stopwatch(run.seconds + begun.seconds(), options.time_limit)
        if run.status not in FINAL:  # an earlier part of the solve may have ended where this one may go on
            run.status = run.limits(options)
        try:
            try:
                with deadline(clock.over):
                    _loop(problem, method, options, run, clock, bar, log)
            except KeyboardInterrupt:
                run.status = Status.INTERRUPTED
            run.seconds = clock.seconds()
            log.keep(run)
        except Exception as error:  # of the caller's functions, operators or callback, or of the disk
            run.status = run.status or Status.FAILED
            with_result(error, result_of(problem, method, run, parameters))
            log.failed(error)
            log.keep(run)
            raise
    return result_of(problem, method, run, parameters)


def _loop(
    problem: Problem,
    method: Method,
    options: Options,
    run: Run,
    clock: Stopwatch,
    bar: Progress,
    log: Journal,
) -> None:
    """Step, check, record, call back, save; ends by giving the run a status."""
    assert run.state is not None
    state, advance = run.state, Advance(problem, method)
    lighter: State | None
    while run.status is None:
        at_check = state.t == run.good.state.t
        if at_check:
            run.leave(state if log.lasting else None)
        # a state whose next step a time limit may cut off will be checked, and stays whole
        while options.time_limit is None and (lighter := method.lighter(state)) is not state:
            assert lighter is not None
            state = lighter
            if at_check and log.lasting:
                run.state = state
        lighter = None  # or it would hold the old state while the new one is checked
        try:
            state = advance(state, options.next_check(state.t))
        except OutOfTime:  # in the middle of a step, which then did not happen
            if at_check:
                run.good, run.status = replace(run.good, state=state), Status.TIME_LIMIT
                break
        done = state.t >= options.max_iter or clock.over()
        if state.t % options.check_every == 0 or state.t == 1 or done:
            run.status = _checked(problem, options, run, state, clock, bar)
            log.keep(run)


def _checked(
    problem: Problem, options: Options, run: Run, state: State, clock: Stopwatch, bar: Progress
) -> Status | None:
    """Look at a state, show it, call back; the status that ends the run there, or None."""
    status = run.look(problem, state, options, clock)
    if status is Status.DIVERGED:
        return status
    bar.show(run.good, run.seconds)
    if options.callback is not None and not _goes_on(clock, options.callback, run.good):
        return Status.CALLBACK
    return status


def _goes_on(clock: Stopwatch, callback: Callback, check: Check) -> bool:
    """Call back, off the clock; False where the callback raises StopIteration."""
    from ..result import intermediate

    state = check.state
    # copies: a callback that writes into what it is shown must not disturb the solve
    *blocks, z = (outward(copied) for copied in [array + 0 for array in (*state.q, state.z)])
    shown = intermediate(x=tuple(blocks), z=z, fun=check.fun, nit=state.t, certificate=check.certificate)
    try:
        with deadline(None):
            clock.outside(lambda: callback(shown))
    except StopIteration:
        return False
    except Exception as error:
        error.add_note(f"ipds: raised by the callback at iteration {state.t}")
        raise
    return True


def result_of(problem: Problem, method: Method, run: Run, parameters: Any) -> Result:
    """What a run has found."""
    from ..result import Result

    check, status = run.answer(), run.status or Status.FAILED
    state = check.state
    return Result(
        x=tuple(map(outward, state.q)),
        z=outward(state.z),
        fun=check.fun,
        success=status is Status.CONVERGED,
        status=status,
        message=status.value,
        nit=state.t,
        seconds=run.seconds,
        certificate=check.certificate,
        history=run.history,
        state=state,
        parameters=parameters,
        method=method.name,
    )


def _as_method(method: Any) -> Method:
    if isinstance(method, Method):
        return method
    if isinstance(method, type):
        raise TypeError(f"method is the class {method.__name__}; pass an object, e.g. {method.__name__}()")
    if not isinstance(method, str):
        raise TypeError(f"method must be a name or a method object such as IPDS('sound'), got {method!r}")
    return named(method)
