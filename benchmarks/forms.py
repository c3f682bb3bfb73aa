"""The same problem in five forms: the same objective, in times of the same size.

    python -m benchmarks.forms

Times are CPU seconds, the least of several solves in turn; the last column is the slowest form over the fastest.
"""

from __future__ import annotations

import time

import numpy as np
import scipy

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    Affine,
    Box,
    Hinge,
    LeastSquares,
    Linear,
    NonNegative,
    Quadratic,
    Quantile,
    Separable,
    Simplex,
)
from ipds.modelling import diff, hinge, norm1, quantile, sum_squares
from ipds.operators import FiniteDifference

REPEATS = 5
TOLERANCE = 1e-6


def stacked(*rows: list[np.ndarray | int]) -> list[np.ndarray]:
    """Columns of a block matrix; a number n stands for n rows of zeros."""
    columns = []
    for column in zip(*rows, strict=True):
        width = next(part.shape[1] for part in column if isinstance(part, np.ndarray))
        columns.append(
            np.vstack([np.zeros((part, width)) if isinstance(part, int) else part for part in column])
        )
    return columns


def lasso(seed: int = 0) -> dict[str, Problem]:
    """½‖Gx - y‖² + λ‖x‖₁ on x ≥ -1, Σ x = 1."""
    g = np.random.default_rng(seed)
    G = g.standard_normal((80, 30)) * 10 ** g.uniform(-1, 1, 30)
    y, lam, one, eye, n, m = (
        G @ (g.random(30) < 0.2) + 0.1 * g.standard_normal(80),
        2.0,
        np.ones((1, 30)),
        np.eye(30),
        30,
        80,
    )
    fit, total = LeastSquares(G, y), Affine(one, np.ones(1))
    low = Box(-1.0, np.inf)
    A, B = stacked([eye, -eye], [one, 1])
    C, D, E = stacked([G, -np.eye(m), m], [eye, n, -eye], [one, 1, 1])
    return {
        "one row": Problem(
            [Block(f=fit, h=low, A=A, shape=n), Block(h=L1(lam), A=B, shape=n)], np.r_[np.zeros(n), 1.0]
        ),
        "residual": Problem(
            [
                Block(h=low, A=C, shape=n),
                Block(f=Quadratic(1.0), A=D, shape=m),
                Block(h=L1(lam), A=E, shape=n),
            ],
            np.r_[y, np.zeros(n), 1.0],
        ),
        "affine": Problem(
            [
                Block(f=fit, h=low, A=np.vstack([eye, eye]), shape=n),
                Block(h=L1(lam), A=np.vstack([-eye, 0 * eye]), shape=n),
                Block(h=total, A=np.vstack([0 * eye, -eye]), shape=n),
            ]
        ),
        "f on the penalty": Problem(
            [
                Block(h=low, A=np.vstack([eye, one]), shape=n),
                Block(f=fit, h=L1(lam), A=np.vstack([-eye, 0 * one]), shape=n),
            ],
            np.r_[np.zeros(n), 1.0],
        ),
        "fit last, in other units": Problem(
            [
                Block(h=low, A=np.vstack([-1e3 * G, 1e-3 * one, eye]), shape=n),
                Block(h=L1(lam), A=np.vstack([0 * G, 0 * one, -eye]), shape=n),
                Block(f=Quadratic(1.0), A=np.vstack([1e3 * np.eye(m), np.zeros((n + 1, m))]), shape=m),
            ],
            np.r_[-1e3 * y, 1e-3, np.zeros(n)],
        ),
    }


