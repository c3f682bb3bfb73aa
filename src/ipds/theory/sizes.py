"""What a residual is compared with: sizes of the problem's own terms, in units that nobody has to choose.

Three questions are asked of a point q with a multiplier z and subgradients s_i ∈ ∂h_i(q_i). With the residuals
r = Σ A_i q_i - b and ρ_i = ∇f_i(q_i) + s_i + A_iᵀz:

    rows     does every row of the equation hold, compared with what that row adds up?
    blocks   do the forces of every block balance, compared with the smallest of its own forces?
    work     is what the residuals could still change in the objective small, compared with the objective?

Sizes are taken before anything cancels: |A_i|ᵀ|z|, |A_i||q_i|. A block holds the energy

    E_i = |f_i| + |h_i| + FIT·S_i,  S_i = |⟨q_i, ∇²f_i q_i⟩| + what the cheapest block costs that balances b alone,

so that perfect fits have a size. Then with the smallest of them, E, over m rows and, in block i, entry by entry,

    R = Σ|A_i||q_i| + |b|                                                   what a row adds up (see `entries.sizes_of`),
    ẑ = |z| + E/(m R)                                                       a multiplier that is felt,
    T = max(|∇f_i|, |∇f_i - ∇f_i(0)| of a quadratic, |s_i|, |A_i|ᵀẑ)        the force that acts there,

    rows     = rms_k |r_k|/R_k
    blocks_i = rms(ρ_i/T) / min over the terms t of block i of rms(t/T)
    work     = max( (Σ|ρ_i|ᵀ|q_i| + |z|ᵀ|r|)/ΣE_i, |z|ᵀ|r|/(10 min |f_i| + |h_i|), toll/Σ|f_i| + |h_i|, Σgain_i/ΣE_i )

with the price of r where a block takes it (`taking.toll`), what forces too small to count would gain (`hidden`), and
beside these `bases.leaning`; the data count less in the work of convex problems (`verdict`). Every one of them stays
what it is when a block, a row, the objective or (where h allows it) a single column is stated in other units.
`docs/certificate.md` gives the reason for each part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import (
    Array,
    add_in_place,
    add_scaled,
    is_array,
    least,
    magnitude,
    namespace,
    precision,
    scalar,
)
from ..functions import Nonsmooth
from ..functions.separable import OnPieces
from .entries import (
    VANISHING,
    Forces,
    Product,
    inverse,
    is_one_piece,
    largest,
    largest_force,
    over_large,
    pieces,
    quadratic_form,
    stillness,
    weigh,
)
from .fixed import Fixed
from .hidden import hidden_gain
from .slopes import nearest, slopes_of

ROUNDING = 4.0
"""Units of rounding that count for every quantity that was computed."""
ABSENT = 1e-8
"""A term of a block that is smaller than this share of the largest one is not there."""
FIT = 1e-4
"""Share of the `spare` energy that counts."""
EXACT = 1e-14
"""Share of it that steps cannot tell from rounding."""
NOISE = 1e-9
"""Share of the largest row below which a row is not trusted to have a size of its own. It times `VANISHING`⁻¹ is far
from `ABSENT`, so that no row, however small, can make the forces of a block look absent."""
MET = 1e-9
"""How well rows hold where a block may be at rest up to rounding: else it may be so by leaving the equation."""
LEAST = 0.1
"""Weight of the work of the equation's residual in units of the smallest block's energy."""


class Energy(NamedTuple):
    """How much of the objective a block holds."""

    price: Any
    """|f| + |h|."""
    spare: Any
    """|⟨q, ∇²f q⟩| + `Fixed.alone`: where a fit is perfect, f and h say nothing of their size, and the data do."""

    terms: tuple[Any, ...]
    """|h_k| of the parts of h, where it is a sum of several: gathered in one block, they are as they would be apart."""

    @property
    def whole(self) -> Any:
        """E."""
        return self.price + FIT * self.spare


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
    work: Any
    """|ρ|ᵀ|q|."""
    swallowed: Any
    """What rounding may add to that."""
    span: Any
    """|ρ|ᵀw with the widths w of the domain, |ρ|ᵀ|q| where there are none; rounding added."""
    still: float
    """`entries.stillness`: at most 1 where f is at its minimum and nothing is left of all forces but rounding."""
    nothing: float
    """What is no energy beside such an f: what is less in other blocks does not pull at this one."""
    hidden: float
    """`hidden_gain`."""
    price: Any
    whole: Any
    """The `Energy` of the block."""


BALANCE = len(Balance._fields)


def energy_of(forces: Forces, constant: float, alone: float) -> Energy:
    """How much of the objective a block holds; the constant in f is not needed to make it large."""
    h, terms = forces.block.h, ()
    if forces.priced and isinstance(h, OnPieces):
        terms = tuple([abs(value) for value in h.values(forces.q)])
    price = sum(terms) if terms else abs(h(forces.q)) if forces.priced else 0.0
    own = abs(forces.value)
    own = least(own, abs(forces.value - constant)) if constant else own
    return Energy(own + price, abs(quadratic_form(forces)) + alone, terms)


class Rounding(NamedTuple):
    """Bounds on the error e of s."""

    whole: Any
    """‖e‖."""
    even: Any
    """‖e √step‖ where every entry has a step of its own: the prox was taken in other units, in which all have the same;
    else ‖e‖."""
    each: Array | None = None
    """The same entry by entry, where h is a sum over parts, each with a prox of its own; else all have their share."""


def rounding_of(forces: Forces) -> Rounding:
    """`ROUNDING` units of the sizes of what the prox computes with, over its step."""
    h, q, v, step = forces.block.h, forces.q, forces.v, forces.step
    if forces.is_exact or h.is_manifold:  # where the part normal to it is cancelled
        return Rounding(0.0, 0.0)
    if v is None:  # the prox point behind s = -Aᵀz
        v = add_scaled(q, -step * forces.pull.scale, forces.pull.array)
    if not isinstance(h, OnPieces) or type(v) is not np.ndarray or not is_one_piece(v):
        return _rounding(h, q, v, step)
    found = h.on_pieces(_rounding, q, v, step)
    each = [np.full(n, own.even / math.sqrt(max(1, n))) if own.each is None else own.each for n, own in found]
    whole, even = (math.hypot(*sizes) for sizes in zip(*(own[:2] for _, own in found), strict=True))
    return Rounding(whole, even, h.from_pieces(each, v.shape))


def _rounding(h: Nonsmooth, q: Array, v: Array, step: Any) -> Rounding:
    if h.is_set and type(v) is np.ndarray and np.array_equal(q, v):  # in the set, where 0 is a normal
        return Rounding(0.0, 0.0)
    slopes = slopes_of(h, q) if type(v) is np.ndarray else None
    if slopes is not None:  # and how far s lies from them
        s = (v - q) * inverse(step)
        error = abs(s - nearest(slopes, q, s))
        even = error * np.sqrt(step) if getattr(step, "ndim", 0) else error
        return Rounding(magnitude(error), magnitude(even), even)
    units = ROUNDING * precision(q)
    if not getattr(step, "ndim", 0):
        whole = units * (h.prox_size(v) * inverse(step))
        return Rounding(whole, whole)
    # to each entry its own, and what the constants of h add
    xp, more = namespace(step), h.prox_size(v) - magnitude(v)
    root, least = xp.sqrt(step), scalar(xp.min(step))
    return Rounding(
        units * (magnitude(v / step) + more / least), units * (magnitude(v / root) + more / least**0.5)
    )


def balance_of(forces: Forces, larger: Product, energy: Energy, rounding: Rounding) -> Balance:
    """How well the forces of a block balance; they count from `VANISHING` of the largest on. `larger` is |A|ᵀẑ."""
    top = largest_force(forces, larger)
    sums = weigh(forces, larger, VANISHING * top, rounding.each)
    units, count = ROUNDING * precision(forces.q), max(1, math.prod(forces.block.shape))
    root, length = math.sqrt(count), magnitude(forces.apart)
    lost = rounding.whole + units * sums.force
    share = rounding.even / root if rounding.each is None else 1.0
    return Balance(
        sums.rest,
        lost,
        (sums.error + share * sums.weight) / root + units,
        sums.own / root,
        sums.normal / root,
        sums.larger / root,
        sums.work,
        rounding.even * sums.size + units * sums.far,
        sums.span + lost * _distance(forces.width, length, root),
        *stillness(forces, units),
        hidden_gain(forces, top, units),
        energy.price,
        energy.whole,
    )


def _distance(width: Any, length: Any, root: float) -> Any:
    """‖w‖ with the widths w of the domain; ‖q‖ where there are none."""
    if width is None:
        return length
    return magnitude(width) if is_array(width) else root * width


def felt_multiplier(z: Array, rows: Array, least: Any) -> Array:
    """ẑ = |z| + E/(m R) with the smallest energy E of a block: a multiplier that is less is felt by none.

    Rows that add up to less than `NOISE` of the largest may be rounding and nothing else: there ẑ = |z|.
    `rows` is a temporary of the caller's, and large ones are overwritten.
    """
    share, floor = least / max(1, math.prod(z.shape)), NOISE * largest(rows)
    for R, size in pieces(rows, z):
        own = add_in_place(over_large(share, R, floor), abs(size))
        if R is rows:
            return own
        R[...] = own
    return rows


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


def verdict(
    fixed: Fixed,
    rows: float,
    lost: float,
    held: float,
    taken: float,
    leant: float,
    balances: Sequence[Balance],
) -> Verdict:
    """The answers from the numbers; `rows`, `lost` = |z|ᵀ|r|, `held` = |z|ᵀR, `taken` (`toll`) are the equation's,
    `leant` (`leaning`) its multiplier's. Where all is convex, steps are exact, and beside what is no rounding the data
    count no more than for a toll."""
    if not any(fixed.priced):  # nothing to minimise: z = 0 and s = 0 would do
        return Verdict(rows, (0.0,) * len(balances), 0.0, 0.0, True)
    total = sum([found.whole for found in balances])
    price = sum([found.price for found in balances])
    if any(found.still < math.inf for found in balances):
        balances = [
            found if rows <= MET and price - found.price <= found.nothing else found._replace(still=math.inf)
            for found in balances
        ]
    blocks = tuple([_block(zero, found) for zero, found in zip(fixed.free, balances, strict=True)])
    moving = [found for found in balances if found.still > 1.0]
    swallowed, spare = sum([found.swallowed for found in moving]), (total - price) / FIT
    work = lost + sum([found.work for found in moving])
    least = max(smallest([found.price for found in balances]), ABSENT * held)
    gain = sum([found.hidden for found in balances])
    seen = price + ABSENT * spare
    beyond = max(work - max(swallowed, EXACT * spare), gain) if fixed.convex else 0.0
    left = max(ratio(max(work + swallowed, gain), total), ratio(beyond, seen)) if total > 0 else 0.0
    work = max(left, LEAST * ratio(lost, least), ratio(taken, seen), leant)
    gap = lost + sum([found.span for found in balances])
    bounded = all(w is not None or b.left == 0 for w, b in zip(fixed.widths, balances, strict=True))
    return Verdict(rows, blocks, work, gap, bounded)


def _block(free: bool, found: Balance) -> float:
    """rms(ρ/T) against the smallest force of the block that is there; 0 where all there is is rounding."""
    if found.still <= 1.0 and found.normal == 0.0:
        return 0.0
    top = max(found.own, found.normal, found.pull)
    terms = [term for term in (found.own, found.normal) if term > ABSENT * top]
    if not free:
        terms.append(max(found.pull, ABSENT * top))
    size = min(1.0, *terms) if terms else 0.0
    if size == 0.0:  # no force acts at all
        return 0.0 if found.left <= found.rounding else math.inf
    return found.error / size


def smallest(energies: Sequence[Any], terms: Sequence[Any] = ()) -> Any:
    """The smallest energy that is there, more than `ABSENT`² of all, of terms of a block `ABSENT`; 0 where none is."""
    total = sum(energies)
    shares = [*((e, ABSENT**2) for e in energies), *((e, ABSENT) for e in terms)]
    if isinstance(total, float):
        return min([e for e, share in shares if e > share * total], default=0.0)
    xp, found = namespace(total), math.inf
    for e, share in shares:
        e = xp.asarray(e) if type(e) is float else e  # a number still to come is not asked for
        found = xp.minimum(xp.where(e > share * total, e, math.inf), found)
    return xp.where(xp.isfinite(found), found, 0.0)


def ratio(part: float, whole: float) -> float:
    """part/whole; 0/0 = 0."""
    return part / whole if whole > 0 else 0.0 if part == 0 else math.inf
