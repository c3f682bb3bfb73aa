"""Shared base of the penalties that act on each entry alone."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    Shape,
    add_in_place,
    asarray,
    between,
    divide_in_place,
    greatest,
    is_array,
    least,
    namespace,
    scalar,
    to_numpy,
)
from ._arguments import weight
from .base import Nonsmooth
from .faces import Face, Signs


def fit(lam: float | Array, x: Array) -> float | Array:
    """Weights as a float, or as an array of the library and dtype of `x`."""
    if type(lam) is float:
        return lam
    if isinstance(lam, type(x)) and lam.shape == x.shape and lam.dtype == x.dtype:
        return lam
    if not _broadcasts(np.shape(lam), tuple(x.shape)):
        raise ValueError(
            f"weights or steps of shape {np.shape(lam)} do not fit a block of shape {tuple(x.shape)}"
        )
    return asarray(lam, x)


def _broadcasts(shape: Shape, block: Shape) -> bool:
    """Whether an array of `shape` broadcasts to a block."""
    try:
        return np.broadcast_shapes(shape, block) == block
    except ValueError:
        return False


def own_step(step: Any, v: Array) -> Any:
    """A step as a float, so that it does not promote a float32 block, or as an array like v that fits it."""
    if type(step) is float:
        return step
    if is_array(step) and step.ndim:
        return fit(step, v)
    return float(step) if isinstance(step, np.floating | np.ndarray | int) else step


def one_step(h: Nonsmooth, step: Any) -> Any:
    """The step of a prox that needs one for all entries: with an array of them it would be another problem."""
    if type(step) is float:
        return step
    if getattr(step, "ndim", 0):
        raise ValueError(
            f"{h!r} is not a sum over entries: its prox needs one step for all, got an array of shape {step.shape}"
        )
    return scalar(step)


def within_range(t: float, like: Array) -> float:
    """t > 0 inside the range of the dtype of `like`: what NumPy would turn into 0 or ∞ gives 0/0 and ∞/∞ there."""
    lowest, highest = _range(namespace(like), like.dtype)
    return least(greatest(t, lowest), highest)


@lru_cache(maxsize=8)
def _range(xp: Any, dtype: Any) -> tuple[float, float]:
    """The smallest normal number and the largest one."""
    limits = xp.finfo(dtype)
    return float(limits.smallest_normal), float(limits.max)


def select(xp: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where `condition`, else `no`; for Python scalars and for arrays."""
    return (yes if condition else no) if type(condition) is bool else xp.where(condition, yes, no)


def soft(xp: Any, v: Array, t: float | Array) -> Array:
    """Soft threshold sign(v) max(|v| - t, 0), as v - clip(v, -t, t): two passes, one temporary."""
    if type(v) is np.ndarray and v.ndim:
        inside = between(np, v, -t, t)
        return np.subtract(v, inside, out=inside)
    return v - xp.clip(v, -t, t)


def floor_at_zero(xp: Any, a: Array) -> Array:
    """max(a, 0) of a temporary: in place for NumPy, where a new 8 MB array costs as much as a pass."""
    return np.maximum(a, 0.0, out=a) if type(a) is np.ndarray else xp.clip(a, 0.0, None)


def cap_and_sign(xp: Any, a: Array, cap: Array, v: Array) -> Array:
    """min(a, cap) with the signs of v, of a temporary."""
    if type(a) is np.ndarray:
        return np.copysign(np.minimum(a, cap, out=a), v, out=a)
    return xp.copysign(xp.minimum(a, cap), v)


def keep(xp: Any, mask: Array, v: Array) -> Array:
    """`v` where `mask`, else 0; NumPy multiplies by a mask twice as fast as it selects."""
    return v * mask if type(v) is np.ndarray else xp.where(mask, v, xp.zeros_like(v))


def pseudo_huber(u: Array, lam: float, e: float, *, by_row: bool) -> tuple[Any, Array]:
    """λ Σ √(‖u_i‖² + e²) over entries or rows, and its gradient."""
    xp = namespace(u)
    r = u * (1 / e)  # in units of e, so that no square overflows
    root = add_in_place(xp.sum(r * r, axis=1, keepdims=True) if by_row else r * r, 1.0)
    root = np.sqrt(root, out=root) if type(root) is np.ndarray else xp.sqrt(root)
    return lam * e * scalar(xp.sum(root)), divide_in_place(r, divide_in_place(root, lam))


def size_over(steepest: float | Array, shape: Shape) -> float:
    """Norm of the slopes of all entries of a block: the Lipschitz constant of their sum."""
    if type(steepest) is float:
        return steepest * math.sqrt(math.prod(shape)) if steepest else 0.0
    return float(np.linalg.norm(np.broadcast_to(to_numpy(steepest), shape)))


