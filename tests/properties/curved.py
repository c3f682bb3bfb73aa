"""Nonconvex problems whose critical points are known by conditions of their own, or by small moves."""

from __future__ import annotations

import numpy as np

from ipds import Block, Problem, Variable, minimize
from ipds.functions import (
    L1,
    MCP,
    SCAD,
    Cardinality,
    Quadratic,
    Rank,
    Sphere,
    Stiefel,
)
from ipds.modelling import norm1, sum_squares
from properties.stated import Stated, units

KINDS = ("sparse_fit", "moved", "frames", "split")


def sparse_fit(seed: int) -> Stated:
    """Least squares with a cardinality or ℓ0: on its support, the gradient is 0; ℓ0 keeps no entry below √(2λ/‖a‖²)."""
    g = np.random.default_rng([98, seed])
    m, n = int(g.integers(6, 25)), int(g.integers(3, 12))
    A = g.standard_normal((m, n))
    if g.random() < 0.3:
        A[:, 0] = A[:, 1] + 10 ** g.uniform(-4, -1) * g.standard_normal(m)
    y = A @ (g.standard_normal(n) * (g.random(n) < 0.5)) + 10 ** g.uniform(-3, 0) * g.standard_normal(m)
    S = float(g.choice([0.0, 2.0, 4.0]))
    u, o = units(g, n, S), float(units(g, 1, S)[0])
    k = int(g.integers(1, n))
    h = Cardinality(k)
    x = Variable(n)
    model = minimize(0.5 * o * sum_squares((A / u) @ x - y) + h(x))

    def critical(result):
        w = result.value(x) / u
        support = w != 0
        if support.sum() > k:
            return 1.0
        G = A[:, support]
        best = np.linalg.lstsq(G, y, rcond=None)[0]
        mine, least = (0.5 * float(np.sum((G @ v - y) ** 2)) for v in (w[support], best))
        return (mine - least) / max(least, 1e-6 * 0.5 * float(y @ y))

    return Stated(model, f"cardinality {k} {m}x{n} S={S:g}", lambda r: 0.0, lambda: None, critical=critical)


def moved(seed: int) -> Stated:
    """MCP, SCAD, ℓ1 and boxes beside concave quadratics: no small move of an entry descends to first order."""
    g = np.random.default_rng([99, seed])
    n = int(g.integers(2, 9))
    m = int(g.integers(2, 2 * n))
    A, y = g.standard_normal((m, n)), g.standard_normal(m)
    o, s = float(units(g, 1, 3.0)[0]), float(units(g, 1, 3.0)[0])
    kind = str(g.choice(["mcp", "scad", "box", "l1 box"]))
    lam, x = float(10 ** g.uniform(-2, 0.5)), Variable(n)
    if kind in ("box", "l1 box"):
        Q = g.standard_normal((n, n))
        Q, c = (Q + Q.T) / 2, g.standard_normal(n)
        term = Quadratic(o / s**2 * Q, o / s * c)(x)
        if kind == "l1 box":
            term = term + o / s * lam * norm1(x)
        model = minimize(term, [x >= -s, x <= s])

        def gradient(w):
            return Q @ w + c

        def directional(w, d):
            if np.any(np.abs(w + 1e-6 * d) > 1 + 1e-8):
                return np.inf
            extra = (
                lam * np.sum(np.where(np.abs(w) < 2e-3, np.abs(d), np.sign(w) * d))
                if kind == "l1 box"
                else 0.0
            )
            return gradient(w) @ d + extra

        def size(w):
            return np.abs(Q) @ np.abs(w) + np.abs(c)
    else:
        h = (MCP if kind == "mcp" else SCAD)(o / s * lam)
        model = minimize(0.5 * o / s**2 * sum_squares(A @ x - s * y) + h(x))

        def gradient(w):
            return A.T @ (A @ w - y)

        def directional(w, d):
            total = gradient(w) @ d
            for wi, di in zip(w, d, strict=True):
                if di:
                    t = 1e-6
                    slope = (float(h(np.array([s * (wi + t * di)]))) - float(h(np.array([s * wi])))) / (t * o)
                    total += slope
            return total

        def size(w):
            return np.abs(A.T) @ (np.abs(A) @ np.abs(w) + np.abs(y))

    def critical(result):
        w = result.value(x) / s
        scale = float(np.mean(size(w))) + lam
        worst = 0.0
        for i in range(n):
            for sign in (1.0, -1.0):
                d = np.zeros(n)
                d[i] = sign
                worst = max(worst, -directional(w, d) / scale)
        return worst

    return Stated(model, f"{kind} {n}", lambda r: 0.0, lambda: None, critical=critical)


