"""Swap tests: is there a better face next to one that was solved to the end?

Every full support of a cardinality is critical once it is solved, so a certificate cannot tell a poor choice from a
good one. An entry j that would lower the objective at first order, by |∇_j|/‖A e_j‖, joins; of the entries whose place
it may take, the one that costs least leaves; what is lower after both are solved is taken. Where constraints hold, or
other variables (an intercept) make up for most of it, what leaving costs is known only once all is solved again. Where
entries have a price (ℓ0), those that are not worth it leave, many at once at first, and others may join alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..._arrays import row_squares, to_dense
from ...deadline import raise_if_late
from ...functions import Zero
from ...functions.faces import Coordinates, Support
from ...operators import Matrix
from ...problem import Problem
from ...theory.objective import objective
from ...theory.state import State
from .exchanges import exchanges
from .restricted import Restricted

TRIALS, ROUNDS = 6, 10
"""Entries that are tried in a round, and exchanges at most."""
RIVALS = 3
"""Where leaving breaks a constraint, so that its cost is known only once all is solved again: entries tried."""
SMALL = 1000
"""Entries and rows up to which solving again is cheap: all entries at once, and for each of `RIVALS`."""
LEAVERS, JOINERS = 12, 2
"""Entries that are replaced where constraints or prices are there, and entries tried in the place of each."""
FAR = 50
"""A trial ends where the cheapest leaver costs, before others make up for it, this many times what joining earned."""
ROUGHLY = 1e-4
"""By how much of the objective reweighted least squares may miss what joining earns."""
SHAKEN, SHAKES = 60, 4
"""Entries up to which, and how often, several are exchanged at random."""
SHORT, ROUNDING = 10, 1e-12
"""Entries of free blocks that take their part in columns, and the part of a square that is left where they take all."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""


def improve(restricted: Restricted, found: State, norms: dict[int, np.ndarray]) -> tuple[Restricted, State]:
    """The best of the neighbouring faces, of the neighbours of that one, and so on; `norms` are ‖A_i e_j‖."""
    known, (i, face) = exchanges(restricted), next(iter(restricted.faces.items()))
    label = None if known is None else known.settled(face.label)
    if label is not None and isinstance(face, Support):
        other = restricted.on({i: face.having(np.flatnonzero(label), np.flatnonzero(~label))})
        solved = other.solve(_placed(restricted, found), found.z) if np.any(label != face.label) else None
        if solved is None or not other.reached(solved) < restricted.reached(found):
            return restricted, found
        return other, solved
    value = restricted.reached(found)
    for _ in range(ROUNDS):
        better = _exchange(restricted, found, value, norms)
        if better is None:
            break
        restricted, found, value = better
    return restricted, found


