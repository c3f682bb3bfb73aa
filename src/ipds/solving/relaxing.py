"""Convex problems near one that is not: their answers are starts, and those of a hull are bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..functions import L1, Binary, Box, CappedSimplex, KBinary, Nonsmooth, Sum, Zero
from ..functions.scalar import ScalarPenalty
from ..problem import Block, Problem
from ..theory.fixed import is_convex
from .starting import prototype

SMALL = 5000
"""Entries of all blocks up to which a start is cheap."""

FADED = 0.1
"""Entries so large, in units of the largest, count half of what zeros do in the next of reweighted problems."""

Instead = Callable[[Nonsmooth], Nonsmooth | None]
"""What may stand in the place of an h; None where it stays."""


def entries(problem: Problem) -> int:
    """Of all blocks."""
    return sum(math.prod(block.shape) for block in problem.blocks)


def relaxed(problem: Problem, instead: Instead) -> Problem | None:
    """The problem with `instead(h)` for every h that has one; None where none has, or an h is not convex then."""
    return _with(problem, [instead(block.h) for block in problem.blocks])


def _with(problem: Problem, others: Sequence[Nonsmooth | None]) -> Problem | None:
    """The problem with these in the place of the h, where there are any; None as in `relaxed`."""
    if not any(others):
        return None
    blocks = [
        Block(f=b.f, h=h or b.h, A=A, shape=b.shape)
        for b, h, A in zip(problem.blocks, others, problem.operators, strict=True)
    ]
    return Problem(blocks, problem.b) if all(block.h.is_convex for block in blocks) else None


def convex(problem: Problem, instead: Instead) -> Problem | None:
    """The same, None where an f is not convex, either."""
    return _convex(relaxed(problem, instead))


def _convex(changed: Problem | None) -> Problem | None:
    return changed if changed is not None and is_convex(changed) else None


def hull(h: Nonsmooth) -> Nonsmooth | None:
    """The convex hull of a discrete set."""
    if isinstance(h, KBinary) and h.k > 0:
        return CappedSimplex(float(h.k))
    return Box(h.lo, h.hi) if isinstance(h, Binary) else None


def as_l1(h: Any) -> Nonsmooth | None:
    """`L1` for a concave penalty of entries."""
    return L1(h.lam) if isinstance(h, ScalarPenalty) and h.has_faces and not h.is_convex else None


def reweighted(problem: Problem, x: Sequence[np.ndarray]) -> Problem | None:
    """The problem with weighted `L1` in the place of concave penalties: entries that are large in x count less.

    None where there is none, or that is not convex. Candès, Wakin & Boyd, Enhancing sparsity by reweighted ℓ1
    minimization, J. Fourier Anal. Appl. 14 (2008).
    """
    others = []
    for block, xi in zip(problem.blocks, x, strict=True):
        own, size = as_l1(block.h), FADED * float(np.max(np.abs(xi), initial=0.0))
        weighted = own is not None and size > 0
        others.append(L1(own.lam * size / (np.abs(xi) + size)) if weighted else own)  # type: ignore[union-attr]
    return _convex(_with(problem, others))


def eased(h: Any) -> Nonsmooth | None:
    """For an h that is not convex its convex part, `L1` for a concave penalty, or nothing at all."""
    if h.is_convex or h.is_manifold:
        return None
    if isinstance(h, Sum):
        parts = [part for part in (h.penalty, h.constraint) if part.is_convex]
        return parts[0] if len(parts) == 1 else None
    return as_l1(h) or Zero()


def convex_start(problem: Problem) -> Problem | None:
    """The problem with `L1` in the place of concave penalties of entries; None where there is none, or that is no help.

    Where an equation has to hold, first-order steps on such a penalty hardly leave the first support that they find.
    """
    if problem.unconstrained or type(prototype(problem)) is not np.ndarray or entries(problem) > SMALL:
        return None
    return convex(problem, as_l1)
