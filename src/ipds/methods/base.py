"""What a method is: `init` makes the first State, `step` makes the next. Both are pure; the loop is elsewhere."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from .._arrays import Array, dot, norm, precision
from ..errors import AssumptionError
from ..functions import Smooth
from ..problem import Problem
from ..theory.state import State


class Method(ABC):
    """A solver of `Problem`s, described by its settings alone."""

    name: str

    @abstractmethod
    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> State:
        """State at t = 0; raises `AssumptionError` when the method cannot treat the problem."""

    @abstractmethod
    def step(self, problem: Problem, state: State) -> State:
        """One iteration."""

    def stride(self, problem: Problem, state: State, until: int) -> State:
        """One iteration or more, up to `until`: for methods that take many at once by themselves."""
        return self.step(problem, state)

    def lighter(self, state: State) -> State:
        """The State with less of what its next step does not need; itself where there is nothing more to drop.

        A solve asks again and again before it goes on, and holds only the last answer. Every State that comes out here
        leads to the same next one; it may do a part of the way there.
        """
        return state

    def may_smooth(self, state: State) -> bool:
        """Whether a later State may be transient."""
        return False

    def parameters_of(self, state: State) -> Any:
        """The parameters in force, for the record."""
        return None


def checked(who: str, **options: float | None) -> None:
    """Refuse numbers that are not positive and finite; None stands for the default."""
    for name, value in options.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ValueError(f"{who}: {name} must be positive and finite, got {value}")


def start(problem: Problem, x0: tuple[Array, ...], z0: Array, beta: float, mu: float, memory: Any) -> State:
    """The State at t = 0, its products computed."""
    products = tuple(op.apply(xi) for op, xi in zip(problem.operators, x0, strict=True))
    points = tuple((xi, 1.0) for xi in x0)
    return State(0, x0, x0[-1], z0, beta, mu, products, points, memory=memory)


def lipschitz_at(f: Smooth | None, x: Array) -> tuple[float, bool]:
    """(L, whether it is local): the constant that f states, or the curvature at x along the gradient."""
    if f is None:
        return 0.0, False
    if f.lipschitz is not None:
        return float(f.lipschitz), False
    gradient = f.grad(x)
    direction = gradient if norm(gradient) > 0 else gradient + 1.0
    # far enough for a difference of gradients to rise above rounding
    step = max(1e-6, 4 * math.sqrt(precision(x))) * (norm(x) or 1.0) / norm(direction)
    return norm(f.grad(x - step * direction) - gradient) / (step * norm(direction)), True


def gradient_of(f: Smooth | None, x: Array, *, with_value: bool) -> tuple[float, Array | None]:
    """(f(x) where asked for, ∇f(x)); (0, None) for no f."""
    if f is None:
        return 0.0, None
    return f.value_and_grad(x) if with_value else (0.0, f.grad(x))


def size_of_block(problem: Problem, j: int, x0: tuple[Array, ...]) -> float:
    """A norm typical of x_j: that of its start, or, where that is zero or rounding, what the constraint asks of it."""
    others = [
        norm(op.apply(xi)) for i, (op, xi) in enumerate(zip(problem.operators, x0, strict=True)) if i != j
    ]
    asked = max(problem.b_norm, *others, 0.0) / problem.operators[j].norm()
    size = norm(x0[j])
    return size if size > 100 * precision(x0[j]) * asked else asked


def majorised(f: Any, x: Array, new: Array, value: float, gradient: Array, lipschitz: float) -> bool:
    """f(x⁺) ≤ f(x) + ⟨∇f(x), x⁺ - x⟩ + L/2‖x⁺ - x‖², up to rounding."""
    change = new - x
    square = float(dot(change, change))
    if not math.isfinite(square) or not math.isfinite(lipschitz):
        return True  # nothing to find any more: the loop reports the divergence
    excess = float(f(new)) - value - float(dot(gradient, change)) - lipschitz / 2 * square
    return excess <= max(1e-12, 50 * precision(x)) * abs(value) or square == 0.0


def require_last_block(problem: Problem) -> None:
    """Refuse what no parameter choice can repair: a nonconvex h_n."""
    name, block = problem.names[-1], problem.blocks[-1]
    if not block.h.is_convex:
        remedy = "move a block with a convex Lipschitz h (e.g. L1) to the end"
        if not any(other.h.is_convex for other in problem.blocks):
            remedy = (
                "no h is convex: add a last block for the gap of the equation, Block(h=L1(weight), A=1.0)"
            )
        raise AssumptionError(
            f"block {name!r} is last, so its h must be convex, but {block.h!r} is not; {remedy}"
        )
