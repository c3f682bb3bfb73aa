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
from typing import Any, NamedTuple

from .._arrays import Array, add_in_place, add_scaled, divide_in_place, magnitude
from ..deadline import raise_if_late
from ..parameters import Parameters, parameters_for
from ..problem import Problem, sum_products
from ..theory.state import State, product_of
from .base import (
    Method,
    gradient_of,
    lipschitz_at,
    majorised,
    product_unless_identity,
    require_last_block,
    require_positive,
)
from .practical import first_penalty, follow, norms_squared_of, warm_smoothing
from .schedules import penalty, smoothing


class Setup(NamedTuple):
    """Constants of a run."""

    problem: Problem
    parameters: Parameters
    beta0: float
    lambda_max: float
    norms_squared: tuple[float, ...]
    """‖A_i‖²."""
    local: tuple[bool, ...]
    """Blocks whose L_i is local and found by backtracking."""


class Carry(NamedTuple):
    """What goes from one iteration to the next."""

    t: int
    x: tuple[Array, ...]
    products: tuple[Array | None, ...]
    """A_i x_i; None where A_i = c·I."""
    z: Array
    """The multiplier, or ẑ = z/√β where that is carried."""
    lipschitz: tuple[float, ...]
    """L_i."""
    beta: float
    mu: float
    """Penalty and smoothing of the next iteration."""
    residual: float = math.inf
    """Smallest ‖Ax - b‖ since β last grew (practical)."""
    waited: int = 0
    """Iterations since that fell, or β grew (practical)."""


