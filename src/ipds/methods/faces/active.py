"""Newton steps on the face of everything at once: signs and zeros of the blocks, kinks and sides of the last one.

Where h_i are entrywise penalties and the last h is piecewise linear, all that is decided at a point is which entries of
x_i are 0, and which entries of u = M y + c are at a kink or bound (T). What is left has an equation and no inequality,

    ∇F(y) + Mᵀs = 0,   u_T = place_T,   s the slope of each u_i outside T,

F being f_i and h_i of the free entries y. Newton steps solve it; then entries that lost their sign become 0, rows whose
s left its bounds are let go, rows that were crossed are held, and it is solved again. Where none of these is left, the
zeros on which the force exceeds φ'(0+) the most become free, until nothing changes.
Hintermüller, Ito & Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIOPT 13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...deadline import raise_if_late
from ...functions import Zero
from ...functions.faces import Coordinates, Signs
from ...problem import Problem
from ...theory.state import State, prox_step
from .restricted import Restricted

CHANGES, STEPS = 10, 12
"""Changes of the face, and Newton steps on one, at most."""
ENOUGH = 1e-13
"""Relative residual at which Newton steps end."""
SLACK = 1e-10
"""By how much slopes may exceed their bounds, relative to them, by rounding."""
FAR = 0.1
"""How far Newton steps may lead, in units of the point they start from: beyond, they are not about this face."""
MANY = 0.2
"""Share of the free entries and held rows that may change at once: more, and the face is far from the right one."""
FREED = 5
"""Zeros that become free at a time."""
SEED = 1e-3
"""Size of an entry that has just become free, in units of the others."""
INSIDE = 8 * np.finfo(float).eps
"""How far inside its bound a row is held, in units of what it adds up: M y + c, computed again, does not leave it."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The last h, entry by entry: slopes beside a kink, its place, and bounds."""

    left: np.ndarray
    right: np.ndarray
    place: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def held(self, u: np.ndarray) -> np.ndarray:
        """Which entries are exactly at a kink or a bound."""
        kink = (u == self.place) & (self.left < self.right)
        return kink | (u == self.lower) | (u == self.upper)

    def inward(self, at: np.ndarray) -> np.ndarray:
        """The direction from a bound into the set; 0 at kinks."""
        return (at == self.lower).astype(float) - (at == self.upper)

    def slope(self, u: np.ndarray) -> np.ndarray:
        """That of each entry beside its kink."""
        return np.where(u >= self.place, self.right, self.left)

    def least(self, at: np.ndarray) -> np.ndarray:
        """The smallest slope at u = `at`, a kink or a bound."""
        return np.where(at == self.lower, -np.inf, np.where(at > self.place, self.right, self.left))

    def most(self, at: np.ndarray) -> np.ndarray:
        """The largest slope there."""
        return np.where(at == self.upper, np.inf, np.where(at < self.place, self.left, self.right))

    def nearest(self, u: np.ndarray, side: np.ndarray) -> np.ndarray:
        """The kink or bound that lies between `side` and u; u itself where none does."""
        at = np.clip(u, self.lower, self.upper)
        crossed = (at == u) & (self.left < self.right) & ((side - self.place) * (u - self.place) < 0)
        return np.where(crossed, self.place, at)


def applies(problem: Problem, faces: dict[int, Coordinates]) -> bool:
    """Whether the faces are signs under a curved f, the other blocks free and the last h piecewise linear."""
    *others, last = problem.blocks
    free = (i in faces or isinstance(block.h, Zero) for i, block in enumerate(others))
    signs = (isinstance(face, Signs) and others[i].f is not None for i, face in faces.items())
    return all(free) and all(signs) and last.f is None and last.h.kinks(last.shape) is not None


