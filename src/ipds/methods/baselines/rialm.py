"""Riemannian augmented Lagrangian with Barzilai-Borwein steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._arrays import Array, dot, norm
from ...problem import Problem
from ..accelerated.reduction import Arrays, Point, Reduction, evaluate, resmooth, total, without
from ..accelerated.spectral import Reference, barzilai_borwein
from ..base import Method, State, checked
from .composite import assemble, composite, descend, length, lipschitz, slope, square

ARMIJO, SHRINK, TRIES = 1e-6, 0.2, 3
TIGHTEN, LAG = 0.9, 0.8
"""Inner tolerance per success; β grows when a dual step leaves more than LAG of the residual."""
INNER = 10
CEILING = 1e3
"""β at most, in units of its first value."""


class Memory(NamedTuple):
    """Where we are on the augmented Lagrangian with x_j eliminated."""

    reduction: Reduction
    point: Point
    z: Array
    """Multiplier of the augmented Lagrangian; the point's own is the next one."""
    beta: float
    first: float
    """β⁰."""
    alpha: float
    reference: Reference
    tolerance: float
    allowance: int
    """Inner steps of the current subproblem at most."""
    inner: int = 0
    feasibility: float = math.inf


class RiemannianALM(Method):
    """Manifold inexact augmented Lagrangian (MIALM): x_j eliminated, the others moved along Riemannian gradients.

        Φ(x) = Σ f_i(x_i) + min_{x_j} h_j(x_j) + ⟨z, Ax - b⟩ + β/2‖Ax - b‖²     (`reduction`, with μ = 0)
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
        checked("RiemannianALM", beta0=beta0, multiple=multiple)
        if not (math.isfinite(growth) and growth >= 1):
            raise ValueError(f"RiemannianALM: growth must be at least 1, got {growth}")
        self.beta0, self.growth, self.multiple = beta0, growth, multiple
        self.name = "RiemannianALM()"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """First penalty, step and tolerance."""
        R = composite(problem, self.name, x0, on_manifold=True)
        x = without(x0, R.j)
        L, gain = lipschitz(R, x)
        squared = gain * R.c**2
        beta = (
            self.beta0 or max(L / squared if squared > 0 else 0.0, self.multiple * slope(problem, R)) or 1.0
        )
        s = 1 / (beta * R.c**2)
        p = evaluate(R, x, R.b - z0 / beta, s)
        alpha = 1 / (L + beta * squared)
        memory = Memory(R, p, z0, beta, beta, alpha, Reference(float(p.value)), 0.2 * length(p.g), INNER)
        return assemble(0, R, p, [(xi, 1.0) for xi in x], s, beta, 0.0, memory)

    def step(self, problem: Problem, state: State) -> State:
        """One inner step; where the subproblem is solved well enough, the dual step after it."""
        m: Memory = state.memory
        R, p, alpha = m.reduction, m.point, m.alpha
        s = 1 / (m.beta * R.c**2)
        target = R.b - m.z / m.beta
        slope_squared = square(p.g)
        for attempt in range(TRIES):
            x, points = descend(R, p.x, p.g, alpha)
            q = evaluate(R, x, target, s)
            value = float(q.value)
            if value <= m.reference.value - ARMIJO * alpha * slope_squared or attempt == TRIES - 1:
                break
            alpha *= SHRINK
        moves = [a - b for a, b in zip(q.x, p.x, strict=True)]
        changes = [a - b for a, b in zip(q.g, p.g, strict=True)]
        crossed = sum([float(dot(a, b)) for a, b in zip(moves, changes, strict=True)])
        following = barzilai_borwein(square(moves), crossed, square(changes), long=m.inner % 2 == 1) or alpha
        following = min(max(following, 1e-6 * s), 1e6 * s)
        m = m._replace(point=q, alpha=following, reference=m.reference.seen(value), inner=m.inner + 1)
        solved = length(q.g) <= m.tolerance
        if solved or m.inner >= m.allowance:
            m = self._dual_step(m, solved)
        return assemble(state.t + 1, R, q, points, s, state.memory.beta, 0.0, m)

    def _dual_step(self, m: Memory, solved: bool) -> Memory:
        """z ← the point's multiplier; β grows if the constraint lags; Φ anew without any product A_i x_i."""
        R, p = m.reduction, m.point
        feasibility = norm(total(R, p) + R.c * p.x_breve - R.b)
        lags = feasibility > LAG * m.feasibility
        beta = min(self.growth * m.beta, CEILING * m.first) if lags else m.beta
        q = resmooth(R, p, R.b - p.z / beta, 1 / (beta * R.c**2))
        return m._replace(
            point=q,
            z=p.z,
            beta=beta,
            reference=Reference(float(q.value)),
            tolerance=m.tolerance * TIGHTEN if solved else m.tolerance,
            allowance=INNER if solved else 2 * INNER,
            inner=0,
            feasibility=feasibility,
        )
