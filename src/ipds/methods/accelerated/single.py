"""Single precision, in which a reduced problem cools: what is found there is only where to go on from.

Steps take two thirds of the time. What is shown, and what a cooling ends at, is made anew in double precision; a carry
is widened before it is handed out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...operators import Identity
from .annealing import Schedule
from .reduced import Arrays, Place, ReducedProblem, locate

SINGLE = float(np.finfo(np.float32).eps)
"""Its precision."""
RANGE = 1e-9, 1e9
"""Scales between which nothing that is made of them in single precision overflows or underflows."""


def in_single(R: ReducedProblem, schedule: Schedule) -> ReducedProblem | None:
    """R with functions in single precision, where every f_i has such, and x_i is bounded by its manifold; else None."""
    usual = all(RANGE[0] < scale < RANGE[1] for scale in (schedule.unit, schedule.slope, abs(R.c)))
    plain = R.f is None and all(isinstance(op, Identity) for op in (R.A, *R.operators))
    bounded = all(block.h.is_manifold and _is_bounded(block) for block in R.blocks)
    if not (usual and plain and bounded):
        return None
    functions = [None if block.f is None else block.f.single for block in R.blocks]
    if any(f is None and block.f is not None for f, block in zip(functions, R.blocks, strict=True)):
        return None
    blocks = [replace(block, f=f) for f, block in zip(functions, R.blocks, strict=True)]
    return replace(R, blocks=tuple(blocks), single=True)


def _is_bounded(block: Any) -> bool:
    """Whether the entries of a block are of usual size, whatever the point."""
    return bool(np.max(block.h.width(block.shape)) < RANGE[1])


def rounded(tree: Any, dtype: Any = np.float32) -> Any:
    """The same tuples with arrays of NumPy in another precision."""
    if type(tree) is np.ndarray:
        return tree.astype(dtype, copy=False)
    if not isinstance(tree, tuple):
        return tree
    parts = [rounded(part, dtype) for part in tree]
    return tree._make(parts) if hasattr(tree, "_make") else tuple(parts)


def widened(R: ReducedProblem, x: Arrays) -> Place:
    """The place of R nearest to a point that was found in single precision."""
    pairs = zip(R.blocks, rounded(x, np.float64), strict=True)
    return locate(R, tuple([block.h.prox(xi, 1.0) for block, xi in pairs]))
