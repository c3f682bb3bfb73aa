"""What makes Algorithm 1 practical: a first penalty free of scale, and schedules that follow the residual."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._array import Array, norm
from ..problem import Problem
from ..schedules import follow_residual, initial_penalty, smoothing
from .base import State, size_of_block

if TYPE_CHECKING:
    from .ipds import Memory


CEILING = 1e9
"""β does not grow beyond this multiple of β⁰: where that is not enough, the constraint cannot be met."""


def scale_free_penalty(
    problem: Problem, x0: tuple[Array, ...], upper: float, lipschitz_n: float, ahead: float = 1.0
) -> float:
    """β⁰ from `ahead`·C_h, a size of x_n and L_n (`schedules.initial_penalty`)."""
    block = problem.blocks[-1]
    size = size_of_block(problem, len(x0) - 1, x0)
    return initial_penalty(ahead * block.h.lipschitz(block.shape), size, upper, lipschitz_n)


def follow(
    problem: Problem,
    m: Memory,
    state: State,
    x: list[Array],
    products: list[Array],
    residual: Array,
    x_breve: Array,
    point: Any,
) -> Memory:
    """β and μ of the next iteration in practical mode.

    β grows by 1+ξ while ‖Ax - b‖ lags: it shrinks too slowly, and is relatively larger than the dual residual
    β max_i ‖A_i‖‖Δx_i‖ (so that β stops growing once the point is feasible; ‖A_iΔx_i‖ would not see moves in the
    kernel of A_i). μ does not let the smoothing error μ‖∂h_n‖ exceed the residual, so both vanish together.
    """
    p = m.parameters
    size = norm(residual)
    moves = [math.sqrt(a) * norm(new - old) for a, new, old in zip(m.norms_squared, x, state.x, strict=True)]
    dual = m.beta * max(moves)
    scale = max(problem.b_norm, *(norm(product) for product in products))
    lags = size * norm(state.z) > dual * scale
    beta = follow_residual(m.beta, p.xi, size, m.residual) if lags else m.beta
    beta = min(beta, max(m.beta, CEILING * m.beta0))
    slope = norm(point[0] - x_breve) / point[1]
    mu = min(smoothing(beta, p.delta, m.lambda_max), m.mu)
    if slope > 0:
        mu = min(mu, max(size / (math.sqrt(m.lambda_max) * slope), 0.9 * mu))
    return m._replace(beta=beta, mu=mu, residual=size if beta > m.beta else min(size, m.residual))
