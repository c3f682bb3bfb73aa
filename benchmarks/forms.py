"""The same problem in five forms: the same objective, in times of the same size.

    python -m benchmarks.forms

Times are CPU seconds, the least of several solves in turn; the last column is the slowest form over the fastest.
"""

from __future__ import annotations

import time

import numpy as np

from ipds import Block, Problem, solve
from ipds.functions import L1, Affine, Box, LeastSquares, Linear, NonNegative, Quadratic, Separable, Simplex

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


FAMILIES = {"lasso with constraints": lasso, "linear program": program, "portfolio": portfolio}


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
