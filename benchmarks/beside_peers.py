"""ipds beside the packages one could use instead: one run, one table, failures included.

    make bench-peers [ARGS=--quick]        python -m benchmarks.beside_peers [--quick] [--write docs/comparison.md]

CPU seconds of one thread. The solvers run one after another, each in a process of its own, from the same data and
start; `problems` scores what they return, and the points that they show on the way, at the nearest feasible point, off
the clock. A package that is not installed, that raises, dies or does not answer is a row that says so.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import importlib.metadata
import math
import multiprocessing
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from benchmarks import packages, peers
from benchmarks.engine import OURS, WARM_UP, Plan, Solver, measure
from benchmarks.pages import in_words, where_and_when, write_section
from benchmarks.problems import dual_pcp, lasso, low_rank, phase, regression, total_variation, trade_off
from benchmarks.report import Row

TARGETS = (1e-3, 1e-5)
LIMIT, QUICK_LIMIT = 60.0, 10.0
"""Seconds for one solve. Solvers that show their points are stopped there; UNO and IPOPT are told of it."""
GRACE = 2.0
"""A process without an answer after this multiple of the limit, by the wall clock, is ended."""
COMPILING = 180.0
"""Seconds at least for the unmeasured warm-up: Numba and JAX compile in it."""
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
        seeds, limit = (1, QUICK_LIMIT) if quick else (3, LIMIT)
        return Plan(family, make, solvers, seeds, limit, math.inf, math.inf, TARGETS)

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


def rows_of(plan: Plan) -> list[Row]:
    """Every solver on every seed. A process that fails is replaced by a new one, which goes on with the next seed."""
    rows: list[Row] = []
    for solver in plan.solvers:
        own: list[Row] = []
        while len(own) < plan.seeds:
            own += _in_a_process(plan, solver, len(own))
        rows += own
    return rows


def _in_a_process(plan: Plan, solver: Solver, first: int) -> list[Row]:
    """Rows of the seeds from `first` on, up to the first without an answer, whose row says so."""
    context = multiprocessing.get_context(
        "fork"
    )  # solvers are closures, which are not sent to other processes
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(plan, solver, first, sender))
    process.start()
    sender.close()
    rows: list[Row] = []
    limit = max(GRACE * plan.budget, COMPILING)
    try:
        while receiver.poll(limit):
            message = receiver.recv()
            if message is None:  # the solver is warm
                limit = GRACE * plan.budget
            else:
                rows.append(message)
            if first + len(rows) == plan.seeds:
                return rows
        reason = f"no answer in {limit:g} s"
    except EOFError:
        process.join()
        reason = f"its process ended with code {process.exitcode}"
    finally:
        process.kill()
        process.join()
    seed = first + len(rows)
    failing = replace(solver, run=partial(_fail, reason))
    return [*rows, measure(plan, failing, plan.make(seed), seed, plan.budget)]


def _answer(plan: Plan, solver: Solver, first: int, sender: Any) -> None:
    """In the process: warm up, unmeasured, then one row for each seed."""
    measure(plan, solver, plan.make(first), first, WARM_UP)
    sender.send(None)
    for seed in range(first, plan.seeds):
        sender.send(measure(plan, solver, plan.make(seed), seed, plan.budget))


def _fail(reason: str, *_: Any) -> NoReturn:
    raise TimeoutError(reason)


def table(rows: list[Row]) -> list[str]:
    """One problem: median seconds to each distance from the best objective, of the whole run, and the final gap."""
    best: dict[int, float] = {}
    for row in rows:
        best[row.seed] = min(best.get(row.seed, math.inf), row.objective, row.known, row.best())
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
        ended_well = [row for row in own if row not in failed]
        gap = statistics.median((row.objective - best[row.seed]) / abs(best[row.seed]) for row in ended_well)
        seconds = statistics.median(row.seconds for row in ended_well)
        notes = [_reason(row.status) for row in own if row.status not in ("finished", "stopped")]
        ended = "stopped" if any(row.status == "stopped" for row in own) else "; ".join(dict.fromkeys(notes))
        lines.append(f"| | {label} | {' | '.join(cells)} | {seconds:.2g} | {max(gap, 0.0):.0e} {ended}|")
    first = lines[0].split("|", 2)
    return [f"| {in_words(rows[0].problem)} |{first[2]}", *lines[1:]]


def _reached(row: Row, target: float) -> float:
    return next((t for t, value in row.curve if value <= target), math.inf)


def _reason(status: str) -> str:
    """A failure in a few words."""
    if "No module named" in status or "not installed" in status:
        return "not installed"
    line = status.removeprefix("TimeoutError: ").splitlines()[0].replace("|", "/")
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
    return "\n".join([*head, *tables, "", f"{where_and_when()} {versions()}."])


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
            new = table(rows_of(plan))
            print("\n".join(new), flush=True)
            tables += new
    if options.write:
        write_section(options.write, "peers", page(tables))


if __name__ == "__main__":
    main()
