"""A statement: data from a seed, the problem as a modeller writes it, an oracle, and what counts as the objective."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import cvxpy as cp
import numpy as np
import scipy.optimize

from ipds import Problem

Data = SimpleNamespace
Point = Sequence[np.ndarray]
T = TypeVar("T")


def nothing_violated(data: Data, x: Point) -> float:
    return 0.0


class Answer(NamedTuple):
    """What an oracle found."""

    value: float
    seconds: float
    """CPU seconds of the solver alone."""
    waited: float
    """Seconds with what a modeller waits for before it: CVXPY's compilation."""

    def beside(self, constant: float) -> Answer:
        """The same with a constant in the objective."""
        return self._replace(value=self.value + constant)


SHORT, REPEATS = 0.1, 3
"""Solves of fewer seconds are repeated, and the least time counts: the oracle's and ours alike."""


def least(solved: Callable[[], tuple[T, float]]) -> tuple[T, float]:
    """What `solved` returns first, with the least of its seconds."""
    value, seconds = solved()
    for _ in range(REPEATS - 1):
        if seconds > SHORT:
            break
        seconds = min(seconds, solved()[1])
    return value, seconds


@dataclass(frozen=True)
class Statement:
    """One problem of the zoo.

    `data(seed)` draws it, `problem(data)` states it in blocks, `oracle(data)` asks another solver, `objective(data, x)`
    and `violation(data, x)` judge the blocks x of an answer, independently of the package.
    """

    name: str
    data: Callable[[int], Data]
    problem: Callable[[Data], Problem]
    oracle: Callable[[Data], Answer]
    objective: Callable[[Data, Point], float]
    violation: Callable[[Data, Point], float] = nothing_violated
    """How far constraints are from holding, relative to the size of what they compare."""
    convex: bool = True


def cvx(objective: Any, constraints: Sequence[Any] = (), solver: str = "CLARABEL") -> Answer:
    """The least value by CVXPY.

    Its solver reports wall time, and other programs may run: the least of CPU time around it, too.
    """
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    begin = time.process_time()
    problem.get_problem_data(solver)
    compiling = time.process_time() - begin

    def solved() -> tuple[float, float]:
        begin = time.process_time()
        value = problem.solve(solver=solver)
        return value, min(time.process_time() - begin, float(problem.solver_stats.solve_time))

    value, seconds = least(solved)
    return Answer(value, seconds, compiling + seconds)


def linear_program(c: np.ndarray, **rows: Any) -> Answer:
    """The least value of a linear program by HiGHS."""
    return timed(lambda: scipy.optimize.linprog(c, method="highs", **rows).fun)


def timed(function: Callable[[], float]) -> Answer:
    """The value of a dedicated solver."""

    def solved() -> tuple[float, float]:
        begin = time.process_time()
        value = function()
        return value, time.process_time() - begin

    value, seconds = least(solved)
    return Answer(value, seconds, seconds)


def off(residual: np.ndarray, size: np.ndarray | float) -> float:
    """‖residual‖/‖size‖."""
    return float(np.linalg.norm(residual) / max(float(np.linalg.norm(size)), 1e-300))


def below(x: np.ndarray, least: np.ndarray | float = 0.0) -> float:
    """How far x lies below `least`, relative to its own size."""
    return off(np.minimum(x - least, 0.0), x)


def sparse_vector(rng: np.random.Generator, n: int, k: int, size: float = 3.0) -> np.ndarray:
    """k of n entries drawn from a Gaussian."""
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = size * rng.standard_normal(k)
    return x
