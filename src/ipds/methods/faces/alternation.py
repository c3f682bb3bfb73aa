"""How `LowRankIPDS` begins: a start and, where the rank is small, reweighted least squares on the factors in turn.

    min ‖u‖₁  with  u = B - κ L Rᵀ  on the entries observed

With e_ij = max(|u_ij|, ε), the |u_ij| lie below u_ij²/(2e_ij) + e_ij/2, and touch it where e_ij = |u_ij|. So the
objective falls but for ε, which follows the median m of |u| down:

    L ← argmin Σ_ij (B - κ L Rᵀ)_ij²/e_ij,   R ← the same with that L and the same e,   ε ← max(min(ε/2, m), m/10)

and both go on beyond by ω = min(½, m/m_before) of their steps: as far as the next step would take them, where steps
shrink as the median does. In the first pass, and in the second where the median fell to a half or less, weights fall
off, 1/(1 + (u/w)²) with w of 1.5 medians: then what is large is a gross error rather than noise, and 1/e would let it
pull as hard as any other entry. Each row of L is r equations of its own. Rows are taken a few at a time, so that one
pass over the data does all: e, the new rows of L, and what they add to the equations of R; in single precision, where
ε is far above its rounding. The points are those of Φ of `passes` with s = ε/λ.
Gross errors weigh little here, so none is ever fitted. Where one is larger than all that a column of the factors is
worth, σ_r‖U_r‖₁‖V_r‖₁ at most, it takes the place of that column: the objective falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...deadline import raise_if_late
from ...errors import AssumptionError
from ...functions.fixed_rank import FixedRank, near
from .passes import Deviations

FEW = 10
"""Columns of the factors at most: r(r + 3) products with the data take longer than what they save of other steps."""
SETTLED = 1e-6
"""The rank is settled where the s-th singular value is more than this fraction of the first."""
CLIPPED = 2.0
"""A start clips the data at so many times the median of |B|."""
SAMPLE = 500
"""Entries of which a median is taken."""
HALF, NO_LESS = 0.5, 0.1
"""The factor of ε, and what it is at least in units of the median: less makes steps short and gains little."""
FURTHER = 0.5
"""Part of a step, at most, that factors go on beyond it."""
NEAR, MOST = 7e-4, 20
"""Passes end where no more than this part of the objective is left to gain, as far as two of them, and the fall of the
median since, can tell; or then."""
FAST = 0.5
"""The median falls fast where a pass leaves no more than this part of it."""
WIDTH, SLOWLY = 1.5, 0.2
"""Where weights fall off, in units of the median, and what one pass leaves of that at least: rows that are fitted whole
at once say nothing of the others."""
STILL = 0.1
"""Once the median stands still, passes gain as slowly as ε falls, and about as much as the last gain is left to the
next ones; it does not yet where it falls by more than this part of it."""
LOWEST = 1e-10
"""The least ε in units of the entries of B."""
SMALL, PERFECT = 1e-2, 1e-6
"""Where no more than this is left of the entries of B, they may all be fitted; and where they are."""
RIDGE = {np.float64: 1e-12, np.float32: 1e-6}
"""Share of the mean of a diagonal that is added to it: rows with few entries observed leave some equations out."""
SINGLE, RANGE = 1e-4, 1e15
"""Passes are in single precision while ε is more than this in units of the entries of B, and these are not huge."""
TINY = float(np.finfo(float).tiny)
AT_ONCE = 5
"""Equations of r numbers each are solved all at once from so many times r² of them on."""
ENTRIES, FEWEST = 65536, 16
"""Entries of the rows that are taken at a time, about, and rows at least."""


class Sample(NamedTuple):
    """Some of the entries observed: their rows, columns and values."""

    i: np.ndarray
    j: np.ndarray
    data: np.ndarray

    @classmethod
    def of(cls, data: np.ndarray, places: np.ndarray | None) -> Sample:
        """Entries of `data` by chance, the same ones every time; `places` of those observed, None where all are."""
        draw = _some(data.size if places is None else len(places))
        i, j = np.divmod(draw if places is None else places[draw], data.shape[1])
        return cls(i, j, data[i, j])

    def sizes(self, kappa: float, L: np.ndarray, R: np.ndarray) -> np.ndarray:
        """|u|."""
        return np.abs(
            self.data - kappa * np.einsum("ij,ij->i", L.take(self.i, axis=0), R.take(self.j, axis=0))
        )

    def median(self, kappa: float, L: np.ndarray, R: np.ndarray) -> float:
        """The median of |u|, or the next one above."""
        return middle(self.sizes(kappa, L, R))


def middle(sizes: np.ndarray) -> float:
    """The median, or the next one above."""
    return float(np.partition(sizes, SAMPLE // 2)[SAMPLE // 2])


@lru_cache(maxsize=4)
def _some(count: int) -> np.ndarray:
    """Places among so many, by chance."""
    return np.random.default_rng(0).integers(count, size=SAMPLE)


def start(rank: int, x0: np.ndarray, data: np.ndarray, loss: Deviations, sample: Sample) -> FixedRank:
    """The factors of x0; where its rank is lower, those of the data, clipped: gross errors weigh no more."""
    if np.any(x0):
        X = near(x0, rank)
        if is_settled(X):
            return X
    level = CLIPPED * middle(np.abs(sample.data)) or float(np.max(np.abs(data)))
    share = 1.0 if loss.observed is None else float(loss.observed.mean())
    X = near(np.clip(_single(data) if 1 / RANGE < level < RANGE else data, -level, level), rank)
    if not is_settled(X):
        raise AssumptionError("LowRankIPDS: the data have a lower rank than the block may have")
    scale = loss.kappa * share
    return FixedRank(math.copysign(1.0, scale) * X.U, X.sigma / abs(scale), X.V)


def is_settled(X: FixedRank) -> bool:
    """Whether the rank of X is not about to fall."""
    return bool(X.sigma[-1] > SETTLED * X.sigma[0])


Weights = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of |u|, in the second array."""


