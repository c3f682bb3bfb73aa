"""Riemannian ADMM: a fixed penalty, a fixed smoothing, one retraction step per iteration."""

from __future__ import annotations

from typing import NamedTuple

from ..._arrays import Array
from ...problem import Problem
from ...theory.state import State
from ..accelerated.reduced import (
    Arrays,
    ReducedProblem,
    adjoints,
    evaluate,
    snapshot,
    tangent,
    total,
    without,
)
from ..base import Method, require_positive
from .composite import composite, descend, lipschitz, require_gradient, require_rule, slope

GAMMA = 1e-8
"""The authors' smoothing: as good as none."""


class Setup(NamedTuple):
    """The reduced problem and its constants."""

    reduced: ReducedProblem
    beta: float
    gamma: float
    step: float
    """η."""


class Carry(NamedTuple):
    """Where we are."""

    t: int
    x: Arrays
    gradients: tuple[Array | None, ...]
    """∇f_i(x_i)."""
    z: Array
    adjoints_z: Arrays
    """A_iᵀz."""
    adjoints_ahead: Arrays
    """A_iᵀ(z + β(Ax - b)) for the next gradient step."""


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
        self.rule = require_rule("RADMM", rule)
        require_positive("RADMM", beta=beta, gamma=gamma, step=step)
        self.gradient = require_gradient("RADMM", gradient)
        self.beta, self.gamma, self.length = beta, gamma, step
        self.name = f"RADMM({rule!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """Constants of the run."""
        R = composite(problem, self.name)
        x = without(x0, R.j)
        place = evaluate(R, x, R.b, 1.0).place
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
        ahead = z0 + beta * (total(R, place) + R.c * x0[R.j] - R.b)
        at_z, at_ahead = [tuple([op.adjoint(y) for op in R.operators]) for y in (z0, ahead)]
        return Setup(R, beta, gamma, eta), Carry(0, x, place.gradients, z0, at_z, at_ahead)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """A gradient step in x, then x_j and z in closed form."""
        R, beta, gamma, t = setup.reduced, setup.beta, setup.gamma, carry.t + 1
        g = [a if df is None else df + a for df, a in zip(carry.gradients, carry.adjoints_ahead, strict=True)]
        if self.gradient == "riemannian":
            g = [tangent(block, xi, gi) for block, xi, gi in zip(R.blocks, carry.x, g, strict=True)]
        x, prox_points = descend(R, carry.x, tuple(g), setup.step)
        s = gamma + 1 / (beta * R.c**2)
        new = evaluate(R, x, R.b - carry.z / beta, s)
        # z⁺ + β(Ax⁺ - b) = 2z⁺ - z, so what lies ahead needs no further adjoint
        at_z = adjoints(R, new.z, new.adjoints_z)
        at_ahead = tuple([2 * after - before for after, before in zip(at_z, carry.adjoints_z, strict=True)])
        carry = Carry(t, x, new.place.gradients, new.z, at_z, at_ahead)
        return carry, snapshot(t, R, new, prox_points, s, beta, gamma)
