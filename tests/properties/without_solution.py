"""Random convex problems that have no solution, by construction, in units of their own (see `properties.convex`).

Infeasible ones come with a multiplier w for which ⟨b, w⟩ exceeds what the sets can reach; unbounded ones with a
direction d, Σ A_i d_i = 0, along which every set goes on for ever and the objective falls.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ipds.functions import L1, Box, Linear, NonNegative, Quadratic
from properties.convex import Case, Piece, nonsmooth_part, smooth_part, stated, times, units_of

KINDS = ("bounded", "signs", "range")


def infeasible(seed: int) -> Case:
    """Sets too small for the equation; signs that it contradicts; a right-hand side outside the range of all A_i."""
    g = np.random.default_rng([78, seed])
    kind, count = str(g.choice(KINDS)), int(g.integers(1, 5))
    m = int(g.integers(2, 8))
    w = g.standard_normal(m)
    w /= np.linalg.norm(w)
    pieces, reached = [], 0.0
    for i in range(count):
        n = m if i == count - 1 and kind == "bounded" else int(g.integers(2, 10))
        A: Any = float(g.choice([1.0, -1.0])) if n == m and kind == "bounded" else g.standard_normal((m, n))
        if kind == "bounded":  # ⟨w, A x⟩ ≤ σ(Aᵀw) in every set
            h = str(g.choice(["box", "simplex", "ball"]))
            made, _, _, inside = nonsmooth_part(g, n, h)
            y = times(A.T if isinstance(A, np.ndarray) else A, w)
            reached += made(1.0, 1.0).support(y)
        elif kind == "signs":  # Aᵀw ≤ 0 ≤ x, so ⟨w, A x⟩ ≤ 0
            h = "nonnegative"
            A = A - np.outer(w, np.maximum(w @ A, 0.0) + (g.random(n) < 0.5) * g.random(n))
            made, _, _, inside = nonsmooth_part(g, n, h)
        else:  # Aᵀw = 0
            h = str(g.choice(["l1", "none", "nonnegative", "l2"]))
            A = A - np.outer(w, w @ A)
            made, _, _, inside = nonsmooth_part(g, n, h)
        f = str(g.choice(["squares", "huber", "quadratic", "none"]))
        smooth = smooth_part(g, n, f)[0] if f != "none" else None
        pieces.append(Piece(n, A, inside, smooth, made, label=f"{f}+{h}"))
    inside = sum(times(p.A, p.inside) for p in pieces)
    gap = float(10 ** g.uniform(-1, 1))
    b = inside + (reached + gap - float(w @ inside)) * w  # ⟨w, b⟩ = what the sets reach, and a gap
    S = float(g.integers(0, 5))
    units, costs, rows = units_of(g, pieces, m, S)
    return stated(pieces, units, costs, rows, b, f"infeasible {seed} S={S:g} {kind} " + labels(pieces))


def unbounded(seed: int) -> Case:
    """Functions that are flat or fall along d, with a slope of -1 in all."""
    g = np.random.default_rng([79, seed])
    count = int(g.integers(1, 5))
    m = int(g.integers(1, 6))
    pieces, directions = [], []
    slopes = -g.dirichlet(np.ones(count))
    for i in range(count):
        n = int(g.integers(m + 1, m + 8))
        h = str(g.choice(["none", "nonnegative", "l1", "half"]))
        d = g.standard_normal(n)
        d = np.abs(d) if h in ("nonnegative", "half") else d
        d /= np.linalg.norm(d)
        pieces.append(_falling(g, g.standard_normal((m, n)), h, d, float(slopes[i])))
        directions.append(d)
    off = sum(times(p.A, d) for p, d in zip(pieces, directions, strict=True))
    pieces[-1].A = pieces[-1].A - np.outer(off, directions[-1])  # Σ A_i d_i = 0
    b = sum(times(p.A, p.inside) for p in pieces)
    S = float(g.integers(0, 5))
    units, costs, rows = units_of(g, pieces, m, S)
    return stated(pieces, units, costs, rows, b, f"unbounded {seed} S={S:g} " + labels(pieces))


def _falling(g: np.random.Generator, A: np.ndarray, h: str, d: np.ndarray, slope: float) -> Piece:
    """A block whose f + h has this slope along d, far out."""
    n = len(d)
    weight = float(g.uniform(0.05, 0.5)) if h == "l1" else 0.0
    c = g.standard_normal(n)
    c += (slope - weight * np.abs(d).sum() - c @ d) * d  # ⟨c, d⟩ + weight ‖d‖₁ = slope
    f = str(g.choice(["linear", "quadratic", "quadratic"]))
    G = g.standard_normal((int(g.integers(2, n + 3)), n))
    G -= np.outer(G @ d, d)
    Q = G.T @ G

    def smooth(u: Any, o: float) -> Any:
        v = u * np.ones(n)
        return Linear(o / v * c) if f == "linear" else Quadratic(o * Q / np.outer(v, v), o / v * c)

    made = {
        "none": None,
        "l1": lambda u, o: L1(o / u * weight),
        "nonnegative": lambda u, o: NonNegative(),
        "half": lambda u, o: Box(-u, math.inf),
    }[h]
    return Piece(n, A, g.random(n), smooth, made, label=f"{f}+{h}")


def labels(pieces: list[Piece]) -> str:
    return " | ".join(p.label for p in pieces)
