"""Interior-point steps on matrices of one rank: min Σ|B - X| over the entries observed, to the last digits.

With u = B - X = p - q, P the projection on the tangent space at X and d a subgradient of Σ|u|, what is solved is

    P d = 0,   a p = μ,   b q = μ,   a = 1 - d > 0,   b = 1 + d > 0,   p, q > 0,   μ → 0.

A step moves X along ξ = E Vᵀ + U Fᵀ by the orthographic retraction, X + ξ + U' diag(1/σ) V'ᵀ + ..., where U' and V' are
the parts of E and F normal to U and V. With J(E, F) = ξ on the entries observed and w = 1/(p/a + q/b), Newton's
equations for targets c, c' of a p and b q are

    (JᵀwJ - curvature)(E, F) = Jᵀ(d + w e),   e = u - c/a + c'/b,   Δd = w (e - ξ),
    Δp = (c + p Δd)/a - p,   Δq = (c' - q Δd)/b - q.

E is eliminated row by row (blocks of r x r), which leaves a matrix of the size of F. Predictor and corrector are those
of Mehrotra (SIAM J. Optim. 2, 1992), the further correctors, which bring products near their aim, those of Gondzio
(Comput. Optim. Appl. 6, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ...deadline import raise_if_late
from ...functions.fixed_rank import FixedRank

STEPS = 25
"""Steps at most; 9 to 14 are usual."""
GAP, LEFT, ENOUGH = 1e-12, 1e-13, 1e-9
"""Ends where (aᵀp + bᵀq)/Σ|u| is below the first and ‖P d‖/‖d‖ below the second, or no longer falls and is enough."""
INSIDE = 0.9
"""|d| at most at the start: complements need room to move."""
CORRECTORS = 3
"""A corrector costs a fifth of a factorisation and saves as much of the steps."""
NEAR = 0.1
"""Products between this share of their aim and its inverse are left alone by correctors."""
SHY = 0.995
"""Share of the way to the boundary."""
RIDGE, LIFTS = 1e-15, (0.0, 0.01, 0.1, 1.0, 10.0)
"""Share of the mean weight that is added to the diagonal, as (UK, -VKᵀ) moves nothing, and shares of the curvature's
size that are added one after another until the equations are positive."""
LARGEST = 3000
"""Rows times rank at most: two matrices of the square of this are held."""
USUAL, DENSE = 12, 10.0
"""Steps that are expected, and how much faster a flop in them is than one in a pass over the data."""
FREE, FEWEST = 800, 200
"""Passes that such steps may cost more than first-order ones took before them; and the fewest before them."""

Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Entries = Callable[[np.ndarray], np.ndarray]


def passes_before(shape: tuple[int, int], rank: int) -> int | None:
    """First-order steps after which these are worth their price; None where they are too large."""
    short, long = sorted(rank * k for k in shape)
    if long > LARGEST:
        return None
    step = short * short * (long + short / 3)
    return max(FEWEST, int(USUAL * step / DENSE / (6 * rank * shape[0] * shape[1])) - FREE)


class Move(NamedTuple):
    """A step of all variables."""

    E: np.ndarray
    F: np.ndarray
    d: np.ndarray
    p: np.ndarray
    q: np.ndarray


def solved(
    X: FixedRank, B: np.ndarray, seen: np.ndarray | None, d: np.ndarray, room: float
) -> tuple[FixedRank, np.ndarray] | None:
    """(X, d) that solve min Σ|B - X| over the entries `seen` (all, where None) from X and d; else None.

    `room` is the size of residuals that may be zero at the solution.
    """
    if B.shape[0] < B.shape[1]:  # the longer side is eliminated
        turned = solved(
            FixedRank(X.V, X.sigma, X.U), B.T.copy(), None if seen is None else seen.T.copy(), d.T, room
        )
        if turned is None:
            return None
        return FixedRank(turned[0].V, turned[0].sigma, turned[0].U), turned[1].T

    gather, spread = on_entries(B.shape, seen)
    u, y = gather(B - X.x), np.clip(gather(d), -INSIDE, INSIDE)
    p, q, a, b = np.maximum(u, 0) + room, np.maximum(-u, 0) + room, 1 - y, 1 + y
    found, least = None, math.inf
    for _ in range(STEPS):
        raise_if_late()
        y, gap = np.clip((b - a) / 2, -1, 1), float(a @ p + b @ q)
        d = spread(y)
        if gap <= GAP * float(np.abs(u).sum()):
            left = math.sqrt(X.projected(d @ X.V, d.T @ X.U).square) / float(np.linalg.norm(y))
            found, falls = (X, d) if left < least else found, left <= 0.5 * least
            least = min(left, least)
            if least <= LEFT or (least <= ENOUGH and not falls):
                return found
        w = 1 / (p / a + q / b)
        solve = _newton(X, spread(w), X.subgradient(d))
        if solve is None:
            break
        move = _direction(X, solve, gather, spread, (u, y, a, b, p, q, w), gap)
        alpha, beta = longest(move, a, b, p, q)
        alpha, beta = min(1.0, SHY * alpha), min(1.0, SHY * beta)
        try:
            X = X.moved(X.projected(*X.products(move.E, move.F)), alpha)
        except np.linalg.LinAlgError:
            break
        a, b, p, q = a - beta * move.d, b + beta * move.d, p + alpha * move.p, q + alpha * move.q
        u = gather(B - X.x)
        bent = u - (p - q)  # what the retraction adds to the tangent step
        p, q = p + np.maximum(bent, 0), q + np.maximum(-bent, 0)
        if not min(x.min() for x in (a, b, p, q)) > 0:
            break
    return found


def on_entries(shape: tuple[int, ...], seen: np.ndarray | None) -> tuple[Entries, Entries]:
    """Matrices as vectors of the entries `seen` (all, where None), and back, 0 elsewhere."""

    def gather(x: np.ndarray) -> np.ndarray:
        return x.ravel() if seen is None else x[seen]

    def spread(y: np.ndarray) -> np.ndarray:
        if seen is None:
            return y.reshape(shape)
        x = np.zeros(shape)
        x[seen] = y
        return x

    return gather, spread


def _direction(
    X: FixedRank,
    solve: Solve,
    gather: Entries,
    spread: Entries,
    now: tuple[np.ndarray, ...],
    gap: float,
) -> Move:
    """Predictor, corrector, and correctors while steps get longer by them."""
    u, _, a, b, p, q, _ = now
    towards = partial(aimed, X, solve, gather, spread, now)
    move = towards(0.0, 0.0)
    alpha, beta = longest(move, a, b, p, q)
    after = (a - beta * move.d) @ (p + alpha * move.p) + (b + beta * move.d) @ (q + alpha * move.q)
    aim = (float(after) / gap) ** 3 * gap / (2 * len(u))
    c, c_ = aim + move.d * move.p, aim - move.d * move.q
    move = towards(c, c_)
    alpha, beta = longest(move, a, b, p, q)
    for _ in range(CORRECTORS):
        if min(alpha, beta) > 0.95:
            break
        far, further = min(1.0, 1.5 * alpha + 0.1), min(1.0, 1.5 * beta + 0.1)
        ap = (p + far * move.p) * (a - further * move.d)
        bq = (q + far * move.q) * (b + further * move.d)
        c, c_ = c + _nearer(ap, aim), c_ + _nearer(bq, aim)
        other = towards(c, c_)
        longer = longest(other, a, b, p, q)
        if sum(longer) < 1.01 * (alpha + beta):
            break
        move, (alpha, beta) = other, longer
    return move


def aimed(
    X: FixedRank,
    solve: Solve,
    gather: Entries,
    spread: Entries,
    now: tuple[np.ndarray, ...],
    c: np.ndarray | float,
    c_: np.ndarray | float,
) -> Move:
    """Newton's step with the aims c of a p and c' of b q."""
    u, y, a, b, p, q, w = now
    e = u - c / a + c_ / b
    rhs = spread(y + w * e)
    E, F = solve(rhs @ X.V, rhs.T @ X.U)
    del rhs
    e -= gather(np.hstack([E, X.U]) @ np.hstack([X.V, F]).T)
    dy = np.multiply(w, e, out=e)
    return Move(E, F, dy, _towards(c, np.add, p, dy, a), _towards(c_, np.subtract, q, dy, b))


def _towards(
    aim: np.ndarray | float, plus: np.ufunc, p: np.ndarray, change: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """(aim ± p·change)/a - p, in one array."""
    found = p * change
    plus(aim, found, out=found)
    found /= a
    found -= p
    return found


def _nearer(product: np.ndarray, aim: float) -> np.ndarray:
    """What brings products between NEAR·aim and aim/NEAR; large ones are brought down by so much at most."""
    return np.maximum(np.clip(product, NEAR * aim, aim / NEAR) - product, -aim / NEAR)


def longest(move: Move, a: np.ndarray, b: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """How far (p, q) and (a, b) can go, up to 1, before one of them is 0."""
    primal = max(1.0, -float(np.min(move.p / p)), -float(np.min(move.q / q)))
    dual = max(1.0, float(np.max(move.d / a)), -float(np.min(move.d / b)))
    return 1 / primal, 1 / dual


def _newton(X: FixedRank, w: np.ndarray, normal: np.ndarray) -> Solve | None:
    """(g, h) ↦ (E, F) by Newton's equations; None where they cannot be solved."""
    size = float(np.linalg.norm(normal)) / math.sqrt(min(w.shape)) / float(X.sigma[-1])
    for lift in LIFTS:
        found = _factored(X, w, normal, RIDGE * float(w.mean()) + lift * size)
        if found is not None:
            return found
    return None


