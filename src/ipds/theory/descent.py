"""The decrease that makes Algorithm 1 converge, evaluated along a run: E⁺ ≤ Θ - Θ⁺ + U.

Everything lives in the space of the multiplier. The last block's optimality ties Δz to its moves (docs/theory.md):

    Δz⁺ = (1-σ)Δz + σ(û - û⁺) + σ(ŵ - ŵ⁺),   û = A_n⁺ᵀ MΔx_n,  M = θ₂L_nᵗI - βA_nᵀA_n,  A_n⁺ᵀ the pseudoinverse of A_nᵀ

The part driven by û has the storage ŝ⁺ = (1-σ)ŝ + σû⁺ and is Δz_u⁺ = σ(ŝ - û⁺); Δz_w is the rest.

    Θ = 𝓛 + ½C_h²μ + (ω/β){2/((2-σ)τ)·‖ŝ‖² + [σ₂‖Δz_w‖² + 2(1+η)σ₁L_n²‖Δx_n‖²/λ_]/(1-τ)}
    E⁺ = ½(θ₁-1)Σ_{i<n} L_iᵗ‖Δx_i‖² + ε₂βλ̄‖Δx_n‖² + (ξ/β)‖Δz‖²
    U = ω/(β(1-τ))·(σ₁/λ_)(1+1/η)C_h²(μ⁻/μ - 1)²
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy

from .._arrays import Array, norm, to_numpy
from ..errors import AssumptionError
from ..operators import Operator
from ..parameters import Parameters
from ..problem import Problem
from .potential import Decrease, global_lipschitz, lagrangian
from .state import State


class Constants(NamedTuple):
    """The numbers of the inequality, fixed for a run."""

    parameters: Parameters
    lower: float
    """λ_, the smallest eigenvalue of A_nA_nᵀ."""
    upper: float
    """λ̄, the largest."""
    lipschitz: tuple[float, ...]
    """L_i."""
    norms_squared: tuple[float, ...]
    """‖A_i‖²."""
    slope: float
    """C_h."""
    tau: float
    eta: float
    """η of (a + e)² ≤ (1+η)a² + (1+1/η)e², such that half the margin is left."""
    margin: float
    """ε₂: half the margin of the parameters."""

    @property
    def tail(self) -> float:
        """U = tail/β·(μ⁻/μ - 1)²."""
        p = self.parameters
        weight = p.omega * p.sigma1 / (self.lower * (1 - self.tau))
        return weight * (1 + 1 / self.eta) * self.slope**2


def constants(problem: Problem, parameters: Parameters) -> Constants:
    """The constants of `problem`; `AssumptionError` where f_i states no global L_i or A_n is not surjective.

    Parameters that are not sound are taken as they are: then ε₂ ≤ 0, and the inequality says nothing.
    """
    lipschitz = tuple(global_lipschitz(problem, i) for i in range(len(problem.blocks)))
    block, op = problem.blocks[-1], problem.operators[-1]
    lower, upper = op.extremes(block.shape)
    if not lower > 0:
        raise AssumptionError(f"block {problem.names[-1]!r} is last, and its A is not surjective")
    smooth_last = block.f is not None
    verdict = parameters.verify("SU", upper / lower, smooth_last)
    worst = 2 * parameters.delta**2 * (2 if smooth_last else 1)
    weight = parameters.omega * parameters.sigma1 * (upper / lower) / (1 - verdict.tau)
    eta = min(1.0, verdict.margin / (2 * worst * weight)) if verdict.margin > 0 else 1.0
    norms = (*(o.norm() ** 2 for o in problem.operators[:-1]), upper)
    slope = block.h.lipschitz(block.shape)
    return Constants(parameters, lower, upper, lipschitz, norms, slope, verdict.tau, eta, verdict.margin / 2)


def decreases(problem: Problem, parameters: Parameters, states: Iterable[State]) -> Iterator[Decrease]:
    """The terms of the inequality over every iteration of a run of `IPDS(parameters)`, from its third State on.

    `states` are consecutive States, as `iterate` yields them.

    >>> import numpy as np
    >>> from itertools import islice
    >>> from ipds import Block, Parameters, Problem, iterate
    >>> from ipds.functions import L1, Box
    >>> from ipds.methods import IPDS
    >>> problem = Problem([Block(h=Box(0.0, 1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=np.ones(3))
    >>> sound = Parameters.sound("BI", 1.0, smooth_last=False)
    >>> run = islice(iterate(problem, method=IPDS(sound)), 20)
    >>> min(step.slack for step in decreases(problem, sound, run)) >= -1e-12
    True
    """
    k = constants(problem, parameters)
    carry: _Carry | None = None
    follow = pairwise(pairwise(states))
    for (before, state), (_, after) in follow:
        # `after` knows the β and μ of the iteration that starts at `state`
        carry = _storage_and_drift(problem, k, before, state, carry)
        here = _potential(problem, k, carry, before, state, after.beta, after.mu)
        if carry.potential is not None:
            yield _decrease(k, carry, here)
        carry = carry._replace(
            potential=here, energy=_energy(k, state, after), mu=(state.mu, after.mu), beta=after.beta
        )


class _Carry(NamedTuple):
    """What one iteration hands to the next."""

    storage: Array
    """ŝ."""
    drift: Array
    """Δz_w."""
    potential: float | None
    """Θ where the last iteration began, E⁺ over it, (μ⁻, μ) and β of it."""
    energy: float = 0.0
    mu: tuple[float, float] = (1.0, 1.0)
    beta: float = 1.0


def _storage_and_drift(
    problem: Problem, k: Constants, before: State, state: State, carry: _Carry | None
) -> _Carry:
    """Storage and drift at `state`, which follows `before`."""
    op, p = problem.operators[-1], k.parameters
    move = state.x[-1] - before.x[-1]
    proximal = p.theta2 * (k.lipschitz[-1] + state.beta * k.upper)
    pushed = proximal * _lift(op, move, problem.shape) - state.beta * op.apply(move)  # û
    change = state.z - before.z
    if carry is None:
        return _Carry(pushed, change, None)
    storage = (1 - p.sigma) * carry.storage + p.sigma * pushed
    return carry._replace(storage=storage, drift=change - p.sigma * (carry.storage - pushed))


def _potential(
    problem: Problem, k: Constants, carry: _Carry, before: State, state: State, beta: float, mu: float
) -> float:
    """Θ at `state`; β, μ are those of the iteration that starts there."""
    p = k.parameters
    last = 2 * (1 + k.eta) * p.sigma1 / k.lower * (k.lipschitz[-1] * norm(state.x[-1] - before.x[-1])) ** 2
    stored = 2 / ((2 - p.sigma) * k.tau) * norm(carry.storage) ** 2
    stored += (p.sigma2 * norm(carry.drift) ** 2 + last) / (1 - k.tau)
    return lagrangian(problem, state, beta, mu) + 0.5 * k.slope**2 * mu + p.omega / beta * stored


def _energy(k: Constants, state: State, after: State) -> float:
    """E⁺ over the iteration from `state` to `after`."""
    p, beta = k.parameters, after.beta
    total = p.xi / beta * norm(after.z - state.z) ** 2
    for i, (L, square) in enumerate(zip(k.lipschitz, k.norms_squared, strict=True)):
        moved = norm(after.x[i] - state.x[i]) ** 2
        last = i == len(k.lipschitz) - 1
        total += (k.margin * beta * k.upper if last else 0.5 * (p.theta1 - 1) * (L + beta * square)) * moved
    return total


def _decrease(k: Constants, carry: _Carry, following: float) -> Decrease:
    before, mu = carry.mu
    assert carry.potential is not None
    return Decrease(carry.energy, carry.potential, following, k.tail / carry.beta * (before / mu - 1) ** 2)


def _lift(op: Operator, x: Array, shape: tuple[int, ...]) -> Array:
    """A⁺ᵀx, the y of least norm that minimises ‖Aᵀy - x‖."""
    if op.gram is not None and math.prod(x.shape) == math.prod(shape):  # AᵀA = c²I, square: A⁺ᵀ = A/c²
        return op.apply(x) / op.gram
    flat = np.asarray(to_numpy(x), dtype=float).reshape(-1)
    rows = math.prod(shape)
    transposed = scipy.sparse.linalg.LinearOperator(
        (flat.size, rows),
        matvec=lambda y: to_numpy(op.adjoint(y.reshape(shape))).reshape(-1),
        rmatvec=lambda v: to_numpy(op.apply(v.reshape(x.shape))).reshape(-1),
        dtype=float,
    )
    solution = scipy.sparse.linalg.lsmr(
        transposed, flat, atol=1e-15, btol=1e-15, conlim=0, maxiter=20 * rows
    )[0]
    return solution.reshape(shape)
