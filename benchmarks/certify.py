"""Convex problems to a certificate of 1e-6, beside Clarabel, HiGHS and OSQP through CVXPY: CPU seconds on one thread.

Theirs is the time that the solver itself reports, or the CPU time around it where that is less, without CVXPY's
compilation; ours is the whole of `solve`.
`--quick` takes sizes that finish in seconds, `--write PAGE` puts the table into a page.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.pages import where_and_when, write_section

from ipds import Block, Problem, solve
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
    Stacked,
)

TOL, LIMIT = 1e-6, 30.0


@dataclass
class Case:
    """A problem in both languages; `value` is the objective of the variable, which is block 0 of ours."""

    name: str
    ours: Problem
    theirs: Callable[[cp.Variable], tuple[Any, list[Any]]]
    """(objective, constraints) of a variable of the shape of block 0."""
    value: Callable[[np.ndarray], float]
    solvers: tuple[str, ...]


@dataclass
class Row:
    """What was measured: seconds by solver (None: no answer within the limit), and relative errors of the objective."""

    name: str
    seconds: dict[str, float | None]
    errors: dict[str, float]
    method: str
    steps: int


LP, QP = ("CLARABEL", "HIGHS"), ("CLARABEL", "OSQP")


def denoising(n: int, order: int, weight: float) -> Case:
    r = np.random.default_rng(n + order)
    x = np.cumsum(r.standard_normal(n) * (r.random(n) < 15 / n))
    x = 10 * np.cumsum(x) / np.abs(np.cumsum(x)).max() if order == 2 else 5 * x
    y = x + r.standard_normal(n) / order
    D = sp.diags_array(
        [1.0, -2.0, 1.0] if order == 2 else [-1.0, 1.0], offsets=range(order + 1), shape=(n - order, n)
    )
    D = sp.csr_array(D)
    ours = Problem(
        [
            Block(f=LeastSquares(sp.eye_array(n, format="csr"), y), A=-D, shape=n),
            Block(h=L1(weight), shape=n - order),
        ]
    )
    theirs = lambda v: (0.5 * cp.sum_squares(v - y) + weight * cp.norm1(D @ v), [])  # noqa: E731
    name = "trend filtering" if order == 2 else "total variation"
    return Case(
        f"{name} {n}", ours, theirs, lambda v: 0.5 * np.sum((v - y) ** 2) + weight * np.abs(D @ v).sum(), QP
    )


def residuals(name: str, A: np.ndarray, y: np.ndarray, tau: float | None = None) -> Case:
    m, n = A.shape
    h = L1() if tau is None else Quantile(tau)

    def theirs(v: cp.Variable) -> tuple[Any, list[Any]]:
        u = A @ v - y
        return cp.norm1(u) if tau is None else cp.sum(cp.maximum(tau * u, (tau - 1) * u)), []

    ours = Problem([Block(A=-A, shape=n), Block(h=h, shape=m)], b=-y)
    return Case(name, ours, theirs, lambda v: h(A @ v - y), LP)


def heavy_tails(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(1)
    A = r.standard_normal((m, n))
    return A, A @ r.standard_normal(n) + r.standard_t(2, m)


def table(name: str) -> Case:
    from sklearn import datasets

    data = datasets.load_diabetes(scaled=False) if name == "diabetes" else getattr(datasets, f"load_{name}")()
    A, y = (data.data, data.target) if name == "diabetes" else (data.data[:, :-1], data.data[:, -1])
    return residuals(f"LAD, raw {name}", np.c_[A, np.ones(len(A))], np.asarray(y, float))


def lasso(m: int, n: int) -> Case:
    """Singular values from 1 to 1e-6."""
    r = np.random.default_rng(m + n)
    U, V = np.linalg.qr(r.standard_normal((m, m)))[0], np.linalg.qr(r.standard_normal((n, m)))[0]
    A = 10 * (U * np.logspace(0, -6, m)) @ V.T
    b = A @ (r.standard_normal(n) * (r.random(n) < 0.05) / np.linalg.norm(A, axis=0))
    b = b + 0.1 * np.std(b) * r.standard_normal(m)
    weight = 0.01 * float(np.abs(A.T @ b).max())
    ours = Problem([Block(f=LeastSquares(A, b), A=-1.0, shape=n), Block(h=L1(weight), shape=n)])
    theirs = lambda v: (0.5 * cp.sum_squares(A @ v - b) + weight * cp.norm1(v), [])  # noqa: E731
    return Case(
        "lasso, condition 1e6",
        ours,
        theirs,
        lambda v: 0.5 * np.sum((A @ v - b) ** 2) + weight * np.abs(v).sum(),
        QP,
    )


def nonnegative(m: int, n: int) -> Case:
    r = np.random.default_rng(m)
    A = r.standard_normal((m, n)) + 1
    b = A @ np.maximum(r.standard_normal(n), 0) + r.standard_normal(m)
    ours = Problem([Block(f=LeastSquares(A, b), A=-1.0, shape=n), Block(h=NonNegative(), shape=n)])
    theirs = lambda v: (0.5 * cp.sum_squares(A @ v - b), [v >= 0])  # noqa: E731
    return Case(f"NNLS {m}x{n}", ours, theirs, lambda v: 0.5 * np.sum((A @ v - b) ** 2), QP)


def linear_program(name: str, c: np.ndarray, A: Any, b: np.ndarray) -> Case:
    n = len(c)
    rows = sp.vstack([sp.csr_array(A), sp.eye_array(n)], format="csr")
    h = Stacked([(Box(0.0, 0.0), len(b)), (NonNegative(), n)])
    ours = Problem(
        [Block(f=Linear(c), A=-rows, shape=n), Block(h=h, shape=rows.shape[0])], b=np.r_[-b, np.zeros(n)]
    )
    theirs = lambda v: (c @ v, [A @ v == b, v >= 0])  # noqa: E731
    return Case(name, ours, theirs, lambda v: float(c @ v), LP)


def standard(m: int, n: int) -> Case:
    r = np.random.default_rng(m)
    A, x = r.standard_normal((m, n)), r.random(n) * (r.random(n) < 0.3)
    return linear_program(f"LP {m}x{n}", A.T @ r.standard_normal(m) + r.random(n), A, A @ x)


def transport(N: int) -> Case:
    r = np.random.default_rng(N)
    cost, a, b = (r.random((N, 1)) - r.random((1, N))) ** 2, r.random(N), r.random(N)
    A = sp.vstack([sp.kron(sp.eye_array(N), np.ones((1, N))), sp.kron(np.ones((1, N)), sp.eye_array(N))])
    return linear_program(
        f"transport {N}x{N}", cost.ravel(), sp.csr_array(A), np.r_[a / a.sum(), b / b.sum()]
    )


def support_vectors(m: int, n: int) -> Case:
    r = np.random.default_rng(3)
    X = r.standard_normal((m, n))
    Z = X * np.sign(X @ r.standard_normal(n) + 2 * r.standard_normal(m))[:, None]
    ours = Problem([Block(f=Quadratic(np.eye(n)), A=-Z, shape=n), Block(h=Hinge(), shape=m)])
    theirs = lambda v: (0.5 * cp.sum_squares(v) + cp.sum(cp.pos(1 - Z @ v)), [])  # noqa: E731
    return Case(
        f"SVM {m}x{n}", ours, theirs, lambda v: 0.5 * float(v @ v) + np.maximum(0, 1 - Z @ v).sum(), QP
    )


def fused(m: int, n: int) -> Case:
    r = np.random.default_rng(5)
    A, x = r.standard_normal((m, n)), np.zeros(n)
    x[n // 5 : n // 4], x[3 * n // 5 : 3 * n // 5 + n // 50] = 1, -2
    b = A @ x + r.standard_normal(m)
    D = sp.csr_array(sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - 1, n)))
    rows = sp.vstack([5.0 * sp.eye_array(n), 10.0 * D], format="csr")
    ours = Problem([Block(f=LeastSquares(A, b), A=-rows, shape=n), Block(h=L1(), shape=2 * n - 1)])
    theirs = lambda v: (0.5 * cp.sum_squares(A @ v - b) + 5 * cp.norm1(v) + 10 * cp.norm1(D @ v), [])  # noqa: E731
    value = lambda v: 0.5 * np.sum((A @ v - b) ** 2) + np.abs(rows @ v).sum()  # noqa: E731
    return Case(f"fused lasso {m}x{n}", ours, theirs, value, QP)


def portfolio(n: int) -> Case:
    r = np.random.default_rng(n)
    F = r.standard_normal((40, n)) / 6
    S, mu = F.T @ F + np.diag(r.random(n) * 0.1 + 0.05), r.random(n) * 0.1
    ours = Problem(
        [
            Block(f=Quadratic(S, -mu), h=Affine(np.ones((1, n)), np.ones(1)), A=-1.0, shape=n),
            Block(h=NonNegative(), shape=n),
        ]
    )
    theirs = lambda v: (0.5 * cp.quad_form(v, cp.psd_wrap(S)) - mu @ v, [cp.sum(v) == 1, v >= 0])  # noqa: E731
    return Case(f"portfolio {n}", ours, theirs, lambda v: 0.5 * float(v @ S @ v) - float(mu @ v), QP)


def cases(quick: bool) -> Iterator[Case]:
    """The problems, one after the other; none is held longer than it is needed."""
    k = 5 if quick else 1
    yield denoising(5000 // k, 2, 200.0)
    yield denoising(100_000 // k**2, 1, 10.0)
    yield residuals(f"LAD {3000 // k}x{150 // k}", *heavy_tails(3000 // k, 150 // k))
    for name in ("wine", "diabetes", "breast_cancer"):
        yield table(name)
    yield residuals(f"quantile {3000 // k}x{150 // k}", *heavy_tails(3000 // k, 150 // k), tau=0.9)
    yield lasso(200 // k, 400 // k)
    yield nonnegative(3000 // k, 1500 // k)
    yield standard(300 // k, 1000 // k)
    yield support_vectors(1500 // k, 60 // k)
    yield fused(200 // k, 500 // k)
    yield portfolio(2000 // k)
    yield transport(100 // k)


def measured(case: Case) -> Row:
    """Solve a case by everyone, once to warm up where that takes no time."""
    seconds: dict[str, float | None] = {}
    values: dict[str, float] = {}
    for solver in case.solvers:
        options = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 50_000} if solver == "OSQP" else {}
        objective, constraints = case.theirs(cp.Variable(case.ours.blocks[0].shape))
        problem = cp.Problem(cp.Minimize(objective), constraints)
        try:
            problem.get_problem_data(solver)  # compiles
            begin = time.process_time()
            problem.solve(solver=solver, time_limit=LIMIT, **options)
            spent, solved = time.process_time() - begin, problem.status == "optimal"
            # what the solver reports is by the clock on the wall: a busy machine must not count against it
            seconds[solver] = min(spent, float(problem.solver_stats.solve_time)) if solved else None
            if solved:
                values[solver] = float(problem.value)
        except cp.error.SolverError:
            seconds[solver] = None
    for _ in range(2):  # the first time loads what the second has
        begin = time.process_time()
        result = solve(case.ours, tol=TOL, time_limit=LIMIT)
        seconds["ipds"] = time.process_time() - begin
    if not result.success:
        seconds["ipds"] = None
    values["ipds"] = float(case.value(np.asarray(result.x[0])))
    best = min(
        (value for name, value in values.items() if name in ("CLARABEL", "HIGHS")), default=values["ipds"]
    )
    errors = {name: abs(value - best) / max(abs(best), 1e-12) for name, value in values.items()}
    return Row(case.name, seconds, errors, result.method, result.nit)


def text(rows: list[Row]) -> str:
    """The table in Markdown."""
    lines = [
        "## Convex problems beside interior-point solvers",
        "",
        f"CPU seconds on one thread to a certificate of {TOL:g}; `make bench-certify`. Theirs is the time that the",
        "solver reports, or the CPU time around it where that is less, without CVXPY's compilation; ours the whole of",
        f"`solve`. – : no answer within {LIMIT:.0f} s, or not asked.",
        "",
        "| problem | ipds | steps | Clarabel | HiGHS | OSQP | ipds / best | objective off by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    show = lambda s: "–" if s is None else f"{s:.3f}"  # noqa: E731
    won = 0
    for row in rows:
        others = [s for name, s in row.seconds.items() if name != "ipds" and s is not None]
        ours = row.seconds["ipds"]
        ratio = ours / min(others) if ours is not None and others else None
        won += ours is not None and (not others or ours <= min(others))
        cells = [show(row.seconds.get(name)) for name in ("CLARABEL", "HIGHS", "OSQP")]
        lines.append(
            f"| {row.name} | {show(ours)} | {row.steps} | {' | '.join(cells)} | "
            f"{'–' if ratio is None else f'{ratio:.2f}'} | {row.errors['ipds']:.0e} |"
        )
    return "\n".join(
        [*lines, "", f"Not slower than the best of them on {won} of {len(rows)}. {where_and_when()}"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for case in cases(options.quick):
            if options.only in case.name:
                rows.append(measured(case))
                print(rows[-1], flush=True)
    page = text(rows)
    print(page)
    if options.write:
        write_section(options.write, "certify", page)


if __name__ == "__main__":
    main()