class ScalarPenalty(Nonsmooth):
    """h(x) = Σ_i φ(|x_i|; λ_i) with φ(0) = 0; `lam` is a number or an array that broadcasts to x.

    A subclass gives φ (`_phi`), its derivatives on (0, ∞) (`_slope`, `_bend`), the supremum of the first (`_steepest`),
    and the prox of one entry (`_prox`); where φ is not convex also its stationary points (`_candidates`), for `Sum`.
    """

    lam: float | Array
    is_entrywise = True
    is_piecewise_quadratic: bool = False
    """Whether φ consists of finitely many quadratic, linear or constant pieces."""
    _kink_at_zero = True
    """Whether φ'(0+) > 0, so that the prox stays at 0 for small v."""

    def __init__(self, lam: float | Array = 1.0) -> None:
        self.lam = weight(type(self).__name__, "lam", lam)

    @abstractmethod
    def _phi(self, xp: Any, a: Array, lam: float | Array) -> Array:
        """φ(a) for entries a ≥ 0."""

    @abstractmethod
    def _slope(self, xp: Any, a: Array, lam: float | Array) -> Array:
        """φ'(a) for entries a ≥ 0; what it says at 0 is multiplied by sign(0) = 0."""

    def _steepest(self) -> float | Array:
        """sup φ', per entry where the weights differ; λ unless a subclass says otherwise."""
        return self.lam

    @abstractmethod
    def _prox(self, xp: Any, v: Array, lam: float | Array, step: float) -> Array:
        """argmin_u φ(|u|) + (u - v)²/(2 step) for each entry."""

    def _bend(self, xp: Any, a: Array, lam: float | Array) -> float | Array:
        """φ''(a) for entries a > 0; of one side where φ' has a kink. 0 unless a subclass says otherwise."""
        return 0.0

    def _candidates(self, xp: Any, x: Array, lam: float | Array, step: float) -> list[Array]:
        """All points u > 0 that can be local minimisers of φ(u) + (u - x)²/(2 step), and maybe others."""
        raise NotImplementedError

    def terms(self, x: Array) -> Array:
        """The summands φ(|x_i|), one per entry."""
        xp = namespace(x)
        return self._phi(xp, xp.abs(x), fit(self.lam, x))

    def __call__(self, x: Array) -> float:
        return scalar(namespace(x).sum(self.terms(x)))

    def prox(self, v: Array, step: float | Array) -> Array:
        xp = namespace(v)
        u = self._prox(xp, v, fit(self.lam, v), own_step(step, v))
        return u if v.ndim else xp.asarray(u)

    def prox_jacobian(self, v: Array, step: float | Array) -> Array:
        """1/(1 + s φ''(|u|)) at u = prox(v, s), 0 where u stays at 0."""
        return self._derivative(self.prox(v, step), own_step(step, v))

    def _derivative(self, u: Array, step: float | Array) -> Array:
        """How fast u moves with v, at the u that is the prox of v."""
        xp, lam = namespace(u), fit(self.lam, u)
        bent = 1.0 + step * self._bend(xp, xp.abs(u), lam) + 0.0 * u
        if not self._kink_at_zero:
            return xp.asarray(1.0 / bent)
        moves = (u != 0) | (lam * step == 0)
        return xp.asarray(
            xp.where(moves, 1.0 / xp.where(moves, bent, xp.ones_like(bent)), xp.zeros_like(bent))
        )

    @property
    def has_faces(self) -> bool:  # type: ignore[override]
        """Where φ has a kink at 0: zeros and signs."""
        return self._kink_at_zero

    def face(self, x: Array) -> Face | None:
        """Zeros and signs, where φ has a kink at 0."""
        return Signs(self, x) if self._kink_at_zero else None

    def slope_at_zero(self, shape: Shape) -> Array:
        """φ'(0+), entry by entry: ∂h(0) is the interval up to it."""
        zero = np.zeros(shape)
        with np.errstate(divide="ignore"):
            return np.broadcast_to(np.asarray(self._slope(np, zero, fit(self.lam, zero))), shape)

    def second_derivative(self, x: Array) -> Array:
        """φ''(|x_i|) for entries x_i ≠ 0; of one side where φ' has a kink."""
        xp = namespace(x)
        return self._bend(xp, xp.abs(x), fit(self.lam, x)) + 0.0 * x

    def lipschitz(self, shape: Shape) -> float:
        return size_over(self._steepest(), shape)

    def subgradient(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.sign(x) * self._slope(xp, xp.abs(x), fit(self.lam, x))