def program(seed: int = 0) -> dict[str, Problem]:
    """⟨c, x⟩ with A x = b, x ≥ 0."""
    g = np.random.default_rng(seed)
    A = g.standard_normal((15, 40))
    b, c, n, m, eye = A @ g.random(40), A.T @ g.standard_normal(15) + g.random(40), 40, 15, np.eye(40)
    units = 10 ** g.uniform(-3, 3, 15)
    split = Separable([(slice(0, m), Box(0.0, 0.0)), (slice(m, m + n), NonNegative())])
    return {
        "equation": Problem([Block(f=Linear(c), h=NonNegative(), A=A, shape=n)], b),
        "rows in other units": Problem(
            [Block(f=Linear(c), h=NonNegative(), A=units[:, None] * A, shape=n)], units * b
        ),
        "affine": Problem(
            [Block(f=Linear(c), h=NonNegative(), A=-1.0, shape=n), Block(h=Affine(A, b), shape=n)]
        ),
        "stacked": Problem(
            [
                Block(f=Linear(c), A=np.vstack([A, -eye]), shape=n),
                Block(h=NonNegative(), A=np.vstack([0 * A, eye]), shape=n),
            ],
            np.r_[b, np.zeros(n)],
        ),
        "one separable block": Problem(
            [Block(f=Linear(c), A=-np.vstack([A, eye]), shape=n), Block(h=split, shape=m + n)],
            np.r_[-b, np.zeros(n)],
        ),
    }


def portfolio(seed: int = 0) -> dict[str, Problem]:
    """½‖F w‖² - ⟨μ, w⟩ on the simplex."""
    g = np.random.default_rng(seed)
    F, mu, n, one, eye = g.standard_normal((60, 25)), g.random(25), 25, np.ones((1, 25)), np.eye(25)
    Q, total = F.T @ F, Affine(np.ones((1, 25)), np.ones(1))
    return {
        "simplex": Problem([Block(f=Quadratic(Q, -mu), h=Simplex(), shape=n)]),
        "sum and sign": Problem([Block(f=Quadratic(Q, -mu), h=NonNegative(), A=one, shape=n)], 1.0),
        "split": Problem(
            [Block(f=Quadratic(Q, -mu), h=NonNegative(), A=-1.0, shape=n), Block(h=total, shape=n)]
        ),
        "signs apart": Problem(
            [
                Block(f=Quadratic(Q, -mu), A=np.vstack([one, eye]), shape=n),
                Block(h=NonNegative(), A=np.vstack([0 * one, -eye]), shape=n),
            ],
            np.r_[1.0, np.zeros(n)],
        ),
        "risk apart": Problem(
            [
                Block(f=Linear(-mu), h=NonNegative(), A=np.vstack([F, one]), shape=n),
                Block(f=Quadratic(1.0), A=np.vstack([-np.eye(60), np.zeros((1, 60))]), shape=60),
            ],
            np.r_[np.zeros(60), 1.0],
        ),
    }


def signs(seed: int = 0) -> dict[str, Problem]:
    """½‖Gx - y‖² on x ≥ 0."""
    g = np.random.default_rng(seed)
    n, m = 60, 200
    G = g.standard_normal((m, n))
    y = G @ np.maximum(g.standard_normal(n), 0.0) + 0.3 * g.standard_normal(m)
    fit, square, x = LeastSquares(G, y), Quadratic(1.0), Variable(n)
    A, B, C = stacked([G, -np.eye(m), m], [np.eye(n), n, -np.eye(n)])
    return {
        "one block": Problem([Block(f=fit, h=NonNegative(), shape=n)]),
        "split": Problem([Block(f=fit, A=-1.0, shape=n), Block(h=NonNegative(), shape=n)]),
        "residual": Problem([Block(h=NonNegative(), A=-G, shape=n), Block(f=square, shape=m)], -y),
        "residual first, in other units": Problem(
            [Block(f=square, A=1e3, shape=m), Block(h=NonNegative(), A=-1e3 * G, shape=n)], -1e3 * y
        ),
        "residual and signs apart": Problem(
            [Block(A=A, shape=n), Block(f=square, A=B, shape=m), Block(h=NonNegative(), A=C, shape=n)],
            np.r_[y, np.zeros(n)],
        ),
        "model": minimize(0.5 * sum_squares(G @ x - y), [x >= 0]),
    }


