"""Starts of few unknowns under many residuals of a loss that is not convex: fits of as many rows as there are unknowns.

Such a loss tells of residuals that are small, and hardly tells those that are large apart. A point drawn leaves nearly
all of them large; a fit of a few rows alone leaves those of their kind small. Rousseeuw, Least median of squares
regression, J. Amer. Statist. Assoc. 79 (1984); Fischler & Bolles, Random sample consensus, Commun. ACM 24 (1981).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from .._arrays import to_dense
from ..functions import Nonsmooth, Zero
from ..operators import Identity
from ..problem import Problem
from .flips import Arrays
from .inventing import prototype
from .starts import Point

UNKNOWNS, FITS = 10, 300
"""Unknowns up to which rows are fitted, and fits that are looked at: all there are, or so many drawn."""
FAR = 1e12
"""Step of the prox that leads to where the loss is least."""
APART = 1e-3
"""Fits whose objectives differ by less, relatively, are taken for one."""
ENDED = 1e-9
"""Slopes at which a descent ends, in units of the columns and of F."""
SHORT, CORRECTIONS = 1e-6, 6
"""Step of the prox that tells subgradients, in units of the largest residual, and times that these are corrected."""


class Loss(NamedTuple):
    """F(v) = Σ f_i(x_i) + h(u), where v are all entries of blocks that are free, and c u = b - A v is solved for."""

    problem: Problem
    k: int
    """The block u."""
    A: np.ndarray
    b: np.ndarray

    @property
    def has_few_fits(self) -> bool:
        """Whether all fits of as many rows as there are unknowns are looked at."""
        return math.comb(*self.A.shape) <= FITS

    def point(self, v: np.ndarray) -> Arrays:
        """All blocks."""
        blocks, x, start = self.problem.blocks, list[np.ndarray](), 0
        for i, block in enumerate(blocks):
            size = 0 if i == self.k else math.prod(block.shape)
            x.append(v[start : start + size].reshape(block.shape) if i != self.k else np.zeros(block.shape))
            start += size
        restored = self.problem.restore(x, at=self.k)
        assert restored is not None
        return restored

    def at(self, v: np.ndarray) -> tuple[float, np.ndarray, Point]:
        """F and its slope, and the point with the multiplier that balances the forces on u."""
        blocks, x = self.problem.blocks, self.point(v)
        smooth = [np.zeros(b.shape) if b.f is None else b.f.grad(xi) for b, xi in zip(blocks, x, strict=True)]
        s, c = _subgradient(blocks[self.k].h, x[self.k]), self.problem.operators[self.k].scale  # type: ignore[attr-defined]
        z = -(s + smooth[self.k]).reshape(self.problem.shape) / c
        slope = (
            np.concatenate([np.ravel(g) for i, g in enumerate(smooth) if i != self.k]) + self.A.T @ z.ravel()
        )
        slopes = [s if i == self.k else np.zeros(block.shape) for i, block in enumerate(blocks)]
        return self.value(x), slope, Point(x, slopes, z)

    def value(self, x: Arrays) -> float:
        """F where x meets the equation."""
        blocks = self.problem.blocks
        smooth = sum(float(b.f(xi)) for b, xi in zip(blocks, x, strict=True) if b.f is not None)
        return smooth + float(blocks[self.k].h(x[self.k]))


def loss_of(problem: Problem) -> Loss | None:
    """The loss, where one block alone has an h, which is not convex and no set, and the others have few entries."""
    blocks = problem.blocks
    at = [i for i, block in enumerate(blocks) if not isinstance(block.h, Zero)]
    if type(prototype(problem)) is not np.ndarray or problem.unconstrained or len(at) != 1:
        return None
    if blocks[at[0]].h.is_convex or blocks[at[0]].h.is_set:
        return None
    free = [i for i in range(len(blocks)) if i not in at]
    unknowns, rows = sum(math.prod(blocks[i].shape) for i in free), math.prod(problem.shape)
    parts = [problem.operators[i].as_matrix(blocks[i].shape) for i in free if unknowns <= UNKNOWNS]
    if not (isinstance(problem.operators[at[0]], Identity) and 0 < unknowns < rows and parts):
        return None
    if any(part is None for part in parts):
        return None
    A = np.hstack([to_dense(part) for part in parts])
    return Loss(problem, at[0], A, np.broadcast_to(np.asarray(problem.b, float), problem.shape).ravel())


def exact_fits(loss: Loss, count: int, late: Callable[[], bool]) -> list[Point]:
    """Where descents from the `count` lowest fits end, of which no two have one objective.

    >>> from ipds import Block
    >>> from ipds.functions import CappedL1
    >>> capped = Block(h=CappedL1(1.0, 0.5), A=-1.0, shape=4)
    >>> problem = Problem([Block(A=np.ones((4, 1)), shape=1), capped], b=np.array([0.0, 5.0, 5.1, 9.0]))
    >>> [round(float(point.x[0][0]), 6) for point in exact_fits(loss_of(problem), 2, lambda: False)]
    [5.0, 0.0]
    """
    found, block = list[tuple[float, np.ndarray, list[int]]](), loss.problem.blocks[loss.k]
    least = loss.problem.operators[loss.k].apply(block.h.prox(np.zeros(block.shape), FAR))
    b = loss.b - np.ravel(least)
    for some in _choices(*loss.A.shape):
        if late():
            break
        try:
            v = np.linalg.solve(loss.A[some], b[some])
        except np.linalg.LinAlgError:
            continue
        found.append((loss.value(loss.point(v)), v, some))
    lowest = list[tuple[float, np.ndarray, list[int]]]()
    for value, v, some in sorted(found, key=lambda fit: fit[0]):
        if len(lowest) < count and all(abs(value - other) > APART * abs(other) for other, _, _ in lowest):
            lowest.append((value, v, some))
    return [_end(loss, value, v, some, late) for value, v, some in lowest]


def _end(loss: Loss, value: float, v: np.ndarray, some: list[int], late: Callable[[], bool]) -> Point:
    """Where a descent from a fit of these rows leads; the fit, if nothing is lower.

    Where the loss has a kink, the forces on the rows that are fitted are what balances the others.
    """
    found, _, end = loss.at(lower := _descended(loss, v, late))
    if found < value - ENDED * abs(value):
        return end
    _, slope, point = loss.at(v if found > value else lower)
    z, c = point.z.copy(), loss.problem.operators[loss.k].scale  # type: ignore[attr-defined]
    force = np.linalg.solve(loss.A[some].T, -slope)
    z.ravel()[some] += force
    slopes = list(point.slopes)
    slopes[loss.k] = slopes[loss.k].copy()
    slopes[loss.k].ravel()[some] -= c * force
    return Point(point.x, tuple(slopes), z)


def _descended(loss: Loss, v: np.ndarray, late: Callable[[], bool]) -> np.ndarray:
    """Where quasi-Newton steps lead, in units of the columns."""
    unit = 1 / np.where(norms := np.linalg.norm(loss.A, axis=0), norms, 1.0)

    def scaled(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = loss.at(unit * w)
        return value, unit * slope

    size = abs(loss.value(loss.point(v))) or 1.0
    found = scipy.optimize.minimize(
        lambda w: tuple(part / size for part in scaled(w)),
        v / unit,
        jac=True,
        method="BFGS",
        options={"gtol": ENDED},
        callback=lambda _: _stop_if(late()),
    )
    return unit * found.x


def _stop_if(over: bool) -> None:
    if over:
        raise StopIteration


def _subgradient(h: Nonsmooth, u: np.ndarray) -> np.ndarray:
    """s with prox(u + t s, t) = u, as near as it comes, for a short step t."""
    size = float(np.max(np.abs(u))) or 1.0
    t = SHORT * size
    s = np.zeros(u.shape)
    for _ in range(CORRECTIONS):
        s = s + (u - h.prox(u + t * s, t)) / t
    return s


def _choices(rows: int, unknowns: int) -> list[list[int]]:
    if math.comb(rows, unknowns) <= FITS:
        return list(map(list, itertools.combinations(range(rows), unknowns)))
    rng = np.random.default_rng(0)
    return [list(rng.choice(rows, unknowns, replace=False)) for _ in range(FITS)]
