"""The variables of interior-point steps: what they are, where they stand, and what is left of the equations at a point.

Every entry of H is one of

    kink     y ∈ [lo, hi], its slopes, and u - place = high - low with low·(y - lo) = high·(hi - y) = μ
    bounds   u ∈ [lo, hi], and y = slope + high - low with low·(u - lo) = high·(hi - u) = μ
    equation u = place, y free
    group    ‖y_g‖ ≤ r, and u_g = s y_g with s (r² - ‖y_g‖²)/2 = μ

(an entry with a kink inside its bounds counts twice). In the first two x is what is bounded, and the partner high - low
belongs to it; the same formulas serve both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import norm
from .barriers import Barrier, placed
from .form import Form

SIGN = np.array([[1.0], [-1.0]])
"""Of x in the rooms x - lo and hi - x."""
SLIGHT = 1e-6
"""Part of the largest right-hand side below which equations are held more firmly, as far tails of densities are: what a
step lets go of in all rows is more than all that these ask for."""
FAR = 1e300
"""Where a bound stands that is none: its room is no obstacle, and the force of 0 from there is no product."""


class Point(NamedTuple):
    """The variables of interior-point steps."""

    x: np.ndarray
    """What is bounded: y of kinks, then u of bounds."""
    force: np.ndarray
    """(low, high): what holds x above lo and below hi; 0 where there is no bound."""
    free: np.ndarray
    """y of equations, then of groups."""
    stretch: np.ndarray
    """s of groups."""
    u: np.ndarray
    """u of rows with a barrier."""
    y: np.ndarray


class Residuals(NamedTuple):
    """What is left of the equations at a point."""

    u: np.ndarray
    """M v + c, row by row of the form."""
    y: np.ndarray
    gradient: np.ndarray
    """∇f."""
    rd: np.ndarray
    """∇f + Mᵀy."""
    room: np.ndarray
    """(x - lo, hi - x), not below what rounding leaves of them."""


class Layout:
    """The rows of a form, sorted for interior-point steps."""

    def __init__(self, form: Form, barriers: Sequence[Barrier] = ()):
        terms, e = form.terms, form.terms.entries
        entry = np.arange(terms.last.start, terms.last.stop)
        equal = e.lower == e.upper
        inside = (e.left < e.right) & (e.place > e.lower) & (e.place < e.upper) & ~equal
        bounded = (np.isfinite(e.lower) | np.isfinite(e.upper)) & ~equal
        slope = np.where(e.place <= e.lower, e.right, e.left)  # where the kink lies inside, `x` has it
        self.slope = np.zeros(form.m)
        self.slope[entry] = np.where(inside | equal, 0.0, slope)
        curved = np.concatenate([np.arange(form.m)[b.rows] for b in barriers] or [np.empty(0, int)])
        self.row = np.concatenate([entry[inside], entry[bounded], entry[equal], terms.members, curved])
        """The row of the form for each variable: kinks, bounds, equations, groups, barriers."""
        self.twice = np.bincount(self.row, minlength=form.m)[self.row] > 1
        self.is_twice = bool(self.twice.any())
        self.is_in_order = np.array_equal(self.row, np.arange(form.m))
        lo = np.concatenate([e.left[inside], e.lower[bounded]])
        hi = np.concatenate([e.right[inside], e.upper[bounded]])
        self.has = np.isfinite([lo, hi])
        self.has_all = bool(self.has.all())
        self.signed = SIGN * self.has
        """The same with 0 where there is no bound."""
        self.ends = np.minimum(np.maximum([lo, hi], -FAR), FAR)
        self.label, self.radius = terms.label, terms.radius
        self.pairs = int(self.has.sum()) + len(self.radius) + sum(b.degree for b in barriers)
        kinks, bounds, self.equations = (int(np.count_nonzero(kind)) for kind in (inside, bounded, equal))
        self.place = np.concatenate([e.place[inside], np.zeros(bounds), e.lower[equal]])
        k, b, q = kinks, kinks + bounds, kinks + bounds + self.equations
        self.is_kink, self.is_bound = slice(0, k), slice(k, b)
        self.kinked = np.arange(b) < k
        self.is_mixed, self.has_kinks_only = 0 < k < b, k == b
        g = q + len(terms.members)
        self.is_boxed, self.is_equation, self.is_group = slice(0, b), slice(b, q), slice(q, g)
        numbers = np.zeros(sum(c.size for c in barriers))
        self._barriers = placed(barriers, g)
        shown = [np.arange(len(numbers))[c.shown] for c in self._barriers]
        self._shown = np.concatenate([np.empty(0, int), *shown])
        """Of the numbers that points hold of barriers, those that are u."""
        picked = np.full(form.m, False)
        picked[form.general :] = form.confined[form.M.index]
        self.is_confined = picked[self.row[self.is_boxed]] & (np.arange(b) >= k)
        """Bounds that v itself keeps: their residual is 0 from the start, and so ever after."""
        self.none = Point(
            np.zeros(b),
            np.zeros((2, b)),
            np.zeros(g - b),
            np.zeros(len(self.radius)),
            numbers,
            np.zeros(len(curved)),
        )
        """A point before there is one."""
        self.firmness = _firmness(self.place[self.is_equation] - form.c[self.row[self.is_equation]])
        """How much more than others each equation is held."""
        self.form = form
        self.seen, self.block = self._seen()
        self._at: tuple[Any, Any, Residuals | None] = None, None, None

    def _seen(self) -> tuple[np.ndarray, np.ndarray]:
        """(S, block of every column): S takes the mean, block by block, over the rows that see it, but for equations.

        S is empty where there is one block, or M is known by its products.
        """
        form = self.form
        G, index = form.M.G, form.M.index
        if len(form.blocks) == 1 or isinstance(G, scipy.sparse.linalg.LinearOperator):
            return np.zeros((0, form.m)), np.zeros(form.n, int)
        block = np.repeat(np.arange(len(form.blocks)), [place.stop - place.start for place, _ in form.blocks])
        S = np.zeros((len(form.blocks), form.m))
        S[block[index], np.arange(form.general, form.m)] = 1.0
        if G is not None:
            S[:, : form.general] = (abs(G) @ (block[:, None] == np.arange(len(S)))).T > 0
        S[:, self.row[self.is_equation]] = 0.0
        S[~S.any(axis=1)] = 1.0  # seen by equations alone
        return S / S.sum(axis=1, keepdims=True), block

    def residuals(self, v: np.ndarray, p: Point) -> Residuals:
        """The equations at a point; those of the last point are kept, as a step begins where another has ended."""
        last_v, last_p, found = self._at
        if found is None or last_v is not v or last_p is not p:
            gradient, y = self.form.smooth.gradient(v), self._multipliers(p)
            u, room = self.form.apply(v) + self.form.c, SIGN * (p.x - self.ends)
            if room.size and room.item(room.argmin()) <= 0:
                room = np.maximum(room, 1e-17 * np.abs(p.x) + 1e-300)
            found = Residuals(u, y, gradient, gradient + self.form.adjoint(y), room)
            self._at = v, p, found
        return found

    def equation(self, v: np.ndarray, p: Point) -> float:
        """The relative residual of M v + c = u."""
        u, own = self.residuals(v, p).u[self.row], self._arguments(p)
        return norm(u - own) / (max(norm(u), norm(own)) or 1.0)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        """Sums over groups."""
        return np.bincount(self.label, values, len(self.radius))

    def _multipliers(self, p: Point) -> np.ndarray:
        """y, row by row of the form."""
        return self.slope + self._summed(self._own(p))

    def _own(self, p: Point) -> np.ndarray:
        """y of every variable, without the slope."""
        boxed = self._either(p.x, p.force[1] - p.force[0])
        return np.concatenate([boxed, p.free, p.y]) if len(self.row) > len(boxed) else boxed

    def _arguments(self, p: Point) -> np.ndarray:
        """u of every variable."""
        boxed = self._either(p.force[1] - p.force[0] + self.place[self.is_boxed], p.x)
        if len(self.row) == len(boxed):
            return boxed
        group = p.stretch[self.label] * p.free[self.equations :]
        return np.concatenate([boxed, self.place[self.is_boxed.stop :], group, p.u[self._shown]])

    def _either(self, of_kinks: np.ndarray, of_bounds: np.ndarray) -> np.ndarray:
        """The one for kinks, the other for bounds."""
        if self.is_mixed:
            return np.where(self.kinked, of_kinks, of_bounds)
        return of_kinks if self.is_kink.stop else of_bounds

    def _of_rows(self, values: np.ndarray) -> np.ndarray:
        """What stands on the row of every variable."""
        return values if self.is_in_order else values[self.row]

    def _summed(self, own: np.ndarray) -> np.ndarray:
        """Sums over the variables of every row."""
        return own if self.is_in_order else np.bincount(self.row, own, self.form.m)

    def products(self, p: Point, room: np.ndarray) -> float:
        """Σ of all products that ought to be μ: the duality gap, where the equations hold; `room` as in `Residuals`."""
        curved = sum(c.barrier.product(*c.of(p)) for c in self._barriers)
        return self._products(p, room, self._slack(p)) + curved

    def divided(self, p: Point, room: np.ndarray) -> tuple[float, float]:
        """(β, c): rows with |u| < y/β are held at a kink or bound, others are not, by a factor of √c at least.

        With products near μ the ratios u/y fall apart, those of rows that will be held from those of the others: 1/β is
        the middle of the widest gap between them, c its width.
        """
        ratio = np.log(room / np.maximum(p.force, 1e-300))
        ratio[:, self.is_kink] *= -1  # there x is y
        ordered = ratio.ravel() if self.has_all else ratio[self.has]
        if len(ordered) < 2:
            return 1.0, 0.0
        ordered.sort()
        widths = ordered[1:] - ordered[:-1]
        k = int(widths.argmax())
        middle, width = 0.5 * float(ordered[k] + ordered[k + 1]), float(widths[k])
        return math.exp(-min(max(middle, -500.0), 500.0)), math.exp(min(width, 500.0))

    def _products(self, p: Point, room: np.ndarray, slack: np.ndarray) -> float:
        return self._with_groups(float(np.vdot(p.force, room)), p, slack)

    def _with_groups(self, pairs: float, p: Point, slack: np.ndarray) -> float:
        return pairs + 0.5 * float(p.stretch @ slack) if self.label.size else pairs

    def _slack(self, p: Point) -> np.ndarray:
        """r² - ‖y_g‖², group by group, not below what rounding leaves of it."""
        if not self.label.size:
            return self.radius
        square = self.radius**2
        return np.maximum(square - self._sum(p.free[self.equations :] ** 2), 1e-17 * square + 1e-300)


def _firmness(right: np.ndarray) -> np.ndarray:
    """1, and the more the smaller right-hand sides are that are faint beside the largest, but not 0."""
    sizes = np.abs(right)
    least = SLIGHT * sizes.max(initial=0.0)
    is_faint = (sizes > 0) & (sizes < least)
    return np.where(is_faint, least / np.where(is_faint, sizes, 1.0), 1.0)
