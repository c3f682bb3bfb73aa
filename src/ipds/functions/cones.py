"""What closed convex cones have in common, and the second-order cone: one in a vector, or one in every row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, namespace, of_arrays, to_numpy, truth
from .far import vanishes
from .groups import row_norms
from .jacobians import Jacobian
from .sets import Indicator, slack


class ConvexCone(Indicator):
    """A closed convex cone K: λx ∈ K for x ∈ K and λ ≥ 0; a subclass gives `contains` and `project`."""

    is_convex = True
    unit_powers = ()

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the cone: 0 for y in its polar cone, where the projection is 0; else ∞."""
        return 0.0 if vanishes(self.project(y), 1.0, y) else math.inf

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: its projection."""
        return self.project(d)

    def recession(self, d: Array) -> float:
        """0 for d in the cone, else ∞."""
        return 0.0 if vanishes(d - self.project(d), 1.0, d) else math.inf


class SecondOrderCone(ConvexCone):
    """{x : ‖(x_1, x_2, …)‖₂ ≤ x_0}; of a matrix every row is such a vector.

    prox(v, s) = v inside, 0 where ‖y‖ ≤ -t, else (t + ‖y‖)/2 · (1, y/‖y‖), with v = (t, y).
    Alizadeh & Goldfarb, Second-order cone programming, Math. Program. 95 (2003).

    >>> import numpy as np
    >>> SecondOrderCone().prox(np.array([0.0, 3.0, 4.0]), 1.0)
    array([2.5, 1.5, 2. ])
    """

    def contains(self, x: Array) -> bool:
        t, _, size = _parts(x)
        return truth(namespace(x).all(size <= t + slack(x) * (abs(t) + size)))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        t, y, size = _parts(v)
        top = xp.where(size <= t, t, xp.where(size <= -t, 0.0, 0.5 * (t + size)))
        ratio = xp.where(size <= t, 1.0, top / xp.where(size > 0, size, 1.0))
        u = xp.concat([top[:, None], y * ratio[:, None]], axis=1)
        return xp.reshape(u, v.shape)

    def prox_jacobian(self, v: Array, step: float) -> Jacobian:
        """The identity inside, 0 in the polar cone, else what follows from the eigenvalues 1, 0 and (1 + t/‖y‖)/2."""
        return ConeJacobian(v)


def _rows(x: Array) -> Array:
    if x.ndim not in (1, 2) or x.shape[-1] == 0:
        raise ValueError(
            f"SecondOrderCone: needs a vector, or one in every row of a matrix, got shape {tuple(x.shape)}"
        )
    return namespace(x).reshape(x, (-1, x.shape[-1]))


def _parts(x: Array) -> tuple[Array, Array, Array]:
    """(t, y, ‖y‖) of every row."""
    rows = _rows(x)
    y = rows[:, 1:]
    t = rows[:, 0]
    return t, y, row_norms(y) if y.shape[1] else 0.0 * t


class ConeJacobian(Jacobian):
    """a·I + b·ppᵀ + c·mmᵀ for every row, with p = (1, y/‖y‖)/√2 along the edge nearest to it and m = (1, -y/‖y‖)/√2.

    Outside of the cone and its polar a = (1 + r)/2, b = (1 - r)/2, c = -(1 + r)/2 with r = t/‖y‖: eigenvalues a, 1, 0.
    """

    def __init__(self, v: Array) -> None:
        super().__init__(v.shape)
        xp = namespace(v)
        t, y, size = _parts(v)
        outside = xp.abs(t) < size
        safe = xp.where(outside, size, 1.0)
        r = xp.where(outside, t / safe, 0.0)
        self.a = xp.where(outside, 0.5 * (1.0 + r), xp.astype(size <= t, v.dtype))
        self.b, self.c = xp.where(outside, 0.5 * (1.0 - r), 0.0), xp.where(outside, -0.5 * (1.0 + r), 0.0)
        side, one = y * (math.sqrt(0.5) / safe)[:, None], math.sqrt(0.5) * xp.ones_like(t)[:, None]
        self.p, self.m = xp.concat([one, side], axis=1), xp.concat([one, -side], axis=1)

    def apply(self, x: Array) -> Array:
        xp, rows = namespace(x), _rows(x)

        def along(direction: Array, weights: Array) -> Array:
            return direction * (weights * xp.sum(direction * rows, axis=1))[:, None]

        return xp.reshape(self.a[:, None] * rows + along(self.p, self.b) + along(self.m, self.c), x.shape)

    def low_rank(self) -> tuple[np.ndarray, Any, np.ndarray]:
        count, width = self.p.shape
        size, groups = count * width, np.repeat(np.arange(count), width)
        entries = np.stack([to_numpy(self.p).reshape(-1), to_numpy(self.m).reshape(-1)], axis=1)
        places, ends = np.stack([groups, count + groups], axis=1).reshape(-1), 2 * np.arange(size + 1)
        V = of_arrays("csr_array", (size, 2 * count), entries.reshape(-1), places, ends)
        return np.repeat(to_numpy(self.a), width), V, np.concatenate([to_numpy(self.b), to_numpy(self.c)])
