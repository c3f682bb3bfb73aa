"""The certificate of a point: how far it is from critical, in absolute and in relative terms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._arrays import (
    Array,
    add_in_place,
    fetch,
    maximum_in_place,
    namespace,
    norm,
    precision,
)
from ..operators import Operator
from ..problem import Block, Problem
from .bases import NEAR, leaning
from .entries import (
    Forces,
    Product,
    adjoint_product,
    force_of_f,
    forward_product,
    has_price,
    is_one_piece,
)
from .fixed import Fixed, fixed_of
from .rows import residuals_of_rows, sizes_of_rows
from .sizes import (
    BALANCE,
    EXACT,
    Balance,
    balance_of,
    energy_of,
    felt_multiplier,
    rounding_of,
    smallest,
    verdict,
)
from .slopes import nearest, slopes_of
from .state import State, measured, residual_of
from .taking import toll


@dataclass(frozen=True)
class Certificate:
    """A rigorous upper bound on the ε-criticality of a point (q, z), and the same free of units.

    Crit ≤ critical = ‖A q - b‖ + Σ_i ‖∇f_i(q_i) + s_i + A_iᵀ z‖ with s_i ∈ ∂h_i(q_i), rounding included.
    """

    feasibility: float
    """‖A q - b‖."""
    stationarity: tuple[float, ...]
    """‖∇f_i(q_i) + s_i + A_iᵀ z‖ of every block."""
    relative: float
    """What the tolerance is compared with: the largest of `rows`, `blocks` and `work`."""
    rows: float
    """Root mean square over the rows of the equation of |(A q - b)_k| over what row k adds up."""
    blocks: tuple[float, ...]
    """The residual of every block's forces over the smallest of its own forces."""
    work: float
    """What the residuals could still change in the objective, over the objective's terms."""
    excess: float = -1.0
    """The `gap`, -1 where there is none: a number in any case, as checkpoints keep it."""
    rigorous: bool = False
    """Whether `gap` is a bound, and no mere estimate: every block that matters lies in a bounded set."""

    @property
    def critical(self) -> float:
        """‖A q - b‖ + Σ_i ‖∇f_i(q_i) + s_i + A_iᵀ z‖."""
        return self.feasibility + sum(self.stationarity)

    @property
    def gap(self) -> float | None:
        """By how much the objective of a convex problem exceeds its optimum, an estimate; None for other problems."""
        return self.excess if self.excess >= 0 else None

    @property
    def scales(self) -> tuple[float, ...]:
        """What `feasibility` and the `stationarity` of every block are compared with, all in all."""
        pairs = zip((self.feasibility, *self.stationarity), (self.rows, *self.blocks), strict=True)
        return tuple([value / share if share > 0 else math.inf for value, share in pairs])

    def __str__(self) -> str:
        blocks = ", ".join(f"{value:.2e}" for value in self.stationarity)
        own = ", ".join(f"{value:.0e}" for value in self.blocks)
        gap = "" if self.gap is None else f"gap {'at most' if self.rigorous else 'about'} {self.gap:.2g}; "
        return (
            f"{gap}relative {self.relative:.2e} (rows {self.rows:.0e}; blocks {own}; work {self.work:.0e}); "
            f"critical {self.critical:.3e} = feasibility {self.feasibility:.2e} + stationarity ({blocks})"
        )

    def _repr_html_(self) -> str:
        from .._html import certificate_html

        return certificate_html(self)


def certificate(
    problem: Problem,
    q: Sequence[Array],
    z: Array,
    s: Sequence[Array],
) -> Certificate:
    """The certificate at (q, z) with subgradients s_i ∈ ∂h_i(q_i), taken as exact."""
    fixed = fixed_of(problem, q)

    def forces(i: int) -> Forces:
        block, pull = problem.blocks[i], problem.operators[i].adjoint(z)
        value, gradient = (0.0, None) if block.f is None else block.f.value_and_grad(q[i])
        rest = s[i] + pull if gradient is None else s[i] + pull + gradient
        return _forces(fixed, i, block, q[i], value, gradient, (None, 1.0), Product(pull))._replace(
            slopes=None, steep=None, rest=rest
        )

    known = (None,) * len(q)
    return _certificate(fixed, fetch(_numbers(problem, fixed, q, z, forces, known)))


