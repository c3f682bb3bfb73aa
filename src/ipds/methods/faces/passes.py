"""One pass over the data for a matrix known by its factors: value and gradient of the reduced problem.

min ‖u‖₁ λ over κ X + u = B on the entries observed, rank X = r. With u eliminated and T = B - z/(βc), s = 1/(βc²),

    u = T - κ X,   clipped = clip(u, -sλ, sλ),   Φ(X) = (⟨clipped, u⟩ - ½‖clipped‖²)/s,   ∇Φ(X) = -(κ/s) clipped,

and steps on matrices of rank r need no more of ∇Φ than its products with U and V. Rows are taken a few at a time, so
that they stay in the cache between the product with the factors and the products with the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...functions.fixed_rank import FixedRank, Tangent
from ...operators import Operator
from ...operators.sampling import Sampling

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

    def single(self) -> Deviations:
        """The same for data in single precision."""
        seen = self.observed
        return self if seen is None else replace(self, observed=seen.astype(np.float32))

    def rows(
        self, X: FixedRank, target: np.ndarray, out: np.ndarray | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """u, a few rows at a time, in `out`; where that is None, in the place of the rows before them."""
        (m, n), left = target.shape, self.kappa * (X.U * X.sigma)
        right, count = np.ascontiguousarray(X.V.T), min(m, max(FEWEST, ENTRIES // n))
        room = np.empty((count, n)) if out is None else out
        for i in range(0, m, count):
            here = slice(i, min(i + count, m))
            part = room[: here.stop - i] if out is None else room[here]
            np.dot(left[here], right, out=part)
            np.subtract(target[here], part, out=part)
            if self.observed is not None:
                part *= self.observed[here]
            yield here, part

    def at(self, X: FixedRank, target: np.ndarray, s: float) -> Slope:
        """Φ and the tangent part of its gradient."""
        (m, n), most, r = target.shape, s * self.lam, len(X.sigma)
        GV, GtU = np.empty((m, r)), np.zeros((r, n))
        square = product = 0.0
        room: np.ndarray | None = None
        for here, u in self.rows(X, target):
            room = np.empty_like(u) if room is None else room
            c = np.clip(u, -most, most, out=room[: len(u)])
            square += float(np.vdot(c, c))
            product += float(np.vdot(c, u))
            np.dot(c, X.V, out=GV[here])
            GtU += X.U[here].T @ c
        scale = -self.kappa / s
        gradient = X.projected(scale * GV, (scale * GtU).T)
        return Slope((product - 0.5 * square) / s, gradient, square)

    def clipped(
        self, X: FixedRank, target: np.ndarray, s: float, data: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """clip(u, -sλ, sλ), and ‖κX + x̆ - B‖ = ‖T - clipped - B‖ with x̆ = u - clipped."""
        most, square, found = s * self.lam, 0.0, np.empty(target.shape)
        for here, u in self.rows(X, target, found):
            rest = u.clip(-most, most, out=u)
            if target is not data:
                rest = target[here] - rest
                rest -= data[here]
            square += float(np.vdot(rest, rest))
        return found, math.sqrt(square)

    def sizes(self, X: FixedRank, target: np.ndarray) -> tuple[float, float]:
        """λ‖u‖₁ and ‖u‖²."""
        total = square = 0.0
        for _, u in self.rows(X, target):
            square += float(np.vdot(u, u))
            total += float(np.abs(u, out=u).sum())
        return self.lam * total, square

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
        room = np.empty((rows, n))
        for i in range(0, m, rows):
            j = min(i + rows, m)
            c, part = clipped[i:j], room[: j - i]
            rest = np.multiply(np.dot(core[i:j], V, out=x[i:j]), -self.kappa, out=x_breve[i:j])
            rest += target[i:j]
            rest -= c
            rest *= np.abs(c, out=part) >= most
            np.dot(left[i:j], right, out=v[i:j])
            v[i:j] -= np.multiply(c, pull, out=part)
        return x, x_breve, v


def spread(op: Operator, y: np.ndarray) -> np.ndarray:
    """Rows of the equation as entries of the matrix, 0 where not observed."""
    return op.adjoint(y) if isinstance(op, Sampling) else y


def gather(op: Operator, x: np.ndarray) -> np.ndarray:
    """Entries of the matrix as rows of the equation."""
    return op.apply(x) if isinstance(op, Sampling) else x
