"""Manifold proximal gradient: a prox-gradient step in the tangent space, then a retraction."""

from __future__ import annotations

from typing import NamedTuple

from ..._arrays import Array, dot
from ...errors import AssumptionError
from ...functions import Nonsmooth, Precomposed, Stiefel
from ...operators import Identity
from ...problem import Problem
from ..accelerated.reduction import Arrays, Reduction, insert, without
from ..base import Method, State, checked
from ..deadline import look
from .composite import checked_rule, composite, lipschitz, unit
from .tangent_newton import solve_tangent

HALVINGS = 14
ADAPT = 1.01


class Memory(NamedTuple):
    """The problem as one function of X, and where we are on it."""

    reduction: Reduction
    h: Nonsmooth
    """X ↦ h_j((b - aX)/c)."""
    a: float
    value: float
    df: Array | None
    W: Array
    """Multiplier of the last subproblem: the start of the next."""
    t0: float
    t: float


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
        checked("ManPG", step=step)
        self.adaptive, self.rule, self.t0 = adaptive, checked_rule("ManPG", rule), step
        self.name = f"ManPG(adaptive={adaptive})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """h as a function of X; z0 is not used."""
        R = composite(problem, self.name, x0, on_manifold=True)
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
        t0 = self.t0 or (published if self.rule == "published" else min(published, width))
        f, df = R.smooth[0](X)
        memory = Memory(R, h, op.scale, float(f + h(X)), df, 0.0 * (X.T @ X), t0, t0)
        return _state(0, memory, X, X, X, f)

    def step(self, problem: Problem, state: State) -> State:
        """The subproblem, the search along its solution, the retraction."""
        m: Memory = state.memory
        X, R = state.x[1 - m.reduction.j], m.reduction
        B = X if m.df is None else X - m.t * m.df
        found = solve_tangent(m.h, X, B, m.t, m.W, 1e-8)
        D = found.Z - X
        decrease = float(dot(D, D)) / (2 * m.t)
        alpha = 1.0
        for _ in range(HALVINGS):
            new = R.blocks[0].h.prox(X + alpha * D, 1.0)
            f, df = R.smooth[0](new)
            value = float(f + m.h(new))
            if value <= m.value - alpha * decrease:
                break
            look()
            alpha *= 0.5
        if value > m.value:  # nothing gained at the shortest step: stay, with a subproblem solved anew
            new, f, df, value = X, m.value - m.h(X), m.df, m.value
        t = m.t
        if self.adaptive:
            t = t * ADAPT if alpha == 1.0 else max(m.t0, t / ADAPT)
        # the next multiplier starts from this one, in units of the next step
        following = m._replace(value=value, df=df, W=found.W * (t / m.t), t=t)
        return _state(state.t + 1, following, new, found.Z, found.V, f, m.t)


def _state(t: int, m: Memory, X: Array, Z: Array, V: Array, f: float, step: float | None = None) -> State:
    """The State at X: q_j = (b - aZ)/c = prox_{h_j}((b - aV)/c, (a/c)²t) and z = -d/c with its prox residual d."""
    R, step = m.reduction, m.t if step is None else step
    u, q = (R.b - m.a * V) / R.c, (R.b - m.a * Z) / R.c
    s = (m.a / R.c) ** 2 * step
    z = (q - u) / (R.c * s)
    return State(
        t,
        insert((X,), R.j, q),
        q,
        z,
        0.0,
        step,
        insert((m.a * X,), R.j, None),
        insert(((X, 1.0),), R.j, (u, s)),
        last=R.j,
        gradients=insert((m.df,), R.j, None),
        values=insert((f,), R.j, 0.0),
        memory=m,
    )
