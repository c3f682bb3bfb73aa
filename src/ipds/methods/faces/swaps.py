"""Swap tests: is there a better face next to one that was solved to the end?

Every full support of a cardinality is critical once it is solved, so a certificate cannot tell a poor choice from a
good one. An entry j that would lower the objective at first order, by |∇_j|/‖A e_j‖, joins; of the entries whose place
it may take, the one that costs least leaves; what is lower after both are solved is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...functions.faces import Coordinates, Support
from ...problem import Problem
from ...theory.state import State
from ..deadline import raise_if_late
from .restricted import Restricted

TRIALS, ROUNDS = 6, 10
"""Entries that are tried in a round, and exchanges at most."""
FAR = 50
"""A trial ends where the cheapest leaver costs, before others make up for it, this many times what joining earned."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""


def improve(restricted: Restricted, found: State, norms: dict[int, np.ndarray]) -> tuple[Restricted, State]:
    """The best of the neighbouring faces, of the neighbours of that one, and so on; `norms` are ‖A_i e_j‖."""
    value = restricted.value(found.q)
    for _ in range(ROUNDS):
        better = _exchange(restricted, found, value, norms)
        if better is None:
            break
        restricted, found, value = better
    return restricted, found


def column_norms(problem: Problem, i: int) -> np.ndarray:
    """‖A_i e_j‖ for the entries j of block i; ones where only products with A_i are known."""
    shape = problem.blocks[i].shape
    matrix = problem.operators[i].as_matrix(shape)
    if matrix is None:
        return np.ones(shape)
    squares = (matrix * matrix).sum(axis=0) if type(matrix) is np.ndarray else matrix.power(2).sum(axis=0)
    return np.sqrt(np.asarray(squares)).reshape(shape)


def _exchange(
    restricted: Restricted, found: State, value: float, norms: dict[int, np.ndarray]
) -> tuple[Restricted, State, float] | None:
    """One exchange that lowers the objective, and what is found there; None where no trial does."""
    whole = restricted.whole
    for i, face in restricted.faces.items():
        x = tuple(xi if k != i else face.embed(xi) for k, xi in enumerate(found.q))
        g, f = whole.operators[i].adjoint(found.z), whole.blocks[i].f
        g = g if f is None else g + f.grad(x[i])
        score = np.abs(g) / np.where(norms[i] > 0, norms[i], np.inf)
        for j, rivals in face.neighbours(score, TRIALS):
            raise_if_late()
            trial = _swapped(restricted, found, value, i, j, rivals)
            if trial is not None:
                lower = trial[0].value(trial[1].q)
                if lower < value - LOWER * abs(value):
                    return *trial, lower
    return None


def _swapped(
    restricted: Restricted, found: State, value: float, i: int, j: int, rivals: np.ndarray
) -> tuple[Restricted, State] | None:
    """The solution once j has joined block i and the cheapest of its rivals has left; None where that is hopeless."""
    face = restricted.faces[i]
    start = _placed(restricted, found)
    wider = Restricted(restricted.whole, {**restricted.faces, i: _with(face, j)})
    joined = wider.solve(start, found.z)
    if joined is None:
        return None
    whole_x = _placed(wider, joined)
    costs = [(wider.value(wider.start(_without(whole_x, i, k))), int(k)) for k in rivals]
    cost, leaving = min(costs)
    lowest = wider.value(joined.q)
    if cost - lowest > FAR * (value - lowest):
        return None
    narrower = Restricted(restricted.whole, {**restricted.faces, i: _with(face, j, leaving)})
    solved = narrower.solve(_without(whole_x, i, leaving), joined.z)
    return None if solved is None else (narrower, solved)


def _placed(restricted: Restricted, found: State) -> tuple[Any, ...]:
    """The blocks of the whole problem."""
    faces = restricted.faces
    return tuple(xi if k not in faces else faces[k].embed(xi) for k, xi in enumerate(found.q))


def _without(x: tuple[Any, ...], i: int, k: int) -> tuple[Any, ...]:
    """x with entry k of block i at 0."""
    own = x[i].copy()
    own.flat[k] = 0.0
    return (*x[:i], own, *x[i + 1 :])


def _with(face: Coordinates, j: int, leaving: int | None = None) -> Support:
    """The support with j in it, and without `leaving`."""
    assert isinstance(face, Support)
    support = np.array(face.label)
    support.flat[j] = True
    if leaving is not None:
        support.flat[leaving] = False
    return Support(np.zeros_like(face.x), support, face.exchange)
