"""Proximal interior-point steps: for entries with kinks or bounds, equations, and norms of groups.

Every entry of H is one of

    kink     y ∈ [lo, hi], its slopes, and u - place = high - low with low·(y - lo) = high·(hi - y) = μ
    bounds   u ∈ [lo, hi], and y = slope + high - low with low·(u - lo) = high·(hi - u) = μ
    equation u = place, y free
    group    ‖y_g‖ ≤ r, and u_g = s y_g with s (r² - ‖y_g‖²)/2 = μ

(an entry with a kink inside its bounds counts twice). In the first two x is what is bounded, and the partner high - low
belongs to it; the same formulas serve both. One step of Mehrotra's predictor and corrector for μ → 0 on

    ∇f(v) + Mᵀy = 0,   M v + c = u,

whose matrix, after the rows are eliminated, is K = ∇²f + εI + MᵀWM. Mehrotra, SIAM J. Optim. 2 (1992); ε and the cap
on W make every step a proximal one (Friedlander & Orban, Math. Program. Comp. 4 (2012)), so that dependent columns and
equations do no harm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .algebra import Factor, System
from .form import Form
from .weights import Weights

REGULAR = 1e8
"""Ratio of the weights of the problem to ε, and of the cap on W to them: half of the digits, so that both sides of the
saddle are proximal steps which still move as Newton's would, and refinement converges."""
TO_BOUNDARY = 0.995
"""Part of the way to the boundary that a step may take."""
CENTRE = 1e-4
"""Least part of μ that the corrector aims at: with less, products drift apart and steps become short."""
DAMPED = 0.5
"""A step on a curved f is halved until ∇f departs from its linearisation by at most this part of the change."""


class Point(NamedTuple):
    """The variables of interior-point steps."""

    x: np.ndarray
    """What is bounded: y of kinks, then u of bounds."""
    low: np.ndarray
    high: np.ndarray
    free: np.ndarray
    """y of equations, then of groups."""
    stretch: np.ndarray
    """s of groups."""


