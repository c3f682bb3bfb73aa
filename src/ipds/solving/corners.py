"""Corners: where an objective is concave between the places at which single entries bend, its minima lie at them.

With all blocks in one vector w, under A w = b, and

    F(w) = Σ φ_k(w_k) + ½ wᵀHw + cᵀw,   H ⪯ 0, every φ_k concave between its places (0 of a concave penalty,
                                          kinks and bounds of a piecewise linear function),

F is least where as many entries are at their places as the equation leaves free: as in the simplex method, the others,
a basis, follow. A walk goes to the lowest of all corners that differ in one entry of the basis, also where that is
higher, and never to one where it has been: concave penalties under equations, robust losses of few unknowns, fixed
charges, concave functions on polyhedra.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import to_dense
from ..functions import L0, Nonsmooth, Sum, Zero
from ..functions.hessians import constant_hessian
from ..functions.kinks import Kinks
from ..functions.recognising import is_flat, own_of_user
from ..functions.scalar import ScalarPenalty
from ..problem import Problem, split_blocks

ENTRIES, NUMBERS = 400, 2_000_000
"""Entries of all blocks at most, and numbers that the neighbours of a corner may be made of."""
STEPS, STALE = 200, 25
"""Corners that a walk visits at most, and those since the best one after which it ends."""
WALKS, AGREEING = 8, 3
"""Walks at most, and those that end at the lowest value after which there is no other."""
NEAR, FAR = 1e-9, 1e12
"""From where and how far a prox leads to the least value of a function."""
SLACK = 1e-9
"""By how much a slope may miss its bounds, in units of the forces that it is the sum of."""
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


class Corner(NamedTuple):
    """Blocks, the objective there, and what makes it critical: a multiplier and subgradients, where there are any."""

    x: tuple[np.ndarray, ...]
    value: float
    z: np.ndarray | None
    slopes: tuple[np.ndarray, ...]
    is_sure: bool
    """Whether minima are corners (`Ground.is_sure`), and this one is not `_is_usual` among counts."""


def lowest_corner(
    problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool], seed: Any = 0
) -> Corner | None:
    """The lowest corner of walks from x and from bases drawn; None where minima may lie elsewhere, or none is found.

    `late` is asked before each step, and where an h is the caller's own, before each point that this is asked for.

    >>> from ipds import Block
    >>> from ipds.functions import LHalf
    >>> A = np.array([[1.0, 2.0, 2.0], [1.0, 3.0, -1.0]])
    >>> problem = Problem([Block(h=LHalf(1.0), A=A, shape=3)], b=np.array([2.0, 3.0]))
    >>> lowest_corner(problem, (np.zeros(3),), lambda: False).x[0].round(12)
    array([0., 1., 0.])
    """
    ground = ground_of(problem, x)
    if ground is None:
        return None
    w, is_sure = np.concatenate([np.ravel(xi) for xi in x]), ground.is_sure
    rng, ended = np.random.default_rng(seed), list[tuple[float, np.ndarray]]()
    counts = any(isinstance(cost.penalty, L0) for cost in ground.costs)
    far = np.max(np.abs(ground.places), where=np.isfinite(ground.places), initial=0.0)
    for k in range(WALKS if is_sure else AGREEING):
        found = None if late() else _walk(ground, w, late, guided=counts and k % 2 == 0)
        if found is not None:
            ended.append(found)
        lowest = min((value for value, _ in ended), default=math.inf)
        if sum(value <= lowest + ROUNDED * abs(lowest) for value, _ in ended) >= AGREEING:
            break
        w = rng.standard_normal(w.size) * (max(np.max(np.abs(w)), far) or 1.0)
    if not ended:
        return None
    value, w = min(ended, key=lambda pair: pair[0])
    z, slopes = _multiplier(ground, w)
    is_sure = is_sure and not (counts and _is_usual(ground, w))
    x, s = (tuple(split_blocks(v, [block.shape for block in problem.blocks])) for v in (w, slopes))
    return Corner(x, value, None if z is None else z.reshape(problem.shape), s, is_sure)


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


def _is_usual(ground: Ground, w: np.ndarray) -> bool:
    """Whether as many entries are off their places as the equation has rows, and there are no slopes."""
    off = np.min(np.abs(ground.places - w[:, None]), axis=1) > 0
    sloped = any(np.any(cost.bounds.left) or np.any(cost.bounds.right) for cost in ground.costs)
    return int(off.sum()) >= len(ground.A) and not (sloped or np.any(ground.c))


def _walk(
    ground: Ground, w: np.ndarray, late: Callable[[], bool], guided: bool
) -> tuple[float, np.ndarray] | None:
    """The lowest corner of a walk from the one next to w, after its value; None where none is within its bounds."""
    corner = _corner_near(ground, w)
    if corner is None:
        return None
    basis, w = corner
    best, lowest, least, stale = w, (math.inf, math.inf), (math.inf, math.inf), 0
    seen = set[bytes]()
    for _ in range(STEPS):
        at = _pair(ground.values(w[None]))
        guide = _pair(ground.values(w[None], guided)) if guided else at
        best, lowest = (w, at) if _is_lower(at, lowest) else (best, lowest)
        least, stale = (guide, 0) if _is_lower(guide, least) else (least, stale + 1)
        seen.add(_key(basis, w))
        if late() or stale > STALE:
            break
        following = _neighbour(ground, basis, w, seen, guided, late)
        if following is None:
            break
        basis, w = following
    return (lowest[1], best) if lowest[0] == 0 else None


def _pair(values: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    left, value = values
    return float(left[0]), float(value[0])


def _is_lower(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether a is nearer to its bounds, or as near and lower."""
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1] - ROUNDED * abs(b[1]))


