"""Exact answers to small problems of least absolute deviations, from vertex to vertex.

    min_v Σ max(left_i r_i, right_i r_i),   r = M v + c,   M with few columns

A vertex has as many rows with r_i = 0 as M has columns, the basis T. There y_T = -M_T⁻ᵀ Σ_{i∉T} y_i M_i, y_i being the
slope of row i; the vertex is a solution where left ≤ y_T ≤ right. Else the row that breaks this the most leaves the
basis: v moves along M_T⁻¹e_j until the slope of the objective, which grows at every row that is crossed, is no longer
negative, and the row crossed there takes its place.
Barrodale & Roberts, An improved algorithm for discrete l1 linear approximation, SIAM J. Numer. Anal. 10 (1973).

From a v that is far from a solution, reweighted least squares come first: 12 of them take less time than the exchanges
that they save.

Of many rows most have a side that is sure: those whose residual at the solution of a random sample is not among the
smallest. Their slopes are fixed and give one linear term ⟨tilt, v⟩; what is left has few rows, and a solution of it
that leaves the others on their sides solves the whole. Those that changed sides are added, else.
Portnoy & Koenker, The Gaussian hare and the Laplacian tortoise, Statist. Sci. 12 (1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

PIVOTS = 300
"""Exchanges at most: more than three for each column at a usual start; a cycle ends here."""
REFRESH = 40
"""Exchanges after which the inverse of the basis is computed afresh; between, it is updated."""
NEAR = 200
"""Rows looked at first where a direction crosses many."""
SLACK = 1e-9
"""By how much y_T may miss its bounds, in units of the slopes, by rounding."""
REWEIGHTED = 12
"""Least squares from a point that is far from a solution."""
MET = 1e-13
"""Residuals that are rounding, in units of what they are the sum of."""
SHARE = 2.0
"""Times (m²k)^⅓: rows of the sample, and rows whose side is not sure, of m with k columns."""
WORTH = 3
"""Times fewer rows, at least, than there are, for that to be worth it."""
ADDED = 8
"""Times that rows are added at most."""


class Vertex(NamedTuple):
    """A solution."""

    v: np.ndarray
    r: np.ndarray
    """M v + c, with exact zeros in the basis."""
    y: np.ndarray
    """Slopes with Mᵀy = 0 and left ≤ y ≤ right, each one-sided where r_i ≠ 0."""


class Basis(NamedTuple):
    """Where exchanges end."""

    rows: np.ndarray
    """As many as there are columns, with r_i = 0."""
    above: np.ndarray
    """The sides of all rows: whether r_i ≥ 0."""


class Rows(NamedTuple):
    """Σ max(left_i r_i, right_i r_i) with r = M v + c."""

    M: np.ndarray
    c: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def at(self, places: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(self.M[places], self.c[places], self.left[places], self.right[places])

    def residuals(self, v: np.ndarray) -> np.ndarray:
        """r."""
        return np.asarray(self.M @ v + self.c)

    def value(self, v: np.ndarray) -> float:
        """The sum."""
        r = self.residuals(v)
        return float(np.sum(np.maximum(self.left * r, self.right * r)))

    def nearest(self, v: np.ndarray) -> np.ndarray:
        """As many rows as there are columns, those of smallest |r| at v."""
        k = self.M.shape[1]
        return np.argpartition(np.abs(self.residuals(v)), k - 1)[:k]

    def point(self, basis: np.ndarray) -> np.ndarray:
        """v with r_i = 0 in the basis."""
        return np.linalg.solve(self.M[basis], -self.c[basis])

    def are_met(self, r: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Which residuals r at v are rounding."""
        return np.abs(r) <= MET * (np.abs(self.c) + np.abs(self.M) @ np.abs(v))


