"""Discrete blocks beside others: all else is solved for at one of their points after the other, chosen by cuts.

With y the discrete blocks, v(y) = the least value over all else is convex in y where the rest of the problem is, and an
answer at y_k with its multiplier z_k gives a slope of it, g_k = ∇f(y_k) + Aᵀz_k:

    v(y) ≥ v(y_k) + ⟨g_k, y - y_k⟩   for all y and k.

Of the points one flip from the best, the one where the largest of these bounds is lowest is solved for next; once that
is not below the best, none of them is, and those two flips away follow, then three. Geoffrion, Generalized Benders
decomposition, JOTA 10 (1972).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..functions import Binary, KBinary, Nonsmooth
from ..problem import Problem, split_blocks
from ..theory.fixed import is_convex
from ..theory.objective import size_of
from .relaxing import hull, relaxed

if TYPE_CHECKING:
    from ..result import Result

LOOKS = 60
"""Points at most."""
POINTS, MOST = 2000, 400
"""Points around the best up to which several flips are made at once, and entries of discrete blocks at most."""
LOWER = 1e-6
"""By what fraction of itself the objective has to fall."""


class Cut(NamedTuple):
    """v(y) ≥ value + ⟨slope, y - at⟩."""

    at: np.ndarray
    value: float
    slope: np.ndarray


def is_mixed(problem: Problem, at: list[int]) -> bool:
    """Whether few discrete entries stand beside blocks that are solved for, and all else is convex."""
    near = relaxed(problem, hull)
    if near is None or not is_convex(near) or len(problem.blocks) - len(at) < 2:
        return False
    return sum(math.prod(problem.blocks[i].shape) for i in at) <= MOST


def search_by_cuts(
    problem: Problem,
    at: list[int],
    answers: list[Result],
    solved_at: Callable[[list[np.ndarray]], Result | None],
    late: Callable[[], bool],
) -> list[Result]:
    """Answers at points of the discrete blocks `at`, the best one last; none where nothing is lower.

    `answers` are that of the convex relaxation and those at points, the best of which is where the search begins;
    `solved_at` gives the answer for discrete blocks that are fixed, None where there is none.
    """
    cuts = [_cut(problem, at, answer) for answer in answers]
    best = min(cuts[1:], key=lambda cut: cut.value)
    seen = {cut.at.tobytes() for cut in cuts}
    found: list[Result] = []
    for _ in range(LOOKS):
        enough = best.value - LOWER * size_of(problem, best.value)
        point = None if late() else _lowest(_around(problem, at, best.at), seen, cuts, enough)
        if point is None:
            break
        seen.add(point.tobytes())
        answer = solved_at(_split(problem, at, point))
        if answer is None:
            continue
        cuts.append(_cut(problem, at, answer))
        if cuts[-1].value < enough:
            best = cuts[-1]
            found.append(answer)
    return found


def _lowest(
    rings: Iterable[list[np.ndarray]], seen: set[bytes], cuts: list[Cut], enough: float
) -> np.ndarray | None:
    """The point with the lowest bound in the first ring where one is low enough; None where there is none."""
    for ring in rings:
        points = np.array([y for y in ring if y.tobytes() not in seen])
        if len(points):
            bounds = np.max([cut.value + (points - cut.at) @ cut.slope for cut in cuts], axis=0)
            lowest = int(np.argmin(bounds))
            if bounds[lowest] < enough:
                return points[lowest]
    return None


def _cut(problem: Problem, at: list[int], answer: Result) -> Cut:
    slopes = []
    for i in at:
        f, xi = problem.blocks[i].f, answer.x[i]
        slopes.append(problem.operators[i].adjoint(answer.z) + (0.0 if f is None else f.grad(xi)))
    y, slope = (
        np.concatenate([np.ravel(a) for a in arrays]) for arrays in ([answer.x[i] for i in at], slopes)
    )
    return Cut(y, float(answer.fun), slope)


def _split(problem: Problem, at: list[int], y: np.ndarray) -> list[np.ndarray]:
    """The blocks of one vector."""
    return split_blocks(y, [problem.blocks[i].shape for i in at])


def _around(problem: Problem, at: list[int], y: np.ndarray) -> Iterator[list[np.ndarray]]:
    """The points one flip from y, those two flips away, and so on as long as all of them are few."""
    moves, start, count = list[tuple[tuple[int, float], ...]](), 0, 0
    for i, own in zip(at, _split(problem, at, y), strict=True):
        moves += [
            tuple((start + k, value) for k, value in move)
            for move in _moves(problem.blocks[i].h, own.ravel())
        ]
        start += own.size
    for depth in range(1, len(moves) + 1):
        count += math.comb(len(moves), depth)
        if depth > 1 and count > POINTS:
            return
        ring = []
        for some in itertools.combinations(moves, depth):
            changes = dict(itertools.chain(*some))
            if len(changes) == sum(map(len, some)):
                point = y.copy()
                point[list(changes)] = list(changes.values())
                ring.append(point)
        yield ring


def _moves(h: Nonsmooth, y: np.ndarray) -> list[tuple[tuple[int, float], ...]]:
    """Single flips of y, or exchanges where a number of entries is given: (entry, its new value) each."""
    if isinstance(h, KBinary):
        return [((int(p), 0.0), (int(q), 1.0)) for p in np.flatnonzero(y) for q in np.flatnonzero(y == 0)]
    assert isinstance(h, Binary)
    return [((k, float(value)),) for k, value in enumerate(h.lo + h.hi - y)]
