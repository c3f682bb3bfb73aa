"""Several starts for nonconvex problems: the best answer, and how much the answers differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DivergenceError
from ..problem import Problem
from ..status import Status
from .inventing import drawn, may_have_minima, prototype
from .options import check_problem, check_seed
from .solve import solve

if TYPE_CHECKING:
    from ..result import Result


@dataclass(frozen=True)
class Multistart:
    """Results of all starts, best first (certified ones before others, then by objective)."""

    results: tuple[Result, ...]

    @property
    def best(self) -> Result:
        """The certified result of lowest objective, or the lowest of all where none is certified."""
        return self.results[0]

    @property
    def funs(self) -> np.ndarray:
        """Objectives in the order of `results`."""
        return np.array([result.fun for result in self.results])

    @property
    def spread(self) -> float:
        """Highest minus lowest objective, relative to the lowest: how much the start matters."""
        low, high = float(np.min(self.funs)), float(np.max(self.funs))
        return (high - low) / abs(low) if low else high - low

    def __str__(self) -> str:
        certified = sum(result.success for result in self.results)
        return (
            f"{len(self.results)} starts, {certified} certified; best objective {self.best.fun:.8g}, "
            f"median {np.median(self.funs):.8g}, spread {self.spread:.2e}"
        )


def multistart(problem: Problem, n: int, seed: int = 0, *, n_jobs: int = -1, **options: Any) -> Multistart:
    """Solve from `n` starting points, in parallel processes.

    The first start is that of `solve(problem)`; the others draw every block whose f or h may be nonconvex from a
    Gaussian (moved into its domain by its prox).

    Parameters
    ----------
    problem : what to solve.
    n : number of starts.
    seed : of the starts.
    n_jobs : processes, as in joblib: -1 for all processors, 1 for none but this one.
    options : those of `solve`, but for x0.

    Returns
    -------
    Multistart : all results, the best first.

    >>> from ipds import Block, Problem, multistart
    >>> from ipds.functions import L1, Cardinality
    >>> y = np.array([1.0, 4.0, 2.0])
    >>> problem = Problem([Block(h=Cardinality(1), shape=3), Block(h=L1(1.0), shape=3)], b=y)
    >>> round(multistart(problem, 3, n_jobs=1).best.fun, 3)
    3.0
    """
    check_problem(problem, rewritten=True)
    if n != int(n) or n < 1:
        raise ValueError(f"multistart: n must be a positive integer, got {n!r}")
    if "x0" in options:
        raise TypeError("multistart: the starts are drawn here; use solve for a start of your own")
    from joblib import Parallel, delayed

    check_seed(seed)
    seeds = np.random.SeedSequence(seed).spawn(int(n))
    like = prototype(problem)
    starts = [
        None,
        *(drawn(problem, like, np.random.default_rng(s).standard_normal, may_have_minima) for s in seeds[1:]),
    ]
    results = Parallel(n_jobs=n_jobs)(delayed(_solve)(problem, start, seed, options) for start in starts)
    # other processes answered for copies of the problem
    results = sorted(map(problem.answer, results), key=_rank)
    if results[0].status is Status.DIVERGED:
        raise DivergenceError(
            f"all {len(results)} starts diverged; the best finite point is in .result", results[0]
        )
    return Multistart(tuple(results))


def _solve(problem: Problem, start: Any, seed: int, options: dict[str, Any]) -> Result:
    try:
        result = solve(problem, start, seed=seed, **options)
    except DivergenceError as error:  # the other starts may fare better
        result = error.result
    return result


def _rank(result: Result) -> tuple[bool, bool, float]:
    return (result.status is Status.DIVERGED, not result.success, result.fun)
