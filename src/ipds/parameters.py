"""The six parameters of Algorithm 1 and the inequality that makes them sound."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .errors import AssumptionError

if TYPE_CHECKING:
    from .problem import Problem

Condition = Literal["BI", "SU"]


class DivergentParametersWarning(UserWarning):
    """The parameters asked for are known to diverge."""


@dataclass(frozen=True)
class Verification:
    """Whether the corrected inequality holds: margin = ε₂ = θ₂ - ½ - χ̂ must be positive."""

    holds: bool
    margin: float
    chi: float
    reason: str

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class Parameters:
    """(p, ξ, δ, σ, θ₁, θ₂) of Algorithm 1.

    β = β⁰(1 + ξ tᵖ), μ = 1/(λ̄ δ β), dual step σ, proximal weights θ₁ (blocks i < n) and θ₂ (block n).

    >>> Parameters.sound("BI", kappa=1.0, sigma=1.0, xi=0.05).verify("BI", 1.0).holds
    True
    """

    p: float = 1 / 3
    xi: float = 0.5
    delta: float = 0.25
    sigma: float = 1.0
    theta1: float = 1.01
    theta2: float = 0.95

    def __post_init__(self) -> None:
        for name, low, high in (
            ("p", 0, 1),
            ("xi", 0, math.inf),
            ("delta", 0, math.inf),
            ("sigma", 0, 2),
            ("theta1", 0, math.inf),
            ("theta2", 0, math.inf),
        ):
            value = getattr(self, name)
            at_zero_ok = name in ("p", "xi")  # a constant penalty is a useful limit
            if not (low < value < high or (at_zero_ok and value == 0)):
                raise ValueError(f"Parameters: {name} must lie in ({low}, {high}), got {value}")

    @property
    def omega(self) -> float:
        """ω = 1 + ξ/(2σ) + σξ."""
        return 1 + self.xi / (2 * self.sigma) + self.sigma * self.xi

    @property
    def sigma1(self) -> float:
        """σ₁ = σ/(1 - |1-σ|)²."""
        return self.sigma / (1 - abs(1 - self.sigma)) ** 2

    @property
    def sigma2(self) -> float:
        """σ₂ = |1-σ|/(σ(1 - |1-σ|))."""
        return abs(1 - self.sigma) / (self.sigma * (1 - abs(1 - self.sigma)))

    def chi(self, condition: Condition, kappa: float, corrected: bool = True) -> float:
        """χ̂ of the corrected decrease inequality (erratum 1 of the paper).

        BI: χ̂ = ϱ(δ + q̂)², ϱ = 6ωσ₁κ, with q̂ = max(θ₂(1+δ) - 1/κ, 1 - θ₂) bounding ‖θ₂LₙI - βAₙᵀAₙ‖/(βλ̄);
        the paper drops the second term, which is the larger one at its own θ₂.
        SU: χ̂ = 2ωκ{σq̂² + 3σ₁δ² + 3σ₁(δ + σq̂)²}, q̂ = max(θ₂(1+δ), 1 - θ₂); the paper prints the case σ₁ = 1/σ (σ ≤ 1).
        corrected=False gives the paper's own χ, without the second terms.
        """
        omega, sigma, sigma1, delta, theta2 = self.omega, self.sigma, self.sigma1, self.delta, self.theta2
        if condition == "BI":
            q = theta2 * (1 + delta) - 1 / kappa
            q = max(q, 1 - theta2) if corrected else q
            return 6 * omega * sigma1 * kappa * (delta + q) ** 2
        if condition == "SU":
            q = theta2 * (1 + delta)
            q = max(q, 1 - theta2) if corrected else q
            return 2 * omega * kappa * (sigma * q**2 + 3 * sigma1 * (delta**2 + (delta + sigma * q) ** 2))
        raise ValueError(f"condition must be 'BI' or 'SU', got {condition!r}")

    def verify(self, condition: Condition, kappa: float) -> Verification:
        """Whether the sufficient decrease is proved for these parameters, and by what margin."""
        _check_kappa(kappa)
        chi = self.chi(condition, kappa)
        margin = self.theta2 - 0.5 - chi
        if condition == "BI" and kappa >= 2:
            return Verification(False, margin, chi, f"condition BI needs kappa < 2, got {kappa:.4g}")
        if self.theta1 <= 1:
            return Verification(False, margin, chi, f"theta1 must exceed 1, got {self.theta1:.4g}")
        if margin <= 0:
            return Verification(
                False, margin, chi, f"theta2 - 1/2 = {self.theta2 - 0.5:.4g} ≤ chi = {chi:.4g}"
            )
        return Verification(True, margin, chi, f"theta2 - 1/2 exceeds chi by {margin:.4g}")

    @classmethod
    def paper(cls, condition: Condition, kappa: float) -> Parameters:
        """The parameters exactly as printed; in the BI case they diverge, and a warning says so.

        BI: (ξ, δ, σ, θ₂) = (½, ¼, 1.618, 0.60), those of the experiments. SU: ξ = δ = σ = 0.01/κ, θ₂ = 1.5.
        """
        _check_kappa(kappa)
        if condition == "BI":
            warnings.warn(
                "the paper's BI parameters violate its own decrease inequality once that is corrected, and diverge in "
                "practice; use Parameters.sound or Parameters.practical",
                DivergentParametersWarning,
                stacklevel=2,
            )
            return cls(p=1 / 3, xi=0.5, delta=0.25, sigma=1.618, theta1=1.01, theta2=0.60)
        small = 0.01 / kappa
        return cls(p=1 / 3, xi=small, delta=small, sigma=small, theta1=1.01, theta2=1.5)

    @classmethod
    def sound(
        cls, condition: Condition, kappa: float, sigma: float | None = None, xi: float | None = None
    ) -> Parameters:
        """Parameters that satisfy the corrected inequality, with the largest workable δ for κ, σ and ξ.

        A large δ means a small smoothing μ = 1/(λ̄δβ) and a small bound β⁰ ≥ Lₙ/(δλ̄). Defaults: σ = 1, ξ = 0.05
        (BI); σ = ξ = 0.01/κ (SU). `AssumptionError` where no δ exists.
        """
        _check_kappa(kappa)
        if condition == "BI" and kappa >= 2:
            raise AssumptionError(f"condition BI needs kappa < 2, got {kappa:.4g}; use condition 'SU'")
        from scipy.optimize import brentq, minimize_scalar  # slow to load: only where it is used

        sigma = (1.0 if condition == "BI" else 0.01 / kappa) if sigma is None else sigma
        xi = (0.05 if condition == "BI" else 0.01 / kappa) if xi is None else xi

        def best(delta: float) -> Parameters:
            def negative_margin(theta2: float) -> float:
                candidate = cls(xi=xi, delta=delta, sigma=sigma, theta2=theta2)
                return -(theta2 - 0.5 - candidate.chi(condition, kappa))

            # the margin is concave in θ₂, so a bounded scalar search finds its maximum
            found = minimize_scalar(
                negative_margin, bounds=(0.5, 10.0), method="bounded", options={"xatol": 1e-12}
            )
            return cls(xi=xi, delta=delta, sigma=sigma, theta2=float(found.x))

        def margin(delta: float) -> float:
            candidate = best(delta)
            return candidate.theta2 - 0.5 - candidate.chi(condition, kappa)

        smallest = 1e-9 / kappa
        if margin(smallest) <= 0:
            raise AssumptionError(
                f"no delta satisfies the corrected {condition} inequality for kappa={kappa:.4g}, sigma={sigma:.4g}, "
                f"xi={xi:.4g}; take sigma closer to {'1' if condition == 'BI' else '0'}, a smaller xi, or rescale "
                "A_n towards kappa = 1"
            )
        largest = brentq(margin, smallest, 10.0, xtol=1e-3 * smallest, rtol=1e-9)
        return best(0.98 * largest)  # strictly inside, so that the margin is positive

    @classmethod
    def practical(cls) -> Parameters:
        """Fast parameters inside the linear stability region θ₂ > (2+σ)/4, without the decrease guarantee."""
        return cls(p=0.9, xi=0.05, delta=4.0, sigma=1.0, theta1=1.01, theta2=0.9)


def _check_kappa(kappa: float) -> None:
    if not (math.isfinite(kappa) and kappa >= 1 - 1e-9):
        raise ValueError(f"kappa must be finite and at least 1, got {kappa}")


def parameters_for(problem: Problem, choice: str | Parameters) -> Parameters:
    """The `Parameters` meant by "practical", "sound" or "paper" on this problem."""
    if isinstance(choice, Parameters):
        return choice
    if choice == "practical":
        return Parameters.practical()
    check = problem.check()
    if check.condition is None:
        raise AssumptionError(f"parameters={choice!r} need condition BI or SU on the last block:\n{check}")
    if choice == "paper":
        return Parameters.paper(check.condition, check.kappa)
    try:
        return Parameters.sound(check.condition, check.kappa)
    except AssumptionError:  # bijective, but kappa is beyond what BI allows: bijective is surjective too
        return Parameters.sound("SU", check.kappa)
