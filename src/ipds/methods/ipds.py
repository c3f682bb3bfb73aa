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
import warnings
from typing import NamedTuple

from .._array import Array
from ..deadline import look
from ..errors import AssumptionError
from ..parameters import Parameters, parameters_for
from ..problem import Problem, sum_products
from ..schedules import penalty, smoothing
from .base import Method, State, checked, gradient_of, lipschitz_at, majorised, require_last_block, start
from .practical import follow, scale_free_penalty, warm_smoothing


class Memory(NamedTuple):
    """Constants of the run, and what changes beside the State."""

    parameters: Parameters
    beta0: float
    lambda_max: float
    norms_squared: tuple[float, ...]
    lipschitz: tuple[float, ...]
    local: tuple[bool, ...]
    """Blocks whose L_i is local and found by backtracking."""
    beta: float
    mu: float
    """Penalty and smoothing of the next iteration."""
    zhat: Array | None
    residual: float = math.inf
    """Smallest ‖Ax - b‖ since β last grew."""
    waited: int = 0
    """Iterations since that fell, or β grew."""


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
        bound = lipschitz[-1] / (parameters.delta * upper)
        practical, beta0 = self.parameters == "practical", self.beta0
        if beta0 is None:
            # away from "practical" μ is tied to β alone, so β⁰ must also make the first smoothing error μC_h small
            ahead, least = (1.0, 0.0) if practical else (4 / parameters.delta, bound)
            beta0 = max(scale_free_penalty(problem, x0, upper, lipschitz[-1], ahead), least)
        elif beta0 < bound:
            message = f"IPDS: beta0={beta0:.4g} is below the theory's bound L_n/(δλ̄)={bound:.4g}"
            warnings.warn(message, stacklevel=3)
        norms_squared = tuple(op.norm() ** 2 for op in problem.operators)
        for name, constant, square in zip(problem.names, lipschitz, norms_squared, strict=True):
            if constant == 0 and square == 0:
                raise AssumptionError(f"block {name!r} has A = 0 and no f that could move it; leave it out")
        zhat = z0 / math.sqrt(beta0) if self.scaled_multiplier else None
        mu0 = smoothing(beta0, parameters.delta, upper)
        if practical:
            mu0 = warm_smoothing(problem, x0, z0, upper, mu0)
        memory = Memory(parameters, beta0, upper, norms_squared, lipschitz, local, beta0, mu0, zhat)
        return start(problem, x0, z0, beta0, mu0, memory)

    def step(self, problem: Problem, state: State) -> State:
        """One pass over the blocks, then the dual step."""
        m: Memory = state.memory
        p, beta, mu = m.parameters, m.beta, m.mu
        z = state.z if m.zhat is None else beta**0.5 * m.zhat
        x, products, points = list(state.x), list(state.products), list(state.prox_points)
        lipschitz, residual = list(m.lipschitz), sum_products(products, problem.b)
        last, x_breve = len(x) - 1, state.x_breve
        for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
            pull = op.adjoint(z + beta * residual)
            value, gradient = gradient_of(block.f, x[i], with_value=m.local[i])
            g = pull if gradient is None else gradient + pull
            while True:
                w = (p.theta1 if i < last else p.theta2) * (lipschitz[i] + beta * m.norms_squared[i])
                c = x[i] - g / w
                step = 1 / w if i < last else mu + 1 / w
                new = block.h.prox(c, step)
                if i == last:
                    x_breve, new = new, (new + (mu * w) * c) / (1 + mu * w)
                if not m.local[i] or majorised(block.f, x[i], new, value, gradient, lipschitz[i]):
                    break
                look()
                lipschitz[i] = max(2 * lipschitz[i], 1e-3 * beta * m.norms_squared[i])
            if m.local[i]:
                lipschitz[i] *= 0.95  # a local constant found once may be too cautious later
            product = op.apply(new)
            residual = residual + (product - products[i])
            x[i], products[i], points[i] = new, product, (c, step)
        residual = sum_products(products, problem.b)
        if self.parameters == "practical":
            m = follow(problem, m, state, x, products, residual, x_breve, points[-1])
        else:
            following = penalty(state.t + 1, m.beta0, p.xi, p.p)
            m = m._replace(beta=following, mu=smoothing(following, p.delta, m.lambda_max))
        if m.zhat is None:
            zhat, z_new = None, z + (p.sigma * beta) * residual
        else:
            zhat = m.zhat * (beta / m.beta) ** 0.5 + (p.sigma * beta / m.beta**0.5) * residual
            z_new = m.beta**0.5 * zhat
        memory = m._replace(zhat=zhat, lipschitz=tuple(lipschitz))
        new = (tuple(x), x_breve, z_new, beta, mu, tuple(products), tuple(points))
        return State(state.t + 1, *new, memory=memory)

    def parameters_of(self, state: State) -> Parameters:
        """The six parameters in force."""
        return state.memory.parameters
