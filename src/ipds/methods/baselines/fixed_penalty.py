"""ADMM with a fixed penalty: the relatives in the paper's Table 1 as presets of one method."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

from ..._arrays import Array
from ...errors import AssumptionError
from ...parameters import Condition, Parameters
from ...problem import Problem, sum_products
from ...theory.facts import Facts
from ...theory.state import State
from ...theory.theorems import PRESETS
from ..base import Method, lipschitz_at, require_positive
from ..practical import scale_free_penalty

THETA = 1.01
"""Proximal weight of a linearised block, as in Algorithm 1."""


class OutsideTheoremWarning(UserWarning):
    """A preset was forced on a problem that its theorem does not cover."""


class Constants(NamedTuple):
    """The numbers of a run."""

    beta: float
    sigma: float
    weights: tuple[float, ...]
    """w_i = θ_i(L_i + β‖A_i‖²)."""


class Setup(NamedTuple):
    """What is fixed."""

    problem: Problem
    constants: Constants


class Carry(NamedTuple):
    """What goes from one iteration to the next."""

    t: int
    x: tuple[Array, ...]
    products: tuple[Array, ...]
    """A_i x_i."""
    z: Array


class FixedPenaltyADMM(Method):
    """(Proximal linearised) ADMM with fixed β, the method behind nine theorems.

        for i = 1..n, blocks before i already new:
            g = ∇f_i(x_i) + A_iᵀ(z + β(Σ_j A_j x_j - b))
            x_i ← prox_{h_i}(x_i - g/w_i, 1/w_i),  w_i = θ_i(L_i + β‖A_i‖²)
        z ← z + σβ(Σ_j A_j x_j - b)

    With f_i = 0 and A_iᵀA_i = γI the block step is the exact minimiser (θ_i = 1); otherwise f_i and the penalty are
    linearised, also in presets whose papers minimise exactly. A preset is its theorem's assumptions and its σ;
    outside them it refuses, or warns when forced.

    Parameters
    ----------
    preset : "he-yuan-2012", "li-pong-2015", "yang-2017", "yashtini-2020", "yashtini-2021", "wang-2019", "bot-2020",
        "bot-2019", "huang-2019".
    beta : penalty; default: L_n/(δλ̄) with the δ and θ_n for which the (corrected) decrease inequality of IPDS holds
        at ξ = 0 (h_n = 0 is its special case), 4κL_n/λ_ where none exists; scale-free for he-yuan-2012 and L_n = 0.
    sigma : dual step, in the preset's interval; default: 1, ½ where it must be below 1.
    force : warn instead of refusing outside the theorem.
    """

    def __init__(
        self,
        preset: str = "he-yuan-2012",
        beta: float | None = None,
        sigma: float | None = None,
        force: bool = False,
    ):
        if preset not in PRESETS:
            raise ValueError(f"FixedPenaltyADMM: preset must be one of {list(PRESETS)}, got {preset!r}")
        require_positive("FixedPenaltyADMM", beta=beta, sigma=sigma)
        low, high = PRESETS[preset].sigma or (1, 1)
        sigma = (0.5 if high == 1 and low < 1 else 1.0) if sigma is None else sigma
        allowed = sigma == 1 if low == high else low < sigma < high or sigma == low == 1
        if not allowed and not force:
            interval = "1" if low == high else f"{'[' if low == 1 else '('}{low}, {high})"
            raise ValueError(f"FixedPenaltyADMM: {preset} takes sigma in {interval}, got {sigma}")
        self.preset, self.beta, self.sigma, self.force = preset, beta, sigma, force
        self.name = PRESETS[preset].name

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """The theorem's assumptions, then β and the weights."""
        self._require(problem)
        op, block = problem.operators[-1], problem.blocks[-1]
        lower, upper = op.extremes(block.shape)
        L = [lipschitz_at(b.f, xi)[0] for b, xi in zip(problem.blocks, x0, strict=True)]
        beta, theta = self._penalty(problem, x0, L[-1], lower, upper)
        weights = []
        for i, (b, opi) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
            exact = b.f is None and opi.gram is not None
            factor = theta if i == len(L) - 1 else 1.0 if exact else THETA
            weights.append(factor * (L[i] + beta * opi.norm() ** 2))
            if weights[-1] == 0:
                raise AssumptionError(
                    f"block {problem.names[i]!r} has A = 0 and no f that could move it; leave it out"
                )
        products = tuple([op.apply(xi) for op, xi in zip(problem.operators, x0, strict=True)])
        return Setup(problem, Constants(beta, self.sigma, tuple(weights))), Carry(0, x0, products, z0)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One pass over the blocks, then the dual step."""
        problem, (beta, sigma, weights) = setup.problem, setup.constants
        x, products, points = list(carry.x), list(carry.products), []
        residual = sum_products(products, problem.b)
        for i, (block, op, w) in enumerate(zip(problem.blocks, problem.operators, weights, strict=True)):
            g = op.adjoint(carry.z + beta * residual)
            if block.f is not None:
                g = block.f.grad(x[i]) + g
            v = x[i] - g / w
            x[i] = block.h.prox(v, 1 / w)
            product = op.apply(x[i])
            residual = residual + (product - products[i])
            products[i] = product
            points.append((v, 1 / w))
        z = carry.z + (sigma * beta) * sum_products(products, problem.b)
        carry = Carry(carry.t + 1, tuple(x), tuple(products), z)
        return carry, State(carry.t, carry.x, x[-1], z, beta, 0.0, carry.products, tuple(points))

    def parameters_of(self, setup: Setup) -> Constants:
        """β, σ and the weights in force."""
        return setup.constants

    def _require(self, problem: Problem) -> None:
        theorem = PRESETS[self.preset]
        missing = theorem.missing(Facts(problem))
        if not missing:
            return
        message = (
            f"{self.name} ({theorem.reference}) needs {'; '.join(missing)}, which this problem does not meet"
        )
        if not self.force:
            raise AssumptionError(f"{message}; see problem.check() for methods that fit, or pass force=True")
        warnings.warn(f"{message}; forced, so without a guarantee", OutsideTheoremWarning, stacklevel=4)

    def _penalty(
        self, problem: Problem, x0: tuple[Array, ...], L: float, lower: float, upper: float
    ) -> tuple[float, float]:
        """(β, θ_n)."""
        if upper == 0:
            raise AssumptionError(
                f"block {problem.names[-1]!r} is last and has A = 0: move another block last"
            )
        if self.preset == "he-yuan-2012" or L == 0 or lower == 0:
            return self.beta or scale_free_penalty(problem, x0, upper, L), 1.0
        kappa = upper / lower
        square = math.prod(problem.blocks[-1].shape) == math.prod(problem.shape)
        condition: Condition = "BI" if square and kappa < 2 else "SU"
        try:
            p = Parameters.sound(condition, kappa, self.sigma, 0.0)
        except AssumptionError:
            return self.beta or 4 * kappa * L / lower, 1.0
        return self.beta or L / (p.delta * upper), p.theta2
