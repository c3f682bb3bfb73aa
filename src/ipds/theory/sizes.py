"""What a residual is compared with: sizes of the problem's own terms, in units that nobody has to choose.

Three questions are asked of a point q with a multiplier z and subgradients s_i ∈ ∂h_i(q_i). With the residuals
r = Σ A_i q_i - b and ρ_i = ∇f_i(q_i) + s_i + A_iᵀz:

    rows     does every row of the equation hold, compared with what that row adds up?
    blocks   do the forces of every block balance, compared with the smallest of its own forces?
    work     is what the residuals could still change in the objective small, compared with the objective?

Sizes are taken before anything cancels: |A_i|ᵀ|z|, |A_i||q_i|. In block i, entry by entry,

    T = max(|∇f_i|, |∇f_i - ∇f_i(0)| of a quadratic, |s_i|, |A_i|ᵀ|z|)      the force that acts there,
    X = max(|q_i|, E_i/(n_i T))                                             the size of the entry:

its value, or the move that T would price at its share of the block's energy E_i = |f_i| + |h_i|, so that an entry which
is zero at the solution is measured by what it could be. Then with rms over the entries,

    rows    = rms_k |r_k|/R_k,  R = Σ|A_i| X_i + |b|
    blocks_i = rms(ρ_i/T) / min over the terms t of block i of rms(t/T)
    work    = max( (Σ|ρ_i|ᵀ|q_i| + |z|ᵀ|r|)/ΣE_i, |z|ᵀ|r|/(10 min E_i) )

Every one of them stays what it is when a block, a row, the objective or (where h allows it) a single column is stated
in other units. `docs/certificate.md` gives the reason for each part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._arrays import (
    Array,
    add_scaled,
    asarray,
    choose,
    is_array,
    magnitude,
    namespace,
    precision,
    scalar,
    to_numpy,
    zeros,
)
from ..operators import Operator, ZeroMap
from ..operators.absolute import absolute
from ..problem import Block, Problem
from .entries import Forces, Sums, Weights, bent, carried, has_price, inverse, over, strongest, weigh
from .slopes import Slopes, slopes_of, uniform

ROUNDING = 4.0
"""Units of rounding that count for every quantity that was computed."""
VANISHING = 1e-6
"""On an entry no force counts as less than this share of the largest one in its block: some entries feel none."""
ABSENT = 1e-8
"""A term of a block that is smaller than this share of the largest one is not there."""
FIT = 1e-4
"""Share of ⟨q, ∇²f q⟩ in the energy of f: where the fit is perfect, f itself says nothing of its size."""
LEAST = 0.1
"""Weight of the work of the equation's residual in units of the smallest block's energy."""


class Fixed(NamedTuple):
    """What is found once for a problem."""

    absolute: tuple[Operator, ...]
    """|A_i|."""
    at_zero: tuple[Array | None, ...]
    """∇f_i(0) of the quadratic f_i."""
    exact: tuple[bool, ...]
    """Whether |A_i| is exact, or an estimate that a product with A_i should be held against."""
    slopes: tuple[Slopes | None, ...]
    """∂h_i of the piecewise linear h_i."""
    free: tuple[bool, ...]
    """Whether A_i = 0."""
    priced: tuple[bool, ...]
    """Whether the blocks add to the objective."""
    convex: bool
    """Whether the problem is known to be convex."""
    widths: tuple[Any, ...]
    """w_i of the domains that are bounded in every entry: numbers or arrays; None for others."""
    room: Array | None
    """Σ|A_i| w_i with the widths w_i of the sets, ∞ in rows with a block that has none; None where all have."""


_fixed: WeakKeyDictionary[Problem, dict[Any, Fixed]] = WeakKeyDictionary()


def fixed_of(problem: Problem, q: Sequence[Array]) -> Fixed:
    """|A_i| and ∇f_i(0) for blocks of the kind of `q`; made once."""
    known = _fixed.setdefault(problem, {})
    key = tuple([(type(qi), qi.dtype) for qi in q])
    if key not in known:
        flat = [
            block.f.grad(zeros(block.shape, qi)) if block.f is not None and block.f.is_quadratic else None
            for block, qi in zip(problem.blocks, q, strict=True)
        ]
        free = tuple([op.is_zero for op in problem.operators])
        slopes = tuple([slopes_of(block, qi) for block, qi in zip(problem.blocks, q, strict=True)])
        larger = tuple(map(absolute, problem.operators))
        exact = tuple([getattr(op, "exact", True) for op in larger])
        widths = tuple([width_of(block, qi) for block, qi in zip(problem.blocks, q, strict=True)])
        known[key] = Fixed(
            larger,
            tuple(flat),
            exact,
            slopes,
            free,
            tuple(map(is_priced, problem.blocks)),
            is_convex(problem),
            widths,
            _room(problem, larger, q),
        )
    return known[key]


def width_of(block: Block, q: Array) -> Any:
    """The width of dom h in every entry, a number or an array like q; None where one is infinite."""
    width = np.asarray(to_numpy(block.h.width(block.shape)), dtype=float)
    return uniform(width, block, q) if np.all(np.isfinite(width)) else None


def _room(problem: Problem, larger: Sequence[Operator], q: Sequence[Array]) -> Array | None:
    """How far apart the two sides of every row can be while all blocks stay in their sets."""
    total: Any = 0.0
    for block, op, qi in zip(problem.blocks, larger, q, strict=True):
        width = np.asarray(to_numpy(block.h.width(block.shape)))
        if np.all(np.isinf(width)) and not isinstance(op, ZeroMap):
            return None
        wide = np.broadcast_to(width, block.shape)
        sides = op.apply(asarray(np.where(np.isfinite(wide), wide, 0.0), qi))
        open_ended = op.apply(asarray(np.where(np.isfinite(wide), 0.0, 1.0), qi))
        xp = namespace(sides)
        total = total + xp.where(open_ended > 0, math.inf, sides)
    xp = namespace(total)
    return xp.where(total > 0, total, math.inf)


def is_convex(problem: Problem) -> bool:
    """Whether every f and h is known to be convex."""
    return all(b.h.is_convex and (b.f is None or b.f.is_convex is True) for b in problem.blocks)


def is_priced(block: Block) -> bool:
    """Whether the block adds to the objective."""
    return block.f is not None or has_price(block)


class Balance(NamedTuple):
    """Numbers of a block: how well its forces balance."""

    left: Any
    """‖ρ‖."""
    rounding: Any
    """A bound on its error."""
    error: Any
    """rms(ρ/T), rounding added."""
    own: Any
    """rms(t/T) of the forces of f; 0 where there is none."""
    normal: Any
    """The same of h, unless it is a set."""
    pull: Any
    """The same of the equation."""
    far: Any
    """Σ T X."""
    work: Any
    """|ρ|ᵀ|q|, rounding added."""
    span: Any
    """|ρ|ᵀw with the widths w of the domain; |ρ|ᵀ|q| where there are none."""
    energy: Any
    """E = |f| + |h|, and a share of ⟨q, ∇²f q⟩."""


BALANCE = len(Balance._fields)


def energy_of(forces: Forces) -> Any:
    """E = |f| + |h| + FIT·|⟨q, ∇²f q⟩|."""
    block = forces.block
    price = abs(block.h(forces.q)) if has_price(block) else 0.0
    return abs(forces.value) + FIT * abs(bent(forces)) + price


def rounding_of(forces: Forces) -> Any:
    """A bound on the error of ‖s‖: `ROUNDING` units of the sizes of what the prox computes with, over its step."""
    h, q, v, step = forces.block.h, forces.q, forces.v, forces.step
    if forces.rest is not None or forces.slopes is not None:
        return 0.0
    if v is None:  # the prox point behind s = -Aᵀz
        v = add_scaled(q, -step * forces.pull.scale, forces.pull.array)
    if getattr(step, "ndim", 0):  # of an entrywise h: to each entry its own, and what the constants of h add
        size = magnitude(v / step) + (h.prox_size(v) - magnitude(v)) / scalar(namespace(step).min(step))
    else:
        size = h.prox_size(v) * inverse(step)
    return ROUNDING * precision(q) * size


def weights_of(forces: Forces, energy: Any) -> Weights:
    """Forces count from `VANISHING` of the largest on; every entry has the same share of the energy."""
    top = strongest(forces)
    share = energy / max(1, math.prod(forces.block.shape))
    return Weights(choose(top > 0, VANISHING * top, 1.0), choose(top > 0, share, 0.0))


def priced_balance(forces: Forces) -> tuple[Balance, Array]:
    """How well the forces of a block balance, and the sizes X of its entries."""
    energy, rounding = energy_of(forces), rounding_of(forces)
    sums, reach = weigh(forces, weights_of(forces, energy))
    return _balance(forces, energy, rounding, sums), reach


def unpriced_balance(forces: Forces, larger: Operator, rows: Array, least: Any) -> Balance:
    """The same for a block without a price: where all its forces vanish, one counts that the cheapest block could feel.

    An entry may go as far as the rows of the equation that it takes part in are large, 1/(|A|ᵀ(1/R)).
    """
    rounding, count = rounding_of(forces), max(1, math.prod(forces.block.shape))
    weights = weights_of(forces, 0.0)._replace(felt=carried(larger, over(1.0, rows)), least=least / count)
    return _balance(forces, 0.0, rounding, weigh(forces, weights)[0])


def _balance(forces: Forces, energy: Any, rounding: Any, sums: Sums) -> Balance:
    units, count = ROUNDING * precision(forces.q), max(1, math.prod(forces.block.shape))
    root = math.sqrt(count)
    return Balance(
        sums.rest,
        rounding + units * sums.force,
        (sums.error + rounding / root * sums.weight) / root + units,
        sums.own / root,
        sums.normal / root if has_price(forces.block) else 0.0,
        sums.larger / root,
        sums.far,
        sums.work + rounding * magnitude(forces.q) + units * sums.far,
        sums.span,
        energy,
    )


class Verdict(NamedTuple):
    """The three answers, and how far the objective is from the optimum."""

    rows: float
    blocks: tuple[float, ...]
    work: float
    gap: float
    """|z|ᵀ|r| + Σ|ρ_i|ᵀw_i, with |q_i| in the place of widths w_i that are not known."""
    bounded: bool
    """Whether all that count are known."""

    @property
    def relative(self) -> float:
        """The largest answer; infinite where one of them is not a number, as in diverged runs."""
        answers = (self.rows, *self.blocks, self.work)
        return math.inf if any(map(math.isnan, answers)) else max(answers)


def verdict(fixed: Fixed, rows: float, lost: float, balances: Sequence[Balance]) -> Verdict:
    """The answers from the numbers; `rows` and `lost` = |z|ᵀ|r| belong to the equation."""
    if not any(fixed.priced):  # nothing to minimise: z = 0 and s = 0 would do
        return Verdict(rows, (0.0,) * len(balances), 0.0, 0.0, True)
    energies = [found.energy for found in balances]
    total = sum(energies)
    least = min([energy for energy in energies if energy > ABSENT**2 * total], default=0.0)
    blocks = tuple([_block(zero, found, least) for zero, found in zip(fixed.free, balances, strict=True)])
    work = lost + sum(found.work for found in balances)
    work = max(ratio(work, total), LEAST * ratio(lost, least)) if total > 0 else 0.0
    gap = lost + sum(found.span for found in balances)
    bounded = all(w is not None or b.left == 0 for w, b in zip(fixed.widths, balances, strict=True))
    return Verdict(rows, blocks, work, gap, bounded)


def _block(free: bool, found: Balance, least: float) -> float:
    """rms(ρ/T) against the smallest force of the block that is there; the equation's as small as its work is felt."""
    top = max(found.own, found.normal, found.pull)
    terms = [term for term in (found.own, found.normal) if term > ABSENT * top]
    if not free:
        terms.append(max(found.pull, least / found.far if found.far > 0 else 0.0))
    size = min(1.0, *terms) if terms else 0.0
    if size == 0.0:  # no force acts at all
        return 0.0 if found.left <= found.rounding else math.inf
    return found.error / size


def smallest(energies: Sequence[Any]) -> Any:
    """The smallest energy that is not 0; 0 where all are."""
    known = [e for e in energies if not (isinstance(e, float) and e <= 0.0)]
    if all(isinstance(e, float) for e in known):
        return min(known, default=0.0)
    xp = namespace(next(e for e in known if is_array(e) or not isinstance(e, float)))
    found = math.inf
    for e in known:
        found = xp.minimum(xp.where(xp.asarray(e) > 0, xp.asarray(e), math.inf), found)
    return xp.where(xp.isfinite(found), found, 0.0)


def ratio(part: float, whole: float) -> float:
    """part/whole; 0/0 = 0."""
    return part / whole if whole > 0 else 0.0 if part == 0 else math.inf
