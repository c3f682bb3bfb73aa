"""Problems block by block, with operators, functions of one's own, and matrices."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse.linalg as sla

from ipds import Block, Problem, Variable, minimize
from ipds.functions import L1, L2, PSD, Box, HuberLoss, LeastSquares, Quadratic, Zero
from ipds.modelling import nuclear, sum_squares
from ipds.operators import FiniteDifference, Sampling
from properties.stated import Stated, optimum, over_rows, units


class OwnL1:
    """Weights times |x|, by value and prox alone."""

    is_convex = True

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return float(np.sum(self.weight * np.abs(x)))

    def prox(self, v, step):
        return np.sign(v) * np.maximum(np.abs(v) - step * self.weight, 0.0)


class OwnBall(OwnL1):
    """weight·‖x‖₂."""

    def __call__(self, x):
        return float(self.weight * np.linalg.norm(x))

    def prox(self, v, step):
        size = np.linalg.norm(v)
        return v * max(0.0, 1 - step * self.weight / size) if size > 0 else v


class OwnSquare(OwnL1):
    """weight/2·‖x - 1‖²."""

    def __call__(self, x):
        return float(0.5 * self.weight * np.sum((x - 1) ** 2))

    def prox(self, v, step):
        return (v + step * self.weight) / (1 + step * self.weight)


def operator(g, n):
    """(A for us, dense, rows) of a map of n entries."""
    kind = str(g.choice(["sampling", "difference", "linear operator", "dense", "scaled"]))
    if kind == "sampling":
        picked = np.sort(g.permutation(n)[: int(g.integers(2, n))])
        mask = np.zeros(n, bool)
        mask[picked] = True
        return Sampling(mask), np.eye(n)[picked], kind
    if kind == "difference":
        op = FiniteDifference()
        return op, np.column_stack([op.apply(e) for e in np.eye(n)]), kind
    if kind == "scaled":
        c = float(g.choice([-1.0, 1e3, -1e-3, 2.0]))
        return c, c * np.eye(n), kind
    M = g.standard_normal((int(g.integers(2, n + 3)), n))
    return (sla.aslinearoperator(M) if kind == "linear operator" else M), M, kind


def operators(seed: int) -> Stated:
    """f(x) + h(w) + g(v) with A x + c w (+ B v) = b, and functions of one's own at times."""
    g = np.random.default_rng([96, seed])
    n = int(g.integers(4, 14))
    A, D, kind = operator(g, n)
    m = D.shape[0]
    G, y = g.standard_normal((int(g.integers(2, n + 4)), n)), g.standard_normal
    t = y(G.shape[0]) * float(units(g, 1, 2.0)[0])
    S = float(g.choice([0.0, 2.0]))
    o, weight = float(units(g, 1, S)[0]), float(10 ** g.uniform(-2, 1))
    b = y(m) * float(g.choice([0.0, 1.0])) * np.abs(t).max()
    c = float(g.choice([-1.0, 1.0, -1e3, 1e-2]))
    loss = str(g.choice(["squares", "huber", "none", "quadratic"]))
    Q = G.T @ G
    f = {
        "squares": LeastSquares(np.sqrt(o) * G, np.sqrt(o) * t),
        "huber": HuberLoss(np.sqrt(o) * G, np.sqrt(o) * t, np.sqrt(o) * 0.5),
        "none": None,
        "quadratic": Quadratic(o * Q, -o * G.T @ t),
    }[loss]
    own = g.random() < 0.4
    penalty = str(g.choice(["l1", "l2", "square"]))
    k = o * weight * abs(c)
    if penalty == "l1":
        h = OwnL1(k) if own else L1(k)
    elif penalty == "l2":
        h = OwnBall(k) if own else L2(k)
    else:
        own, h = True, OwnSquare(k)
    third = g.random() < 0.4
    B, e = g.standard_normal((m, 3)), float(g.choice([0.5, 5.0]))
    first = str(g.choice(["free", "box", "l1"]))
    hx = {"free": Zero(), "box": Box(-1.0, 1.0), "l1": L1(0.1 * o)}[first]
    if loss == "none" and first == "free":
        hx, first = L1(0.1 * o), "l1"
    blocks = [Block(f=f, h=hx, A=A, shape=n, name="x"), Block(h=h, A=c, shape=m, name="w")]
    if third:
        blocks.append(Block(h=Box(-e, e), A=B, shape=3, name="v"))
    order = list(g.permutation(len(blocks)))
    names = [blocks[i].name for i in order]
    problem = Problem([blocks[i] for i in order], b=b)

    def parts(result):
        found = dict(zip(names, result.x, strict=True))
        return found["x"], found["w"], found.get("v", np.zeros(3))

    def plain(x, w):
        r = G @ x - t
        data = {
            "squares": lambda: 0.5 * r @ r,
            "huber": lambda: np.where(np.abs(r) <= 0.5, 0.5 * r**2, 0.5 * np.abs(r) - 0.125).sum(),
            "none": lambda: 0.0,
            "quadratic": lambda: 0.5 * x @ Q @ x - (G.T @ t) @ x,
        }[loss]()
        extra = 0.1 * np.abs(x).sum() if first == "l1" else 0.0
        return o * (float(data) + extra) + float(h(w))

    def value(result):
        x, w, _ = parts(result)
        return plain(x, w)

    def missed(result):
        x, w, v = parts(result)
        third_part = B @ v if third else np.zeros(m)
        off = D @ x + c * w + third_part - b
        size = (
            np.abs(D) @ np.abs(x)
            + np.abs(c * w)
            + np.abs(b)
            + 0.1 * max(np.abs(x).max(), np.abs(b).max(), np.abs(t).max())
        )
        out = float(np.max(np.abs(x) - 1, initial=0.0)) if first == "box" else 0.0
        return max(over_rows(off, size), out)

    def best():
        x, v = cp.Variable(n), cp.Variable(3)
        w = (b - D @ x - (B @ v if third else 0.0)) / c
        data = {
            "squares": lambda: 0.5 * cp.sum_squares(G @ x - t),
            "huber": lambda: 0.5 * cp.sum(cp.huber(G @ x - t, 0.5)),
            "none": lambda: 0.0,
            "quadratic": lambda: 0.5 * cp.sum_squares(G @ x) - (G.T @ t) @ x,
        }[loss]()
        cost = {"l1": cp.norm1, "l2": cp.norm2, "square": lambda w: 0.5 * cp.sum_squares(w - 1)}[penalty](w)
        total = data + weight * abs(c) * cost + (0.1 * cp.norm1(x) if first == "l1" else 0.0)
        sets = ([cp.abs(x) <= 1] if first == "box" else []) + ([cp.abs(v) <= e] if third else [])
        return optimum(total, sets, o)

    size = 1e-6 * (plain(np.ones(n), np.zeros(m)) + plain(np.zeros(n), np.ones(m))) + (
        o * 0.5 * float(t @ t) if loss == "quadratic" else 0.0
    )
    return Stated(
        problem,
        f"{loss}+{first} {kind} {'own ' if own else ''}{penalty} c={c:g} third {third}",
        value,
        best,
        missed,
        size,
    )


