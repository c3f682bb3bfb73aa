"""Squared losses as h: of all entries, and of those short of a margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, namespace, to_numpy
from ._arguments import weight
from .entrywise import Entrywise, finite, sizes
from .scalar import fit


class SumSquares(Entrywise):
    """h(x) = Σ λ_i (x_i - t_i)²; prox(v, s) = t + (v - t)/(1 + 2sλ).

    A squared norm with a prox; ½‖x‖² is `SumSquares(0.5)`. As f, a smooth function of a block, see `LeastSquares`.

    >>> import numpy as np
    >>> SumSquares(0.5, target=1.0).prox(np.array([3.0]), 1.0)
    array([2.])
    """

    is_differentiable = True
    unit_powers = (("lam", 2), ("target", -1))

    def __init__(self, lam: float | Array = 1.0, target: float | Array = 0.0) -> None:
        self.lam, self.target = weight("SumSquares", "lam", lam), finite("SumSquares", "target", target)

    def terms(self, x: Array) -> Array:
        apart = x - fit(self.target, x)
        return fit(self.lam, x) * apart * apart

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        target = fit(self.target, v)
        return target + (v - target) * self._jacobian(xp, v, step)

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        return xp.ones_like(v) / (1.0 + 2.0 * fit(self.lam, v) * step)

    def _recession(self, xp: Any, d: Array) -> Array:
        return xp.where((fit(self.lam, d) > 0) & (d != 0), math.inf, 0.0 * d)

    def prox_size(self, v: Array) -> Any:
        return sizes(v, self.target)

    def subgradient(self, x: Array) -> Array:
        return 2.0 * fit(self.lam, x) * (x - fit(self.target, x))

    def bend(self, x: Array) -> Array:
        return 2.0 * fit(self.lam, x) + 0.0 * x

    def largest_bend(self) -> float:
        return 2.0 * float(np.max(to_numpy(self.lam), initial=0.0))


class SquaredHinge(Entrywise):
    """h(x) = Σ λ_i max(m_i - x_i, 0)², m the margin; prox(v, s) = v where v ≥ m, else m + (v - m)/(1 + 2sλ).

    Chang, Hsieh & Lin, Coordinate descent method for large-scale L2-loss linear SVM, JMLR 9 (2008).
    """

    is_differentiable = True
    unit_powers = (("lam", 2), ("margin", -1))

    def __init__(self, lam: float | Array = 1.0, margin: float | Array = 1.0) -> None:
        self.lam, self.margin = weight("SquaredHinge", "lam", lam), finite("SquaredHinge", "margin", margin)

    def terms(self, x: Array) -> Array:
        short = namespace(x).clip(fit(self.margin, x) - x, 0.0, None)
        return fit(self.lam, x) * short * short

    def _prox(self, xp: Any, v: Array, step: Any) -> Array:
        margin = fit(self.margin, v)
        return xp.maximum(v, margin + (v - margin) / (1.0 + 2.0 * fit(self.lam, v) * step))

    def _jacobian(self, xp: Any, v: Array, step: Any) -> Array:
        short = v < fit(self.margin, v)
        return xp.where(short, 1.0 / (1.0 + 2.0 * fit(self.lam, v) * step), xp.ones_like(v))

    def _recession(self, xp: Any, d: Array) -> Array:
        return xp.where((fit(self.lam, d) > 0) & (d < 0), math.inf, 0.0 * d)

    def prox_size(self, v: Array) -> Any:
        return sizes(v, self.margin)

    def subgradient(self, x: Array) -> Array:
        return -2.0 * fit(self.lam, x) * namespace(x).clip(fit(self.margin, x) - x, 0.0, None)

    def bend(self, x: Array) -> Array:
        return 2.0 * fit(self.lam, x) * namespace(x).astype(x < fit(self.margin, x), x.dtype)

    def largest_bend(self) -> float:
        return 2.0 * float(np.max(to_numpy(self.lam), initial=0.0))