def _key(basis: np.ndarray, w: np.ndarray) -> bytes:
    """The same for the same corner."""
    off = w.copy()
    off[basis] = 0.0
    return np.sort(basis).tobytes() + np.float32(off).tobytes()


def _corner_near(ground: Ground, w: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """A basis of entries that are far from their places, and the corner; None where a free entry is left over."""
    away = np.min(np.abs(ground.places - w[:, None]), axis=1)
    rank, units = len(ground.A), np.linalg.norm(ground.A, axis=0)
    bounded, least = np.isfinite(away), ROUNDED * np.max(np.abs(w), initial=1.0)
    weight = np.where(bounded, np.where(bounded, away, 0.0) + least, 0.0) * units
    weight = np.where(np.isfinite(away), weight, 1e3 * np.max(weight, initial=1.0))
    order = scipy.linalg.qr(ground.A / np.where(units > 0, units, 1.0) * weight, mode="r", pivoting=True)[1]
    basis, others = order[:rank], order[rank:]
    if not np.isfinite(away[others]).all():
        return None
    w = w.copy()
    nearest = np.argmin(np.abs(ground.places[others] - w[others, None]), axis=1)
    w[others] = ground.places[others, nearest]
    w[basis] = np.linalg.solve(ground.A[:, basis], ground.b - ground.A[:, others] @ w[others])
    return basis, _tidy(ground, w)


def _neighbour(
    ground: Ground, basis: np.ndarray, w: np.ndarray, seen: set[bytes], guided: bool, late: Callable[[], bool]
) -> tuple[np.ndarray, np.ndarray] | None:
    """The lowest of the corners next to w that were not seen, those within bounds first; None where it is late."""
    others = np.setdiff1d(np.arange(w.size), basis)
    D = np.linalg.solve(ground.A[:, basis], ground.A[:, others])
    large = np.abs(D) > 1e-9 * np.max(np.abs(D), initial=0.0)
    rooms = w[basis, None] - ground.places[basis]
    i, k, p = np.nonzero(np.isfinite(rooms)[:, None, :] & large[:, :, None])
    if not len(i) or (ground.by_value and any(late() for _ in i)):
        return None
    W = np.tile(w, (len(i), 1))
    step = rooms[i, p] / D[i, k]
    W[:, basis] -= step[:, None] * D[:, k].T
    W[np.arange(len(i)), others[k]] += step
    W[np.arange(len(i)), basis[i]] = ground.places[basis[i], p]
    left, value = ground.values(W, guided)
    for first in np.lexsort((value, left)):
        swapped = basis.copy()
        swapped[i[first]] = others[k[first]]
        if _key(swapped, W[first]) not in seen:
            return swapped, _tidy(ground, W[first])
    return None


def _tidy(ground: Ground, w: np.ndarray) -> np.ndarray:
    """w with entries that rounding keeps from their places there."""
    near = np.abs(ground.places - w[:, None])
    nearest = np.argmin(near, axis=1)
    rows = np.arange(w.size)
    close = near[rows, nearest] <= ROUNDED * np.max(np.abs(w), initial=0.0)
    return np.where(close, ground.places[rows, nearest], w)


def _multiplier(ground: Ground, w: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """z with -Aᵀz - ∇f ∈ ∂φ(w), and these subgradients; None for z where there is none."""
    pairs = [cost.slopes(v) for cost, v in zip(ground.costs, np.split(w, ground.at), strict=True)]
    low, high = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    force = ground.c if ground.H is None else ground.c + ground.H @ w
    off = low == high
    A, aim = ground.A, -(low + force)[off]
    z = np.linalg.lstsq(A[:, off].T, aim, rcond=None)[0]
    slopes = -A.T @ z - force
    slack = SLACK * (np.abs(A).sum(axis=0) * np.max(np.abs(z), initial=0.0) + np.abs(force))
    if not np.all((slopes >= low - slack) & (slopes <= high + slack)):
        size = float(np.max(np.abs(force), initial=0.0)) or 1.0
        found = scipy.optimize.linprog(
            np.zeros(len(A)),
            A_ub=np.vstack([-A.T[~off & np.isfinite(high)], A.T[~off & np.isfinite(low)]]),
            b_ub=np.concatenate(
                [(high + force)[~off & np.isfinite(high)], -(low + force)[~off & np.isfinite(low)]]
            )
            / size,
            A_eq=A[:, off].T,
            b_eq=aim / size,
            bounds=(None, None),
        )
        if found.x is None:
            return None, slopes
        z = size * found.x
        z = z + np.linalg.lstsq(A[:, off].T, aim - A[:, off].T @ z, rcond=None)[0]
        slopes = -A.T @ z - force
        if not np.all((slopes >= low - slack) & (slopes <= high + slack)):
            return None, slopes
    whole = np.zeros(ground.total)
    whole[ground.rows] = z
    return whole, np.clip(slopes, low, high)
