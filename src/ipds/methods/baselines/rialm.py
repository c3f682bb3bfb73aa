"""Riemannian augmented Lagrangian with Barzilai-Borwein steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._arrays import Array, dot, norm
from ...problem import Problem
from ...theory.state import State
from ..accelerated.reduced import (
    Arrays,
    Place,
    Point,
    ReducedProblem,
    evaluate,
    resmooth,
    snapshot,
    total,
    without,
)
from ..accelerated.search import Reference, barzilai_borwein
from ..base import Method, require_positive
from .composite import composite, descend, length, lipschitz, slope, square

ARMIJO, SHRINK, TRIES = 1e-6, 0.2, 3
TIGHTEN, LAG = 0.9, 0.8
"""Inner tolerance per success; β grows when a dual step leaves more than LAG of the residual."""
INNER = 10
CEILING = 1e3
"""β at most, in units of its first value."""


class Setup(NamedTuple):
    """The problem with x_j eliminated, and β⁰."""

    reduced: ReducedProblem
    beta0: float


class Carry(NamedTuple):
    """Where we are on the augmented Lagrangian with x_j eliminated."""

    t: int
    place: Place
    gradient: Arrays
    """∇Φ there."""
    z: Array
    beta: float
    alpha: float
    reference: Reference
    tolerance: float
    allowance: int
    """Inner steps of the current subproblem at most."""
    inner: int = 0
    feasibility: float = math.inf


class RiemannianALM(Method):
    """Manifold inexact augmented Lagrangian (MIALM): x_j eliminated, the others moved along Riemannian gradients.

        Φ(x) = Σ f_i(x_i) + min_{x_j} h_j(x_j) + ⟨z, Ax - b⟩ + β/2‖Ax - b‖²     (`reduced`, with μ = 0)
        x_i ← retraction of x_i - α grad_iΦ, α of Barzilai-Borwein length, nonmonotone search
        once ‖grad Φ‖ is small or the steps allowed are spent:
            z ← z + β(Ax - b);  β ← growth·β if ‖Ax - b‖ shrank by less than a fifth

    An iteration is one inner step.

    Parameters
    ----------
    beta0 : first penalty; default: max(L/‖A‖², multiple·ρ), ρ = C_h/√size.
    growth : factor of β.
    multiple : see beta0.

    References: Deng & Peng, *A manifold inexact augmented Lagrangian method for nonsmooth optimization on Riemannian
    submanifolds in Euclidean space*, IMA J. Numer. Anal. 43 (2023); Wen & Yin, Math. Prog. 142 (2013) for the steps.
    """

    def __init__(self, beta0: float | None = None, growth: float = 1.05, multiple: float = 10.0):
        require_positive("RiemannianALM", beta0=beta0, multiple=multiple)
        if not (math.isfinite(growth) and growth >= 1):
            raise ValueError(f"RiemannianALM: growth must be at least 1, got {growth}")
        self.beta0, self.growth, self.multiple = beta0, growth, multiple
        self.name = "RiemannianALM()"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """First penalty, step and tolerance."""
        R = composite(problem, self.name, on_manifold=True)
        x = without(x0, R.j)
        L, gain = lipschitz(R, x)
        squared = gain * R.c**2
        beta = (
            self.beta0 or max(L / squared if squared > 0 else 0.0, self.multiple * slope(problem, R)) or 1.0
        )
        p = evaluate(R, x, R.b - z0 / beta, 1 / (beta * R.c**2))
        alpha, tolerance = 1 / (L + beta * squared), 0.2 * length(p.gradient)
        reference = Reference(float(p.value))
        return Setup(R, beta), Carry(0, p.place, p.gradient, z0, beta, alpha, reference, tolerance, INNER)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One inner step; where the subproblem is solved well enough, the dual step after it."""
        R, alpha, x_old, g_old, t = setup.reduced, carry.alpha, carry.place.x, carry.gradient, carry.t + 1
        s, target = 1 / (carry.beta * R.c**2), R.b - carry.z / carry.beta
        slope_squared = square(g_old)
        for attempt in range(TRIES):
            x, prox_points = descend(R, x_old, g_old, alpha)
            p = evaluate(R, x, target, s)
            value = float(p.value)
            if value <= carry.reference.value - ARMIJO * alpha * slope_squared or attempt == TRIES - 1:
                break
            alpha *= SHRINK
        moves = [a - b for a, b in zip(p.x, x_old, strict=True)]
        changes = [a - b for a, b in zip(p.gradient, g_old, strict=True)]
        crossed = sum([float(dot(a, b)) for a, b in zip(moves, changes, strict=True)])
        odd = carry.inner % 2 == 1
        following = barzilai_borwein(square(moves), crossed, square(changes), long=odd) or alpha
        following = min(max(following, 1e-6 * s), 1e6 * s)
        state = snapshot(t, R, p, prox_points, s, carry.beta, 0.0)
        carry = carry._replace(
            t=t,
            place=p.place,
            gradient=p.gradient,
            alpha=following,
            reference=carry.reference.after(value),
            inner=carry.inner + 1,
        )
        solved = length(p.gradient) <= carry.tolerance
        if solved or carry.inner >= carry.allowance:
            carry = self._dual_step(setup, carry, p, solved)
        return carry, state

    def _dual_step(self, setup: Setup, carry: Carry, point: Point, solved: bool) -> Carry:
        """z ← the point's multiplier; β grows if the constraint lags; Φ anew without any product A_i x_i."""
        R, place = setup.reduced, carry.place
        feasibility = norm(total(R, place) + R.c * point.x_breve - R.b)
        lags = feasibility > LAG * carry.feasibility
        beta = min(self.growth * carry.beta, CEILING * setup.beta0) if lags else carry.beta
        p = resmooth(R, place, R.b - point.z / beta, 1 / (beta * R.c**2))
        return carry._replace(
            gradient=p.gradient,
            z=point.z,
            beta=beta,
            reference=Reference(float(p.value)),
            tolerance=carry.tolerance * TIGHTEN if solved else carry.tolerance,
            allowance=INNER if solved else 2 * INNER,
            inner=0,
            feasibility=feasibility,
        )
