"""Proofs that a convex problem has no solution: a direction, and what was checked of it.

**Infeasible.** Let σ_i be the support function of dom h_i. If a multiplier w satisfies

    ⟨b, w⟩ + Σ_i σ_i(-A_iᵀw) < 0,

no x with x_i ∈ dom h_i solves Σ A_i x_i = b: it would give ⟨b, w⟩ = Σ⟨A_iᵀw, x_i⟩ ≥ -Σ σ_i(-A_iᵀw). σ_i is finite on a
cone only, which -A_iᵀw meets up to rounding; with e_i the distance to it, any solution has Σ e_i‖x_i‖ ≥ margin. A proof
says how many times larger than the iterates that would have to be.

**Unbounded.** If Σ A_i d_i = 0, every dom h_i goes on for ever along d_i, and the slopes of all f_i and h_i far out add
up to less than 0, the objective falls without bound along d from any feasible point.

Where a problem is infeasible the multipliers of a method grow along such a w, and its residual tends to one; where it
is unbounded the blocks grow along such a d (Banjac, Goulart, Stellato & Boyd, JOTA 183, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, norm, precision
from ..functions.far import FLAT
from ..operators.absolute import absolute
from ..problem import Problem
from .certificate import Certificate
from .fixed import is_convex
from .state import State, residual_of

BEYOND = 1e6
"""A proof of infeasibility excludes all points up to this many times the size of the iterates."""
FAR = 1e4
"""A direction of descent is tried out this many times as far out as the iterates."""
EXACT = 1e-2
"""Share of the tolerance to which the rows of a feasible equation hold."""
ROUNDING = 16.0
"""Units of rounding that a margin must exceed."""


@dataclass(frozen=True)
class Proof:
    """That a convex problem has no solution; `ipds.theory.proofs` says what is checked."""

    kind: str
    """"infeasible" or "unbounded"."""
    direction: Any
    """The multiplier w, of norm 1; or the blocks d_1, …, d_n, of norm 1 together."""
    margin: float
    """-⟨b, w⟩ - Σ σ_i(-A_iᵀw), or the slope at which the objective falls; rounding is taken off."""
    excluded: float
    """Infeasible: no solution is smaller than this many times the iterates. Unbounded: ∞."""
    error: float
    """Unbounded: ‖A d‖ relative to what it adds up, row by row. Infeasible: 0."""

    def __str__(self) -> str:
        if self.kind == "unbounded":
            return (
                f"along proof.direction the objective falls by {self.margin:.3g} per unit, the equation holding up to "
                f"{self.error:.0e}"
            )
        size = (
            "" if self.excluded == math.inf else f", up to {self.excluded:.0e} times the size of the iterates"
        )
        return f"proof.direction separates the equation from the sets by {self.margin:.3g}{size}"


def no_solution(problem: Problem, state: State, certificate: Certificate, tol: float) -> Proof | None:
    """A proof that a convex problem has no solution, where the state of a method shows one.

    Infeasible also where the equation seems to hold: beside terms that grow without end any residual looks small. But
    not where it holds to `EXACT`·tol. Unbounded only where the point is not certified. NumPy arrays only.
    """
    if not isinstance(state.z, np.ndarray) or not is_convex(problem):
        return None
    found = infeasibility(problem, state) if certificate.rows > EXACT * tol else None
    if found is not None or certificate.relative <= tol:
        return found
    return falls(problem, state.q)


def infeasibility(problem: Problem, state: State) -> Proof | None:
    """A proof from the multiplier or the residual of a state."""
    for w in (state.z, residual_of(problem, state)):
        found = separates(problem, w, state.q)
        if found is not None:
            return found
    return None


def separates(problem: Problem, w: Array, q: Sequence[Array]) -> Proof | None:
    """The proof by w, where it is one; `q` says how large the blocks are."""
    length = norm(w)
    if not (0 < length < math.inf):
        return None
    w = w / length
    b = problem.b + 0.0 * w
    total, size = float(np.vdot(b, w)), float(np.abs(b * w).sum())
    largest = max(norm(b), *[norm(op.apply(x)) for op, x in zip(problem.operators, q, strict=True)])
    loose = 0.0
    for block, op, x in zip(problem.blocks, problem.operators, q, strict=True):
        y = -op.adjoint(w)
        part = block.h.receding(y)
        y = y - part
        reached = float(block.h.support(y))
        if not math.isfinite(reached):
            return None
        total, size = total + reached, size + abs(reached) + float(np.abs(y * x).sum())
        gain = op.norm()
        loose += norm(part) * max(norm(x), largest / gain if gain > 0 else 0.0)
    margin = -total - ROUNDING * precision(w) * size
    if not margin > BEYOND * loose:
        return None
    return Proof("infeasible", w, margin, margin / loose if loose > 0 else math.inf, 0.0)


def falls(problem: Problem, q: Sequence[Array]) -> Proof | None:
    """The proof by the direction of the blocks q, where it is one; or by that of blocks whose A_i d_i is 0 alone.

    Blocks that have not grown with the others are no part of it.
    """
    length = math.hypot(*map(norm, q))
    if not (0 < length < math.inf):
        return None
    d = [block.h.receding(_grown(qi / length)) for block, qi in zip(problem.blocks, q, strict=True)]
    sizes = [absolute(op).apply(abs(di)) for op, di in zip(problem.operators, d, strict=True)]
    added = list(map(norm, sizes))
    grown = [size == 0 or size > FLAT * max(added) for size in added]
    found = _falls_along(problem, _only(grown, d), _only(grown, sizes), q)
    free = [size == 0 for size in added]
    if found is not None or free == grown:
        return found
    return _falls_along(problem, _only(free, d), _only(free, sizes), q)


def _only(chosen: Sequence[bool], x: Sequence[Array]) -> list[Array]:
    """The blocks, with zeros for those that are not chosen."""
    return [xi if take else 0.0 * xi for take, xi in zip(chosen, x, strict=True)]


def _falls_along(
    problem: Problem, d: Sequence[Array], sizes: Sequence[Array], q: Sequence[Array]
) -> Proof | None:
    """The proof by the direction d, with the |A_i||d_i|, where it is one."""
    rise = fall = 0.0
    for block, di in zip(problem.blocks, d, strict=True):
        for function in (block.f, block.h):
            slope = 0.0 if function is None else float(function.recession(di))
            rise, fall = rise + max(slope, 0.0), fall + max(-slope, 0.0)
    margin = fall - rise - ROUNDING * precision(d[0]) * (fall + rise)
    if not margin > FLAT * (fall + rise):
        return None
    carried, size = sum(op.apply(di) for op, di in zip(problem.operators, d, strict=True)), sum(sizes)
    error = float(np.max(np.abs(carried) / np.where(size > 0, size, 1.0), initial=0.0))
    if error > FLAT or not _falls_far(problem, d, q, margin):
        return None
    return Proof("unbounded", tuple(d), margin, math.inf, error)


def _grown(d: Array) -> Array:
    """d without the entries that are rounding beside its largest: they are no part of a direction."""
    size = abs(d)
    return np.where(size > precision(d) * np.max(size, initial=0.0), d, 0.0)


def _falls_far(problem: Problem, d: Sequence[Array], q: Sequence[Array], margin: float) -> bool:
    """Whether the objective has fallen by half of `margin` per unit at a point 1e4 times as far out as q."""
    far = FAR * (math.hypot(*map(norm, q)) or 1.0)
    there = problem.objective([qi + far * di for qi, di in zip(q, d, strict=True)])
    return there - problem.objective(q) <= -0.5 * margin * far
