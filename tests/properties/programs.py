"""Linear, quadratic and entropy programs: degenerate, singular, in raw units; constraints redundant or in conflict."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from ipds import Variable, minimize
from ipds.functions import Entropy, Linear, Quadratic
from ipds.modelling import kl_div, norm1, sum_squares
from properties.stated import Stated, optimum, over_rows, times, units


def linear_program(seed: int) -> Stated:
    """A degenerate vertex: more rows are tight there than needed, some multipliers are 0; rows and columns in units."""
    g = np.random.default_rng([90, seed])
    n = int(g.integers(3, 16))
    m = int(g.integers(n, 3 * n))
    A = g.standard_normal((m, n)) * (g.random((m, n)) < g.choice([0.3, 1.0]))
    x = np.where(g.random(n) < 0.4, 0.0, g.uniform(0.1, 2.0, n))
    tight = g.random(m) < 0.7
    b = A @ x + np.where(tight, 0.0, g.uniform(0.1, 1.0, m))
    multiplier = np.where(tight & (g.random(m) < 0.6), g.uniform(0.1, 2.0, m), 0.0)
    c = -A.T @ multiplier + np.where(x == 0, g.uniform(0, 1.0, n) * (g.random(n) < 0.7), 0.0)
    S = float(g.choice([0.0, 1.0, 3.0, 6.0]))
    u, r, o = units(g, n, S), units(g, m, S), float(units(g, 1, S)[0])
    C, d, cost = r[:, None] * A / u, r * b, o * c / u
    v = Variable(n)
    model = minimize(Linear(cost)(v), [C @ v <= d, v >= 0])

    def missed(result):
        y = result.value(v)
        product, sums = times(C, y)
        low = float(np.max(-y / u, initial=0.0))
        return max(over_rows(np.maximum(product - d, 0.0), sums, d), low)

    def best():
        found = linprog(c, A_ub=A, b_ub=b, method="highs")
        return o * found.fun if found.status == 0 else None

    size = o * float(np.abs(c) @ x)
    return Stated(model, f"lp {n}x{m} S={S:g}", lambda r: cost @ r.value(v), best, missed, size)


def quadratic_program(seed: int) -> Stated:
    """A singular Hessian with free directions, held by rows, bounds, or nothing at all."""
    g = np.random.default_rng([91, seed])
    n = int(g.integers(3, 14))
    k = int(g.integers(1, n))
    B = g.standard_normal((k, n))
    m = int(g.integers(0, n))
    A, x = g.standard_normal((m, n)), g.standard_normal(n)
    equal = g.random() < 0.5
    b = A @ x + (0.0 if equal else np.where(g.random(m) < 0.6, 0.0, 0.5))
    lam = g.standard_normal(m) if equal else np.abs(g.standard_normal(m)) * (b == A @ x)
    q = -B.T @ (B @ x) - A.T @ lam
    boxed = g.random() < 0.4
    lo, hi = x - np.where(g.random(n) < 0.5, 0, 0.7), x + np.where(g.random(n) < 0.5, 0.1, 2.0)
    if g.random() < 0.3:
        q = q + 10 ** g.uniform(-6, -1) * B.T @ g.standard_normal(k)
    S = float(g.choice([0.0, 1.0, 3.0]))
    u, r, o = units(g, n, S), units(g, m, S), float(units(g, 1, S)[0])
    P, cost, C, d = o * (B / u).T @ (B / u), o * q / u, r[:, None] * A / u, r * b
    v = Variable(n)
    rows = ([C @ v == d] if equal else [C @ v <= d]) if m else []
    box = [v >= lo * u, v <= hi * u] if boxed else []
    model = minimize(Quadratic(P, cost)(v), [*rows, *box])

    def missed(result):
        y = result.value(v)
        product, sums = times(C, y)
        off = product - d if equal else np.maximum(product - d, 0.0)
        out = np.maximum(lo - y / u, 0) + np.maximum(y / u - hi, 0) if boxed else np.zeros(n)
        return max(over_rows(off, sums, d), float(out.max()))

    def best():
        w = cp.Variable(n)
        rows = ([A @ w == b] if equal else [A @ w <= b]) if m else []
        return optimum(0.5 * cp.sum_squares(B @ w) + q @ w, rows + ([w >= lo, w <= hi] if boxed else []), o)

    size = o * (0.5 * float(np.sum((B @ x) ** 2)) + float(np.abs(q) @ np.abs(x)))

    def value(result):
        y = result.value(v) / u
        return o * (0.5 * float(np.sum((B @ y) ** 2)) + float(q @ y))

    return Stated(model, f"qp {n}/{k} rows {m} S={S:g} box {boxed}", value, best, missed, size)


def constrained(seed: int) -> Stated:
    """A projection or an ℓ1 norm under redundant, nearly parallel, shifted or conflicting rows."""
    g = np.random.default_rng([92, seed])
    n = int(g.integers(3, 12))
    m = int(g.integers(1, n))
    A, x, t = g.standard_normal((m, n)), g.standard_normal(n), g.standard_normal(n)
    offset = float(g.choice([0.0, 1e3, 1e6]))
    x, t = x + offset, t + offset
    b, kind = A @ x, str(g.choice(["plain", "twice", "parallel", "sums", "conflict", "box conflict"]))
    rows, right, feasible = A, b, True
    if kind == "twice":
        rows, right = np.vstack([A, 3.0 * A]), np.r_[b, 3.0 * b]
    if kind == "sums":
        M = g.standard_normal((2, m))
        rows, right = np.vstack([A, M @ A]), np.r_[b, M @ b]
    if kind == "parallel":
        near = A[0] + 1e-9 * g.standard_normal(n)
        rows, right = np.vstack([A, near]), np.r_[b, near @ x]
    if kind == "conflict":
        rows, right = (
            np.vstack([A, A[0]]),
            np.r_[b, b[0] + 1e-3 * g.choice([1.0, 10.0]) * np.abs(A[0]) @ np.abs(x)],
        )
        feasible = False
    box = []
    v = Variable(n)
    if kind == "box conflict":
        width = np.abs(x) * 1e-2 + 1e-2
        lo, hi = x - width, x + width
        row = g.standard_normal(n)
        top = row @ x + np.abs(row) @ width
        rows, right = (
            np.vstack([A, row]),
            np.r_[b, top + 1e-3 * g.choice([2.0, 10.0]) * np.abs(row) @ np.abs(x)],
        )
        box, feasible = [v >= lo, v <= hi], False
    scale = units(g, len(rows), float(g.choice([0.0, 3.0])))
    rows, right = scale[:, None] * rows, scale * right
    squares = g.random() < 0.6
    o = float(units(g, 1, 3.0)[0])
    term = 0.5 * o * sum_squares(v - t) if squares else o * norm1(v - t)
    model = minimize(term, [rows @ v == right, *box])

    def missed(result):
        product, sums = times(rows, result.value(v))
        return over_rows(product - right, sums, right)

    def value(result):
        off = result.value(v) - t
        return o * (0.5 * float(off @ off) if squares else float(np.abs(off).sum()))

    def best():
        if not feasible:
            return np.inf
        if squares:
            step = np.linalg.lstsq(A, b - A @ t, rcond=None)[0]
            if kind == "parallel":
                step = None
        w = cp.Variable(n)
        if squares and kind != "parallel":
            return 0.5 * o * float(step @ step)
        if kind == "parallel":  # the ninth digit of data of 1e6 says nothing of them
            return None
        return optimum(cp.norm1(w), [A @ w == b - A @ t], o)

    return Stated(model, f"{kind} {n}x{m} offset {offset:g}", value, best, missed)


def simplex_program(seed: int) -> Stated:
    """Linear cost and entropy, or a divergence, on a simplex with moments."""
    g = np.random.default_rng([93, seed])
    n = int(g.integers(3, 20))
    c, t = g.standard_normal(n), float(10 ** g.uniform(-2, 1))
    p = g.random(n) + 0.01
    p /= p.sum()
    moments = int(g.integers(0, 3))
    M = g.standard_normal((moments, n))
    inside = g.random(n)
    inside /= inside.sum()
    m = M @ inside
    divergence = g.random() < 0.5
    o, total = float(units(g, 1, 4.0)[0]), float(10 ** g.uniform(-4, 4))
    v = Variable(n)
    rows = [(v).sum() == total, *([M @ v == total * m] if moments else [])]
    if divergence:
        term = o * kl_div(v, total * p) + Linear(o * c)(v)
    else:
        term = (o * t) * Entropy()(v) + Linear(o * c)(v)
    model = minimize(term, [*rows, v >= 0])

    def missed(result):
        y = result.value(v) / total
        product, sums = times(M, y)
        return max(abs(y.sum() - 1), over_rows(product - m, sums, m), float(np.max(-y, initial=0.0)))

    def plain(y):
        y = np.maximum(y, 0)
        logs = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
        if divergence:
            return float(np.sum(logs - y * np.log(p))) - y.sum() + 1.0 + float(c @ y)
        return float(t * np.sum(logs)) + float(c @ y)

    def value(result):
        y = result.value(v) / total
        return o * total * (plain(y) + (0 if divergence else t * np.log(total) * y.sum()))

    def best():
        w = cp.Variable(n)
        rows = [cp.sum(w) == 1, *([M @ w == m] if moments else [])]
        if divergence:
            found = optimum(cp.sum(cp.kl_div(w, p)) + c @ w, rows)
        else:
            found = optimum(-t * cp.sum(cp.entr(w)) + c @ w, rows)
            found = None if found is None else found + t * np.log(total)
        return None if found is None or np.isinf(found) else o * total * found

    size = o * total * (t + float(np.abs(c).mean()))
    return Stated(
        model, f"simplex {n} moments {moments} {divergence} total {total:.0e}", value, best, missed, size
    )
