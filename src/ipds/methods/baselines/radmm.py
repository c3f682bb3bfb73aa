"""Riemannian ADMM: a fixed penalty, a fixed smoothing, one retraction step per iteration."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..._arrays import Array
from ...problem import Problem
from ..accelerated.reduction import Arrays, Point, Reduction, adjoints, evaluate, tangent, total, without
from ..base import Method, State, checked
from .composite import (
    assemble,
    checked_gradient,
    checked_rule,
    composite,
    descend,
    lipschitz,
    slope,
)

GAMMA = 1e-8
"""The authors' smoothing: as good as none."""


class Memory(NamedTuple):
    """The reduced problem, where we are on it, and its constants."""

    reduction: Reduction
    point: Point
    pulls: Arrays
    """A_iᵀ(z + β(Ax - b)) for the next gradient step."""
    beta: float
    gamma: float
    step: float


class RADMM(Method):
    """Riemannian ADMM on Σ f_i(x_i) + h_j(x_j), Σ A_i x_i + c x_j = b, x_i on manifolds; A_i may be any linear map.

        g_i = ∇f_i(x_i) + A_iᵀ(z + β(Ax - b)), its tangent part on manifolds
        x_i ← prox_{h_i}(x_i - η g_i, η)                         (polar retraction on Stiefel)
        u = (b - Σ A_i x_i - z/β)/c,  s = γ + 1/(βc²)
        x̆_j = prox_{h_j}(u, s),  d = (u - x̆_j)/s,  x_j ← x̆_j + γd
        z ← z + β(Ax - b) = -d/c

    With gradient="euclidean", or where no block is a manifold, it is IPDS with ξ = 0, σ = θ2 = 1, δ = 1/(βγc²) and
    θ1(L + β‖A‖²) = 1/η.

    Parameters
    ----------
    rule : "published": β = 100ρ, ρ = C_h/√size, as the paper states, and η = 1/(6β‖A‖²), a small step fitted to the
        curve it shows for randn-1500-500, ρ = 100 (η is not stated);
        "tuned": β = max(L/‖A‖², 10ρ), η = 1/(L + β‖A‖²).
    beta, gamma, step : penalty β, smoothing γ (default 1e-8), step η.
    gradient : "riemannian" or "euclidean".

    Reference: Li, Ma & Srivastava, *A Riemannian ADMM*, arXiv:2211.02163 (2022).
    """

    def __init__(
        self,
        rule: str = "published",
        beta: float | None = None,
        gamma: float | None = None,
        step: float | None = None,
        gradient: str = "riemannian",
    ):
        self.rule = checked_rule("RADMM", rule)
        checked("RADMM", beta=beta, gamma=gamma, step=step)
        self.gradient = checked_gradient("RADMM", gradient)
        self.beta, self.gamma, self.length = beta, gamma, step
        self.name = f"RADMM({rule!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """Constants of the run; the point is that of z0."""
        R = composite(problem, self.name, x0)
        x = without(x0, R.j)
        p = evaluate(R, x, R.b, 1.0)
        L, gain = lipschitz(R, x)
        norm_squared, weight = gain * R.c**2, slope(problem, R)
        beta = self.beta
        if beta is None:
            bend = L / norm_squared if norm_squared > 0 else 0.0
            beta = 100 * weight if self.rule == "published" else max(bend, 10 * weight)
            beta = beta if beta > 0 else 1.0
        gamma = GAMMA if self.gamma is None else self.gamma
        eta = self.length
        if eta is None:
            curvature = 6 * beta * norm_squared if self.rule == "published" else L + beta * norm_squared
            eta = 1 / (curvature or L or 1.0)  # A = 0 leaves the curvature of f, if any
        ahead = z0 + beta * (total(R, p) + R.c * x0[R.j] - R.b)
        pulls = tuple([op.adjoint(ahead) for op in R.operators])
        s = gamma + 1 / (beta * R.c**2)
        # State 0 shows z0; the prox points of a start are never used
        memory = Memory(R, p, pulls, beta, gamma, eta)
        state = assemble(0, R, p, [(xi, 1.0) for xi in x], s, beta, gamma, memory)
        return _with_start(state, x0, z0)

    def step(self, problem: Problem, state: State) -> State:
        """A gradient step in x, then x_j and z in closed form."""
        m: Memory = state.memory
        R, p = m.reduction, m.point
        g = [pull if df is None else df + pull for df, pull in zip(p.df, m.pulls, strict=True)]
        if self.gradient == "riemannian":
            g = [tangent(block, xi, gi) for block, xi, gi in zip(R.blocks, p.x, g, strict=True)]
        x, points = descend(R, p.x, tuple(g), m.step)
        s = m.gamma + 1 / (m.beta * R.c**2)
        q = evaluate(R, x, R.b - state.z / m.beta, s)
        # z⁺ + β(Ax⁺ - b) = 2z⁺ - z, so the pulls need no further adjoint
        known = (None,) * len(x) if state.adjoints is None else without(state.adjoints, R.j)
        before = adjoints(R, p._replace(z=state.z, pulls=known))
        pulls = tuple([2 * new - old for new, old in zip(adjoints(R, q), before, strict=True)])
        return assemble(state.t + 1, R, q, points, s, m.beta, m.gamma, m._replace(point=q, pulls=pulls))


def _with_start(state: State, x0: Arrays, z0: Array) -> State:
    """The State at t = 0 with the caller's blocks and multiplier."""
    return replace(state, x=x0, x_breve=x0[state.last], z=z0, gradients=None, adjoints=None, values=None)
