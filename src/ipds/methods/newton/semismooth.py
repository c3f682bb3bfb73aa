"""Semismooth Newton steps on the proximal augmented Lagrangian, for H known by its prox and the Jacobian of that.

    φ(v) = f(v) + env(M v + c + y_k/β) + ε/2‖v - v_k‖²,   env the Moreau envelope of H with parameter 1/β

has ∇φ = ∇f + Mᵀy + ε(v - v_k) with y = β(w - prox_H(w, 1/β)), w = M v + c + y_k/β, and the generalised Hessian
∇²f + εI + βMᵀ(I - J)M: only rows where the prox does not move along count. When φ is minimised well enough, y_k ← y,
v_k ← v, and β grows where the equation lags, ε falls where stationarity does.
Li, Sun & Toh, SIAM J. Optim. 28 (2018); Rockafellar, Math. Oper. Res. 1 (1976) for the inner tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .algebra import System
from .form import Form

ENOUGH = 0.2
"""Inner tolerance: ‖∇φ‖ against √ε times the distance to the centre, criterion (B) of Rockafellar."""
SLOPE = 0.1
"""The search along a Newton direction ends where the slope has fallen to this part: exact searches gain nothing."""
MOST = 40
"""Newton steps before the subproblem counts as too hard, and β is halved."""
GROWTH = ((2, 10.0), (5, 5.0), (10, 2.5), (20, 1.5))
"""(Newton steps, factor): the easier a subproblem was, the bolder the next."""
NOISE = 1e-15
"""‖∇φ‖ in units of β‖w‖ that is rounding: some units in the last place, not all of one sign."""
LESS = 10.0
"""What β is divided by where rounding keeps stationarity from falling further, and the equation is better than that."""
CEILING = 1e100
"""β at most: where no point meets the equation it would grow until it overflows."""
BALANCE = 10.0
"""β grows unless the equation is this much better than stationarity, and the other way round for ε."""


class Subproblem(NamedTuple):
    """Where φ is taken."""

    v: np.ndarray
    centre: np.ndarray
    """v_k."""
    multiplier: np.ndarray
    """y_k."""
    beta: float
    eps: float
    taken: int
    """Newton steps so far."""


class Evaluation(NamedTuple):
    """φ at a point."""

    w: np.ndarray
    u: np.ndarray
    y: np.ndarray
    slope: np.ndarray
    """∇φ."""


def evaluate(form: Form, s: Subproblem) -> Evaluation:
    """Evaluate ∇φ."""
    w = form.apply(s.v) + form.c + s.multiplier / s.beta
    u = form.terms.prox(w, s.beta)
    y = s.beta * (w - u)
    return Evaluation(w, u, y, form.smooth.gradient(s.v) + form.adjoint(y) + s.eps * (s.v - s.centre))


def is_noise(s: Subproblem, at: Evaluation) -> bool:
    """Whether ∇φ is what rounding leaves of y = β(w - u), a small difference times a large number."""
    return s.taken > 1 and float(np.linalg.norm(at.slope)) <= NOISE * s.beta * float(np.linalg.norm(at.w))


def is_solved(s: Subproblem, at: Evaluation, size: float) -> bool:
    """Whether φ is minimised well enough; `size` is what ∇φ is compared with for rounding."""
    left = float(np.linalg.norm(at.slope))
    if is_noise(s, at):
        return True
    moved = s.eps * np.sum((s.v - s.centre) ** 2) + np.sum((at.y - s.multiplier) ** 2) / s.beta
    return left <= 1e-14 * size or (s.taken > 0 and left <= ENOUGH * np.sqrt(s.eps * moved))


def following(s: Subproblem, at: Evaluation, infeasible: float, unbalanced: float) -> Subproblem:
    """The next subproblem, from the relative residuals of the equation and of stationarity."""
    factor = next((f for most, f in GROWTH if s.taken <= most), 1.0)
    beta, eps = s.beta, s.eps
    if s.taken >= MOST:
        beta /= 2
    elif is_noise(s, at) and unbalanced > infeasible:
        beta /= LESS
    else:
        if infeasible >= unbalanced / BALANCE:
            beta = min(beta * factor, CEILING)
        if unbalanced >= infeasible / BALANCE:
            eps /= factor
    return Subproblem(s.v, s.v, at.y, beta, eps, 0)


def newton(form: Form, system: System, s: Subproblem, at: Evaluation) -> Subproblem:
    """One step with K = ∇²f + εI + βMᵀ(I - J)M and a search along it."""
    W = form.terms.weights(at.w, s.beta)
    assert W is not None
    D, rest = form.smooth.hessian(s.v)
    d = system.factor(D, rest, W, s.eps).refined(-at.slope)
    Md = form.apply(d)

    def slope(length: float) -> float:
        """φ'(v + length·d) along d."""
        w = at.w + length * Md
        v = s.v + length * d
        y = s.beta * (w - form.terms.prox(w, s.beta))
        return float((form.smooth.gradient(v) + s.eps * (v - s.centre)) @ d + y @ Md)

    length = searched(slope, float(at.slope @ d))
    return s._replace(v=s.v + length * d, taken=s.taken + 1)


def searched(slope: Callable[[float], float], first: float) -> float:
    """A length at which the increasing function `slope` (`first` < 0 at 0) is near zero, by interpolation."""
    low, at_low, high, at_high, length = 0.0, first, None, 0.0, 1.0
    for _ in range(40):
        with np.errstate(all="ignore"):
            now = slope(length)
        if not np.isfinite(now):
            now = abs(first)  # outside the domain of f: too far
        elif abs(now) <= SLOPE * abs(first):
            break
        if now < 0:
            low, at_low = length, now
        else:
            high, at_high = length, now
        if high is None:
            length *= 2
        else:
            rise = at_high - at_low
            share = -at_low / rise if rise > 0 else 0.5
            length = low + (high - low) * float(np.clip(share, 0.05, 0.95))
    else:
        return low  # the longest step at which the function is known to be finite, and to fall
    return length
