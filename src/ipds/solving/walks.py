"""Walks over a discrete set: the best flip of entries that was not made lately, whether it is lower or not.

For one block x of finitely many points, alone or with a block u = u₀ + M x that follows, under

    F(x) = ½ xᵀHx + cᵀx + Σ max(left·(u - place), right·(u - place)),   lower ≤ u ≤ upper,

one gradient and one product tell what every flip of one entry comes to (of two, where a number of them is given).
Exchanges that end where none is lower (`flips`) miss the best of some forty entries every other time; a walk passes
over such points, and over bounds, by a weight that grows outside and shrinks within. Glover, Tabu search, ORSA J.
Comput. 1 (1989), and for knapsacks EJOR 21 (1996). Equations, as those of an assignment, allow no flip
of one entry: at last two entries of either value are flipped where that leaves u as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._arrays import to_dense
from ..functions import Binary, KBinary, Smooth, Zero
from ..functions.hessians import constant_hessian
from ..functions.kinks import Kinks
from ..methods.faces.smooth import as_smooth
from ..problem import Problem
from .flips import Arrays, Merit, balanced_flips, follower

ENTRIES, ROWS = 1000, 500
"""Entries of x and of u up to which all flips are looked at."""
LISTED = 12
"""Entries up to which all points are looked at."""
STEPS, MOST, STALE = 20, 2000, 6
"""Flips of a walk, in units of the entries, and at most; flips since its best point after which it ends, in these."""
TENURE = 7
"""Flips for which an entry stays as it is once it was flipped, and as many again at most; a third of all entries."""
PATIENCE, HEAVIER = 3, 2.0
"""Flips outside of the bounds, or within, after which leaving them counts more, or less; the factor."""
ROUNDED = 1e-9
"""What counts as none, of a violation and of a fall in units of what there is."""


class Ground(NamedTuple):
    """F, but for the place."""

    values: tuple[float, float]
    """Of an entry."""
    is_choice: bool
    """Whether a number of entries is given (`KBinary`), so that they are flipped by two."""
    H: np.ndarray
    M: np.ndarray
    kinks: Kinks
    """Of u, as columns."""

    def left(self, u: np.ndarray) -> np.ndarray:
        """By how much columns u leave the bounds; 0 for what is rounding."""
        k = self.kinks
        missed = np.maximum(k.lower - u, 0.0) + np.maximum(u - k.upper, 0.0)
        missed[missed <= ROUNDED * (1 + np.abs(u))] = 0.0
        return np.sqrt(np.sum(np.square(missed), axis=0))

    def price(self, u: np.ndarray) -> np.ndarray:
        """What columns u cost."""
        k = self.kinks
        return np.sum(np.maximum(k.left * (u - k.place), k.right * (u - k.place)), axis=0)

    def flips(self, x: np.ndarray, u: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(what is left of the bounds, by how much F rises, the entries as columns) of all flips at (x, u).

        `g` is the gradient of the quadratic part.
        """
        d = sum(self.values) - 2 * x
        rise, change, moves = g * d + 0.5 * np.diag(self.H) * d * d, self.M * d, np.arange(x.size)[None]
        if self.is_choice:
            p, q = (
                a.ravel() for a in np.meshgrid(np.flatnonzero(x > x.mean()), np.flatnonzero(x < x.mean()))
            )
            rise = rise[p] + rise[q] + self.H[p, q] * d[p] * d[q]
            change, moves = change[:, p] + change[:, q], np.stack([p, q])
        columns = u[:, None] + change
        return self.left(columns), rise + self.price(columns) - self.price(u[:, None]), moves

    def balanced(self, x: np.ndarray, g: np.ndarray, late: Callable[[], bool]) -> np.ndarray:
        """The lowest point from x on of flips of two entries of either value that leave u as it is."""
        while not late():
            moves = balanced_flips(self.M, x)
            if not moves.size:
                break
            d = sum(self.values) - 2 * x[moves]
            rise = np.sum(g[moves] * d, axis=0)
            rise += 0.5 * np.sum(self.H[moves[:, None], moves] * d[:, None] * d, axis=(0, 1))
            k = int(np.argmin(rise))
            if not rise[k] < -ROUNDED * float(np.max(np.abs(g[moves] * d))):
                break
            entries, x = moves[:, k], x.copy()
            x[entries] += d[:, k]
            g = g + self.H[:, entries] @ d[:, k]
        return x

    def first_weight(self, x: np.ndarray, g: np.ndarray) -> float:
        """What leaving the bounds counts at first: as much as a usual flip earns."""
        d = sum(self.values) - 2 * x
        moved = float(np.mean(np.linalg.norm(self.M * d, axis=0))) if len(self.M) else 0.0
        return float(np.mean(np.abs(g * d))) / moved if moved > 0 else 1.0