def deviations(seed: int = 0) -> dict[str, Problem]:
    """‖Gx - y‖₁ on 0 ≤ x ≤ 1."""
    g = np.random.default_rng(seed)
    n, m = 15, 150
    G = g.standard_normal((m, n))
    y = G @ np.clip(g.standard_normal(n), 0.0, 1.0) + 0.3 * g.standard_t(2, m)
    d, box, x = 10 ** g.uniform(-3, 3, m), Box(0.0, 1.0), Variable(n)
    A, B, C = stacked([G, -np.eye(m), m], [np.eye(n), n, -np.eye(n)])
    return {
        "residual": Problem([Block(h=box, A=-G, shape=n), Block(h=L1(), shape=m)], -y),
        "residual first, rows in units": Problem(
            [Block(h=L1(), A=np.diag(d), shape=m), Block(h=box, A=-d[:, None] * G, shape=n)], -d * y
        ),
        "bounds apart": Problem(
            [Block(A=A, shape=n), Block(h=L1(), A=B, shape=m), Block(h=box, A=C, shape=n)],
            np.r_[y, np.zeros(n)],
        ),
        "columns in units": Problem(
            [Block(h=Box(0.0, d[:n]), A=-G / d[:n], shape=n), Block(h=L1(), shape=m)], -y
        ),
        "model": minimize(norm1(G @ x - y), [x >= 0, x <= 1]),
    }


def quantiles(seed: int = 0) -> dict[str, Problem]:
    """Σ ρ_τ(y - Gx - c), τ = 0.8, with an intercept c."""
    g = np.random.default_rng(seed)
    n, m, one = 10, 200, np.ones((200, 1))
    G = g.standard_normal((m, n))
    y = G @ g.standard_normal(n) + g.exponential(1.0, m)
    h, both, x = Quantile(0.8), np.hstack([G, one]), Variable(n + 1)
    d = 10 ** g.uniform(-3, 3, m)
    return {
        "one table": Problem([Block(A=both, shape=n + 1), Block(h=h, shape=m)], y),
        "intercept apart": Problem([Block(A=G, shape=n), Block(A=one, shape=1), Block(h=h, shape=m)], y),
        "loss first": Problem([Block(h=h, shape=m), Block(A=one, shape=1), Block(A=G, shape=n)], y),
        "rows in units": Problem(
            [Block(A=d[:, None] * both, shape=n + 1), Block(h=h, A=np.diag(d), shape=m)], d * y
        ),
        "model": minimize(quantile(y - both @ x, 0.8)),
    }


def pursuit(seed: int = 0) -> dict[str, Problem]:
    """‖x‖₁ with A x = b."""
    g = np.random.default_rng(seed)
    n, m, eye = 120, 40, np.eye(120)
    A = g.standard_normal((m, n))
    b, d, x = A @ (g.standard_normal(n) * (g.random(n) < 0.08)), 10 ** g.uniform(-3, 3, m), Variable(n)
    return {
        "equation": Problem([Block(h=L1(), A=A, shape=n)], b),
        "rows in units, some twice": Problem(
            [Block(h=L1(), A=np.vstack([d[:, None] * A, 3 * A[:5]]), shape=n)], np.r_[d * b, 3 * b[:5]]
        ),
        "affine": Problem([Block(h=L1(), A=-1.0, shape=n), Block(h=Affine(A, b), shape=n)]),
        "split": Problem(
            [Block(A=np.vstack([A, eye]), shape=n), Block(h=L1(), A=np.vstack([0 * A, -eye]), shape=n)],
            np.r_[b, np.zeros(n)],
        ),
        "model": minimize(norm1(x), [A @ x == b]),
    }


