"""The six parameters of Algorithm 1 and the inequality that makes them sound."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .errors import AssumptionError

if TYPE_CHECKING:
    from .problem import Problem

Condition = Literal["BI", "SU"]
Schedule = Literal["printed", "shifted"]

CLOSE = 1e-6
"""How near the ends of (0, 1) the weight τ may come."""
GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS = 40
"""Golden sections: an interval shrinks by 4e-9."""


class DivergentParametersWarning(UserWarning):
    """The parameters asked for are known to diverge."""


@dataclass(frozen=True)
class Verification:
    """Whether the decrease is proved: the margin of every mode of A_nᵀA_n must be positive."""

    holds: bool
    margin: float
    """ε₂, the smallest of the modes: the decrease pays ε₂βλ̄‖Δx_n‖²."""
    modes: tuple[tuple[float, float], ...]
    """(b, margin) at the ends b = 1/κ and b = 1 of the spectrum of A_nᵀA_n/λ̄; between them the margin is concave."""
    tau: float
    """Weight of the Young inequality that splits the multiplier: ‖a + b‖² ≤ ‖a‖²/τ + ‖b‖²/(1 - τ)."""
    reason: str

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class Parameters:
    """(p, ξ, δ, σ, θ₁, θ₂) of Algorithm 1.

    μ = 1/(λ̄ δ β), dual step σ, proximal weights θ₁ (blocks i < n) and θ₂ (block n). The penalty grows as
    β⁰(1 + ξ tᵖ), schedule="printed", or β⁰(1 + ξ't)ᵖ with (1 + ξ')ᵖ = 1 + ξ, schedule="shifted".

    >>> Parameters.sound("BI", kappa=1.0, sigma=1.0, xi=0.05).verify("BI", 1.0).holds
    True
    """

    p: float = 1 / 3
    xi: float = 0.5
    delta: float = 0.25
    sigma: float = 1.0
    theta1: float = 1.01
    theta2: float = 0.95
    schedule: Schedule = "printed"

    def __post_init__(self) -> None:
        if self.schedule not in ("printed", "shifted"):
            raise ValueError(f"Parameters: schedule must be 'printed' or 'shifted', got {self.schedule!r}")
        if self.schedule == "shifted" and self.p == 0:
            raise ValueError("Parameters: a shifted schedule needs p > 0")
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

    @property
    def gain(self) -> float:
        """γ = 4σ/(2-σ)²: the square of the ℓ₂ gain 2σ/(2-σ) of a⁺ = (1-σ)a + σ(u - u⁺), divided by σ."""
        return 4 * self.sigma / (2 - self.sigma) ** 2

    def chi(self, condition: Condition, kappa: float, corrected: bool = True) -> float:
        """χ of the paper's own decrease inequality θ₂ - ½ > χ, with its error corrected (`verify` proves more).

        BI: χ̂ = ϱ(δ + q̂)², ϱ = 6ωσ₁κ, with q̂ = max(θ₂(1+δ) - 1/κ, 1 - θ₂) bounding ‖θ₂LₙI - βAₙᵀAₙ‖/(βλ̄);
        the paper drops the second term, which is the larger one at its own θ₂.
        SU: χ̂ = 2ωκ{σq̂² + 3σ₁δ² + 3σ₁(δ + σq̂)²}, q̂ = max(θ₂(1+δ), 1 - θ₂); the paper prints the case σ₁ = 1/σ (σ ≤ 1).
        corrected=False gives the paper's own χ, without the second terms.
        """
        _check(condition, kappa)
        omega, sigma, sigma1, delta, theta2 = self.omega, self.sigma, self.sigma1, self.delta, self.theta2
        q = theta2 * (1 + delta) - (1 / kappa if condition == "BI" else 0.0)
        q = max(q, 1 - theta2) if corrected else q
        if condition == "BI":
            return 6 * omega * sigma1 * kappa * (delta + q) ** 2
        return 2 * omega * kappa * (sigma * q**2 + 3 * sigma1 * (delta**2 + (delta + sigma * q) ** 2))

    def mode_margin(self, b: float, ell: float, kappa: float, tau: float, smooth_last: bool = True) -> float:
        """What a mode with A_nᵀA_n = bλ̄ keeps of its decrease, in units of βλ̄|Δx_n|², where L_n = ℓβλ̄ ≤ δβλ̄.

        T - ℓ/2 - b/2 - (ωγ/τ)(T - b)²/b - max(0, νS - 1/(2δ))δ² - νSℓ²  with T = θ₂(1 + ℓ), S = ωσ₁κ/(1-τ), and
        ν = 2 where f_n ≠ 0, ν = 1 and ℓ = 0 where f_n = 0. Derived in docs/theory.md.
        """
        T = self.theta2 * (1 + ell)
        S = self.omega * self.sigma1 * kappa / (1 - tau)
        nu = 2.0 if smooth_last else 1.0
        own = T - ell / 2 - b / 2 - self.omega * self.gain / tau * (T - b) ** 2 / b
        return own - max(0.0, nu * S - 1 / (2 * self.delta)) * self.delta**2 - nu * S * ell**2

    def verify(self, condition: Condition, kappa: float, smooth_last: bool = True) -> Verification:
        """Whether the sufficient decrease is proved for these parameters, and by what margin, mode by mode.

        `condition` BI or SU makes no difference to the proof: both live on the range of A_nᵀ. `smooth_last`: whether
        f_n ≠ 0; without it a larger δ is sound.
        """
        _check(condition, kappa)
        tau, margin = self._best_tau(kappa, smooth_last)
        modes = tuple((b, self._worst(b, kappa, tau, smooth_last)) for b in (1 / kappa, 1.0))
        if self.theta1 <= 1:
            return Verification(False, margin, modes, tau, f"theta1 must exceed 1, got {self.theta1:.4g}")
        worst = min(modes, key=lambda mode: mode[1])[0]
        what = f"the smallest margin over the modes of A_nᵀA_n, at b = {worst:.4g}, is {margin:.4g}"
        return Verification(bool(margin > 0), margin, modes, tau, what)

    def _worst(self, b: float, kappa: float, tau: float, smooth_last: bool) -> float:
        """The margin of a mode for the worst ℓ in [0, δ]: concave in ℓ, so at an end."""
        ends = (0.0, self.delta) if smooth_last else (0.0,)
        return min(self.mode_margin(b, ell, kappa, tau, smooth_last) for ell in ends)

    def _best_tau(self, kappa: float, smooth_last: bool) -> tuple[float, float]:
        """(τ, margin): the τ with the largest margin; the margin is concave in b, in ℓ, and jointly in (θ₂, τ)."""
        return peak(
            lambda tau: min(self._worst(b, kappa, tau, smooth_last) for b in (1 / kappa, 1.0)),
            CLOSE,
            1 - CLOSE,
        )

    @classmethod
    def paper(cls, condition: Condition, kappa: float) -> Parameters:
        """The parameters by the paper's printed formulas in κ; in the BI case they diverge, and a warning says so.

        BI (κ < 2): σ = 1.618, ξ = ½, δ = ¾·(2/κ - 1)/3, θ₂ = (1/κ - δ)/(1+δ) + 1/(2ϱ(1+δ)²), ϱ = 6ωσ₁κ.
        SU: ξ = δ = σ = 0.01/κ, θ₂ = 1.5. The paper leaves open which δ below (2/κ - 1)/3: ¾ of it gives the ¼ of its
        experiments at κ = 1 (`paper_experiments`).
        """
        _check(condition, kappa)
        if condition == "SU":
            small = 0.01 / kappa
            return cls(p=1 / 3, xi=small, delta=small, sigma=small, theta1=1.01, theta2=1.5)
        if kappa >= 2:
            raise AssumptionError(f"condition BI needs kappa < 2, got {kappa:.4g}; use condition 'SU'")
        _warn_divergent()
        delta = (2 / kappa - 1) / 4
        like = cls(xi=0.5, delta=delta, sigma=1.618)
        rho = 6 * like.omega * like.sigma1 * kappa
        theta2 = (1 / kappa - delta) / (1 + delta) + 1 / (2 * rho * (1 + delta) ** 2)
        return replace(like, theta2=theta2)

    @classmethod
    def paper_experiments(cls) -> Parameters:
        """The constants of the paper's section 5: (ξ, δ, σ, θ₂) = (½, ¼, 1.618, 0.60); they diverge, with a warning."""
        _warn_divergent()
        return cls(p=1 / 3, xi=0.5, delta=0.25, sigma=1.618, theta1=1.01, theta2=0.60)

    @classmethod
    def sound(
        cls,
        condition: Condition,
        kappa: float,
        sigma: float | None = None,
        xi: float | None = None,
        smooth_last: bool = True,
    ) -> Parameters:
        """Parameters whose decrease is proved (`verify`), with the largest δ for κ, σ and ξ, and the best θ₂ for it.

        A large δ means a small smoothing μ = 1/(λ̄δβ) and a small bound β⁰ ≥ Lₙ/(δλ̄). One rule for BI and SU.
        Defaults: σ = 1/κ, ξ = 0.05/κ. `smooth_last=False` where f_n = 0: then δ may be larger. The penalty grows by
        the shifted schedule. `AssumptionError` where no δ exists.
        """
        _check(condition, kappa)
        sigma = 1 / kappa if sigma is None else sigma
        xi = 0.05 / kappa if xi is None else xi
        like = cls(xi=xi, sigma=sigma, schedule="shifted")
        tau, largest = peak(lambda tau: like._largest_delta(kappa, tau, smooth_last), CLOSE, 1 - CLOSE)
        if largest <= 0:
            raise AssumptionError(
                f"no delta satisfies the decrease inequality for kappa={kappa:.4g}, sigma={sigma:.4g}, xi={xi:.4g}; "
                "take sigma nearer to 1/kappa, a smaller xi, or rescale A_n towards kappa = 1"
            )
        inside = replace(like, delta=0.98 * largest)  # strictly, so that the margin is positive
        near = inside._thetas(inside.delta, kappa, tau, smooth_last)[0]

        def margin(theta2: float) -> float:
            return replace(inside, theta2=theta2)._best_tau(kappa, smooth_last)[1]

        return replace(inside, theta2=peak(margin, near / 2, 2 * near)[0])

    def _largest_delta(self, kappa: float, tau: float, smooth_last: bool) -> float:
        """The largest δ at which some θ₂ has no negative margin with this τ; negative where none has.

        A margin is nonnegative on an interval of θ₂, the more δ the shorter. As a function of τ this has one peak
        (docs/theory.md), and where it is negative it rises with τ.
        """
        low, high = 1e-9 / kappa, 10.0

        def some(delta: float) -> bool:
            least, most = self._thetas(delta, kappa, tau, smooth_last)
            return least <= most

        if not some(low):
            return tau - 1
        while high > low * (1 + 1e-10):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if some(middle) else (low, middle)
        return low

    def _thetas(self, delta: float, kappa: float, tau: float, smooth_last: bool) -> tuple[float, float]:
        """The ends of the interval of θ₂ with a nonnegative margin at all corners (b, ℓ), (∞, -∞) where it is empty.

        With T = b(1 + v) and cost = b(1 - c) a margin is b(c + v - av²), a = ωγ/τ: a parabola, nonnegative between its
        roots v = (1 ± √(1 + 4ac))/(2a).
        """
        a, nu = self.omega * self.gain / tau, 2.0 if smooth_last else 1.0
        S = self.omega * self.sigma1 * kappa / (1 - tau)
        turned = max(0.0, nu * S - 1 / (2 * delta)) * delta**2
        least, most = 0.0, math.inf
        for b in (1 / kappa, 1.0):
            for ell in (0.0, delta) if smooth_last else (0.0,):
                c = 1 - (ell / 2 + b / 2 + turned + nu * S * ell**2) / b
                if 1 + 4 * a * c < 0:
                    return math.inf, -math.inf
                root = 1 + math.sqrt(1 + 4 * a * c)
                least = max(least, b * (1 - 2 * c / root) / (1 + ell))  # the product of the roots is -c/a
                most = min(most, b * (1 + root / (2 * a)) / (1 + ell))
        return least, most

    @classmethod
    def practical(cls) -> Parameters:
        """Fast parameters inside the linear stability region θ₂ > (2+σ)/4, without the decrease guarantee."""
        return cls(p=0.9, xi=0.05, delta=4.0, sigma=1.0, theta1=1.01, theta2=0.9)