def certify(problem: Problem, state: State) -> Certificate:
    """The certificate of a state, using whatever the state carries already."""
    return ask(problem, state)()


def ask(problem: Problem, state: State) -> Callable[[], Certificate]:
    """Ask for the certificate of a state: a call of what is returned waits for its numbers, where these are to come."""
    fixed = fixed_of(problem, state.q)  # made here, not while JAX compiles
    numbers = measured(_numbers_at, problem, state)
    return lambda: _certificate(fixed, fetch(numbers))


def uncertified(problem: Problem, state: State) -> Certificate:
    """The certificate of a starting point: no prox has been taken yet, so nothing is known of stationarity."""
    return unmeasured(len(state.x), norm(residual_of(problem, state)))


def unmeasured(blocks: int, feasibility: float = math.inf) -> Certificate:
    """The certificate of a point of so many blocks of which nothing else is known."""
    unknown = (math.inf,) * blocks
    return Certificate(feasibility, unknown, math.inf, math.inf, unknown, math.inf)


def subgradients(problem: Problem, state: State) -> tuple[Array, ...]:
    """The s_i ∈ ∂h_i(q_i) that the certificate of a state uses."""
    each = zip(problem.blocks, problem.operators, state.q, state.prox_points, strict=True)
    return tuple([subgradient(block, op, q, state.z, point) for block, op, q, point in each])


def subgradient(
    block: Block, op: Operator, q: Array, z: Array, prox_point: tuple[Array | None, Any]
) -> Array:
    """That of one block, q being the prox of `prox_point`.

    The element nearest to -(∇f_i + A_iᵀz) where ∂h_i is known: of piecewise linear h_i, on manifolds. For any other h_i
    the prox residual divided by its step, s_i = (v_i - q_i)/step_i, or -A_iᵀz where the state has no v_i.
    """
    v, step = prox_point
    slopes = slopes_of(block.h, q)
    if slopes is None and not block.h.is_manifold:
        return -op.adjoint(z) if v is None else (v - q) * (1 / step)
    g = op.adjoint(z) if block.f is None else op.adjoint(z) + block.f.grad(q)
    return block.h.tangent(q, g) - g if slopes is None else nearest(slopes, q, -g)


def _numbers_at(problem: Problem, state: State) -> list[Any]:
    """The numbers of the certificate of a state."""
    q, known, j = state.q, list(state.products), state.last % len(state.x)
    known[j] = None  # that of x, not of x̆
    fixed = fixed_of(problem, q)
    return _numbers(problem, fixed, q, state.z, partial(_forces_at, problem, fixed, state, q), known)


def _forces_at(problem: Problem, fixed: Fixed, state: State, point: Sequence[Array], i: int) -> Forces:
    """The forces on block i at the point of a state."""
    block, op, q, (v, step) = problem.blocks[i], problem.operators[i], point[i], state.prox_points[i]
    gradient = None if state.gradients is None else state.gradients[i]
    value = None if state.values is None else state.values[i]
    if block.f is None:
        value, gradient = 0.0, None
    elif gradient is None:
        value, gradient = block.f.value_and_grad(q)
    elif value is None:
        value = block.f(q)
    pull = adjoint_product(op, state.z, None if state.adjoints is None else state.adjoints[i])
    return _forces(fixed, i, block, q, value, gradient, (None if block.h.is_manifold else v, step), pull)


def _forces(
    fixed: Fixed,
    i: int,
    block: Block,
    q: Array,
    value: Any,
    gradient: Array | None,
    prox_point: tuple[Array | None, Any],
    pull: Product,
) -> Forces:
    """The forces on block i with what is fixed; `rest` is still to come."""
    at_zero, terms, noise = fixed.at_zero[i], fixed.summands[i], fixed.noise[i]
    curved = terms(q) if terms is not None else curvature(block, q, gradient) if fixed.bare[i] else None
    own = force_of_f(gradient, at_zero, curved) if is_one_piece(q) else None
    v, step = prox_point
    return Forces(
        block=block,
        priced=has_price(block),
        q=q,
        value=value,
        gradient=gradient,
        centre=fixed.centres[i],
        at_zero=at_zero,
        curved=curved,
        slopes=fixed.slopes[i],
        steep=fixed.steep[i],
        v=v,
        step=step,
        rest=None,
        pull=pull,
        width=fixed.widths[i],
        noise=None if noise is None else noise(q),
        own=own,
    )


