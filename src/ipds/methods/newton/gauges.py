"""Units of parts that no row ties together: where M = diag(M₁, M₂), v₁ and u₁ may be in units of v₂ and u₂ times any t.

Rows and columns of norm one say nothing of t. It is chosen so that bounds and right-hand sides ask for M v of one size
in all parts: else what is 1e-9 of another part would be lost in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from scipy.sparse.csgraph import connected_components

APART = 1e6
"""Ratio of the sizes of rows from which on it is asked which of them belong together."""


def may_fall_apart(G: Any) -> bool:
    """Whether G is a matrix that may have parts: a first row without zeros ties all its columns."""
    if G is None or isinstance(G, scipy.sparse.linalg.LinearOperator):
        return False
    return not (isinstance(G, np.ndarray) and len(G) > 0 and bool(G[0].all()))


def asked(kinks: np.ndarray, c: np.ndarray) -> np.ndarray:
    """|M v| where u = M v + c reaches a kink or a bound: the least that is not 0, and 0 where there is none."""
    left, right, place, lower, upper = kinks
    sizes = np.abs(np.stack([np.where(left < right, place, np.inf), lower, upper]) - c)
    least = np.where(sizes > 0, sizes, np.inf).min(axis=0)
    return np.where(np.isfinite(least), least, 0.0)


def gauges(
    G: Any, sizes: np.ndarray, index: np.ndarray, owner: np.ndarray, curved: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """(t of every row of G, t of every column): powers of two, the geometric means of `sizes` in their parts.

    `sizes` are those of the rows of G, then of rows that pick the columns `index`. The first rows share a unit with
    those of the same `owner`, numbers in order, and so do the columns in which f is `curved`. None where all belong
    together, or are of one size anyway.
    """
    used = np.flatnonzero(sizes)
    if not used.size or np.max(sizes[used]) < APART * np.min(sizes[used]):
        return None
    rows, columns = G.shape
    entries = scipy.sparse.coo_array(G)
    same = np.flatnonzero(owner[1:] == owner[:-1])
    ties = [(entries.row, rows + entries.col), (same, same + 1)]
    bent = rows + np.flatnonzero(curved)
    ties.append((bent[:-1], bent[1:]))
    i, j = (np.concatenate(ends) for ends in zip(*ties, strict=True))
    graph = scipy.sparse.coo_array((np.ones(len(i)), (i, j)), shape=(rows + columns,) * 2)
    count, part = connected_components(graph, directed=False)
    if count == 1:
        return None
    own = np.concatenate([part[:rows], part[rows + index]])[used]
    number = np.bincount(own, minlength=count)
    mean = np.bincount(own, np.log2(sizes[used]), count) / np.maximum(number, 1)
    units = np.exp2(np.where(number > 0, np.round(mean - mean[number > 0].max()), 0.0))
    return units[part[:rows]], units[part[rows:]]
