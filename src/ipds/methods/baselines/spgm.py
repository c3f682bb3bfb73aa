"""Variable smoothing: gradient steps on the Moreau envelope, whose parameter shrinks."""

from __future__ import annotations

from typing import NamedTuple

from ..._arrays import Array
from ...problem import Problem
from ...theory.state import State
from ..accelerated.reduced import Arrays, Place, ReducedProblem, evaluate, resmooth, snapshot, without
from ..base import Method, require_positive
from .composite import composite, descend, lipschitz, require_rule, slope, unit

PENALTY, WIDTH = 50.0, 2.0


class Setup(NamedTuple):
    """The reduced problem and its constants."""

    reduced: ReducedProblem
    mu0: float
    lipschitz: float
    """L_f."""
    gain: float
    """‖A‖²/c²."""


class Carry(NamedTuple):
    """Where we are."""

    t: int
    place: Place


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
        self.rule = require_rule("SPGM", rule)
        require_positive("SPGM", mu0=mu0)
        self.mu0 = mu0
        self.name = f"SPGM({rule!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """Solve the constraint for a block; z0 is not used."""
        R = composite(problem, self.name)
        mu0, x = self.mu0, without(x0, R.j)
        if mu0 is None and self.rule == "published":
            weight = slope(problem, R)
            mu0 = 1 / (PENALTY * weight) if weight > 0 else 1.0
        elif mu0 is None:
            mu0 = WIDTH * unit(problem, R, x0)
        return Setup(R, mu0, *lipschitz(R, x)), Carry(0, evaluate(R, x, R.b, mu0).place)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """A gradient step at the smoothing μ_t."""
        R, t = setup.reduced, carry.t + 1
        mu = setup.mu0 * t ** (-1 / 3)
        point = resmooth(R, carry.place, R.b, mu)
        x, prox_points = descend(R, point.x, point.gradient, 1 / (setup.lipschitz + setup.gain / mu))
        new = evaluate(R, x, R.b, mu)
        return Carry(t, new.place), snapshot(t, R, new, prox_points, mu, 0.0, mu)
