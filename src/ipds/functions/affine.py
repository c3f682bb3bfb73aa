"""Indicators of affine sets: solutions of linear equations, half spaces, matrices with a given diagonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    Shape,
    asarray,
    choose,
    dot,
    greatest,
    magnitude,
    namespace,
    norm,
    require_real,
    scalar,
    to_numpy,
    truth,
)
from ..operators import Operator
from ._arguments import bound, number
from .entrywise import finite
from .far import FLAT, vanishes
from .jacobians import Projector, RankOnePerGroup
from .kinks import Kinks
from .rescaling import row_units, units
from .sets import Indicator, slack


class Affine(Indicator):
    """{x : A x = b}, A a matrix on the first axis of x; prox(v, s) = v - W (Wᵀv - c) with A = U Σ Wᵀ.

    Dependent rows are fine, as long as they do not contradict each other. Factored once, O(rank·n) per use.
    """

    is_convex = True

    def __init__(self, A: Any, b: Any) -> None:
        require_real("Affine: A", A)
        require_real("Affine: b", b)
        A = np.asarray(A.toarray() if hasattr(A, "toarray") else to_numpy(A), dtype=float)
        b = np.asarray(to_numpy(b), dtype=float)
        if A.ndim != 2 or A.size == 0:
            raise ValueError(f"Affine: A must be a nonempty matrix, got shape {A.shape}")
        if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
            raise ValueError(f"Affine: b must have {A.shape[0]} rows, as A has, got shape {b.shape}")
        if not (np.all(np.isfinite(A)) and np.all(np.isfinite(b))):
            raise ValueError("Affine: A and b must be finite")
        u, s, wt = np.linalg.svd(A, full_matrices=False)
        rank = int(np.count_nonzero(s > s[0] * max(A.shape) * np.finfo(float).eps))
        target = u[:, :rank].T @ b
        if norm(b - u[:, :rank] @ target) > 1e-9 * max(norm(b), 1e-300):
            raise ValueError("Affine: no x solves A x = b")
        self.A, self.b = A, b
        self._w = np.ascontiguousarray(wt[:rank].T)
        self._c = target / (s[:rank] if b.ndim == 1 else s[:rank, None])

    def contains(self, x: Array) -> bool:
        w, c = asarray(self._w, x), asarray(self._c, x)
        return truth(magnitude(w.T @ x - c) <= slack(x) * (magnitude(c) + magnitude(x)))

    def project(self, v: Array) -> Array:
        w, c = asarray(self._w, v), asarray(self._c, v)
        return v - w @ (w.T @ v - c)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I - W Wᵀ."""
        return Projector(self._w, v.shape)

    def support(self, y: Array) -> float:
        """⟨Wᵀy, c⟩ for y = W Wᵀy, else ∞."""
        w, c = asarray(self._w, y), asarray(self._c, y)
        inside = w.T @ y
        return scalar(namespace(y).sum(inside * c)) if vanishes(y - w @ inside, 1.0, y) else math.inf

    def recession(self, d: Array) -> float:
        """0 for A d = 0, else ∞."""
        return 0.0 if vanishes(asarray(self._w, d).T @ d, 1.0, d) else math.inf

    def receding(self, d: Array) -> Array:
        """d - W Wᵀd."""
        w = asarray(self._w, d)
        return d - w @ (w.T @ d)

    def rescaled(self, d: float | Array) -> Affine | None:
        """The columns of A times d; None where d differs within a row of a block of columns."""
        rows = row_units(d)
        return None if rows is None else Affine(self.A * rows, self.b)


