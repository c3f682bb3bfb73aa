"""The units that a problem brings along, wherever a solve may start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._arrays import Array, norm
from ..problem import Problem


def units(problem: Problem, start: Callable[[], Sequence[Array]]) -> tuple[float, ...]:
    """Scales of the constraint and of the forces in every block at `start()`; inf where f is undefined there.

    A certificate is relative to the size of what it adds up, which may vanish at a solution; so a fraction of the
    largest size seen counts too. These units cap that size: a start far out would else make every point look critical.
    So `start` makes the start that the problem itself calls for, not the caller's.

    - Forces: F_i = max(‖∇f_i‖, C_{h_i}); the constraint carries F_k of block k to g_i F_k/g_k in block i, with the
      gains g_i = ‖A_i d‖/‖d‖.
    - Constraint: max(‖b‖, ‖A_i x_i‖); where that is zero, max g_i‖∇f_i‖/L_i.
    """
    try:
        with np.errstate(all="ignore"):
            return _units_at(problem, start())
    except (TypeError, ValueError, ArithmeticError):  # who gives x0 may do so because f is undefined here
        return (math.inf,) * (1 + len(problem.blocks))


def _units_at(problem: Problem, x: Sequence[Array]) -> tuple[float, ...]:
    forces, gains, terms, lengths = [], [], [problem.b_norm], [0.0]
    for block, op, xi in zip(problem.blocks, problem.operators, x, strict=True):
        gradient = None if block.f is None else block.f.grad(xi)
        slope = 0.0 if gradient is None else norm(gradient)
        steepest = block.h.lipschitz(block.shape)
        forces.append(max(slope, steepest if math.isfinite(steepest) else 0.0))
        direction = gradient if slope > 0 else xi if norm(xi) > 0 else xi + 1.0
        terms.append(norm(op.apply(xi)))
        gains.append((terms[-1] if direction is xi else norm(op.apply(direction))) / norm(direction))
        if block.f is not None and block.f.lipschitz:
            lengths.append(gains[-1] * slope / block.f.lipschitz)
    common = max(force / gain if gain > 0 else 0.0 for force, gain in zip(forces, gains, strict=True))
    carried = [max(force, gain * common) for force, gain in zip(forces, gains, strict=True)]
    return tuple(unit if unit > 0 else math.inf for unit in (max(terms) or max(lengths), *carried))
