"""Interior-point steps by conjugate residuals: near the solution, where `interior` would have too large a factor.

`path` takes the steps of `interior` for min Σ|B - X| over matrices of one rank, each of them towards `SIGMA`·μ.
Newton's equations get lift·‖normal‖/(√m σ_r) on their diagonal, as X may still be far away on a curved set, and are
solved to `SHARE` of their right-hand side.

Such steps leave far more of P d than of the gap. `fitted` looks for a better d at the X found,

    min ‖P d‖ over -1 < d < 1, with d = sign(u) but where u may be called zero,

by the same equations with weights w of 1 and 0: P(d + wξ) = 0 for a tangent ξ. Called zero are the u with the least
|u|/(1 - |d|), as many as add up to little: |u| alone says less, as a few entries are away from the path, and one d that
jumps to sign(u) spoils P d. Entries of d that leave the box are brought back, and stay where they are while they would
leave it again. Where there is no such d yet, the steps go on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...deadline import raise_if_late
from ...functions.fixed_rank import FixedRank
from .interior import SHY, Solve, aimed, longest, on_entries

LARGEST = 4_000_000
"""Entries at most: a dozen matrices of the size of the data are held."""
START = 0.12
"""Gap at the start, unless X comes from such steps: from closer to the boundary, they are short."""
FITS, CLOSER = 3, 0.5
"""Fits at most, and the factor of the gap from one to the next."""
ROWS = 4.0
"""Root mean square of |u|/|B| where u is called zero, in units of the goal; rows are twice as large as |B|."""
STEPS, MOST = 80, 300
"""Interior-point steps, and products for each, at most."""
SIGMA = 0.4
"""Share of μ that a step aims at."""
SHARE = 0.003
"""What may be left of the right-hand side."""
LIFT, HIGHER, HIGHEST = 0.01, 4.0, 10.0
"""Share of the curvature's size on the diagonal, its factor where the equations are not positive, and at most."""
ROUNDS, PASSES, FITTED = 25, 60, 0.1
"""Of a fit: rounds, products for each, and what they may leave of P d."""
CALM, CALMER = 0.1, 1e-4
"""A fit ends where ‖P d‖/‖d‖ is this share of the goal; where not all entries are observed, as no force acts on the
others, and what is left there counts more."""
SHORTER, SLOW, STALLED = (1.0, 0.5, 0.25, 0.1), 0.8, 0.95
"""Lengths that a step of a fit may have, and what it leaves of ‖P d‖² where it is slow, and where it fails."""
TOP = 1 - 1e-9
"""Bound of |d| where |u| is called zero."""


def solved(
    X: FixedRank, B: np.ndarray, seen: np.ndarray | None, goal: float, start: float = START
) -> tuple[FixedRank, np.ndarray] | None:
    """(X, d) near a solution of min Σ|B - X| over the entries `seen` (all, where None), from X; None where steps fail.

    d is sign(B - X) but where B - X may be called zero: there it adds up to `goal` of all. The first gap is `start`.
    """
    found, least, fits, wanted = None, math.inf, 0, goal
    calm = goal * (CALM if seen is None else CALMER)
    for Y, u, y, gap in path(X, B, seen, start):
        if gap > wanted:
            continue
        d = fitted(Y, u, zeros(u, B, y, seen, goal), y, calm)
        left, fits, wanted = math.sqrt(Y.parts(d).square) / float(np.linalg.norm(d)), fits + 1, CLOSER * gap
        if left < least:
            found, least = (Y, d), left
        if fits == FITS or left <= calm:
            break
    return found


def path(
    X: FixedRank, B: np.ndarray, seen: np.ndarray | None, start: float = START
) -> Iterator[tuple[FixedRank, np.ndarray, np.ndarray, float]]:
    """X, u = B - X, d and the gap in units of Σ|u|, step by step; ends where the equations cannot be solved."""
    gather, spread = on_entries(B.shape, seen)
    u, lift = gather(B - X.x), LIFT
    mu = start * float(np.abs(u).mean()) / 2
    if not mu > 0:
        return
    y = u / (mu + np.hypot(mu, u))  # p - q = u, a p = b q = μ
    a, b = 1 - y, 1 + y
    p, q = mu / a, mu / b
    for _ in range(STEPS):
        raise_if_late()
        y, gap = (b - a) / 2, float(a @ p + b @ q)
        relative = gap / float(np.abs(u).sum())
        yield X, spread(u), spread(y), relative
        w, normal = 1 / (p / a + q / b), X.subgradient(spread(y))
        curved = float(np.linalg.norm(normal)) / math.sqrt(min(B.shape)) / float(X.sigma[-1])
        aim, enough = SIGMA * gap / (2 * len(u)), relative * float(np.linalg.norm(y))
        try:
            solve = conjugate(X, spread(w), normal, lift * curved, SHARE, enough, MOST)
            del normal
            move = aimed(X, solve, gather, spread, (u, y, a, b, p, q, w), aim, aim)
            alpha, beta = (min(1.0, SHY * step) for step in longest(move, a, b, p, q))
            X = X.moved(X.projected(*X.products(move.E, move.F)), alpha)
        except np.linalg.LinAlgError:
            if lift >= HIGHEST:
                return
            lift *= HIGHER
            continue
        for x, step, change in (a, -beta, move.d), (b, beta, move.d), (p, alpha, move.p), (q, alpha, move.q):
            x += step * change
        del move, solve, w, x, change  # there is no room for two of each
        u = gather(B - X.x)
        bent = u - (p - q)  # what the retraction adds to the tangent step
        p += np.maximum(bent, 0)
        q += np.maximum(-bent, 0)
        del bent
        if not min(x.min() for x in (a, b, p, q)) > 0:
            return


