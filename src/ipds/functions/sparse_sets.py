"""Functions that choose: few nonzero entries, rows or columns; two values per entry; squares without the k largest."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from .._arrays import Array, Shape, kth_largest, namespace, scalar, truth
from ._arguments import count, number
from .base import Nonsmooth
from .faces import Support, Vertex
from .groups import row_norms
from .rescaling import one_unit
from .scalar import keep, one_step
from .sets import Indicator, slack


class FewEntries(Indicator):
    """{x : at most s nonzero entries in each of its rows}; a subclass says what these are."""

    has_faces = True

    def __init__(self, s: int) -> None:
        self.s = count(type(self).__name__, "s", s)

    @abstractmethod
    def _rows(self, shape: Shape) -> Shape:
        """The shape (rows, entries of a row) in which a block of `shape` is read."""

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        return truth(xp.all(xp.count_nonzero(xp.reshape(x, self._rows(x.shape)), axis=1) <= self.s))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        u = keep(xp, self.mask(xp.abs(v)), v)
        return u if v.ndim else xp.asarray(u)

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """1 on what is kept, else 0."""
        xp = namespace(v)
        return xp.asarray(xp.astype(self.mask(xp.abs(v)), v.dtype))

    def mask(self, score: Array) -> Array:
        """Which entries to keep, when keeping one earns its score ≥ 0."""
        xp = namespace(score)
        return xp.reshape(largest(xp, xp.reshape(score, self._rows(score.shape)), self.s), score.shape)

    def is_idle(self, shape: Shape) -> bool:
        return self.s >= self._rows(shape)[1]

    def face(self, x: Array) -> Support | None:
        """The nonzeros of rows that have s of them; of rows that have fewer, all entries: any of them may move."""
        rows, size = self._rows(x.shape)
        used = x.reshape(rows, size) != 0
        filled = used.sum(axis=1) == min(self.s, size)
        if not np.any(filled):
            return None
        support = (used | ~filled[:, None]).reshape(x.shape)
        return Support(x, support, np.repeat(np.arange(rows), size).reshape(x.shape))

    def rescaled(self, d: float | Array) -> Self:
        """Itself: the nonzeros stay the same."""
        return self


class Cardinality(FewEntries):
    """{x : at most s nonzero entries}; prox keeps the s largest in magnitude (of ties, the first ones).

    Beck & Eldar, Sparsity constrained nonlinear optimization, SIAM J. Optim. 23 (2013).

    >>> import numpy as np
    >>> Cardinality(1).prox(np.array([1.0, -3.0, 3.0]), 1.0)
    array([ 0., -3.,  0.])
    """

    def _rows(self, shape: Shape) -> Shape:
        return 1, math.prod(shape)


class RowCardinality(FewEntries):
    """{x : at most s nonzero entries in each row x[i, ...]}; prox keeps the s largest of each row."""

    def _rows(self, shape: Shape) -> Shape:
        return shape[0], math.prod(shape[1:])


def largest(xp: Any, a: Array, s: int) -> Array:
    """Mask of exactly min(s, size) largest entries along the last axis; of ties, the first ones."""
    size = a.shape[-1]
    if s >= size:
        return xp.ones_like(a, dtype=xp.bool)
    if s == 0:
        return xp.zeros_like(a, dtype=xp.bool)
    level = kth_largest(a, s)
    mask = a >= level
    if type(a) is np.ndarray and np.count_nonzero(mask) == s * (mask.size // size):
        return mask
    above = a > level
    tied = mask & ~above
    room = s - xp.count_nonzero(above, axis=-1, keepdims=True)
    return above | (tied & (xp.cumulative_sum(xp.astype(tied, xp.int32), axis=-1) <= room))


class NonzeroRows(Indicator):
    """{x : at most s rows x[i, ...] differ from 0}; prox keeps the s rows of largest norm."""

    has_faces = True
    _axis = 0

    def __init__(self, s: int) -> None:
        self.s = count(type(self).__name__, "s", s)

    def _norms(self, x: Array) -> Array:
        return row_norms(namespace(x).moveaxis(x, self._axis, 0))

    def contains(self, x: Array) -> bool:
        return truth(namespace(x).count_nonzero(self._norms(x)) <= self.s)

    def _across(self, ndim: int) -> Shape:
        """The shape in which one number per slice multiplies a block of so many axes."""
        return tuple(-1 if axis == self._axis else 1 for axis in range(ndim))

    def _mask(self, v: Array) -> Array:
        """Which slices are kept, shaped to multiply v."""
        xp = namespace(v)
        return xp.reshape(largest(xp, self._norms(v), self.s), self._across(v.ndim))

    def project(self, v: Array) -> Array:
        return keep(namespace(v), self._mask(v), v)

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """1 on what is kept, else 0."""
        xp = namespace(v)
        return keep(xp, self._mask(v), xp.ones_like(v))

    def is_idle(self, shape: Shape) -> bool:
        return self.s >= shape[self._axis]

    def face(self, x: Array) -> Support | None:
        """The rows that differ from 0, once there are s of them."""
        used = self._norms(x) > 0
        if np.count_nonzero(used) != min(self.s, used.size):
            return None
        shape = self._across(x.ndim)
        group = np.broadcast_to(np.arange(used.size).reshape(shape), x.shape)
        return Support(x, used.reshape(shape), np.zeros(x.shape, np.int8), group=group)

    def rescaled(self, d: float | Array) -> NonzeroRows:
        """Itself: the nonzeros stay the same."""
        return self


class NonzeroColumns(NonzeroRows):
    """{x : at most s columns x[:, j, ...] differ from 0}; prox keeps the s columns of largest norm."""

    _axis = 1


class Binary(Indicator):
    """{lo, hi}ⁿ; prox(v, s) = the nearer of lo and hi in each entry (lo at a tie)."""

    is_entrywise = True

    is_discrete = True

    def __init__(self, lo: float = 0.0, hi: float = 1.0) -> None:
        self.lo, self.hi = number("Binary", "lo", lo), number("Binary", "hi", hi)
        if not self.lo < self.hi:
            raise ValueError(f"Binary: lo must be < hi, got {self.lo} and {self.hi}")

    def width(self, shape: Shape) -> float:
        """hi - lo."""
        return self.hi - self.lo

    def contains(self, x: Array) -> bool:
        xp = namespace(x)
        room = slack(x) * (1.0 + abs(self.lo) + abs(self.hi))
        return truth(xp.all((xp.abs(x - self.lo) <= room) | (xp.abs(x - self.hi) <= room)))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        high = v > 0.5 * (self.lo + self.hi)
        if type(v) is np.ndarray and v.ndim:  # looking up beats selecting
            return np.array([self.lo, self.hi], v.dtype)[high.view(np.uint8)]
        return xp.where(high, xp.full_like(v, self.hi), xp.full_like(v, self.lo))

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """0 everywhere."""
        return namespace(v).zeros_like(v)

    def face(self, x: Array) -> Vertex:
        """Which of the two values each entry has."""
        return Vertex(x, x > 0.5 * (self.lo + self.hi))

    def rescaled(self, d: float | Array) -> Binary | None:
        """Both values divided by d; None where d is not one number."""
        unit = one_unit(d)
        return None if unit is None else Binary(self.lo / unit, self.hi / unit)


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
