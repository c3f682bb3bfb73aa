"""What a user writes: run by check.py on the installed wheel, and type-checked against it."""

from __future__ import annotations

import numpy as np

from ipds import Block, Problem, Result, solve
from ipds.functions import L1, Cardinality
from ipds.models import RobustSparseRegressor


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Five coefficients, a fifth of the targets ruined."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((200, 100))
    y = G @ np.repeat([1.0, 0.0], [5, 95])
    y[:40] += 20.0
    return G, y


def main() -> None:
    """Solve by hand and by the estimator."""
    G, y = regression()
    problem = Problem([Block(h=Cardinality(5), A=-G, shape=100), Block(h=L1(1.0), shape=200)], b=-y)
    result: Result = solve(problem)
    support: np.ndarray = np.flatnonzero(result.x[0])
    model = RobustSparseRegressor(sparsity=5).fit(G, y)
    if not (result.success and support.tolist() == model.support_.tolist() == [0, 1, 2, 3, 4]):
        raise SystemExit(f"wrong answer: {result}")
    print(result)


if __name__ == "__main__":
    main()
