"""One iteration of the engine beside what it cannot avoid, on the problems of six models.

The floor of a problem is the list of operations that one iteration of accelerated IPDS needs by its mathematics: the
products, the decomposition, every elementwise pass and inner product, each spelled as fast as NumPy, BLAS and SciPy
allow and written into buffers made beforehand. An operation counts as often as it was needed: once per trial of
the line search, per iteration, per stage (dual step or new smoothing) or per check; how many of these there were is
counted in a run of its own.

The engine is timed as `solve` drives it, checks at every tenth iteration included. Engine and floor take turns in one
run, on one thread, in CPU seconds: of every iteration and of every operation the least of several times counts.

    python benchmarks/floor.py [--quick] [--only NAME] [--write docs/performance_log.md]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from benchmarks.operations import Operation, operations
from benchmarks.pages import write_section
from benchmarks.report import facts, table

from ipds import Block, Problem, solve
from ipds.functions import L1, PCAVariance, Stiefel, truncation
from ipds.methods import IPDS, AcceleratedIPDS, Method, State
from ipds.models import DualPCP, RobustLowRank, RobustSparseRegressor

CHECK_EVERY = 10
SKIP = 10
"""Iterations at the start that do not count: caches and memory settle."""


@dataclass(frozen=True)
class Case:
    """A problem of one of the models, and how near to its floor the engine should come."""

    name: str
    pose: Callable[[], tuple[Problem, list[np.ndarray] | None]]
    aim: float = 1.3
    iterations: int = 60


# ---------------------------------------------------------------- the problems


def sparse_components(data: Any, start: np.ndarray, alpha: float) -> Problem:
    """min -‖D Y‖²/(2m) + α‖V‖₁ subject to Y = V, YᵀY = I, for the centred data D."""
    Y = Block(f=PCAVariance(data, center=True), h=Stiefel(), A=-1.0, shape=start.shape, name="Y")
    return Problem([Y, Block(h=L1(alpha), shape=start.shape, name="V")])


def principal_components(samples: int, features: int, components: int) -> tuple[Problem, list[np.ndarray]]:
    """Sparse principal components of Gaussian data, from a random orthonormal start."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, features))
    start = np.linalg.qr(rng.standard_normal((features, components)))[0]
    return sparse_components(data, start, 0.1), [start, start]


def texts(
    documents: int = 9394, words: int = 36_771, nonzeros: int = 1_200_000
) -> tuple[Problem, list[np.ndarray]]:
    """Sparse principal components of sparse data of the size and density of TDT2; never dense."""
    rng = np.random.default_rng(0)
    data = sp.random_array((documents, words), density=nonzeros / (documents * words), rng=rng, format="csr")
    start = np.linalg.qr(rng.standard_normal((words, 20)))[0]
    return sparse_components(data, start, 0.001), [start, start]