def matrices(seed: int) -> Stated:
    """Nuclear norms, spectral sets and cones of matrices: closed forms by their spectra, and CVXPY beside rows."""
    g = np.random.default_rng([97, seed])
    n, k = int(g.integers(2, 7)), int(g.integers(2, 7))
    o, s = float(units(g, 1, 3.0)[0]), float(units(g, 1, 3.0)[0])
    kind = str(g.choice(["nuclear", "masked", "psd", "correlation", "trace"]))
    if kind in ("nuclear", "masked"):
        M = g.standard_normal((n, k))
        lam = float(10 ** g.uniform(-2, 0.5))
        X = Variable((n, k))
        mask = np.ones((n, k)) if kind == "nuclear" else (g.random((n, k)) < 0.7).astype(float)
        mask[0, 0] = 1.0
        model = minimize(0.5 * o * sum_squares(mask * X - s * mask * M) + o * s * lam * nuclear(X))

        def value(r):
            x = r.value(X)
            return o * (0.5 * ((mask * x - s * mask * M) ** 2).sum() + s * lam * np.linalg.svd(x)[1].sum())

        def best():
            if kind == "nuclear":
                d = np.linalg.svd(M)[1]
                return o * s**2 * float(np.where(d > lam, lam * d - lam**2 / 2, d**2 / 2).sum())
            W = cp.Variable((n, k))
            return optimum(0.5 * cp.sum_squares(cp.multiply(mask, W - M)) + lam * cp.normNuc(W), [], o * s**2)

        return Stated(model, f"{kind} {n}x{k}", value, best)
    C = g.standard_normal((n, n))
    C = (C + C.T) / 2
    X = Variable((n, n))
    if kind == "psd":
        model = minimize(0.5 * o * sum_squares(X - s * C) + PSD()(X))
        low = np.minimum(np.linalg.eigvalsh(C), 0.0)

        def value(r):
            return 0.5 * o * float(((r.value(X) - s * C) ** 2).sum())

        return Stated(
            model, f"psd {n}", value, lambda: 0.5 * o * s**2 * float(low @ low), size=1e-9 * o * s**2
        )
    if kind == "correlation":
        rows = [X[i, i] == s for i in range(n)]
        model = minimize(0.5 * o * sum_squares(X - s * C) + PSD()(X), rows)

        def value(r):
            return 0.5 * o * float(((r.value(X) - s * C) ** 2).sum())

        def best():
            W = cp.Variable((n, n), PSD=True)
            return optimum(0.5 * cp.sum_squares(W - C), [cp.diag(W) == 1], o * s**2)

        def missed(r):
            return float(np.abs(np.diag(r.value(X)) / s - 1).max())

        return Stated(model, f"correlation {n}", value, best, missed)
    model = minimize(o * (C * X).sum() + PSD()(X), [sum(X[i, i] for i in range(n)) == s])
    bottom = float(np.linalg.eigvalsh(C)[0])

    def missed(r):
        return abs(np.trace(r.value(X)) / s - 1)

    return Stated(
        model, f"trace {n}", lambda r: o * float((C * r.value(X)).sum()), lambda: o * s * bottom, missed
    )