def frames(seed: int) -> Stated:
    """Forms on spheres, frames and ranks, smooth there: the tangent part of the gradient is 0."""
    g = np.random.default_rng([100, seed])
    n, k = int(g.integers(3, 9)), int(g.integers(1, 3))
    C = g.standard_normal((n, n))
    C = (C + C.T) / 2
    o = float(units(g, 1, 5.0)[0])
    kind = str(g.choice(["sphere", "stiefel", "rank"]))
    if kind == "sphere":
        x = Variable(n)
        c = g.standard_normal(n)
        model = minimize(Quadratic(o * C, o * c)(x) + Sphere()(x))

        def critical(result):
            w = result.value(x)
            if abs(np.linalg.norm(w) - 1) > 1e-6:
                return 1.0
            d = C @ w + c
            return float(np.linalg.norm(d - w * (w @ d)) / np.linalg.norm(np.abs(C) @ np.abs(w) + np.abs(c)))

        return Stated(model, f"sphere {n}", lambda r: 0.0, lambda: None, critical=critical)
    if kind == "stiefel":
        X = Variable((n, k))
        model = minimize(Quadratic(o * C)(X) + Stiefel()(X))

        def critical(result):
            W = result.value(X)
            if np.abs(W.T @ W - np.eye(k)).max() > 1e-6:
                return 1.0
            d = C @ W
            tangent = d - W @ (W.T @ d + d.T @ W) / 2
            return float(np.linalg.norm(tangent) / np.linalg.norm(d))

        return Stated(model, f"stiefel {n}x{k}", lambda r: 0.0, lambda: None, critical=critical)
    M, p = g.standard_normal((n, n)), float(units(g, 1, 3.0)[0])
    mask = (g.random((n, n)) < 0.8).astype(float)
    X = Variable((n, n))
    model = minimize(0.5 * o * sum_squares(mask * X - p * mask * M) + Rank(k)(X))

    def critical(result):
        W = result.value(X) / p
        left, d, right = np.linalg.svd(W)
        if np.any(d[k:] > 1e-6 * d[0]):
            return 1.0
        U, V = left[:, :k], right[:k].T
        G = mask * (W - M)
        tangent = G - (np.eye(n) - U @ U.T) @ G @ (np.eye(n) - V @ V.T)
        return float(np.linalg.norm(tangent) / np.linalg.norm(mask * M))

    return Stated(model, f"rank {k} of {n}", lambda r: 0.0, lambda: None, critical=critical)


def split(seed: int) -> Stated:
    """A sparse frame: -½‖D Y‖² on orthonormal Y = V with ρ‖V‖₁ (sparse components); the multiplier is refitted."""
    g = np.random.default_rng([101, seed])
    d, r = int(g.integers(3, 9)), int(g.integers(1, 3))
    D = g.standard_normal((2 * d, d)) * units(g, d, float(g.choice([0.0, 1.0])))
    rho = float(10 ** g.uniform(-2, 1))
    o = float(units(g, 1, 3.0)[0])
    c = float(units(g, 1, 2.0)[0])
    H = -D.T @ D
    problem = Problem(
        [Block(f=Quadratic(o * H), h=Stiefel(), A=-c, shape=(d, r)), Block(h=L1(o * rho), A=c, shape=(d, r))],
        b=0.0,
    )

    def critical(result):
        Y, V = result.x
        if np.linalg.norm(Y - V) > 1e-3 * np.linalg.norm(Y) or np.abs(Y.T @ Y - np.eye(r)).max() > 1e-6:
            return 1.0
        # min over S ∈ ∂ρ‖V‖₁ of the tangent part of H Y + S, by projected gradient steps
        S = rho * np.sign(V)
        free = V == 0
        top = np.linalg.norm(H @ Y) + rho
        for _ in range(4000):
            G = H @ Y + S
            T = G - Y @ (Y.T @ G + G.T @ Y) / 2
            S = np.where(free, np.clip(S - T, -rho, rho), S)
        return float(np.linalg.norm(T) / top)

    return Stated(
        problem, f"sparse frame {d}x{r} rho {rho:.2g}", lambda r: 0.0, lambda: None, critical=critical
    )
