"""A start or its negative: where f is even and only the constraint tells the two apart, a descent cannot cross over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array, dot, norm
from ..functions import Zero
from ..functions.scalar import ScalarPenalty
from ..problem import Problem
from ..theory.objective import objective
from ..theory.state import State, residual_of
from .base import Method

SHORT = 20
"""Iterations from each sign after which they are compared; those from the start are made at once."""
CHOICE = 50
"""Iteration at which they are: most starts have the right sign, and are near a solution by then."""


class Descent(NamedTuple):
    """`SHORT` iterations of a method from a start."""

    setup: Any
    carry: Any
    state: State


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    turned: int
    """1 where the other sign was chosen."""
    inner: Any
    """Of the method."""


@dataclass(frozen=True, eq=False)
class Setup:
    """The descents from both signs."""

    method: Method
    problem: Problem
    x0: tuple[Array, ...]
    z0: Array

    @cached_property
    def given(self) -> Descent:
        """From x0."""
        return self._descent(self.x0)

    @cached_property
    def turned(self) -> Descent:
        """From x0 with the other sign in the blocks with an even f."""
        even = even_blocks(self.problem)
        return self._descent(tuple(-x if i in even else x for i, x in enumerate(self.x0)))

    def _descent(self, x0: tuple[Array, ...]) -> Descent:
        setup, carry = self.method.init(self.problem, x0, self.z0)
        return Descent(setup, *advance(self.method, setup, carry, SHORT))

    def is_better_turned(self) -> bool:
        """Whether the descent from the other sign has led lower."""
        return merit(self.problem, self.turned.state) < merit(self.problem, self.given.state)


class EitherSign(Method):
    """`method` from x0, and from iteration `CHOICE` on, if that was lower after `SHORT` iterations of each, from -x0.

    Both descents are compared by the objective plus what their residual r is worth, |z|ᵀ|r| + β‖r‖²/2. Signs are
    changed in the blocks with an even f. Before the choice no point is an answer.
    """

    def __init__(self, method: Method):
        self.method = method
        self.presolves = method.presolves
        self.name = f"{method.name} from either sign"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """That of the method, `SHORT` iterations on."""
        setup = Setup(self.method, problem, x0, z0)
        return setup, Carry(SHORT, 0, setup.given.carry)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One of the method."""
        return self.steps(setup, [carry], carry.t + 1)

    def steps(self, setup: Setup, held: list[Carry], until: int) -> tuple[Carry, State]:
        """Those of the method, up to the choice or from there on."""
        t, turned, inner = held.pop()
        if t + 1 < CHOICE:
            until = min(until, CHOICE - 1)
        elif t + 1 == CHOICE and setup.is_better_turned():
            turned, inner = 1, setup.turned.carry
        own, before = setup.turned if turned else setup.given, inner.t
        inner, state = self.method.steps(own.setup, [inner], before + until - t)
        t += inner.t - before
        return Carry(t, turned, inner), replace(state, t=t, settled=state.settled and t >= CHOICE)

    def may_smooth(self, setup: Setup) -> bool:
        """Whether the method may."""
        return self.method.may_smooth(setup.given.setup)

    def parameters_of(self, setup: Setup) -> Any:
        """Those of the method."""
        return self.method.parameters_of(setup.given.setup)


def advance(method: Method, setup: Any, carry: Any, until: int) -> tuple[Any, State]:
    """The carry and the State of a method at iteration `until`."""
    state = None
    while state is None or carry.t < until:
        carry, state = method.steps(setup, [carry], until)
    return carry, state


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
    """The objective at q plus |z|ᵀ|r| + β‖r‖²/2; ∞ where that is no number."""
    r = residual_of(problem, state)
    worth = float(dot(abs(state.z), abs(r))) + state.beta / 2 * norm(r) ** 2
    found = float(objective(problem, state)) + worth
    return found if np.isfinite(found) else np.inf
