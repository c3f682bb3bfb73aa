"""Tangent steps at a settled rank: accelerated IPDS on the manifold of matrices of that rank.

    x ← the nearest matrix of rank s to x - α P_x∇Φ(x),   P_x the projection on the tangent space at x

and stages that stretch while stationarity lags. A projected gradient step moves along all of ∇Φ and lets the projection
undo most of it; what certifies is the tangent part alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._arrays import Array
from ...errors import AssumptionError
from ...functions import Rank
from ...functions.rank_manifold import RankManifold
from ...problem import Block, Problem
from ...theory.state import State
from ..accelerated import AcceleratedIPDS
from ..base import Method

STRETCH = 1.3
"""Factor of the steps between dual steps."""
SETTLED = 1e-6
"""The rank is settled where the s-th singular value is more than this fraction of the first."""
INSIDE = 0.5
"""Share of the s-th singular value that the witness of a normal vector may take up."""


@dataclass(frozen=True)
class Setup:
    """The problem as stated and on the manifold."""

    problem: Problem
    inner: Any
    ranks: tuple[int, ...]
    """The blocks of bounded rank."""


class TangentSteps(Method):
    """AcceleratedIPDS on matrices of the rank that a start has; refuses starts of a lower rank, and other problems."""

    presolves = True
    name = "TangentSteps"

    def __init__(self) -> None:
        self.method = AcceleratedIPDS("fast", stretch=STRETCH)

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Any]:
        """That of AcceleratedIPDS on the manifold."""
        ranks = ranked(problem)
        if not ranks or not all(type(x) is np.ndarray and x.dtype == np.float64 for x in (*x0, z0)):
            raise AssumptionError("TangentSteps needs a block with h = Rank(s), NumPy arrays and no smooth f")
        blocks = []
        for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
            h = RankManifold(block.h.s) if i in ranks else block.h  # type: ignore[attr-defined]
            blocks.append(Block(f=block.f, h=h, A=op, shape=block.shape, name=problem.names[i]))
            if i in ranks and not _smallest(h, x0[i]) > SETTLED * np.linalg.norm(x0[i]):
                raise AssumptionError(
                    f"TangentSteps: the start of block {problem.names[i]!r} has a lower rank"
                )
        inner, carry = self.method.init(Problem(blocks, problem.b), x0, z0)
        return Setup(problem, inner, ranks), carry

    def step(self, setup: Setup, carry: Any) -> tuple[Any, State]:
        """One step of AcceleratedIPDS; its State with normal vectors as witnesses of the bounded rank."""
        carry, state = self.method.step(setup.inner, carry)
        points = list(state.prox_points)
        for i in setup.ranks:
            points[i] = _witness(setup.problem, state, i)
        return carry, replace(state, prox_points=tuple(points))

    def parameters_of(self, setup: Setup) -> Any:
        """Those of AcceleratedIPDS."""
        return self.method.parameters_of(setup.inner)


def ranked(problem: Problem) -> tuple[int, ...]:
    """The blocks of bounded rank; none where there is a smooth f or something else that is not convex."""
    found = tuple(i for i, block in enumerate(problem.blocks) if type(block.h) is Rank and block.h.s > 0)
    others = [block for i, block in enumerate(problem.blocks) if i not in found]
    plain = all(block.f is None for block in problem.blocks) and all(block.h.is_convex for block in others)
    return found if plain else ()


def _smallest(h: Any, x: np.ndarray) -> float:
    """The s-th singular value of x."""
    U, V = h.bases(x)
    return float(np.linalg.svd(U.T @ x @ V, compute_uv=False)[-1])


def _witness(problem: Problem, state: State, i: int) -> tuple[np.ndarray, float]:
    """(v, step) with x = prox(v, step): v - x is the normal part of -A_iᵀz, short enough for x to stay the nearest."""
    x, g = state.q[i], problem.operators[i].adjoint(state.z)
    h = RankManifold(problem.blocks[i].h.s)  # type: ignore[attr-defined]
    normal = h.tangent(x, g) - g
    length, room = float(np.linalg.norm(normal)), INSIDE * _smallest(h, x)
    step = room / length if room > 0 and length > 0 else 1.0
    return x + step * normal, step
