"""The rows of the equation: what each of them adds up, and what is left of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._arrays import (
    Array,
    add_in_place,
    dot,
    greatest,
    is_array,
    magnitude,
    maximum_in_place,
    namespace,
    precision,
)
from ..operators import Identity
from ..problem import Problem
from .entries import Forces, Product, has_price, largest, over, pieces, plus, sizes_of, whole
from .fixed import Fixed
from .sizes import NOISE, ROUNDING, Energy
from .state import product_of

GROWN = 1e6
"""What rows add up to at most, in units of the largest |b|, where nothing is minimised: blocks of more than that have
grown along directions that the equation does not see."""
LOOSE = 100.0
"""How many times as much as all else in a row blocks count that cost nothing and have no bounds: in infeasible problems
they may grow until it seems to hold. Less than the inverse of any tolerance, and more than what cancels as a rule."""


def sizes_of_rows(
    problem: Problem,
    fixed: Fixed,
    acting: Sequence[Forces],
    energies: Sequence[Energy],
    least: Any,
    known: Sequence[Array | None],
) -> Array:
    """R = Σ|A_i||q_i| + |b|, at least Σ|A_i| X_i with sizes X_i of entries where b is as good as 0; at most the room
    of sets.

    X_i are moves at the price of their share of the objective: a faint b counts by what it costs.
    """
    zero = fixed.homogeneous
    rows = None if zero is True else _held_rows(problem, fixed, acting, known)

    def lifted(i: int) -> Iterator[Array]:
        if not fixed.priced[i]:
            return _held(acting[i])
        # where the slopes of h are known, they price a move even at zero; else only what the block holds is safe
        sloped = fixed.sloped[i] and has_price(problem.blocks[i])
        return sizes_of(acting[i], greatest(energies[i].price, least) if sloped else energies[i].price)

    if zero is not False:
        large = _sum(problem, fixed, lifted, acting, known, range(len(acting)))
        rows = large if rows is None else _larger(rows, large, zero)
    return rows if fixed.room is None else namespace(rows).minimum(rows, fixed.room)


def _larger(rows: Array, large: Array, where: Array) -> Array:
    """The larger of both `where` that is so, else `rows`."""
    xp = namespace(rows)
    return xp.where(where, xp.maximum(rows, large), rows)


def _held(forces: Forces) -> Iterator[Array]:
    """|q|, piece by piece."""
    return (abs(piece) for (piece,) in pieces(forces.q))


def _held_rows(
    problem: Problem, fixed: Fixed, acting: Sequence[Forces], known: Sequence[Array | None]
) -> Array:
    """Σ|A_i||q_i| + |b|, but of blocks that may grow for nothing at most `LOOSE` times what else is in a row.

    Where all may, |b| alone, and what rounding leaves of blocks that b asks for: nothing else keeps them from growing
    until any residual looks small beside them.
    """
    b = problem.b

    def total(chosen: Iterable[int]) -> Any:
        return _sum(problem, fixed, lambda i: _held(acting[i]), acting, known, chosen)

    if not any(fixed.priced):
        plain = total(range(len(acting)))
        xp, right = namespace(plain), abs(b) + 0.0 * plain
        return xp.maximum(right, NOISE * xp.minimum(plain, GROWN * largest(right)))
    rows = total([i for i, loose in enumerate(fixed.loose) if not loose])
    sizes = (abs(piece) for (piece,) in pieces(b)) if is_array(b) else None
    rows = add_in_place(rows, abs(b)) if sizes is None else plus(rows, 1.0, sizes, b)
    free = [
        Product(acting[i].q, op.scale) if isinstance(op, Identity) else Product(total([i]))
        for i, op in enumerate(fixed.absolute)
        if fixed.loose[i]
    ]
    return _with_loose(rows, free) if free else rows


def _with_loose(rows: Array, free: Sequence[Product]) -> Array:
    """R + min(Σ|c x|, `LOOSE` R) over the products; `rows` is a temporary, and large ones are overwritten."""
    for R, *arrays in pieces(rows, *(product.array for product in free)):
        first, *others = (abs(c * x) for (_, c), x in zip(free, arrays, strict=True))
        for term in others:
            first = add_in_place(first, term)
        grown = add_in_place(namespace(R).minimum(first, LOOSE * R), R)
        if R is rows:
            return grown
        R[...] = grown
    return rows


def _sum(
    problem: Problem,
    fixed: Fixed,
    size: Callable[[int], Iterator[Array]],
    acting: Sequence[Forces],
    known: Sequence[Array | None],
    chosen: Iterable[int],
) -> Any:
    """Σ|A_i| X_i over the `chosen` i, None if there are none, with X_i = size(i), in pieces; where |A_i| is an
    estimate, not less than |A_i q_i|."""
    total: Any = None
    for i in chosen:
        op = fixed.absolute[i]
        if total is not None and isinstance(op, Identity):
            total = plus(total, op.scale, size(i), acting[i].q)
            continue
        term = op.apply(whole(size(i), acting[i].q))
        if not fixed.exact[i]:
            term = maximum_in_place(term, abs(product_of(problem.operators[i], acting[i].q, known[i])))
        total = term if total is None else add_in_place(total, term)
    return total


def residuals_of_rows(b: Array, products: Sequence[Product], rows: Array, z: Array) -> list[Any]:
    """‖r‖; rms(r/R) and |z|ᵀ|r|, rounding added; |z|ᵀR. r = Σ A_i q_i - b is made of the A_i q_i piece by piece."""
    units, count = ROUNDING * precision(rows), max(1, math.prod(rows.shape))
    left: Any = None
    share = lost = held = 0.0
    for R, size, right, *arrays in pieces(rows, z, b, *(product.array for product in products)):
        scales = [product.scale for product in products]
        first, *others = (x if c == 1.0 else c * x for c, x in zip(scales, arrays, strict=True))
        r = first - right
        for term in others:
            r = add_in_place(r, term)
        length = magnitude(r)
        left = length if left is None else math.hypot(left, length)
        r, size = abs(r), abs(size)
        W = over(r, R)
        share, lost, held = share + dot(W, W), lost + dot(size, r), held + dot(size, R)
    return [left, (share / count) ** 0.5 + units, lost + units * held, held]
