"""Whether an objective has a floor: known of some functions, probed for the others."""

from __future__ import annotations

import math

import numpy as np

from ..problem import Block, Problem

FAR = (1e2, 1e4, 1e6)
"""How far along a direction a function is looked at, in units of one."""
DIRECTIONS, STEPS = 4, 25


def falling_block(problem: Problem) -> str | None:
    """The name of a block whose f + h was seen to fall without end along a direction; None where none was.

    A probe, not a proof: a few random directions, the signs of all ones, and those in which proximal gradient steps
    lead from afar (the most concave ones), as far as 1e6. The theorem asks for inf Σ f_i + h_i > -∞ without the
    equation, so every block is looked at by itself.

    >>> from ipds import Block, Problem
    >>> from ipds.functions import L1, Quadratic
    >>> concave = Block(f=Quadratic(-1.0), h=L1(1.0), shape=2, name="v")
    >>> falling_block(Problem([Block(h=L1(1.0), A=-1.0, shape=2, name="y"), concave]))
    'v'
    """
    for name, block in zip(problem.names, problem.blocks, strict=True):
        if block.f is not None and _falls(block):
            return name
    return None


def _falls(block: Block) -> bool:
    rng = np.random.default_rng(0)
    directions = [np.ones(block.shape), -np.ones(block.shape)]
    directions += [rng.standard_normal(block.shape) for _ in range(DIRECTIONS)]
    directions += [end for end in map(_descended, [block] * 2, directions[-2:]) if end is not None]
    return any(_falls_along(block, d / np.linalg.norm(d)) for d in directions)


def _descended(block: Block, d: np.ndarray) -> np.ndarray | None:
    """Where x ← prox_h(x - ∇f(x)/L, 1/L) leads from far out: for f = ½xᵀHx every step multiplies x by I - H/L."""
    f = block.f
    if f is None or f.lipschitz is None:
        return None
    x = FAR[1] * d / np.linalg.norm(d)
    step = 1 / f.lipschitz if f.lipschitz > 0 else FAR[1]
    try:
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                x = block.h.prox(x - step * f.grad(x), step)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return x if np.isfinite(x).all() and np.any(x) else None


def _falls_along(block: Block, d: np.ndarray) -> bool:
    """Whether values at distances 1e2, 1e4, 1e6 fall at least in proportion to them."""
    assert block.f is not None
    try:
        with np.errstate(all="ignore"):
            values = [float(block.f(far * d)) + float(block.h(far * d)) for far in FAR]
    except (TypeError, ValueError, ArithmeticError):  # of another array library, or outside the domain
        return False
    if not all(map(math.isfinite, values)):
        return False
    near, middle, furthest = values
    return furthest < 0 and furthest < 10 * min(middle, 0.0) and middle < 10 * min(near, 0.0)
