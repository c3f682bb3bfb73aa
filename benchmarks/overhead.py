"""Overhead of `solve` per iteration, beyond its array operations, on a two-block problem of 100 variables.

The same array operations are written out by hand, with nothing around them; the difference per iteration is what
the package costs. The checks (certificate, history), which are work of their own, are timed apart. So is what a
solve with default options costs beside its iterations: presolve, start, choice of a method, set-up, one check, Result.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from ipds import Block, Parameters, Problem, solve
from ipds.functions import L1, LeastSquares
from ipds.methods import IPDS

VARIABLES = 50  # per block
ITERATIONS = 2000
REPEATS = 9
TARGET, TARGET_OF_A_SOLVE = 40e-6, 1e-3

rng = np.random.default_rng(0)
G, y = rng.standard_normal((30, VARIABLES)), rng.standard_normal(30)
RHO, BETA0 = 0.5, 100.0
PARAMETERS = replace(Parameters.sound("BI", 1.0), schedule="printed")
PROBLEM = Problem(
    [
        Block(f=LeastSquares(G, y), A=-1.0, shape=VARIABLES, name="x"),
        Block(h=L1(RHO), shape=VARIABLES, name="v"),
    ]
)
LIPSCHITZ = float(np.linalg.norm(G, 2) ** 2)


def soft(v: np.ndarray, threshold: float) -> np.ndarray:
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def by_hand(iterations: int) -> np.ndarray:
    """Algorithm 1 on this problem, inlined."""
    p, gram, shift = PARAMETERS, G.T @ G, G.T @ y
    x, v, z = np.zeros(VARIABLES), np.zeros(VARIABLES), np.zeros(VARIABLES)
    v_breve, residual = v, v - x
    for t in range(iterations):
        beta = BETA0 * (1 + p.xi * t**p.p)
        mu = 1 / (p.delta * beta)
        w = p.theta1 * (LIPSCHITZ + beta)
        x = x - (gram @ x - shift - (z + beta * residual)) / w
        residual = v - x
        w = p.theta2 * beta
        c = v - (z + beta * residual) / w
        v_breve = soft(c, RHO * (mu + 1 / w))
        v = (v_breve + mu * w * c) / (1 + mu * w)
        residual = v - x
        z = z + (p.sigma * beta) * residual
    return v_breve


def by_solve(iterations: int, check_every: int) -> np.ndarray:
    method = IPDS(PARAMETERS, beta0=max(BETA0, LIPSCHITZ))
    return solve(PROBLEM, method=method, max_iter=iterations, tol=0.0, check_every=check_every).x[1]


def by_default() -> None:
    """A solve that ends at its first check."""
    solve(PROBLEM, tol=1e9)


def seconds(run, *arguments) -> float:
    """Best of several runs: the least disturbed."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        run(*arguments)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    global BETA0
    BETA0 = max(BETA0, LIPSCHITZ)
    assert np.allclose(by_hand(50), by_solve(50, 10), atol=1e-10), "the two loops must do the same"
    hand = seconds(by_hand, ITERATIONS) / ITERATIONS
    rare = seconds(by_solve, ITERATIONS, 10**9) / ITERATIONS
    usual = seconds(by_solve, ITERATIONS, 10) / ITERATIONS
    check = (usual - rare) * 10
    print(f"by hand                  {hand * 1e6:7.1f} µs per iteration")
    print(
        f"solve, no checks         {rare * 1e6:7.1f} µs per iteration, overhead {(rare - hand) * 1e6:5.1f} µs"
    )
    print(
        f"solve, check_every=10    {usual * 1e6:7.1f} µs per iteration, overhead {(usual - hand) * 1e6:5.1f} µs"
    )
    print(f"one check                {check * 1e6:7.1f} µs")
    verdict = "met" if usual - hand < TARGET else "missed"
    print(f"target under {TARGET * 1e6:.0f} µs of overhead: {verdict}")
    one = seconds(by_default)
    verdict = "met" if one < TARGET_OF_A_SOLVE else "missed"
    print(
        f"solve of one iteration   {one * 1e6:7.0f} µs; target under {TARGET_OF_A_SOLVE * 1e6:.0f}: {verdict}"
    )
    assert math.isfinite(hand)


if __name__ == "__main__":
    main()
