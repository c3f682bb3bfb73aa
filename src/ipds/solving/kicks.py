"""Changes of single entries: out of a minimum of an h that is known by its prox alone, or of an f between bounds.

Where a set is of isolated points or of several pieces (integers, 0 or an interval, one entry of each row), every step
that is short leads back to where it began. An entry is moved by as much as entries differ, the prox makes a point of
the set of that, and what is lower is taken; where no single one helps, two entries are moved, one against the other, as
an equation may ask. Where all but a sum over entries is quadratic, one gradient tells of all these moves

    F(x + d) = F(x) + gᵀd + ½ dᵀHd + Σ φ_k(x_k + d_k) - φ_k(x_k),

the lowest point of each entry alone being one of them. On a sphere a critical point of a quadratic is its minimum
unless F bends down below the multiplier: along the eigenvector of the least curvature, in which the point is mirrored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..functions import L0, Jumps, Nonsmooth, Smooth, Sphere, Zero
from ..functions.scalar import ScalarPenalty
from ..methods.faces.smooth import as_smooth
from ..problem import Block, Problem
from ..theory.bending import bends_down
from .flips import LOWER, Arrays, Merit, follower, lower_than
from .inventing import NEAR
from .pieces import is_entrywise_set

ENTRIES, PAIRED = 100, 30
"""Entries of a block up to which each is moved, and pairs of them are, unless one gradient tells of all."""
LENGTHS = 2.0, 1.0, 0.5, 0.25
"""By how much, in units of the largest entry."""
SHAKEN, SWEEPS, WIDTHS = 20, 6, 60
"""Entries up to which all are moved and held in turn, moves of others then, in units of the entries, and widths at
which the next points of a set are looked for."""
SEVERAL = 0.3
"""The share of entries that are moved and held together in trials with several of them."""
MOVES = 50
"""Moves at most."""
SHORT = 1e-7
"""What is a short way, in units of the largest entry."""

Moves = Iterable[dict[int, float]]
"""New values of entries."""
Reached = tuple[Arrays, tuple[float, float]]
"""A point, and its merit."""


def kicked(problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool]) -> Arrays | None:
    """A lower point that differs in entries of blocks with such an h or f; None where no move is lower.

    >>> from ipds import Block
    >>> from ipds.functions import Linear, Box, Quadratic
    >>> problem = Problem([Block(f=Quadratic(-1.0, np.array([0.1, -0.1])), h=Box(-1.0, 1.0), shape=2)])
    >>> kicked(problem, (np.ones(2),), lambda: False)[0]
    array([-1.,  1.])
    """
    moved_along = None if problem.unconstrained else follower(problem)
    at = [i for i, b in enumerate(problem.blocks) if x[i].size <= ENTRIES and _is_stuck(b, x[i])]
    if not (at and (problem.unconstrained or moved_along is not None)):
        return None
    merit, found = Merit(problem, moved_along), tuple(x)
    value = merit(found)
    if not math.isfinite(value[1]):
        return None
    start, bowls = found, {i: _bowl(merit, found, i) for i in at}

    def next_of(i: int) -> Reached | None:
        F = bowls[i]
        if isinstance(problem.blocks[i].h, Sphere):
            return None if F is None else _mirrored(merit, found, value, i, F)
        if F is None:
            return _next(merit, found, value, i, late)
        return _at_once(merit, found, value, i, F, late) or _shaken(merit, found, value, i, F, late)

    for _ in range(MOVES):
        lower = (pair for pair in map(next_of, at) if pair is not None)
        better = min(lower, key=lambda pair: pair[1], default=None)
        if better is None:
            break
        found, value = better
    return None if found is start else merit.restored(found)


def _is_stuck(block: Block, x: np.ndarray) -> bool:
    """Whether short steps may lead nowhere: sets of pieces, spheres, concave penalties, an f that bends down in bounds.

    There are pieces where entries of x come back from a short way off.
    """
    h, f = block.h, block.f
    if isinstance(h, L0 | Jumps):  # exchanged on its faces; segments, not single entries
        return False
    if isinstance(h, ScalarPenalty):
        return not h.is_convex
    if isinstance(h, Sphere):
        return True
    if not h.is_convex:
        if h.has_faces or h.is_manifold or h.face(np.zeros(block.shape)) is not None:
            return False
        off = SHORT * (float(np.max(np.abs(x))) or 1.0) * np.random.default_rng(0).standard_normal(x.shape)
        return bool(np.any(h.prox(x + off, 1.0) == h.prox(x, 1.0)))
    bounded = bool(np.all(np.isfinite(np.asarray(h.width(block.shape), float))))
    return bounded and f is not None and bends_down(f, h, x)


def _sizes(x: np.ndarray) -> list[float]:
    """By how much entries are moved, up and down in turn."""
    return [sign * length * (float(np.max(np.abs(x))) or 1.0) for length in LENGTHS for sign in (1, -1)]


def _near(h: Nonsmooth) -> float:
    return 1.0 if h.is_set else NEAR


def _next(
    merit: Merit, x: Arrays, value: tuple[float, float], i: int, late: Callable[[], bool]
) -> Reached | None:
    """The lowest point with one entry of block i moved, or else with two; None where none is lower."""
    h, own, n, sizes = merit.problem.blocks[i].h, x[i].ravel(), x[i].size, _sizes(x[i])
    singles: Moves = ({k: new} for k in range(n) for new in (*(own[k] + d for d in sizes), 0.0))
    pairs: Moves = (
        {k: own[k] + d, j: own[j] - d}
        for k, j in itertools.combinations(range(n if n <= PAIRED else 0), 2)
        for d in sizes
    )
    for moves in (singles, pairs):
        lowest, best = lower_than(value), None
        for move in moves:
            if late():
                return None
            v = x[i].copy()
            v.flat[list(move)] = list(move.values())
            trial = (*x[:i], h.prox(v, _near(h)), *x[i + 1 :])
            reached = merit(trial)
            if reached < lowest:
                lowest, best = reached, trial
        if best is not None:
            return best, lowest
    return None


def _mirrored(merit: Merit, x: Arrays, value: tuple[float, float], i: int, F: Bowl) -> Reached | None:
    """The point mirrored in the direction in which F bends least, which stays on a sphere, where that is lower.

    Where ∇F + μx = 0 and dᵀ(H + μ)d < 0, F(x - 2⟨d, x⟩d) = F(x) + 2⟨d, x⟩² dᵀ(H + μ)d. Lucidi, Palagi & Roma, On some
    properties of quadratic programs with a convex quadratic constraint, SIAM J. Optim. 8 (1998).
    """
    d = np.linalg.eigh(F.H)[1][:, 0].reshape(x[i].shape)
    trial = (*x[:i], x[i] - 2 * float(np.vdot(d, x[i])) * d, *x[i + 1 :])
    reached = merit(trial)
    return (trial, reached) if reached < lower_than(value) else None


def _at_once(
    merit: Merit, x: Arrays, value: tuple[float, float], i: int, F: Bowl, late: Callable[[], bool]
) -> Reached | None:
    """The same where F is quadratic in block i, and its h is a sum over entries."""
    if late():
        return None
    h, own, H, g = merit.problem.blocks[i].h, x[i], F.H, F.gradient(merit.restored(x))
    bend = np.diag(H)
    flat = np.where(bend > 0, bend, 1.0)
    valley = np.where(bend > 0, own.ravel() - g / flat, own.ravel()).reshape(own.shape)
    points = [h.prox(own + d, _near(h)) for d in _sizes(own)]
    points += [h.prox(0 * own, _near(h)), h.prox(valley, 1 / flat.reshape(own.shape))]  # type: ignore[arg-type]

    def prices(v: np.ndarray) -> np.ndarray:
        return h.terms(v).ravel() if isinstance(h, ScalarPenalty) else np.zeros(v.size)

    new = np.array([np.ravel(v) for v in points])
    d = new - own.ravel()
    rise = d * (g + 0.5 * bend * d) + np.array([prices(v) for v in points]) - prices(own)
    t, k = np.unravel_index(np.argmin(rise), rise.shape)
    v = own.copy()
    v.flat[k] = new[t, k]
    if not rise[t, k] < -LOWER * abs(value[1]):
        up, down = (slice(way, 2 * len(LENGTHS), 2) for way in (0, 1))
        both = rise[up, :, None] + rise[down, None, :] + H * d[up, :, None] * d[down, None, :]
        both[:, range(own.size), range(own.size)] = np.inf
        t, k, j = np.unravel_index(np.argmin(both), both.shape)
        v = own.copy()
        v.flat[k], v.flat[j] = new[up][t, k], new[down][t, j]
    trial = (*x[:i], v, *x[i + 1 :])
    reached = merit(trial)
    return (trial, reached) if reached < lower_than(value) else None


def _shaken(
    merit: Merit, x: Arrays, value: tuple[float, float], i: int, F: Bowl, late: Callable[[], bool]
) -> Reached | None:
    """The lowest point reached where entries were moved, and held until all others had moved to suit them; else None.

    Each entry alone and some drawn together, one trial to a row of X: in every row the entry that gains most moves to
    its lowest point.
    """
    h, own, bend = merit.problem.blocks[i].h, x[i], np.diag(F.H)
    if late() or own.size > SHAKEN or not np.all(bend > 0):
        return None
    g = F.gradient(merit.restored(x))

    def lowest_each(X: np.ndarray, G: np.ndarray) -> np.ndarray:
        V = (X - G / bend).reshape(-1, *own.shape)
        if isinstance(h, ScalarPenalty):
            return h.prox(V, (1 / bend).reshape(own.shape)).reshape(X.shape)
        return np.array([np.ravel(h.prox(v, 1.0)) for v in V])

    def prices(X: np.ndarray) -> np.ndarray | float:
        return h.terms(X.reshape(-1, *own.shape)).reshape(X.shape) if isinstance(h, ScalarPenalty) else 0.0

    others, flat = _others(h, own, own.ravel() - g / bend), own.ravel()
    held = np.concatenate([np.diag(row != flat)[row != flat] for row in others])
    which = np.concatenate([np.full(int(np.sum(row != flat)), t) for t, row in enumerate(others)])
    if not len(held):
        return None
    # as many rows again with several entries moved
    drawn = np.random.default_rng(0).random(held.shape) < SEVERAL
    held = np.concatenate([held, drawn & (others[which] != flat)])
    X = np.where(held, others[np.tile(which, 2)], flat)
    for holding in (True, False):
        for _ in range(SWEEPS * own.size):
            G = g + (X - flat) @ F.H
            new = lowest_each(X, G)
            d = new - X
            rise = d * (G + 0.5 * bend * d) + prices(new) - prices(X)
            rise = np.where(held, 0.0, rise) if holding else rise
            k = np.argmin(rise, axis=1)
            moving = np.flatnonzero(rise[np.arange(len(held)), k] < -LOWER * abs(value[1]))
            if not len(moving):
                break
            X[moving, k[moving]] = new[moving, k[moving]]
    d = X - own.ravel()
    rise = (
        d @ g + 0.5 * np.sum((d @ F.H) * d, axis=1) + np.sum(prices(X) - prices(own.reshape(1, -1)), axis=-1)
    )
    best = int(np.argmin(rise))
    if not rise[best] < -LOWER * abs(value[1]):
        return None
    trial = (*x[:i], X[best].reshape(own.shape), *x[i + 1 :])
    reached = merit(trial)
    return (trial, reached) if reached < lower_than(value) else None


def _others(h: Nonsmooth, x: np.ndarray, valley: np.ndarray) -> np.ndarray:
    """Other values for every entry: 0, or where it is 0 the valley of F; the next points of a set, up and down."""
    if isinstance(h, ScalarPenalty):
        return np.where(x.ravel() != 0, 0.0, valley)[None]
    sizes = np.geomspace(SHORT, 1.0, WIDTHS) * 2 * (float(np.max(np.abs(x))) or 1.0)
    rows = []
    for sign in (1, -1):
        row = x.ravel().copy()
        for size in sizes:
            row = np.where(row == x.ravel(), np.ravel(h.prox(x + sign * size, 1.0)), row)
        rows.append(row)
    return np.array(rows)


class Bowl(NamedTuple):
    """F = Σ f(M x_i + ...) as a function of block i alone, the follower moving along, where it is quadratic."""

    terms: list[tuple[Smooth, int, np.ndarray]]
    """f, the block that it is a function of, and M."""
    H: np.ndarray
    """∇²F."""

    def gradient(self, x: Arrays) -> np.ndarray:
        """∇F where x meets the equation."""
        return np.add.reduce([M.T @ np.ravel(f.grad(x[k])) for f, k, M in self.terms])


def _bowl(merit: Merit, x: Arrays, i: int) -> Bowl | None:
    """None where F is not quadratic, or the h of block i neither a sum over entries nor a sphere."""
    problem, block, k = merit.problem, merit.problem.blocks[i], merit.follower
    if not (isinstance(block.h, ScalarPenalty | Sphere) or is_entrywise_set(block.h, x[i])):
        return None
    terms = [] if block.f is None else [(block.f, i, np.eye(x[i].size))]
    if k is not None:
        last, op, A = problem.blocks[k], problem.operators[k], problem.operators[i].as_matrix(block.shape)
        own = None if isinstance(last.h, Zero) else as_smooth(last.h)
        if type(A) is not np.ndarray or (own is None and not isinstance(last.h, Zero)):
            return None
        terms += [(f, k, A * (-1 / op.scale)) for f in (own, last.f) if f is not None]  # type: ignore[attr-defined]
    H = np.zeros((x[i].size, x[i].size))
    for f, at, M in terms:
        bend = f.hessian(x[at]) if f.is_quadratic else None
        if not isinstance(bend, np.ndarray):
            return None
        H += M.T @ (bend[:, None] * M if bend.ndim == 1 else bend @ M)
    return Bowl(terms, H) if terms else None
