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

from ..functions import L0
from ..problem import Problem, split_blocks
from .ground import ROUNDED, Ground, ground_of

STEPS, STALE = 200, 25
"""Corners that a walk visits at most, and those since the best one after which it ends."""
WALKS, AGREEING = 8, 3
"""Walks at most, and those that end at the lowest value after which there is no other."""
SLACK = 1e-9
"""By how much a slope may miss its bounds, in units of the forces that it is the sum of."""


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
