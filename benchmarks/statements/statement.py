"""A statement: data from a seed, the problem as a modeller writes it, an oracle, and what counts as the objective."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.optimize

from ipds import Problem

Data = SimpleNamespace
Point = Sequence[np.ndarray]


def nothing_violated(data: Data, x: Point) -> float:
    return 0.0


@dataclass(frozen=True)
class Statement:
    """One problem of the zoo.

    `data(seed)` draws it, `problem(data)` states it in blocks, `oracle(data)` gives (value, seconds) of another solver,
    `objective(data, x)` and `violation(data, x)` judge the blocks x of an answer, independently of the package.
    """

    name: str
    data: Callable[[int], Data]
    problem: Callable[[Data], Problem]
    oracle: Callable[[Data], tuple[float, float]]
    objective: Callable[[Data, Point], float]
    violation: Callable[[Data, Point], float] = nothing_violated
    """How far constraints are from holding, relative to the size of what they compare."""
    convex: bool = True


SHORT = 0.1
"""Seconds below which a solve is repeated."""


def cvx(objective: Any, constraints: Sequence[Any] = (), solver: str = "CLARABEL") -> tuple[float, float]:
    """The least value by CVXPY and the seconds of its solver alone.

    It reports wall time, and other programs may run: the least of three where that is short, and of CPU time around it.
    """
    problem, seconds = cp.Problem(cp.Minimize(objective), list(constraints)), math.inf
    problem.get_problem_data(solver)  # compiles
    for _ in range(3):
        begin = time.process_time()
        value = problem.solve(solver=solver)
        seconds = min(seconds, time.process_time() - begin, float(problem.solver_stats.solve_time))
        if seconds > SHORT:
            break
    return float(value), seconds


def linear_program(c: np.ndarray, **rows: Any) -> tuple[float, float]:
    """The least value of a linear program by HiGHS, and its seconds."""
    begin = time.process_time()
    found = scipy.optimize.linprog(c, method="highs", **rows)
    return float(found.fun), time.process_time() - begin


def timed(function: Callable[[], float]) -> tuple[float, float]:
    """The value of a dedicated solver and its CPU seconds."""
    begin = time.process_time()
    value = function()
    return float(value), time.process_time() - begin


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
