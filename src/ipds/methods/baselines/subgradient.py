"""The subgradient method: Riemannian on manifolds, projected on sets, proximal otherwise."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from ..._arrays import Array, choose, fetch, greatest, magnitude
from ...errors import AssumptionError
from ...problem import Problem
from ...theory.state import State
from ..accelerated.reduced import (
    Arrays,
    Place,
    ReducedProblem,
    block_from_equation,
    evaluate,
    snapshot,
    tangent,
    without,
)
from ..base import Method, require_positive
from .composite import composite, descend, length, require_gradient, require_rule, unit

DECAYS = ("harmonic", "diminishing", "geometric")


class Setup(NamedTuple):
    """The reduced problem and its constants."""

    reduced: ReducedProblem
    width: float
    """(‖A‖²/c²)·‖x_j⁰‖/C_h: the certificate smooths h_j by √(α_t·width)."""
    size: float
    """‖x⁰‖: the unit of normalised steps."""


class Carry(NamedTuple):
    """Where we are."""

    t: int
    place: Place


class Subgradient(Method):
    """Subgradient steps on F(x) = Σ f_i(x_i) + h_i(x_i) + h_j(y(x)), the constraint solved for x_j (`composite`).

        y = (b - Σ A_i x_i)/c,  s ∈ ∂h_j(y)
        g_i = ∇f_i(x_i) - A_iᵀs/c, its tangent part on manifolds
        x_i ← prox_{h_i}(x_i - α_t g_i, α_t)                    (polar retraction on Stiefel, projection on sets)

    A subgradient does not vanish at a solution, so the certificate takes the envelope's gradient for s:
    q_j = prox_{h_j}(y, μ), with μ² = α_t (‖A‖²/c²) ‖x_j⁰‖/C_h between the width of the oscillation and that of x_j.

    Parameters
    ----------
    rule : "published": α_t = step0/t, step0 = 0.05; the paper does not state its steps: 1/t and 0.05 are
        fitted to the curve it shows for randn-1500-500, ρ = 100;
        "tuned": normalised geometric steps, ‖α_t g‖ = step0·‖x⁰‖·ratioᵗ with step0 = 0.6, ratio = 0.995.
    step0, ratio : size and geometric ratio of the steps; default: those of the rule.
    gradient : "riemannian", or "euclidean" for the projected method even on a manifold.
    decay : "harmonic" (1/t), "diminishing" (1/√t, the rule with the O(ε⁻⁴) guarantee) or "geometric" (ratioᵗ, linear
        where F is sharp); default: that of the rule.

    References: Li, Chen, Deng, Qu, Zhu & So, SIOPT 31 (2021); Davis & Drusvyatskiy, SIOPT 29 (2019).
    """

    def __init__(
        self,
        rule: str = "published",
        decay: str | None = None,
        step0: float | None = None,
        ratio: float = 0.995,
        gradient: str = "riemannian",
    ):
        self.rule = require_rule("Subgradient", rule)
        if decay is not None and decay not in DECAYS:
            raise ValueError(f"Subgradient: decay must be one of {list(DECAYS)}, got {decay!r}")
        require_positive("Subgradient", step0=step0)
        if not 0 < ratio < 1:
            raise ValueError(f"Subgradient: ratio must lie in (0, 1), got {ratio}")
        self.gradient = require_gradient("Subgradient", gradient)
        self.decay = decay or ("harmonic" if rule == "published" else "geometric")
        self.step0 = step0 if step0 is not None else (0.05 if rule == "published" else 0.6)
        self.ratio = ratio
        self.name = f"Subgradient({rule!r}, {self.decay!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> tuple[Setup, Carry]:
        """Solve the constraint for a block; z0 is not used."""
        R = composite(problem, self.name)
        try:
            R.h.subgradient(x0[R.j])
        except NotImplementedError as error:
            raise AssumptionError(f"{self.name}: {error}") from None
        x = without(x0, R.j)
        gain = sum(op.norm() ** 2 for op in R.operators) / R.c**2
        width = unit(problem, R, x0) * (gain or 1.0)  # A = 0 where f alone moves the block
        return Setup(R, width, length(x) or 1.0), Carry(0, evaluate(R, x, R.b, width).place)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One subgradient step."""
        R, place, t = setup.reduced, carry.place, carry.t + 1
        s = R.h.subgradient(block_from_equation(R, place))
        g = []
        for block, op, xi, df in zip(R.blocks, R.operators, place.x, place.gradients, strict=True):
            adjoint_z = op.adjoint(s) * (-1 / R.c)
            gi = adjoint_z if df is None else df + adjoint_z
            g.append(tangent(block, xi, gi) if self.gradient == "riemannian" else gi)
        alpha = self._length(t, setup.size, g)
        x, prox_points = descend(R, place.x, tuple(g), alpha)
        mu = alpha**0.5 * setup.width**0.5  # the product itself may underflow
        new = evaluate(R, x, R.b, mu)
        return Carry(t, new.place), snapshot(t, R, new, prox_points, mu, 0.0, mu)

    def _length(self, t: int, unit: float, g: list[Array]) -> float:
        """α_t."""
        factor = {"harmonic": 1 / t, "diminishing": t**-0.5, "geometric": self.ratio**t}[self.decay]
        if self.rule == "published":
            return self.step0 * factor
        sizes = fetch([magnitude(gi) for gi in g])
        top = reduce(greatest, sizes, 0.0)
        top = choose(top > 0, top, 1.0)  # squares of the sizes themselves may overflow
        slope = sum([(size / top) ** 2 for size in sizes]) ** 0.5
        return self.step0 * factor * unit / choose(slope > 0, top * slope, 1.0)
