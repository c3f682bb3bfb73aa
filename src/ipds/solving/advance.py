"""From one check to the next: one step after another, or, for JAX, a compiled loop of them.

Steps are pure and their carry has one structure, so what JAX needs is there already: `method.step` is traced once, and
the iterations before the next check run in one call. A step that looks at numbers (a line search, a local Lipschitz
constant) or leaves JAX (SciPy's sparse products) cannot be traced; it runs as it is.
"""

from __future__ import annotations

from typing import Any

from .._arrays import Array, is_jax, is_traced, zeros
from .._arrays.compiling import pure, repeated
from ..methods import Method
from ..problem import Problem
from ..theory.state import State, known_to_jax


class Advance:
    """`advance(held, until)`: (carry, State) after iteration `until`, or any earlier one, from the carry in `held`.

    The carry is taken out of `held`, so that a step can let go of what it does not need any more.
    """

    def __init__(self, problem: Problem, method: Method, setup: Any, z0: Array):
        self._problem, self._method, self._setup = problem, method, setup
        self._like = zeros((0,), z0) if is_jax(z0) else None
        if self._like is not None:
            known_to_jax()

    def __call__(self, held: list[Any], until: int) -> tuple[Any, State]:
        if self._like is None:
            return self._method.steps(self._setup, held, until)
        carry = held.pop()
        arguments = Settings(self._method), self._setup, carry, until - carry.t
        return pure(steps, self._problem, *arguments, like=self._like)


class Settings:
    """A method as a key: two of one type with the same settings take the same steps."""

    def __init__(self, method: Method):
        self.method, self._key = method, (type(method), repr(sorted(vars(method).items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def steps(problem: Problem, settings: Settings, setup: Any, carry: Any, count: Any) -> tuple[Any, State]:
    """`count` steps in what JAX is compiling; one step where it could not."""
    step = settings.method.step
    if is_traced(count):
        carry = repeated(lambda carry: step(setup, carry)[0], carry, count - 1)
    return step(setup, carry)
