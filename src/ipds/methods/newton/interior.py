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
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import norm
from .algebra import Factor, System
from .barriers import Barrier, Placed, Scaling, placed
from .form import Form
from .weights import Weights

REGULAR, CAP = 1e8, 1e10
"""Ratio of the weights of the problem to ε, and of the cap on W to them: half of the digits, so that both sides of the
saddle are proximal steps which still move as Newton's would, and refinement converges. A row that will not be held, but
nearly so, is let go of by y/CAP in a step: with 1e8 it stays, beside as many as the corner has, until the end."""
TO_BOUNDARY = 0.995
"""Part of the way to the boundary that a step may take."""
CENTRE = 1e-4
"""Least part of μ that the corrector aims at: with less, products drift apart and steps become short."""
DAMPED = 0.5
"""A step on a curved f is halved until ∇f departs from its linearisation by at most this part of the change."""


SIGN = np.array([[1.0], [-1.0]])
"""Of x in the rooms x - lo and hi - x."""
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


class Interior:
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
        lo = np.concatenate([e.left[inside], e.lower[bounded]])
        hi = np.concatenate([e.right[inside], e.upper[bounded]])
        self.has = np.isfinite([lo, hi])
        self.ends = np.clip([lo, hi], -FAR, FAR)
        self.label, self.radius = terms.label, terms.radius
        self.pairs = int(self.has.sum()) + len(self.radius) + sum(b.degree for b in barriers)
        kinks, bounds, self.equations = (int(np.count_nonzero(kind)) for kind in (inside, bounded, equal))
        self.place = np.concatenate([e.place[inside], np.zeros(bounds), e.lower[equal]])
        k, b, q = kinks, kinks + bounds, kinks + bounds + self.equations
        self.is_kink, self.is_bound = slice(0, k), slice(k, b)
        self.kinked = np.arange(b) < k
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
        self.form = form
        self._at: tuple[Any, Any, Residuals | None] = None, None, None

    def start(self, v: np.ndarray, y: np.ndarray, weight: float) -> Point:
        """A point well inside, near (v, y): every variable and partner at least as large as they are on average.

        Farther inside where the work of the residuals, |⟨rp, y⟩| + |⟨rd, v⟩| term by term, is more than the products:
        steps are short where these are small beside residuals.
        """
        p = self._inside(v, y, weight, 1.0)
        at = self.residuals(v, p)
        rp = at.u[self.row] - self._arguments(p)
        work = float(np.abs(rp) @ np.abs(self._own(p)) + np.abs(at.rd) @ np.abs(v))
        ratio = work / (self.products(p, at.room) or 1.0)
        return p if ratio <= 1 else self._inside(v, y, weight, min(math.sqrt(ratio), 100.0))

    def residuals(self, v: np.ndarray, p: Point) -> Residuals:
        """The equations at a point; those of the last point are kept, as a step begins where another has ended."""
        last_v, last_p, found = self._at
        if found is None or last_v is not v or last_p is not p:
            gradient, y = self.form.smooth.gradient(v), self._multipliers(p)
            u, room = self.form.apply(v) + self.form.c, SIGN * (p.x - self.ends)
            room = np.maximum(room, 1e-17 * np.abs(p.x) + 1e-300)
            found = Residuals(u, y, gradient, gradient + self.form.adjoint(y), room)
            self._at = v, p, found
        return found

    def equation(self, v: np.ndarray, p: Point) -> float:
        """The relative residual of M v + c = u."""
        u, own = self.residuals(v, p).u[self.row], self._arguments(p)
        return norm(u - own) / (max(norm(u), norm(own)) or 1.0)

    def _inside(self, v: np.ndarray, y: np.ndarray, weight: float, push: float) -> Point:
        u = self.form.apply(v) + self.form.c
        own, at = (y - self.slope)[self.row], u[self.row]
        x, partner = own[self.is_boxed].copy(), at[self.is_boxed].copy()
        x[self.is_bound], partner[self.is_bound] = partner[self.is_bound], x[self.is_bound].copy()
        partner[self.is_kink] -= self.place[self.is_kink]
        width = self.ends[1] - self.ends[0]
        room, least = np.empty_like(x), np.empty_like(x)
        for rows, ratio in ((self.is_kink, 1 / weight), (self.is_bound, weight)):
            if x[rows].size:
                size, other = np.mean(np.minimum(width, np.abs(x))[rows]), np.mean(np.abs(partner[rows]))
                room[rows] = push * (max(size, 1e-6 * other / ratio) or 1.0)
                least[rows] = push * (max(other, 1e-6 * size * ratio) or 1.0)
        room = np.minimum(room, 0.25 * width)
        x = np.minimum(np.maximum(x, self.ends[0] + room), self.ends[1] - room)
        x = np.where(self.is_confined, at[self.is_boxed], x)
        force = self.has * np.maximum(-SIGN * partner, least)
        free, stretch = own[self.is_boxed.stop : self.is_group.stop].copy(), np.ones(len(self.radius))
        if self.label.size:
            group = slice(self.equations, None)
            size = np.sqrt(self._sum(free[group] ** 2))
            free[group] *= np.minimum(1.0, 0.7 * self.radius / np.maximum(size, 1e-300))[self.label]
            reach = np.sqrt(self._sum(at[self.is_group] ** 2))
            typical = np.mean(reach) or np.mean(self.radius) / weight
            stretch = push * np.maximum(reach, typical) / np.maximum(self.radius, 1e-300)
        at_curves, own_curves = self.none.u.copy(), self.none.y.copy()
        for c in self._barriers:
            found = c.barrier.start(at[c.variables], own[c.variables], weight, push)
            at_curves[c.numbers], own_curves[c.forces] = found
        return Point(x, force, free, stretch, at_curves, own_curves)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        """Sums over groups."""
        return np.bincount(self.label, values, len(self.radius))

    def _multipliers(self, p: Point) -> np.ndarray:
        """y, row by row of the form."""
        return self.slope + np.bincount(self.row, self._own(p), self.form.m)

    def _own(self, p: Point) -> np.ndarray:
        """y of every variable, without the slope."""
        return np.concatenate([np.where(self.kinked, p.x, p.force[1] - p.force[0]), p.free, p.y])

    def _arguments(self, p: Point) -> np.ndarray:
        """u of every variable."""
        boxed = np.where(self.kinked, p.force[1] - p.force[0] + self.place[self.is_boxed], p.x)
        group = p.stretch[self.label] * p.free[self.equations :]
        return np.concatenate([boxed, self.place[self.is_boxed.stop :], group, p.u[self._shown]])

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
        ordered = np.sort(ratio[self.has])
        if len(ordered) < 2:
            return 1.0, 0.0
        widths = np.diff(ordered)
        k = int(np.argmax(widths))
        middle, width = 0.5 * float(ordered[k] + ordered[k + 1]), float(widths[k])
        return math.exp(-min(max(middle, -500.0), 500.0)), math.exp(min(width, 500.0))

    def _products(self, p: Point, room: np.ndarray, slack: np.ndarray) -> float:
        pairs = float(np.vdot(p.force, room))
        return pairs + 0.5 * float(p.stretch @ slack) if self.label.size else pairs

    def _slack(self, p: Point) -> np.ndarray:
        """r² - ‖y_g‖², group by group, not below what rounding leaves of it."""
        if not self.label.size:
            return self.radius
        square = self.radius**2
        return np.maximum(square - self._sum(p.free[self.equations :] ** 2), 1e-17 * square + 1e-300)

    def step(
        self, system: System, v: np.ndarray, p: Point, weight: float, curvature: float
    ) -> tuple[np.ndarray, Point, float]:
        """(v, p) after one step, and its length; `weight` and `curvature` are the units of W and of ∇²f."""
        form, is_boxed, kinked = self.form, self.is_boxed, self.kinked
        at = self.residuals(v, p)
        rp, rd, room, slack = at.u[self.row] - self._arguments(p), at.rd, at.room, self._slack(p)
        ratio, Z = p.force / room, p.free[self.equations :]
        theta = ratio[0] + ratio[1]
        psi = np.zeros(len(self.row))  # du = ψ dy + ρ, entry by entry; for groups across y_g
        across = psi[is_boxed] = np.where(kinked, theta, 1 / np.maximum(theta, 1e-300))
        if self.label.size:
            psi[self.is_group] = p.stretch[self.label]
        scalings = [(c, c.barrier.at(*c.of(p), weight, REGULAR * weight)) for c in self._barriers]
        W, own = self._weights(psi, Z, slack, p.stretch, weight, scalings)
        factor = system.factor(*form.smooth.hessian(v), W, (curvature or weight) / REGULAR)
        curved = sum(scaling.product for _, scaling in scalings)
        mu = (self._products(p, room, slack) + curved) / max(self.pairs, 1)

        def direction(
            pairs: Any, group: Any, times: int, goal: float, first: Point | None
        ) -> tuple[np.ndarray, Point, np.ndarray]:
            """The step to the given products; of barriers to `goal`, corrected by the first step."""
            change = -p.force if first is None else pairs / room - p.force  # of forces, x fixed
            partner = change[1] - change[0]  # dY = θ dx + this
            rho = np.zeros(len(self.row))
            shift_x = rho[is_boxed] = np.where(kinked, partner, -partner * across)
            if self.label.size:
                rho[self.is_group] = Z * (group / slack - p.stretch)[self.label]
            shifts = [at.shift(goal, *(() if first is None else c.of(first))) for c, at in scalings]
            for (c, _), shift in zip(scalings, shifts, strict=True):
                rho[c.variables] = shift[: c.count]
            dv, dy = self._solve(factor, own, -rd, rho - rp, times)
            dx = np.where(kinked, dy[is_boxed], dy[is_boxed] * across + shift_x)
            dforce = self.has * (change - SIGN * dx * ratio)
            inner, dstretch = p.stretch, p.stretch  # of no group
            if self.label.size:
                inner = self._sum(Z * dy[self.is_group])
                dstretch = (group + 2 * p.stretch * inner) / slack - p.stretch
            du = np.zeros(len(p.u))
            for (c, at), shift in zip(scalings, shifts, strict=True):
                du[c.numbers] = at.change(dy[c.variables], shift)
            dfree, dcurved = dy[self.is_boxed.stop : self.is_group.stop], dy[self.is_group.stop :]
            return dv, Point(dx, dforce, dfree, dstretch, du, dcurved), inner

        dv, d, inner = direction(0.0, 0.0, 0, 0.0, None)  # the predictor: all products to 0
        length = min(1.0, self._length(p, d, room, slack, scalings))
        left = self.products(plus_step(p, length, d), room + length * (SIGN * d.x))
        ahead = max(left, 0.0) / max(self.pairs, 1)
        sigma = max(min(ahead / mu, 1.0) ** 3, CENTRE) if mu > 0 else 0.0
        goal = sigma * mu
        group = 2 * (goal + d.stretch * inner)
        if self.label.size:
            group = group + p.stretch * self._sum(d.free[self.equations :] ** 2)
        dv, d, _ = direction(goal - SIGN * d.x * d.force, group, 3, goal, d)
        length = min(1.0, TO_BOUNDARY * self._length(p, d, room, slack, scalings))
        length, there = self._damped(factor, v, dv, at.gradient, rd, length)
        end = plus_step(p, length, d)
        for c, scaling in scalings:
            end.u[c.numbers], end.y[c.forces] = scaling.moved(*c.of(d), length)
        return there, end, length

    def _weights(
        self,
        psi: np.ndarray,
        Z: np.ndarray,
        slack: np.ndarray,
        stretch: np.ndarray,
        weight: float,
        scalings: Sequence[tuple[Placed, Scaling]],
    ) -> tuple[Weights, np.ndarray]:
        """W = (ψ + 1/cap)⁻¹ on the rows of the form, and on the variables."""
        terms, typical = self.form.terms, 0.0
        for sizes in (psi[self.is_boxed], stretch):
            if sizes.size:
                logs = np.log(np.minimum(np.maximum(sizes, 1e-200), 1e200))
                typical = max(typical, math.exp(-float(logs.sum()) / len(logs)))
        cap = np.full(len(psi), CAP * max(weight, typical))
        cap[self.is_equation] = CAP * weight
        own = 1 / (psi + 1 / cap)
        along, direction = np.zeros(len(self.radius)), np.zeros(len(self.label))
        if self.label.size:
            square = self._sum(Z * Z)
            along = 1 / (stretch * (1 + 2 * square / slack) + 1 / cap[self.is_group.start])
            direction = Z / np.sqrt(np.maximum(square, 1e-300))[self.label]
        for c, at in scalings:
            own[c.variables] = 1 / (at.psi + 1 / cap[c.variables]) if at.psi.ndim == 1 else 1.0
        matrices = [(c.barrier.rows, at.psi) for c, at in scalings if at.psi.ndim == 2]
        diagonal = np.bincount(self.row, own, self.form.m)
        general = self.form.general
        W = Weights(diagonal, general, terms.members, self.label, direction, along, inverses=tuple(matrices))
        return W, own

    def _solve(
        self, factor: Factor, own: np.ndarray, a: np.ndarray, b: np.ndarray, times: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(∇²f + ε) dv + Mᵀdy = a, M dv - W⁻¹dy = b, for the variables; those of one row share its equation."""
        m, W = self.form.m, factor.W
        if not self.is_twice:
            shared = np.zeros(m)
            shared[self.row] = b
        else:
            shared = np.bincount(self.row, own * b, m) / np.where(W.diagonal > 0, W.diagonal, 1.0)
        dv, dy = factor.saddle(a, shared, 1e-8, times)
        each = dy[self.row]
        if self.is_twice:
            each = np.where(self.twice, own * (self.form.apply(dv)[self.row] - b), each)
        return dv, each

    def _length(
        self,
        p: Point,
        d: Point,
        room: np.ndarray,
        slack: np.ndarray,
        scalings: Sequence[tuple[Placed, Scaling]],
    ) -> float:
        """The longest step that keeps everything positive."""
        # value + t·change > 0 up to t = -1/min(change/value)
        shares = [SIGN * d.x / room, d.force / np.maximum(p.force, 1e-300)]
        if self.label.size:  # ‖y + t dy‖ = r
            shares.append(d.stretch / p.stretch)
            Z, dZ = p.free[self.equations :], d.free[self.equations :]
            square, along = self._sum(dZ * dZ), self._sum(Z * dZ)
            shares.append(-(along + np.sqrt(along * along + square * slack)) / slack)
        curved = [at.inverse_length(*c.of(d)) for c, at in scalings]
        least = [np.minimum.reduce(x, axis=None, initial=0.0) for x in shares]
        return 1 / max(1e-300, *[-float(x) for x in least], *curved)

    def _damped(
        self,
        factor: Factor,
        v: np.ndarray,
        dv: np.ndarray,
        gradient: np.ndarray,
        rd: np.ndarray,
        length: float,
    ) -> tuple[float, np.ndarray]:
        """(length, end) of the step, halved until ∇f at its end is near the linearisation."""
        if self.form.smooth.is_quadratic:
            return length, v + length * dv
        change = factor.curved(dv)
        allowed, left = DAMPED * float(np.linalg.norm(change)), DAMPED * float(np.linalg.norm(rd))
        for _ in range(40):
            end = v + length * dv
            with np.errstate(all="ignore"):
                new = self.form.smooth.gradient(end)
                error = float(np.linalg.norm(new - gradient - length * change))
                inside = np.isfinite(self.form.smooth.value(end))
            if inside and error <= max(allowed * length, left):
                return length, end
            length /= 2
        return length, v + length * dv


def plus_step(p: Point, length: float, d: Point) -> Point:
    """p + length·d."""
    return Point(*[a + length * b if a.size else a for a, b in zip(p, d, strict=True)])
