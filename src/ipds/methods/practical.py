"""What makes Algorithm 1 practical: a first penalty free of scale, and schedules that follow the residual."""

from __future__ import annotations

import math
import warnings
from functools import reduce
from typing import TYPE_CHECKING, Any

from .._arrays import Array, choose, fetch, greatest, least, magnitude, norm
from ..errors import AssumptionError
from ..problem import Problem
from ..theory.state import product_of
from .base import size_of_block
from .schedules import follow_residual, initial_penalty, smoothing

if TYPE_CHECKING:
    from .ipds import Carry, Setup

CEILING = 1e9
"""β does not grow beyond this multiple of β⁰: where that is not enough, the constraint cannot be met."""

WAIT, FAR = 50, 1e-4
"""β grows in any case where ‖Ax - b‖ has been FAR (in units of the terms) for so many iterations: the blocks jump."""


def scale_free_penalty(
    problem: Problem, x0: tuple[Array, ...], upper: float, lipschitz_n: float, ahead: float = 1.0
) -> float:
    """β⁰ from `ahead`·C_h, a size of x_n and L_n (`schedules.initial_penalty`)."""
    block = problem.blocks[-1]
    size = size_of_block(problem, len(x0) - 1, x0)
    return initial_penalty(ahead * block.h.lipschitz(block.shape), size, upper, lipschitz_n)


def first_penalty(
    problem: Problem,
    x0: tuple[Array, ...],
    delta: float,
    upper: float,
    lipschitz_n: float,
    given: float | None,
    practical: bool,
) -> float:
    """β⁰: the one `given`, with a warning where it is below the theory's L_n/(δλ̄), or a scale-free one."""
    bound = lipschitz_n / (delta * upper)
    if given is not None:
        if given < bound:
            message = f"IPDS: beta0={given:.4g} is below the theory's bound L_n/(δλ̄)={bound:.4g}"
            warnings.warn(message, stacklevel=4)
        return given
    # away from "practical" μ is tied to β alone, so β⁰ must also make the first smoothing error μC_h small
    ahead, least_of_all = (1.0, 0.0) if practical else (4 / delta, bound)
    return max(scale_free_penalty(problem, x0, upper, lipschitz_n, ahead), least_of_all)


def norms_squared_of(problem: Problem, lipschitz: tuple[float, ...]) -> tuple[float, ...]:
    """The ‖A_i‖²; refuses a block that neither its A_i nor its f_i could move."""
    squares = tuple([op.norm() ** 2 for op in problem.operators])
    for name, constant, square in zip(problem.names, lipschitz, squares, strict=True):
        if constant == 0 and square == 0:
            raise AssumptionError(f"block {name!r} has A = 0 and no f that could move it; leave it out")
    return squares


def warm_smoothing(problem: Problem, x0: tuple[Array, ...], z0: Array, upper: float, mu: float) -> float:
    """μ of the first iteration: `mu`, or less where a given z0 says that the smoothing error μ‖∂h_n‖ would be felt.

    A start (x, z) near a solution would be lost by smoothing h_n more than the residual of the constraint warrants.
    """
    slope = norm(problem.operators[-1].adjoint(z0))
    if slope == 0:
        return mu
    return min(mu, max(problem.infeasibility(x0) / (math.sqrt(upper) * slope), 1e-6 * mu))


def follow(
    setup: Setup,
    carry: Carry,
    z: Array,
    x: list[Array],
    products: list[Array | None],
    residual: Array,
    s_n: Any,
) -> tuple[float, float, float, int]:
    """(β, μ, smallest residual, iterations waited) of the next iteration in practical mode.

    `carry`, `z` are those before the iteration, `x`, `products`, `residual` those after it, `s_n` = ‖s_n‖ with the
    subgradient s_n = (c - x̆)/step of h_n.

    β grows by 1+ξ while ‖Ax - b‖ lags: it shrinks too slowly, and is relatively larger than the dual residual
    β max_i ‖A_i‖‖Δx_i‖ (so that β stops growing once the point is feasible; ‖A_iΔx_i‖ would not see moves in the
    kernel of A_i). μ does not let the smoothing error μ‖∂h_n‖ exceed the residual, so both vanish together.
    """
    problem, p, n = setup.problem, setup.parameters, len(x)
    # one after the other, so that one difference is in memory at a time
    terms = (magnitude(product_of(*term)) for term in zip(problem.operators, x, products, strict=True))
    moves = (magnitude(new - old) for new, old in zip(x, carry.x, strict=True))
    size, force, slope, *norms = fetch([magnitude(residual), magnitude(z), s_n, *terms, *moves])
    scale = reduce(greatest, norms[:n], problem.b_norm)
    dual = carry.beta * reduce(
        greatest, [a**0.5 * move for a, move in zip(setup.norms_squared, norms[n:], strict=True)]
    )
    waited = choose(size < 0.9 * carry.residual, 0, carry.waited + 1)
    lags = (size * force > dual * scale) | ((waited >= WAIT) & (size > FAR * scale))
    beta = choose(lags, follow_residual(carry.beta, p.xi, size, carry.residual), carry.beta)
    beta = least(beta, greatest(carry.beta, CEILING * setup.beta0))
    mu = least(smoothing(beta, p.delta, setup.lambda_max), carry.mu)
    felt = size / (setup.lambda_max**0.5 * choose(slope > 0, slope, 1.0))
    mu = choose(slope > 0, least(mu, greatest(felt, 0.9 * mu)), mu)
    grown = beta > carry.beta
    return beta, mu, choose(grown, size, least(size, carry.residual)), choose(grown, 0, waited)
