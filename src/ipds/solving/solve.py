"""`solve`: presolve, choose methods, run them, answer. `iterate`: the same, step by step by hand."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from .._arrays import held_arrays, keep_pages, threads_for
from ..deadline import deadline
from ..errors import AssumptionError, DivergenceError, naming_blocks, with_result
from ..methods import Method, State, candidates, named
from ..methods.choosing import given_to, handover
from ..methods.faces import GivenFace
from ..presolve import Presolved, as_stated
from ..presolve import presolve as rewrite
from ..problem import Problem
from ..status import Status
from ..theory.fixed import is_convex
from .checkpoint import Checkpoint, Journal
from .fingerprint import identity
from .history import joined
from .lock import locked
from .loop import run_method
from .minima import CHEAP, STARTS, has_many_minima, starts_for
from .options import (
    Callback,
    Options,
    check_choice,
    check_options,
    check_problem,
    check_seed,
    convention,
    require_known,
)
from .restarts import LONG, SOON, at_corner, best_of, by_program, from_convex, has_corners, lowest_of
from .run import FINAL
from .starting import Start, require_room, starting_point
from .stopping import Stopwatch
from .switching import search_by_switches, switches_of

if TYPE_CHECKING:
    from ..result import Result


P = ParamSpec("P")
T = TypeVar("T")


def _suggesting(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which answers options that it does not have with the one that was meant."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        require_known(function.__name__, known, options)
        return function(*args, **options)

    return checked


@_suggesting
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
    presolve: bool = True,
) -> Result:
    """Solve a problem and certify the answer.

    Parameters
    ----------
    problem : the blocks and the constraint.
    x0, z0 : starting blocks and multiplier; default: feasible, seeded by `seed`, made for the problem. Small problems
        that are not convex are started several times then; `result.starts` counts.
    method : "auto", a name, or a method object such as `IPDS("sound")`.
    max_iter : iterations at most.
    tol : success means that the relative certificate is at most this.
    time_limit : seconds at most; time spent in the callback does not count.
    callback : called as callback(intermediate_result) at every check (x, z, fun, nit, certificate), and again with
        the last one while a Dask cluster keeps the solve waiting; raise StopIteration to stop.
    progress : show live figures in a terminal or notebook (nothing in a pipe).
    check_every : iterations between checks (certificate, record, callback); four times as many while points are
        smoothed on purpose, and no answers.
    checkpoint : a path, or a `Checkpoint`, where the solve saves itself as it goes. Where the file holds an earlier
        part of the same solve, that is resumed, to the same bits; limits and tolerance may have changed, and count for
        the whole. Where it belongs to another problem it is refused.
    seed : of the starting point, where one is drawn.
    presolve : whether the problem may be rewritten and its units changed first; x, z, history and certificate are those
        of the problem as stated in any case. "auto" and `AcceleratedIPDS` do; Algorithm 1 and the methods for research
        run on what was stated. `result.presolve` says what was done.

    Returns
    -------
    Result : x (blocks; the smoothed one is x̆), z, fun, success, status, certificate, history, presolve and more.

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
    begun = Stopwatch(limit=time_limit)
    chosen = None if method == "auto" else _as_method(method)
    check_choice("presolve", presolve)
    check_choice("progress", progress)
    rewritten = presolve and (chosen is None or chosen.presolves)
    check_problem(problem, rewritten)
    check_options(max_iter, tol, time_limit, callback, check_every)
    check_seed(seed)
    if x0 is None:
        require_room(problem)
    options = Options(max_iter, tol, time_limit, convention(callback), progress, check_every)
    settings = (
        checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    )
    place = None if settings is None else settings.generations[0]
    keep_pages()
    with threads_for(largest_array(problem)), naming_blocks(problem), locked(place):
        given = x0, z0, chosen or "auto", seed, presolve
        log = Journal(seed) if settings is None else Journal(seed, settings, identity(problem, *given))
        with deadline(begun.over):
            done = rewrite(problem, units=False) if rewritten else as_stated(problem, _why(presolve, chosen))
        methods: Sequence[Method] = ()  # of "auto"; those that fail at first are not tried from another start

        def run(start: Start, options: Options, log: Journal, begun: Stopwatch) -> Result:
            nonlocal methods
            if chosen is not None:
                own = given_to(chosen, done) if rewritten else done
                return run_method(own, start, chosen, options, log, begun)
            with deadline(begun.over):
                choices = methods or candidates(problem, done.problem, settings is None)
            result, rest = _first_answer(done, start, choices, options, log, begun)
            methods = methods or rest
            return result

        def again(other: Problem, x: Sequence[Any] | None, used: float, most: int | None) -> Result:
            left = None if time_limit is None else max(0.0, time_limit - used)
            steps = max_iter if most is None else min(most, max_iter)
            if other is problem:
                own = Options(steps, tol, left, None, False, check_every)
                return run(Start(problem, x, None, seed), own, Journal(seed), Stopwatch())
            limits = {"max_iter": steps, "tol": tol, "time_limit": left, "check_every": check_every}
            return solve(other, x, None, method, **limits, seed=seed, presolve=presolve)  # type: ignore[arg-type]

        start = Start(problem, x0, z0, log.entropy if x0 is None else seed)
        near = _near(done, start, options, log, begun) if chosen is None and settings is None else None
        count = starts_for(problem, chosen) if x0 is None and settings is None else 1
        searched = near is None and count > 1 and chosen is None and callback is None
        if searched:
            near, proved = by_program(problem, again, tol, begun.seconds(), time_limit)
            if near is not None and proved:
                return near
        convex = is_convex(done.problem)  # an h may be known to be convex by its prox alone
        plain = x0 is None and settings is None and chosen is None and callback is None
        soon = near is None and count == 1 and plain and not convex and max_iter > SOON
        walked = soon and has_corners(problem)
        switches = switches_of(problem) if soon else None
        if switches is not None and switches.is_linear:
            used = begun.seconds()
            near, proved = search_by_switches(problem, switches, None, again, tol, used, time_limit)
            if near is not None and proved:
                return near
            walked = walked and near is None
        if walked:
            near = run(start, replace(options, max_iter=SOON), log, begun)
            near, lowest = at_corner(problem, near, again, tol, time_limit, seed)
            if lowest:
                return near
            near = near if near.success else None  # or else once more, for as long as it takes
            walked = near is not None
        result = near or run(start, options, log, begun)
        if x0 is not None or settings is not None:
            return result
        if count > 1:
            return best_of(problem, result, count, again, tol, time_limit, seed, searched)
        if chosen is not None or result.status is Status.TIME_LIMIT:
            return result
        short = result.status is Status.MAX_ITER and result.nit < LONG
        one_run = callback is not None or convex or short
        if not one_run and not walked:
            result, lowest = at_corner(problem, result, again, tol, time_limit, seed)
            if lowest:
                return result
        if switches is not None and not (switches.is_linear or one_run):
            used = result.seconds
            best, proved = search_by_switches(problem, switches, result, again, tol, used, time_limit)
            if best is not None and proved:
                return best
            result = best or result
        with deadline(begun.over):
            many = not one_run and has_many_minima(problem, result)
        if many:
            count = STARTS["thorough" if result.nit <= CHEAP else "balanced"]
            return lowest_of(problem, result, count, again, time_limit, seed)
        return result if convex else from_convex(problem, result, again)


