"""Two random problems of `convex` in one, which have nothing to do with each other, in units far apart."""

from __future__ import annotations

import numpy as np

from properties.convex import Case, Piece, Vector, draw, stated, units_of

APART = 9.0
"""Units of the parts differ by up to 10^±this."""


def parts(seed: int) -> Case:
    """The sum of two cases: every block sees the rows of its own part alone."""
    g = np.random.default_rng([82, seed])
    cases = [draw(2 * seed + k, spread=0.0) for k in (0, 1)]
    heights = [case.b.size for case in cases]
    pieces: list[Piece] = []
    units: list[Vector] = []
    costs, rows = [], []
    for k, case in enumerate(cases):
        u, o, r = units_of(g, case.pieces, heights[k], 1.0)
        t = 10 ** g.uniform(-APART / 2, APART / 2)
        for p, own in zip(case.pieces, u, strict=True):
            plain = p.A * np.eye(p.size) if isinstance(p.A, float) else p.A
            p.A = np.zeros((sum(heights), p.size))
            p.A[heights[0] * k : heights[0] * k + heights[k]] = plain
            pieces.append(p)
            units.append(t * own)
        costs.append(o * 10 ** g.uniform(-1, 1))
        rows.append(r / t)
    label = f"parts {seed} " + " | ".join(p.label for p in pieces)
    b = np.concatenate([case.b for case in cases])
    return stated(pieces, units, np.concatenate(costs), np.concatenate(rows), b, label)