def walked(problem: Problem, x: Sequence[np.ndarray], late: Callable[[], bool]) -> Arrays | None:
    """The best point of a walk from x; None where the problem has another form.

    >>> from ipds import Block
    >>> from ipds.functions import Quadratic
    >>> W = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.5], [1.0, 0.5, 0.0]])
    >>> problem = Problem([Block(f=Quadratic(W), h=Binary(-1.0, 1.0), shape=3)])
    >>> (x,) = walked(problem, (np.ones(3),), lambda: False)
    >>> x[0] * x
    array([ 1., -1., -1.])
    """
    k = None if problem.unconstrained else follower(problem)
    at = [i for i, block in enumerate(problem.blocks) if isinstance(block.h, Binary | KBinary)]
    if len(at) != 1 or len(problem.blocks) > (1 if k is None else 2) or k in at:
        return None
    (i,), h = at, problem.blocks[at[0]].h
    start = tuple(h.prox(xj, 1.0) if j == i else xj for j, xj in enumerate(x))
    full = Merit(problem, k).restored(start)
    found = _ground(problem, i, k, full)
    if found is None:
        return None
    ground, g = found
    u = np.zeros(0) if k is None else full[k].ravel()
    few = not ground.is_choice and full[i].size <= LISTED
    best = _listed(ground, full[i].ravel(), u, g) if few else _best(ground, full[i].ravel(), u, g, late)
    own = best.reshape(full[i].shape)
    return Merit(problem, k).restored((*full[:i], own, *full[i + 1 :]))


def _listed(ground: Ground, x: np.ndarray, u: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The best of all points, where these are few."""
    low, high = ground.values
    points = low + (high - low) * (np.arange(2**x.size)[:, None] >> np.arange(x.size) & 1)
    d = points - x
    columns = u[:, None] + ground.M @ d.T
    value = d @ g + 0.5 * np.sum((d @ ground.H) * d, axis=1) + ground.price(columns)
    return points[np.lexsort((value, ground.left(columns)))[0]]


def _best(
    ground: Ground, x: np.ndarray, u: np.ndarray, g: np.ndarray, late: Callable[[], bool]
) -> np.ndarray:
    """The best point of a walk from x: within bounds, or nearest to them, and lowest there."""
    n, rng, value = x.size, np.random.default_rng(0), 0.0
    free_at, tenure = np.zeros(n, int), max(1, min(TENURE, n // 6))
    best, lowest = x, (float(ground.left(u[:, None])[0]), 0.0)
    weight, since, best_at = ground.first_weight(x, g), 0, 0
    for t in range(min(STEPS * n, MOST)):
        if late() or t - best_at > STALE * n:
            break
        left, rise, moves = ground.flips(x, u, g)
        held = np.any(free_at[moves] > t, axis=0)
        lower = (left < (1 - ROUNDED) * lowest[0]) | (
            (left <= lowest[0]) & (value + rise < lowest[1] - ROUNDED * (abs(lowest[1]) + np.abs(rise)))
        )
        some = lower if lower.any() else ~held
        if not some.any():
            break
        first = int(np.argmin(np.where(some, rise + weight * left, np.inf)))
        entries = moves[:, first]
        d = sum(ground.values) - 2 * x[entries]
        x = x.copy()
        x[entries] += d
        u, g, value = u + ground.M[:, entries] @ d, g + ground.H[:, entries] @ d, value + float(rise[first])
        free_at[entries] = t + 1 + tenure + int(rng.integers(0, tenure + 1))
        if lower[first]:
            best, lowest, best_at = x, (float(left[first]), value), t
        outside = left[first] > 0
        since = max(since, 0) + 1 if outside else min(since, 0) - 1
        if abs(since) == PATIENCE:
            weight, since = weight * (HEAVIER if outside else 1 / HEAVIER), 0
    held = lowest[0] == 0 and bool(np.any(ground.kinks.lower == ground.kinks.upper))
    return ground.balanced(best, g + ground.H @ (best - x), late) if held else best


def _ground(problem: Problem, i: int, k: int | None, x: Arrays) -> tuple[Ground, np.ndarray] | None:
    """F where it has the form above, and the gradient of its quadratic part at x; else None."""
    block, n = problem.blocks[i], x[i].size
    values = (block.h.lo, block.h.hi) if isinstance(block.h, Binary) else (0.0, 1.0)
    if n > ENTRIES or not all(isinstance(value, float) for value in values):
        return None
    M, kinks, terms = np.zeros((0, n)), Kinks(), [] if block.f is None else [(block.f, i)]
    if k is not None:
        last, op, A = problem.blocks[k], problem.operators[k], problem.operators[i].as_matrix(block.shape)
        if A is None or x[k].size > ROWS:
            return None
        M = to_dense(A) * (-1 / op.scale)  # type: ignore[attr-defined]
        smooth = None if isinstance(last.h, Zero) else as_smooth(last.h)
        terms += [(f, k) for f in (smooth, last.f) if f is not None]
        own = last.h.kinks(last.shape) if smooth is None else kinks
        if own is None:
            return None
        kinks = own
    H, g = np.zeros((n, n)), np.zeros(n)
    for f, at in terms:
        found = _bent(f, x[at], np.eye(n) if at == i else M)
        if found is None:
            return None
        H, g = H + found[0], g + found[1]
    shape = x[i].shape if k is None else x[k].shape
    columns = Kinks(*(np.reshape(part, (-1, 1)) for part in kinks.filled(shape))) if k is not None else kinks
    return Ground(values, isinstance(block.h, KBinary), H, M, columns), g


def _bent(f: Smooth, x: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Mᵀ∇²f M and Mᵀ∇f(x) of a quadratic f; None for others."""
    bend = constant_hessian(f, x)
    if bend is None:
        return None
    return M.T @ (bend[:, None] * M if bend.ndim == 1 else bend @ M), M.T @ np.ravel(f.grad(x))
