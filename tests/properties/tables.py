"""Regressions on tables as they come: columns in units of their own, shifted, collinear, repeated, one-hot; weights."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ipds import Variable, minimize
from ipds.functions import ElasticNet, Exponential, Linear, NonNegative, SquaredHinge
from ipds.modelling import hinge, huber, logistic, norm1, norm2, norm_inf, quantile, sum_squares
from properties.stated import Stated, Vector, optimum, units

LOSSES = ("lad", "huber", "quantile", "squares", "logistic", "poisson", "hinge", "squared hinge", "linf")


def table(g: np.random.Generator) -> Vector:
    """A design of plain size."""
    m, n = int(g.integers(8, 40)), int(g.integers(2, 8))
    Z = g.standard_normal((m, n))
    kinds = set(g.choice(["collinear", "near", "one-hot", "twice", "plain", "rows"], 2))
    if "collinear" in kinds and n > 2:
        Z[:, 0] = Z[:, 1:].sum(axis=1)
    if "near" in kinds and n > 2:
        Z[:, 1] = Z[:, 0] + 10 ** g.uniform(-5, -1) * g.standard_normal(m)
    if "twice" in kinds:
        Z = np.column_stack([Z, Z[:, -1]])
    if "one-hot" in kinds:
        Z = np.column_stack([Z, np.eye(3)[g.integers(0, 3, m)]])
    if "rows" in kinds:
        Z = Z[g.integers(0, m, m)]
    return Z


def losses(g: np.random.Generator, kind: str, m: int, score: Vector):
    """(ŷ ↦ our term, ŷ ↦ CVXPY's, ŷ ↦ its value) for responses that the score explains in part."""
    noise = 10 ** g.uniform(-4, 0.5)
    scale = float(units(g, 1, 4.0)[0]) if kind in ("lad", "huber", "quantile", "squares", "linf") else 1.0
    y = score + noise * (g.standard_normal(m) if g.random() < 0.7 else g.standard_cauchy(m))
    labels = np.where(score + noise * g.standard_normal(m) > 0, 1.0, -1.0)
    labels[:2] = -1.0, 1.0
    counts = g.poisson(np.exp(np.clip(score, -3, 3))).astype(float)
    tau = float(g.uniform(0.1, 0.9))
    s = scale  # the response is in these units, the score in plain ones
    if kind == "lad":
        return s, lambda e: norm1(e - s * y), lambda p: s * cp.norm1(p - y), lambda p: np.abs(p - s * y).sum()
    if kind == "linf":
        return (
            s,
            lambda e: norm_inf(e - s * y),
            lambda p: s * cp.norm_inf(p - y),
            lambda p: np.abs(p - s * y).max(),
        )
    if kind == "huber":
        return (
            s,
            lambda e: huber(e - s * y, s),
            lambda p: 0.5 * s**2 * cp.sum(cp.huber(p - y, 1.0)),
            lambda p: (
                np.where(np.abs(p / s - y) <= 1, 0.5 * (p / s - y) ** 2, np.abs(p / s - y) - 0.5).sum() * s**2
            ),
        )
    if kind == "quantile":
        return (
            s,
            lambda e: quantile(s * y - e, tau),
            lambda p: s * cp.sum(cp.maximum(tau * (y - p), (tau - 1) * (y - p))),
            lambda p: np.maximum(tau * (s * y - p), (tau - 1) * (s * y - p)).sum(),
        )
    if kind == "squares":
        return (
            s,
            lambda e: 0.5 * sum_squares(e - s * y),
            lambda p: 0.5 * s**2 * cp.sum_squares(p - y),
            lambda p: 0.5 * ((p - s * y) ** 2).sum(),
        )
    if kind == "logistic":
        return (
            1.0,
            lambda e: logistic(-labels * e),
            lambda p: cp.sum(cp.logistic(cp.multiply(-labels, p))),
            lambda p: np.logaddexp(0, -labels * p).sum(),
        )
    if kind == "poisson":  # exp(p) - counts·p
        return (
            1.0,
            lambda e: Exponential()(e) + Linear(-counts)(e),
            lambda p: cp.sum(cp.exp(p) - cp.multiply(counts, p)),
            lambda p: (np.exp(p) - counts * p).sum(),
        )
    if kind == "hinge":
        return (
            1.0,
            lambda e: hinge(labels * e),
            lambda p: cp.sum(cp.pos(1 - cp.multiply(labels, p))),
            lambda p: np.maximum(1 - labels * p, 0).sum(),
        )
    return (
        1.0,
        lambda e: SquaredHinge()(labels * e),
        lambda p: cp.sum(cp.square(cp.pos(1 - cp.multiply(labels, p)))),
        lambda p: (np.maximum(1 - labels * p, 0) ** 2).sum(),
    )


PENALTIES: dict[str, tuple[Any, Any, Any]] = {
    "l1": (
        lambda v, s, lam: s * lam * norm1(v),
        lambda v, s, lam: s**2 * lam * cp.norm1(v),
        lambda v, s, lam: s * lam * np.abs(v).sum(),
    ),
    "l2 squared": (
        lambda v, s, lam: 0.5 * lam * sum_squares(v),
        lambda v, s, lam: s**2 * 0.5 * lam * cp.sum_squares(v),
        lambda v, s, lam: 0.5 * lam * (v**2).sum(),
    ),
    "l2": (
        lambda v, s, lam: s * lam * norm2(v),
        lambda v, s, lam: s**2 * lam * cp.norm2(v),
        lambda v, s, lam: s * lam * np.linalg.norm(v),
    ),
    "elastic": (
        lambda v, s, lam: ElasticNet(s * lam, lam)(v),
        lambda v, s, lam: s**2 * lam * (cp.norm1(v) + 0.5 * cp.sum_squares(v)),
        lambda v, s, lam: s * lam * np.abs(v).sum() + 0.5 * lam * (v**2).sum(),
    ),
    "nonnegative": (lambda v, s, lam: NonNegative()(v), None, lambda v, s, lam: 0.0),
    "none": (None, None, lambda v, s, lam: 0.0),
}
"""For coefficients in units s of the response: ours, CVXPY's of coefficients in plain units, and the value."""


def regression(seed: int, means: tuple[float, ...] = (0.0, 1.0, 100.0)) -> Stated:
    """A loss on a raw table with an intercept, penalised or not; columns have one of these means, in their spreads."""
    g = np.random.default_rng([94, seed])
    Z = table(g)
    m, n = Z.shape
    kind = str(g.choice(LOSSES))
    truth = g.standard_normal(n) * (g.random(n) < 0.6)
    s, ours, theirs, value_of = losses(g, kind, m, Z @ truth + g.standard_normal())
    S = float(g.choice([0.0, 2.0, 5.0]))
    u, shift = units(g, n, S), g.standard_normal(n) * float(g.choice(means))
    raw = (Z + shift) * u
    o, lam = float(units(g, 1, 3.0)[0]), float(10 ** g.uniform(-4, 1))
    penalty = str(g.choice(list(PENALTIES)))
    if kind in ("logistic", "poisson", "hinge", "squared hinge") and penalty in ("none", "nonnegative"):
        penalty = "l1"  # else there may be no solution
    w, b = Variable(n), Variable(1)
    scaled = g.random() < 0.5  # penalties in the units of the coefficients, or as they are
    e = raw @ w + b
    if not scaled:
        e, raw, u, shift = Z @ w + b, Z, np.ones(n), np.zeros(n)
    k = 1.0 / u
    mine, their, its = PENALTIES[penalty]
    objective = o * ours(e)
    if mine is not None:
        objective = objective + (mine(w, s, lam) if penalty == "nonnegative" else o * mine(w / k, s, lam))

    def value(result):
        coefficients = result.value(w)
        return o * (value_of(raw @ coefficients + result.value(b)) + its(coefficients / k, s, lam))

    def missed(result):
        return (
            float(np.max(-result.value(w) * k, initial=0.0) / max(np.abs(truth).max(), 1e-3))
            if penalty == "nonnegative"
            else 0.0
        )

    def best():
        v, c = cp.Variable(n), cp.Variable()
        total = theirs(Z @ v + c)
        total = total if their is None else total + their(v, s, lam)
        return optimum(total, [v >= 0] if penalty == "nonnegative" else [], o)

    label = f"{kind}+{penalty} {m}x{n} S={S:g} shift {np.abs(shift).max():.0f}"
    at_zero = o * float(value_of(np.zeros(m)))
    case = Stated(minimize(objective), label, value, best, missed)
    case.size = 1e-6 * at_zero
    return case


def far(seed: int) -> Stated:
    """The same with columns far from 0, as years and times are: a coefficient's move is what the intercept undoes."""
    return regression(seed, (1e3, 1e4, 1e5, 1e6))


def weighted(seed: int) -> Stated:
    """Sums of fits of one variable with weights of 10^±6."""
    g = np.random.default_rng([95, seed])
    n = int(g.integers(2, 9))
    x = Variable(n)
    ours, theirs, values = [], [], []
    w = cp.Variable(n)
    for _ in range(int(g.integers(2, 5))):
        m = int(g.integers(1, 2 * n))
        A, y = g.standard_normal((m, n)), g.standard_normal(m)
        c = float(units(g, 1, 6.0)[0])
        kind = str(g.choice(["squares", "l1", "l2", "linf", "huber"]))
        made = {
            "squares": (0.5 * sum_squares(A @ x - y), 0.5 * cp.sum_squares(A @ w - y), lambda r: 0.5 * r @ r),
            "l1": (norm1(A @ x - y), cp.norm1(A @ w - y), lambda r: np.abs(r).sum()),
            "l2": (norm2(A @ x - y), cp.norm2(A @ w - y), lambda r: np.linalg.norm(r)),
            "linf": (norm_inf(A @ x - y), cp.norm_inf(A @ w - y), lambda r: np.abs(r).max()),
            "huber": (
                huber(A @ x - y),
                0.5 * cp.sum(cp.huber(A @ w - y)),
                lambda r: np.where(np.abs(r) <= 1, 0.5 * r**2, np.abs(r) - 0.5).sum(),
            ),
        }[kind]
        ours.append(c * made[0])
        theirs.append((c, made[1]))
        values.append((c, A, y, made[2], kind))
    top = max(c for c, _ in theirs)
    model = minimize(sum(ours[1:], ours[0]))

    def value(result):
        v = result.value(x)
        return sum(c * float(f(A @ v - y)) for c, A, y, f, _ in values)

    def best():
        found = optimum(sum(c / top * t for c, t in theirs))
        return None if found is None else top * found

    label = "weights " + " ".join(f"{k}:{c:.0e}" for c, _, _, _, k in values)
    return Stated(model, label, value, best, size=1e-9 * top)


def pair(seed: int) -> Stated:
    """Two penalised fits in one vector that have nothing to do with each other, in units up to 1e12 apart."""
    g = np.random.default_rng([102, seed])
    x, k = Variable(16), int(g.integers(3))
    penalty = ("l1", "l2", "l2 squared")[k]
    loss = str(g.choice(["squares", "huber", "lad"] if k < 2 else ["squares"]))
    parts, ours = [], []
    for begin, u in zip((0, 8), units(g, 2, 6.0), strict=True):
        A, v = g.standard_normal((20, 8)), x[begin : begin + 8]
        y, u = A @ g.standard_normal(8) + g.standard_normal(20), float(u)
        r = A @ v - u * y
        term = {
            "squares": 0.5 / u**2 * sum_squares(r),
            "huber": 1 / u**2 * huber(r, u),
            "lad": 1 / u * norm1(r),
        }[loss]
        ours += [term, PENALTIES[penalty][0](v / u, 1.0, 2.0)]
        parts.append((begin, u, A, y))

    def value(result: Any) -> float:
        total = 0.0
        for begin, u, A, y in parts:
            v = result.value(x)[begin : begin + 8] / u
            size = np.abs(A @ v - y)
            total += {
                "squares": 0.5 * size**2,
                "huber": np.where(size <= 1, 0.5 * size**2, size - 0.5),
                "lad": size,
            }[loss].sum() + PENALTIES[penalty][2](v, 1.0, 2.0)
        return total

    def best() -> float | None:
        found = []
        for _, _, A, y in parts:
            v = cp.Variable(8)
            r = A @ v - y
            term = {
                "squares": 0.5 * cp.sum_squares(r),
                "huber": 0.5 * cp.sum(cp.huber(r)),
                "lad": cp.norm1(r),
            }[loss]
            found.append(optimum(term + PENALTIES[penalty][1](v, 1.0, 2.0)))
        return None if None in found else sum(found)

    label = f"pair {loss}+{penalty} in units {parts[0][1]:.0e} and {parts[1][1]:.0e}"
    return Stated(minimize(sum(ours[1:], ours[0])), label, value, best)
