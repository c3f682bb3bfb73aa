"""`solve`: presolve, choose methods, run them, answer. `iterate`: the same, step by step by hand."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .._arrays import held_arrays, keep_pages, threads_for
from ..deadline import deadline
from ..errors import naming_blocks
from ..methods import Method, State, candidates, named
from ..methods.choosing import given_to
from ..methods.faces.stretches import best_signal
from ..presolve import as_stated
from ..presolve import presolve as rewrite
from ..problem import Problem
from ..status import Status
from ..theory.fixed import is_convex
from .call import Call
from .checkpoint import Checkpoint, Journal
from .fingerprint import identity
from .lock import locked
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

    @wraps(function)
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
    with threads_for(lambda: largest_array(problem)), naming_blocks(problem), locked(place):
        given = x0, z0, chosen or "auto", seed, presolve
        log = Journal(seed) if settings is None else Journal(seed, settings, identity(problem, *given))
        with deadline(begun.over):
            done = rewrite(problem, units=False) if rewritten else as_stated(problem, _why(presolve, chosen))
        call = Call(problem, done, chosen, options, log, begun, seed, presolve)
        start = Start(problem, x0, z0, log.entropy if x0 is None else seed)
        if x0 is not None or settings is not None:
            return call.near(start) or call.run(start)
        return _of_starts(call, start)


def _of_starts(call: Call, start: Start) -> Result:
    """The answer from a start, or from several where one is cheap and not enough (`restarts`)."""
    problem, options, auto, again = call.problem, call.options, call.chosen is None, partial(_again, call)
    near = call.near(start)
    count = starts_for(problem, call.chosen)
    if count > 1:
        searched = near is None and auto and options.callback is None
        if searched:
            used = call.begun.seconds()
            near, proved = by_program(problem, again, options.tol, used, options.time_limit)
            if near is not None and proved:
                return near
        first = near or call.run(start)
        return best_of(problem, first, count, again, options.tol, options.time_limit, call.seed, searched)
    if not auto or is_convex(call.done.problem):  # an h may be known to be convex by its prox alone
        return near or call.run(start)
    return _of_minima(call, start, near)


def _of_minima(call: Call, start: Start, near: Result | None) -> Result:
    """The answer from a start of a problem that is not convex: the lowest minimum found, where there may be several."""
    problem, options, again = call.problem, call.options, partial(_again, call)
    watched = options.callback is not None
    limits = again, options.tol, options.time_limit, call.seed
    soon = near is None and not watched and options.max_iter > SOON
    switches = switches_of(problem) if soon else None
    if switches is not None and switches.is_linear:
        used = call.begun.seconds()
        near, proved = search_by_switches(
            problem, switches, None, again, options.tol, used, options.time_limit
        )
        if near is not None and proved:
            return near
    walked = soon and near is None and has_corners(problem)
    if walked:
        early = call.run(start, replace(options, max_iter=SOON))
        early, lowest = at_corner(problem, early, *limits)
        if lowest:
            return early
        near = early if early.success else None  # or else once more, for as long as it takes
        walked = near is not None
    result = near or call.run(start)
    if result.status is Status.TIME_LIMIT:
        return result
    short = result.status is Status.MAX_ITER and result.nit < LONG
    if not watched and not short:
        if not walked:
            result, lowest = at_corner(problem, result, *limits)
            if lowest:
                return result
        if switches is not None and not switches.is_linear:
            used, limit = result.seconds, options.time_limit
            best, proved = search_by_switches(problem, switches, result, again, options.tol, used, limit)
            if best is not None and proved:
                return best
            result = best or result
        with deadline(call.begun.over):
            many = has_many_minima(problem, result)
        if many and best_signal(call.done.problem) is None:
            count = STARTS["thorough" if result.nit <= CHEAP else "balanced"]
            return lowest_of(problem, result, count, again, options.time_limit, call.seed)
    return from_convex(problem, result, again)


def _again(call: Call, other: Problem, x: Sequence[Any] | None, used: float, most: int | None) -> Result:
    """A further run of the problem of the call, or a solve of another one that leads to it (`starts.Again`)."""
    options, seed = call.options, call.seed
    left = None if options.time_limit is None else max(0.0, options.time_limit - used)
    steps = options.max_iter if most is None else min(most, options.max_iter)
    if other is call.problem:
        own = replace(options, max_iter=steps, time_limit=left, callback=None, progress=False)
        return call.rerun(Start(other, x, None, seed), own)
    return solve(
        other,
        x,
        max_iter=steps,
        tol=options.tol,
        time_limit=left,
        check_every=options.check_every,
        seed=seed,
        presolve=call.presolve,
    )


def largest_array(problem: Problem) -> int:
    """Entries of the largest array among the blocks and what their A, f and h hold."""
    parts = [part for block in problem.blocks for part in (block.f, block.h)]
    held = [x.shape for part in (*parts, *problem.operators) for x in held_arrays(part)]
    return max(map(math.prod, (*held, *(block.shape for block in problem.blocks))))


def _why(presolve: bool, method: Method | None) -> str:
    """Why a problem is solved as it is stated."""
    return f"{method.name} takes it so" if presolve and method is not None else "presolve is off"


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


def _as_method(method: Any) -> Method:
    if isinstance(method, Method):
        return method
    if isinstance(method, type):
        raise TypeError(f"method is the class {method.__name__}; pass an object, e.g. {method.__name__}()")
    if not isinstance(method, str):
        raise TypeError(f"method must be a name or a method object such as IPDS('sound'), got {method!r}")
    return named(method)
