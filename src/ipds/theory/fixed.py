"""What a certificate needs to know of a problem, found once: |A_i|, ∇f_i(0), ∂h_i, widths of sets, sizes of data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._arrays import Array, as_csr, asarray, is_array, namespace, row_counts, to_numpy, zeros
from ..functions import Linear, Smooth, Weighted
from ..functions.composed import constant_in
from ..operators import Identity, Matrix, Operator, ZeroMap
from ..operators.absolute import SMALL, absolute, is_exact
from ..problem import Block, Problem
from .bases import Core, core
from .centres import centre
from .entries import has_price
from .slopes import Slopes, slopes_of, steepest, uniform
from .summands import computed_with, summands
from .taking import taker

FAINT = 1e-8
"""Part of the largest entry of b below which others may be as good as 0."""
PASSES = 8
"""Of Ruiz' scaling, each of which takes the square root of what is left to do."""


class Fixed(NamedTuple):
    """What is found once for a problem."""

    absolute: tuple[Operator, ...]
    """|A_i|."""
    constants: tuple[float, ...]
    """Those that were added to the f_i."""
    centres: tuple[Array | None, ...]
    """Where the data of the blocks are that are far from 0 (`centres`)."""
    at_zero: tuple[Array | None, ...]
    """∇f_i(0) of the quadratic f_i; at the centre, where there is one."""
    summands: tuple[Callable[[Array], Array] | None, ...]
    """What ∇f_i adds up, of the quadratic f_i with ∇f_i(0) = 0, or a centre, that may act alone: energies of
    differences, say."""
    noise: tuple[Callable[[Array], Array] | None, ...]
    """What these ∇f_i are computed with: a gradient that is rounding of it is none (`computed_with`)."""
    exact: tuple[bool, ...]
    """Whether |A_i| is exact, or an estimate that a product with A_i should be held against."""
    slopes: tuple[Slopes | None, ...]
    """∂h_i of the piecewise linear h_i."""
    steep: tuple[Any, ...]
    """The largest |slopes| of h_i in every entry, where they are known; None where that is nowhere, or they are 0."""
    sloped: tuple[bool, ...]
    """Whether they are known in every entry."""
    bare: tuple[bool, ...]
    """Whether some entry of block i may have no slope of h_i: f_i alone acts there."""
    alone: tuple[float, ...]
    """What the cheapest block costs that satisfies the equation by itself; 0 for blocks that cannot."""
    homogeneous: Any
    """Where b is 0, or as good as 0: True (everywhere), False (nowhere), or an array."""
    free: tuple[bool, ...]
    """Whether A_i = 0."""
    priced: tuple[bool, ...]
    """Whether the blocks add to the objective."""
    loose: tuple[bool, ...]
    """Whether nothing keeps the blocks from growing: they cost nothing, and no bound holds them."""
    convex: bool
    """Whether the problem is known to be convex."""
    widths: tuple[Any, ...]
    """w_i of the domains that are bounded in every entry: numbers or arrays; None for others."""
    core: Core | None
    """The blocks whose forces are looked at in any basis (`bases`)."""
    taker: int | None
    """The block that the residual of the equation is left to (`taking`)."""
    room: Array | None
    """Σ|A_i| w_i with the widths w_i of the sets, ∞ in rows with a block that has none; None where all have."""


_fixed: WeakKeyDictionary[Problem, dict[Any, Fixed]] = WeakKeyDictionary()


