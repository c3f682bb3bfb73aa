"""Variable smoothing: gradient steps on the Moreau envelope, whose parameter shrinks."""

from __future__ import annotations

from typing import NamedTuple

from ..._arrays import Array
from ...problem import Problem
from ..accelerated.reduction import Arrays, Point, Reduction, evaluate, resmooth, without
from ..base import Method, State, checked
from .composite import assemble, checked_rule, composite, descend, lipschitz, slope, unit

PENALTY, WIDTH = 50.0, 2.0


class Memory(NamedTuple):
    """The reduced problem, where we are on it, and its constants."""

    reduction: Reduction
    point: Point
    mu0: float
    lipschitz: float
    gain: float


class SPGM(Method):
    """Smoothing proximal gradient method (variable smoothing) on F_μ of `composite`.

        μ_t = μ0 t^(-1/3)
        d = ∇h_μ(y(x)),  g_i = ∇f_i(x_i) - A_iᵀd/c, its tangent part on manifolds
        x_i ← prox_{h_i}(x_i - γ_t g_i, γ_t),  γ_t = 1/(L_f + ‖A‖²/(c²μ_t))

    Parameters
    ----------
    rule : "published": μ0 = 1/(50ρ), ρ = C_h/√size, fitted to the curve the paper shows for randn-1500-500,
        ρ = 100 (μ0 is not stated there);
        "tuned": μ0 = 2‖x_j⁰‖/C_h, twice the smoothing at which the kinks of h_j are as wide as x_j.
    mu0 : the first smoothing; default: that of the rule.

    Reference: Böhm & Wright, *Variable smoothing for weakly convex composite functions*, JOTA 188 (2021).
    """

    def __init__(self, rule: str = "published", mu0: float | None = None):
        self.rule = checked_rule("SPGM", rule)
        checked("SPGM", mu0=mu0)
        self.mu0 = mu0
        self.name = f"SPGM({rule!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """Solve the constraint for a block; z0 is not used."""
        R = composite(problem, self.name, x0)
        mu0, x = self.mu0, without(x0, R.j)
        if mu0 is None and self.rule == "published":
            weight = slope(problem, R)
            mu0 = 1 / (PENALTY * weight) if weight > 0 else 1.0
        elif mu0 is None:
            mu0 = WIDTH * unit(problem, R, x0)
        p = evaluate(R, x, R.b, mu0)
        memory = Memory(R, p, mu0, *lipschitz(R, x))
        return assemble(0, R, p, [(xi, 1.0) for xi in x], mu0, 0.0, mu0, memory)

    def step(self, problem: Problem, state: State) -> State:
        """A gradient step at the smoothing μ_t."""
        m: Memory = state.memory
        R, p, t = m.reduction, m.point, state.t + 1
        mu = m.mu0 * t ** (-1 / 3)
        p = resmooth(R, p, R.b, mu)
        x, points = descend(R, p.x, p.g, 1 / (m.lipschitz + m.gain / mu))
        q = evaluate(R, x, R.b, mu)
        return assemble(t, R, q, points, mu, 0.0, mu, m._replace(point=q))