def largest_array(problem: Problem) -> int:
    """Entries of the largest array among the blocks and what their A, f and h hold."""
    parts = [part for block in problem.blocks for part in (block.f, block.h)]
    held = [x.shape for part in (*parts, *problem.operators) for x in held_arrays(part)]
    return max(map(math.prod, (*held, *(block.shape for block in problem.blocks))))


def _why(presolve: bool, method: Method | None) -> str:
    """Why a problem is solved as it is stated."""
    return f"{method.name} takes it so" if presolve and method is not None else "presolve is off"


def _near(done: Presolved, start: Start, options: Options, log: Journal, begun: Stopwatch) -> Result | None:
    """The answer, where a start with a multiplier is so near that its face leads to it; else None."""
    if not start.gives_multiplier:
        return None
    try:
        result = run_method(done.in_units, start, GivenFace(), options, log, begun)
    except (AssumptionError, np.linalg.LinAlgError):
        return None
    result.method = f"auto: {result.method}"
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
            return after(handed, result), choices
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
        raise DivergenceError(f"every method diverged ({names}); the best finite point is in .result", best)
    rest = rest if best.success else choices
    if not any(best is r for r in handed):
        return after(handed, best), rest
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
    problem, x0, z0, method, seed : as in `solve`. There is no stopping rule; "auto" is its first choice throughout, on
        the presolved problem, and a method that is named runs on the problem as stated.

    Yields
    ------
    State : t, x, x_breve, z, beta, mu after iteration t = 1, 2, ... Where the data are Dask arrays, long blocks stay on
        the workers, as the solver holds them: `ipds.theory.certificate` takes
        them, `numpy.asarray(state.x[i])` fetches one.

    >>> from ipds import Block, Problem, iterate
    >>> from ipds.functions import L1
    >>> from ipds.methods import IPDS
    >>> problem = Problem([Block(h=L1(1.0), shape=2, A=-1.0), Block(h=L1(2.0), shape=2)], b=1.0)
    >>> next(iterate(problem, method=IPDS("sound"))).t
    1
    """
    check_problem(problem, rewritten=method == "auto")
    check_seed(seed)
    if x0 is None:
        require_room(problem)
    if method == "auto":
        done = rewrite(problem, units=False)
        chosen = candidates(problem, done.problem)[0]
        done = given_to(chosen, done)
    else:
        done, chosen = as_stated(problem, "a method was named"), _as_method(method)
    x, z = starting_point(problem, x0, z0, seed)
    setup, carry = chosen.init(done.problem, *done.start(x, z, z0 is not None))
    while True:
        with naming_blocks(problem):
            carry, state = chosen.step(setup, carry)
        yield done.undo(state)


def after(handed: Sequence[Result], result: Result) -> Result:
    """The result of a method that went on from where others handed over; what they did counts."""
    if handed:
        result.history = joined([r.history for r in (*handed, result)])
        result.nit += sum(r.nit for r in handed)
        result.seconds += sum(r.seconds for r in handed)
    return result


def _as_method(method: Any) -> Method:
    if isinstance(method, Method):
        return method
    if isinstance(method, type):
        raise TypeError(f"method is the class {method.__name__}; pass an object, e.g. {method.__name__}()")
    if not isinstance(method, str):
        raise TypeError(f"method must be a name or a method object such as IPDS('sound'), got {method!r}")
    return named(method)
