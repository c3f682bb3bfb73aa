"""Fits block by block whose columns are far from 0: with bounds and penalties, and with f on the coefficients."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Block, Problem
from ipds.functions import (
    L1,
    L2,
    Box,
    HuberLoss,
    LeastSquares,
    NonNegative,
    Quadratic,
    SmoothSum,
    Stacked,
    Zero,
)
from properties.stated import Stated, Vector, optimum, units

LOSSES: dict[str, tuple[Any, Any, Any]] = {
    "squares": (
        lambda y, s: {"f": LeastSquares(1.0, s * y)},
        lambda r: 0.5 * cp.sum_squares(r),
        lambda r, s: 0.5 * s**2 * r @ r,
    ),
    "lad": (
        lambda y, s: {"h": L1(1.0)},
        cp.norm1,
        lambda r, s: s * np.abs(r).sum(),
    ),
    "l2": (
        lambda y, s: {"h": L2(1.0)},
        cp.norm2,
        lambda r, s: s * np.linalg.norm(r),
    ),
    "huber": (
        lambda y, s: {"f": HuberLoss(1.0, s * y, delta=s)},
        lambda r: 0.5 * cp.sum(cp.huber(r)),
        lambda r, s: s**2 * np.where(np.abs(r) <= 1, 0.5 * r**2, np.abs(r) - 0.5).sum(),
    ),
}
"""Of residuals in units s: what is said of u or of u - s·y by our functions, CVXPY's in plain units, and the value."""


def fits(seed: int) -> Stated:
    """A loss of [X, 1] (w, b) - y with columns X in units of their own and means of up to 1e6 spreads."""
    g = np.random.default_rng([131, seed])
    m, n = int(g.integers(8, 40)), int(g.integers(1, 7))
    Z = g.standard_normal((m, n))
    truth = g.standard_normal(n) * (g.random(n) < 0.7)
    y = Z @ truth + g.standard_normal() + 10 ** g.uniform(-3, 0.5) * g.standard_normal(m)
    s, u = float(units(g, 1, 3.0)[0]), units(g, n, float(g.choice([0.0, 2.0])))
    shift = g.standard_normal(n) * 10 ** g.uniform(2, 6)
    raw = (Z + shift) * u
    kind, held = str(g.choice(list(LOSSES))), str(g.choice(["none", "nonnegative", "box", "l1", "squares"]))
    own = kind in ("squares", "huber") and g.random() < 0.5  # f on the coefficients themselves
    weight = float(10 ** g.uniform(-3, 1))
    low, high = -g.uniform(0, 1.5, n), g.uniform(0, 1.5, n)
    square = s**2 if kind in ("squares", "huber") else s  # the unit of the objective
    h = {
        "nonnegative": NonNegative(),
        "box": Box(low * s / u, high * s / u),
        "l1": L1(weight * u * square / s),
    }.get(held, Zero())
    f = Quadratic(np.diag(weight * (u / s) ** 2 * square)) if held == "squares" else None
    X = np.column_stack([raw, np.ones(m)])
    ours, theirs, its = LOSSES[kind]
    if own:
        fit = {"squares": LeastSquares(X, s * y), "huber": HuberLoss(X, s * y, delta=s)}[kind]
        if held == "squares":
            H = np.zeros((n + 1, n + 1))
            H[:n, :n] = np.diag(weight * (u / s) ** 2 * square)
            fit = SmoothSum([fit, Quadratic(H)])
        blocks = [Block(f=fit, h=Stacked([(h, n), (Zero(), 1)]), shape=n + 1, name="w")]
        problem = Problem(blocks)
        at = lambda result: (result.x[0][:n], result.x[0][n])  # noqa: E731
    else:
        given = ours(y, s)
        blocks = [
            Block(f=f, h=h, A=-raw, shape=n, name="w"),
            Block(A=-np.ones((m, 1)), shape=1, name="b"),
            Block(**given, shape=m, name="u"),
        ]
        problem = Problem(blocks, b=np.zeros(m) if "f" in given else -s * y)
        at = lambda result: (result.x[0], result.x[1][0])  # noqa: E731

    def of(v: Vector) -> float:
        return {"l1": square * weight * np.abs(v).sum(), "squares": 0.5 * square * weight * v @ v}.get(
            held, 0.0
        )

    def value(result: Any) -> float:
        w, b = at(result)
        return float(its((raw @ w + b) / s - y, s) + of(w * u / s))

    def missed(result: Any) -> float:
        v = at(result)[0] * u / s
        if held == "nonnegative":
            return float(np.max(-v))
        return float(np.max(np.maximum(v - high, low - v))) if held == "box" else 0.0

    def best() -> float | None:
        v, c = cp.Variable(n), cp.Variable()
        total = theirs(Z @ v + c - y)
        if held in ("l1", "squares"):
            total = total + weight * (cp.norm1(v) if held == "l1" else 0.5 * cp.sum_squares(v))
        limits = {"nonnegative": [v >= 0], "box": [v >= low, v <= high]}.get(held, [])
        return optimum(total, limits, square)

    label = f"{kind}+{held} {'own' if own else 'rows'} {m}x{n} shift {np.abs(shift).max():.0e} s {s:.0e}"
    return Stated(problem, label, value, best, missed, size=1e-6 * float(its(y, s)))