def least_deviations(
    M: np.ndarray, c: np.ndarray, left: np.ndarray, right: np.ndarray, v: np.ndarray, far: bool = False
) -> Vertex | None:
    """A solution, from the rows of smallest |r| at v; None where a basis is singular or the exchanges do not end.

    far : whether v is far from a solution.

    >>> M, c = np.ones((5, 1)), -np.array([1.0, 2.0, 3.0, 10.0, 50.0])
    >>> least_deviations(M, c, -np.ones(5), np.ones(5), np.zeros(1)).v            # the median
    array([3.])
    """
    m, k = M.shape
    if k > m:
        return None
    rows = Rows(M, c, left, right)
    few = int(SHARE * (m * m * k) ** (1 / 3))
    found = _from_few_rows(rows, few, v) if WORTH * few <= m else None
    solution = None if found is None else _solution(rows, *found)
    if solution is not None:
        return solution
    found = _exchanged(rows, rows.nearest(reweighted(*rows, v) if far else v))
    return None if found is None else _solution(rows, *found)


def _from_few_rows(rows: Rows, few: int, v: np.ndarray) -> Basis | None:
    """The basis of a solution, and the sides of all rows, by exchanges of `few` rows; None where these mislead."""
    m, squares = len(rows.c), np.einsum("ij,ij->j", rows.M, rows.M)
    sizes = np.sqrt(np.square(rows.M) @ (m / np.where(squares > 0, squares, 1.0)))
    share = (rows.right - rows.left) * sizes
    heavy = few * share > share.sum()  # an ℓ1 norm, say, among the losses of samples
    sample, chosen = _sample(rows, heavy, few)
    found = _exchanged(sample, sample.nearest(reweighted(*sample, v)))
    starts = [(v, rows.nearest(v))]
    if found is not None:
        basis = chosen[found.rows]
        starts.append((rows.point(basis), basis))
    v, basis = min(starts, key=lambda start: rows.value(start[0]))
    r = rows.residuals(v)
    above, near = r >= 0, heavy
    distance = np.abs(r) / np.where(sizes > 0, sizes, 1.0)  # a long row changes sides sooner
    near[np.argpartition(distance, few)[:few]] = True
    near[basis] = True
    for _ in range(ADDED):
        tilt = np.where(near, 0.0, np.where(above, rows.right, rows.left)) @ rows.M
        places = np.flatnonzero(near)
        found = _exchanged(rows.at(places), np.searchsorted(places, basis), tilt)
        if found is None:
            return None
        basis = places[found.rows]
        v = rows.point(basis)
        r = rows.residuals(v)
        moved = np.flatnonzero(~near & ((r >= 0) != above))
        moved = moved[~rows.at(moved).are_met(r[moved], v)]  # there, either side will do
        if not moved.size:
            above[places] = found.above
            return Basis(basis, above)
        near[moved] = True
        if 2 * np.count_nonzero(near) > m:
            return None
    return None


def _sample(rows: Rows, heavy: np.ndarray, few: int) -> tuple[Rows, np.ndarray]:
    """All heavy rows and `few` others, which stand for all others; and their places."""
    others = np.flatnonzero(~heavy)
    chosen = np.append(np.flatnonzero(heavy), np.random.default_rng(0).choice(others, few, replace=False))
    times = np.where(heavy[chosen], 1.0, len(others) / few)
    part = rows.at(chosen)
    return Rows(part.M, part.c, times * part.left, times * part.right), chosen


def _exchanged(rows: Rows, basis: np.ndarray, tilt: np.ndarray | float = 0.0) -> Basis | None:
    """The basis of a minimum of the sum and ⟨tilt, v⟩, from this one; None as above."""
    M, c, left, right = rows
    basis = basis.copy()
    width = right - left
    room = SLACK * width
    for pivot in range(PIVOTS):
        if pivot % REFRESH == 0:
            start = _vertex(M, c, basis)
            if start is None:
                return None
            inverse, r = start
        above = r >= 0
        y = np.where(above, right, left)
        y[basis] = 0.0
        own = -(y @ M + tilt) @ inverse
        low, high = left[basis], right[basis]
        excess = np.maximum(own - high, low - own) - room[basis]
        j = int(excess.argmax())
        if not excess[j] > 0:
            return Basis(basis, above)
        up = own[j] > high[j]
        d = inverse[:, j] if up else -inverse[:, j]
        along = M @ d
        along[basis] = 0.0
        crossed = np.flatnonzero(np.where(above, along < 0, along > 0))
        rates = along[crossed]
        times = -r[crossed] / rates
        slope = high[j] - own[j] if up else own[j] - low[j]
        last = _turn(times, width[crossed] * np.abs(rates), slope)
        if last is None:  # the objective falls for ever
            return None
        new, length = crossed[last], times[last]
        r = r + length * along
        r[basis[j]] = length if up else -length
        r[new] = 0.0
        row = M[new] @ inverse  # B⁻¹ after row j of B was replaced: B⁻¹ - B⁻¹e_j (row - e_jᵀ)/row_j
        row[j] -= 1.0
        inverse = inverse - np.outer(inverse[:, j], row / (row[j] + 1.0))
        basis[j] = new
    return None


