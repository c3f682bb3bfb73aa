"""The objective of a state, at a feasible point where there is one."""

from __future__ import annotations

from typing import Any

from ..functions.composed import constant_in
from ..problem import Problem
from .state import State, measured


def objective(problem: Problem, state: State) -> Any:
    """Objective at a feasible point where the problem defines one (`Problem.restore`), else at q itself.

    A float, or a number of the array library.
    """
    return measured(_objective, problem, state)


def size_of(problem: Problem, *values: float) -> float:
    """The largest of |F|, without the constants in F where these make it larger: they make no difference small."""
    constant = sum(constant_in(block.f) for block in problem.blocks)
    return max(min(abs(value), abs(value - constant)) for value in values)


def _objective(problem: Problem, state: State) -> Any:
    j = problem.restorable
    q = state.q
    if j is not None:
        products = list(state.products)
        products[state.last] = None  # that of x, not of x̆
        restored = problem.restore(q, products)
        assert restored is not None
        q = restored
    total: Any = 0.0
    for i, (block, qi) in enumerate(zip(problem.blocks, q, strict=True)):
        if block.f is not None:
            known = None if state.values is None or i == j else state.values[i]
            total = total + (block.f(qi) if known is None else known)
        total = total + (0.0 if block.h.is_set and i != j else block.h(qi))
    return total