def fixed_of(problem: Problem, q: Sequence[Array]) -> Fixed:
    """|A_i| and ∇f_i(0) for blocks of the kind of `q`; made once."""
    known = _fixed.setdefault(problem, {})
    key = tuple([(type(qi), qi.dtype) for qi in q])
    if key not in known:
        flat = [
            block.f.grad_at_zero(qi) if block.f is not None and block.f.is_quadratic else None
            for block, qi in zip(problem.blocks, q, strict=True)
        ]
        centres = tuple([centre(block, qi) for block, qi in zip(problem.blocks, q, strict=True)])
        at_zero = [
            g if c is None or g is None or block.f is None else block.f.grad(c)
            for block, g, c in zip(problem.blocks, flat, centres, strict=True)
        ]
        free = tuple([op.is_zero for op in problem.operators])
        slopes = tuple([slopes_of(block.h, qi) for block, qi in zip(problem.blocks, q, strict=True)])
        steep = [steepest(block, qi) for block, qi in zip(problem.blocks, q, strict=True)]
        sizes = tuple(map(absolute, problem.operators))
        exact = tuple(map(is_exact, sizes))
        widths = [_number_or_array(block.h.width(block.shape)) for block in problem.blocks]
        bare = [not every or slope is None or not _every(slope > 0) for slope, every in steep]
        # with a block that costs something in every row, rows are met exactly, or cost as much as they miss
        slack = any(
            isinstance(op, Identity) and is_priced(b) for op, b in zip(sizes, problem.blocks, strict=True)
        )
        faint = None if slack else faint_part(problem.b, sizes, q)
        priced = tuple(map(is_priced, problem.blocks))
        known[key] = Fixed(
            sizes,
            tuple([constant_in(block.f) for block in problem.blocks]),
            centres,
            tuple(at_zero),
            _terms(summands, problem.blocks, flat, centres, bare),
            _terms(computed_with, problem.blocks, flat, centres, bare),
            exact,
            slopes,
            tuple([slope for slope, _ in steep]),
            tuple([every for _, every in steep]),
            tuple(bare),
            alone(problem, q),
            _homogeneous(problem.b if faint is None else problem.b - faint),
            free,
            priced,
            tuple([_is_loose(*pair) for pair in zip(problem.blocks, widths, strict=True)]),
            is_convex(problem),
            tuple([_finite(w, qi) for w, qi in zip(widths, q, strict=True)]),
            core(problem, q, slopes, priced),
            taker(problem),
            _room(problem, sizes, widths, q),
        )
    return known[key]


Terms = Callable[[Array], Array] | None
"""What a gradient is made of."""


def _terms(
    made: Callable[[Smooth], Terms],
    blocks: Sequence[Block],
    at_zero: Sequence[Array | None],
    centres: Sequence[Array | None],
    bare: Sequence[bool],
) -> tuple[Terms, ...]:
    """The same of every f that may act alone, and whose gradient vanishes at 0, or whose data are far from there."""

    def is_asked(g: Array | None, c: Array | None) -> bool:
        return type(g) is np.ndarray and (c is not None or not g.any())

    return tuple(
        [
            made(block.f) if block.f is not None and alone and is_asked(g, c) else None
            for block, g, c, alone in zip(blocks, at_zero, centres, bare, strict=True)
        ]
    )


def alone(problem: Problem, q: Sequence[Array]) -> tuple[float, ...]:
    """What the cheapest block costs that satisfies the equation by itself, others being 0; 0 for blocks that cannot.

    Like the objective at the start of a fit, (b - 0)²/2: the size of data of which nothing may be left at the solution.
    Where b is 0 all blocks can, and h has the data: what an h costs at 0 that is not convex. The slopes of others, or
    their f, say how large these are.
    """
    if problem.b_norm == 0:
        return _least([_cost_at_zero(block, qi) for block, qi in zip(problem.blocks, q, strict=True)])
    costs, b = [], to_numpy(problem.b)
    # a copy where it is not what blocks are: PyTorch warns of arrays that cannot be written to
    known = np.shape(b) == problem.shape and b.dtype == np.float64 and b.flags.writeable
    right = b if known else np.array(np.broadcast_to(b, problem.shape), float)
    for block, op, qi in zip(problem.blocks, problem.operators, q, strict=True):
        x = _balancing(op, right) if is_priced(block) else None
        cost = 0.0
        if x is not None:
            x = asarray(x, qi)
            cost = 0.0 if block.f is None else abs(float(block.f(x)) - constant_in(block.f))
            cost += abs(float(block.h(x))) if has_price(block) else 0.0
        costs.append(cost)
    return _least(costs)


def _cost_at_zero(block: Block, q: Array) -> float:
    """|h(0)| of an h that is not convex, else 0; 0 where one's own h is not defined there."""
    if block.h.is_convex or not has_price(block):
        return 0.0
    try:
        with np.errstate(all="ignore"):
            return abs(float(block.h(zeros(block.shape, q))))
    except Exception:  # of the caller's function
        return 0.0


