"""What is left of the forces on free entries in the basis where it is most.

On some entries nothing acts but the equation: no f, no price, no bound. In which basis they are written says nothing
of the problem: X w + b·1 with columns of mean 10⁵ is the same as (X - 1x̄ᵀ) w + b'·1, where forces add up a part in 10⁵
of what they add up in X, and where what is left of them in X may be all there is. In units in which every row is as
large as its multiplier, D = diag(ẑ) and σ = z/ẑ, the balance Aᵀz = 0 of these entries says that σ stands upright on the
range of D A, and

    max_d ⟨σ, D A d⟩/(‖D A d‖‖σ‖) = ‖P σ‖/‖σ‖,   with the projection P onto that range,

is what is left of that, in any basis, and in any units of rows and of columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._arrays import Array, norm, to_dense
from ..functions import Zero
from ..problem import Problem

ENTRIES, NUMBERS = 150, 200_000
"""Free entries, and numbers in their columns, at most: beyond, this would take as long as a Newton step."""
NEAR = 1e-2
"""Where what is left of forces in the basis as written is more, no other needs to be looked at."""
FLAT = 1e-13
"""Added to (D A)ᵀD A with columns of length 1: directions in which less than 3e-7 is left of them are rounding."""


def free_columns(problem: Problem, q: Sequence[Array]) -> np.ndarray | None:
    """The columns of the entries on which nothing acts but the equation; None where they are none, one, or too many."""
    some = [
        (op, block.shape)
        for block, op in zip(problem.blocks, problem.operators, strict=True)
        if block.f is None and isinstance(block.h, Zero) and not op.is_zero
    ]
    count = sum(math.prod(shape) for _, shape in some)
    if not 1 < count <= ENTRIES or count * math.prod(problem.shape) > NUMBERS:
        return None
    if any(type(qi) is not np.ndarray for qi in q):
        return None
    matrices = [op.as_matrix(shape) for op, shape in some]
    return (
        None
        if any(M is None for M in matrices)
        else np.hstack([np.asarray(to_dense(M), float) for M in matrices])
    )


def leaning(columns: np.ndarray, z: np.ndarray, felt: np.ndarray) -> float:
    """‖P σ‖/max(1, ‖σ‖) for z and ẑ: a multiplier that no block feels leans nowhere."""
    weights = felt.ravel()
    upright = np.divide(z.ravel(), weights, out=np.zeros(z.size), where=weights > 0)
    M = (weights / (weights.max(initial=0.0) or 1.0))[:, None] * columns
    left, inner = M.T @ upright, M.T @ M
    length = np.sqrt(inner.diagonal())
    unit = np.where(length > 0, length, 1.0)
    left, inner = left / unit, inner / (unit[:, None] * unit)
    share = float(left @ np.linalg.solve(inner + FLAT * np.eye(left.size), left))
    return math.sqrt(max(share, 0.0)) / max(1.0, norm(upright))