def curvature(block: Block, q: Array, gradient: Array | None) -> Array | None:
    """∇²f(q) q by a difference of gradients: the force of f where it is at its minimum.

    A quadratic f has ∇f(q) - ∇f(0) instead. Asked for where h is not known to have a slope in every entry.
    """
    if block.f is None or block.f.is_quadratic:
        return None
    step = precision(q) ** 0.4
    change, xp = (block.f.grad(q + step * q) - gradient) / step, namespace(q)
    return xp.where(xp.isfinite(change), change, xp.zeros_like(change))


def _numbers(
    problem: Problem,
    fixed: Fixed,
    q: Sequence[Array],
    z: Array,
    forces: Callable[[int], Forces],
    known: Sequence[Array | None],
) -> list[Any]:
    """‖r‖, rms(r/R), |z|ᵀ|r|, |z|ᵀR, the `toll` of r, `leaning`, and the `Balance` of every block.

    `known` are the A_i q_i at hand, None where they are not.
    """
    taken = toll(problem, fixed.taker, q, known)  # before forces take room
    acting = [forces(i) for i in range(len(q))]
    errors = [rounding_of(found) for found in acting]  # first, while there is room for prox points
    energies = [energy_of(*given) for given in zip(acting, fixed.constants, fixed.alone, strict=True)]
    least = smallest([energy.whole for energy in energies], [e for energy in energies for e in energy.terms])
    sizes: Any = None
    if all(fixed.free) and problem.b_norm == 0:  # no equation
        numbers, z_felt = [0.0] * 4, abs(z)
    else:
        rows = sizes_of_rows(problem, fixed, acting, energies, least, known)
        products = [forward_product(*given) for given in zip(problem.operators, q, known, strict=True)]
        numbers = residuals_of_rows(problem.b, products, rows, z)
        sizes = None if fixed.core is None else rows.copy()  # `rows` is given away
        z_felt = felt_multiplier(z, rows, least)
        del rows, products
    numbers = [*numbers, taken]
    balances = []
    for i, energy in enumerate(energies):
        larger = adjoint_product(fixed.absolute[i], z_felt)
        if not fixed.exact[i]:
            larger = Product(maximum_in_place(larger.array, abs(acting[i].pull.array)))
        balances.append(balance_of(_at_rest(acting[i]), larger, energy, errors[i]))
    leant = 0.0
    if fixed.core is not None and all(found.error < NEAR for found in balances):
        own = [(energy.price, EXACT * energy.spare) for energy in energies]
        leant = leaning(fixed.core, acting, fixed.slopes, own, sizes, z_felt)
    numbers.append(leant)
    return [*numbers, *itertools.chain(*balances)]


def _at_rest(forces: Forces) -> Forces:
    """The same with ρ, on a manifold: there the part of ∇f + Aᵀz normal to it is cancelled."""
    h, g, pull = forces.block.h, forces.gradient, forces.pull
    if not h.is_manifold or forces.rest is not None:
        return forces
    own = pull.scale * pull.array
    return forces._replace(rest=h.tangent(forces.q, own if g is None else add_in_place(own, g)))


def _certificate(fixed: Fixed, numbers: Sequence[float]) -> Certificate:
    feasibility, rows, lost, held, taken, leant, *rest = numbers
    balances = [Balance(*rest[k : k + BALANCE]) for k in range(0, len(rest), BALANCE)]
    found = verdict(fixed, rows, lost, held, taken, leant, balances)
    stationarity = tuple([b.left + b.rounding for b in balances])
    relative = found.relative if math.isfinite(feasibility + sum(stationarity)) else math.inf
    answers = found.rows, found.blocks, found.work
    excess = found.gap if fixed.convex else -1.0
    return Certificate(feasibility, stationarity, relative, *answers, excess, fixed.convex and found.bounded)
