"""λ times the number of jumps: piecewise constant signals, by dynamic programming."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, Shape, asarray, namespace, scalar, to_numpy
from ..operators import Operator
from ._arguments import number
from .base import Nonsmooth
from .scalar import one_step
from .structured import mean_over_stretches


class Jumps(Nonsmooth):
    """h(x) = λ·#{i : x_{i+1} ≠ x_i} along the first axis, summed over the others: L0(λ) of the differences.

    prox: the best piecewise constant signal, exact. With B(r) the least cost of v_1..v_r,

        B(r) = min over l ≤ r of  B(l-1) + λ + Σ_{l≤i≤r} (v_i - mean)²/(2s),   B(0) = -λ,

    where starts l that cannot become best are dropped: O(n) for signals with many jumps, O(n²) at worst.
    Friedrich, Kempe, Liebscher & Winkler, Complexity penalized M-estimation, J. Comput. Graph. Statist. 17 (2008);
    Killick, Fearnhead & Eckley, JASA 107 (2012) for the dropping.

    >>> Jumps(1.0).prox(np.array([0.0, 0.2, 5.0, 5.2]), 1.0)
    array([0.1, 0.1, 5.1, 5.1])
    """

    is_convex = False

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = number("Jumps", "lam", lam, above=0.0, or_equal=True)

    def __call__(self, x: Array) -> float:
        if x.ndim == 0:
            return 0.0
        xp = namespace(x)
        return self.lam * scalar(xp.sum(xp.astype(x[1:, ...] != x[:-1, ...], x.dtype)))

    def prox(self, v: Array, step: float) -> Array:
        t = self.lam * float(one_step(self, step))
        if v.ndim == 0 or v.shape[0] < 2 or t == 0.0:
            return namespace(v).asarray(v, copy=True)
        columns = to_numpy(v).reshape(v.shape[0], -1).T
        found = np.stack([fewest_jumps(column.astype(float), t) for column in columns], axis=1)
        return asarray(found.reshape(v.shape), v)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """The mean over every stretch on which prox(v, step) is constant."""
        return mean_over_stretches(to_numpy(self.prox(v, step)), v.ndim and self.lam * step > 0)

    def lipschitz(self, shape: Shape) -> float:
        """∞: it jumps."""
        return np.inf if shape and shape[0] > 1 and self.lam > 0 else 0.0

    def rescaled(self, d: float | Array) -> Jumps | None:
        """The same; None where d is not one number, which would make jumps of none."""
        return Jumps(self.lam) if np.ndim(d) == 0 else None


def fewest_jumps(v: np.ndarray, t: float) -> np.ndarray:
    """argmin_u t·#jumps(u) + ‖u - v‖²/2."""
    n, v = len(v), v - (middle := float(np.mean(v)))
    sums, squares = np.concatenate([[0.0], np.cumsum(v)]), np.concatenate([[0.0], np.cumsum(v * v)])
    best, origin = np.empty(n + 1), np.empty(n + 1, dtype=int)
    best[0] = -t
    starts = np.zeros(1, dtype=int)
    for r in range(1, n + 1):
        total = sums[r] - sums[starts]
        cost = best[starts] + 0.5 * np.maximum(
            squares[r] - squares[starts] - total * total / (r - starts), 0.0
        )
        k = int(np.argmin(cost))
        best[r], origin[r] = cost[k] + t, starts[k]
        starts = np.append(starts[cost <= best[r]], r)
    u, r = np.empty(n), n
    while r > 0:
        u[origin[r] : r] = middle + np.mean(v[origin[r] : r])
        r = int(origin[r])
    return u
