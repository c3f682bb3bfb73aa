"""What the primal methods share: the problem with one block solved for, and its smoothing.

With A_j = c·I and h = h_j convex and Lipschitz, the constraint gives x_j = y(x) = (b - Σ_{i≠j} A_i x_i)/c and

    F(x) = Σ_{i≠j} [f_i(x_i) + h_i(x_i)] + h(y(x)).

Where f_j ≠ 0, as in the paper's own statement of sparse PCA, it counts to the other block: f_1(x) + f_j(y(x)).

Its smoothing F_μ has h's Moreau envelope in place of h: `reduced.evaluate` with z = 0, s = μ.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..._arrays import Array, dot, fetch, magnitude
from ...errors import AssumptionError
from ...functions import Composed, SmoothSum, Zero
from ...operators import Identity, Scaled
from ...problem import Block, Problem
from ...theory.structure import solvable
from ..accelerated.annealing import kink_width
from ..accelerated.reduced import Arrays, ReducedProblem, eliminate, without
from ..base import lipschitz_at

RULES = ("published", "tuned")


def require_rule(who: str, rule: str) -> str:
    """`rule`, if it is one of "published" and "tuned"."""
    if rule not in RULES:
        raise ValueError(f"{who}: rule must be one of {list(RULES)}, got {rule!r}")
    return rule


def require_gradient(who: str, gradient: str) -> str:
    """`gradient`, if it is one of "riemannian" and "euclidean"."""
    if gradient not in ("riemannian", "euclidean"):
        raise ValueError(f"{who}: gradient must be 'riemannian' or 'euclidean', got {gradient!r}")
    return gradient


def composite(problem: Problem, who: str, *, on_manifold: bool = False) -> ReducedProblem:
    """The problem with a block solved for, or an `AssumptionError` that says why there is none."""
    j = solvable(problem)
    if j is None:
        raise AssumptionError(
            f"{who} needs a block with A = c·I and convex Lipschitz h to solve the constraint for, and f = 0 there "
            "unless there are two blocks; state the problem so that one exists, or use IPDS"
        )
    moved = problem.blocks[j].f
    if moved is not None:
        problem = _with_f_moved(problem, j)
    for name, other, op in zip(problem.names, problem.blocks, problem.operators, strict=True):
        if op.is_zero and (other.f is None or other.f.lipschitz == 0):
            raise AssumptionError(f"block {name!r} has A = 0 and no f that could move it; leave it out")
    if on_manifold:
        for name, other in zip(without(problem.names, j), without(problem.blocks, j), strict=True):
            if not (other.h.is_manifold or isinstance(other.h, Zero)):
                raise AssumptionError(
                    f"{who} moves on manifolds: h of block {name!r} must be one (e.g. Stiefel) or zero, got {other.h!r}"
                )
    return replace(eliminate(problem, j), moved=moved)


def _with_f_moved(problem: Problem, j: int) -> Problem:
    """The problem of two blocks with f_j counted to the other one, as f_j((b - A_i x_i)/c)."""
    i, A_j = 1 - j, problem.operators[j]
    assert isinstance(A_j, Identity)
    other, own = problem.blocks[i], problem.blocks[j]
    assert own.f is not None
    shift = problem.b / A_j.scale
    seen = Composed(own.f, Scaled(problem.operators[i], -1 / A_j.scale), shift)
    blocks = [
        Block(h=own.h, A=A_j, shape=own.shape, name=problem.names[j]),
        Block(
            f=seen if other.f is None else SmoothSum([other.f, seen]),
            h=other.h,
            A=problem.operators[i],
            shape=other.shape,
            name=problem.names[i],
        ),
    ]
    return Problem(blocks if j == 0 else blocks[::-1], problem.b)


def slope(problem: Problem, R: ReducedProblem) -> float:
    """C_h/√size: the weight of an ℓ1 norm, and its like for other h."""
    shape = problem.blocks[R.j].shape
    return R.h.lipschitz(shape) / math.sqrt(math.prod(shape))


def unit(problem: Problem, R: ReducedProblem, x0: Arrays) -> float:
    """The `kink_width`, or 1 where that is not defined."""
    width = kink_width(problem, R.j, x0)
    return width if math.isfinite(width) else 1.0


def lipschitz(R: ReducedProblem, x: Arrays) -> tuple[float, float]:
    """(L, ‖A‖²/c²): of the ∇f_i, stated or (where not) measured at x, and of y(x)."""
    constants = [lipschitz_at(block.f, xi)[0] for block, xi in zip(R.blocks, x, strict=True)]
    return max(constants), sum(op.norm() ** 2 for op in R.operators) / R.c**2


def descend(R: ReducedProblem, x: Arrays, g: Arrays, step: float) -> tuple[Arrays, list[tuple[Array, float]]]:
    """x_i⁺ = prox_{h_i}(x_i - step·g_i, step): a retraction on manifolds (polar on Stiefel), a projection on sets."""
    points = [(xi - step * gi, step) for xi, gi in zip(x, g, strict=True)]
    return tuple([b.h.prox(v, s) for b, (v, s) in zip(R.blocks, points, strict=True)]), points


def square(arrays: Any) -> float:
    """Σ ‖a_i‖²."""
    return sum(fetch([dot(a, a) for a in arrays]))


def length(arrays: Any) -> float:
    """(Σ ‖a_i‖²)^½."""
    return math.hypot(*fetch([magnitude(a) for a in arrays]))