def machine(seed: int = 0) -> dict[str, Problem]:
    """½‖w‖² + Σ max(1 - l_i⟨g_i, w⟩, 0)."""
    g = np.random.default_rng(seed)
    n, m = 20, 200
    G = g.standard_normal((m, n))
    labels = np.sign(G @ g.standard_normal(n) + g.standard_normal(m))
    K, square, d, w = labels[:, None] * G, Quadratic(1.0), 10 ** g.uniform(-3, 3, m), Variable(n)
    A, B, C = stacked([K, -np.eye(m), m], [np.eye(n), n, -np.eye(n)])
    return {
        "margins": Problem([Block(f=square, A=-K, shape=n), Block(h=Hinge(), shape=m)]),
        "margins first": Problem([Block(h=Hinge(), A=2.0, shape=m), Block(f=square, A=-2 * K, shape=n)]),
        "rows in units": Problem(
            [Block(f=square, A=-d[:, None] * K, shape=n), Block(h=Hinge(), A=np.diag(d), shape=m)]
        ),
        "norm apart": Problem(
            [Block(A=A, shape=n), Block(h=Hinge(), A=B, shape=m), Block(f=square, A=C, shape=n)]
        ),
        "model": minimize(0.5 * sum_squares(w) + hinge(K @ w)),
    }


def variation(seed: int = 0) -> dict[str, Problem]:
    """½‖x - y‖² + λ Σ|x_{i+1} - x_i|."""
    g = np.random.default_rng(seed)
    n, lam = 300, 2.0
    y = np.repeat(g.standard_normal(6), 50) + 0.3 * g.standard_normal(n)
    D, eye = (
        scipy.sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - 1, n)).tocsr(),
        scipy.sparse.eye_array(n),
    )
    fit, x, none = LeastSquares(1.0, y), Variable(n), scipy.sparse.csr_array
    below = scipy.sparse.vstack
    return {
        "differences": Problem([Block(f=fit, A=-D, shape=n), Block(h=L1(lam), shape=n - 1)]),
        "an operator": Problem([Block(h=L1(lam), shape=n - 1), Block(f=fit, A=-FiniteDifference(), shape=n)]),
        "residual apart": Problem(
            [
                Block(A=below([eye, D]), shape=n),
                Block(f=Quadratic(1.0), A=below([-eye, none((n - 1, n))]), shape=n),
                Block(h=L1(lam), A=below([none((n, n - 1)), -scipy.sparse.eye_array(n - 1)]), shape=n - 1),
            ],
            np.r_[y, np.zeros(n - 1)],
        ),
        "dense, in units": Problem(
            [Block(f=fit, A=-1e3 * D.toarray(), shape=n), Block(h=L1(lam), A=1e3, shape=n - 1)]
        ),
        "model": minimize(0.5 * sum_squares(x - y) + lam * norm1(diff(x))),
    }


FAMILIES = {
    "lasso with constraints": lasso,
    "linear program": program,
    "portfolio": portfolio,
    "nonnegative least squares": signs,
    "least deviations between bounds": deviations,
    "quantile regression": quantiles,
    "basis pursuit": pursuit,
    "support vectors": machine,
    "total variation": variation,
}


def main() -> None:
    print(
        "| problem | forms | spread of the objective | fastest, s | slowest, s | ratio |\n|---|---|---|---|---|---|"
    )
    for name, family in FAMILIES.items():
        values, seconds = [], dict.fromkeys(family(), np.inf)
        for turn in range(REPEATS):
            for form, problem in family().items():
                begin = time.process_time()
                result = solve(problem, tol=TOLERANCE)
                seconds[form] = min(seconds[form], time.process_time() - begin)
                assert result.success, (name, form, result.message)
                if not turn:
                    values.append(result.fun)
        low, high = min(seconds, key=seconds.__getitem__), max(seconds, key=seconds.__getitem__)
        print(
            f"| {name} | {len(values)} | {np.ptp(values) / abs(np.mean(values)):.0e} | {seconds[low]:.4f} ({low}) "
            f"| {seconds[high]:.4f} ({high}) | {seconds[high] / seconds[low]:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
