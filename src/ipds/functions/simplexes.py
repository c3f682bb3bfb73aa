"""Simplexes beyond the plain one: of every row, of every column, with upper bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Shape, namespace, scalar, to_numpy, truth
from ._arguments import bound, number, weight
from .jacobians import RankOnePerGroup, centring
from .scalar import fit
from .sets import Indicator, slack


class RowSimplex(Indicator):
    """{x ≥ 0 : every row x[i, ...] has the sum r_i}, r the `radius`, a number or one for each row.

    prox(v, s) = (v - τ_i)₊ with τ_i such that the sum of row i is right; all rows at once, by sorting.
    Held, Wolfe & Crowder, Validation of subgradient optimization, Math. Program. 6 (1974).

    >>> import numpy as np
    >>> RowSimplex().prox(np.array([[1.0, 0.8, -1.0], [3.0, 0.0, 0.0]]), 1.0)
    array([[0.6, 0.4, 0. ],
           [1. , 0. , 0. ]])
    """

    is_convex = True
    _axis = 0
    _line = "row"
    unit_powers = (("radius", -1),)

    def __init__(self, radius: float | Array = 1.0) -> None:
        name = type(self).__name__
        self.radius = weight(name, "radius", radius, positive=True)
        if np.ndim(self.radius) > 1:
            raise ValueError(
                f"{name}: radius must be a number or one per {self._line}, got {np.shape(self.radius)}"
            )

    def _lines(self, x: Array) -> Array:
        """The rows (or columns) as rows of a matrix."""
        if x.ndim < 2:
            raise ValueError(
                f"{type(self).__name__}: needs a block of at least two axes, got {tuple(x.shape)}"
            )
        xp = namespace(x)
        first = xp.moveaxis(x, self._axis, 0)
        return xp.reshape(first, (first.shape[0], -1))

    def _back(self, lines: Array, x: Array) -> Array:
        xp = namespace(x)
        first = xp.moveaxis(x, self._axis, 0)
        return xp.asarray(xp.moveaxis(xp.reshape(lines, first.shape), 0, self._axis), copy=True)

    def _totals(self, lines: Array) -> Any:
        if type(self.radius) is float:
            return self.radius
        return namespace(lines).reshape(fit(self.radius, lines[:, 0]), (-1, 1))

    def width(self, shape: Shape) -> float:
        """The largest radius."""
        return float(np.max(to_numpy(self.radius)))

    def contains(self, x: Array) -> bool:
        xp, lines = namespace(x), self._lines(x)
        totals = self._totals(lines)
        off = xp.abs(xp.sum(lines, axis=1, keepdims=True) - totals)
        return truth(xp.all(lines >= -slack(x) * totals) & xp.all(off <= slack(x) * totals))

    def project(self, v: Array) -> Array:
        return self._back(_on_simplexes(namespace(v), self._lines(v), self._totals(self._lines(v))), v)

    def prox_jacobian(self, v: Array, step: float) -> RankOnePerGroup:
        """d ↦ d - its mean over the entries > 0 of the row, on these entries."""
        xp = namespace(v)
        axes = tuple(a for a in range(v.ndim) if a != self._axis)
        return centring(xp.astype(self.project(v) > 0, v.dtype), axes)

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the set: Σ r_i max of row i."""
        xp, lines = namespace(y), self._lines(y)
        return scalar(xp.sum(self._totals(lines) * xp.max(lines, axis=1, keepdims=True)))


class ColumnSimplex(RowSimplex):
    """{x ≥ 0 : every column x[:, j, ...] has the sum r_j}, r the `radius`, a number or one for each column.

    As `RowSimplex`, along the other axis: with both on two blocks, the couplings of two distributions.
    """

    _axis = 1
    _line = "column"


def _on_simplexes(xp: Any, a: Array, totals: Any) -> Array:
    """(a_i - τ_i)₊ for the rows of a matrix: the k largest entries are above τ = (their sum - total)/k."""
    a = a - xp.max(a, axis=1, keepdims=True)  # moves no projection, and saves digits of large entries
    ordered = xp.flip(xp.sort(a, axis=1), axis=1)
    ranks = xp.arange(1, a.shape[1] + 1, dtype=a.dtype)
    above = ordered * ranks > xp.cumulative_sum(ordered, axis=1) - totals
    count = xp.sum(xp.astype(above, a.dtype), axis=1, keepdims=True)
    level = (xp.sum(xp.where(above, ordered, 0.0), axis=1, keepdims=True) - totals) / count
    excess = xp.clip(a - level, 0.0, None)
    # once more, for what rounding left
    level = level + (xp.sum(excess, axis=1, keepdims=True) - totals) / count
    return xp.clip(a - level, 0.0, None)


