"""Which block the equation can be solved for: what methods that eliminate a block, and their theorems, ask."""

from __future__ import annotations

import math

from ..operators import Identity
from ..problem import Problem


def eliminable(problem: Problem) -> int | None:
    """Index of the block to eliminate: convex h, A = c·I (or bijective with AᵀA = c²·I); best without f, then last."""
    fit = []
    for j, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        isometric = bool(op.gram) and math.prod(block.shape) == math.prod(problem.shape)
        if isometric and block.h.is_convex and len(problem.blocks) > 1:
            fit.append((block.f is None, j))
    return max(fit)[1] if fit else None


def solvable(problem: Problem) -> int | None:
    """Index of the block to solve the equation for: A = c·I, f = 0, h convex and Lipschitz; the last one first."""
    for j in reversed(range(len(problem.blocks) if len(problem.blocks) > 1 else 0)):
        block, op = problem.blocks[j], problem.operators[j]
        fits = isinstance(op, Identity) and op.scale != 0 and block.f is None and block.h.is_convex
        if fits and math.isfinite(block.h.lipschitz(block.shape)):
            return j
    return None
