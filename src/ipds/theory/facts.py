"""What theorems ask about a problem, each found once, when first asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy

from .._arrays import is_array, to_numpy
from ..functions import (
    MCP,
    SCAD,
    CappedL1,
    LHalf,
    LogSum,
    LTwoThirds,
    Nonsmooth,
    Smooth,
    Sphere,
    Stiefel,
    Zero,
)
from ..operators import Identity, Operator
from ..problem import Block, Problem, split_blocks
from .floors import falling_block
from .structure import eliminable, solvable


class Facts:
    """A problem's properties, by the names the paper's Table 1 uses for them."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.n = len(problem.blocks)
        self.f = [block.f for block in problem.blocks]
        self.h = [block.h for block in problem.blocks]
        self.last = problem.blocks[-1]

    @cached_property
    def surjective(self) -> bool:
        """SU: λ_min(A_n A_nᵀ) > 0."""
        return self._extremes[0] > 0

    @cached_property
    def injective(self) -> bool:
        """IN: λ_min(A_nᵀ A_n) > 0."""
        if self.square:
            return self.surjective
        op = self.problem.operators[-1]
        gram = op.gram
        return gram > 0 if gram is not None else op.T.extremes(self.problem.shape)[0] > 0

    @cached_property
    def square(self) -> bool:
        """Whether A_n maps to as many numbers as it takes."""
        return math.prod(self.last.shape) == math.prod(self.problem.shape)

    @cached_property
    def kappa(self) -> float:
        """λ̄/λ_ of A_n A_nᵀ."""
        lower, upper = self._extremes
        return upper / lower if lower > 0 else math.inf

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        return self.problem.operators[-1].extremes(self.last.shape)

    @cached_property
    def images_included(self) -> bool:
        """IM: Im([A_1, .., A_{n-1}]) ⊆ Im(A_n), tried on a random point of each image."""
        g, p = np.random.default_rng(0), self.problem
        return self.surjective or all(
            _in_image([self.n - 1], p, to_numpy(op.apply(g.standard_normal(block.shape))))
            for op, block in zip(p.operators[:-1], p.blocks[:-1], strict=True)
        )

    @cached_property
    def feasible(self) -> bool:
        """F: b lies in the image of [A_1, .., A_n]."""
        b = self.problem.b
        if self.surjective or (not is_array(b) and b == 0.0):
            return True
        return _in_image(
            range(self.n),
            self.problem,
            np.broadcast_to(to_numpy(b) if is_array(b) else b, self.problem.shape),
        )

    @cached_property
    def has_floor(self) -> bool:
        """Whether no block was seen to fall without end."""
        return falling_block(self.problem) is None

    @cached_property
    def solvable(self) -> int | None:
        """The block that the constraint can be solved for (`structure.solvable`)."""
        return solvable(self.problem)

    @cached_property
    def eliminated(self) -> Block | None:
        """The block that a reduced problem is without (`structure.eliminable`)."""
        j = eliminable(self.problem)
        return None if j is None else self.problem.blocks[j]

    @property
    def remaining(self) -> list[Block]:
        """The blocks of the reduced problem."""
        return [block for block in self.problem.blocks if block is not self.eliminated]

    @cached_property
    def bounded(self) -> bool:
        """Whether all blocks of the reduced problem are known to stay in bounded sets."""
        return all(np.all(np.isfinite(to_numpy(b.h.width(b.shape)))) for b in self.remaining)

    @property
    def others(self) -> list[Nonsmooth]:
        """The h of the blocks that stay when the constraint is solved for one."""
        return [h for i, h in enumerate(self.h) if i != self.solvable]


def convex_smooth(f: Smooth | None) -> bool:
    """Whether f is known to be convex."""
    return f is None or bool(f.is_convex)


def prox_regular(h: Nonsmooth) -> bool:
    """Whether h is known to be restricted weakly convex (restricted prox-regular, Wang et al. 2019, §2.3)."""
    return h.is_convex or h.is_manifold or isinstance(h, LHalf | LTwoThirds | MCP | SCAD | LogSum | CappedL1)


def weakly_convex(h: Nonsmooth) -> bool:
    """Whether h + ρ‖·‖²/2 is known to be convex for some ρ."""
    return h.is_convex or isinstance(h, MCP | SCAD | LogSum)


def is_zero(h: Nonsmooth) -> bool:
    """h = 0."""
    return isinstance(h, Zero)


def is_stiefel(h: Nonsmooth) -> bool:
    """Whether h is the indicator of orthonormal columns."""
    return isinstance(h, Stiefel)


def has_reach(h: Nonsmooth) -> bool:
    """Whether a manifold is known to be compact, and each point within a distance of it to have one nearest point."""
    return isinstance(h, Stiefel | Sphere)


def is_scaled_identity(op: Operator) -> bool:
    """A = c·I, c ≠ 0."""
    return isinstance(op, Identity) and op.scale != 0


def _in_image(indices: Sequence[int], problem: Problem, y: np.ndarray) -> bool:
    """Whether y = Σ A_i x_i has a solution over the blocks `indices`, by LSMR."""
    blocks, ops = [problem.blocks[i] for i in indices], [problem.operators[i] for i in indices]
    unknowns = sum(math.prod(block.shape) for block in blocks)

    def apply(v: np.ndarray) -> np.ndarray:
        parts = split_blocks(v, [block.shape for block in blocks])
        products = [to_numpy(op.apply(part)) for op, part in zip(ops, parts, strict=True)]
        return sum(products[1:], products[0]).reshape(-1)

    def adjoint(v: np.ndarray) -> np.ndarray:
        return np.concatenate([to_numpy(op.adjoint(v.reshape(y.shape))).reshape(-1) for op in ops])

    flat = np.asarray(y, dtype=float).reshape(-1)
    size = float(np.linalg.norm(flat))
    if size == 0:
        return True
    stacked = scipy.sparse.linalg.LinearOperator(
        (flat.size, unknowns), matvec=apply, rmatvec=adjoint, dtype=float
    )
    solution = scipy.sparse.linalg.lsmr(
        stacked, flat, atol=1e-13, btol=1e-13, conlim=0, maxiter=min(2000, 10 * unknowns)
    )[0]
    return bool(np.linalg.norm(apply(solution) - flat) <= 1e-8 * size)