def _least(costs: Sequence[float]) -> tuple[float, ...]:
    """The smallest positive cost for all that have one, 0 for others."""
    least = min([cost for cost in costs if 0 < cost < math.inf], default=0.0)
    return tuple([least if 0 < cost < math.inf else 0.0 for cost in costs])


def _balancing(op: Operator, b: np.ndarray) -> np.ndarray | None:
    """x with A x = b ≠ 0, where A has one entry in every row, and one direction in every column; else None."""
    if isinstance(op, Identity):
        return (b if op.scale == 1.0 else b / op.scale) if op.scale != 0 else None
    if not isinstance(op, Matrix) or b.ndim > 1:
        return None
    matrix = op.matrix
    if is_array(matrix):
        if math.prod(matrix.shape) > SMALL:
            return None
        matrix = to_numpy(matrix)
        if np.count_nonzero(matrix) != len(matrix):
            return None
    A = as_csr(matrix)
    if A.nnz != A.shape[0] or np.any(row_counts(A) != 1) or np.any(A.data == 0):
        return None
    x = np.zeros(A.shape[1])
    x[A.indices] = b / A.data
    return x if np.allclose(A @ x, b, rtol=1e-9, atol=0.0) else None


def _homogeneous(b: Any) -> Any:
    found = b == 0
    if not is_array(b):
        return bool(found)
    every = to_numpy(found)
    return True if every.all() else found if every.any() else False


def faint_part(b: Array, sizes: Sequence[Operator], q: Sequence[Array]) -> np.ndarray | None:
    """The entries of b below `FAINT` of the largest, as tails of densities are, 0 elsewhere; None where there are none.

    In units in which all rows and columns of |A| have the same sum: what is small because of its units counts. Beside
    such a row all others hold up to rounding long before it does, and where sets bound its entries it says that they
    are 0.
    """
    if type(b) is not np.ndarray or any(type(qi) is not np.ndarray for qi in q):
        return None
    size = np.abs(b)
    if not ((size > 0) & (size < FAINT * size.max())).any():
        return None
    rows, columns = np.ones(b.shape), [np.ones(qi.shape) for qi in q]
    for _ in range(PASSES):
        for c, op in zip(columns, sizes, strict=True):
            c /= _root(c * op.adjoint(rows))
        rows /= _root(rows * sum(op.apply(c) for c, op in zip(columns, sizes, strict=True)))
    size *= rows
    found = np.where(size < FAINT * size.max(), b, 0.0)
    return found if found.any() else None


def _root(sums: np.ndarray) -> np.ndarray:
    """√ of sums of rows or columns, 1 where they are empty."""
    return np.sqrt(np.where(sums > 0, sums, 1.0))


def _number_or_array(x: Any) -> Any:
    return x if type(x) is float else np.asarray(to_numpy(x), float)


def _every(found: Any) -> bool:
    """Whether a condition on a number, or on every entry of an array, holds."""
    return found if type(found) is bool else bool(np.all(to_numpy(found)))


def _finite(width: Any, q: Array) -> Any:
    """The width of dom h in every entry, a number or an array like q; None where one is infinite."""
    return uniform(width, q) if _every(width < math.inf) else None


def _room(
    problem: Problem, sizes: Sequence[Operator], widths: Sequence[Any], q: Sequence[Array]
) -> Array | None:
    """How far apart the two sides of every row can be while all blocks stay in their sets."""
    acting = [width for op, width in zip(sizes, widths, strict=True) if not isinstance(op, ZeroMap)]
    if not acting or any(_every(width == math.inf) for width in acting):
        return None
    total: Any = 0.0
    for block, op, width, qi in zip(problem.blocks, sizes, widths, q, strict=True):
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
    """Whether the block adds to the objective, and not but a constant."""
    return has_price(block) or (block.f is not None and not _is_constant(block.f))


def _is_loose(block: Block, width: Any) -> bool:
    """Whether the block may grow for nothing: it adds nothing to the objective, and its set has no bound."""
    return not is_priced(block) and not _every(width < math.inf)


def _is_constant(f: Smooth) -> bool:
    """Whether f is a number: what is left of an objective where all else belongs to other blocks."""
    while isinstance(f, Weighted):
        f = f.f
    return isinstance(f, Linear) and type(f.c) is float and f.c == 0.0