class Interior:
    """The rows of a form, sorted for interior-point steps."""

    def __init__(self, form: Form):
        terms, e = form.terms, form.terms.entries
        entry = np.arange(terms.last.start, terms.last.stop)
        equal = e.lower == e.upper
        inside = (e.left < e.right) & (e.place > e.lower) & (e.place < e.upper) & ~equal
        bounded = (np.isfinite(e.lower) | np.isfinite(e.upper)) & ~equal
        slope = np.where(e.place <= e.lower, e.right, e.left)  # where the kink lies inside, `x` has it
        self.slope = np.zeros(form.m)
        self.slope[entry] = np.where(inside | equal, 0.0, slope)
        self.kinks, self.bounds = int(inside.sum()), int(bounded.sum())
        self.equations = int(equal.sum())
        self.row = np.concatenate([entry[inside], entry[bounded], entry[equal], terms.members])
        """The row of the form for each variable: kinks, bounds, equations, groups."""
        self.twice = np.bincount(self.row, minlength=form.m)[self.row] > 1
        self.lo = np.concatenate([e.left[inside], e.lower[bounded]])
        self.hi = np.concatenate([e.right[inside], e.upper[bounded]])
        self.place = np.concatenate([e.place[inside], np.zeros(self.bounds), e.lower[equal]])
        self.has_low, self.has_high = np.isfinite(self.lo), np.isfinite(self.hi)
        self.label, self.radius = terms.label, terms.radius
        self.pairs = int(self.has_low.sum() + self.has_high.sum()) + len(self.radius)
        k, b, q = self.kinks, self.kinks + self.bounds, self.kinks + self.bounds + self.equations
        self.is_kink, self.is_bound = slice(0, k), slice(k, b)
        self.is_boxed, self.is_equation, self.is_group = slice(0, b), slice(b, q), slice(q, len(self.row))
        picked = np.full(form.m, False)
        picked[form.general :] = form.confined[form.M.index]
        self.is_confined = picked[self.row[self.is_boxed]] & (np.arange(b) >= k)
        """Bounds that v itself keeps: their residual is 0 from the start, and so ever after."""
        self.form = form

    def start(self, v: np.ndarray, y: np.ndarray, weight: float) -> Point:
        """A point well inside, near (v, y): every variable and partner at least as large as they are on average.

        Farther inside where the work of the residuals, |⟨rp, y⟩| + |⟨rd, v⟩| term by term, is more than the products:
        steps are short where these are small beside residuals.
        """
        p = self._inside(v, y, weight, 1.0)
        rp, rd, _ = self._residuals(v, p)
        work = float(np.abs(rp) @ np.abs(self._own(p)) + np.abs(rd) @ np.abs(v))
        ratio = work / (self.products(p) or 1.0)
        return p if ratio <= 1 else self._inside(v, y, weight, min(math.sqrt(ratio), 100.0))

    def _residuals(self, v: np.ndarray, p: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M v + c - u for the variables, ∇f + Mᵀy, and ∇f."""
        gradient = self.form.smooth.gradient(v)
        rd = gradient + self.form.adjoint(self.multipliers(p))
        return (self.form.apply(v) + self.form.c)[self.row] - self._arguments(p), rd, gradient

    def _inside(self, v: np.ndarray, y: np.ndarray, weight: float, push: float) -> Point:
        u = self.form.apply(v) + self.form.c
        own, at = (y - self.slope)[self.row], u[self.row]
        x, partner = own[self.is_boxed].copy(), at[self.is_boxed].copy()
        x[self.is_bound], partner[self.is_bound] = partner[self.is_bound], x[self.is_bound].copy()
        partner[self.is_kink] -= self.place[self.is_kink]
        width = self.hi - self.lo
        room, least = np.empty_like(x), np.empty_like(x)
        for rows, ratio in ((self.is_kink, 1 / weight), (self.is_bound, weight)):
            if x[rows].size:
                size, other = np.mean(np.minimum(width, np.abs(x))[rows]), np.mean(np.abs(partner[rows]))
                room[rows] = push * (max(size, 1e-6 * other / ratio) or 1.0)
                least[rows] = push * (max(other, 1e-6 * size * ratio) or 1.0)
        room = np.minimum(room, 0.25 * width)
        x = np.where(self.has_low, np.maximum(x, self.lo + room), x)
        x = np.where(self.has_high, np.minimum(x, self.hi - room), x)
        x = np.where(self.is_confined, at[self.is_boxed], x)
        low = np.where(self.has_low, np.maximum(-partner, least), 0.0)
        high = np.where(self.has_high, np.maximum(partner, least), 0.0)
        free, stretch = own[self.is_boxed.stop :].copy(), np.ones(len(self.radius))
        if self.label.size:
            group = slice(self.equations, None)
            size = np.sqrt(self._sum(free[group] ** 2))
            free[group] *= np.minimum(1.0, 0.7 * self.radius / np.maximum(size, 1e-300))[self.label]
            reach = np.sqrt(self._sum(at[self.is_group] ** 2))
            typical = np.mean(reach) or np.mean(self.radius) / weight
            stretch = push * np.maximum(reach, typical) / np.maximum(self.radius, 1e-300)
        return Point(x, low, high, free, stretch)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        """Sums over groups."""
        return np.bincount(self.label, values, len(self.radius))

    def multipliers(self, p: Point) -> np.ndarray:
        """y, row by row of the form."""
        return self.slope + np.bincount(self.row, self._own(p), self.form.m)

    def _own(self, p: Point) -> np.ndarray:
        """y of every variable, without the slope."""
        return np.concatenate([p.x[self.is_kink], (p.high - p.low)[self.is_bound], p.free])

    def _arguments(self, p: Point) -> np.ndarray:
        """u of every variable."""
        group = p.stretch[self.label] * p.free[self.equations :]
        partner = (p.high - p.low)[self.is_kink] + self.place[self.is_kink]
        return np.concatenate([partner, p.x[self.is_bound], self.place[self.is_boxed.stop :], group])

    def products(self, p: Point) -> float:
        """Σ of all products that ought to be μ: the duality gap, where the equations hold."""
        below, above = self._rooms(p)
        pairs = p.low[self.has_low] @ below[self.has_low] + p.high[self.has_high] @ above[self.has_high]
        return float(pairs + 0.5 * p.stretch @ self._slack(p))

    def _rooms(self, p: Point) -> tuple[np.ndarray, np.ndarray]:
        """x - lo and hi - x, not below what rounding leaves of them."""
        least = 1e-17 * np.abs(p.x) + 1e-300
        return np.maximum(p.x - self.lo, least), np.maximum(self.hi - p.x, least)

    def _slack(self, p: Point) -> np.ndarray:
        """r² - ‖y_g‖², group by group, not below what rounding leaves of it."""
        square = self.radius**2
        return np.maximum(square - self._sum(p.free[self.equations :] ** 2), 1e-17 * square + 1e-300)

    def step(
        self, system: System, v: np.ndarray, p: Point, weight: float, curvature: float
    ) -> tuple[np.ndarray, Point, float]:
        """(v, p) after one step, and its length; `weight` and `curvature` are the units of W and of ∇²f."""
        form = self.form
        rp, rd, gradient = self._residuals(v, p)
        below, above = self._rooms(p)
        theta = p.low / below + p.high / above
        slack, Z = self._slack(p), p.free[self.equations :]
        psi = np.zeros(len(self.row))  # du = ψ dy + ρ, entry by entry; for groups across y_g
        psi[self.is_kink] = theta[self.is_kink]
        psi[self.is_bound] = 1 / np.maximum(theta[self.is_bound], 1e-300)
        psi[self.is_group] = p.stretch[self.label]
        W, own = self._weights(psi, Z, slack, p.stretch, weight)
        factor = system.factor(*form.smooth.hessian(v), W, (curvature or weight) / REGULAR)
        mu = self.products(p) / max(self.pairs, 1)

        def direction(low: Any, high: Any, group: Any, times: int) -> tuple[np.ndarray, Point, np.ndarray]:
            """The step to the given products."""
            partner = high / above - low / below - (p.high - p.low)  # dY = θ dx + this
            rho = np.zeros(len(self.row))
            rho[self.is_kink] = partner[self.is_kink]
            rho[self.is_bound] = -partner[self.is_bound] * psi[self.is_bound]
            rho[self.is_group] = Z * (group / slack - p.stretch)[self.label]
            dv, dy = self._solve(factor, own, -rd, rho - rp, times)
            dx = np.concatenate([dy[self.is_kink], (dy * psi + rho)[self.is_bound]])
            inner = self._sum(Z * dy[self.is_group])
            dlow = np.where(self.has_low, (low - p.low * dx) / below - p.low, 0.0)
            dhigh = np.where(self.has_high, (high + p.high * dx) / above - p.high, 0.0)
            dstretch = (group + 2 * p.stretch * inner) / slack - p.stretch
            return dv, Point(dx, dlow, dhigh, dy[self.is_boxed.stop :], dstretch), inner

        dv, d, inner = direction(0.0, 0.0, 0.0, 0)  # the predictor: all products to 0
        length = min(1.0, self._length(p, d, slack))
        ahead = max(self.products(moved(p, length, d)), 0.0) / max(self.pairs, 1)
        sigma = max(min(ahead / mu, 1.0) ** 3, CENTRE) if mu > 0 else 0.0
        goal = sigma * mu
        dv, d, _ = direction(goal - d.x * d.low, goal + d.x * d.high, 2 * (goal + d.stretch * inner), 3)
        length = min(1.0, TO_BOUNDARY * self._length(p, d, slack))
        if not form.smooth.is_quadratic:
            length = self._damped(factor, v, dv, gradient, rd, length)
        return v + length * dv, moved(p, length, d), length

    def _weights(
        self, psi: np.ndarray, Z: np.ndarray, slack: np.ndarray, stretch: np.ndarray, weight: float
    ) -> tuple[Weights, np.ndarray]:
        """W = (ψ + 1/cap)⁻¹ on the rows of the form, and on the variables."""
        boxed = psi[self.is_boxed]
        typical = np.exp(-np.mean(np.log(np.clip(boxed, 1e-200, 1e200)))) if boxed.size else 0.0
        if self.label.size:
            typical = max(typical, np.exp(-np.mean(np.log(np.maximum(stretch, 1e-300)))))
        cap = np.full(len(psi), REGULAR * max(weight, typical))
        cap[self.is_equation] = REGULAR * weight
        own = 1 / (psi + 1 / cap)
        along, direction, members = (
            np.zeros(len(self.radius)),
            np.zeros(len(self.label)),
            self.form.terms.members,
        )
        if self.label.size:
            square = self._sum(Z * Z)
            along = 1 / (stretch * (1 + 2 * square / slack) + 1 / cap[-1])
            direction = Z / np.sqrt(np.maximum(square, 1e-300))[self.label]
        diagonal = np.bincount(self.row, own, self.form.m)
        return Weights(diagonal, self.form.general, members, self.label, direction, along), own

    def _solve(
        self, factor: Factor, own: np.ndarray, a: np.ndarray, b: np.ndarray, times: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(∇²f + ε) dv + Mᵀdy = a, M dv - W⁻¹dy = b, for the variables; those of one row share its equation."""
        m, W = self.form.m, factor.W
        if not self.twice.any():
            shared = np.zeros(m)
            shared[self.row] = b
        else:
            shared = np.bincount(self.row, own * b, m) / np.where(W.diagonal > 0, W.diagonal, 1.0)
        dv, dy = factor.saddle(a, shared, 1e-8, times)
        each = dy[self.row]
        if self.twice.any():
            each = np.where(self.twice, own * (self.form.apply(dv)[self.row] - b), each)
        return dv, each

    def _length(self, p: Point, d: Point, slack: np.ndarray) -> float:
        """The longest step that keeps everything positive."""
        longest = 1e300
        below, above = self._rooms(p)
        pairs = ((below, d.x), (above, -d.x), (p.low, d.low), (p.high, d.high), (p.stretch, d.stretch))
        for value, change in pairs:
            ratio = np.divide(value, -change, out=np.full_like(value, longest), where=change < 0)
            longest = min(longest, float(np.min(ratio, initial=longest)))
        if self.label.size:  # ‖y + t dy‖ = r
            Z, dZ = p.free[self.equations :], d.free[self.equations :]
            square, inner = self._sum(dZ * dZ), self._sum(Z * dZ)
            root = inner + np.sqrt(inner * inner + square * slack)
            longest = min(longest, float(np.min(slack / np.maximum(root, 1e-300))))
        return longest

    def _damped(
        self,
        factor: Factor,
        v: np.ndarray,
        dv: np.ndarray,
        gradient: np.ndarray,
        rd: np.ndarray,
        length: float,
    ) -> float:
        """Halve the step until ∇f at its end is near the linearisation."""
        change = factor.curved(dv)
        allowed, left = DAMPED * float(np.linalg.norm(change)), DAMPED * float(np.linalg.norm(rd))
        for _ in range(40):
            with np.errstate(all="ignore"):
                new = self.form.smooth.gradient(v + length * dv)
                error = float(np.linalg.norm(new - gradient - length * change))
                inside = np.isfinite(self.form.smooth.value(v + length * dv))
            if inside and error <= max(allowed * length, left):
                break
            length /= 2
        return length


def moved(p: Point, length: float, d: Point) -> Point:
    """p + length·d."""
    return Point(*(a + length * b for a, b in zip(p, d, strict=True)))
