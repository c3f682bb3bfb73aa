"""Folded concave penalties, which grow like ℓ1 at first and not at all in the end: MCP and SCAD.

Each prox is a global minimiser for every step, also past the weak-convexity limit of the penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, either
from ._arguments import number, weight
from .base import Nonsmooth
from .calculus import Scaled
from .rescaling import one_unit
from .scalar import ScalarPenalty, cap_and_sign, fit, floor_at_zero, keep, select
from .thresholding import soft_below


class MCP(ScalarPenalty):
    """h(x) = Σ φ(x_i), φ(a) = λ|a| - a²/(2γ) up to |a| = γλ, then γλ²/2 (minimax concave penalty), γ > 0.

    prox for s < γ: min(|v|, (|v| - sλ)₊/(1 - s/γ)), the firm threshold; for s ≥ γ: v where |v| > λ√(γs),
    else 0, the hard threshold.
    Zhang, Nearly unbiased variable selection under minimax concave penalty, Ann. Statist. 38 (2010).
    """

    is_piecewise_quadratic = True
    unit_powers = (("lam", 1), ("gamma", -2))

    def __init__(self, lam: float | Array = 1.0, gamma: float | Array = 3.0) -> None:
        super().__init__(lam)
        self.gamma = weight("MCP", "gamma", gamma, positive=True)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        gamma = fit(self.gamma, a)
        a = xp.minimum(a, gamma * lam + 0.0 * a)
        return a * (lam - a / (2.0 * gamma))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.clip(lam - a / fit(self.gamma, a), 0.0, None)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        gamma = fit(self.gamma, a)
        return xp.astype(a < gamma * lam, a.dtype) / -gamma

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        gamma = fit(self.gamma, v)

        def hard(v: Array) -> Array:
            return keep(xp, xp.abs(v) > lam * (gamma * step) ** 0.5, v)

        def firm(v: Array) -> Array:
            a = xp.abs(v)
            u = floor_at_zero(xp, a - lam * step)
            u *= 1.0 / select(xp, step < gamma, 1.0 - step / gamma, 1.0)
            return cap_and_sign(xp, u, a, v)

        return _branch(xp, step >= gamma, hard, firm, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        gamma = fit(self.gamma, x)
        bend = 1.0 - step / gamma
        # no stationary point without a bend: a guess more
        middle = (x - lam * step) / select(xp, bend > 0, bend, 1.0)
        return [middle, gamma * lam + 0.0 * x, x]


class SCAD(ScalarPenalty):
    """h(x) = Σ φ(x_i), φ' = λ up to |x| = λ, then (aλ - |x|)/(a - 1) down to 0 at aλ; a > 2.

    prox for s < a - 1: min(|v|, max((|v| - sλ)₊, ((a-1)|v| - saλ)/(a-1-s))); beyond: the soft threshold up to
    |v| = T, v above, with T = λ(a+1+s)/2 while s ≤ a + 1, then λ√(s(a+1)).
    Fan & Li, Variable selection via nonconcave penalized likelihood, JASA 96 (2001).
    """

    is_piecewise_quadratic = True

    def __init__(self, lam: float | Array = 1.0, a: float = 3.7) -> None:
        super().__init__(lam)
        self.a = number("SCAD", "a", a, above=2.0)

    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        # λ min(a, λ), and past λ the mean slope times what is travelled there
        start = xp.minimum(a, lam + 0.0 * a)
        past = xp.minimum(a, self.a * lam + 0.0 * a) - start
        return lam * start + past * (lam - 0.5 * past / (self.a - 1.0))

    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        return xp.clip((self.a * lam - a) / (self.a - 1.0), 0.0, lam)

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        return xp.astype((a > lam) & (a < self.a * lam), a.dtype) / (1.0 - self.a)

    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        a, bend = self.a, select(xp, step < self.a - 1.0, self.a - 1.0 - step, 1.0)

        def two_pieces(v: Array) -> Array:
            threshold = select(xp, step <= a + 1.0, 0.5 * (a + 1.0 + step), (step * (a + 1.0)) ** 0.5)
            return soft_below(xp, v, lam * step, lam * threshold)

        def three_pieces(v: Array) -> Array:
            x = xp.abs(v)
            middle = (a - 1.0) / bend * x
            middle -= a * step / bend * lam
            x -= lam * step
            u = np.maximum(x, middle, out=x) if type(x) is np.ndarray else xp.maximum(x, middle)
            u = floor_at_zero(xp, u)
            return cap_and_sign(xp, u, np.abs(v, out=middle) if type(x) is np.ndarray else xp.abs(v), v)

        return _branch(xp, step >= a - 1.0, two_pieces, three_pieces, v)

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        a, bend = self.a, self.a - 1.0 - step
        middle = ((a - 1.0) * x - a * step * lam) / select(xp, bend > 0, bend, 1.0)
        return [x - lam * step, lam + 0.0 * x, middle, a * lam + 0.0 * x, x]

    def rescaled(self, d: float | Array) -> Nonsmooth | None:
        """d² times SCAD with the weights divided by d; None where d is not one number."""
        unit = one_unit(d)
        return None if unit is None else Scaled(SCAD(self.lam / unit, self.a), unit * unit)


def _branch(
    xp: Any, condition: Any, yes: Callable[[Array], Array], no: Callable[[Array], Array], v: Array
) -> Array:
    """yes(v) or no(v), by a condition on the step: on each entry where the steps differ."""
    if getattr(condition, "ndim", 0):
        return xp.where(condition, yes(v), no(v))
    return either(condition, yes, no, v)
