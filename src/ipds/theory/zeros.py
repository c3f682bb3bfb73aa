"""Zeros that a solve has left as rounding: in a row 0 = 0 no residual is small beside what the row adds up.

Where x = w and w is held at 0 exactly, x may come out as 1e-17. Nothing else in the problem feels that, but the row has
no other size to be compared with. The point with a zero there is another point, certified like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import precision
from ..functions import Nonsmooth
from ..problem import Problem
from .fixed import fixed_of
from .sizes import NOISE, ROUNDING
from .state import State


def without_rounding(problem: Problem, state: State, tol: float) -> State | None:
    """The state with zeros in place of all that stands in rows of rounding, where one of these does not hold to `tol`.

    Multipliers of these rows that are rounding as well become zero, too. None where there is no such row, where no
    block can have zeros there, and for arrays other than NumPy's.
    """
    q = state.q
    if not all(type(x) is np.ndarray for x in (*q, state.z)):
        return None
    fixed = fixed_of(problem, q)
    if fixed.homogeneous is False:
        return None
    rows = sum(op.apply(abs(x)) for op, x in zip(fixed.absolute, q, strict=True)) + abs(problem.b)
    small = fixed.homogeneous & (rows <= NOISE * rows.max(initial=0.0))
    if not np.any(small & (abs(problem.residual(q)) > tol * rows)):
        return None
    marks = np.where(small, np.random.default_rng(0).uniform(1.0, 2.0, rows.shape), 0.0)  # no two cancel
    points, proxes = list(q), list(state.prox_points)
    for i, (block, x, (v, step)) in enumerate(zip(problem.blocks, q, state.prox_points, strict=True)):
        reached = abs(problem.operators[i].adjoint(marks))
        zero = (x != 0) & (reached > NOISE * reached.max(initial=0.0))
        if not np.any(zero):
            continue
        cleared = np.where(zero, 0.0, x)
        nearby = [] if v is None else [v + (cleared - x), np.where(zero, 0.0, v)]
        found = next((v for v in nearby if _is_prox(block.h, cleared, v, step)), None)
        if found is not None or (fixed.slopes[i] is not None and np.isfinite(block.h(cleared))):
            points[i], proxes[i] = cleared, (found, step)
    if all(new is old for new, old in zip(points, q, strict=True)):
        return None
    size = abs(state.z)
    return replace(
        state,
        x=tuple(points),
        x_breve=points[-1],
        z=np.where(small & (size <= NOISE * size.max()), 0.0, state.z),
        last=-1,
        products=(None,) * len(points),
        prox_points=tuple(proxes),
        gradients=None,
        adjoints=None,
        values=None,
    )


def _is_prox(h: Nonsmooth, x: np.ndarray, v: np.ndarray, step: Any) -> bool:
    """Whether x is the prox of v up to rounding, so that (v - x)/step is a subgradient there."""
    try:
        again = h.prox(v, step if np.ptp(step) > 0 else float(np.ravel(step)[0]))
    except ValueError:  # it takes one step for all entries
        return False
    return bool(np.abs(again - x).max() <= ROUNDING * precision(x) * np.abs(v).max())
