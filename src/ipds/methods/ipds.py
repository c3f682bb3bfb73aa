"""Algorithm 1 of the paper: IPDS-ADMM, to the letter.

    β = β⁰(1 + ξ tᵖ),  μ = 1/(λ̄δβ)
    for i = 1..n, blocks before i already new:
        g = ∇f_i(x_i) + A_iᵀ(z + β(Σ_j A_j x_j - b))
        w = θ(L_i + β‖A_i‖²)
        i < n:  x_i ← prox_{h_i}(x_i - g/w, 1/w)
        i = n:  c = x_n - g/w,  x̆_n = prox_{h_n}(c, μ + 1/w),  x_n ← (x̆_n + μwc)/(1 + μw)
    z ← z + σβ(Σ_j A_j x_j - b)

With parameters="practical", β and μ follow the residual instead of the clock (`practical.follow`), inside β⁺ ≤ (1+ξ)β.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from .._arrays import Array, add_scaled, divided, increased, is_jax
from ..parameters import Parameters, parameters_for
from ..problem import Problem, sum_products
from ..theory.state import product_of, residual_of
from .accelerated.reduction import placed
from .base import (
    Method,
    State,
    checked,
    gradient_of,
    lipschitz_at,
    majorised,
    require_last_block,
)
from .deadline import look
from .practical import Memory, first_penalty, follow, norms_squared_of, warm_smoothing
from .schedules import penalty, smoothing


class IPDS(Method):
    """IPDS-ADMM (Yuan, ICLR 2025), Algorithm 1.

    Parameters
    ----------
    parameters : "practical", "sound", "paper", or a `Parameters`.
    beta0 : first penalty; default: scale-free, and never below the theory's L_n/(δλ̄) for "sound" and "paper".
        An explicit value below that bound is used as given, with a warning.
    scaled_multiplier : carry ẑ = z/√β, which stays bounded, instead of z; the iterates are the same.
    """

    def __init__(
        self,
        parameters: str | Parameters = "practical",
        beta0: float | None = None,
        scaled_multiplier: bool = False,
    ):
        if not isinstance(parameters, Parameters) and parameters not in ("practical", "sound", "paper"):
            raise ValueError(
                f"IPDS: parameters must be 'practical', 'sound', 'paper' or Parameters, got {parameters!r}"
            )
        checked("IPDS", beta0=beta0)
        self.parameters = parameters
        self.beta0 = beta0
        self.scaled_multiplier = scaled_multiplier
        self.name = f"IPDS({parameters})" if isinstance(parameters, str) else "IPDS"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> State:
        """Constants of the run and the State at t = 0."""
        require_last_block(problem)
        upper = problem.operators[-1].extremes(problem.blocks[-1].shape)[1]
        parameters = parameters_for(problem, self.parameters)
        constants = [lipschitz_at(block.f, xi) for block, xi in zip(problem.blocks, x0, strict=True)]
        lipschitz, local = zip(*constants, strict=True)
        practical = self.parameters == "practical"
        beta0 = first_penalty(problem, x0, parameters.delta, upper, lipschitz[-1], self.beta0, practical)
        norms_squared = norms_squared_of(problem, lipschitz)
        zhat = z0 / math.sqrt(beta0) if self.scaled_multiplier else None
        mu0 = smoothing(beta0, parameters.delta, upper)
        if practical:
            mu0 = warm_smoothing(problem, x0, z0, upper, mu0)
        memory = Memory(parameters, beta0, upper, norms_squared, lipschitz, local, beta0, mu0, zhat)
        products = tuple([placed(op, xi) for op, xi in zip(problem.operators, x0, strict=True)])
        points = [(None if b.h.is_manifold else xi, 1.0) for b, xi in zip(problem.blocks, x0, strict=True)]
        return State(0, x0, x0[-1], z0, beta0, mu0, products, tuple(points), memory=memory)

    def step(self, problem: Problem, state: State) -> State:
        """One pass over the blocks, then the dual step."""
        m: Memory = state.memory
        p, beta, mu = m.parameters, m.beta, m.mu
        z = state.z if m.zhat is None else beta**0.5 * m.zhat
        x, products, points, lipschitz = list(state.x), list(state.products), [], []
        residual = residual_of(problem, state)
        for i, op in enumerate(problem.operators):
            new, x_breve, point, L = moved(problem, m, i, x[i], op.adjoint(add_scaled(z, beta, residual)))
            product = placed(op, new)
            if i < len(x) - 1:
                residual = increased(
                    product_of(op, new, product) - product_of(op, x[i], products[i]), residual
                )
            x[i], products[i] = new, product
            points.append(point)
            lipschitz.append(L)
        del residual  # summed anew: without what rounding has added on the way
        residual = sum_products(list(map(product_of, problem.operators, x, products)), problem.b)
        if self.parameters == "practical":
            m = follow(problem, m, state, x, products, residual, x_breve, points[-1])
        else:
            following = penalty(state.t + 1, m.beta0, p.xi, p.p, p.schedule)
            m = m._replace(beta=following, mu=smoothing(following, p.delta, m.lambda_max))
        if m.zhat is None:
            zhat, z_new = None, add_scaled(z, p.sigma * beta, residual)
        else:
            zhat = m.zhat * (beta / m.beta) ** 0.5 + (p.sigma * beta / m.beta**0.5) * residual
            z_new = m.beta**0.5 * zhat
        memory = m._replace(zhat=zhat, lipschitz=tuple(lipschitz))
        found = (tuple(x), x_breve, z_new, beta, mu, tuple(products), tuple(points))
        return State(state.t + 1, *found, memory=memory)

    def lighter(self, state: State) -> State:
        """Without what certificates alone need; whole in JAX, whose loops carry States of one build."""
        if not state.prox_points or is_jax(state.z):
            return state
        return replace(state, x_breve=None, prox_points=())

    def parameters_of(self, state: State) -> Parameters:
        """The six parameters in force."""
        return state.memory.parameters


def moved(problem: Problem, m: Memory, i: int, x: Array, pull: Array) -> tuple[Array, Array, Any, float]:
    """Block i: x_i⁺; x̆_i, which is the same for i < n; its prox point and step; L_i from here on."""
    block, L, square, last = problem.blocks[i], m.lipschitz[i], m.norms_squared[i], len(problem.blocks) - 1
    value, gradient = gradient_of(block.f, x, with_value=m.local[i])
    g = pull if gradient is None else gradient + pull
    while True:
        w = (m.parameters.theta1 if i < last else m.parameters.theta2) * (L + m.beta * square)
        c = increased(g / -w, x)  # x - g/w
        step = 1 / w if i < last else m.mu + 1 / w
        x_breve = new = block.h.prox(c, step)
        if i == last:
            new = divided(add_scaled(x_breve, m.mu * w, c), 1 + m.mu * w)
        if not m.local[i]:
            break
        if majorised(block.f, x, new, value, gradient, L):
            L *= 0.95  # a local constant found once may be too cautious later
            break
        look()
        L = max(2 * L, 1e-3 * m.beta * square)
    return new, x_breve, (None if block.h.is_manifold else c, step), L
