"""How often the default method solves random convex problems, judged by CVXPY: 2-3 blocks, every kind of last block."""

from __future__ import annotations

import collections
import time

import cvxpy as cp
import numpy as np

from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares

SEEDS = range(60)


def instance(seed: int) -> tuple[Problem, cp.Problem]:
    """Random blocks with ½‖Gx - y‖², λ‖x‖₁ or both; A a number or a matrix, the last one always surjective."""
    g = np.random.default_rng(seed)
    m, count = int(g.integers(4, 15)), int(g.integers(2, 4))
    blocks, objective, constraint = [], 0, 0
    for i in range(count):
        last = i == count - 1
        n = m if last and g.random() < 0.7 else int(g.integers(m if last else 2, 20))
        A = (
            float(g.choice([1.0, -1.0, 2.0, 0.3]))
            if n == m and g.random() < 0.6
            else g.standard_normal((m, n)) / n**0.5
        )
        x, f, h = cp.Variable(n), None, None
        if g.random() < 0.5:
            G, y = g.standard_normal((n + 2, n)), g.standard_normal(n + 2)
            f, objective = LeastSquares(G, y), objective + 0.5 * cp.sum_squares(G @ x - y)
        if f is None or last or g.random() < 0.7:
            weight = float(g.choice([0.1, 1.0]))
            h, objective = L1(weight), objective + weight * cp.norm1(x)
        blocks.append(Block(f=f, h=h, A=A, shape=n))
        constraint = constraint + (A * x if isinstance(A, float) else A @ x)
    b = g.standard_normal(m)
    return Problem(blocks, b=b), cp.Problem(cp.Minimize(objective), [constraint == b])


def main() -> None:
    outcomes: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong, begin = [], time.perf_counter()
    for seed in SEEDS:
        problem, oracle = instance(seed)
        optimum = oracle.solve(solver=cp.CLARABEL)
        result = solve(problem, tol=1e-5, max_iter=20_000, seed=0)
        error = abs(result.fun - optimum) / max(abs(optimum), 1e-12)
        outcomes[result.method.split("(")[0], result.status.name] += 1
        if result.success and error > 1e-3:
            wrong.append((seed, error))
    for (method, status), number in sorted(outcomes.items()):
        print(f"{method:24s} {status:18s} {number}")
    print(
        f"certified but off by more than 1e-3: {wrong or 'none'}; {time.perf_counter() - begin:.1f} s in all"
    )


if __name__ == "__main__":
    main()