def peak(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """(where, value) of the largest value of a function that first rises and then falls, by golden section.

    >>> x, value = peak(lambda x: -((x - 0.3) ** 2), 0.0, 1.0)
    >>> round(x, 6), abs(value) < 1e-12
    (0.3, True)
    """
    near, far = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    values = function(near), function(far)
    for _ in range(SECTIONS):
        if values[0] >= values[1]:
            high, far, near = far, near, far - GOLDEN * (far - low)
            values = function(near), values[0]
        else:
            low, near, far = near, far, near + GOLDEN * (high - near)
            values = values[1], function(far)
    return (near, values[0]) if values[0] >= values[1] else (far, values[1])


def _warn_divergent() -> None:
    warnings.warn(
        "the paper's BI parameters violate its own decrease inequality once that is corrected, and diverge in "
        "practice; use Parameters.sound or Parameters.practical",
        DivergentParametersWarning,
        stacklevel=3,
    )


def _check(condition: str, kappa: float) -> None:
    if condition not in ("BI", "SU"):
        raise ValueError(f"condition must be 'BI' or 'SU', got {condition!r}")
    if not (math.isfinite(kappa) and kappa >= 1 - 1e-9):
        raise ValueError(f"kappa must be finite and at least 1, got {kappa}")


def condition_of(problem: Problem) -> tuple[Condition | None, float]:
    """Condition BI or SU on the last A, None where neither holds, and κ = λ̄/λ_ of A Aᵀ."""
    block = problem.blocks[-1]
    lower, upper = problem.operators[-1].extremes(block.shape)
    if lower <= 0:
        return None, math.inf
    square, kappa = math.prod(block.shape) == math.prod(problem.shape), upper / lower
    return "BI" if square and kappa < 2 else "SU", kappa


def parameters_for(problem: Problem, choice: str | Parameters) -> Parameters:
    """The `Parameters` meant by "practical", "sound" or "paper" on this problem."""
    if isinstance(choice, Parameters):
        return choice
    if choice == "practical":
        return Parameters.practical()
    condition, kappa = condition_of(problem)
    if condition is None:
        raise AssumptionError(
            f"parameters={choice!r} need condition BI or SU on the last block:\n{problem.check()}"
        )
    if choice == "paper":
        return Parameters.paper(condition, kappa)
    smooth_last = problem.blocks[-1].f is not None
    return Parameters.sound(condition, kappa, smooth_last=smooth_last)
