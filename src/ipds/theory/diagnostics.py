"""Certificate, Lagrangian and potential: pure functions of a problem and its states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import (
    Array,
    add_scaled,
    decreased,
    dot,
    fetch,
    increased,
    is_array,
    magnitude,
    norm,
    precision,
    scaled_difference,
)
from ..errors import AssumptionError
from ..functions import Nonsmooth
from ..operators import Identity, Operator
from ..parameters import Condition, Parameters
from ..problem import Block, Problem, sum_products
from .state import State, measured, residual_of


@dataclass(frozen=True)
class Certificate:
    """A rigorous upper bound on the ε-criticality of a point (q, z).

    Crit ≤ critical = ‖A q - b‖ + Σ_i ‖∇f_i(q_i) + s_i + A_iᵀ z‖ with s_i ∈ ∂h_i(q_i).
    """

    feasibility: float
    stationarity: tuple[float, ...]
    relative: float
    """The same sum with every term divided by its own scale: what the tolerance is compared with."""
    scales: tuple[float, ...] = ()
    """The scales used: of the constraint, then of every block."""

    @property
    def critical(self) -> float:
        """‖A q - b‖ + Σ_i ‖∇f_i(q_i) + s_i + A_iᵀ z‖."""
        return self.feasibility + sum(self.stationarity)

    def __str__(self) -> str:
        blocks = ", ".join(f"{value:.2e}" for value in self.stationarity)
        return (
            f"critical {self.critical:.3e} = feasibility {self.feasibility:.2e} + stationarity ({blocks}); "
            f"relative {self.relative:.2e}"
        )

    def _repr_html_(self) -> str:
        from .._html import certificate_html

        return certificate_html(self)


FLOOR = 1e-3
"""A scale never counts as smaller than this fraction of the largest seen in the run (solutions may be zero)."""
ROUNDING = 4.0
"""s = (v - q)/step inherits the rounding of the prox, magnified by 1/step: at most this many units of size/step + ‖s‖,
where `Nonsmooth.prox_size` is the size of what the prox computes with, and step·‖s‖ + ‖v‖ bounds that of its result."""


def certificate(
    problem: Problem,
    q: Sequence[Array],
    z: Array,
    s: Sequence[Array],
    *,
    gradients: Sequence[Array | None] | None = None,
    adjoints: Sequence[Array] | None = None,
    products: Sequence[Array] | None = None,
    largest: Sequence[float] = (),
    rounding: Sequence[float] = (),
) -> Certificate:
    """The certificate at (q, z) with subgradients s_i ∈ ∂h_i(q_i).

    `gradients`, `adjoints`, `products` are ∇f_i(q_i), A_iᵀz, A_i q_i where known; `largest` the largest scales so far;
    `rounding` bounds the errors of the s_i, and is added.
    """
    numbers = [_infeasibility(problem, q, products), magnitude(z)]
    for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        gradient = None if gradients is None else gradients[i]
        pull = None if adjoints is None else adjoints[i]
        product = None if products is None else products[i]
        numbers += _magnitudes(block, op, q[i], z, s[i], gradient, pull, product)
        numbers.append(rounding[i] if rounding else 0.0)
    return _certificate(problem, fetch(numbers), largest)


def _infeasibility(problem: Problem, q: Sequence[Array], products: Sequence[Array | None] | None) -> Any:
    """‖A q - b‖."""
    known = products or (None,) * len(q)
    terms = [op.apply(qi) if a is None else a for op, qi, a in zip(problem.operators, q, known, strict=True)]
    return magnitude(sum_products(terms, problem.b))


def _magnitudes(
    block: Block,
    op: Operator,
    q: Array,
    z: Array,
    s: Array,
    gradient: Array | None,
    pull: Array | None,
    product: Array | None,
) -> list[Any]:
    """The norms of ∇f_i + s_i + A_iᵀz, s_i, A_iᵀz, q_i, A_i q_i and ∇f_i; the last four arguments where known."""
    pull = op.adjoint(z) if pull is None else pull
    gradient = block.f.grad(q) if gradient is None and block.f is not None else gradient
    slope = 0.0 if gradient is None else magnitude(gradient)
    left = magnitude(s + pull if gradient is None else increased(gradient + s, pull))
    placed = magnitude(op.apply(q) if product is None else product)
    return [left, magnitude(s), magnitude(pull), magnitude(q), placed, slope]


def _certificate(problem: Problem, numbers: Sequence[float], largest: Sequence[float]) -> Certificate:
    """The certificate from ‖A q - b‖, ‖z‖, and of every block its `_magnitudes` and the rounding of s_i."""
    feasibility, multiplier, *blocks = numbers
    left, normals, pulls, sizes, placed, slopes, known = (blocks[k::7] for k in range(7))
    stationarity = [value + error for value, error in zip(left, known, strict=True)]
    forces = [max(force) for force in zip(normals, pulls, slopes, strict=True)]
    gains = [a / x if x > 0 else 0.0 for a, x in zip(placed, sizes, strict=True)]
    returns = [pull / multiplier if multiplier > 0 else 0.0 for pull in pulls]
    scales = [max(problem.b_norm, *placed), *_force_scales(forces, gains, returns, multiplier)]
    if largest:
        scales = [max(scale, FLOOR * seen) for scale, seen in zip(scales, largest, strict=True)]
    relative = sum(
        value / scale if scale > 0 else _without_scale(problem, i, value, error)
        for i, (value, scale, error) in enumerate(
            zip([feasibility, *stationarity], scales, [0.0, *known], strict=True)
        )
    )
    return Certificate(feasibility, tuple(stationarity), relative, tuple(scales))


def _without_scale(problem: Problem, i: int, value: float, error: float) -> float:
    """Term i of the relative sum where no force acts: all that is left is the bound on rounding.

    At a feasible point of sets alone that is as it should be. A force of size C_h that rounding has swallowed is not.
    """
    if value > error:
        return math.inf
    block = problem.blocks[i - 1]
    steepest = block.h.lipschitz(block.shape) if i > 0 else 0.0
    return value / steepest if 0 < steepest < math.inf else 0.0


def _force_scales(
    forces: list[float], gains: list[float], returns: list[float], multiplier: float
) -> list[float]:
    """What the stationarity of each block is compared with.

    Where all forces in a block vanish at the solution (an inactive constraint, a free variable), their own size says
    nothing. So the largest force of any block counts, carried over by the constraint: divided by the gain
    ‖A_i q_i‖/‖q_i‖ of its own block it is a multiplier, times the gain of another block a force there. Where q_i is
    almost in the kernel of A_i (a constant signal under differences), ‖A_iᵀz‖/‖z‖ is the better gain to divide by:
    a tiny one would make the scale of every other block as large as one likes.
    """
    found = [max(gain, back) if gain > 0 else 0.0 for gain, back in zip(gains, returns, strict=True)]
    common = max(
        multiplier, *(force / gain for force, gain in zip(forces, found, strict=True) if gain > 0), 0.0
    )
    return [max(force, gain * common) for force, gain in zip(forces, gains, strict=True)]


def subgradients(problem: Problem, state: State) -> tuple[Array, ...]:
    """s_i = (v_i - q_i)/step_i ∈ ∂h_i(q_i): the prox residual divided by its step, for any h_i.

    Where the state has no v_i: the normal vector nearest to -(∇f_i + A_iᵀz) on a manifold, else -A_iᵀz.
    """
    found = []
    for block, op, qi, (v, step) in zip(
        problem.blocks, problem.operators, state.q, state.prox_points, strict=True
    ):
        if v is not None:
            found.append(scaled_difference(v, qi, _inverse(step)))
            continue
        g = op.adjoint(state.z)
        if block.h.is_manifold:
            g = g if block.f is None else g + block.f.grad(qi)
            found.append(block.h.tangent(qi, g) - g)
        else:
            found.append(-g)
    return tuple(found)


def certify(problem: Problem, state: State, largest: Sequence[float] = ()) -> Certificate:
    """The certificate of a state, using whatever the state carries already."""
    return _certificate(problem, fetch(measured(_magnitudes_at, problem, state)), largest)


def _magnitudes_at(problem: Problem, state: State) -> list[Any]:
    """The numbers of the certificate of a state; one block after the other, so that little is in memory at a time."""
    q, products = state.q, _products(problem, state)
    numbers = [_infeasibility(problem, q, products), magnitude(state.z)]
    for i in range(len(q)):
        numbers += _block_at(problem, state, i, q[i], products[i])
    return numbers


def _products(problem: Problem, state: State) -> list[Array | None]:
    """A_i q_i; None where A_i = c·I and it is not at hand."""
    known, j = list(state.products), state.last % len(state.x)
    known[j] = (
        None if isinstance(problem.operators[j], Identity) else problem.operators[j].apply(state.x_breve)
    )
    return known


def _inverse(step: Any) -> Any:
    """1/step; where a step of a diverging method has vanished, ∞, and nothing is certified."""
    return math.inf if type(step) is float and step == 0.0 else 1 / step


def _prox_size(block: Block, v: Array, step: Any) -> Any:
    """The size of what the prox computes with, over its step; where entries have their own, each has its own size."""
    return magnitude(v / step) if is_array(step) else block.h.prox_size(v) * _inverse(step)


def _block_at(problem: Problem, state: State, i: int, q: Array, product: Array | None) -> list[Any]:
    """The `_magnitudes` of block i, and a bound on the rounding of s_i."""
    block, op, (v, step) = problem.blocks[i], problem.operators[i], state.prox_points[i]
    gradient = None if state.gradients is None else state.gradients[i]
    gradient = block.f.grad(q) if gradient is None and block.f is not None else gradient
    pull = None if state.adjoints is None else state.adjoints[i]
    if v is not None and not block.h.is_manifold:
        s = scaled_difference(v, q, _inverse(step))
        rounding = ROUNDING * precision(v) * (_prox_size(block, v, step) + magnitude(s))
        return [*_magnitudes(block, op, q, state.z, s, gradient, pull, product), rounding]
    # these s_i are made from A_iᵀz: fewer arrays will do
    size = magnitude(op.adjoint(state.z) if pull is None else pull)
    rest = [magnitude(q), magnitude(op.apply(q) if product is None else product)]
    if block.h.is_manifold:
        left, normal = _parts(block, q, gradient, op.adjoint(state.z) if pull is None else pull)
        return [left, normal, size, *rest, 0.0 if gradient is None else magnitude(gradient), 0.0]
    v = add_scaled(q, -step, op.adjoint(state.z) if pull is None else pull)
    rounding = ROUNDING * precision(v) * (_prox_size(block, v, step) + size)
    return [0.0, size, size, *rest, 0.0, rounding]


def _parts(block: Block, q: Array, gradient: Array | None, pull: Array) -> tuple[Any, Any]:
    """The norms of the tangent and the normal part of ∇f_i + A_iᵀz on a manifold."""
    if gradient is None:
        tangent = block.h.tangent(q, pull)
        return magnitude(tangent), magnitude(pull - tangent)
    g = gradient + pull
    del pull  # and what is `g` from here on is a temporary: its normal part may take its place
    tangent = block.h.tangent(q, g)
    return magnitude(tangent), magnitude(decreased(g, tangent))


def uncertified(problem: Problem, state: State) -> Certificate:
    """The certificate of a starting point: no prox has been taken yet, so nothing is known of stationarity."""
    return Certificate(norm(residual_of(problem, state)), (math.inf,) * len(state.x), math.inf)


def objective(problem: Problem, state: State) -> Any:
    """Objective at a feasible point where the problem defines one (`Problem.restore`), else at q itself.

    A float, or a number of the array library.
    """
    return measured(_objective, problem, state)


def _objective(problem: Problem, state: State) -> Any:
    j = problem.restorable
    q = state.q
    if j is not None:
        last = state.last % len(q)
        terms = enumerate(zip(problem.operators, q, state.products, strict=True))
        products = [
            op.apply(qi) if i != j and (i == last or product is None) else product
            for i, (op, qi, product) in terms
        ]
        restored = problem.restore(q, products)
        assert restored is not None
        q = restored
    total: Any = 0.0
    for i, (block, qi) in enumerate(zip(problem.blocks, q, strict=True)):
        if block.f is not None:
            known = None if state.values is None or i == j else state.values[i]
            total = total + (block.f(qi) if known is None else known)
        total = total + (0.0 if block.h.is_set and i != j else block.h(qi))
    return total


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
    lipschitz = _global_lipschitz(problem, -1)
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
        constant = _global_lipschitz(problem, i) + beta * (opi.norm() ** 2 if i < last else upper)
        energy += weight * constant * norm(after.x[i] - state.x[i]) ** 2
    b_hat = (3 if condition == "BI" else 6) * p.omega * p.sigma1 / lower
    tail = block.h.lipschitz(block.shape) ** 2 * b_hat / beta * (state.mu / mu - 1) ** 2
    return Decrease(energy, here, there, tail)


def _global_lipschitz(problem: Problem, i: int) -> float:
    """L_i; the potential is defined with global constants only."""
    f = problem.blocks[i].f
    if f is None:
        return 0.0
    if f.lipschitz is None:
        raise AssumptionError(
            f"block {problem.names[i]!r}: f states no global Lipschitz constant, needed by the potential"
        )
    return float(f.lipschitz)
