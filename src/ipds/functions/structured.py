"""Convex penalties that are not sums over entries or groups: largest entry, nuclear norm, total variation."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from .._arrays import Array, Shape, asarray, choose, either, magnitude, namespace, scalar, to_numpy, truth
from ..operators import Operator
from .jacobians import RankOnePerGroup, Spectral
from .levels import simplex_level
from .norms import Norm
from .scalar import one_step, soft


class Linf(Norm):
    """h(x) = λ max_i |x_i|; prox(v, s) = v - P(v), P the projection on the ℓ1 ball of radius sλ (Moreau).

    It cuts the largest entries at one level: clip(v, -τ, τ) with Σ(|v| - τ)₊ = sλ.
    Parikh & Boyd, Proximal Algorithms (2014), section 6.5.2.

    >>> Linf(1.0).prox(np.array([3.0, -1.0]), 1.0)
    array([ 2., -1.])
    """

    def __call__(self, x: Array) -> float:
        xp = namespace(x)
        return self.lam * scalar(xp.max(xp.abs(x))) if math.prod(x.shape) else 0.0

    def prox(self, v: Array, step: float) -> Array:
        xp = namespace(v)
        t = self.lam * one_step(self, step)
        a = xp.reshape(xp.abs(v), (-1,))
        if type(t) is float and t == 0.0:
            return xp.asarray(v, copy=True)
        large = truth(xp.sum(a) <= t) | (t > float(xp.finfo(v.dtype).max))

        def cut(v: Array) -> Array:
            level = simplex_level(a, t)
            return xp.asarray(xp.clip(v, -level, level))

        return either(large, xp.zeros_like, cut, v)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """I on the entries below the level τ; ssᵀ/k on the k at it, with their signs s; 0 where the prox is 0."""
        xp, t, p = namespace(v), self.lam * one_step(self, step), self.prox(v, step)
        cut = xp.astype(xp.abs(p) < xp.abs(v), v.dtype)
        gone = choose(magnitude(p) > 0, 0.0, 1.0) * choose(t > 0, 1.0, 0.0)
        weight = (1.0 - gone) / xp.clip(xp.sum(cut), 1.0, None)
        return RankOnePerGroup((1.0 - cut) * (1.0 - gone), xp.sign(v) * cut, weight)

    def lipschitz(self, shape: Shape) -> float:
        return self.lam

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        flat = xp.reshape(x, (-1,))
        first = xp.argmax(xp.abs(flat))
        here = xp.arange(flat.shape[0]) == first
        return xp.reshape(self.lam * xp.sign(flat) * xp.astype(here, x.dtype), x.shape)


class Nuclear(Norm):
    """h(x) = λ Σ σ_i(x), the nuclear norm of a matrix; prox soft-thresholds the singular values by sλ.

    Cai, Candès & Shen, A singular value thresholding algorithm for matrix completion, SIOPT 20 (2010).

    >>> Nuclear(1.0).prox(np.diag([3.0, 0.5]), 1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    def __call__(self, x: Array) -> float:
        xp = namespace(x)
        if type(x) is np.ndarray and not math.isfinite(magnitude(x)):
            return math.nan
        return self.lam * scalar(xp.sum(xp.linalg.svdvals(x)))

    def prox(self, v: Array, step: float) -> Array:
        xp = namespace(v)
        if type(v) is np.ndarray and not math.isfinite(magnitude(v)):
            return np.full_like(v, math.nan)  # a diverged iterate: let the solver see it
        u, s, wt = xp.linalg.svd(v, full_matrices=False)
        return (u * soft(xp, s, self.lam * one_step(self, step))) @ wt

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """`Spectral`, of the soft threshold."""
        xp = namespace(v)
        u, s, wt = xp.linalg.svd(v, full_matrices=False)
        return Spectral(u, s, wt, soft(xp, s, self.lam * one_step(self, step)), 1.0)

    def lipschitz(self, shape: Shape) -> float:
        return self.lam * math.sqrt(min(shape))

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        u, s, wt = xp.linalg.svd(x, full_matrices=False)
        real = s > xp.max(s) * max(x.shape) * float(xp.finfo(x.dtype).eps)
        return self.lam * ((u * xp.astype(real, x.dtype)) @ wt)


class TotalVariation1D(Norm):
    """h(x) = λ Σ_i |x_{i+1} - x_i| along the first axis, summed over the others.

    prox: the taut string through the tube of radius sλ around the running sums of v, exact, O(n) per signal.
    Davies & Kovac, Local extremes, runs, strings and multiresolution, Ann. Statist. 29 (2001).

    >>> TotalVariation1D(1.0).prox(np.array([0.0, 0.0, 6.0, 6.0]), 1.0)
    array([0.5, 0.5, 5.5, 5.5])
    """

    def __call__(self, x: Array) -> float:
        if x.ndim == 0:
            return 0.0
        xp = namespace(x)
        return self.lam * scalar(xp.sum(xp.abs(x[1:, ...] - x[:-1, ...])))

    def prox(self, v: Array, step: float) -> Array:
        xp = namespace(v)
        t = self.lam * float(one_step(self, step))
        if v.ndim == 0 or v.shape[0] < 2 or t == 0.0:
            return xp.asarray(v, copy=True)
        return asarray(_taut_strings(v, t), v)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """The mean over every stretch on which prox(v, step) is constant."""
        return mean_over_stretches(to_numpy(self.prox(v, step)), v.ndim and self.lam * step > 0)

    def lipschitz(self, shape: Shape) -> float:
        """λ‖Dᵀs‖ for the worst signs s: alternating ones."""
        if not shape or shape[0] < 2:
            return 0.0
        return self.lam * math.sqrt((4 * shape[0] - 6) * math.prod(shape[1:]))

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        if x.ndim == 0 or x.shape[0] < 2:
            return xp.zeros_like(x)
        sign = self.lam * xp.sign(x[1:, ...] - x[:-1, ...])
        zero = xp.zeros_like(x[:1, ...])
        return xp.concat([zero, sign]) - xp.concat([sign, zero])


def mean_over_stretches(u: np.ndarray, joined: Any = True) -> Operator:
    """d ↦ its means over the stretches on which u is constant along the first axis; d itself where not `joined`."""
    if not joined:
        labels = np.arange(u.size)
    else:  # a new stretch begins at the top of each column and at each jump, one column after another
        starts = np.ones(u.shape, dtype=bool)
        starts[1:] = u[1:] != u[:-1]
        columns = starts.reshape(u.shape[0], -1).T
        labels = (np.cumsum(columns).reshape(columns.shape) - 1).T.reshape(-1)
    means = 1.0 / np.bincount(labels)
    return RankOnePerGroup(0.0, np.ones(u.shape, u.dtype), means, labels=labels)


def _taut_strings(v: Array, t: float) -> np.ndarray:
    """The taut string of every column, in double precision."""
    columns = to_numpy(v).reshape(v.shape[0], -1).T
    return np.stack([taut_string(column.tolist(), t) for column in columns], axis=1).reshape(v.shape)


def taut_string(v: list[float], t: float) -> list[float]:
    """argmin_u t Σ|u_{i+1} - u_i| + ‖u - v‖²/2 by dynamic programming over i.

    The cost of the best start u_1..u_i as a function of u_i = b has a nondecreasing, piecewise linear
    derivative, kept as its first piece (slope, intercept), its last, and the change at each knot between.
    Letting b move at price t clips that derivative to [-t, t]; where it is cut decides u_i from u_{i+1}.
    Johnson, A dynamic programming algorithm for the fused lasso and l0-segmentation, JCGS 22 (2013).
    """
    knots: deque[tuple[float, float, float]] = deque()
    low, high = [], []
    left = right = (1.0, -v[0])
    for value in v[1:]:
        slope, level = left
        while knots and slope * knots[0][0] + level < -t:
            _, more, rise = knots.popleft()
            slope, level = slope + more, level + rise
        low.append((-t - level) / slope)
        enter = (low[-1], slope, level + t)
        slope, level = right
        while knots and slope * knots[-1][0] + level > t:
            _, more, rise = knots.pop()
            slope, level = slope - more, level - rise
        high.append((t - level) / slope)
        knots.append((high[-1], -slope, t - level))
        knots.appendleft(enter)
        left, right = (1.0, -t - value), (1.0, t - value)
    slope, level = left
    while knots and slope * knots[0][0] + level < 0.0:
        _, more, rise = knots.popleft()
        slope, level = slope + more, level + rise
    u = [-level / slope]
    for lo, hi in zip(reversed(low), reversed(high), strict=True):
        u.append(min(max(u[-1], lo), hi))
    return u[::-1]
