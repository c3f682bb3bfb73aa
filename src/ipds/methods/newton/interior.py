"""Proximal interior-point steps: for entries with kinks or bounds, equations, and norms of groups.

The variables are those of `layout`. One step of Mehrotra's predictor and corrector for μ → 0 on

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

from .algebra import Factor, System
from .barriers import Placed, Scaling
from .layout import SIGN, Layout, Point
from .rounds import uniform
from .weights import Weights, along_diagonal

REGULAR, CAP = 1e8, 1e10
"""Ratio of the weights of the problem to ε, and of the cap on W to them: half of the digits, so that both sides of the
saddle are proximal steps which still move as Newton's would, and refinement converges. A row that will not be held, but
nearly so, is let go of by y/CAP in a step: with 1e8 it stays, beside as many as the corner has, until the end."""
LIGHT = 1e-6
"""Least ε of a block, in units of the largest: fits of little weight have one of their own, and points far off none."""
TO_BOUNDARY = 0.995
"""Part of the way to the boundary that a step may take."""
CENTRE = 1e-4
"""Least part of μ that the corrector aims at: with less, products drift apart and steps become short."""
BALANCE = 1e-2
"""Least forces at the start, in units of the weight times the room, and least rooms: sweeps may leave none of both."""
REACHING = 0.5
"""Length of the predictor from which on the corrector makes up for all of its products of changes: where bounds are met
sooner, they may be far larger than what they correct (Colombo & Gondzio, Comput. Optim. Appl. 41 (2008))."""
DAMPED = 0.5
"""A step on a curved f is halved until ∇f departs from its linearisation by at most this part of the change."""


class Direction(NamedTuple):
    """A step."""

    v: np.ndarray
    point: Point
    share: np.ndarray
    """Changes of `Residuals.room`, as parts of it; 0 where there is no bound."""
    inner: np.ndarray
    """⟨y_g, dy_g⟩ of groups."""


class Interior(Layout):
    """Interior-point steps on the rows of a form."""

    def start(self, v: np.ndarray, y: np.ndarray, weight: float) -> Point:
        """A point well inside, near (v, y): every variable and partner at least as large as they are on average.

        Farther inside where the work of the residuals, |⟨rp, y⟩| + |⟨rd, v⟩| term by term, is more than the products:
        steps are short where these are small beside residuals.
        """
        p = self._inside(v, y, weight, 1.0)
        at = self.residuals(v, p)
        rp = self._of_rows(at.u) - self._arguments(p)
        work = float(np.abs(rp) @ np.abs(self._own(p)) + np.abs(at.rd) @ np.abs(v))
        ratio = work / (self.products(p, at.room) or 1.0)
        return p if ratio <= 1 else self._inside(v, y, weight, min(math.sqrt(ratio), 100.0))

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
                room[rows] = push * (max(size, BALANCE * other / ratio) or 1.0)
                least[rows] = push * (max(other, BALANCE * size * ratio) or 1.0)
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

    def met(
        self, system: System, v: np.ndarray, u: np.ndarray, y: np.ndarray, weight: float, curvature: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(v, y) after a sweep in which the equations hold: the Newton step with W = βI on all other rows."""
        form, held = self.form, self.row[self.is_equation]
        W, goal = uniform(form, weight), u.copy()
        W.diagonal[held] = CAP * weight * self.firmness
        goal[held] = self.place[self.is_equation]
        factor = system.factor(*form.smooth.hessian(v), W, (curvature or weight) / REGULAR)
        left = -(form.smooth.gradient(v) + form.adjoint(y))
        dv, dy = factor.saddle(left, goal - form.apply(v) - form.c, 1e-8, 2)
        return v + dv, y + dy

    def step(
        self, system: System, v: np.ndarray, p: Point, weight: float, curvature: float, rough: bool = False
    ) -> tuple[np.ndarray, Point, float, float]:
        """(v, p) after one step, its length and that of its predictor; `weight` and `curvature` are the units of W and
        of ∇²f.

        Far from a solution a `rough` ∇²f will do.
        """
        form, is_boxed, force = self.form, self.is_boxed, p.force
        at = self.residuals(v, p)
        rp, rd, room, slack = self._of_rows(at.u) - self._arguments(p), at.rd, at.room, self._slack(p)
        inverse, Z = self.signed / room, p.free[self.equations :]
        ratio = force * inverse
        theta = ratio[0] - ratio[1]
        across = theta if self.has_kinks_only else self._either(theta, 1 / np.maximum(theta, 1e-300))
        psi = across  # du = ψ dy + ρ, entry by entry; for groups across y_g
        if len(self.row) > len(across):
            psi = np.zeros(len(self.row))
            psi[is_boxed] = across
            psi[self.is_group] = p.stretch[self.label]
        scalings = [(c, c.barrier.at(*c.of(p), weight, REGULAR * weight)) for c in self._barriers]
        W, own = self._weights(psi, Z, slack, p.stretch, weight, scalings)
        factor = system.factor(*form.smooth.hessian(v, rough), W, self._ridge(W, weight, curvature))
        products = force * room
        pairs = float(np.vdot(force, room))
        whole = self._with_groups(pairs, p, slack) + sum(scaling.product for _, scaling in scalings)
        mu = whole / max(self.pairs, 1)

        def direction(
            change: np.ndarray, group: Any, times: int, goal: float, first: Point | None
        ) -> Direction:
            """The step to the given products; of barriers to `goal`, corrected by the first step."""
            partner = change[1] - change[0]  # dY = θ dx + this, `change` being that of forces, x fixed
            shift_x = partner if self.has_kinks_only else self._either(partner, -partner * across)
            rho = shift_x
            if len(self.row) > len(shift_x):
                rho = np.zeros(len(self.row))
                rho[is_boxed] = shift_x
            if self.label.size:
                rho[self.is_group] = Z * (group / slack - p.stretch)[self.label]
            shifts = [at.shift(goal, *(() if first is None else c.of(first))) for c, at in scalings]
            for (c, _), shift in zip(scalings, shifts, strict=True):
                rho[c.variables] = shift[: c.count]
            dv, dy = self._solve(factor, own, -rd, rho - rp, times)
            dx = boxed = dy[is_boxed]
            if not self.has_kinks_only:
                dx = self._either(boxed, boxed * across + shift_x)
            share = dx * inverse
            inner, dstretch = p.stretch, p.stretch  # of no group
            if self.label.size:
                inner = self._sum(Z * dy[self.is_group])
                dstretch = (group + 2 * p.stretch * inner) / slack - p.stretch
            du = np.zeros(len(p.u)) if scalings else p.u
            for (c, at), shift in zip(scalings, shifts, strict=True):
                du[c.numbers] = at.change(dy[c.variables], shift)
            dfree, dcurved = dy[is_boxed.stop : self.is_group.stop], dy[self.is_group.stop :]
            return Direction(
                dv, Point(dx, change - force * share, dfree, dstretch, du, dcurved), share, inner
            )

        dv, d, share, inner = direction(-force, 0.0, 0, 0.0, None)  # the predictor: all products to 0
        # forces change by -1 - share of themselves, and so products by -share(1 + share) to second order
        worst = max(-_least(share), 1 + _largest(share))
        length = reach = min(1.0, self._length(p, d, worst, slack, scalings))
        second = share * (1 + share)
        left = (1 - length) * pairs - length**2 * float(np.vdot(products, second))
        if self.label.size or scalings:
            left = self.products(plus_step(p, length, d), room + length * (SIGN * d.x))
        ahead = max(left, 0.0) / max(self.pairs, 1)
        sigma = max(min(ahead / mu, 1.0) ** 3, CENTRE) if mu > 0 else 0.0
        goal = sigma * mu
        group = 0.0
        if self.label.size:
            group = 2 * (goal + d.stretch * inner) + p.stretch * self._sum(d.free[self.equations :] ** 2)
        change = (goal * SIGN) * inverse + force * (min(1.0, length / REACHING) * second - 1)
        dv, d, share, _ = direction(change, group, 3, goal, d)
        worst = -min(_least(share), _least(d.force / np.maximum(force, 1e-300)))
        length = min(1.0, TO_BOUNDARY * self._length(p, d, worst, slack, scalings))
        length, there = self._damped(factor, v, dv, at.gradient, rd, length)
        end = plus_step(p, length, d)
        for c, scaling in scalings:
            end.u[c.numbers], end.y[c.forces] = scaling.moved(*c.of(d), length)
        return there, end, length, reach

    def _ridge(self, W: Weights, weight: float, curvature: float) -> Any:
        """ε, of the size of K over `REGULAR`: of f, or of the rows that a block is seen by, where that is less."""
        ridge = (curvature or weight) / REGULAR
        if not len(self.seen):
            return ridge
        own = np.exp(self.seen @ np.log(np.maximum(W.diagonal, 1e-200))) / REGULAR
        return np.minimum(np.maximum(own, LIGHT * ridge), ridge)[self.block]

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
        soft = 1 / (CAP * max(weight, typical))
        own = 1 / (psi + soft)
        if self.equations:
            own[self.is_equation] = CAP * weight * self.firmness
        along, direction = np.zeros(len(self.radius)), np.zeros(len(self.label))
        if self.label.size:
            square = self._sum(Z * Z)
            along = 1 / (stretch * (1 + 2 * square / slack) + soft)
            direction = Z / np.sqrt(np.maximum(square, 1e-300))[self.label]
        for c, at in scalings:
            own[c.variables] = 1 / (at.psi + soft) if at.psi.ndim == 1 else 1.0
        matrices = [along_diagonal(c.barrier.rows, at.psi) for c, at in scalings if at.psi.ndim > 1]
        diagonal = self._summed(own)
        general = self.form.general
        W = Weights(diagonal, general, terms.members, self.label, direction, along, inverses=tuple(matrices))
        return W, own

    def _solve(
        self, factor: Factor, own: np.ndarray, a: np.ndarray, b: np.ndarray, times: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(∇²f + ε) dv + Mᵀdy = a, M dv - W⁻¹dy = b, for the variables; those of one row share its equation."""
        m, W = self.form.m, factor.W
        if self.is_in_order:
            return factor.saddle(a, b, 1e-8, times)
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
        worst: float,
        slack: np.ndarray,
        scalings: Sequence[tuple[Placed, Scaling]],
    ) -> float:
        """The longest step that keeps everything positive; up to 1/worst the pairs are."""
        # value + t·change > 0 up to t = -1/min(change/value)
        if self.label.size:  # ‖y + t dy‖ = r
            Z, dZ = p.free[self.equations :], d.free[self.equations :]
            square, along = self._sum(dZ * dZ), self._sum(Z * dZ)
            shorter = (along + np.sqrt(along * along + square * slack)) / slack
            worst = max(worst, -_least(d.stretch / p.stretch), _largest(shorter))
        return 1 / max(1e-300, worst, *[at.inverse_length(*c.of(d)) for c, at in scalings])

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


def _least(shares: np.ndarray) -> float:
    """The smallest of all, 0 of none: where it is takes a fraction of the time of a reduction."""
    return float(shares.item(shares.argmin())) if shares.size else 0.0


def _largest(shares: np.ndarray) -> float:
    """The largest of all, 0 of none."""
    return float(shares.item(shares.argmax())) if shares.size else 0.0


def plus_step(p: Point, length: float, d: Point) -> Point:
    """p + length·d."""
    return Point(*[a + length * b if a.size else a for a, b in zip(p, d, strict=True)])