class HalfSpace(Indicator):
    """{x : ⟨a, x⟩ ≤ b}; prox(v, s) = v - (⟨a, v⟩ - b)₊ a/‖a‖², with a of the shape of x."""

    is_convex = True

    def __init__(self, a: Any, b: float = 0.0) -> None:
        a = to_numpy(bound("HalfSpace", "a", a))
        if not np.all(np.isfinite(a)) or not np.any(a):
            raise ValueError("HalfSpace: a must be finite and not 0")
        size = norm(a)
        self.a, self.b = a, number("HalfSpace", "b", b)
        self._unit, self._offset = a / size, self.b / size

    def contains(self, x: Array) -> bool:
        over = dot(asarray(self._unit, x), x) - self._offset
        return truth(over <= slack(x) * (abs(self._offset) + magnitude(x)))

    def project(self, v: Array) -> Array:
        unit = asarray(self._unit, v)
        for _ in range(2):  # the second time takes away what rounding left of a v far out
            v = v - unit * greatest(dot(unit, v) - self._offset, 0.0)
        return v

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I inside; outside I - aaᵀ/‖a‖²."""
        unit = asarray(self._unit, v)
        return RankOnePerGroup(1.0, unit, choose(dot(unit, v) > self._offset, -1.0, 0.0))

    def support(self, y: Array) -> float:
        """b·t for y = t a with t ≥ 0, else ∞."""
        unit = asarray(self._unit, y)
        along = float(dot(unit, y))
        return along * self._offset if along >= 0 and vanishes(y - along * unit, 1.0, y) else math.inf

    def recession(self, d: Array) -> float:
        """0 for ⟨a, d⟩ ≤ 0, else ∞."""
        return 0.0 if float(dot(asarray(self._unit, d), d)) <= FLAT * norm(d) else math.inf

    def receding(self, d: Array) -> Array:
        """d - ⟨a, d⟩₊ a/‖a‖²."""
        unit = asarray(self._unit, d)
        return d - unit * greatest(dot(unit, d), 0.0)

    def rescaled(self, d: float | Array) -> HalfSpace:
        """a times d."""
        return HalfSpace(self.a * units(d), self.b)


class DiagonalEquals(Indicator):
    """{x square : x_ii = c_i}, c the `values`, a number or one for each row; prox(v, s) = v with that diagonal.

    Together with `PSD` on a second block: correlation matrices, with `Rank` those of few factors.
    Higham, Computing the nearest correlation matrix, IMA J. Numer. Anal. 22 (2002).

    >>> import numpy as np
    >>> DiagonalEquals(1.0).prox(np.array([[3.0, 0.5], [0.5, 2.0]]), 1.0)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    is_convex = True
    is_entrywise = True

    def __init__(self, values: float | Array = 1.0) -> None:
        self.values = finite("DiagonalEquals", "values", values)
        if np.ndim(self.values) > 1:
            raise ValueError(
                f"DiagonalEquals: values must be a number or a vector, got {np.shape(self.values)}"
            )

    def _eye(self, x: Array) -> Array:
        """Which entries are on the diagonal."""
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"DiagonalEquals: needs a square matrix, got shape {tuple(x.shape)}")
        xp = namespace(x)
        return xp.eye(x.shape[0], dtype=x.dtype) > 0

    def _values(self, x: Array) -> Array:
        """The values as a column that broadcasts to x, of which the diagonal counts."""
        column = asarray(self.values, x)
        return column if column.ndim == 0 else column[:, None]

    def contains(self, x: Array) -> bool:
        xp, values = namespace(x), self._values(x)
        room = slack(x) * (xp.abs(values) + xp.max(xp.abs(x)))
        return truth(xp.all((xp.abs(x - values) <= room) | ~self._eye(x)))

    def project(self, v: Array) -> Array:
        return namespace(v).where(self._eye(v), self._values(v), v)

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """1 off the diagonal, 0 on it."""
        xp = namespace(v)
        return xp.astype(~self._eye(v), v.dtype)

    def rescaled(self, d: float | Array) -> DiagonalEquals:
        """u ↦ h(d·u), d > 0: the values divided by the diagonal of d."""
        if np.ndim(d) == 2:
            d = np.diagonal(np.broadcast_to(d, (max(np.shape(d)),) * 2))
        return DiagonalEquals(self.values / d)

    def kinks(self, shape: Shape) -> Kinks:
        """Bounds that fix the diagonal and leave the rest free."""
        values = np.broadcast_to(to_numpy(self.values), shape[:1])
        lower, upper = np.full(shape, -math.inf), np.full(shape, math.inf)
        np.fill_diagonal(lower, values)
        np.fill_diagonal(upper, values)
        return Kinks(lower=lower, upper=upper)
