"""Euclidean norms, not squared: of all entries, of every row, of groups of entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Shape, asarray, choose, magnitude, namespace, scalar, to_numpy
from ..operators import Operator
from ._arguments import number, weight
from .jacobians import RankOnePerGroup
from .kinks import Groups
from .norms import Norm
from .rescaling import row_units, units
from .scalar import fit, one_step, pseudo_huber, within_range


class L2(Norm):
    """h(x) = λ‖x‖₂ over all entries, not squared; prox(v, s) = (1 - sλ/‖v‖)₊ v.

    >>> L2(1.0).prox(np.array([3.0, 4.0]), 1.0)
    array([2.4, 3.2])
    """

    def __call__(self, x: Array) -> float:
        return self.lam * magnitude(x)

    def prox(self, v: Array, step: float) -> Array:
        t, size = self.lam * one_step(self, step), magnitude(v)
        factor = choose(size > t, 1.0 - t / choose(size > t, size, 1.0), 0.0)
        return namespace(v).asarray(v * factor)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """(1 - r) I + r v̂v̂ᵀ with r = sλ/‖v‖ and v̂ = v/‖v‖, 0 where r ≥ 1."""
        t, size = self.lam * one_step(self, step), magnitude(v)
        moves, unit = (size > t) | (t == 0), choose(size > 0, size, 1.0)
        ratio = choose(size > t, t / unit, 0.0)
        return RankOnePerGroup(choose(moves, 1.0 - ratio, 0.0), v / unit, ratio)

    def lipschitz(self, shape: Shape) -> float:
        return self.lam

    def groups(self, shape: Shape) -> Groups:
        """One, of all entries."""
        return Groups(np.zeros(math.prod(shape), int), np.array([self.lam]))

    def subgradient(self, x: Array) -> Array:
        size = magnitude(x)
        return namespace(x).asarray(x * (self.lam / choose(size > 0, size, 1.0)))


class L21(Norm):
    """h(x) = Σ_i λ_i ‖x_i‖₂ over the rows x_i = x[i, ...]; prox shrinks each row: (1 - sλ_i/‖v_i‖)₊ v_i.

    Yuan & Lin, Model selection and estimation in regression with grouped variables, JRSS B 68 (2006).

    >>> L21(1.0).prox(np.array([[3.0, 4.0], [0.1, 0.2]]), 1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    def __init__(self, lam: float | Array = 1.0) -> None:
        self.lam = weight("L21", "lam", lam)
        if np.ndim(self.lam) > 1:
            raise ValueError(f"L21: lam must be a number or one per row, got shape {np.shape(self.lam)}")

    def __call__(self, x: Array) -> float:
        if type(x) is np.ndarray and type(self.lam) is float:
            return self.lam * float(np.add.reduce(row_norms(x), axis=None))
        return scalar(namespace(x).sum(_row_weights(self.lam, x) * row_norms(x)))

    def prox(self, v: Array, step: float) -> Array:
        if type(v) is np.ndarray and v.ndim == 2 and type(self.lam) is float and self.lam:
            t = within_range(self.lam * one_step(self, step), v)
            factor = row_norms(v)
            np.divide(t, np.maximum(factor, t, out=factor), out=factor)
            return v * np.subtract(1.0, factor, out=factor)[:, None]
        xp = namespace(v)
        u = _shrink_rows(xp, v, row_norms(v), _row_weights(self.lam, v) * one_step(self, step))
        return u if v.ndim else xp.asarray(u)

    def takes(self, shape: Shape) -> bool:
        return type(self.lam) is float

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """(1 - r_i) I + r_i v̂_iv̂_iᵀ for each row, with r_i = sλ_i/‖v_i‖ and v̂_i = v_i/‖v_i‖; 0 where r_i ≥ 1."""
        xp, norms = namespace(v), row_norms(v)
        keep, ratio, unit = _rates(xp, norms, _row_weights(self.lam, v) * one_step(self, step))
        keep, ratio, unit = (_by_row(xp, part, v) for part in (keep, ratio, unit))
        return RankOnePerGroup(keep, v / unit, ratio, axes=tuple(range(1, v.ndim)))

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        """Σ λ√(‖x_i‖² + e²) with e = sλ over the rows; the envelope where weights differ."""
        if type(self.lam) is not float or not self.lam or u.ndim != 2:
            return super().soften(u, s)
        return pseudo_huber(u, self.lam, self.lam * s, by_row=True)

    def lipschitz(self, shape: Shape) -> float:
        rows = shape[0] if shape else 1
        if type(self.lam) is float:
            return self.lam * math.sqrt(rows)
        return float(np.linalg.norm(np.broadcast_to(to_numpy(self.lam), (rows,))))

    def groups(self, shape: Shape) -> Groups:
        """The rows."""
        rows = shape[0] if shape else 1
        label = np.repeat(np.arange(rows), math.prod(shape[1:]))
        return Groups(label, np.array(np.broadcast_to(to_numpy(self.lam), (rows,)), float))

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        norms = row_norms(x)
        return _by_row(xp, _row_weights(self.lam, x) / xp.where(norms > 0, norms, xp.ones_like(norms)), x) * x

    def rescaled(self, d: float | Array) -> L21 | None:
        """The weights times d; None where d differs within a row."""
        rows = row_units(d)
        return None if rows is None else L21(self.lam * rows)


class GroupL2(Norm):
    """h(x) = λ Σ_g w_g ‖x_g‖₂ over disjoint groups g of entries of the flattened x; prox shrinks each group.

    `groups` is a sequence of index sequences; entries in no group are free. `weights` is one number per group
    (all 1 when left out; √size is a common choice). Overlapping ones need `operators.Grouping`.
    Yuan & Lin, Model selection and estimation in regression with grouped variables, JRSS B 68 (2006).

    >>> GroupL2(1.0, [[0, 1]]).prox(np.array([3.0, 4.0, 5.0]), 1.0)
    array([2.4, 3.2, 5. ])
    """

    def __init__(self, lam: float, groups: Sequence[Sequence[int] | np.ndarray], weights: Any = None) -> None:
        self.lam = number("GroupL2", "lam", lam, above=0.0, or_equal=True)
        indices = [np.asarray(g) for g in groups]
        if any(g.dtype.kind not in "iu" or g.ndim != 1 for g in indices):
            raise TypeError("GroupL2: groups must be nonempty sequences of integer indices")
        flat = np.concatenate(indices) if indices else np.empty(0, dtype=int)
        if flat.size and flat.min() < 0:
            raise ValueError("GroupL2: groups must hold indices ≥ 0")
        if np.unique(flat).size != flat.size:
            raise ValueError("GroupL2: groups must be disjoint; for overlapping ones use operators.Grouping")
        self.weights = np.ones(len(indices)) if weights is None else weight("GroupL2", "weights", weights)
        if np.shape(self.weights) != (len(indices),):
            raise ValueError(f"GroupL2: weights must be {len(indices)} numbers, one per group")
        self._indices = indices
        self._plans: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _plan(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Group number of each entry (the last for free ones), and the groups as rows padded by `size`."""
        if size not in self._plans:
            width = max((len(g) for g in self._indices), default=0)
            label = np.full(size, len(self._indices))
            rows = np.full((len(self._indices), width), size)
            for i, g in enumerate(self._indices):
                if len(g) and g.max() >= size:
                    raise ValueError(f"GroupL2: index {g.max()} in groups, but the block has {size} entries")
                label[g] = i
                rows[i, : len(g)] = g
            self._plans[size] = label, rows
        return self._plans[size]

    def _norms(self, x: Array) -> tuple[Array, Array]:
        """Norm of each group, and the group number of each entry."""
        xp, flat = namespace(x), x.reshape(-1) if type(x) is np.ndarray else namespace(x).reshape(x, (-1,))
        label, rows = self._plan(flat.shape[0])
        if xp is np:
            top = float(np.max(np.abs(flat), initial=0.0))
            unit = 1.0 if 1e-140 < top < 1e140 or top == 0.0 else top  # else squares overflow or vanish
            squares = np.bincount(label, weights=np.square(flat / unit, dtype=float), minlength=len(rows) + 1)
            return (unit * np.sqrt(squares[:-1])).astype(x.dtype), label
        padded = xp.concat([flat, xp.zeros_like(flat[:1])])
        picked = xp.take(padded, xp.asarray(rows.reshape(-1)), axis=0)
        return row_norms(xp.reshape(picked, rows.shape)), xp.asarray(label)

    def _scale(self, x: Array, factors: Array, free: float, label: Array) -> Array:
        """Each entry times the factor of its group, `free` for those in none."""
        xp = namespace(x)
        factors = xp.concat([factors, xp.full((1,), free, dtype=x.dtype)])
        return x * xp.reshape(xp.take(factors, label, axis=0), x.shape)

    def __call__(self, x: Array) -> float:
        norms, _ = self._norms(x)
        return self.lam * scalar(namespace(x).sum(asarray(self.weights, x) * norms))

    def prox(self, v: Array, step: float) -> Array:
        xp = namespace(v)
        norms, label = self._norms(v)
        t = asarray(self.weights, v) * within_range(self.lam * one_step(self, step), v)
        return self._scale(v, _shrink_rows(xp, xp.ones_like(norms), norms, t), 1.0, label)

    def prox_jacobian(self, v: Array, step: float) -> Operator:
        """(1 - r_g) I + r_g v̂_gv̂_gᵀ for each group, with r_g = sλw_g/‖v_g‖; 0 where r_g ≥ 1, I for free entries."""
        plain = to_numpy(v)
        norms, label = self._norms(plain)
        keep, ratio, unit = _rates(np, norms, self.lam * one_step(self, step) * to_numpy(self.weights))
        # of every entry, free ones too
        keep, unit = (
            np.append(part, 1.0)[label].reshape(plain.shape).astype(plain.dtype) for part in (keep, unit)
        )
        return RankOnePerGroup(keep, plain / unit, np.append(ratio, 0.0), labels=label)

    def lipschitz(self, shape: Shape) -> float:
        return self.lam * float(np.linalg.norm(to_numpy(self.weights)))

    def groups(self, shape: Shape) -> Groups:
        label = self._plan(math.prod(shape))[0]
        return Groups(np.where(label < len(self._indices), label, -1), self.lam * to_numpy(self.weights))

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        norms, label = self._norms(x)
        factors = asarray(self.weights, x) * self.lam / xp.where(norms > 0, norms, xp.ones_like(norms))
        return self._scale(x, factors, 0.0, label)

    def rescaled(self, d: float | Array) -> GroupL2 | None:
        """The weights times d; None where d differs within a group, or is shorter than the block."""
        found = units(d)
        if isinstance(found, float):
            return GroupL2(self.lam * found, self._indices, self.weights)
        flat = found.reshape(-1)
        if any(g.max(initial=0) >= flat.size or np.ptp(flat[g]) > 0 for g in self._indices if len(g)):
            return None
        factors = np.array([flat[g[0]] if len(g) else 1.0 for g in self._indices])
        return GroupL2(self.lam, self._indices, to_numpy(self.weights) * factors)


def row_norms(x: Array) -> Array:
    """Euclidean norms of x[i, ...], one per row; of the single entry for a 0-d array."""
    xp = namespace(x)
    if x.ndim < 2:
        return xp.abs(x)
    if type(x) is not np.ndarray:
        rows = xp.reshape(x, (x.shape[0], -1))
        return xp.sqrt(xp.sum(rows * rows, axis=1))
    rows = x.reshape(x.shape[0], -1)
    squares = np.einsum("ij,ij->i", rows, rows)
    if squares.size and not _LOWEST[x.dtype.char] < np.add.reduce(squares) < math.inf:
        # the squares overflow, or lose digits that count: once more, scaled
        top = np.abs(rows).max(axis=1)
        top[top == 0] = 1.0
        rows = rows / top[:, None]
        return top * np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.sqrt(squares, out=squares)


_LOWEST = {kind: float(np.finfo(kind).tiny) / float(np.finfo(kind).eps) ** 3 for kind in "fde"}
"""In a sum of squares above this, what single ones lose to underflow is below its own rounding."""


def _row_weights(lam: float | Array, x: Array) -> float | Array:
    """One weight for all rows, or one for each."""
    if type(lam) is float:
        return lam
    return fit(lam, x if x.ndim < 2 else x[(slice(None), *(0,) * (x.ndim - 1))])


def _by_row(xp: Any, weights: Array, x: Array) -> Array:
    """One number per row, shaped to multiply x."""
    return weights if x.ndim < 2 else xp.reshape(weights, (-1,) + (1,) * (x.ndim - 1))


def _rates(xp: Any, norms: Array, t: float | Array) -> tuple[Array, Array, Array]:
    """Of every group the derivative of its shrinkage: across, the difference along v_g, and the ‖v_g‖ to divide by."""
    t = t + 0.0 * norms
    unit = xp.where(norms > 0, norms, xp.ones_like(norms))
    ratio = xp.where(norms > t, t / unit, xp.zeros_like(norms))
    keep = xp.where((norms > t) | (t == 0), 1.0 - ratio, xp.zeros_like(norms))
    return keep, ratio, unit


def _shrink_rows(xp: Any, v: Array, norms: Array, t: float | Array) -> Array:
    """(1 - t/‖v_i‖)₊ v_i, with 0 for rows that are 0."""
    if type(t) is float:
        if t == 0.0:
            return xp.asarray(v, copy=True)
        t = within_range(t, v)
        return _by_row(xp, 1.0 - t / xp.clip(norms, t, None), v) * v
    big = xp.maximum(norms, t)
    return _by_row(xp, 1.0 - t / xp.where(big > 0, big, xp.ones_like(big)), v) * v
