"""Schedules: plain functions that give the penalty β and the smoothing μ."""

from __future__ import annotations

import math

from .._arrays import choose


def penalty(t: int, beta0: float, xi: float, p: float, schedule: str = "printed") -> float:
    """β after t iterations: the paper's β⁰(1 + ξ tᵖ), or, "shifted", β⁰(1 + ξ't)ᵖ with (1 + ξ')ᵖ = 1 + ξ.

    Both keep β⁺ ≤ (1 + ξ)β and grow like tᵖ; the shifted one from the first iterations on, the printed one is flat
    until t is about ξ^(-1/p).

    >>> penalty(0, 2.0, 0.5, 1 / 3), penalty(8, 2.0, 0.5, 1 / 3)
    (2.0, 4.0)
    >>> round(penalty(1, 2.0, 0.5, 1 / 3, "shifted"), 12)
    3.0
    """
    if schedule == "shifted":
        return beta0 * (1 + ((1 + xi) ** (1 / p) - 1) * t) ** p
    return beta0 * (1 + xi * t**p)


def smoothing(beta: float, delta: float, lambda_max: float) -> float:
    """μ = 1/(λ̄ δ β), the decreasing smoothing tied to the penalty.

    >>> smoothing(2.0, 0.25, 1.0)
    2.0
    """
    return 1 / (lambda_max * delta * beta)


def follow_residual(beta: float, xi: float, residual: float, previous: float, shrink: float = 0.9) -> float:
    """β⁺ = (1+ξ)β while the residual shrinks by less than `shrink`, else β: never beyond the paper's bound.

    >>> follow_residual(1.0, 0.5, residual=0.95, previous=1.0), follow_residual(1.0, 0.5, residual=0.5, previous=1.0)
    (1.5, 1.0)
    """
    return choose(residual > shrink * previous, (1 + xi) * beta, beta)


def initial_penalty(lipschitz_h: float, size: float, lambda_max: float, lipschitz_f: float = 0.0) -> float:
    """β⁰ = max(C_h/‖x_n‖, L_n)/λ̄: free of scale.

    Multiplying the objective, the variables or the constraint by a factor multiplies β⁰ by what leaves the
    iterates the same. `size` is a norm typical of x_n; a term that is zero or infinite is left out.

    >>> initial_penalty(3.0, 1.5, 1.0)
    2.0
    """
    by_slope = lipschitz_h / size if size > 0 and math.isfinite(lipschitz_h) else 0.0
    beta = max(by_slope, lipschitz_f) / lambda_max
    return beta if beta > 0 and math.isfinite(beta) else 1.0 / lambda_max