class Pass(NamedTuple):
    """New factors; Σ|u| and max |u| at the old ones."""

    L: np.ndarray
    R: np.ndarray
    value: float
    largest: float


def alternated(
    X: FixedRank, data: np.ndarray, loss: Deviations, sample: Sample, scale: float
) -> tuple[FixedRank, float]:
    """(X, ε) once little is left to gain; `scale` is the size of an entry of the data. ∞ where X fits all of them."""
    L, R = X.balanced()
    is_usual = scale > 1 / RANGE and scale * data.size < RANGE
    coarse = (_single(data), loss.single()) if is_usual else (data, loss)
    epsilon, width, median = math.inf, 0.0, sample.median(loss.kappa, L, R)
    values: list[float] = []
    falls: list[float] = []
    falling = 0  # passes whose weights fall off
    for _ in range(MOST):
        raise_if_late()
        epsilon = max(min(HALF * epsilon, median), NO_LESS * median, LOWEST * scale)
        given = coarse if epsilon > SINGLE * scale else (data, loss)
        width = max(WIDTH * median, SLOWLY * width, LOWEST * scale)
        is_falling = not falls or (len(falls) == 1 and falls[0] <= FAST)
        weights, falling = (redescending(width), falling + 1) if is_falling else (inverse(epsilon), falling)
        left, right, value, largest = one_pass(L, R, *given, weights)
        values.append(value)
        before, median = median, sample.median(loss.kappa, left, right)
        falls.append(median / before if median < before else 1.0)
        further = min(falls[-1], FURTHER)
        L, R = left + further * (left - L), right + further * (right - R)
        if _left(values, falls, falling) <= NEAR * value:
            X = FixedRank.of_product(L, R)
            if not largest > abs(loss.kappa) * _worth(X):
                break
            L, R = exchanged(X, data, loss).balanced()
            values, falls, falling, median = [], [], 0, sample.median(loss.kappa, L, R)
    else:
        X = FixedRank.of_product(L, R)
    most = scale * data.size
    fits = value <= SMALL * most and loss.sizes(X, data)[0] <= PERFECT * loss.lam * most
    return X, math.inf if fits else epsilon


def _worth(X: FixedRank) -> float:
    """Σ|x| of the last column of the factors."""
    return float(X.sigma[-1] * np.abs(X.U[:, -1]).sum() * np.abs(X.V[:, -1]).sum())


def exchanged(X: FixedRank, data: np.ndarray, loss: Deviations) -> FixedRank:
    """X with the entry of the largest |u| fitted in the place of its last column."""
    most, place = -1.0, (0, 0)
    for here, u in loss.rows(X, data):
        i, j = np.unravel_index(np.argmax(np.abs(u, out=u)), u.shape)
        if u[i, j] > most:
            most, place = float(u[i, j]), (here.start + int(i), int(j))
    (L, R), (row, column) = X.balanced(), place
    L[:, -1] = R[:, -1] = 0.0
    entry = float(data[place] / loss.kappa - L[row] @ R[column])
    R[column, -1] = math.sqrt(abs(entry))
    L[row, -1] = math.copysign(R[column, -1], entry)
    return FixedRank.of_product(L, R)


