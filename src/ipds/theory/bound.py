"""How many iterations the theorem promises: its bound on the criticality, every constant explicit (docs/theory.md).

min_{N/2 ≤ t ≤ N} Crit_{t+1} ≤ K₁√(2Δβ_N/N) + K₂/β_{N/2}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ..functions import (
    HuberLoss,
    LeastSquares,
    Logistic,
    Nonsmooth,
    PCAReconstruction,
    PhaseRetrieval,
    Smooth,
    Zero,
)
from ..functions.norms import Norm
from ..functions.scalar import ScalarPenalty
from ..parameters import Parameters
from ..problem import Problem
from .descent import Constants, constants, decreases
from .state import State

NONNEGATIVE_SMOOTH = (LeastSquares, HuberLoss, Logistic, PhaseRetrieval, PCAReconstruction)
NONNEGATIVE = (ScalarPenalty, Norm, Zero)


@dataclass(frozen=True)
class Bound:
    """Crit ≤ K₁√(2Δβ_N/N) + K₂/β_{N/2} for the best of the iterations from N/2 to N of `IPDS(parameters)`."""

    K1: float
    K2: float
    delta: float
    """Δ = Θ̃₁ - F_: what the potential may still fall by."""
    beta0: float
    parameters: Parameters

    def penalty(self, t: float) -> float:
        """β_t by the shifted schedule."""
        p = self.parameters
        return self.beta0 * (1 + ((1 + p.xi) ** (1 / p.p) - 1) * t) ** p.p

    def __call__(self, iterations: float) -> float:
        """The bound after so many iterations."""
        first = self.K1 * math.sqrt(2 * self.delta * self.penalty(iterations) / iterations)
        return first + self.K2 / self.penalty(iterations / 2)

    def average(self, iterations: float) -> float:
        """The bound of the average criticality over the iterations 1..N: K₁√(Δβ_N/N) + K₂/((1-p)β_N)."""
        beta = self.penalty(iterations)
        first = self.K1 * math.sqrt(self.delta * beta / iterations)
        return first + self.K2 / ((1 - self.parameters.p) * beta)

    def iterations(self, epsilon: float) -> float:
        """The smallest N, a power of two refined by bisection, whose bound is at most ε."""
        if not epsilon > 0:
            raise ValueError(f"epsilon must be positive, got {epsilon}")
        high = 2.0
        while self(high) > epsilon:  # the bound falls like N^(-1/3), so this ends
            high *= 2
        low = high / 2
        while high - low > max(1.0, 1e-6 * high):
            middle = (low + high) / 2
            low, high = (middle, high) if self(middle) > epsilon else (low, middle)
        return math.ceil(high)


def bound(
    problem: Problem, parameters: Parameters, states: Sequence[State], floor: float | None = None
) -> Bound:
    """The bound for a run of `IPDS(parameters)` from its first four States; Δ is measured at its second.

    `floor` is a number below the objective everywhere; default: 0 where all its terms are known to be nonnegative.
    `AssumptionError` where a constant is missing, ValueError where the parameters are not sound or no floor is known.

    >>> from itertools import islice
    >>> from ipds import Block, Parameters, Problem, iterate
    >>> from ipds.functions import L1, Box
    >>> from ipds.methods import IPDS
    >>> problem = Problem([Block(h=Box(0.0, 1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    >>> sound = Parameters.sound("BI", 1.0, smooth_last=False)
    >>> b = bound(problem, sound, list(islice(iterate(problem, method=IPDS(sound)), 4)))
    >>> b(b.iterations(0.1)) <= 0.1
    True
    """
    k = constants(problem, parameters)
    floor = lower_bound(problem) if floor is None else floor
    if not k.margin > 0:
        raise ValueError("the decrease inequality does not hold for these parameters; take Parameters.sound")
    if parameters.schedule != "shifted":
        raise ValueError("the bound is that of the shifted schedule; take Parameters.sound")
    if floor is None:
        raise ValueError(
            "no lower bound of the objective is known (some f or h may go to minus infinity): state one as floor"
        )
    if min(k.norms_squared) == 0:
        raise ValueError("a block has A = 0: it takes no part in the equation")
    first = next(iter(decreases(problem, parameters, islice(states, 4))))
    shifted = (1 + parameters.xi) ** (1 / parameters.p) - 1
    beta0 = states[0].beta
    tail = k.tail * parameters.p**2 * shifted * (1 + shifted) / beta0  # Σ U
    slope = 0.0 if not math.isfinite(k.slope) else k.slope
    K2 = (math.sqrt(k.upper) + k.lipschitz[-1]) * slope / (k.upper * parameters.delta)
    return Bound(_first_constant(k, beta0), K2, max(first.potential + tail - floor, 0.0), beta0, parameters)


def _first_constant(k: Constants, beta0: float) -> float:
    """K₁ = √(Σ c_i²/e_i + c_z²/ξ): c the coefficients of β‖Δx_i‖ and ‖Δz‖ in Crit, e those of β‖Δx_i‖² in E."""
    p, last = k.parameters, len(k.lipschitz) - 1
    sizes = [math.sqrt(square) for square in k.norms_squared]
    total = 0.0
    for j, (L, square) in enumerate(zip(k.lipschitz, k.norms_squared, strict=True)):
        before = sizes[j] * sum(sizes[: min(j, last - 1) + 1])
        if j < last:
            c = (1 + p.theta1) * L / beta0 + p.theta1 * square + before
            e = 0.5 * (p.theta1 - 1) * square
        else:
            c = L / beta0 + k.upper * max(p.theta2 * (1 + p.delta), 1 - p.theta2) + before
            e = k.margin * k.upper
        total += c**2 / e
    turned = 1 / (p.sigma * beta0) + abs(1 - 1 / p.sigma) * sum(sizes)
    return math.sqrt(total + turned**2 / p.xi)


def lower_bound(problem: Problem) -> float | None:
    """A number below Σ f_i + h_i everywhere, or None: 0 where every term is known to be nonnegative."""
    known = all(_nonnegative(block.f) and _nonnegative_h(block.h) for block in problem.blocks)
    return 0.0 if known else None


def _nonnegative(f: Smooth | None) -> bool:
    return f is None or isinstance(f, NONNEGATIVE_SMOOTH)


def _nonnegative_h(h: Nonsmooth) -> bool:
    inner = getattr(h, "h", None)  # Scaled, Translated, Precomposed keep the sign
    return h.is_set or isinstance(h, NONNEGATIVE) or (inner is not None and _nonnegative_h(inner))