def settle(problem: Problem, state: State, faces: dict[int, Coordinates]) -> tuple[Restricted, State] | None:
    """The solution on the face that Newton steps settle on, from the one at `state`; None where they do not."""
    last = problem.blocks[-1]
    kinks = last.h.kinks(last.shape)
    assert kinks is not None
    rows = Rows(*(np.ravel(a) for a in kinks.filled(last.shape)))
    x, u = state.q[:-1], np.ravel(state.q[-1])
    at = np.where(rows.held(u), u, np.nan)  # where held, the place; nan where not
    far = FAR * float(np.linalg.norm(np.concatenate([np.ravel(xi) for xi in x])))
    for _ in range(CHANGES):
        raise_if_late()
        faces = {i: Signs(face.h, x[i]) for i, face in faces.items()}  # type: ignore[attr-defined]
        restricted = Restricted(problem, faces)
        solved = _newton(restricted, rows, x, u, at)
        if solved is None:
            return None
        y, new, s = solved
        z = -s.reshape(problem.shape) / restricted.scale
        following = _at_zero(faces, restricted.split(y), x)
        if (
            np.linalg.norm(
                np.concatenate([np.ravel(a - b) for a, b in zip(following, state.q, strict=False)])
            )
            > far
        ):
            return None
        kept, now = ~np.isnan(at), np.array(at)
        let_go = kept & ~((rows.least(at) <= s + SLACK * abs(s)) & (s - SLACK * abs(s) <= rows.most(at)))
        reached = rows.nearest(new, u)
        crossed = ~kept & (reached != new)
        now[let_go], now[crossed] = np.nan, reached[crossed]
        lost = sum(np.count_nonzero((a == 0) & (b != 0)) for a, b in zip(following, x, strict=True))
        changes = lost + np.count_nonzero(let_go | crossed)
        if changes > MANY * (len(y) + np.count_nonzero(kept)):
            return None
        if not changes:
            pulled = _pulled(problem, faces, following, z)
            if pulled is None:
                return restricted, _state(restricted, y, new, s)
            following = pulled
        side = np.where(s < rows.least(at), -1.0, 1.0)  # of the kink, to which a row that is let go moves
        u = np.where(crossed, u, np.where(let_go, at + side * SEED * (abs(at) + 1e-300), new))
        x, at = following, now
    return None


def _at_zero(faces: dict[int, Coordinates], y: list[np.ndarray], x: Any) -> tuple[np.ndarray, ...]:
    """The blocks, entries that lost their sign at 0."""
    found = [yi if i not in faces else faces[i].embed(yi) for i, yi in enumerate(y)]
    return tuple(
        np.where(a * b < 0, 0.0, a) if i in faces else a
        for i, (a, b) in enumerate(zip(found, x, strict=True))
    )


def _pulled(
    problem: Problem, faces: dict[int, Coordinates], x: tuple[np.ndarray, ...], z: np.ndarray
) -> tuple[np.ndarray, ...] | None:
    """The blocks, with the zeros that are pulled off it the most a little way off; None where none is."""
    found, any_pulled = list(x), False
    for i in faces:
        block, own = problem.blocks[i], x[i].copy()
        g = problem.operators[i].adjoint(z) + (0.0 if block.f is None else block.f.grad(own))
        most = block.h.slope_at_zero(own.shape)  # type: ignore[attr-defined]
        excess = np.where((own == 0) & (abs(g) > most * (1 + SLACK)), abs(g) - most, 0.0).ravel()
        chosen = np.argsort(-excess)[:FREED]
        chosen = chosen[excess[chosen] > 0]
        size = float(np.mean(abs(own[own != 0]))) if np.any(own) else 1.0
        own.flat[chosen] = -np.sign(g.flat[chosen]) * SEED * size
        found[i], any_pulled = own, any_pulled or chosen.size > 0
    return tuple(found) if any_pulled else None


def _newton(
    restricted: Restricted, rows: Rows, x: tuple[np.ndarray, ...], u: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(y, u, s) with ∇F(y) + Mᵀs = 0 and u_T = at_T."""
    M, c = restricted.rows()
    if M is None:
        return None
    y = np.concatenate([np.ravel(yi) for yi in restricted.start((*x, u))[:-1]])
    held = np.flatnonzero(~np.isnan(at))
    s = rows.slope(u)
    s[held] = 0.0
    k, t, A = len(y), len(held), M[held]
    pull, inward = M.T @ s, rows.inward(at)[held]
    for _ in range(STEPS):
        gradient, hessian = restricted.gradient(y), restricted.hessian(y)
        if hessian is None:
            return None
        K = np.block([[hessian, A.T], [A, np.zeros((t, t))]])
        aim = at[held] + INSIDE * inward * (abs(A) @ abs(y) + abs(c[held]))
        rest = np.concatenate([-(gradient + pull), aim - c[held] - A @ y])
        try:
            step = np.linalg.solve(K, rest)
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.isfinite(step)):
            return None
        y = y + step[:k]
        if np.linalg.norm(step[:k]) <= ENOUGH * np.linalg.norm(y):
            break
    s[held] = step[k:]
    new = M @ y + c
    new[held] = at[held]
    return y, new, s


def _state(restricted: Restricted, y: np.ndarray, u: np.ndarray, s: np.ndarray) -> State:
    last = restricted.whole.blocks[-1]
    parts, u, s = restricted.split(y), u.reshape(last.shape), s.reshape(last.shape)
    step = prox_step(u, s)
    points = (*((part, 1.0) for part in parts), (u + step * s, step))
    z = s.reshape(restricted.whole.shape) * (-1 / restricted.scale)
    return State(0, (*parts, u), u, z, 1.0, 0.0, (None,) * (len(parts) + 1), points)
