"""The forces on a block, entry by entry: what is left of them, how large they are, how large the entry is.

Large NumPy arrays are taken in pieces that stay in the cache, so that a check needs no room of its own; arrays of other
libraries are one piece. Nothing here branches on a number that comes out of an array: all of it can be compiled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._arrays import (
    Array,
    abs_in_place,
    add_in_place,
    add_scaled,
    at_least,
    dot,
    greatest,
    is_array,
    magnitude,
    maximum_in_place,
    multiply_in_place,
    namespace,
    scalar,
    scaled_difference,
    subtract_in_place,
)
from ..functions import Zero
from ..operators import Identity, Operator
from ..problem import Block
from .slopes import Slopes, nearest

PIECE, LEAST, MANY = 24576, 8192, 32
"""Entries of a piece at most, a dozen arrays of which are held at a time; in how many an array is cut where that leaves
pieces of no less than `LEAST`, so that these take little room beside it."""
FAINTEST = 1e-12
"""Share of the largest force of a block below which a force is rounding, and prices nothing."""
VANISHING = 1e-6
"""In a block no force counts as less than this share of the largest one: some entries feel none."""


class Product(NamedTuple):
    """A x for a map A and an array x: the product, or, where A = c·I, x itself and c."""

    array: Array
    scale: float = 1.0


def adjoint_product(op: Operator, y: Array, product: Array | None = None) -> Product:
    """Aᵀy; `product` where it is known."""
    if product is not None:
        return Product(product)
    return Product(y, op.scale) if isinstance(op, Identity) else Product(op.adjoint(y))


def forward_product(op: Operator, x: Array, product: Array | None = None) -> Product:
    """A x; `product` where it is known."""
    if product is not None:
        return Product(product)
    return Product(x, op.scale) if isinstance(op, Identity) else Product(op.apply(x))


class Forces(NamedTuple):
    """What acts on a block at q: arrays of one shape, some of them None."""

    block: Block
    priced: bool
    """Whether h adds to the objective (`has_price`)."""
    q: Array
    value: Any
    """f(q), 0 where there is no f."""
    gradient: Array | None
    centre: Array | None
    """c of data far from 0 (`centres`); sizes are those of q - c then."""
    at_zero: Array | None
    """∇f(0) of a quadratic f, or ∇f(c); then ∇f(q) - ∇f(0) is the force of f before its parts cancel."""
    curved: Array | None
    """∇²f(q) q of another f, where it is needed; of a quadratic with ∇f(0) = 0 what ∇f(q) adds up (`summands`)."""
    slopes: Slopes | None
    """∂h of a piecewise linear h: then s is the element of ∂h(q) nearest to -(∇f + Aᵀz)."""
    steep: Any
    """The largest |slope| of such an h in every entry; None where that is 0, or not known."""
    v: Array | None
    """Prox point: s = (v - q)/step; None where s = -Aᵀz, or where `rest` is given."""
    step: Any
    rest: Array | None
    """∇f + s + Aᵀz, where that says what s is (on a manifold)."""
    pull: Product
    """Aᵀz."""
    width: Any
    """How far apart two points of the domain can be in every entry; None where there is no bound."""
    noise: Array | None
    """What ∇f is computed with, where that is known (`summands.computed_with`)."""
    own: Array | None
    """`force_of_f`, where there is an f; of a block of many pieces only its pieces have it."""

    @property
    def apart(self) -> Array:
        """q - c."""
        return self.q if self.centre is None else self.q - self.centre

    @property
    def is_exact(self) -> bool:
        """Whether s has no rounding of its own: no prox is behind it."""
        return self.rest is not None or self.slopes is not None


def has_price(block: Block) -> bool:
    """Whether h adds to the objective: it is no set, and not 0."""
    return not (block.h.is_set or isinstance(block.h, Zero))


def is_one_piece(x: Array) -> bool:
    """Whether `pieces` leaves arrays like x as they are, however they lie in memory."""
    return type(x) is not np.ndarray or x.size <= PIECE


def pieces(*arrays: Any) -> Iterator[Sequence[Any]]:
    """The arrays as they are, or, where they are large NumPy arrays, the same part of each after another.

    The first one is an array; the others may be numbers or None, which every piece shares.
    """
    first = arrays[0]
    if is_one_piece(first):
        yield arrays
        return
    long = [is_array(x) and x.ndim > 0 for x in arrays]
    held = [x for x, cut in zip(arrays, long, strict=True) if cut]
    if not all(type(x) is np.ndarray and x.flags.c_contiguous and x.size == first.size for x in held):
        yield arrays
        return
    flat = [x.reshape(-1) if cut else x for x, cut in zip(arrays, long, strict=True)]
    length = min(PIECE, max(LEAST, first.size // MANY))
    for begin in range(0, first.size, length):
        here = slice(begin, begin + length)
        yield [x[here] if cut else x for x, cut in zip(flat, long, strict=True)]


def force_of_f(g: Array | None, g0: Array | None, curved: Array | None) -> Array | None:
    """max(|∇f|, |∇²f q|): g = ∇f(q), g0 = ∇f(0) of a quadratic f, else ∇²f(q) q where that is known."""
    if g is None:
        return None
    if curved is not None:
        return maximum_in_place(abs(curved), abs(g))
    return abs(g) if g0 is None else maximum_in_place(abs_in_place(g - g0), abs(g))


def parts(forces: Forces, larger: Product) -> Iterable[tuple[Forces, Product]]:
    """The forces and |A|ᵀẑ, piece by piece."""
    return ((forces, larger),) if is_one_piece(forces.q) else _cut(forces, larger)


def _cut(f: Forces, larger: Product) -> Iterator[tuple[Forces, Product]]:
    fields = (
        f.q,
        f.centre,
        f.gradient,
        f.at_zero,
        f.curved,
        f.steep,
        f.v,
        f.step,
        f.rest,
        f.width,
        f.pull.array,
    )
    cut = pieces(*fields, larger.array, *(f.slopes or ()))
    for q, centre, gradient, at_zero, curved, steep, v, step, rest, width, pull, whole, *slopes in cut:
        part = Forces(
            block=f.block,
            priced=f.priced,
            q=q,
            value=f.value,
            gradient=gradient,
            centre=centre,
            at_zero=at_zero,
            curved=curved,
            slopes=Slopes(*slopes) if slopes else None,
            steep=steep,
            v=v,
            step=step,
            rest=rest,
            pull=Product(pull, f.pull.scale),
            width=width,
            noise=None,  # asked of whole blocks alone
            own=force_of_f(gradient, at_zero, curved),
        )
        yield part, Product(whole, larger.scale)


def subgradient(forces: Forces) -> tuple[Array, Array]:
    """s ∈ ∂h(q) and how much is left, |ρ| with ρ = ∇f(q) + s + Aᵀz: new arrays, both."""
    q, g, v, rest = forces.q, forces.gradient, forces.v, forces.rest
    p, scale = forces.pull
    if forces.slopes is not None:
        y = -p if scale == 1.0 else -scale * p
        y = y if g is None else subtract_in_place(y, g)
        s = nearest(forces.slopes, q, y)
        return s, abs_in_place(subtract_in_place(y, s))
    if v is not None:
        s = scaled_difference(v, q, inverse(forces.step))
        left = add_scaled(s, scale, p)
        return s, abs_in_place(left if g is None else add_in_place(left, g))
    s = -p if scale == 1.0 else -scale * p
    if rest is not None:
        s = add_in_place(s, rest)
        return s if g is None else subtract_in_place(s, g), abs(rest)
    return s, 0.0 * p if g is None else abs(g)


def inverse(step: Any) -> Any:
    """1/step; where a step of a diverging method has vanished, ∞, and nothing is certified."""
    return math.inf if type(step) is float and step == 0.0 else 1 / step


def stillness(forces: Forces, units: float) -> tuple[float, float]:
    """The largest of |∇f| and of what is left of all forces, entry by entry in `units` of what ∇f is computed with.

    At 1 and less f is at its minimum, and the block at rest, up to rounding. Infinite where that is not known. And the
    value of f that is rounding, ½⟨|q|, Γ⟩ in units².
    """
    noise, g = forces.noise, forces.gradient
    if noise is None or g is None or largest(abs(g)) > units * largest(noise):
        return math.inf, 0.0
    felt = np.maximum(abs(g), subgradient(forces)[1])
    share = float(np.max(felt / np.maximum(units * noise, np.finfo(float).tiny), initial=0.0))
    return share, 0.5 * units**2 * float(dot(abs(forces.q), noise))


def largest_force(forces: Forces, larger: Product) -> Any:
    """The largest of |∇f|, |∇²f q| and |A|ᵀẑ on any entry."""
    top = larger.scale * largest(larger.array)
    if forces.gradient is None:
        return top
    for part, _ in parts(forces, larger):
        top = greatest(top, largest(part.own))
    return top


def largest(x: Array) -> Any:
    """max x_i."""
    return float(x.item(x.argmax())) if type(x) is np.ndarray else scalar(namespace(x).max(x))


def quadratic_form(forces: Forces) -> Any:
    """⟨q, ∇²f q⟩."""
    if forces.at_zero is not None:
        return dot(forces.apart, forces.gradient) - dot(forces.apart, forces.at_zero)
    return 0.0 if forces.curved is None else dot(forces.q, forces.curved)


class Sums(NamedTuple):
    """Norms and sums over the entries of a block, with W = 1/T."""

    rest: Any
    """‖ρ‖."""
    force: Any
    """‖T‖."""
    weight: Any
    """‖W‖; ‖W/√step‖ where every entry has a step of its own; ‖e W‖ with the errors e of all entries."""
    size: Any
    """‖q‖, and the same."""
    error: Any
    """‖ρ W‖."""
    own: Any
    """‖t W‖ for the force of f, of h, of the equation."""
    normal: Any
    larger: Any
    far: Any
    """Σ T |q|."""
    work: Any
    """Σ |ρ q|."""
    span: Any
    """Σ |ρ| w with the widths w of the domain; as `work` where there are none."""

    def plus(self, other: Sums) -> Sums:
        """The same over the entries of both."""
        pairs = zip(self, other, strict=True)
        return Sums(*[math.hypot(a, b) if k < NORMS else a + b for k, (a, b) in enumerate(pairs)])


NORMS = 1 + Sums._fields.index("larger")
"""The first so many are norms, the others sums."""


def weigh(forces: Forces, larger: Product, floor: Any, each: Array | None = None) -> Sums:
    """The sums; no force counts as less than `floor`. Of an exact s `weight` and `size`, of a set s play no part: 0.
    `each` are errors of s, of blocks of one piece."""
    sums: Sums | None = None
    for part, (P, scale) in parts(forces, larger):
        more = _weighed(part, P if scale == 1.0 else scale * P, floor, each)
        sums = more if sums is None else sums.plus(more)
    assert sums is not None
    return sums


def _weighed(part: Forces, larger: Array, floor: Any, each: Array | None) -> Sums:
    own, width, size = part.own, part.width, abs(part.apart)
    s, rest = subgradient(part)
    T = maximum_in_place(abs(s), larger)
    T = _not_below(T if own is None else maximum_in_place(T, own), floor)
    W, work = over(1.0, T, floor), dot(rest, size)
    left, span = magnitude(rest), work if width is None else scalar(namespace(rest).sum(rest * width))
    weight = extent = 0.0
    if not part.is_exact:
        even = _even_units(part.step)
        weight, extent = magnitude(even(W) if each is None else each * even(W)), magnitude(even(size))
    return Sums(
        left,
        magnitude(T),
        weight,
        extent,
        left if type(left) is float and left == 0.0 else magnitude(multiply_in_place(rest, W)),
        0.0 if own is None else magnitude(own * W),
        magnitude(multiply_in_place(s, W)) if part.priced else 0.0,
        magnitude(multiply_in_place(W, larger)),
        dot(T, size),
        work,
        span,
    )


def _even_units(step: Any) -> Callable[[Array], Array]:
    """x ↦ x/√step where every entry has a step of its own, else x ↦ x."""
    if not getattr(step, "ndim", 0):
        return lambda x: x
    root = namespace(step).sqrt(step)
    return lambda x: x / root


def sizes_of(forces: Forces, energy: Any) -> Iterator[Array]:
    """X = max(|q|, E/(n F)), piece by piece: an entry's value, or the move that the force F there prices at its share.

    F = max(|∇f|, |∇²f q|, |Aᵀz|, steepest slope of h). Where F is less than `FAINTEST` of the largest one, X = |q|.
    """
    share = energy / max(1, math.prod(forces.block.shape))
    if is_one_piece(forces.q):
        F = _felt_force(forces)
        yield _sizes(forces.q, F, share, largest(F))
        return
    top = max(largest(_felt_force(part)) for part, _ in parts(forces, forces.pull))
    for part, _ in parts(forces, forces.pull):
        yield _sizes(part.q, _felt_force(part), share, top)


def whole(found: Iterator[Array], like: Array) -> Array:
    """The array, of the shape of `like`, whose pieces these are."""
    first = next(found)
    if first.shape == like.shape:
        return first
    flat, done = np.empty(like.size, first.dtype), 0
    for piece in itertools.chain((first,), found):
        flat[done : done + piece.size] = piece
        done += piece.size
    return flat.reshape(like.shape)


def plus(total: Array, scale: float, found: Iterator[Array], like: Array) -> Array:
    """total + scale·X in the place of `total`, with X, of the kind of `like`, piece by piece: it is never whole."""
    alike = type(total) is np.ndarray and (total.dtype, total.shape) == (like.dtype, like.shape)
    if is_one_piece(like) or not (alike and total.flags.c_contiguous):
        term = whole(found, like)
        return add_in_place(total, term if scale == 1.0 else scale * term)
    flat, done = total.reshape(-1), 0
    for piece in found:
        here = flat[done : done + piece.size]
        here += piece.reshape(-1) if scale == 1.0 else scale * piece.reshape(-1)
        done += piece.size
    return total


def _felt_force(part: Forces) -> Array:
    """F = max(|∇f|, |∇²f q|, |Aᵀz|, steepest slope of h)."""
    xp, (p, scale) = namespace(part.q), part.pull
    F = abs(p) if abs(scale) == 1.0 else abs(scale * p)
    F = F if part.own is None else xp.maximum(F, part.own)
    return F if part.steep is None else xp.maximum(F, part.steep)


def _sizes(q: Array, F: Array, share: Any, top: Any) -> Array:
    return namespace(q).maximum(over_large(share, F, FAINTEST * top), abs(q))


def _not_below(x: Array, floor: Any) -> Array:
    """max(x_i, floor); a floor may be a number that is still to come."""
    return at_least(np, x, floor) if type(x) is np.ndarray else namespace(x).maximum(x, floor)


def over(number: Any, x: Array, floor: Any = 0.0) -> Array:
    """number/x entry by entry for x ≥ floor ≥ 0; very large, but finite, where x is 0."""
    if type(x) is not np.ndarray:
        xp = namespace(x)
        return number / xp.clip(x, _tiny(xp, x.dtype), None)
    if floor > (tiny := _tiny(np, x.dtype)):
        return number / x
    large = at_least(np, x, tiny)
    return np.divide(number, large, out=large) if type(large) is np.ndarray else number / large


def over_large(number: Any, x: Array, floor: Any) -> Array:
    """number/x where x exceeds `floor` ≥ 0, else 0."""
    if type(x) is not np.ndarray:
        return namespace(x).where(x > floor, over(number, x), namespace(x).zeros_like(x))
    least = max(floor, _tiny(np, x.dtype))
    if x.size and x.item(x.argmin()) > least:
        return number / x  # a quarter of the time of a division with `where`
    return np.divide(number, x, out=np.zeros(x.shape, x.dtype), where=x > least)


@lru_cache(maxsize=8)
def _tiny(xp: Any, dtype: Any) -> float:
    """The least number that a division is safe with."""
    return 1e6 * float(xp.finfo(dtype).smallest_normal)
