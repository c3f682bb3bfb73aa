"""The random problems of `convex` and `without_solution`, with entries that are known before they are solved.

Entries whose bounds are one point, equations with one entry, equations that have one unknown once these are known,
repeated and empty equations, slacks, and blocks that are known altogether; then units as for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ipds.functions import Box, Linear, NonNegative
from properties.convex import Case, Piece, Vector, draw, nonsmooth_part, smooth_part, stated, times, units_of


def known(seed: int, base: Callable[[int], Case] = draw, spread: int = 6) -> Case:
    """A case of `base` with known entries; it has a solution where that one has: all other blocks stay free to move
    where they were, unless `base` is `draw`."""
    g = np.random.default_rng([80, seed])
    case = base(seed)
    pieces, b = list(case.pieces), case.b
    if base is draw:
        pieces = [_held(g, p) if g.random() < 0.5 else p for p in pieces]
        b = sum(times(p.A, p.inside) for p in pieces)
        if g.random() < 0.3:
            pieces.append(_slack(g, b.size))
            b = b + pieces[-1].A @ pieces[-1].inside
    own = len(pieces) if base is not draw else 0
    if own or g.random() < 0.4:
        pieces.append(_block(g, b.size))
        b = b + pieces[-1].A @ pieces[-1].inside
    b = _more_rows(g, pieces, b, own)
    S = float(g.integers(0, spread + 1))
    units, costs, rows = units_of(g, pieces, b.size, S)
    return stated(
        pieces, units, costs, rows, b, f"known {seed} S={S:g} " + " | ".join(p.label for p in pieces)
    )


def contradictory(seed: int) -> Case:
    """An entry with two values, or one outside of its bounds; the rest as in `known`."""
    g = np.random.default_rng([81, seed])
    case = known(seed, spread=2)
    pieces, b = case.pieces, case.b.copy()
    i = int(g.integers(len(pieces)))
    row = np.zeros(pieces[i].size)
    row[g.integers(row.size)] = 1.0
    extra = [np.zeros((2, p.size)) for p in pieces]
    extra[i][0], extra[i][1] = row, float(g.choice([-1.0, 3.0])) * row
    value = float(row @ pieces[i].inside)
    b = np.r_[b, value, extra[i][1] @ pieces[i].inside + g.choice([-1.0, 1.0]) * g.uniform(0.5, 2.0)]
    for p, more in zip(pieces, extra, strict=True):
        p.A = _stacked(p, more)
    units, costs, rows = units_of(g, pieces, b.size, 2.0)
    return stated(pieces, units, costs, rows, b, f"contradictory {seed}")


def _held(g: np.random.Generator, p: Piece) -> Piece:
    """The piece with some entries held at a point of its domain, where its h is a box or less."""
    if not p.label.endswith(("+box", "+nonnegative", "+none")):
        return p
    kinks = (NonNegative() if p.h is None else p.h(1.0, 1.0)).kinks((p.size,))
    free = p.h is None
    mask = g.random(p.size) < g.choice([0.3, 0.3, 1.0])
    lo = np.where(mask, p.inside, -np.inf if free else kinks.lower)
    hi = np.where(mask, p.inside, np.inf if free else kinks.upper)
    below, above = np.isfinite(lo), np.isfinite(hi)

    def sets(y: Any) -> list[Any]:
        return [y[below] >= lo[below], y[above] <= hi[above]]

    return Piece(
        p.size, p.A, p.inside, p.f, lambda u, o: Box(u * lo, u * hi), p.cost, sets, p.label + " held", True
    )


def _slack(g: np.random.Generator, m: int) -> Piece:
    """A nonnegative block whose entries stand alone in rows: equations become inequalities."""
    n = int(g.integers(1, m + 1))
    A = np.zeros((m, n))
    A[g.permutation(m)[:n], np.arange(n)] = g.choice([-1.0, 1.0], n)
    inside = np.where(g.random(n) < 0.5, 0.0, g.random(n))
    return Piece(
        n,
        A,
        inside,
        h=lambda u, o: NonNegative(),
        sets=lambda y: [y >= 0],
        label="none+slack",
        entrywise=True,
    )


def _block(g: np.random.Generator, m: int) -> Piece:
    """A block of which every entry is known: by its bounds, or by the rows that `_more_rows` adds."""
    n = int(g.integers(1, 5))
    inside, c = g.standard_normal(n), g.standard_normal(n)
    A = g.standard_normal((m, n)) * (g.random((m, n)) < 0.6)
    if g.random() < 0.5:
        f, cost = smooth_part(g, n, "squares") if n > 1 else (lambda u, o: Linear(o / u * c), lambda y: c @ y)
        return Piece(
            n,
            A,
            inside,
            f,
            lambda u, o: Box(u * inside, u * inside),
            lambda y: [cost(y)],
            lambda y: [y == inside],
            "known by bounds",
            True,
        )
    made, cost, _, _ = nonsmooth_part(g, n, "l1")
    return Piece(n, A, inside, None, made, lambda y: [cost(y)], label="known by rows", entrywise=True)


def _more_rows(g: np.random.Generator, pieces: list[Piece], b: Vector, own: int) -> Vector:
    """Rows below those of the pieces (changed in place), in any order; those from `own` on may be told by them."""
    rows: list[list[Vector]] = []

    def row(entries: dict[tuple[int, int], float]) -> None:
        made = [np.zeros(p.size) for p in pieces]
        for (i, k), value in entries.items():
            made[i][k] = value
        rows.append(made)

    places = [(i, k) for i in range(own, len(pieces)) for k in range(pieces[i].size)]
    some = [places[k] for k in g.permutation(len(places))]
    alone = [p for p in some if pieces[p[0]].label == "known by rows" or g.random() < 0.15]
    told: list[tuple[int, int]] = []
    for place in alone:
        before = {
            told[k]: float(g.standard_normal()) for k in g.permutation(len(told))[: int(g.integers(0, 3))]
        }
        row({**(before if g.random() < 0.5 else {}), place: float(g.choice([-1.0, 1.0, 2.0, 0.3]))})
        told.append(place)
    for _ in range(int(g.integers(0, 2))):
        if rows:
            factor = float(g.choice([-1.0, 1.0, 2.0]))
            rows.append([factor * r for r in rows[int(g.integers(len(rows)))]])
    if g.random() < 0.15:
        row({})
    if not rows:
        return b
    sparse = g.random() < 0.5
    order = g.permutation(b.size + len(rows))
    total: Any = b
    right = np.array([sum(float(r @ p.inside) for r, p in zip(made, pieces, strict=True)) for made in rows])
    for i, p in enumerate(pieces):
        whole = _stacked(p, np.array([made[i] for made in rows]))[order]
        p.A = sp.csr_array(whole) if sparse else whole
    return np.r_[total, right][order]


def _stacked(p: Piece, more: Vector) -> Vector:
    A = p.A.toarray() if sp.issparse(p.A) else p.A * np.eye(p.size) if isinstance(p.A, float) else p.A
    return np.vstack([A, more])