def low_rank(n: int = 1000, rank: int = 10) -> tuple[Problem, None]:
    """A matrix of rank 10 with a tenth of its entries grossly wrong, and noise."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))
    wrong = np.where(rng.random((n, n)) < 0.1, np.sqrt(rank) * rng.uniform(-10, 10, (n, n)), 0.0)
    return RobustLowRank(rank=rank).problem(truth + wrong + 0.1 * rng.standard_normal((n, n))), None


def regression(samples: int = 2000, features: int = 5000, sparsity: int = 20) -> tuple[Problem, None]:
    """Sparse regression with a tenth of the targets grossly wrong, and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, features))
    y = X[:, :sparsity] @ (1 + rng.random(sparsity)) + 0.5 * rng.standard_normal(samples)
    y[: samples // 10] += 10 * rng.standard_normal(samples // 10)
    return RobustSparseRegressor(sparsity, fit_intercept=False).problem(X, y), None


def dual_pcp(
    samples: int = 100_000, features: int = 30, normals: int = 3
) -> tuple[Problem, list[np.ndarray]]:
    """A subspace with noise, half of the samples outliers, from a random orthonormal start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, features))
    X[::2, :normals] *= 0.05
    problem = DualPCP(n_codimensions=normals).problem(X)
    start = np.linalg.qr(rng.standard_normal((features, normals)))[0]
    return problem, [start, -problem.operators[0].apply(start)]


CASES = (
    Case("sparse PCA 500x20", lambda: principal_components(1500, 500, 20), 1.6, 100),
    Case("sparse PCA 5000x50, Gram matrix", lambda: principal_components(2600, 5000, 50), iterations=20),
    Case("sparse PCA 5000x50, implicit", lambda: principal_components(900, 5000, 50), iterations=20),
    Case("text 36771x20, sparse", texts, iterations=20),
    Case("robust low rank 1000x1000", low_rank, iterations=30),
    Case("regression 2000x5000", regression, iterations=40),
    Case("dual PCP 100000x30", dual_pcp, iterations=30),
)


# ---------------------------------------------------------------- measuring


class Clocked(Method):
    """A method that notes the CPU clock at every step."""

    def __init__(self, inner: Method):
        self.inner, self.name, self.times = inner, inner.name, []

    def init(self, problem: Problem, x0: tuple, z0: Any) -> tuple[Any, Any]:
        return self.inner.init(problem, x0, z0)

    def step(self, setup: Any, carry: Any) -> tuple[Any, State]:
        self.times.append(time.process_time())
        return self.inner.step(setup, carry)


def timed(case: Case, problem: Problem, start: Any, method: Method) -> np.ndarray:
    """CPU seconds of every iteration of one run, from step to step, so with the checks between."""
    clocked = Clocked(method)
    solve(problem, start, method=clocked, max_iter=case.iterations + 1, tol=0.0, check_every=CHECK_EVERY)
    return np.diff(clocked.times)[SKIP:]


def frequencies(case: Case, problem: Problem, start: Any, method: Method) -> dict[str, float]:
    """Trials, stages and sweeps of Krylov spaces per iteration, counted by the calls that make them."""
    (first, second), calls, seen = problem.blocks, {"trial": 0, "either": 0, "sweep": 0}, []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return function(*arguments)

        return call

    class Counted(Clocked):
        def step(self, setup: Any, carry: Any) -> tuple[Any, State]:
            seen.append(dict(calls))
            return self.inner.step(setup, carry)

    # every trial takes one prox of x and one of y, every stage one of y; every sweep one product with vᵀ
    with (
        patch.object(first.h, "prox_warm", counted("trial", first.h.prox_warm)),
        patch.object(second.h, "prox", counted("either", second.h.prox)),
        patch.object(truncation, "_images", counted("sweep", truncation._images)),
    ):
        solve(problem, start, method=Counted(method), max_iter=case.iterations + 1, tol=0.0)
    per = {name: (seen[-1][name] - seen[SKIP][name]) / (len(seen) - 1 - SKIP) for name in calls}
    return per | {"iteration": 1.0, "stage": per["either"] - per["trial"], "check": 1 / CHECK_EVERY}


def least(operations: list[Operation], before: np.ndarray | None) -> np.ndarray:
    """Seconds of every operation, run in the order of an iteration; the least of these and those `before`."""
    found = []
    for operation in operations:
        begin = time.process_time()
        operation.run()
        found.append(time.process_time() - begin)
    times = np.array(found)
    return times if before is None else np.minimum(times, before)


@dataclass(frozen=True)
class Measured:
    """CPU seconds of one iteration and of its parts."""

    case: Case
    engine: float
    plain: float
    """Of an iteration of Algorithm 1 with practical parameters."""
    times: dict[str, float]
    """Trials, stages, ... per iteration."""
    floor: dict[str, float]
    """Seconds per iteration by kind of operation."""
    listed: tuple[tuple[str, str, float], ...]
    """Every operation: what, per what, seconds once."""

    @property
    def ratio(self) -> float:
        return self.engine / sum(self.floor.values())


def measure(case: Case, repeats: int = 6, rounds: int = 1) -> Measured:
    """Engine and floor in turns."""
    problem, start = case.pose()
    often = frequencies(case, problem, start, AcceleratedIPDS())
    needed = list(operations(problem))
    nothing = Operation("nothing", "pass", "iteration", lambda: None)
    clock = float(np.min(least([nothing] * 100, None)))  # what looking at the clock costs, once it is warm
    engine, plain, least_of = [], [], None
    for _ in range(repeats):
        engine.append(timed(case, problem, start, AcceleratedIPDS()))
        plain.append(timed(case, problem, start, IPDS()))
        for _ in range(rounds):
            least_of = least(needed, least_of)
    assert least_of is not None
    once = np.maximum(least_of - clock, 0.0)
    floor = {"product": 0.0, "decomposition": 0.0, "pass": 0.0}
    for operation, seconds in zip(needed, once, strict=True):
        floor[operation.kind] += often[operation.per] * float(seconds)
    listed = tuple((op.what, op.per, float(seconds)) for op, seconds in zip(needed, once, strict=True))
    return Measured(case, _mean(engine) - clock, _mean(plain) - clock, often, floor, listed)


def _mean(runs: list[np.ndarray]) -> float:
    """Seconds of an iteration: of each the least over the runs, then their mean."""
    return float(np.mean(np.min(runs, axis=0)))


# ---------------------------------------------------------------- the report


def summary(rows: list[Measured]) -> str:
    headers = ["problem", "engine ms", "floor ms", "products", "decomposition", "passes"]
    headers += ["trials", "stages", "sweeps", "ratio", "aim", "", "plain ms"]
    lines = []
    for row in rows:
        floor = sum(row.floor.values())
        shares = [f"{part / floor if floor else 0:.0%}" for part in row.floor.values()]
        verdict = "met" if row.ratio <= row.case.aim else "missed"
        counts = [f"{row.times[per]:.2f}" for per in ("trial", "stage", "sweep")]
        line = [row.case.name, f"{1e3 * row.engine:.2f}", f"{1e3 * floor:.2f}", *shares, *counts]
        lines.append([*line, f"{row.ratio:.2f}", f"{row.case.aim}", verdict, f"{1e3 * row.plain:.2f}"])
    return table(headers, lines)


def details(row: Measured) -> str:
    lines = [[what, per, f"{1e3 * seconds:.3f}"] for what, per, seconds in row.listed]
    return f"{row.case.name}\n\n" + table(["operation", "per", "ms"], lines)


def section(rows: list[Measured], elapsed: float, quick: bool) -> str:
    missed = [f"{row.case.name} ({row.ratio:.2f}x)" for row in rows if row.ratio > row.case.aim]
    known = facts(elapsed, [], quick)
    stated = "\n".join(f"- {name}: {known[name]}" for name in ("Date", "Machine", "Versions", "Run"))
    verdict = f"Above the aim: {', '.join(missed)}." if missed else "All within the aim."
    return f"{INTRODUCTION}\n{stated}\n\n{summary(rows)}\n{verdict}\n"


INTRODUCTION = """## One iteration and its floor

Made by `python benchmarks/floor.py --write docs/performance_log.md` (`make bench-floor`); not edited by hand.

`floor`: the sum of what one iteration of accelerated IPDS cannot avoid (`benchmarks/operations.py` lists it, operation
by operation): products, decompositions, elementwise passes and inner products, each spelled as fast as NumPy, BLAS
and SciPy allow, written into buffers made beforehand, without any bookkeeping. `engine`: one iteration as
`ipds.solve` drives it, a check every tenth iteration included. `trials`: steps tried per iteration (a search may
need more than one). `stages`: dual steps and changes of the smoothing per iteration. `sweeps`: products with the
matrix and its transpose that the partial decomposition of the rank takes. `plain`: one iteration of Algorithm 1 with
practical parameters. CPU milliseconds on one thread, the least of several for every iteration and every operation,
engine and floor in turns.

How the rank is counted decides its verdict. With one sweep per projection, as if the last vectors were right already,
the ratio was 1.91 before the warm start, and would still be above the aim. All sweeps made, then their
orthogonalisation, were counted later: 1.31 and 1.45, in runs that sampled the floor more often than the engine. Since
then both are sampled equally often.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three repeats in place of six")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="problems whose name holds a word"
    )
    parser.add_argument("--details", action="store_true", help="show the time of every operation")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page whose section to write")
    options = parser.parse_args()
    began, rows = time.time(), []
    for case in CASES:
        if options.only and not any(word in case.name for word in options.only):
            continue
        rows.append(measure(case, *((3, 1) if options.quick else ())))
        print(f"{case.name}: {rows[-1].ratio:.2f}x the floor", flush=True)
        if options.details:
            print(details(rows[-1]), flush=True)
    text = section(rows, time.time() - began, options.quick)
    print(text)
    if options.write:
        write_section(options.write, "floor", text)


if __name__ == "__main__":
    main()
