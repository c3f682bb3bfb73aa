"""The ground that walks go over: F and its equation, where F is concave between the places at which entries bend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import to_dense
from ..functions import L0, Nonsmooth, Sum, Zero
from ..functions.hessians import constant_hessian
from ..functions.kinks import Kinks
from ..functions.recognising import is_flat, own_of_user
from ..functions.scalar import ScalarPenalty
from ..problem import Problem

ENTRIES, NUMBERS = 400, 2_000_000
"""Entries of all blocks at most, and numbers that the neighbours of a corner may be made of."""
NEAR, FAR = 1e-9, 1e12
"""From where and how far a prox leads to the least value of a function."""
ROUNDED = 1e-10
"""What is rounding, in units of the largest entry, of a column or of a value."""


class Cost(NamedTuple):
    """What one block costs: its φ for many points at once, and where they bend."""

    places: list[np.ndarray]
    """Arrays of the block's size, not finite where an entry has no such place."""
    bounds: Kinks
    penalty: ScalarPenalty | None
    own: Nonsmooth | None
    """An h that is known by its value and prox alone; where it is least serves for its places."""
    shape: tuple[int, ...]

    def left(self, V: np.ndarray) -> np.ndarray:
        """How far the rows of V are outside of the bounds, entry by entry."""
        return np.maximum(self.bounds.lower - V, 0.0) + np.maximum(V - self.bounds.upper, 0.0)

    def guide(self, V: np.ndarray) -> np.ndarray:
        """The same with √(|v|/max|v|) in the place of counts, which do not tell an entry that is small from others."""
        if not isinstance(self.penalty, L0):
            return self(V)
        rest, size = self._replace(penalty=None), np.max(np.abs(V), axis=1, keepdims=True)
        lam = np.broadcast_to(self.penalty.lam, self.shape).ravel()
        return rest(V) + np.sum(lam * np.sqrt(np.abs(V) / np.where(size > 0, size, 1.0)), axis=1)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """Σ φ of each row of V."""
        off = V - self.bounds.place
        value = np.maximum(self.bounds.left * off, self.bounds.right * off).sum(axis=1)
        if self.penalty is not None:
            terms = self.penalty.terms(V.reshape(-1, *self.shape))
            value = value + terms.reshape(len(V), -1).sum(axis=1)
        if self.own is not None:
            value = value + np.array([self.own(v) for v in V.reshape(-1, *self.shape)])
        return value

    def slopes(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest subgradient of every φ at v; both are the slope where φ does not bend."""
        left, right, place, lower, upper = self.bounds
        low = np.where(v <= lower, -np.inf, np.where(v > place, right, left))
        high = np.where(v >= upper, np.inf, np.where(v < place, left, right))
        if self.penalty is not None:
            x = v.reshape(self.shape)
            with np.errstate(divide="ignore", invalid="ignore"):
                own = np.ravel(self.penalty.subgradient(x))
            jumps = isinstance(self.penalty, L0)  # its slope is 0 next to 0, and any number there
            steep = np.inf if jumps else np.ravel(self.penalty.slope_at_zero(self.shape))
            low, high = low + np.where(v == 0, -steep, own), high + np.where(v == 0, steep, own)
        if self.own is not None:  # flat between its places, or else refused later
            there = np.any([v == place for place in self.places], axis=0)
            low, high = np.where(there, -np.inf, low), np.where(there, np.inf, high)
        return low, high


class Ground(NamedTuple):
    """F and its equation; `at` says where the blocks begin."""

    A: np.ndarray
    b: np.ndarray
    rows: np.ndarray
    """Those of the equation that all others follow from, which are A and b; and how many there are in all."""
    total: int
    places: np.ndarray
    """Of every entry, one row for each; not finite where there are fewer."""
    costs: list[Cost]
    at: np.ndarray
    H: np.ndarray | None
    c: np.ndarray
    constant: float

    @property
    def by_value(self) -> bool:
        """Whether an h is known by its value and prox alone."""
        return any(cost.own is not None for cost in self.costs)

    @property
    def is_sure(self) -> bool:
        """Whether minima are corners: no h is known by its value alone, or those that are so are flat, and f linear."""
        own = [is_flat(cost.own, cost.shape) for cost in self.costs if cost.own is not None]
        return all(own) and (self.H is None or not own)

    def values(self, W: np.ndarray, guided: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """(how far each row of W is outside of its bounds, F there, or what guides a walk to where it is low)."""
        value = W @ self.c + self.constant
        if self.H is not None:
            value += 0.5 * np.sum((W @ self.H) * W, axis=1)
        left = np.zeros(len(W))
        for cost, V in zip(self.costs, np.split(W, self.at, axis=1), strict=True):
            outside = cost.left(V)
            left += np.where(outside > ROUNDED * np.max(np.abs(W), axis=1, keepdims=True), outside, 0.0).sum(
                axis=1
            )
            value += cost.guide(V) if guided else cost(V)
        return left, value


def ground_of(problem: Problem, x: Sequence[np.ndarray]) -> Ground | None:
    """F where it has the form above."""
    sizes = [math.prod(block.shape) for block in problem.blocks]
    if problem.unconstrained or sum(sizes) > ENTRIES:
        return None
    own = any(own_of_user(block.h) for block in problem.blocks)  # corners are starts then, and no more
    costs, matrices, slopes, bends, constant = [], [], [], [], 0.0
    for block, op, xi in zip(problem.blocks, problem.operators, x, strict=True):
        A: Any = op.as_matrix(block.shape)
        cost, smooth = _cost(block.h, block.shape), _smooth(block.f, xi, own)
        if cost is None or A is None or smooth is None:
            return None
        costs.append(cost)
        matrices.append(to_dense(A))
        bends.append(smooth[0])
        slopes.append(smooth[1])
        constant += 0.0 if block.f is None else float(block.f(np.zeros(block.shape)))
    H = scipy.linalg.block_diag(*bends)
    most = max(len(cost.places) for cost in costs)
    if most == 0:
        return None
    places = np.full((sum(sizes), most), np.inf)
    at = np.cumsum(sizes)
    for cost, end, size in zip(costs, at, sizes, strict=True):
        for k, place in enumerate(cost.places):
            places[end - size : end, k] = place
    A, b = np.hstack(matrices), np.broadcast_to(np.asarray(problem.b, float), problem.shape).ravel()
    rows = _independent(A)
    if len(rows) * (A.shape[1] - len(rows)) * most * A.shape[1] > NUMBERS:
        return None
    bent, c = H if H.any() else None, np.concatenate(slopes)
    return Ground(A[rows], b[rows], rows, len(A), places, costs, at[:-1], bent, c, constant)


def _independent(A: np.ndarray) -> np.ndarray:
    """Rows that all others follow from."""
    R, order = scipy.linalg.qr(A.T, mode="r", pivoting=True)
    pivots = np.abs(np.diag(R))
    return np.sort(order[: int(np.sum(pivots > ROUNDED * np.max(pivots, initial=0.0)))])


def _cost(h: Nonsmooth, shape: tuple[int, ...]) -> Cost | None:
    """Places and φ of an h, None where these are not known to be concave between places."""
    size = math.prod(shape)
    bounds, penalty, own = Kinks(), None, None
    for part in (h.penalty, h.constraint) if isinstance(h, Sum) and not h.is_convex else (h,):
        if isinstance(part, ScalarPenalty) and part.has_faces and not part.is_convex and penalty is None:
            penalty = part
        elif own_of_user(part) and not part.is_set and not part.is_convex:
            own = part
        elif not isinstance(part, Zero):
            kinks = part.kinks(shape)
            if kinks is None or not part.is_convex:
                return None
            bounds = kinks.within(bounds)
    bounds = Kinks(*(np.ravel(part) for part in bounds.filled(shape)))
    bent = np.where(bounds.left < bounds.right, bounds.place, np.inf)
    places = [np.asarray(bounds.lower), np.asarray(bounds.upper), bent]
    places += [] if penalty is None else [np.zeros(size)]
    if own is not None:
        places += [np.ravel(own.prox(np.full(shape, side), FAR)) for side in (NEAR, -NEAR)]
    return Cost([place for place in places if np.isfinite(place).any()], bounds, penalty, own, shape)


def _smooth(f: Any, x: np.ndarray, any_bend: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """H and c of a quadratic f, H ⪯ 0 unless any is welcome; None for another."""
    n = x.size
    if f is None:
        return np.zeros((n, n)), np.zeros(n)
    bend = constant_hessian(f, x)
    if bend is None:
        return None
    H = np.diag(bend.ravel()) if bend.ndim == 1 or bend.shape != (n, n) else bend
    if not any_bend and np.max(np.linalg.eigvalsh(H)) > ROUNDED * np.max(np.abs(H), initial=0.0):
        return None
    return H, np.ravel(f.grad(np.zeros(x.shape)))
