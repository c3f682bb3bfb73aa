"""The Lagrangian, the potential, and the decrease inequality over one iteration."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, dot, norm
from ..errors import AssumptionError
from ..functions import Nonsmooth
from ..parameters import Condition, Parameters
from ..problem import Problem
from .state import State, residual_of


def envelope(h: Nonsmooth, x: Array, mu: float) -> float:
    """Moreau envelope h(x; μ) = min_v h(v) + ‖v - x‖²/(2μ)."""
    v = h.prox(x, mu)
    return float(h(v)) + norm(v - x) ** 2 / (2 * mu)


def lagrangian(problem: Problem, state: State, beta: float | None = None, mu: float | None = None) -> float:
    """𝓛 = h_n(x_n; μ) + Σ_{i<n} h_i + Σ f_i + ⟨Ax-b, z⟩ + β/2‖Ax-b‖² at the state's (x, z)."""
    beta, mu = state.beta if beta is None else beta, state.mu if mu is None else mu
    residual = residual_of(problem, state)
    smooth = sum(float(b.f(xi)) for b, xi in zip(problem.blocks, state.x, strict=True) if b.f is not None)
    nonsmooth = sum(float(b.h(xi)) for b, xi in zip(problem.blocks[:-1], state.x[:-1], strict=True))
    last = envelope(problem.blocks[-1].h, state.x[-1], mu)
    return last + nonsmooth + smooth + float(dot(residual, state.z)) + beta / 2 * norm(residual) ** 2


@dataclass(frozen=True)
class Decrease:
    """The terms of the decrease inequality E⁺ ≤ Θ - Θ⁺ + U over one iteration."""

    energy: float
    potential: float
    following: float
    tail: float

    @property
    def slack(self) -> float:
        """Θ - Θ⁺ + U - E⁺, nonnegative where the inequality holds."""
        return self.potential - self.following + self.tail - self.energy


def potential(
    problem: Problem,
    parameters: Parameters,
    condition: Condition,
    before: State,
    state: State,
    beta: float,
    mu: float,
    lambdas: tuple[float, float] | None = None,
) -> float:
    """Θ at `state`, which follows `before`; β, μ are those of the iteration that starts at `state`.

    Θ = 𝓛 + ½C_h²μ + a‖𝕒‖²/β + (b̂/β)(L_n‖Δx_n‖ + c_u‖u‖)², u = (θ₂L_nᵗI - βᵗA_nᵀA_n)Δx_n with the β of the step
    taken; BI: 𝕒 = A_nᵀΔz, SU: 𝕒 = A_nᵀΔz + σu.
    """
    p, op, block = parameters, problem.operators[-1], problem.blocks[-1]
    lower, upper = op.extremes(block.shape) if lambdas is None else lambdas
    lipschitz = global_lipschitz(problem, -1)
    factor = 1.0 if condition == "BI" else 2.0
    a, b_hat = factor * p.omega * p.sigma2 / lower, 3 * factor * p.omega * p.sigma1 / lower
    move = state.x[-1] - before.x[-1]
    u = p.theta2 * (lipschitz + state.beta * upper) * move - state.beta * op.adjoint(op.apply(move))
    drift = op.adjoint(state.z - before.z)
    drift = drift if condition == "BI" else drift + p.sigma * u
    weight = 1.0 if condition == "BI" else p.sigma
    slope = block.h.lipschitz(block.shape)
    return (
        lagrangian(problem, state, beta, mu)
        + 0.5 * slope**2 * mu
        + a * norm(drift) ** 2 / beta
        + b_hat / beta * (lipschitz * norm(move) + weight * norm(u)) ** 2
    )


def decrease(
    problem: Problem,
    parameters: Parameters,
    condition: Condition,
    states: tuple[State, State, State],
    next_beta: float,
    corrected: bool = True,
) -> Decrease:
    """The decrease inequality over the iteration from states[1] to states[2] (states[0] gives Δx, Δz at states[1]).

    E⁺ = ½(θ₁-1)Σ_{i<n} L_iᵗ‖Δx_i‖² + ε₂L_nᵗ‖Δx_n‖² + (ξ/β)‖Δz‖² with ε₂ = θ₂ - ½ - χ, U = C_h²(b̂/β)(μ⁻/μ - 1)².
    corrected=False takes the paper's χ: for parameters that are not sound the corrected ε₂ is negative, and the
    inequality says nothing.
    """
    before, state, after = states
    p, block, op = parameters, problem.blocks[-1], problem.operators[-1]
    lower, upper = op.extremes(block.shape)
    kappa = upper / lower
    beta, mu = after.beta, after.mu  # those used in the iteration state → after
    next_mu = mu * beta / next_beta
    here = potential(problem, p, condition, before, state, beta, mu, (lower, upper))
    there = potential(problem, p, condition, state, after, next_beta, next_mu, (lower, upper))
    energy = p.xi / beta * norm(after.z - state.z) ** 2
    last, epsilon2 = len(problem.blocks) - 1, p.theta2 - 0.5 - p.chi(condition, kappa, corrected)
    for i, opi in enumerate(problem.operators):
        weight = 0.5 * (p.theta1 - 1) if i < last else epsilon2
        constant = global_lipschitz(problem, i) + beta * (opi.norm() ** 2 if i < last else upper)
        energy += weight * constant * norm(after.x[i] - state.x[i]) ** 2
    b_hat = (3 if condition == "BI" else 6) * p.omega * p.sigma1 / lower
    tail = block.h.lipschitz(block.shape) ** 2 * b_hat / beta * (state.mu / mu - 1) ** 2
    return Decrease(energy, here, there, tail)


def global_lipschitz(problem: Problem, i: int) -> float:
    """L_i; the potential is defined with global constants only."""
    f = problem.blocks[i].f
    if f is None:
        return 0.0
    if f.lipschitz is None:
        raise AssumptionError(
            f"block {problem.names[i]!r}: f states no global Lipschitz constant, needed by the potential"
        )
    return float(f.lipschitz)
