"""Compact specialists, one per problem: what an expert would write by hand for that problem alone.

Each is solver(case, record): it calls record(point) as it goes and returns its last point. Written from the published
descriptions; none of them certifies anything, and their settings are chosen for the problems measured here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from benchmarks.clock import Recorder
from benchmarks.problems import Array, Case, largest

from ipds.experiments import homotopy


def soft(x: Array, t: float) -> Array:
    return x - np.clip(x, -t, t)


# ---------------------------------------------------------------- sparse principal components


def smoothing_homotopy(
    inner: int, shrink: float = 0.3, first: float = 0.1
) -> Callable[[Case, Recorder], Array]:
    """|x| as √(x² + ε²), ε smaller in every stage; a point counts as it is and soft-thresholded by ε."""

    def solver(case: Case, record: Recorder) -> Array:
        def seen(X: Array, width: float) -> bool:
            record(X, lambda: soft(X, width))
            return False  # the recorder ends a run itself

        f, weight = case.data["f"], case.data["weight"]
        return homotopy.smoothing_homotopy(
            f, weight, case.start, seen, inner=inner, shrink=shrink, first=first
        )[0]

    return solver


# ---------------------------------------------------------------- robust sparse regression


def least_deviations(G: Array, y: Array, rounds: int = 40) -> Array:
    """min ‖Gw - y‖₁ by reweighted least squares; at the end the vertex of the smallest residuals, if better."""
    w = np.linalg.lstsq(G, y, rcond=None)[0]
    r = np.abs(G @ w - y)
    floor = float(np.median(r)) + 1e-15
    best = (float(r.sum()), w)
    for _ in range(rounds):
        q = 1 / np.maximum(r, floor)
        w = scipy.linalg.solve((G.T * q) @ G, G.T @ (q * y), assume_a="pos", check_finite=False)
        r = np.abs(G @ w - y)
        best = min(best, (float(r.sum()), w), key=lambda pair: pair[0])
        floor = max(0.5 * floor, 1e-10)
    rows = np.argsort(np.abs(G @ best[1] - y))[: G.shape[1]]
    w = np.linalg.lstsq(G[rows], y[rows], rcond=None)[0]
    return w if np.abs(G @ w - y).sum() < best[0] else best[1]


def on_support(G: Array, y: Array, v: Array, rounds: int = 40) -> Array:
    S = np.flatnonzero(v)
    out = np.zeros_like(v)
    if len(S):
        out[S] = least_deviations(G[:, S], y, rounds)
    return out


def trimmed_pursuit(case: Case, record: Recorder) -> Array:
    """Hard-thresholding pursuit on the rows whose residual is not suspicious; least deviations on the support."""
    G, y, s = case.data["G"], case.data["y"], case.data["s"]
    v, r, best, idle = case.start, y, (np.inf, case.start), 0
    for k in range(60):
        size = np.abs(r)
        limit = max(3.5 * float(np.median(size)) / 0.6745, float(np.quantile(size, 0.6)))
        clean = size <= limit
        g = G.T @ np.clip(r, -limit, limit)
        top = largest(g, s) if k == 0 else np.where(v != 0, g, 0.0)
        image = G @ (top if np.any(top) else largest(g, s))
        step = float(np.vdot(top, top)) / max(float(np.vdot(image, image)), 1e-300)
        step = step if idle % 2 == 0 and step > 0 else 1 / len(y)
        S = np.flatnonzero(largest(v + step * g, s))
        v = np.zeros_like(v)
        v[S] = np.linalg.lstsq(G[np.ix_(clean, S)], y[clean], rcond=None)[0]
        if k < 2 or k % 3 == 2:
            v[S] = least_deviations(G[:, S], y, 12)
        r = y - G[:, S] @ v[S]
        total = float(np.abs(r).sum())
        record(v)
        if total < (1 - 1e-7) * best[0]:
            best, idle = (total, v), 0
        else:
            idle += 1
        if idle > 8:
            break
    return on_support(G, y, best[1])


def admm_thresholding(case: Case, record: Recorder) -> Array:
    """Linearised ADMM on u = Gv - y with one penalty; the v-step is hard thresholding."""
    G, y, s = case.data["G"], case.data["y"], case.data["s"]
    L = 1.01 * float(np.linalg.eigvalsh(G.T @ G if len(G) >= G.shape[1] else G @ G.T)[-1])
    beta = 2 / float(np.median(np.abs(y)))
    v, product, z, u = case.start, np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
    best, idle = (np.inf, v), 0
    for k in range(20_000):
        v = largest(v - G.T @ (product - y - u + z / beta) / L, s)
        S = np.flatnonzero(v)
        product = G[:, S] @ v[S]
        r = product - y
        u = soft(r + z / beta, 1 / beta)
        z = z + beta * (r - u)
        total = float(np.abs(r).sum())
        if total < (1 - 1e-6) * best[0]:
            best, idle = (total, v), 0
        else:
            idle += 1
        if k % 5 == 0:
            record(v)
        if idle > 300:
            break
    return on_support(G, y, best[1])


# ---------------------------------------------------------------- dual principal component pursuit


def reweighted_eigenvectors(case: Case, record: Recorder) -> Array:
    """IRLS: V ← bottom eigenvectors of Σ g_i g_iᵀ/max(‖g_iᵀV‖, ε), ε decreasing."""
    G, V = case.data["G"], case.start
    floor, before = 0.1, np.inf
    for _ in range(100):
        size = np.sqrt(np.sum((G @ V) ** 2, axis=1))
        total = float(size.sum())
        if before - total <= 1e-12 * total and floor <= 1e-9:
            break
        before = total
        C = (G.T / np.maximum(size, floor)) @ G
        V = scipy.linalg.eigh(C, subset_by_index=(0, V.shape[1] - 1), check_finite=False)[1]
        floor = max(0.2 * floor, 1e-10)
        record(V)
    return V


# ---------------------------------------------------------------- robust low-rank approximation


def alternating_projections(case: Case, record: Recorder) -> tuple[Array, Array]:
    """S ← entries of M - L above a shrinking level; L ← rank-r part of M - S by one warm subspace step."""
    M, mask, r = case.data["M"], case.data["mask"], case.data["r"]
    level = 3.0 * float(np.median(np.abs(M if mask is None else M[mask])))
    clean = np.where(np.abs(M) > level, 0.0, M)
    R = clean.T @ (clean @ np.random.default_rng(0).standard_normal((M.shape[1], r)))
    Q = np.linalg.qr(clean @ R)[0]
    R = clean.T @ Q
    low = Q @ R.T
    for _ in range(120):
        difference = M - low
        wrong = np.abs(difference) > level
        if mask is not None:
            wrong |= ~mask
        clean = np.where(wrong, low, M)
        Q = np.linalg.qr(clean @ R)[0]
        R = clean.T @ Q
        low = Q @ R.T
        record((Q, R))
        level *= 0.8
        if level < 1e-12:
            break
    return Q, R


def reweighted_factors(case: Case, record: Recorder) -> tuple[Array, Array]:
    """IRLS: weighted alternating least squares on the factors, the floor of the weights decreasing."""
    M, mask, r = case.data["M"], case.data["mask"], case.data["r"]
    level = 3.0 * float(np.median(np.abs(M if mask is None else M[mask])))
    clipped = np.where(np.abs(M) > level, 0.0, M)
    U, sizes, W = scipy.linalg.svd(clipped, full_matrices=False, check_finite=False)
    L, R = U[:, :r] * np.sqrt(sizes[:r]), W[:r].T * np.sqrt(sizes[:r])
    floor = level / 3
    before = np.inf
    for _ in range(150):
        size = np.abs(L @ R.T - M)
        weights = 1 / np.maximum(size, floor)
        if mask is not None:
            weights, size = weights * mask, size * mask
        total = float(size.sum())
        if abs(before - total) <= 1e-11 * total:
            break
        before = total
        L = _rows(weights, weights * M, R)
        R = _rows(weights.T, (weights * M).T, L)
        floor = max(0.6 * floor, 1e-10)
        record((L, R))
    return L, R


def _rows(weights: Array, weighted: Array, R: Array) -> Array:
    """argmin_L Σ w_ij((LRᵀ - M)_ij)², row by row, the normal equations in one product."""
    r = R.shape[1]
    squares = (R[:, :, None] * R[:, None, :]).reshape(len(R), r * r)
    normal = (weights @ squares).reshape(-1, r, r) + 1e-13 * np.eye(r)
    return np.linalg.solve(normal, (weighted @ R)[:, :, None])[:, :, 0]


# ---------------------------------------------------------------- structured sparse phase retrieval


def wirtinger_then_prox(case: Case, record: Recorder) -> Array:
    """Thresholded Wirtinger flow while it helps, then accelerated prox-gradient steps on the exact objective."""
    d = case.data
    G, z, D, rho = d["G"], d["z"], d["D"], d["rho"]
    m, energy = len(z), float(np.mean(z))
    v, before = case.start, np.inf
    for k in range(300):
        Gv = G @ v
        misfit = Gv * Gv - z
        error = float(misfit @ misfit)
        if k % 10 == 9:
            if error > 0.9 * before:
                break
            before = error
        threshold = 0.3 * np.sqrt(np.log(m * len(v)) * float(np.sum((misfit * Gv) ** 2))) / m
        step = 0.23 / energy
        v = soft(v - step * (G.T @ (misfit * Gv)) / m, step * threshold)
        record(v)
    return prox_gradient(G, z, D, rho, v, record)


def prox_gradient(G: Array, z: Array, D: Array, rho: float, v: Array, record: Recorder) -> Array:
    """Monotone accelerated prox-gradient with backtracking; the prox of ρ‖v‖₁ over Dv ≥ 0 by its dual."""

    def smooth(v: Array) -> tuple[float, Array]:
        Gv = G @ v
        misfit = Gv * Gv - z
        return 0.5 * float(misfit @ misfit), 2 * (G.T @ (misfit * Gv))

    cone = Cone(D)
    step = 1 / (12 * float(np.max(z)) * len(v))
    v = cone.prox(v, 0.0)
    total = smooth(v)[0] + rho * float(np.abs(v).sum())
    old, t = v, 1.0
    for _ in range(5000):
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        w = v + ((t - 1) / following) * (v - old)
        value, g = smooth(w)
        while True:
            new = cone.prox(w - step * g, step * rho)
            move = new - w
            f_new = smooth(new)[0]
            if f_new <= value + float(g @ move) + float(move @ move) / (2 * step) + 1e-14 * abs(value):
                break
            step /= 2
        new_total = f_new + rho * float(np.abs(new).sum())
        record(new)
        if new_total > total:  # restart from the best point
            if t == 1.0:
                break
            old, t = v, 1.0
            continue
        done = np.linalg.norm(new - v) <= 1e-10 * np.linalg.norm(v)
        old, v, t, total, step = v, new, following, new_total, 1.1 * step
        if done:
            break
    return v


class Cone:
    """argmin t‖v‖₁ + ½‖v - w‖² over Dv ≥ 0: v = soft(w + Dᵀλ, t), λ ≥ 0 by accelerated steps, warm."""

    def __init__(self, D: Array):
        self.D, self.multiplier = D, np.zeros(len(D))
        self.step = 1 / float(np.linalg.norm(D, 2)) ** 2

    def prox(self, w: Array, t: float) -> Array:
        D, lam = self.D, self.multiplier
        ahead, momentum = lam, 1.0
        for _ in range(60):
            v = soft(w + D.T @ ahead, t)
            new = np.maximum(ahead - self.step * (D @ v), 0)
            change = new - lam
            if float(np.abs(change).max()) <= 1e-10 * (1 + float(np.abs(new).max())):
                lam = new
                break
            if float((ahead - new) @ change) > 0:
                momentum = 1.0
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead, lam, momentum = new + ((momentum - 1) / following) * change, new, following
        self.multiplier = lam
        return soft(w + D.T @ lam, t)


Solver = Callable[[Case, Recorder], Any]
