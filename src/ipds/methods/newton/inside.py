"""A smooth function that is asked inside the bounds of its block only.

What a user writes, -Σ log x say, need not be finite, convex or even defined outside of the set its block must stay in.
Newton steps move v freely and meet the bounds in the limit; so the function is said to be infinite outside of them, and
searches turn back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ..._arrays import Array, column_squares, to_numpy
from ...functions import Composed, Smooth
from ...functions.hessians import by_differences, is_still, of_entries, step_size
from ...problem import Block

MARGIN = 1e-9
"""Relative to the size of a bound: how far outside still counts as inside."""


SHARE = 0.05
"""Part of the way to a bound that a difference may go: its relative error is the square, for logarithms."""
EXPLICIT = 1000
"""Entries up to which a Hessian is made by differences of its own."""


def by_gradients(f: Smooth, x: Array) -> bool:
    """Whether ∇²f(x) is made of differences of gradients: nothing else is known of f."""
    if isinstance(f, Composed):
        return type(x) is np.ndarray and f.A.as_matrix(x.shape) is not None and by_gradients(f.f, x)
    known = type(f).curvature is not Smooth.curvature or type(f).hessian is not Smooth.hessian
    return type(x) is np.ndarray and not known


def differences(
    f: Smooth, x: np.ndarray, steps: np.ndarray, here: Array | None, is_tied: bool, last: Any = None
) -> Any:
    """∇²f(x) of such an f: its diagonal, unless entries are known to be tied; a matrix, or products where x is long.

    The `last` matrix, made elsewhere, where it is still that: a quadratic f has one. To one side where ∇f(x) is given
    `here`, and a matrix is made. Of g(A x + shift) the argument moves by no more than suits it; where it has fewer
    entries, these are moved: Aᵀ∇²g A.
    """
    if isinstance(f, Composed):
        A, y = f.A.as_matrix(x.shape), f.inner(x)
        most = step_size(y, 2 if here is None else 1)
        if A.shape[0] < A.shape[1]:
            moves = np.minimum(abs(A) @ steps, most)
            H = differences(f.f, y, moves, None if here is None else f.f.grad(y), False)
            if isinstance(H, np.ndarray):
                return A.T @ ((scipy.sparse.diags_array(H) if H.ndim == 1 else H) @ A)
        steps = np.minimum(steps, most / np.sqrt(np.maximum(column_squares(A), np.finfo(float).tiny)))
    if is_tied and isinstance(last, np.ndarray) and is_still(last, f.grad, x, steps, here):
        return last
    found = None if is_tied else of_entries(f.grad, x, steps)
    if found is not None:
        return found
    return by_differences(f.grad, x, steps, here) if x.size <= EXPLICIT else f.hessian(x)


class Inside(Smooth):
    """f on [lower, upper], ∞ outside."""

    def __init__(self, f: Smooth, lower: np.ndarray, upper: np.ndarray):
        self.f, self.lower, self.upper = f, lower, upper
        self.lipschitz, self.is_convex = f.lipschitz, f.is_convex

    def contains(self, x: Array) -> bool:
        """Whether x lies within the bounds."""
        flat = to_numpy(x)
        below, above = (
            flat >= self.lower - MARGIN * abs(self.lower),
            flat <= self.upper + MARGIN * abs(self.upper),
        )
        return bool(np.all(below | ~np.isfinite(self.lower)) and np.all(above | ~np.isfinite(self.upper)))

    def start(self, x: np.ndarray, unit: float) -> np.ndarray:
        """x with entries at a bound moved inside: half way to the other bound, or by `unit` where there is none.

        At its bounds such a function may be steep beyond all measure, and differences would step outside.
        """
        width = np.where(np.isfinite(self.lower) & np.isfinite(self.upper), self.upper - self.lower, 2 * unit)
        lower, upper = self.lower.ravel(), self.upper.ravel()
        near = 1e-3 * width.ravel()
        x = np.where(x - lower < near, lower + 0.5 * width.ravel(), x)
        return np.where(upper - x < near, upper - 0.5 * width.ravel(), x)

    def __call__(self, x: Array) -> float:
        return self.f(x) if self.contains(x) else np.inf

    def grad(self, x: Array) -> Array:
        return self.f.grad(x) if self.contains(x) else np.nan * x

    def curvature(self, x: Array, d: Array) -> Array:
        return self.f.curvature(x, d)

    def hessian(self, x: Array) -> Any:
        """∇²f(x), as `second` makes it."""
        return self.second(x, None, True)

    def second(self, x: Array, here: Array | None, is_tied: bool, last: Any = None) -> Any:
        """∇²f(x); by differences that stay inside, column by column, where f itself would take some that do not.

        These are to one side where ∇f(x) is given `here`.
        """
        if not by_gradients(self.f, x):
            return self.f.hessian(x)
        room = np.minimum(x - self.lower, self.upper - x).ravel()
        size = step_size(x, 2 if here is None else 1)
        steps = np.maximum(np.minimum(size, SHARE * room), np.finfo(float).tiny)
        return differences(self.f, x, steps, here, is_tied, last)


def inside(block: Block, known: bool, interior: bool) -> Smooth | None:
    """The block's f, kept inside the bounds of its h where f is not `known` to be defined everywhere.

    Without interior-point steps v meets the bounds in the limit only, and has to be free on the way: then f is kept
    inside only where it has no value outside. Entries that their bounds fix are never held.
    """
    kinks = block.h.kinks(block.shape)
    if block.f is None or known or kinks is None:
        return block.f
    filled = kinks.filled(block.shape)
    lower, upper = np.asarray(filled.lower, float), np.asarray(filled.upper, float)
    fixed = lower == upper
    lower, upper = np.where(fixed, -np.inf, lower), np.where(fixed, np.inf, upper)
    if not np.any(np.isfinite(lower) | np.isfinite(upper)):
        return block.f
    return Inside(block.f, lower, upper) if interior or not _goes_on(block.f, lower, upper) else block.f


def _goes_on(f: Smooth, lower: np.ndarray, upper: np.ndarray) -> bool:
    """Whether f and its gradient have values beyond the bounds, on both sides, as far out as these are wide."""
    width = np.where(np.isfinite(lower) & np.isfinite(upper), upper - lower, 1.0)
    below = np.where(np.isfinite(lower), lower - width, np.where(np.isfinite(upper), upper - width, 0.0))
    above = np.where(np.isfinite(upper), upper + width, np.where(np.isfinite(lower), lower + width, 0.0))
    try:
        with np.errstate(all="ignore"):
            found = [f.value_and_grad(x) for x in (below, above)]
    except (TypeError, ValueError, ArithmeticError):
        return False
    return all(np.isfinite(float(value)) and np.all(np.isfinite(to_numpy(g))) for value, g in found)
