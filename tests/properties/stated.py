"""Problems as users write them, each with its oracle, and what is wrong with an answer in the user's terms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

Vector = np.ndarray
TIGHT: dict[str, Any] = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 300}
OFF = 1e-3
"""By how much an answer may be off: its objective against the oracle's, its constraints against what they add up."""
ROUNDING = 1e-12
"""Constraints that are missed by no more hold."""


@dataclass
class Stated:
    """A problem with its oracle."""

    problem: Any
    label: str
    objective: Callable[[Any], float]
    """The objective at the variables of a result, by NumPy alone."""
    best: Callable[[], float | None]
    """The optimum by the oracle; None where it fails, infinite where there is no solution."""
    missed: Callable[[Any], float] = lambda result: 0.0
    """The largest relative violation of a constraint."""
    size: float = 0.0
    """What the objective's terms add up to, where they cancel."""
    critical: Callable[[Any], float] | None = None
    """Of a nonconvex problem: how far an answer is from critical, relative, by first-order conditions of its own."""


def wrong(case: Stated, result: Any) -> list[str]:
    """What is wrong with a success."""
    found, missed = [], case.missed(result)
    if not missed <= OFF:
        found.append(f"constraints missed by {missed:.1e}")
    if case.critical is not None:
        far = case.critical(result)
        return found if far <= OFF else [*found, f"not critical by {far:.1e}"]
    best = case.best()
    if best is None:
        return found
    if math.isinf(best):
        return [*found, "no solution"]
    size = max(case.size, abs(best), 1e-300)
    value = case.objective(result)
    if missed <= ROUNDING and value < best - OFF * size:  # no point can be: the oracle is poor
        return found
    for name, given in (("objective", value), ("fun", float(result.fun))):
        if not abs(given - best) <= OFF * size:
            found.append(f"{name} off by {(given - best) / size:.1e}")
    return found


def optimum(objective: Any, constraints: list[Any] | None = None, factor: float = 1.0) -> float | None:
    """Clarabel's value of a CVXPY problem in plain units, infinite where it has no solution, None where unsure."""
    for options in (
        {"solver": cp.CLARABEL, **TIGHT},
        {"solver": cp.CLARABEL},
        {"solver": cp.SCS, "eps": 1e-9},
    ):
        problem = cp.Problem(cp.Minimize(objective), constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                problem.solve(**options)
            except (cp.SolverError, ValueError):
                continue
        if problem.status == "optimal":
            return factor * float(problem.value)
        if problem.status == "infeasible":
            return math.inf
    return None


def over_rows(residual: Vector, *terms: Vector) -> float:
    """max |r_k| over what row k adds up."""
    size = sum(np.abs(t) for t in terms)
    return float(np.max(np.abs(residual) / np.where(size > 0, size, 1.0), initial=0.0))


def times(a: Any, x: Vector) -> tuple[Vector, Vector]:
    """a x and |a||x|."""
    return a @ x, np.abs(a) @ np.abs(x)


def units(g: np.random.Generator, n: int, spread: float) -> Vector:
    """Log-uniform in 10^±spread."""
    return 10 ** g.uniform(-spread, spread, n)
