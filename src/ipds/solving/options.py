"""The options of a solve, checked before it begins."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AssumptionError, naming_blocks
from ..problem import Problem

if TYPE_CHECKING:
    from ..result import Result

Callback = Callable[[Any], object]

RARER = 4
"""Factor of `check_every` while points are smoothed on purpose, where a check costs two iterations in vain."""


@dataclass(frozen=True)
class Options:
    """How a run ends and who watches."""

    max_iter: int
    tol: float
    time_limit: float | None
    callback: Callback | None
    progress: bool
    check_every: int
    before: int = 0
    """Iterations of the methods that handed their point on: what callers are shown counts them."""

    def next_check(self, t: int, first: bool = True, transient: bool = False) -> int:
        """The next iteration after t with a check: the `first` one, multiples of `check_every`, and the last one.

        While a point is smoothed on purpose (`transient`), and no answer, checks are `RARER` times rarer.
        """
        if first and t == 0:
            return 1
        every = RARER * self.check_every if transient else self.check_every
        return min((t // every + 1) * every, max(self.max_iter, t + 1))

    def less(self, tried: Sequence[Result]) -> Options:
        """What is left of the limits after earlier tries."""
        if not tried:
            return self
        iterations = max(1, self.max_iter - sum(r.nit for r in tried))
        limit = None if self.time_limit is None else max(0.0, self.time_limit - sum(r.seconds for r in tried))
        return replace(self, max_iter=iterations, time_limit=limit)

    def after(self, handed: Sequence[Result], patience: int | None) -> Options:
        """The same for a method that goes on from where others have handed over, and hands over itself in time."""
        limit = self.max_iter if patience is None else min(patience, self.max_iter)
        return replace(self, max_iter=limit, before=sum(r.nit for r in handed))


_ELSEWHERE = {
    "max_iters": "max_iter",
    "maxiter": "max_iter",
    "n_iter": "max_iter",
    "verbose": "progress",
    "solver": "method",
    "eps": "tol",
    "abstol": "tol",
    "reltol": "tol",
    "timeout": "time_limit",
    "random_state": "seed",
    "warm_start": "x0, z0 (or problem.solve(warm_start=result), of a problem made by minimize)",
}
"""What other libraries call options of a solve."""


def require_known(function: str, known: Sequence[str], options: Iterable[str]) -> None:
    """Refuse options that a function does not have, with the name of the one that was meant."""
    for name in options:
        if name not in known:
            near = [_ELSEWHERE[name]] if name in _ELSEWHERE else difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{function} has no option {name!r}; {hint}")


def check_problem(problem: Any, rewritten: bool = False) -> None:
    """Refuse what is no problem, or one whose last block has no part in the constraint: every theorem rests on it.

    The latter may be `rewritten` by presolve.
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be an ipds.Problem, got {type(problem).__name__}; `minimize(objective, constraints)` is one"
        )
    if rewritten:
        return
    if problem.unconstrained:
        raise AssumptionError(
            f"the problem has no equation, as {problem.names[0]!r} is its only block and has no A: presolve treats "
            'such problems, with method="auto" or AcceleratedIPDS()'
        )
    with naming_blocks(problem):
        useless = problem.operators[-1].is_zero
    if useless:
        name = problem.names[-1]
        raise AssumptionError(
            f"block {name!r} is last and has A = 0: leave it out, or move another block last"
        )


def check_seed(seed: Any, name: str = "seed") -> None:
    """Refuse what NumPy cannot make random numbers of."""
    if seed is None or (type(seed) is int and seed >= 0):
        return
    try:
        np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be a nonnegative integer or None, got {seed!r}") from None


def check_choice(name: str, value: Any) -> None:
    """Refuse what is neither True nor False: "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_options(
    max_iter: int,
    tol: float,
    time_limit: float | None,
    callback: Callback | None,
    check_every: int,
) -> None:
    """Refuse options of the wrong kind or range."""
    for name, value in (("max_iter", max_iter), ("check_every", check_every)):
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    for name, limit in (("tol", tol), ("time_limit", time_limit)):
        if limit is None and name == "time_limit":
            continue
        if not isinstance(limit, numbers.Real):
            raise TypeError(f"{name} must be a number, got {limit!r}")
        if not limit >= 0 or (name == "tol" and not math.isfinite(limit)):
            raise ValueError(
                f"{name} must be nonnegative{' and finite' if name == 'tol' else ''}, got {limit}"
            )
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")


def convention(callback: Callback | None) -> Callback | None:
    """The callback as one that takes its argument by position: SciPy's may insist on the name."""
    if callback is None or _is_plain(callback):
        return callback
    try:
        parameter = inspect.signature(callback).parameters.get("intermediate_result")
    except (TypeError, ValueError):  # a callable without a signature takes it by position
        return callback
    if parameter is None or parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        return callback
    return lambda shown: callback(intermediate_result=shown)  # type: ignore[call-arg]


def _is_plain(callback: Callback) -> bool:
    """Whether it is a function without arguments that only their names can give, seen without its signature."""
    plain = type(callback) is types.FunctionType and not hasattr(callback, "__wrapped__")
    return plain and not callback.__code__.co_kwonlyargcount
