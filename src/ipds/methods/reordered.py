"""Any method with another block last: Algorithm 1 asks much of the last block, and the order is only a convention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from .._arrays import Array
from ..problem import Problem
from ..theory.state import State
from .base import Method


class Setup(NamedTuple):
    """The reordered problem."""

    inner: Any
    """The setup of the method there."""
    order: list[int]
    """Block k there is block order[k] of the caller's."""


class Reordered(Method):
    """`method` on the problem with block `last` moved to the end; its States come back in the caller's order."""

    def __init__(self, method: Method, last: int):
        self.method, self.last = method, last
        self.presolves, self.announces = method.presolves, method.announces
        self.name = f"{method.name} with block {last + 1} last"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Any]:
        """That of the method on the reordered problem."""
        order = [*(i for i in range(len(x0)) if i != self.last), self.last]
        setup, carry = self.method.init(problem.in_order(order), tuple(x0[i] for i in order), z0)
        return Setup(setup, order), carry

    def step(self, setup: Setup, carry: Any) -> tuple[Any, State]:
        """One iteration on the reordered problem."""
        carry, state = self.method.step(setup.inner, carry)
        return carry, to_order_of_caller(state, setup.order)

    def steps(self, setup: Setup, held: list[Any], until: int) -> tuple[Any, State]:
        """Those of the method."""
        carry, state = self.method.steps(setup.inner, held, until)
        return carry, to_order_of_caller(state, setup.order)

    def may_smooth(self, setup: Setup) -> bool:
        """Whether the method may."""
        return self.method.may_smooth(setup.inner)

    def parameters_of(self, setup: Setup) -> Any:
        """Those of the method."""
        return self.method.parameters_of(setup.inner)


def to_order_of_caller(state: State, order: list[int]) -> State:
    """The State with block k in place order[k]."""
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
    )