class CappedSimplex(Indicator):
    """{x : 0 ≤ x ≤ cap, Σ x_i = radius}, cap a number or an array; prox(v, s) = clip(v - τ, 0, cap).

    τ is where the sum is right: Σ clip(v_i - τ, 0, cap_i) is piecewise linear and decreasing in τ.
    Pardalos & Kovoor, An algorithm for a singly constrained class of quadratic programs, Math. Program. 46 (1990).

    >>> import numpy as np
    >>> CappedSimplex(1.0, cap=0.5).prox(np.array([1.0, 0.2, 0.1]), 1.0)
    array([0.5, 0.3, 0.2])
    """

    is_convex = True
    unit_powers = (("radius", -1), ("cap", -1))

    def __init__(self, radius: float = 1.0, cap: float | Array = 1.0) -> None:
        self.radius = number("CappedSimplex", "radius", radius, above=0.0)
        self.cap = bound("CappedSimplex", "cap", cap)
        if not np.all(to_numpy(self.cap) >= 0):
            raise ValueError("CappedSimplex: every entry of cap must be ≥ 0")

    def _caps(self, x: Array) -> Array:
        """Caps of all entries, none above the radius, which none can reach anyway."""
        xp = namespace(x)
        caps = xp.clip(fit(self.cap, x) + xp.zeros_like(x), None, self.radius)
        if scalar(xp.sum(caps)) < self.radius * (1.0 - slack(x)):
            raise ValueError(
                f"CappedSimplex: caps that add up to {scalar(xp.sum(caps)):g} admit no sum of {self.radius:g}; "
                "raise cap or lower radius"
            )
        return caps

    def width(self, shape: Shape) -> float:
        """radius."""
        return self.radius

    def contains(self, x: Array) -> bool:
        xp, room = namespace(x), slack(x) * self.radius
        within = xp.all((x >= -room) & (x <= fit(self.cap, x) + room))
        return truth(within & (xp.abs(xp.sum(x) - self.radius) <= room))

    def project(self, v: Array) -> Array:
        xp, caps = namespace(v), self._caps(v)
        v = v - xp.max(v)  # moves no projection, and saves digits of large entries
        return xp.asarray(xp.clip(v - self._level(xp, v, caps), 0.0, caps))

    def _level(self, xp: Any, v: Array, caps: Array) -> float:
        """τ by Newton's method on a piecewise linear function, in a bracket: exact once it finds the entries inside."""
        low, high = float(xp.min(v - caps)), 0.0  # all at their caps, all at 0
        level, before, eps = max(low, -self.radius), high - low, float(xp.finfo(v.dtype).eps)
        for _ in range(200):  # the bracket is halved every other time: all digits, also where none are found
            u = xp.clip(v - level, 0.0, caps)
            excess = float(xp.sum(u)) - self.radius
            free = int(xp.count_nonzero((u > 0) & (u < caps)))
            low, high = (level, high) if excess >= 0 else (low, level)
            newton = level + excess / max(free, 1)
            # Newton's step must stay in the bracket and be at most half of the last one, else the bracket is halved
            fast = free > 0 and low <= newton <= high and 2.0 * abs(newton - level) <= before
            following = newton if fast else 0.5 * (low + high)
            before, level = abs(following - level), following
            if before <= eps * (abs(level) + self.radius / max(free, 1)):
                break
        return level

    def prox_jacobian(self, v: Array, step: float) -> RankOnePerGroup:
        """d ↦ d - its mean over the entries strictly inside their bounds, on these entries."""
        u = self.project(v)
        return centring(namespace(v).astype((u > 0) & (u < self._caps(v)), v.dtype))

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the set: the largest entries of y are given their caps, as long as the sum lasts."""
        flat, caps = to_numpy(y).reshape(-1), to_numpy(self._caps(y)).reshape(-1)
        order = np.argsort(-flat)
        before = np.cumsum(caps[order]) - caps[order]
        return float(flat[order] @ np.clip(self.radius - before, 0.0, caps[order]))
