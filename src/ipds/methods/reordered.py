"""Any method with another block last: Algorithm 1 asks much of the last block, and the order is only a convention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arrays import Array
from ..problem import Block, Problem
from .base import Method, State


class Reordered(Method):
    """`method` on the problem with block `last` moved to the end; its States come back in the caller's order."""

    def __init__(self, method: Method, last: int):
        self.method, self.last = method, last
        self.name = f"{method.name} with block {last + 1} last"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> State:
        """The State of the reordered problem at t = 0."""
        inner = Problem([named(problem, i) for i in self._order(len(x0))], problem.b)
        return self._outward(inner, self.method.init(inner, tuple(x0[i] for i in self._order(len(x0))), z0))

    def step(self, problem: Problem, state: State) -> State:
        """One iteration on the reordered problem."""
        inner, inner_state = state.memory
        return self._outward(inner, self.method.step(inner, inner_state))

    def parameters_of(self, state: State) -> Any:
        """Those of the method."""
        return self.method.parameters_of(state.memory[1])

    def _order(self, n: int) -> list[int]:
        return [*(i for i in range(n) if i != self.last), self.last]

    def _outward(self, inner: Problem, state: State) -> State:
        order = self._order(len(state.x))
        place = [order.index(i) for i in range(len(order))]

        def back(items: Any) -> Any:
            return None if items is None else tuple(items[k] for k in place)

        return replace(
            state,
            x=back(state.x),
            products=back(state.products),
            prox_points=back(state.prox_points),
            last=order[state.last],
            gradients=back(state.gradients),
            adjoints=back(state.adjoints),
            values=back(state.values),
            memory=(inner, state),
        )


def named(problem: Problem, i: int) -> Block:
    """Block i under the name the problem calls it by."""
    block = problem.blocks[i]
    return Block(f=block.f, h=block.h, A=problem.operators[i], shape=block.shape, name=problem.names[i])
