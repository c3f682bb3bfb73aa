"""The certificate of a point: how far it is from critical, in absolute and in relative terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._arrays import (
    Array,
    add_in_place,
    dot,
    fetch,
    greatest,
    is_array,
    magnitude,
    maximum_in_place,
    namespace,
    norm,
    precision,
)
from ..operators import Identity, Operator
from ..problem import Block, Problem
from .entries import (
    Forces,
    Product,
    adjoint_product,
    force_of_f,
    forward_product,
    has_price,
    is_one_piece,
    largest,
    over,
    pieces,
    plus,
    sizes_of,
    whole,
)
from .fixed import Fixed, fixed_of
from .sizes import (
    BALANCE,
    NOISE,
    ROUNDING,
    Balance,
    Energy,
    balance_of,
    energy_of,
    felt_multiplier,
    rounding_of,
    smallest,
    verdict,
)
from .slopes import nearest, slopes_of
from .state import State, measured, product_of, residual_of

GROWN = 1e6
"""What rows add up to at most, in units of the largest |b|, where nothing is minimised: blocks of more than that have
grown along directions that the equation does not see."""


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
    slopes = slopes_of(block, q)
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
    """‖r‖, rms(r/R), |z|ᵀ|r|, |z|ᵀR, and the `Balance` of every block.

    `known` are the A_i q_i at hand, None where they are not.
    """
    acting = [forces(i) for i in range(len(q))]
    errors = [rounding_of(found) for found in acting]  # first, while there is room for prox points
    energies = [energy_of(found, alone) for found, alone in zip(acting, fixed.alone, strict=True)]
    least = smallest([energy.whole for energy in energies])
    rows = _rows(problem, fixed, acting, energies, least, known)
    products = [forward_product(*given) for given in zip(problem.operators, q, known, strict=True)]
    numbers = _of_rows(problem, products, rows, z)
    z_felt = felt_multiplier(z, rows, least)
    del rows, products
    for i, energy in enumerate(energies):
        larger = adjoint_product(fixed.absolute[i], z_felt)
        if not fixed.exact[i]:
            larger = Product(maximum_in_place(larger.array, abs(acting[i].pull.array)))
        numbers += balance_of(_at_rest(acting[i]), larger, energy, errors[i])
    return numbers


def _at_rest(forces: Forces) -> Forces:
    """The same with ρ, on a manifold: there the part of ∇f + Aᵀz normal to it is cancelled."""
    h, g, pull = forces.block.h, forces.gradient, forces.pull
    if not h.is_manifold or forces.rest is not None:
        return forces
    own = pull.scale * pull.array
    return forces._replace(rest=h.tangent(forces.q, own if g is None else add_in_place(own, g)))


def _rows(
    problem: Problem,
    fixed: Fixed,
    acting: Sequence[Forces],
    energies: Sequence[Energy],
    least: Any,
    known: Sequence[Array | None],
) -> Array:
    """R = Σ|A_i||q_i| + |b|, where b is 0 Σ|A_i| X_i with the sizes X_i of entries; at most the room of sets.

    |b| alone where nothing is minimised, and what rounding leaves of blocks that b asks for.
    """
    zero, rows = fixed.homogeneous, None

    def held(i: int) -> Iterator[Array]:
        return (abs(piece) for (piece,) in pieces(acting[i].q))

    if zero is not True:
        plain = _sum(problem, fixed, held, acting, known)
        if any(fixed.priced):
            b = problem.b
            sizes = (abs(piece) for (piece,) in pieces(b)) if is_array(b) else None
            rows = add_in_place(plain, abs(b)) if sizes is None else plus(plain, 1.0, sizes, b)
        else:  # nothing keeps the blocks from growing until any residual looks small beside them
            xp, b = namespace(plain), abs(problem.b) + 0.0 * plain
            rows = xp.maximum(b, NOISE * xp.minimum(plain, GROWN * largest(b)))

    def lifted(i: int) -> Iterator[Array]:
        if not fixed.priced[i]:
            return held(i)
        # where the slopes of h are known, they price a move even at zero; else only what the block holds is safe
        sloped = fixed.sloped[i] and has_price(problem.blocks[i])
        return sizes_of(acting[i], greatest(energies[i].price, least) if sloped else energies[i].price)

    if zero is not False:
        large = _sum(problem, fixed, lifted, acting, known)
        rows = large if rows is None else namespace(rows).where(zero, large, rows)
    return rows if fixed.room is None else namespace(rows).minimum(rows, fixed.room)


def _sum(
    problem: Problem,
    fixed: Fixed,
    size: Callable[[int], Iterator[Array]],
    acting: Sequence[Forces],
    known: Sequence[Array | None],
) -> Array:
    """Σ|A_i| X_i with X_i = size(i), in pieces; where |A_i| is an estimate, not less than |A_i q_i|."""
    total: Any = None
    for i, op in enumerate(fixed.absolute):
        if total is not None and isinstance(op, Identity):
            total = plus(total, op.scale, size(i), acting[i].q)
            continue
        term = op.apply(whole(size(i), acting[i].q))
        if not fixed.exact[i]:
            term = maximum_in_place(term, abs(product_of(problem.operators[i], acting[i].q, known[i])))
        total = term if total is None else add_in_place(total, term)
    return total


def _of_rows(problem: Problem, products: Sequence[Product], rows: Array, z: Array) -> list[Any]:
    """‖r‖; rms(r/R) and |z|ᵀ|r|, rounding added; |z|ᵀR. r = Σ A_i q_i - b is made of the A_i q_i piece by piece."""
    units, count = ROUNDING * precision(rows), max(1, math.prod(rows.shape))
    left: Any = None
    share = lost = held = 0.0
    for R, size, b, *arrays in pieces(rows, z, problem.b, *(product.array for product in products)):
        scales = [product.scale for product in products]
        first, *others = (x if c == 1.0 else c * x for c, x in zip(scales, arrays, strict=True))
        r = first - b
        for term in others:
            r = add_in_place(r, term)
        length = magnitude(r)
        left = length if left is None else math.hypot(left, length)
        r, size = abs(r), abs(size)
        W = over(r, R)
        share, lost, held = share + dot(W, W), lost + dot(size, r), held + dot(size, R)
    return [left, (share / count) ** 0.5 + units, lost + units * held, held]


def _certificate(fixed: Fixed, numbers: Sequence[float]) -> Certificate:
    feasibility, rows, lost, held, *rest = numbers
    balances = [Balance(*rest[k : k + BALANCE]) for k in range(0, len(rest), BALANCE)]
    found = verdict(fixed, rows, lost, held, balances)
    stationarity = tuple([b.left + b.rounding for b in balances])
    relative = found.relative if math.isfinite(feasibility + sum(stationarity)) else math.inf
    answers = found.rows, found.blocks, found.work
    excess = found.gap if fixed.convex else -1.0
    return Certificate(feasibility, stationarity, relative, *answers, excess, fixed.convex and found.bounded)
