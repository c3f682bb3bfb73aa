"""λ times the number of jumps: piecewise constant signals, by dynamic programming."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, Shape, asarray, namespace, scalar, to_numpy
from ..operators import Operator
from ._arguments import number
from .base import Nonsmooth
from .faces import Support
from .scalar import one_step
from .structured import mean_over_stretches
from .thresholding import L0


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
    unit_powers = ()

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


class Increments(L0):
    """h(w) = λ·#{i > 1 : w_i ≠ 0}: `Jumps(λ)` of x_i = w_1 + ... + w_i, whose faces have free entries.

    >>> Increments(2.0, 4)(np.array([3.0, 0.0, 1.0, 0.0]))
    2.0
    """

    def __init__(self, lam: float, n: int) -> None:
        super().__init__(np.concatenate([[0.0], np.full(n - 1, lam)]))

    def face(self, x: Array) -> Breaks:
        """The first value and the jumps; only these take each other's place."""
        first = np.arange(len(x)) == 0
        cost = np.asarray(self.lam, float)
        return Breaks(x, (x != 0) | first, exchange=first.astype(np.int8), cost=cost)


class Breaks(Support):
    """Where a signal x_i = w_1 + ... + w_i may jump: at the free entries of w. The first is always free."""

    is_rugged = True

    def pull(self, g: np.ndarray) -> np.ndarray:
        """How fast a function of gradient g in w falls as x jumps at an entry, and its stretch stays centred.

        A jump that leaves a entries of its stretch before it and b after it moves x along a vector of length
        √(ab/(a+b)), not √(n - i), which is that of the column of w_i.
        """
        n, i = g.size, np.arange(g.size)
        last = np.searchsorted(self.free, i, side="right") - 1
        before = i - self.free[last]
        after = np.append(self.free, n)[last + 1] - i
        length = before * after / (before + after)
        return np.abs(g) * np.sqrt((n - i) / np.where(before > 0, length, n - i))

    def neighbours(self, score: np.ndarray, count: int) -> list[tuple[int, np.ndarray]]:
        """The best place for a jump in every stretch, in the place of any other jump."""
        best = np.zeros(score.size)
        for part in np.split(np.arange(score.size), self.free[1:]):
            k = part[np.argmax(np.where(self.label[part], 0.0, score[part]))]
            best[k] = score[k]
        return super().neighbours(best, count)


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


def fewest_jumps_among(levels: np.ndarray, cost: np.ndarray, t: float) -> np.ndarray:
    """argmin t·#jumps(u) + Σ_i cost_i(u_i) over signals with values among K levels, `cost` being n x K: O(nK).

    With V_i(k) the least cost of u_1..u_i that end at level k: V_i(k) = cost_i(k) + min(V_{i-1}(k), min V_{i-1} + t).

    >>> y = np.array([0.0, 0.0, 0.3, 9.0, 0.1, 0.1])
    >>> fewest_jumps_among(y, np.abs(y[:, None] - y), 1.0), fewest_jumps_among(y, np.abs(y[:, None] - y), 5.0)
    (array([0. , 0. , 0. , 9. , 0.1, 0.1]), array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1]))
    """
    value, came = cost[0].copy(), np.empty((len(cost), len(levels)), dtype=int)
    stay = np.arange(len(levels))
    for i in range(1, len(cost)):
        k = int(np.argmin(value))
        jumps = value > value[k] + t
        came[i] = np.where(jumps, k, stay)
        value = np.where(jumps, value[k] + t, value) + cost[i]
    u, k = np.empty(len(cost)), int(np.argmin(value))
    for i in range(len(cost) - 1, -1, -1):
        u[i] = levels[k]
        k = int(came[i, k]) if i else k
    return u


def fewest_jumps_between(
    bend: np.ndarray, slope: np.ndarray, lower: np.ndarray, upper: np.ndarray, t: float
) -> np.ndarray | None:
    """argmin t·#jumps(u) + Σ_i ½ bend_i u_i² + slope_i u_i over lower ≤ u ≤ upper: O(n²).

    Entries without a bend have no slope. With B(r) as in `Jumps`, each stretch at the best value that all of its bounds
    allow. None where some bounds leave no value.

    >>> one = np.ones(4)
    >>> fewest_jumps_between(one, -np.array([-2.0, -1.0, 5.0, 7.0]), 0 * one, np.inf * one, 1.0)
    array([0., 0., 6., 6.])
    """
    n, total = len(bend), float(np.sum(bend))
    middle = -float(np.sum(slope)) / total if total > 0 else 0.0
    bends, slopes = (np.concatenate([[0.0], np.cumsum(c)]) for c in (bend, slope + middle * bend))
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    best, origin, value = np.concatenate([[-t], np.empty(n)]), np.empty(n + 1, dtype=int), np.empty(n + 1)
    for r in range(1, n + 1):
        low[:r] = np.maximum(low[:r], lower[r - 1] - middle)
        high[:r] = np.minimum(high[:r], upper[r - 1] - middle)
        W, C = bends[r] - bends[:r], slopes[r] - slopes[:r]
        u = np.clip(np.where(W > 0, -C / np.where(W > 0, W, 1.0), 0.0), low[:r], high[:r])
        cost = np.where(low[:r] <= high[:r], best[:r] + 0.5 * W * u * u + C * u, np.inf)
        k = int(np.argmin(cost))
        best[r], origin[r], value[r] = cost[k] + t, k, u[k]
    if not np.isfinite(best[n]):
        return None
    signal, r = np.empty(n), n
    while r > 0:
        signal[origin[r] : r] = middle + value[r]
        r = int(origin[r])
    return signal
