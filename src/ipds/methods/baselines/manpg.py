"""Manifold proximal gradient: a prox-gradient step in the tangent space, then a retraction."""

from __future__ import annotations

from typing import NamedTuple

from ..._arrays import Array, dot
from ...deadline import raise_if_late
from ...errors import AssumptionError
from ...functions import Nonsmooth, Precomposed, Stiefel
from ...operators import Identity
from ...problem import Problem
from ...theory.state import State
from ..accelerated.reduced import Arrays, ReducedProblem, insert, value_and_gradient, without
from ..base import Method, require_positive
from .composite import composite, lipschitz, require_rule, unit
from .tangent_newton import solve_tangent

HALVINGS = 14
ADAPT = 1.01


class Setup(NamedTuple):
    """The problem as one function of X."""

    reduced: ReducedProblem
    h: Nonsmooth
    """X ↦ h_j((b - aX)/c)."""
    a: float
    step0: float


class Carry(NamedTuple):
    """Where we are."""

    t: int
    X: Array
    value: float
    """F(X)."""
    gradient: Array | None
    """∇f(X)."""
    W: Array
    """Multiplier of the last subproblem: the start of the next."""
    step: float


class ManPG(Method):
    """Manifold proximal gradient on F(X) = f(X) + h(X), XᵀX = I, where h(X) = h_j((b - aX)/c).

        D = argmin ⟨∇f(X), D⟩ + ‖D‖²/(2t) + h(X + D) over the tangent space at X     (semismooth Newton)
        X ← retraction of X + αD, α halved from 1 until F falls by α‖D‖²/(2t)

    Parameters
    ----------
    adaptive : ManPG-Ada: t ← 1.01t after a full step, t ← max(t⁰, t/1.01) after a shortened one.
    rule : "published": t⁰ = 1/L; "tuned": t⁰ = min(1/L, ‖x_j⁰‖/C_h), for weights of h far above L.
    step : t⁰.

    Reference: Chen, Ma, So & Zhang, *Proximal gradient method for nonsmooth optimization over the Stiefel manifold*,
    SIOPT 30 (2020).
    """

    def __init__(self, adaptive: bool = True, rule: str = "tuned", step: float | None = None):
        require_positive("ManPG", step=step)
        self.adaptive, self.rule, self.step0 = adaptive, require_rule("ManPG", rule), step
        self.name = f"ManPG(adaptive={adaptive})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """h as a function of X; z0 is not used."""
        R = composite(problem, self.name, on_manifold=True)
        op = R.operators[0]
        if len(R.blocks) != 1 or not isinstance(R.blocks[0].h, Stiefel):
            raise AssumptionError(f"{self.name} needs two blocks, one of them with h = Stiefel()")
        if not isinstance(op, Identity) or op.scale == 0:
            raise AssumptionError(f"{self.name} needs A = a·I on the Stiefel block too; use RADMM for h(AX)")
        h = Precomposed(R.h, -op.scale / R.c, R.b / R.c)
        X = without(x0, R.j)[0]
        L, _ = lipschitz(R, (X,))
        width = unit(problem, R, x0) * (R.c / op.scale) ** 2
        published = 1 / L if L > 0 else width
        step0 = self.step0 or (published if self.rule == "published" else min(published, width))
        f, gradient = value_and_gradient(R.blocks[0].f, X)
        return Setup(R, h, op.scale, step0), Carry(0, X, float(f + h(X)), gradient, 0.0 * (X.T @ X), step0)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """The subproblem, the search along its solution, the retraction."""
        block, h, X, step = setup.reduced.blocks[0], setup.h, carry.X, carry.step
        B = X if carry.gradient is None else X - step * carry.gradient
        found = solve_tangent(h, X, B, step, carry.W, 1e-8)
        D = found.Z - X
        decrease = float(dot(D, D)) / (2 * step)
        alpha = 1.0
        for _ in range(HALVINGS):
            new = block.h.prox(X + alpha * D, 1.0)
            f, gradient = value_and_gradient(block.f, new)
            value = float(f + h(new))
            if value <= carry.value - alpha * decrease:
                break
            raise_if_late()
            alpha *= 0.5
        if value > carry.value:  # nothing gained at the shortest step: stay, with a subproblem solved anew
            new, f, gradient, value = X, carry.value - h(X), carry.gradient, carry.value
        following = step
        if self.adaptive:
            following = step * ADAPT if alpha == 1.0 else max(setup.step0, step / ADAPT)
        # the next multiplier starts from this one, in units of the next step
        carry = Carry(carry.t + 1, new, value, gradient, found.W * (following / step), following)
        return carry, _snapshot(setup, carry, found.Z, found.V, f, step)


def _snapshot(setup: Setup, carry: Carry, Z: Array, V: Array, f: float, step: float) -> State:
    """The State at X: q_j = (b - aZ)/c = prox_{h_j}((b - aV)/c, (a/c)²·step) and z = -d/c with its prox residual d."""
    R, a, X = setup.reduced, setup.a, carry.X
    u, q = (R.b - a * V) / R.c, (R.b - a * Z) / R.c
    s = (a / R.c) ** 2 * step
    z = (q - u) / (R.c * s)
    blocks, products = insert((X,), R.j, q), insert((a * X,), R.j, None)
    prox_points = insert(((X, 1.0),), R.j, (u, s))
    if R.moved is not None:  # f_j was counted to X: what is known of f is not what the problem states
        z = z - R.moved.grad((R.b - a * X) / R.c) / R.c
        return State(carry.t, blocks, q, z, 0.0, step, products, prox_points, last=R.j)
    gradients, values = insert((carry.gradient,), R.j, None), insert((f,), R.j, 0.0)
    return State(
        carry.t, blocks, q, z, 0.0, step, products, prox_points, last=R.j, gradients=gradients, values=values
    )