def _factored(X: FixedRank, w: np.ndarray, normal: np.ndarray, ridge: float) -> Solve | None:
    """The equations, E eliminated, by a Cholesky factor; None where there is none.

    H_i = Σ_j w_ij V_jV_jᵀ and K_j = Σ_i w_ij U_iU_iᵀ on the diagonal, and w_ij V_jU_iᵀ - normal_ij diag(1/σ) beside it.
    """
    U, V, (m, r), n = X.U, X.V, X.U.shape, len(X.V)
    H = (w @ (V[:, :, None] * V[:, None, :]).reshape(n, r * r)).reshape(m, r, r) + ridge * np.eye(r)
    K = (w.T @ (U[:, :, None] * U[:, None, :]).reshape(m, r * r)).reshape(n, r, r) + ridge * np.eye(r)
    try:
        half = np.linalg.inv(np.linalg.cholesky(H))
    except np.linalg.LinAlgError:
        return None
    beside = np.multiply(w[:, None, None, :] * U[:, None, :, None], V.T[None, :, None, :])  # i, a, b, j
    for k in range(r):
        beside[:, k, k] -= normal / X.sigma[k]
    Y = (half @ beside.reshape(m, r, r * n)).reshape(m * r, r * n)
    del beside
    S = blas.dsyrk(-1.0, Y.T)
    j = np.arange(n)
    S.reshape(r, n, r, n)[:, j, :, j] += K
    S, failed = lapack.dpotrf(S, overwrite_a=1, clean=0)
    if failed:
        return None

    def solve(g: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = (half @ g[:, :, None]).ravel()
        F = lapack.dpotrs(S, h.T.ravel() - Y.T @ y)[0]
        E = half.transpose(0, 2, 1) @ (y - Y @ F).reshape(m, r, 1)
        return E[:, :, 0], F.reshape(r, n).T

    return solve
