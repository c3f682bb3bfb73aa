"""Nonconvex functions that choose entries: exactly k ones, and squares without the k largest."""

from __future__ import annotations

import math

from .._arrays import Array, namespace, scalar, truth
from ._arguments import count, number
from .base import Nonsmooth
from .scalar import one_step
from .sets import Indicator, slack
from .sparse_sets import largest


def _top(x: Array, k: int) -> Array:
    """Mask of the k largest entries of an array; of ties, the first ones."""
    xp = namespace(x)
    return xp.reshape(largest(xp, xp.reshape(x, (-1,)), k), x.shape)


class KBinary(Indicator):
    """{x : k entries are 1, all others 0}; prox(v, s) has its ones at the k largest entries of v (of ties, the first).

    A choice of k out of N: of sensors, of samples, of edges.

    >>> import numpy as np
    >>> KBinary(2).prox(np.array([0.3, -3.0, 0.2, 5.0]), 1.0)
    array([1., 0., 0., 1.])
    """

    is_discrete = True

    def __init__(self, k: int) -> None:
        self.k = count("KBinary", "k", k)

    def _fitting(self, x: Array) -> None:
        size = math.prod(x.shape)
        if size < self.k:
            raise ValueError(f"KBinary: {self.k} ones do not fit into a block of {size} entries")

    def contains(self, x: Array) -> bool:
        xp, room = namespace(x), slack(x)
        ones, zeros = xp.abs(x - 1.0) <= room, xp.abs(x) <= room
        return truth(xp.all(ones | zeros) & (xp.count_nonzero(ones) == self.k))

    def project(self, v: Array) -> Array:
        self._fitting(v)
        return namespace(v).astype(_top(v, self.k), v.dtype)

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """0: the projection is constant around almost every v."""
        return namespace(v).zeros_like(v)


class TrimmedSquares(Nonsmooth):
    """h(x) = λ Σ x_i² without the k largest of the squares: k entries, the outliers, are free.

    prox(v, s) = v at the k largest |v_i| (of ties, the first), v/(1 + 2sλ) elsewhere.
    Of residuals it is the loss of least trimmed squares: Rousseeuw, Least median of squares regression, JASA 79 (1984).

    >>> import numpy as np
    >>> TrimmedSquares(1, 0.5).prox(np.array([1.0, -8.0, 2.0]), 1.0)
    array([ 0.5, -8. ,  1. ])
    """

    unit_powers = (("lam", 2),)

    def __init__(self, k: int, lam: float = 1.0) -> None:
        self.k = count("TrimmedSquares", "k", k)
        self.lam = number("TrimmedSquares", "lam", lam, above=0.0, or_equal=True)

    def _rest(self, x: Array) -> Array:
        """x without its k largest entries."""
        xp = namespace(x)
        return xp.where(_top(xp.abs(x), self.k), 0.0, x)

    def __call__(self, x: Array) -> float:
        rest = self._rest(x)
        return self.lam * scalar(namespace(x).sum(rest * rest))

    def prox(self, v: Array, step: float) -> Array:
        return namespace(v).asarray(v * self.prox_jacobian(v, step))

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """1 for the entries that are left alone, 1/(1 + 2sλ) for the others."""
        xp = namespace(v)
        shrink = 1.0 / (1.0 + 2.0 * self.lam * one_step(self, step))
        return xp.where(_top(xp.abs(v), self.k), 1.0, shrink * xp.ones_like(v))

    def subgradient(self, x: Array) -> Array:
        return 2.0 * self.lam * self._rest(x)