class IPDS(Method):
    """IPDS-ADMM (Yuan, ICLR 2025), Algorithm 1.

    Parameters
    ----------
    parameters : "practical", "sound", "paper", or a `Parameters`.
    beta0 : first penalty; default: scale-free, and never below the theory's L_n/(δλ̄) for "sound" and "paper".
        An explicit value below that bound is used as given, with a warning.
    scaled_multiplier : carry ẑ = z/√β, which stays bounded, instead of z; the iterates are the same.
    stopping : "certificate", or "paper": the run ends where ‖z⁺ - z‖ + ‖β(x⁺ - x)‖ ≤ `tol`, looked at when the
        certificate is. Small moves prove nothing, so `success` says what the certificate says: a point that is not
        certified to `tol` by then has the status AT_REST.
    """

    def __init__(
        self,
        parameters: str | Parameters = "practical",
        beta0: float | None = None,
        scaled_multiplier: bool = False,
        stopping: str = "certificate",
    ):
        if not isinstance(parameters, Parameters) and parameters not in ("practical", "sound", "paper"):
            raise ValueError(
                f"IPDS: parameters must be 'practical', 'sound', 'paper' or Parameters, got {parameters!r}"
            )
        require_positive("IPDS", beta0=beta0)
        if stopping not in ("certificate", "paper"):
            raise ValueError(f"IPDS: stopping must be 'certificate' or 'paper', got {stopping!r}")
        self.parameters = parameters
        self.beta0 = beta0
        self.scaled_multiplier = scaled_multiplier
        self.stopping = stopping
        self.name = f"IPDS({parameters})" if isinstance(parameters, str) else "IPDS"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """The six parameters, L_i, β⁰ and μ⁰."""
        require_last_block(problem)
        upper = problem.operators[-1].extremes(problem.blocks[-1].shape)[1]
        parameters = parameters_for(problem, self.parameters)
        constants = [lipschitz_at(block.f, xi) for block, xi in zip(problem.blocks, x0, strict=True)]
        lipschitz, local = zip(*constants, strict=True)
        practical = self.parameters == "practical"
        beta0 = first_penalty(problem, x0, parameters.delta, upper, lipschitz[-1], self.beta0, practical)
        mu0 = smoothing(beta0, parameters.delta, upper)
        if practical:
            mu0 = warm_smoothing(problem, x0, z0, upper, mu0)
        setup = Setup(problem, parameters, beta0, upper, norms_squared_of(problem, lipschitz), local)
        products = tuple(
            [product_unless_identity(op, xi) for op, xi in zip(problem.operators, x0, strict=True)]
        )
        z = z0 / math.sqrt(beta0) if self.scaled_multiplier else z0
        return setup, Carry(0, x0, products, z, lipschitz, beta0, mu0)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One pass over the blocks, then the dual step."""
        problem, p, beta, mu = setup.problem, setup.parameters, carry.beta, carry.mu
        z = z_old = beta**0.5 * carry.z if self.scaled_multiplier else carry.z
        x, products, points, lipschitz = list(carry.x), list(carry.products), [], []
        residual = sum_products(list(map(product_of, problem.operators, x, products)), problem.b)
        for i, op in enumerate(problem.operators):
            adjoint = op.adjoint(add_scaled(z, beta, residual))
            new, x_breve, point, L = block_step(setup, carry, i, adjoint)
            product = product_unless_identity(op, new)
            if i < len(x) - 1:
                residual = add_in_place(
                    product_of(op, new, product) - product_of(op, x[i], products[i]), residual
                )
            x[i], products[i] = new, product
            points.append(point)
            lipschitz.append(L)
        del residual, adjoint  # summed anew: without what rounding has added on the way
        residual = sum_products(list(map(product_of, problem.operators, x, products)), problem.b)
        if self.parameters == "practical":
            c, step = points[-1]
            s_n = magnitude(c - x_breve) / step
            following = follow(setup, carry, z, x, products, residual, s_n)
        else:
            beta_next = penalty(carry.t + 1, setup.beta0, p.xi, p.p, p.schedule)
            following = (
                beta_next,
                smoothing(beta_next, p.delta, setup.lambda_max),
                carry.residual,
                carry.waited,
            )
        beta_next = following[0]
        if self.scaled_multiplier:
            scaled = carry.z * (beta / beta_next) ** 0.5 + (p.sigma * beta / beta_next**0.5) * residual
            z = beta_next**0.5 * scaled
        else:
            scaled = z = add_scaled(z, p.sigma * beta, residual)
        t, blocks, known = carry.t + 1, tuple(x), tuple(products)
        state = State(t, blocks, x_breve, z, beta, mu, known, tuple(points))
        if self.stopping == "paper":
            state = replace(state, moved=move(carry.x, blocks, z_old, z, beta))
        return Carry(t, blocks, known, scaled, tuple(lipschitz), *following), state

    def parameters_of(self, setup: Setup) -> Parameters:
        """The six parameters in force."""
        return setup.parameters


def move(x_old: tuple[Array, ...], x: tuple[Array, ...], z_old: Array, z: Array, beta: float) -> float:
    """‖z⁺ - z‖ + ‖β(x⁺ - x)‖, the norm of all blocks together: what the paper's stopping rule looks at."""
    squares = [magnitude(new - old) ** 2 for new, old in zip(x, x_old, strict=True)]
    return magnitude(z - z_old) + beta * sum(squares) ** 0.5


def block_step(setup: Setup, carry: Carry, i: int, adjoint: Array) -> tuple[Array, Array, Any, float]:
    """Block i, with `adjoint` = A_iᵀ(z + β(Ax - b)): x_i⁺; x̆_i, the same for i < n; its prox point and step; L_i⁺."""
    block, x, p = setup.problem.blocks[i], carry.x[i], setup.parameters
    L, square, beta, mu, last = (
        carry.lipschitz[i],
        setup.norms_squared[i],
        carry.beta,
        carry.mu,
        len(carry.x) - 1,
    )
    value, gradient = gradient_of(block.f, x, with_value=setup.local[i])
    g = adjoint if gradient is None else gradient + adjoint
    while True:
        w = (p.theta1 if i < last else p.theta2) * (L + beta * square)
        c = add_in_place(g / -w, x)  # x - g/w
        step = 1 / w if i < last else mu + 1 / w
        x_breve = new = block.h.prox(c, step)
        if i == last:
            new = divide_in_place(add_scaled(x_breve, mu * w, c), 1 + mu * w)
        if not setup.local[i]:
            break
        if majorised(block.f, x, new, value, gradient, L):
            L *= 0.95  # a local constant found once may be too cautious later
            break
        raise_if_late()
        L = max(2 * L, 1e-3 * beta * square)
    return new, x_breve, (None if block.h.is_manifold else c, step), L