def reweighted(
    M: np.ndarray,
    c: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    v: np.ndarray,
    steps: int = REWEIGHTED,
) -> np.ndarray:
    """v after some steps to the minimiser of a quadratic that touches the objective from above.

        Σ w_i r_i²/2 + (left_i + right_i)/2 r_i,   w_i = (right_i - left_i)/2 / max(|r_i|, the k-th smallest of them)

    Ends early where such a minimiser is not unique.

    >>> M, c = np.ones((5, 1)), -np.array([1.0, 2.0, 3.0, 10.0, 50.0])
    >>> reweighted(M, c, -np.ones(5), np.ones(5), np.array([13.2])).round(1)          # from the mean to the median
    array([3.])
    """
    m, k = M.shape
    bend, tilt, weighted = (right - left) / 2, M.T @ ((right + left) / 2), np.empty(M.T.shape)
    for _ in range(steps if k < m else 0):
        size = np.abs(M @ v + c)
        floor = np.partition(size, k)[k]
        if not floor > 0:
            break
        np.multiply(M.T, bend / np.maximum(size, floor), out=weighted)
        _, new, failed = scipy.linalg.lapack.dposv(weighted @ M, -(weighted @ c + tilt))
        if failed or not np.all(np.isfinite(new)):
            break
        v = new
    return v


def _turn(times: np.ndarray, rises: np.ndarray, slope: float) -> int | None:
    """Where the slope is no longer negative, having risen at every time up to that one; None where it stays so.

    Among many times the first ones are looked at first: sorting them all is most of an exchange.
    """
    every = np.arange(len(times))
    first = every if len(times) <= 4 * NEAR else np.flatnonzero(times <= np.partition(times, NEAR)[NEAR])
    for rows in (first, every):
        order = rows[times[rows].argsort(kind="stable")]
        last = int((slope + np.cumsum(rises[order])).searchsorted(0.0))
        if last < len(order):
            return int(order[last])
    return None


def _vertex(M: np.ndarray, c: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(M_T⁻¹, r) at the vertex; None where the basis is singular."""
    try:
        inverse = np.linalg.inv(M[basis])
    except np.linalg.LinAlgError:
        return None
    r = c - M @ (inverse @ c[basis])
    r[basis] = 0.0
    return (inverse, r) if np.all(np.isfinite(r)) else None


def _solution(rows: Rows, basis: np.ndarray, above: np.ndarray) -> Vertex | None:
    """The vertex, with everything computed afresh; None where rounding had made it look like a solution.

    Where more rows than the basis meet in it (a perfect fit of most data, say), r is rounding there and its sign is
    none: such rows keep the side that the exchanges gave them, and become 0.
    """
    M, c, left, right = rows
    start = _vertex(M, c, basis)
    if start is None:
        return None
    inverse, r = start
    v = -inverse @ c[basis]
    met = rows.are_met(r, v)
    y = np.where(np.where(met, above, r >= 0), right, left)
    r[met] = 0.0
    y[basis] = 0.0
    own = -(y @ M) @ inverse
    low, high = left[basis], right[basis]
    if np.any(np.maximum(own - high, low - own) > 100 * SLACK * (high - low)):
        return None
    y[basis] = np.clip(own, low, high)
    return Vertex(v, r, y)
