"""Where one start is not enough: sets of several pieces, and small problems that may have several minima."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..functions import Binary, KBinary, NonNegative, Nonsmooth, Smooth, Stiefel
from ..methods import AcceleratedIPDS, Method
from ..problem import Problem
from ..theory.bending import bends_down, curves_down
from .relaxing import SMALL, entries
from .starting import prototype

if TYPE_CHECKING:
    from ..result import Result

STARTS = {"fast": 1, "balanced": 8, "thorough": 24}
"""Starts by the effort of `AcceleratedIPDS`; "auto" is balanced."""
FEW, QUICK = 150, 2000
"""Entries, and iterations of a first answer, up to which several starts look for a lower one."""
CURVED, ROWS = 50, 2000
"""The same for entries of blocks that are not convex, and then of all: few unknowns under many rows."""
CHEAP = 100
"""Iterations of a first answer up to which another takes no more gradients than that."""


def starts_for(problem: Problem, method: Method | None) -> int:
    """How many starts a solve makes: more than one where sets have several pieces and the problem is small.

    Such are `Binary` and `KBinary`, orthonormal columns that are a basis (rotations and reflections), and orthonormal
    columns beside nonnegative ones (every choice of signs).
    """
    if method is not None and not isinstance(method, AcceleratedIPDS):
        return 1
    functions = [block.h for block in problem.blocks]
    frames = [block for block in problem.blocks if isinstance(block.h, Stiefel)]
    square = any(block.shape[0] == block.shape[1] for block in frames)
    signed = bool(frames) and any(isinstance(h, NonNegative) for h in functions)
    if entries(problem) > SMALL or not (discrete(problem) or square or signed):
        return 1
    return STARTS["balanced" if method is None else method.effort]


def discrete(problem: Problem) -> list[int]:
    """The blocks of finitely many points."""
    return [i for i, block in enumerate(problem.blocks) if isinstance(block.h, Binary | KBinary)]


def has_many_minima(problem: Problem, first: Result) -> bool:
    """Whether a small problem may have several minima: an h that is not convex, or an f that bends downwards.

    An f that does not say whether it is convex is looked at around the answer `first` (`bending`). A first answer that
    took very long is enough.
    """
    long = first.success and first.nit > QUICK
    if long or entries(problem) > ROWS or type(prototype(problem)) is not np.ndarray:
        return False
    few, curved = entries(problem) <= FEW, 0
    for block, x in sorted(zip(problem.blocks, first.x, strict=True), key=lambda pair: pair[1].size):
        if x.size > CURVED and not (few or curved):  # and so are those that follow
            return False
        if not block.h.is_convex or (block.f is not None and _may_bend(block.f, block.h, x, first.nit)):
            curved += x.size
    return curved > 0 and (few or curved <= CURVED)


def _may_bend(f: Smooth, h: Nonsmooth, x: np.ndarray, nit: int) -> bool:
    """Whether f bends down, as far as looks tell: thorough ones where a further start is cheap, and its loss is not."""
    return (curves_down if nit <= CHEAP else bends_down)(f, h, x)
