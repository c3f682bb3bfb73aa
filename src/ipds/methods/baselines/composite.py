"""What the primal methods share: the problem with one block solved for, its smoothing, its states.

With A_j = c·I, f_j = 0 and h = h_j convex and Lipschitz, the constraint gives x_j = y(x) = (b - Σ_{i≠j} A_i x_i)/c and

    F(x) = Σ_{i≠j} [f_i(x_i) + h_i(x_i)] + h(y(x)).

Its smoothing F_μ has h's Moreau envelope in place of h: `reduction.evaluate` with z = 0, s = μ.
"""

from __future__ import annotations

import math
from typing import Any

from ..._arrays import Array, add_scaled, dot, fetch, magnitude
from ...errors import AssumptionError
from ...functions import Zero
from ...operators import Identity
from ...problem import Problem
from ..accelerated.reduction import Arrays, OneCall, Point, Reduction, eliminate, insert, without
from ..base import State, lipschitz_at, size_of_block

RULES = ("published", "tuned")


def checked_rule(who: str, rule: str) -> str:
    """`rule`, if it is one of "published" and "tuned"."""
    if rule not in RULES:
        raise ValueError(f"{who}: rule must be one of {list(RULES)}, got {rule!r}")
    return rule


def checked_gradient(who: str, gradient: str) -> str:
    """`gradient`, if it is one of "riemannian" and "euclidean"."""
    if gradient not in ("riemannian", "euclidean"):
        raise ValueError(f"{who}: gradient must be 'riemannian' or 'euclidean', got {gradient!r}")
    return gradient


def solvable(problem: Problem) -> int | None:
    """Index of the block to solve the constraint for: `eliminable`, and Lipschitz; the last one first."""
    for j in reversed(range(len(problem.blocks) if len(problem.blocks) > 1 else 0)):
        block, op = problem.blocks[j], problem.operators[j]
        fits = isinstance(op, Identity) and op.scale != 0 and block.f is None and block.h.is_convex
        if fits and math.isfinite(block.h.lipschitz(block.shape)):
            return j
    return None


def composite(problem: Problem, who: str, x0: Arrays, *, on_manifold: bool = False) -> Reduction:
    """The problem with a block solved for, or an `AssumptionError` that says why there is none."""
    j = solvable(problem)
    if j is None:
        raise AssumptionError(
            f"{who} needs a block with A = c·I, f = 0 and convex Lipschitz h to solve the constraint for; "
            "state the problem so that one exists (its f may stand on another block), or use IPDS"
        )
    for name, other, op in zip(problem.names, problem.blocks, problem.operators, strict=True):
        if op.is_zero and (other.f is None or other.f.lipschitz == 0):
            raise AssumptionError(f"block {name!r} has A = 0 and no f that could move it; leave it out")
    if on_manifold:
        for name, other in zip(without(problem.names, j), without(problem.blocks, j), strict=True):
            if not (other.h.is_manifold or isinstance(other.h, Zero)):
                raise AssumptionError(
                    f"{who} moves on manifolds: h of block {name!r} must be one (e.g. Stiefel) or zero, got {other.h!r}"
                )
    return eliminate(problem, j, x0)


def slope(problem: Problem, R: Reduction) -> float:
    """C_h/√size: the weight of an ℓ1 norm, and its like for other h."""
    shape = problem.blocks[R.j].shape
    return R.h.lipschitz(shape) / math.sqrt(math.prod(shape))


def kink_width(problem: Problem, R: Reduction, x0: Arrays) -> float:
    """‖x_j‖/C_h, the smoothing at which the kinks of h are as wide as its arguments; inf where h has none."""
    size, steepest = size_of_block(problem, R.j, x0), R.h.lipschitz(problem.blocks[R.j].shape)
    return size / steepest if 0 < steepest < math.inf and size > 0 else math.inf


def unit(problem: Problem, R: Reduction, x0: Arrays) -> float:
    """The `kink_width`, or 1 where that is not defined."""
    width = kink_width(problem, R, x0)
    return width if math.isfinite(width) else 1.0


def lipschitz(R: Reduction, x: Arrays) -> tuple[float, float]:
    """(L, ‖A‖²/c²): of the ∇f_i, stated or (where not) measured at x, and of y(x)."""
    constants = [lipschitz_at(block.f, xi)[0] for block, xi in zip(R.blocks, x, strict=True)]
    return max(constants), sum(op.norm() ** 2 for op in R.operators) / R.c**2


def descend(R: Reduction, x: Arrays, g: Arrays, step: float) -> tuple[Arrays, list[tuple[Array, float]]]:
    """x_i⁺ = prox_{h_i}(x_i - step·g_i, step): a retraction on manifolds (polar on Stiefel), a projection on sets."""
    points = [(xi - step * gi, step) for xi, gi in zip(x, g, strict=True)]
    return tuple([b.h.prox(v, s) for b, (v, s) in zip(R.blocks, points, strict=True)]), points


def square(arrays: Any) -> float:
    """Σ ‖a_i‖²."""
    return sum(fetch([dot(a, a) for a in arrays]))


def length(arrays: Any) -> float:
    """(Σ ‖a_i‖²)^½."""
    return math.hypot(*fetch([magnitude(a) for a in arrays]))


def assemble(
    t: int,
    R: Reduction,
    p: Point,
    points: list[tuple[Array | None, float]],
    s: float,
    beta: float,
    mu: float,
    memory: Any,
    settled: bool = True,
    transient: bool = False,
) -> State:
    """The State of a point of the reduced problem, block j put back; x̆ is a prox with step `s`."""
    # z was made from x̆ and its prox point, which can be made from them again, unless f_j has moved
    u = None if p.push is None else add_scaled(p.x_breve, -s, R.own.adjoint(p.split))
    # a value found by the formula for quadratics serves searches, not reports
    known = tuple([None if isinstance(one, OneCall) else fi for one, fi in zip(R.smooth, p.f, strict=True)])
    return State(
        t,
        insert(p.x, R.j, p.x_breve),
        p.x_breve,
        p.z,
        beta,
        mu,
        insert(p.products, R.j, None),
        insert(tuple(points), R.j, (u, s)),
        last=R.j,
        gradients=insert(p.df, R.j, None),
        adjoints=insert(p.pulls, R.j, None),
        values=insert(known, R.j, 0.0 if R.own_smooth is None else None),
        settled=settled,
        transient=transient,
        memory=memory,
    )
