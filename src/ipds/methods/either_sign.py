"""A start or its negative: where f is even and only the constraint tells the two apart, a descent cannot cross over."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, dot, norm
from ..functions import Zero
from ..functions.scalar import ScalarPenalty
from ..problem import Problem
from ..theory.objective import objective
from ..theory.state import State, residual_of
from .base import Method

SHORT = 20
"""Iterations from each sign before the choice."""


class EitherSign(Method):
    """`method` from x0 or from -x0, whichever is lower after `SHORT` iterations of each.

    Both descents are compared by the objective plus what their residual r is worth, |z|ᵀ|r| + β‖r‖²/2. Signs are
    changed in the blocks with an even f; the iterations of the descent that is dropped are not counted.
    """

    def __init__(self, method: Method):
        self.method = method
        self.presolves = method.presolves
        self.name = f"{method.name} from either sign"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Any, Any]:
        """That of the method, `SHORT` iterations on."""
        even = even_blocks(problem)
        mirrored = tuple(-x if i in even else x for i, x in enumerate(x0))
        return min((self._descent(problem, x, z0) for x in (x0, mirrored)), key=lambda found: found[0])[1:]

    def _descent(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[float, Any, Any]:
        """(merit, setup, carry)."""
        setup, carry = self.method.init(problem, x0, z0)
        for _ in range(SHORT):
            carry, state = self.method.step(setup, carry)
        found = merit(problem, state)
        return (found if np.isfinite(found) else np.inf), setup, carry

    def step(self, setup: Any, carry: Any) -> tuple[Any, State]:
        """One of the method."""
        return self.method.step(setup, carry)

    def may_smooth(self, setup: Any) -> bool:
        """Whether the method may."""
        return self.method.may_smooth(setup)

    def parameters_of(self, setup: Any) -> Any:
        """Those of the method."""
        return self.method.parameters_of(setup)


def even_blocks(problem: Problem) -> set[int]:
    """The blocks on which f(-x) = f(x) and h(-x) = h(x), f not zero."""
    blocks = enumerate(problem.blocks)
    return {i for i, b in blocks if b.f is not None and b.f.is_even and isinstance(b.h, ScalarPenalty | Zero)}


def is_one_sided(problem: Problem) -> bool:
    """Whether some f is even, but not all of the problem: then the sign of a start matters."""
    even = even_blocks(problem)
    rest = [block for i, block in enumerate(problem.blocks) if i not in even]
    return bool(even) and not all(
        block.f is None and isinstance(block.h, ScalarPenalty | Zero) for block in rest
    )


def merit(problem: Problem, state: State) -> float:
    """The objective at q plus |z|ᵀ|r| + β‖r‖²/2."""
    r = residual_of(problem, state)
    return float(objective(problem, state)) + float(dot(abs(state.z), abs(r))) + state.beta / 2 * norm(r) ** 2