def shaken(restricted: Restricted, found: State, norms: dict[int, np.ndarray]) -> tuple[Restricted, State]:
    """The best after a third of the free entries of a small block, drawn at random, gave way to others, `SHAKES` times.

    One exchange at a time ends where two at once would go on.
    """
    rng, best, value = np.random.default_rng(0), (restricted, found), restricted.reached(found)
    i, face = next(iter(restricted.faces.items()))
    if len(restricted.faces) > 1 or not isinstance(face, Support) or face.exchange is None:
        return best
    if face.x.size > SHAKEN or face.dimension < 2:
        return best
    for _ in range(SHAKES):
        raise_if_late()
        face = best[0].faces[i]
        assert isinstance(face, Support)
        assert face.exchange is not None
        free = rng.permutation(face.one_of_each(face.free))
        leaving, joining = free[: max(2, len(free) // 3)], list[int]()
        for k in leaving:
            alike = ~face.label.ravel() & (face.exchange.ravel() == face.exchange.flat[k])
            for j in joining:
                alike[face.together(j)] = False
            joining += [int(j) for j in rng.permutation(np.flatnonzero(alike))[:1]]
        if not joining:
            break
        leaving = leaving[: len(joining)]
        other = restricted.on({i: face.having(joining, leaving)})
        solved = other.solve(_placed(*best), found.z)
        if solved is None:
            continue
        pair = improve(other, solved, norms)
        if pair[0].reached(pair[1]) < value - LOWER * abs(value):
            best, value = pair, pair[0].reached(pair[1])
    return best


def first_entry(
    problem: Problem, state: State, faces: Mapping[int, Coordinates], norms: dict[int, np.ndarray]
) -> dict[int, Coordinates] | None:
    """Faces with one free entry and a solution lower than a point that is 0, where entries have a price; else None."""
    lowest, best = float(objective(problem, replace(state, x=state.q))), None
    if len(faces) > 1:
        return None
    ((i, face),) = faces.items()
    if not isinstance(face, Support) or face.price is None:
        return None
    g, f = problem.operators[i].adjoint(state.z), problem.blocks[i].f
    g = g if f is None else g + f.grad(state.q[i])
    score = (face.pull(g) / np.where(norms[i] > 0, norms[i], 1.0)).ravel()
    for j in np.argsort(-score)[:TRIALS]:
        raise_if_late()
        own = Restricted(problem, {i: face.having([int(j)])})
        found = own.solve(state.q, state.z)
        if found is not None and own.reached(found) < lowest:
            lowest, best = own.reached(found), dict(own.faces)
    return best


def eliminated(restricted: Restricted, found: State) -> tuple[Restricted, State] | None:
    """Solved with all entries free, then with the largest half of them, and so on until none is left too many.

    A second face to look around, where one block has a face with exchanges among all its entries; else None.
    """
    i, face = next(iter(restricted.faces.items()))
    if len(restricted.faces) > 1 or not isinstance(face, Support) or face.exchange is None or face.price:
        return None
    if face.x.size > SMALL or np.ptp(face.exchange) or face.group is not None:
        return None
    x, z, left = _placed(restricted, found), found.z, np.ones(face.x.size, bool)
    while True:
        raise_if_late()
        support = left.reshape(face.x.shape)
        own = restricted.on({i: Support(np.zeros_like(face.x), support, face.exchange, face.h, face.cost)})
        solved = own.solve(x, z)
        if solved is None:
            return None
        x, z, count = _placed(own, solved), solved.z, np.count_nonzero(left)
        if count <= face.dimension:
            return own, solved
        order = np.argsort(-np.abs(x[i].ravel()), kind="stable")
        left = np.zeros_like(left)
        left[order[: max(face.dimension, count // 2)]] = True


def column_norms(problem: Problem, i: int) -> np.ndarray:
    """‖A_i e_j‖ for the entries j of block i, without the part that short free blocks (an intercept) make up for.

    Ones where only products with A_i are known.
    """
    shape, op = problem.blocks[i].shape, problem.operators[i]
    matrix = op.as_matrix(shape)
    if matrix is None:
        return np.ones(shape)
    known = isinstance(op, Matrix) and len(shape) == 1
    squares = op.column_squares if known else row_squares(matrix.T)  # type: ignore[attr-defined]
    free = [
        other.as_matrix(block.shape)
        for block, other in zip(problem.blocks, problem.operators, strict=True)
        if block.f is None and isinstance(block.h, Zero) and math.prod(block.shape) <= SHORT
    ]
    free = [to_dense(columns) for columns in free if columns is not None]
    if free:
        made_up = np.sum(np.square(matrix.T @ np.linalg.qr(np.hstack(free))[0]), axis=1)
        squares = np.where(squares - made_up > ROUNDING * squares, squares - made_up, 0.0)
    return np.sqrt(squares).reshape(shape)


def _exchange(
    restricted: Restricted, found: State, value: float, norms: dict[int, np.ndarray]
) -> tuple[Restricted, State, float] | None:
    """One exchange that lowers the objective, and what is found there; None where no trial does."""
    for i in restricted.faces:
        for trial in _trials(restricted, found, value, i, norms[i]):
            lower = trial[0].reached(trial[1])
            if lower < value - LOWER * abs(value):
                return *trial, lower
    return None


def _trials(
    restricted: Restricted, found: State, value: float, i: int, norms: np.ndarray
) -> Iterator[tuple[Restricted, State]]:
    """Solutions on faces next to this one, those that are likely to be lower first."""
    face, whole = restricted.faces[i], restricted.whole
    if not isinstance(face, Support):
        return
    yield from _fewer(restricted, found, i)
    for j, rivals in face.neighbours(_score(restricted, found, i, norms), TRIALS):
        raise_if_late()
        yield from _swapped(restricted, found, value, i, j, rivals)
    if (
        face.h is not None
        or face.group is not None
        or face.price
        or whole.restorable is None
        or len(whole.blocks) > 2
    ):
        yield from _replaced(restricted, found, i, norms)


def _score(restricted: Restricted, found: State, i: int, norms: np.ndarray) -> np.ndarray:
    """|∇_j|/‖A e_j‖ of the entries of block i."""
    face, whole = restricted.faces[i], restricted.whole
    g, f = restricted.adjoint(i, found.z), whole.blocks[i].f
    g = g if f is None else g + f.grad(face.embed(found.q[i]))
    return face.pull(g) / np.where(norms > 0, norms, 1.0)


def _fewer(restricted: Restricted, found: State, i: int) -> Iterator[tuple[Restricted, State]]:
    """Solutions without some of the free entries of block i, where these have a price: the smallest ones leave."""
    face, x = restricted.faces[i], _placed(restricted, found)
    if not (isinstance(face, Support) and face.price):
        return
    order = face.free[np.argsort(abs(x[i].flat[face.free]), kind="stable")]
    some = [order[: len(order) // 2**k] for k in range(1, len(order).bit_length())]
    for leaving in (*some[:-1], *(order[k : k + 1] for k in range(min(RIVALS, len(order))))):
        raise_if_late()
        if len(leaving) < len(order):
            fewer = restricted.on({**restricted.faces, i: face.having(leaving=leaving)})
            solved = fewer.solve(x, found.z)
            if solved is not None:
                yield fewer, solved


def _replaced(
    restricted: Restricted, found: State, i: int, norms: np.ndarray
) -> Iterator[tuple[Restricted, State]]:
    """Solutions once an entry of block i has left and another has joined, one that lowers most what is left then.

    An entry that could take the place of one of its kind is not pulled while that one is there.
    """
    face, x = restricted.faces[i], _placed(restricted, found)
    assert isinstance(face, Support)
    free = face.one_of_each(face.free)
    if face.exchange is None or face.x.size > SMALL or len(free) < 2:
        return
    order = free[np.argsort([_size(face, x[i], k) for k in free], kind="stable")]
    for k in order[:LEAVERS]:
        raise_if_late()
        fewer = restricted.on({**restricted.faces, i: face.having(leaving=[k])})
        solved = fewer.solve(x, found.z)
        if solved is None:
            continue
        score = _score(fewer, solved, i, norms)
        score.flat[face.together(k)] = 0.0
        outside = np.where(
            fewer.faces[i].label | (face.exchange != face.exchange.flat[k]), 0.0, score
        ).ravel()
        for j in np.argsort(-outside)[:JOINERS]:
            if outside[j] > 0:
                other = face.having([int(j)], [int(k)])
                own = restricted.on({**restricted.faces, i: other})
                swapped = own.solve(_placed(fewer, solved), solved.z)
                if swapped is not None:
                    yield own, swapped


def _swapped(
    restricted: Restricted, found: State, value: float, i: int, j: int, rivals: np.ndarray
) -> Iterator[tuple[Restricted, State]]:
    """Solutions once j has joined block i and one of its rivals has left; none where that is hopeless.

    Where entries have a price, j may join alone.
    """
    face = restricted.faces[i]
    assert isinstance(face, Support)
    wider = restricted.on({**restricted.faces, i: face.having([j])})
    if not face.price and _is_hopeless(wider, _placed(restricted, found), value, i, rivals):
        return
    joined = wider.solve(_placed(restricted, found), found.z)
    if joined is None:
        return
    if face.price:
        yield wider, joined
    whole_x, lowest = _placed(wider, joined), wider.reached(joined) + restricted.price - wider.price
    if not lowest < value:
        return
    for k in _leaving(wider, whole_x, i, rivals, FAR * (value - lowest) + lowest):
        raise_if_late()
        narrower = restricted.on({**restricted.faces, i: face.having([j], [k])})
        solved = narrower.solve(_without(whole_x, i, face.together(k)), joined.z)
        if solved is not None:
            yield narrower, solved


def _is_hopeless(wider: Restricted, x: tuple[Any, ...], value: float, i: int, rivals: np.ndarray) -> bool:
    """Whether no rival is worth a trial near the solution once an entry has joined: that is found in less time."""
    near = wider.nearly(wider.start(x))
    if near is None:
        return False
    lowest = min(wider.reached(near), value) - ROUGHLY * abs(value)
    return not _leaving(wider, _placed(wider, near), i, rivals, FAR * (value - lowest) + lowest)


def _leaving(wider: Restricted, x: tuple[Any, ...], i: int, rivals: np.ndarray, most: float) -> list[int]:
    """Rivals worth a trial: the one that costs least, if not too much; the smallest where each breaks a constraint."""
    face = wider.faces[i]
    assert isinstance(face, Support)
    cost, k = min((wider.value(wider.start(_without(x, i, face.together(k)))), int(k)) for k in rivals)
    if np.isfinite(cost):
        return [k] if cost <= most else []
    count = RIVALS if math.prod(wider.whole.shape) <= SMALL else 1
    return rivals[np.argsort([_size(face, x[i], k) for k in rivals], kind="stable")[:count]].tolist()


def _placed(restricted: Restricted, found: State) -> tuple[Any, ...]:
    """The blocks of the whole problem."""
    faces = restricted.faces
    return tuple(xi if k not in faces else faces[k].embed(xi) for k, xi in enumerate(found.q))


def _size(face: Support, x: np.ndarray, k: int) -> float:
    """The norm of the entries that go with entry k."""
    return float(np.linalg.norm(x.flat[face.together(k)]))


def _without(x: tuple[Any, ...], i: int, entries: np.ndarray) -> tuple[Any, ...]:
    """x with these entries of block i at 0."""
    own = x[i].copy()
    own.flat[entries] = 0.0
    return (*x[:i], own, *x[i + 1 :])
