"""What a method is: `init` says what is fixed and what moves, `step` makes one iteration. The loop is elsewhere.

setup, carry = method.init(problem, x0, z0)
carry, state = method.step(setup, carry)          # again and again
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .._abstract import Abstract
from .._arrays import Array, dot, fetch, magnitude, norm, precision
from ..errors import AssumptionError
from ..functions import Smooth
from ..operators import Identity, Operator
from ..problem import Problem
from ..theory.state import State, product_of

POWERS = 4
"""Products with ∇²f that tell about how much a quadratic f bends at most."""


class Method(metaclass=Abstract):
    """A solver of `Problem`s, described by its settings alone."""

    name: str
    presolves: bool = False
    """Whether `solve` may rewrite the problem for it (`ipds.presolve`); else it is given what the caller stated."""
    why: str = ""
    """Why "auto" has chosen it, in words."""
    announces: bool = False
    """Whether its States say which of them are worth a check (`State.due`): the first one is not, unless it says so."""

    def chooses_units(self, problem: Problem) -> bool:
        """Whether it chooses units for this canonical problem itself: then `solve` does not change them first."""
        return False

    @abstractmethod
    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Any, Any]:
        """(setup, carry) of a run from (x0, z0); raises `AssumptionError` when the method cannot treat the problem.

        setup : fixed for the run and made anew when a run is resumed: the problem, constants, factorisations.
        carry : a NamedTuple, all that goes from one iteration to the next: arrays, numbers, and tuples or NamedTuples
            of such, with a field `t`, the number of iterations done. Its structure, shapes and dtypes never change
            (a checkpoint names its entries, a compiled loop carries them).
        """

    @abstractmethod
    def step(self, setup: Any, carry: Any) -> tuple[Any, State]:
        """One iteration: the next carry, and the State that a certificate needs. Pure: `carry` is left as it is."""

    def steps(self, setup: Any, held: list[Any], until: int) -> tuple[Any, State]:
        """One iteration or several, to iteration `until` at most, and the State after the last of them.

        A method that knows which States are worth a check need not make the others. The carry is taken out of `held`:
        nobody holds it while a step runs, which lets go of what it does not need any more.
        """
        return self.step(setup, held.pop())

    def may_smooth(self, setup: Any) -> bool:
        """Whether a later State may be transient."""
        return False

    def parameters_of(self, setup: Any) -> Any:
        """The parameters in force, for the record."""
        return None


def require_positive(who: str, **options: float | None) -> None:
    """Refuse numbers that are not positive and finite; None stands for the default."""
    for name, value in options.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ValueError(f"{who}: {name} must be positive and finite, got {value}")


def product_unless_identity(op: Operator, x: Array) -> Array | None:
    """A x; None where A = c·I: such a product takes less time than its memory is worth."""
    return None if isinstance(op, Identity) else op.apply(x)


def lipschitz_at(f: Smooth | None, x: Array, gradient: Array | None = None) -> tuple[float, bool]:
    """(L, whether it is local): the constant that f states, or the curvature at x along the `gradient`.

    That is asked of f where it is not known.
    """
    if f is None:
        return 0.0, False
    if f.lipschitz is not None:
        return float(f.lipschitz), False
    gradient = f.grad(x) if gradient is None else gradient
    direction = gradient if norm(gradient) > 0 else gradient + 1.0
    # far enough for a difference of gradients to rise above rounding
    step = max(1e-6, 4 * math.sqrt(precision(x))) * (norm(x) or 1.0) / norm(direction)
    return norm(f.grad(x - step * direction) - gradient) / (step * norm(direction)), True


def is_lipschitz(f: Smooth) -> bool:
    """Whether ∇f is known to have a global Lipschitz constant: that of a quadratic f is not made to tell."""
    return f.is_quadratic or f.lipschitz is not None


def bend_of(f: Smooth | None, x: Array, gradient: Array | None = None) -> float:
    """The curvature of f for first lengths and weights, which need no bound: that may take a decomposition.

    Of a convex quadratic f that does not state it, about the largest, from below, by `POWERS` steps from its gradient;
    of others as `lipschitz_at`.
    """
    if f is None or not (f.is_quadratic and f.is_convex) or not _computes_lipschitz(f):
        return lipschitz_at(f, x, gradient)[0]
    d = f.grad(x) if gradient is None else gradient
    d = d if norm(d) > 0 else x + 1.0
    for _ in range(POWERS):
        length = norm(d)
        if length == 0:
            break
        d = f.curvature(x, d * (1 / length))
    return norm(d)


def _computes_lipschitz(f: Smooth) -> bool:
    return isinstance(getattr(type(f), "lipschitz", None), property | cached_property)


def gradient_of(f: Smooth | None, x: Array, *, with_value: bool) -> tuple[float, Array | None]:
    """(f(x) where asked for, ∇f(x)); (0, None) for no f."""
    if f is None:
        return 0.0, None
    return f.value_and_grad(x) if with_value else (0.0, f.grad(x))


Products = Sequence[Array | None]
"""A_i x_i, None where it is not known; none of them where the sequence is empty."""


def size_of_block(problem: Problem, j: int, x0: tuple[Array, ...], products: Products = ()) -> float:
    """A norm typical of x_j: that of its start, or, where that is zero or rounding, what the constraint asks of it.

    `products` are the A_i x0_i, where they are known.
    """
    triples = zip(problem.operators, x0, products or (None,) * len(x0), strict=True)
    terms = [product_of(*triple) for i, triple in enumerate(triples) if i != j]
    size, *others = fetch([magnitude(x0[j]), *map(magnitude, terms)])
    asked = max(problem.b_norm, *others, 0.0) / problem.operators[j].norm()
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
