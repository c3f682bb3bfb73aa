"""One pass over the data for a matrix known by its factors: value and gradient of the reduced problem.

min ‖u‖₁ λ over κ X + u = B on the entries observed, rank X = r. With u eliminated and T = B - z/(βc), s = 1/(βc²),

    u = T - κ X,   clipped = clip(u, -sλ, sλ),   Φ(X) = (⟨clipped, u⟩ - ½‖clipped‖²)/s,   ∇Φ(X) = -(κ/s) clipped,

and steps on matrices of rank r need no more of ∇Φ than its products with U and V. Rows are taken a few at a time, so
that they stay in the cache between the product with the factors and the products with the gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...functions.fixed_rank import FixedRank, Tangent

ENTRIES, FEWEST = 32768, 16
"""Entries of the rows that are taken at a time, about, and rows at least: 256 kB fit into the second cache."""


class Slope(NamedTuple):
    """Φ at a matrix of rank r."""

    value: float
    gradient: Tangent
    """The tangent part of ∇Φ."""
    square: float
    """‖clipped‖²."""


@dataclass(frozen=True, eq=False)
class Deviations:
    """λ‖u‖₁ of what a matrix leaves of the data."""

    kappa: float
    lam: float
    observed: np.ndarray | None
    """1 where an entry is observed, 0 elsewhere; None where all are."""

    def at(self, X: FixedRank, target: np.ndarray, s: float) -> Slope:
        """Φ and the tangent part of its gradient."""
        (m, n), most = target.shape, s * self.lam
        left, right = self.kappa * (X.U * X.sigma), np.ascontiguousarray(X.V.T)
        GV, GtU = np.empty((m, len(X.sigma))), np.zeros((len(X.sigma), n))
        rows = min(m, max(FEWEST, ENTRIES // n))
        u, room = np.empty((rows, n)), np.empty((rows, n))
        square = product = 0.0
        for i in range(0, m, rows):
            j = min(i + rows, m)
            part = u[: j - i]
            np.dot(left[i:j], right, out=part)
            np.subtract(target[i:j], part, out=part)
            if self.observed is not None:
                part *= self.observed[i:j]
            c = np.clip(part, -most, most, out=room[: j - i])
            square += float(np.vdot(c, c))
            product += float(np.vdot(c, part))
            np.dot(c, X.V, out=GV[i:j])
            GtU += X.U[i:j].T @ c
        scale = -self.kappa / s
        gradient = X.projected(scale * GV, (scale * GtU).T)
        return Slope((product - 0.5 * square) / s, gradient, square)

    def clipped(
        self, X: FixedRank, target: np.ndarray, s: float, data: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """clip(u, -sλ, sλ), and ‖κX + x̆ - B‖ = ‖T - clipped - B‖ with x̆ = u - clipped."""
        (m, n), most, square = target.shape, s * self.lam, 0.0
        left, right = self.kappa * (X.U * X.sigma), np.ascontiguousarray(X.V.T)
        found, rows = np.empty((m, n)), min(m, max(FEWEST, ENTRIES // n))
        for i in range(0, m, rows):
            j = min(i + rows, m)
            part = np.dot(left[i:j], right, out=found[i:j])
            np.subtract(target[i:j], part, out=part)
            if self.observed is not None:
                part *= self.observed[i:j]
            np.clip(part, -most, most, out=part)
            rest = target[i:j] - part
            rest -= data[i:j]
            square += float(np.vdot(rest, rest))
        return found, math.sqrt(square)

    def shown(
        self, X: FixedRank, target: np.ndarray, clipped: np.ndarray, s: float, gradient: Tangent, step: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, x̆ = u - clipped, exactly 0 where nothing is clipped, and v = x - step·(the normal part of ∇Φ)."""
        (m, n), most = target.shape, s * self.lam
        left, right = X.factors(gradient)
        left *= step
        left[:, : len(X.sigma)] += X.U * X.sigma  # left rightᵀ = x + step·(the tangent part)
        core, right, V = X.U * X.sigma, np.ascontiguousarray(right.T), np.ascontiguousarray(X.V.T)
        x, x_breve, v = (np.empty((m, n)) for _ in range(3))
        rows, pull = min(m, max(FEWEST, ENTRIES // n)), -step * self.kappa / s
        for i in range(0, m, rows):
            j = min(i + rows, m)
            c, part = clipped[i:j], np.multiply(np.dot(core[i:j], V, out=x[i:j]), self.kappa)
            rest = np.subtract(target[i:j], part, out=x_breve[i:j])
            rest -= c
            rest *= np.abs(c, out=part) >= most
            np.dot(left[i:j], right, out=v[i:j])
            v[i:j] -= np.multiply(c, pull, out=part)
        return x, x_breve, v

    def rest(self, X: FixedRank, target: np.ndarray) -> np.ndarray:
        """u."""
        u = target - (self.kappa * (X.U * X.sigma)) @ X.V.T
        return u if self.observed is None else u * self.observed