def _left(values: list[float], falls: list[float], falling: int) -> float:
    """What is left to gain after a pass, from Σ|u| before each one and the factors of the median at each.

    Gains fall as the median does while it falls fast, as a series once it does not: without those of the first passes,
    as many as `falling`, whose weights were others.
    """
    if len(values) < 2:
        return math.inf
    gain = values[-2] - values[-1]
    if falls[-2] <= FAST:
        ratio, last = (max(fall, NO_LESS) for fall in falls[-2:])
        return last * gain * ratio / (1 - ratio) if gain > 0 and ratio < 1 else math.inf
    still = max(0.0, 1 - (1 - falls[-2]) / STILL)
    return max(falls[-1] * _series(values[falling:]), still * gain)


def _series(values: list[float]) -> float:
    """What is left to gain at the last point that was measured, by a series that falls as gains do, or ever slower."""
    gains = [a - b for a, b in pairwise(values[-4:])]
    if len(gains) < 2 or not 0 <= gains[-1] < gains[-2]:
        return math.inf
    ratio = gains[-1] / gains[-2]
    if len(gains) > 2 and gains[0] > gains[1]:
        ratio *= max(1.0, ratio * gains[0] / gains[1])
    return gains[-1] * ratio / (1 - ratio) if ratio < 1 else math.inf


def _single(data: np.ndarray) -> np.ndarray:
    """In single precision; entries that are beyond it are infinite."""
    with np.errstate(over="ignore"):
        return data.astype(np.float32)


def inverse(epsilon: float) -> Weights:
    """1/max(|u|, ε)."""
    return lambda u, out: np.divide(1.0, np.clip(u, epsilon, math.inf, out=out), out=out)


def redescending(width: float) -> Weights:
    """1/(1 + (u/width)²)."""

    def weights(u: np.ndarray, out: np.ndarray) -> np.ndarray:
        np.multiply(u, 1 / width, out=out)
        out *= out
        out += 1.0
        return np.reciprocal(out, out=out)

    return weights


def one_pass(L: np.ndarray, R: np.ndarray, data: np.ndarray, loss: Deviations, weights: Weights) -> Pass:
    """L and R anew, each by weighted least squares whose sums are in the precision of the data."""
    (m, n), r, observed, kind = data.shape, R.shape[1], loss.observed, data.dtype
    above, _ = _symmetric(r)
    left, right = L.astype(kind, copy=False), (loss.kappa * R.T).astype(kind)
    R = R.astype(kind, copy=False)
    squares, ridge = _products(R, above), RIDGE[kind.type]
    count, value, largest = min(m, max(FEWEST, ENTRIES // n)), 0.0, 0.0
    found, normal, force = np.empty_like(L), np.zeros((n, len(squares.T)), kind), np.zeros((n, r), kind)
    room, other = np.empty((count, n), kind), np.empty((count, n), kind)
    for i in range(0, m, count):
        here = slice(i, min(i + count, m))
        u, w = room[: here.stop - i], other[: here.stop - i]
        np.abs(np.subtract(data[here], np.dot(left[here], right, out=u), out=u), out=u)
        if observed is not None:
            u *= observed[here]
        value, largest = value + float(u.sum()), max(largest, float(u.max()))
        weights(u, w)
        if observed is not None:
            w *= observed[here]
        weighted = np.multiply(w, data[here], out=u)
        found[here] = _solved(w @ squares, weighted @ R, ridge)
        rows = found[here].astype(kind, copy=False)
        normal += w.T @ _products(rows, above)
        force += weighted.T @ rows
    return Pass(found / loss.kappa, _solved(normal, force, ridge), value, largest)


@lru_cache(maxsize=FEW)
def _symmetric(r: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The places on and above the diagonal, and, for each place of a symmetric matrix, which of them holds it."""
    above, place = np.triu_indices(r), np.zeros((r, r), int)
    place[above] = range(len(above[0]))
    return above, np.maximum(place, place.T)


def _products(rows: np.ndarray, above: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """r_i r_iᵀ of every row, on and above the diagonal."""
    i, j = above
    return rows[:, i] * rows[:, j]


def _solved(normal: np.ndarray, force: np.ndarray, ridge: float) -> np.ndarray:
    """N⁻¹f of every row, in double precision: by elimination in all rows at once, or row by row where they are few."""
    n, r = force.shape
    _, symmetric = _symmetric(r)
    A = np.empty((r, r + 1, n))
    A[:, :r], A[:, r] = normal.T[symmetric], force.T
    diagonal = A.reshape(r * (r + 1), n)[:: r + 2]
    diagonal += (ridge / r) * diagonal.sum(axis=0) + TINY
    if n < AT_ONCE * r**2:
        rows = A.transpose(2, 0, 1)
        return np.linalg.solve(rows[:, :, :r], rows[:, :, r:])[:, :, 0]
    for k in range(r):
        A[k, k + 1 :] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
    x = A[:, r]
    for k in range(r - 1, 0, -1):
        x[:k] -= A[:k, k] * x[k]
    return x.T