def zeros(u: np.ndarray, B: np.ndarray, d: np.ndarray, seen: np.ndarray | None, share: float) -> np.ndarray:
    """Where u is called zero: the entries with the least |u|/(1 - |d|) whose |u| add up to `share`·Σ|u|.

    Of these, the ones with the least |u|/|B|, whose root mean square over all entries is `ROWS`·share at most; the mean
    of |u| counts for a |B| of 0, as in the rows of a certificate.
    """
    gather, spread = on_entries(u.shape, seen)
    sizes, room = np.abs(gather(u)), np.maximum(1 - np.abs(gather(d)), 1 - TOP)
    order = np.argsort(sizes / room)
    sums = np.cumsum(sizes[order])
    order = order[sums <= share * sums[-1]]
    data = np.abs(gather(B))[order]
    beside = sizes[order] / np.where(data > 0, data, sizes.mean())
    least = np.argsort(beside)
    small = np.zeros(len(sizes))
    small[order[least[np.cumsum(beside[least] ** 2) <= (ROWS * share) ** 2 * len(sizes)]]] = 1.0
    return spread(small) > 0


def fitted(X: FixedRank, u: np.ndarray, free: np.ndarray, d: np.ndarray, calm: float) -> np.ndarray:
    """d with ‖P d‖ ≤ calm·‖d‖, or on the way to it: sign(u) but where it is free."""
    d, fixed = np.where(free, np.clip(d, -TOP, TOP), np.sign(u)), ~free
    least, blocks, failed = X.parts(d).square, False, 0
    for _ in range(ROUNDS):
        raise_if_late()
        if failed == 2 or least <= calm**2 * float(np.vdot(d, d)):
            break
        outward = X.tangent(d)
        outward *= d
        w = (free & ~((np.abs(d) >= TOP) & (outward < 0))).astype(float)
        del outward
        try:
            E, F = conjugate(X, w, None, 0.0, FITTED, math.inf, PASSES, blocks)(-(d @ X.V), -(d.T @ X.U))
        except np.linalg.LinAlgError:
            break
        move, before = np.hstack([E, X.U]) @ np.hstack([X.V, F]).T, least
        move *= w
        for step in SHORTER:
            other = step * move
            np.clip(np.add(d, other, out=other), -TOP, TOP, out=other)
            np.copyto(other, d, where=fixed)
            left = X.parts(other).square
            if left < before:
                d, least = other, left
                break
        # blocks are fast where there is such a d, and go too far where there is none
        if least > SLOW * before:
            blocks, failed = not blocks, failed + (least > STALLED * before)
        else:
            failed = 0
    return d


def conjugate(
    X: FixedRank,
    w: np.ndarray,
    normal: np.ndarray | None,
    ridge: float,
    share: float,
    least: float,
    most: int,
    blocks: bool = True,
) -> Solve:
    """(g, h) ↦ (E, F) by Newton's equations, to `share` of (g, h) and to `least`; single precision is enough for that.

    Their diagonal `blocks` are the preconditioner. Raises `LinAlgError` where the equations are not positive.
    """
    m, U, V, weights = len(X.U), *(x.astype(np.float32) for x in (X.U, X.V, w))
    pull, inverse = None if normal is None else normal.astype(np.float32), (1 / X.sigma).astype(np.float32)
    inverses = _inverses(X, w, ridge) if blocks else None

    def product(x: np.ndarray) -> np.ndarray:
        E, F = x[:m], x[m:]
        xi = np.hstack([E, U]) @ np.hstack([V, F]).T
        xi *= weights
        g, h = xi @ V + ridge * E, xi.T @ U + ridge * F
        if pull is not None:
            g, h = g - pull @ (F * inverse), h - pull.T @ (E * inverse)
        return np.vstack([g, h])

    def near(x: np.ndarray) -> np.ndarray:
        return x if inverses is None else (inverses @ x[:, :, None])[:, :, 0]

    def solve(g: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest: np.ndarray = np.vstack([g, h]).astype(np.float32)
        found, enough = np.zeros_like(rest), min(share * float(np.linalg.norm(rest)), least)
        left: np.ndarray = near(rest)
        along, bent = left, product(left)
        height = float(np.vdot(left, bent))
        for _ in range(most):
            if float(np.linalg.norm(rest)) <= enough:
                break
            if not height > 0:
                raise np.linalg.LinAlgError("the equations are not positive")
            back = near(bent)
            step = height / float(np.vdot(bent, back))
            found, rest, left = found + step * along, rest - step * bent, left - step * back
            image, before = product(left), height
            height = float(np.vdot(left, image))
            along, bent = left + (height / before) * along, image + (height / before) * bent
        return found[:m].astype(float), found[m:].astype(float)

    return solve


def _inverses(X: FixedRank, w: np.ndarray, ridge: float) -> np.ndarray:
    """The inverses of Σ_j w_ij V_jV_jᵀ for the rows, and of Σ_i w_ij U_iU_iᵀ for the columns."""
    (m, r), n = X.U.shape, len(X.V)
    H = (w @ (X.V[:, :, None] * X.V[:, None, :]).reshape(n, r * r)).reshape(m, r, r)
    K = (w.T @ (X.U[:, :, None] * X.U[:, None, :]).reshape(m, r * r)).reshape(n, r, r)
    small = ridge + 1e-6 * float(w.mean()) / r
    return np.linalg.inv(np.concatenate([H, K]) + small * np.eye(r)).astype(np.float32)
