"""The baselines beside what is published of them.

    python benchmarks/baselines.py --curves published_curves.json     (the paper's figure 1, first panel)
    python benchmarks/baselines.py --trade-off                        (the problem with a real trade-off, full size)

The paper states RADMM's penalty, not the other steps of its baselines, and its runs are in seconds of its machine. The
"published" rules and one rate, RATE iterations per second, are fitted to the panel ρ = 100; `--rho` shows panels that
took no part in the fit.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from ipds import Block, Problem, solve
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.methods import RADMM, SPGM, ManPG, Method, RiemannianALM, Subgradient

RATE = 30
"""Iterations per second of the published runs."""
SECONDS = (4, 8, 12, 16, 20)


def polar(X: np.ndarray) -> np.ndarray:
    return Stiefel().prox(X, 1.0)


def problem_of(data: np.ndarray, components: int, weight: float) -> Problem:
    """min -‖DY‖²/(2m) + weight·‖V‖₁ over Y = V, YᵀY = I."""
    shape = (data.shape[1], components)
    return Problem(
        [
            Block(f=PCAVariance(data), h=Stiefel(), A=-1.0, shape=shape, name="Y"),
            Block(h=L1(weight), shape=shape, name="V"),
        ]
    )


def paper_problem(seed: int, rho: float) -> tuple[Problem, list[np.ndarray], float]:
    """randn-1500-500: the problem, a start, and the constant that f lacks."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((1500, 500))
    D = D / np.linalg.norm(D, axis=0)
    D = D - D.mean(axis=0)
    V = polar(rng.standard_normal((500, 20)))
    return problem_of(D, 20, rho), [V, V], float(np.sum(D * D)) / (2 * 1500)


def trade_off_problem(seed: int) -> tuple[Problem, list[np.ndarray]]:
    """min -‖BX‖² + 0.6‖X‖₁, B 50x500 Gaussian, centred, unit columns, r = 20."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((50, 500))
    B = B - B.mean(axis=0)
    B = B / np.linalg.norm(B, axis=0)
    X = polar(rng.standard_normal((500, 20)))
    return problem_of(math.sqrt(2 * 50) * B, 20, 0.6), [X, X]


def published(path: Path, rho: float) -> dict[str, list[float]]:
    """(F - ρr)/ρ at SECONDS, by method, read off the paper's figures, β⁰ = 50ρ."""
    panels = json.loads(path.read_text())["panels"]
    wanted = ("randn-1500-500", rho, 50 * rho)
    panel = next(p for p in panels if (p["dataset"], p["rho"], p["beta0"]) == wanted)
    found = {}
    for name, curve in panel["curves"].items():
        t, F = np.array(curve).T
        found[name] = [float(np.interp(s, t, F)) / rho - 20 for s in SECONDS]
    return found


def compare_with_curves(path: Path, rho: float, seed: int) -> None:
    problem, x0, constant = paper_problem(seed, rho)
    curves = published(path, rho)
    print(f"randn-1500-500, rho = {rho:g}: (F - rho r)/rho after {SECONDS} s at {RATE} iterations per second")
    methods: list[tuple[str, Method]] = [
        ("SubGrad", Subgradient("published")),
        ("SubGrad", Subgradient("published", gradient="euclidean")),
        ("SPGM", SPGM("published")),
        ("RADMM", RADMM("published")),
        ("SubGrad", Subgradient("tuned")),
        ("SPGM", SPGM("tuned")),
        ("RADMM", RADMM("tuned")),
    ]
    shown: set[str] = set()
    for name, method in methods:
        if name not in shown:
            print(f"{name + ', the paper':<38}" + "".join(f"{gap:9.2f}" for gap in curves[name]))
            shown.add(name)
        every = RATE * SECONDS[0]
        result = solve(problem, x0, method=method, tol=0.0, max_iter=RATE * SECONDS[-1], check_every=every)
        at = np.isin(result.history["iteration"], [RATE * s for s in SECONDS])
        gaps = (np.array(result.history["objective"])[at] + constant) / rho - 20
        label = method.name + (" euclidean" if getattr(method, "gradient", "") == "euclidean" else "")
        print(f"{label:<38}" + "".join(f"{gap:9.2f}" for gap in gaps) + f"   ({result.seconds:.2f} s here)")


def compare_on_the_trade_off(seeds: int, limit: float) -> None:
    print(f"-|BX|^2 + 0.6|X|_1, 50x500, r = 20; at most {limit:g} s; auto for comparison")
    for seed in range(seeds):
        problem, x0 = trade_off_problem(seed)
        methods: list[str | Method] = [
            RiemannianALM(),
            ManPG(),
            ManPG(adaptive=False),
            RADMM("tuned"),
            SPGM("tuned"),
            "auto",
        ]
        for method in methods:
            r = solve(problem, x0, method=method, tol=1e-4, time_limit=limit, max_iter=10**6)
            print(
                f"seed {seed}  {r.method:<40}{r.fun:10.4f}  certificate {r.certificate.relative:.1e}  "
                f"{r.seconds:5.2f} s  {r.nit:6d} steps  {r.status.name}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--curves", type=Path, help="published_curves.json")
    parser.add_argument("--rho", type=float, nargs="+", default=[100.0], choices=[1.0, 10.0, 100.0, 1000.0])
    parser.add_argument("--trade-off", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds per run")
    options = parser.parse_args()
    if options.curves is None and not options.trade_off:
        parser.error("nothing to do: give --curves FILE, --trade-off or both")
    if options.curves is not None:
        for rho in options.rho:
            compare_with_curves(options.curves, rho, seed=0)
    if options.trade_off:
        compare_on_the_trade_off(options.seeds, options.limit)


if __name__ == "__main__":
    main()
