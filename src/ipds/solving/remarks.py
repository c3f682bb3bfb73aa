"""What a user should know beside the status: why a certificate says little here, or what a failure looks like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .._arrays import Array, norm
from ..problem import Problem
from ..status import Status
from ..theory.entries import has_price
from ..theory.fixed import is_convex
from ..theory.structure import idle

LITTLE = 1e-6
"""A penalty whose value is below this share of the objective's terms does not count."""
STAYS = 0.5
"""The equation stays where it is if its residual never falls below this share of what it was in the first half."""
LONG = 100
"""Iterations after which a limit is no longer why a convex problem is not solved."""
FALLS = 1e-2
"""By what share of itself the objective falls where twice the answer counts as lower."""
UNHELD = (
    "nothing holds the variables back, as in a logistic regression of data that a plane separates; add a penalty such "
    "as 1e-3 * sum_squares(x), or bounds"
)
UNSOLVED = (Status.STALLED, Status.PENALTY_CEILING, Status.MAX_ITER, Status.TIME_LIMIT)


def certified(problem: Problem, x: Sequence[Array], fun: float, nit: int) -> list[str]:
    """Why a certificate may be worth less than it seems: it holds for a trivial reason. `fun` is the objective at x."""
    remarks = []
    if nit == 1 and not is_convex(problem):
        remarks.append("certified after one iteration: the start is, or is next to, a critical point")
    priced = [abs(float(b.h(xi))) if has_price(b) else 0.0 for b, xi in zip(problem.blocks, x, strict=True)]
    total = sum(priced)
    if math.isfinite(fun):  # what the smooth f add, without evaluating them again
        total += abs(fun - total)
    for name, block, xi, price in zip(problem.names, problem.blocks, x, priced, strict=True):
        if block.h.is_discrete:
            remarks.append(f"every point of the discrete set of block {name!r} is critical, also poor ones")
        if has_price(block) and norm(xi) == 0:
            remarks.append(f"block {name!r} is 0 altogether")
        elif has_price(block) and 0 < price < LITTLE * total:  # 0 may be the value of a set
            remarks.append(
                f"h of block {name!r} is {price / total:.0e} of the objective: too small to matter"
            )
    return [*remarks, *idle(problem)]


def overgrown(problem: Problem, x: Sequence[Array], fun: float) -> list[str]:
    """That an objective which is not 0 at 0 is 0 at a thousandth of the answer already: rounding has made it so."""
    if fun != 0.0 or not _may_be_scaled(problem, x):
        return []
    near, zero = (float(problem.objective([c * xi for xi in x])) for c in (1 / 1024, 0.0))
    return (
        [f"the objective is 0 at a thousandth of the answer as well: {UNHELD}"] if near == 0.0 < zero else []
    )


def _may_be_scaled(problem: Problem, x: Sequence[Array]) -> bool:
    """Whether multiples of x meet the equation as well, b being 0, and the problem is convex."""
    return all(type(xi) is np.ndarray for xi in x) and not np.any(problem.b) and is_convex(problem)


def growing(problem: Problem, x: Sequence[Array], status: Status, nit: int) -> list[str]:
    """That twice the answer would be lower where a convex problem does not end: nothing holds its variables back.

    Logistic regression of data that a plane separates, say: the coefficients grow for ever.
    """
    early = nit < LONG and status not in (Status.STALLED, Status.STALLED_FEASIBLE, Status.PENALTY_CEILING)
    if early or status not in (*UNSOLVED, Status.STALLED_FEASIBLE) or not _may_be_scaled(problem, x):
        return []
    here, beyond = (float(problem.objective([c * xi for xi in x])) for c in (1.0, 2.0))
    if not beyond < here - FALLS * abs(here):
        return []
    return [
        f"twice the answer would be lower still ({here:.3g}, {beyond:.3g}): {UNHELD}",
    ]


def unsolved(history: Mapping[str, np.ndarray], rows: float, tol: float, status: Status) -> list[str]:
    """What an end without a certificate looks like: an equation that never comes to hold, an objective without end."""
    if status not in UNSOLVED or len(history["iteration"]) < 4:
        return []
    half = len(history["iteration"]) // 2
    feasibility, objective, beta = (history[name] for name in ("feasibility", "objective", "beta"))
    never = feasibility.min() > tol * feasibility.max()
    if rows > tol and never and feasibility[half:].min() > STAYS * feasibility[1:half].min():
        penalty = f"however large the penalty ({beta[-1]:.0e})" if beta[-1] > beta[0] else "all along"
        return [f"the equation stays {feasibility[-1]:.2g} from holding, {penalty}: it may have no solution"]
    if objective[-1] < 0 and objective[-1] < 2 * objective[half] < 4 * abs(objective[0]):
        return [f"the objective falls on and on ({objective[-1]:.3g} so far): it may have no lower bound"]
    return []
