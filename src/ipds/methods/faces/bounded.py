"""What is left of a problem on its faces where F is smooth, entries have bounds and some rows are equations.

    min F(y)   subject to   lower ≤ y ≤ upper,   E y = e

With the entries in B held at a bound, Newton steps solve ∇F(y) + Eᵀs = 0 outside B and E y = e. Then the entry that
leaves its bounds the most joins B; where none does, the one whose force ∇F + Eᵀs points inside the most leaves B, until
there is none: the method of active sets. A simplex is y ≥ 0 with one more equation.
Nocedal & Wright, Numerical Optimization, chapter 16 (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...functions import Simplex, Zero
from ...theory.state import State, prox_step

if TYPE_CHECKING:
    from .restricted import Restricted

STEPS, CHANGES = 80, 60
"""Newton steps with one choice of B, and changes of B, at most."""
DENSE = 1000
"""Rows and entries up to which the equations are solved as one dense system."""
ENOUGH = 1e-13
"""Newton steps of this share of y are rounding."""
SLACK = 1e-11
"""By how much bounds and signs of forces may be missed by rounding, in units of what they are compared with."""


class Form(NamedTuple):
    """The equations and bounds."""

    E: np.ndarray
    e: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    M: np.ndarray
    """Of u = M y + c."""
    c: np.ndarray
    held: np.ndarray
    """The rows of u that are equations; the first ones of E."""
    place: np.ndarray
    """Where they are held."""


def within_bounds(restricted: Restricted, y: tuple[Any, ...]) -> State | None:
    """A solution as its State; None where the problem is another one, or the changes do not end."""
    form = _form(restricted)
    found = None if form is None else _solved(restricted, form, np.concatenate([np.ravel(v) for v in y[:-1]]))
    if form is None or found is None:
        return None
    v, s = found
    last = restricted.problem.blocks[-1]
    force = restricted.gradient(v) + form.E.T @ s
    u, slope = form.M @ v + form.c, np.zeros(len(form.c))
    u[form.held], slope[form.held] = form.place, s[: len(form.held)]
    pull = restricted.gradient(v) + form.M.T @ slope
    own = np.where((v == form.lower) | (v == form.upper) | (abs(pull) > abs(force)), -pull, 0.0)
    parts, slopes = restricted.split(v), restricted.split(own)
    u, slope = u.reshape(last.shape), slope.reshape(last.shape)
    pairs = [*zip(parts, slopes, strict=True), (u, slope)]
    points = tuple((x + (step := prox_step(x, sx)) * sx, step) for x, sx in pairs)
    z = slope.reshape(restricted.whole.shape) * (-1 / restricted.scale)
    return State(0, (*parts, u), u, z, 1.0, 0.0, (None,) * len(points), points)


def _form(restricted: Restricted) -> Form | None:
    """None where a function has kinks, or the last block other rows than equations."""
    *others, last = restricted.problem.blocks
    sizes = [math.prod(block.shape) for block in others]
    kinks = last.h.kinks(last.shape)
    if max(sum(sizes), math.prod(last.shape)) > DENSE or kinks is None or last.f is not None:
        return None
    left, right, _, low, high = (np.ravel(a) for a in kinks.filled(last.shape))
    held = low == high
    if not np.all(held | (np.isinf(low) & np.isinf(high) & (left == 0) & (right == 0))):
        return None
    bounds, sums = [], []
    for i, block in enumerate(others):
        if isinstance(block.h, Simplex):
            row = np.zeros(sum(sizes))
            row[sum(sizes[:i]) : sum(sizes[: i + 1])] = 1.0
            sums.append((row, block.h.radius))
            bounds.append((np.zeros(sizes[i]), np.full(sizes[i], np.inf)))
            continue
        own = None if not block.h.is_set and not isinstance(block.h, Zero) else block.h.kinks(block.shape)
        if own is None or np.any(own.left) or np.any(own.right):
            return None
        bounds.append(tuple(np.ravel(a) for a in own.filled(block.shape)[3:]))  # type: ignore[arg-type]
    M, c = restricted.rows()
    if M is None:
        return None
    (T,) = np.nonzero(held)
    E = np.vstack([M[T], *(row[None] for row, _ in sums)])
    e = np.concatenate([low[T] - c[T], [radius for _, radius in sums]])
    lower, upper = (np.concatenate(own) for own in zip(*bounds, strict=True))
    return Form(E, e, lower, upper, M, c, T, low[T])


@dataclass(frozen=True, eq=False)
class Derivatives:
    """∇F and ∇²F; where F is quadratic, both are computed once."""

    restricted: Restricted
    start: np.ndarray

    @cached_property
    def _once(self) -> tuple[np.ndarray, np.ndarray | None] | None:
        f = [block.f for block in self.restricted.problem.blocks]
        if not all(own is None or own.is_quadratic for own in f):
            return None
        return self.restricted.gradient(self.start), self.restricted.hessian(self.start)

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """∇F(v)."""
        if self._once is None or self._once[1] is None:
            return self.restricted.gradient(v)
        return self._once[0] + self._once[1] @ (v - self.start)

    def hessian(self, v: np.ndarray) -> np.ndarray | None:
        """∇²F(v); None where it is known by its products only."""
        return self.restricted.hessian(v) if self._once is None else self._once[1]


def _solved(restricted: Restricted, form: Form, v: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(y, s)."""
    E, lower, upper = form.E, form.lower, form.upper
    v = np.clip(v, lower, upper)
    F = Derivatives(restricted, v)
    at_bound = lower == upper
    for _ in range(CHANGES):
        found = _newton(F, form, v, ~at_bound)
        if found is None:
            return None
        v, s = found
        beyond = np.where(at_bound, 0.0, np.maximum(lower - v, v - upper))
        if np.any(beyond > SLACK * np.max(abs(v))):
            k = int(np.argmax(beyond))
            at_bound = at_bound.copy()
            at_bound[k], v[k] = True, lower[k] if v[k] < lower[k] else upper[k]
            continue
        v = np.clip(v, lower, upper)
        gradient = F.gradient(v)
        force, size = gradient + E.T @ s, abs(gradient) + abs(E).T @ abs(s)
        inside = np.where(v == lower, -force, force)
        inside = np.where(at_bound & (lower < upper) & (inside > SLACK * size), inside, 0.0)
        if not np.any(inside):
            return v, s
        at_bound = at_bound.copy()
        at_bound[np.argmax(inside)] = False
    return None


def _newton(
    F: Derivatives, form: Form, v: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """(y, s) with ∇F(y) + Eᵀs = 0 in the free entries and E y = e, the others as in v."""
    (at,), k = np.nonzero(free), len(form.e)
    A, v = form.E[:, at], v.copy()
    for _ in range(STEPS):
        gradient, hessian = F.gradient(v), F.hessian(v)
        if hessian is None:
            return None
        K = np.block([[hessian[np.ix_(at, at)], A.T], [A, np.zeros((k, k))]])
        try:
            step = np.linalg.solve(K, np.concatenate([-gradient[at], form.e - form.E @ v]))
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.isfinite(step)):
            return None
        v[at] += step[: len(at)]
        if np.linalg.norm(step[: len(at)]) <= ENOUGH * np.linalg.norm(v):
            return v, step[len(at) :]
    return v, step[len(at) :]
