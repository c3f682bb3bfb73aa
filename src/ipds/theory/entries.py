"""The forces on a block, entry by entry: what is left of them, how large they are, how large the entry is.

Large NumPy arrays are taken in pieces that stay in the cache, so that a check needs no room of its own; arrays of other
libraries are one piece. Nothing here branches on a number that comes out of an array: all of it can be compiled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._arrays import (
    Array,
    abs_in_place,
    add_in_place,
    dot,
    greatest,
    is_array,
    magnitude,
    maximum_in_place,
    multiply_in_place,
    namespace,
    product,
    scalar,
    subtract_in_place,
)
from ..functions import Zero
from ..operators import Identity, Operator
from ..problem import Block
from .slopes import Slopes, nearest, steepest

PIECE = 4096
"""Entries of a piece: a dozen arrays of this length are held at a time."""
VANISHING = 1e-6
"""In a block no force counts as less than this share of the largest one: some entries feel none."""


class Carried(NamedTuple):
    """A x for a map A and an array x: the product, or, where A = c·I, x itself and c."""

    array: Array
    scale: float = 1.0


def carried(op: Operator, y: Array, product: Array | None = None) -> Carried:
    """Aᵀy; `product` where it is known."""
    if product is not None:
        return Carried(product)
    return Carried(y, op.scale) if isinstance(op, Identity) else Carried(op.adjoint(y))


class Forces(NamedTuple):
    """What acts on a block at q: arrays of one shape, some of them None."""

    block: Block
    q: Array
    value: Any
    """f(q), 0 where there is no f."""
    gradient: Array | None
    at_zero: Array | None
    """∇f(0) of a quadratic f; then ∇f(q) - ∇f(0) is the force of f before its parts cancel."""
    curved: Array | None
    """∇²f(q) q of another f, where it is needed."""
    slopes: Slopes | None
    """∂h of a piecewise linear h: then s is the element of ∂h(q) nearest to -(∇f + Aᵀz)."""
    v: Array | None
    """Prox point: s = (v - q)/step; None where s = -Aᵀz, or where `rest` is given."""
    step: Any
    rest: Array | None
    """∇f + s + Aᵀz, where that says what s is (on a manifold)."""
    pull: Carried
    """Aᵀz."""
    larger: Any
    """|A|ᵀẑ, a `Carried`, with ẑ ≥ |z| (`sizes.felt`); None before that is known."""
    width: Any
    """How far apart two points of the domain can be in every entry; None where there is no bound."""


class Piece(NamedTuple):
    """The same for some entries, with what follows from it."""

    q: Array
    s: Array
    rest: Array
    """ρ = ∇f(q) + s + Aᵀz."""
    own: Array | None
    """max(|∇f|, |∇²f q|)."""
    larger: Array
    """|A|ᵀẑ."""
    force: Array
    """T, the largest of |s|, `own` and `larger`."""


def has_price(block: Block) -> bool:
    """Whether h adds to the objective: it is no set, and not 0."""
    return not (block.h.is_set or isinstance(block.h, Zero))


def pieces(*arrays: Any) -> Iterator[list[Any]]:
    """The arrays as they are, or, where they are large NumPy arrays, the same part of each after another.

    The first one is an array; the others may be numbers or None, which every piece shares.
    """
    first = arrays[0]
    if type(first) is not np.ndarray or first.size <= PIECE:
        yield list(arrays)
        return
    long = [is_array(x) and x.ndim > 0 for x in arrays]
    held = [x for x, cut in zip(arrays, long, strict=True) if cut]
    if not all(type(x) is np.ndarray and x.flags.c_contiguous and x.size == first.size for x in held):
        yield list(arrays)
        return
    flat = [x.reshape(-1) if cut else x for x, cut in zip(arrays, long, strict=True)]
    for begin in range(0, first.size, PIECE):
        here = slice(begin, begin + PIECE)
        yield [x[here] if cut else x for x, cut in zip(flat, long, strict=True)]


def look(forces: Forces) -> Iterator[Piece]:
    """The forces, piece by piece."""
    f = forces
    known = f.slopes or (None,) * len(Slopes._fields)
    for q, g, g0, curved, v, step, rest, p, P, *slopes in pieces(
        f.q, f.gradient, f.at_zero, f.curved, f.v, f.step, f.rest, f.pull.array, f.larger.array, *known
    ):
        p = p if f.pull.scale == 1.0 else f.pull.scale * p
        P = P if f.larger.scale == 1.0 else f.larger.scale * P
        if f.slopes is not None:
            y = -p if g is None else subtract_in_place(-p, g)
            s = nearest(Slopes(*slopes), q, y)
            left = s - y
        elif v is not None:
            s = multiply_in_place(v - q, inverse(step))
            left = s + p if g is None else add_in_place(s + p, g)
        elif rest is not None:
            s, left = rest - p if g is None else subtract_in_place(rest - p, g), rest
        else:
            s, left = -p, 0.0 * p if g is None else g
        force, own = maximum_in_place(abs(s), P), None
        if g is not None:
            own, bent = abs(g), curved if g0 is None else g - g0
            if bent is not None:
                own = maximum_in_place(own, abs(bent) if bent is curved else abs_in_place(bent))
            force = maximum_in_place(force, own)
        yield Piece(q, s, left, own, P, force)


def inverse(step: Any) -> Any:
    """1/step; where a step of a diverging method has vanished, ∞, and nothing is certified."""
    return math.inf if type(step) is float and step == 0.0 else 1 / step


def strongest(forces: Forces) -> Any:
    """The largest of |∇f|, |∇²f q| and |A|ᵀẑ on any entry."""
    top = forces.larger.scale * largest(forces.larger.array)
    if forces.gradient is None:
        return top
    for g, g0, curved in pieces(forces.gradient, forces.at_zero, forces.curved):
        second = curved if g0 is None else g - g0
        for force in (g, second):
            top = top if force is None else greatest(top, largest(abs(force)))
    return top


def largest(x: Array) -> Any:
    """max x_i."""
    return float(x.max()) if type(x) is np.ndarray else scalar(namespace(x).max(x))


def bent(forces: Forces) -> Any:
    """⟨q, ∇²f q⟩."""
    if forces.at_zero is not None:
        return dot(forces.q, forces.gradient) - dot(forces.q, forces.at_zero)
    return 0.0 if forces.curved is None else dot(forces.q, forces.curved)


class Sums(NamedTuple):
    """Norms and sums over the entries of a block, with W = 1/T."""

    rest: Any
    """‖ρ‖."""
    force: Any
    """‖T‖."""
    weight: Any
    """‖W‖."""
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
        norms, sums = zip(self[:7], other[:7], strict=True), zip(self[7:], other[7:], strict=True)
        return Sums(*[math.hypot(a, b) for a, b in norms], *[a + b for a, b in sums])


def weigh(forces: Forces, floor: Any) -> Sums:
    """The sums; no force counts as less than `floor`."""
    sums = Sums(*[0.0] * len(Sums._fields))
    for piece, (_, width) in zip(look(forces), pieces(forces.q, forces.width), strict=True):
        q, T = abs(piece.q), maximum_in_place(piece.force, floor)
        far, force, rest = dot(T, q), magnitude(T), abs(piece.rest)
        W, work = over(1.0, T), dot(rest, q)
        whole = piece.q is forces.q
        room = None if whole else T
        more = Sums(
            magnitude(rest),
            force,
            magnitude(W),
            magnitude(product(rest, W, room)),
            0.0 if piece.own is None else magnitude(product(piece.own, W, room)),
            magnitude(product(piece.s, W, room)),
            magnitude(product(piece.larger, W, room)),
            far,
            work,
            work if width is None else _sum(product(rest, width, room)),
        )
        if whole:
            return more
        sums = sums.plus(more)
    return sums


def sizes_of(forces: Forces, energy: Any) -> Array:
    """X = max(|q|, E/(n F)): the value of an entry, or the move that the force F there prices at its share of E.

    F = max(|∇f|, |∇²f q|, |Aᵀz|, steepest slope of h). Where F is less than `VANISHING` of the largest one, X = |q|.
    """
    share, top = energy / max(1, math.prod(forces.block.shape)), 0.0
    for _, F in _felt_forces(forces):
        top = greatest(top, largest(F))
    sizes: Any = None
    done = 0
    for q, F in _felt_forces(forces):
        X = maximum_in_place(masked(over(share, F), VANISHING * top < F), abs(q))
        if q is forces.q:
            return X
        sizes = np.empty(forces.q.size, X.dtype) if sizes is None else sizes
        sizes[done : done + q.size] = X
        done += q.size
    return sizes.reshape(forces.q.shape)


def _felt_forces(forces: Forces) -> Iterator[tuple[Array, Array]]:
    """q and F = max(|∇f|, |∇²f q|, |Aᵀz|, steepest slope of h), piece by piece."""
    f = forces
    steep = None if f.slopes is None else steepest(f.slopes)
    for q, p, g, g0, curved, slope in pieces(f.q, f.pull.array, f.gradient, f.at_zero, f.curved, steep):
        F = abs(p) if f.pull.scale == 1.0 else abs(f.pull.scale) * abs(p)
        if g is not None:
            F = maximum_in_place(F, abs(g))
        bent = curved if g0 is None else g - g0
        if bent is not None:
            F = maximum_in_place(F, abs(bent))
        yield q, F if slope is None else maximum_in_place(F, slope)


def _sum(x: Array) -> Any:
    return float(x.sum()) if type(x) is np.ndarray else scalar(namespace(x).sum(x))


def masked(x: Array, seen: Array) -> Array:
    """x where `seen`, else 0; for a temporary x."""
    if type(x) is np.ndarray:
        return np.multiply(x, seen, out=x)
    xp = namespace(x)
    return xp.where(seen, x, xp.zeros_like(x))


def over(number: Any, x: Array) -> Array:
    """number/x entry by entry for x ≥ 0; very large, but finite, where x is 0."""
    xp = namespace(x)
    least = 1e6 * float(xp.finfo(x.dtype).smallest_normal)
    if type(x) is not np.ndarray:
        return number / xp.clip(x, least, None)
    large = np.maximum(x, least)
    return np.divide(number, large, out=large) if type(large) is np.ndarray else number / large
