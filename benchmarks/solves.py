"""A whole solve beside what its steps need: products made and needed, and where its time goes.

A trial of accelerated IPDS needs one product with every matrix and its transpose, and one gradient of every f (with a
covariance, or the matrix of a loss); a new multiplier or smoothing one more with every transpose; a pursuit one with
the transpose at its start and at every support; a step of reweighted eigenvectors one product, and one of weighted rows
with themselves; steps from selection to selection all that they make. Starts, scales, checks and finishes on a face
make more.
A gradient counts once, whatever products are in it.
CPU time on one thread, the least of several; the floor is that of the products needed, so that a ratio includes all
else: proxes, passes over arrays, certificates, Python.

    python benchmarks/solves.py [--write docs/performance_log.md]
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
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks import problems
from benchmarks.pages import where_and_when, write_section
from benchmarks.report import table

from ipds import Problem, solve
from ipds.functions import PhaseRetrieval
from ipds.functions.covariance import Covariance
from ipds.methods import reweighted, selections
from ipds.methods.accelerated import method, search
from ipds.methods.faces import method as faces
from ipds.methods.faces import pursuit
from ipds.operators import Matrix

CASES: dict[str, Callable[[], problems.Case]] = {
    "sparse PCA 1500x500, rho=1": lambda: problems.paper_pca("randn", 1.0, 0, None, 1500, 500),
    "regression 200x100": lambda: problems.regression(200, 100, 8, 0.2, 0),
    "regression 1000x2000": lambda: problems.regression(1000, 2000, 20, 0.1, 0),
    "dual PCP 30/3": lambda: problems.dual_pcp(30, 3, 300, 300, 0),
    "phase 40/120": lambda: problems.phase(40, 120, 5, 10, 0),
}
PRODUCTS = (
    (Matrix, "apply"),
    (Matrix, "adjoint"),
    (Covariance, "apply"),
    (PhaseRetrieval, "value_and_grad"),
    (PhaseRetrieval, "grad"),
    (PhaseRetrieval, "__call__"),
    (reweighted, "weighted_gram"),
)
STEPS = (
    (search, "try_step"),
    (method, "begin"),
    (faces, "pursued"),
    (pursuit, "Fit"),
    (reweighted, "weighted_gram"),
)
SELECTIONS = ((selections, "lower"), (selections, "cheapest"))
REPEATS = 7


@contextmanager
def counted() -> Iterator[dict[str, float]]:
    """Products and their seconds, calls of `STEPS` by name, and products within `SELECTIONS`."""
    found = {"products": 0, "seconds": 0.0, "selected": 0, **{name: 0 for _, name in STEPS}}
    within = {"product": 0, "selection": 0}

    def product(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if within["product"]:  # a part of one that counts
                return function(*arguments, **options)
            begin = time.process_time()
            within["product"] = 1
            try:
                return function(*arguments, **options)
            finally:
                within["product"] = 0
                found["seconds"] += time.process_time() - begin
                found["products"] += 1
                found["selected"] += within["selection"]

        return call

    def selection(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            within["selection"] = 1
            try:
                return function(*arguments)
            finally:
                within["selection"] = 0

        return call

    def step(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            found[name] += 1
            return function(*arguments)

        return call

    with ExitStack() as stack:
        for owner, name in PRODUCTS:
            stack.enter_context(patch.object(owner, name, product(getattr(owner, name))))
        for owner, name in SELECTIONS:
            stack.enter_context(patch.object(owner, name, selection(getattr(owner, name))))
        for owner, name in STEPS:
            stack.enter_context(patch.object(owner, name, step(getattr(owner, name), name)))
        yield found


def needed_by(found: dict[str, float], problem: Problem) -> int:
    """Products that the steps of a solve need."""
    matrices = sum(isinstance(op, Matrix) for op in problem.operators)
    smooth = sum(block.f is not None for block in problem.blocks)
    trials = found["try_step"] * (2 * matrices + smooth)
    return int(
        trials
        + found["begin"] * matrices
        + found["pursued"]
        + found["Fit"]
        + 2 * found["weighted_gram"]
        + found["selected"]
    )


def row(name: str, case: problems.Case) -> list[str]:
    problem, start = case.pose()
    with counted() as found:
        result = solve(problem, start)
    needed = needed_by(found, problem)
    times = []
    for _ in range(REPEATS):
        problem, start = case.pose()
        begin = time.process_time()
        solve(problem, start)
        times.append(time.process_time() - begin)
    floor, made = found["seconds"] / found["products"] * needed, int(found["products"])
    ratio, slower = (f"{made / needed:.2f}", f"{min(times) / floor:.1f}") if needed else ("-", "-")
    return [
        name,
        f"{result.nit}",
        f"{made}",
        f"{needed}",
        ratio,
        f"{1e3 * min(times):.1f}",
        f"{1e3 * floor:.1f}",
        slower,
    ]


HEADERS = ["problem", "iterations", "products", "needed", "ratio", "ms", "floor ms", "ratio "]
INTRODUCTION = """## A whole solve and its floor

Made by `python benchmarks/solves.py --write docs/performance_log.md` (`make bench-floor`); not edited by hand.

`solve(problem, x0)` with default options. `needed`: one product with every matrix, one with its transpose and one
gradient for every trial of the search, one with the transpose for every dual step, for the start of a pursuit and for
each of its supports, two products for a step of reweighted eigenvectors, all that selections are priced by; `products`:
those made, with starts, scales, checks and exact finishes on a face, a gradient counted once. `floor`: the time of the
products needed alone.
CPU milliseconds on one thread, the least of several.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page whose section to write")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row(name, make()) for name, make in CASES.items()]
    text = f"{INTRODUCTION}\n{table(HEADERS, rows)}\n\n{where_and_when()}"
    print(text)
    if options.write:
        write_section(options.write, "solves", text)


if __name__ == "__main__":
    main()
