"""The public snapshot of a method after an iteration: what a certificate needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .._arrays import Array, is_jax, norm
from .._arrays.compiling import pure, register_record
from ..operators import Identity, Operator
from ..problem import Problem, sum_products


@dataclass(frozen=True, slots=True)
class State:
    """What is known after iteration t.

    The approximate critical point is (x_1..x_{n-1}, x̆_n, z), not (x, z): see `q`.
    """

    t: int
    x: tuple[Array, ...]
    x_breve: Array
    z: Array
    beta: float
    mu: float
    products: tuple[Array | None, ...]
    """A_i x_i; None where not at hand."""
    prox_points: tuple[tuple[Array | None, float], ...]
    """(v_i, s_i) of the last prox of each block: (v_i - q_i)/s_i ∈ ∂h_i(q_i) is what the certificate needs.

    v_i may be None on a manifold, and where z was made so that -A_iᵀz is that subgradient."""
    last: int = -1
    """Index of the smoothed block, whose entry of the critical point is x̆."""
    gradients: tuple[Array | None, ...] | None = None
    """∇f_i(q_i), where the method has them anyway."""
    adjoints: tuple[Array | None, ...] | None = None
    """A_iᵀ z, where the method has them anyway."""
    values: tuple[float | None, ...] | None = None
    """f_i(q_i), where the method has them anyway."""
    settled: bool = True
    """False while the method means to go on from here even if the point is certified."""
    transient: bool = False
    """True while the point is smoothed on purpose, and not meant as an answer."""
    exhausted: bool = False
    """True where the penalty has long been at its ceiling, and the equation comes no nearer to holding."""
    moved: float = -math.inf
    """‖z⁺ - z‖ + ‖β(x⁺ - x)‖, where the paper's stopping rule was asked for: the run ends where it is at most `tol`."""
    due: bool = False
    """True where a check is due after this step whatever `check_every` says: the step was a long one."""

    @property
    def q(self) -> tuple[Array, ...]:
        """The approximate critical point (x_1..x_{n-1}, x̆_n)."""
        j = self.last % len(self.x)
        return (*self.x[:j], self.x_breve, *self.x[j + 1 :])


def start_of(problem: Problem, x0: tuple[Array, ...], z0: Array) -> State:
    """The State at t = 0: there are no prox points yet, so `certify` refuses it."""
    pairs = zip(problem.operators, x0, strict=True)
    products = tuple([None if isinstance(op, Identity) else op.apply(x) for op, x in pairs])
    return State(0, x0, x0[-1], z0, 0.0, 0.0, products, ())


def product_of(op: Operator, x: Array, known: Array | None) -> Array:
    """A x: the one that is known, where it is."""
    return op.apply(x) if known is None else known


def residual_of(problem: Problem, state: State) -> Array:
    """Σ A_i x_i - b from the products at hand."""
    return sum_products(list(map(product_of, problem.operators, state.x, state.products)), problem.b)


def measured(function: Callable[[Problem, State], Any], problem: Problem, state: State) -> Any:
    """function(problem, state), compiled where the arrays are JAX's: `function` branches on no number of the state."""
    if is_jax(state.z):
        known_to_jax()
    return pure(function, problem, state, like=state.z)


@lru_cache(maxsize=1)
def known_to_jax() -> None:
    """Let JAX take States apart."""
    register_record(State, fixed=("last", "settled", "transient", "exhausted", "due"))


def prox_step(x: Array, s: Array, usual: float = 0.0) -> float:
    """A step at which x and step·s are of one size; where s = 0, a force of `usual` size counts for it."""
    size, length = norm(x), norm(s) or usual
    return size / length if size > 0 and length > 0 else 1.0
