"""ipds beside the packages one could use instead: one run, one table, failures included.

    make bench-peers [ARGS=--quick]        python -m benchmarks.beside_peers [--quick] [--write docs/comparison.md]

CPU seconds of one thread. Every solver of an instance runs in this process after the others, from the same data and
start; `problems` scores what it returns, and the points that it shows on the way, at the nearest feasible point, off
the clock. A package that is not installed, or that raises, is a row that says so.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import importlib.metadata
import math
import platform
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import packages, peers
from benchmarks.engine import OURS, Plan, Solver, run
from benchmarks.pages import write_section
from benchmarks.problems import dual_pcp, lasso, low_rank, phase, regression, total_variation, trade_off
from benchmarks.report import Row

TARGETS = (1e-3, 1e-5)
DISTRIBUTIONS = (
    "cvxpy",
    "clarabel",
    "highspy",
    "osqp",
    "scs",
    "unopy",
    "cyipopt",
    "alpaqa",
    "skscope",
    "skglm",
    "celer",
    "prox_tv",
    "sparsepca",
    "pymanopt",
    "pyproximal",
    "scico",
    "scikit-learn",
    "scipy",
    "numpy",
)


def _package(label: str, call: Any) -> Solver:
    return Solver(label, "package", call)


UNO = _package("CVXPY DNLP (UNO)", peers.smooth_programming("UNO"))
IPOPT = _package("CVXPY DNLP (IPOPT)", peers.smooth_programming("IPOPT"))
PYMANOPT = _package("pymanopt, ℓ1 smoothed", packages.conjugate_gradients)
ADMM = (
    _package("pyproximal ADMM, own prox", peers.splitting_pyproximal),
    _package("SCICO ADMM, own prox", peers.splitting_scico),
)
COMPONENTS = (OURS, UNO, IPOPT, PYMANOPT, *ADMM, _package("sparsepca", peers.variable_projection))
PHASE = (
    OURS,
    UNO,
    IPOPT,
    _package("alpaqa (PANOC)", peers.panoc),
    _package("SciPy SLSQP", packages.quadratic_programming),
)
REGRESSION = (
    OURS,
    _package("skscope, Huber", peers.splicing),
    _package("skglm, Huber + MCP", peers.folded_concave),
    _package("CVXPY relaxation (HiGHS)", peers.convex_programming("HIGHS")),
    _package("scikit-learn quantile", packages.quantile_regression),
)
CONVEX = tuple(_package(f"CVXPY ({s})", peers.convex_programming(s)) for s in ("CLARABEL", "OSQP", "SCS"))
LASSO = (
    OURS,
    *(_package(p, peers.coordinate_descent(p)) for p in ("celer", "skglm", "scikit-learn")),
    *CONVEX,
)


def plans(quick: bool) -> Iterator[Plan]:
    """What is measured: small enough that every package has a chance."""

    def plan(family: str, make: Any, solvers: tuple[Solver, ...]) -> Plan:
        return Plan(
            family, make, solvers, 1 if quick else 3, 2.0 if quick else 6.0, math.inf, math.inf, TARGETS
        )

    n, m = (30, 5) if quick else (100, 50)
    yield plan(
        "sparse PCA",
        partial(trade_off, "randn", folder=None, n=n, weight=0.6, r=3 if quick else 5, m=m),
        COMPONENTS,
    )
    yield plan("phase", partial(phase, 40, 120, 5, 10), PHASE)
    yield plan(
        "regression", partial(regression, *((60, 30, 4, 0.1) if quick else (200, 100, 8, 0.2))), REGRESSION
    )
    yield plan(
        "dual PCP", partial(dual_pcp, *((10, 2, 60, 30) if quick else (10, 2, 150, 150))), (OURS, UNO, IPOPT)
    )
    yield plan(
        "low rank", partial(low_rank, *((30, 2, 0.2, 0.0) if quick else (100, 4, 0.2, 0.0))), (OURS, *ADMM)
    )
    yield plan("lasso", partial(lasso, *((60, 100, 0.1) if quick else (300, 1000, 0.1))), LASSO)
    string = _package("prox-tv", peers.taut_string)
    yield plan(
        "total variation", partial(total_variation, 200 if quick else 2000, 3.0), (OURS, string, *CONVEX)
    )


def table(rows: list[Row]) -> list[str]:
    """One problem: median seconds to each distance from the best objective, of the whole run, and the final gap."""
    best = {row.seed: min([r.objective for r in rows if r.seed == row.seed] + [row.known]) for row in rows}
    best |= {s: min(b, *(v for r in rows if r.seed == s for _, v in r.curve[-1:])) for s, b in best.items()}
    lines = []
    for label in dict.fromkeys(row.solver for row in rows):
        own = [row for row in rows if row.solver == label]
        failed = [row for row in own if not math.isfinite(row.objective)]
        if len(failed) == len(own):
            lines.append(f"| | {label} | | | | fails: {_reason(failed[0].status)} |")
            continue
        cells = []
        for target in TARGETS:
            times = [_reached(row, best[row.seed] + target * abs(best[row.seed])) for row in own]
            hits = [t for t in times if math.isfinite(t)]
            count = "" if len(hits) == len(own) else f" ({len(hits)} of {len(own)})"
            cells.append(f"{statistics.median(hits):.2g}{count}" if hits else "never")
        gap = statistics.median((row.objective - best[row.seed]) / abs(best[row.seed]) for row in own)
        seconds = statistics.median(row.seconds for row in own)
        notes = [_reason(row.status) for row in own if row.status not in ("finished", "stopped")]
        ended = "stopped" if any(row.status == "stopped" for row in own) else "; ".join(dict.fromkeys(notes))
        lines.append(f"| | {label} | {' | '.join(cells)} | {seconds:.2g} | {max(gap, 0.0):.0e} {ended}|")
    first = lines[0].split("|", 2)
    return [f"| {rows[0].problem} |{first[2]}", *lines[1:]]


def _reached(row: Row, target: float) -> float:
    return next((t for t, value in row.curve if value <= target), math.inf)


def _reason(status: str) -> str:
    """A failure in a few words."""
    if "No module named" in status or "not installed" in status:
        return "not installed"
    line = status.splitlines()[0].replace("|", "/")
    return line if len(line) <= 60 else line[:57] + "..."


def versions() -> str:
    found = []
    for name in DISTRIBUTIONS:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def page(tables: list[str]) -> str:
    within = " | ".join(f"within {target:.0e}".replace("e-0", "e-") for target in TARGETS)
    head = [f"| problem | solver | {within} | whole run | final gap |", "|---|---|---|---|---|---|"]
    facts = f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores shared; {versions()}."
    return "\n".join([*head, *tables, "", facts])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small instances, one seed")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="FAMILY", help="sparse PCA, phase, lasso, ..."
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table, e.g. docs/comparison.md")
    options = parser.parse_args()
    tables: list[str] = []
    for plan in plans(options.quick):
        if not options.only or plan.family in options.only:
            new = table(run(plan))
            print("\n".join(new), flush=True)
            tables += new
    if options.write:
        write_section(options.write, "peers", page(tables))


if __name__ == "__main__":
    main()
