"""The engine beside specialists, packages and the unaccelerated algorithm: one command, one table.

    python benchmarks/engine.py [--quick] [--data DIR] [--only WORD ...] [--write docs/performance_log.md]

One thread. CPU seconds; every point is scored at a feasible point by `problems`, off the clock. All solvers of an
instance run one after another in this process, so that ratios are of one run. ipds is called with default options,
solve(problem, x0, tol=1e-7), and stopped by the budget; specialists are not asked for a certificate.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import importlib.util
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from benchmarks import packages, report, specialists
from benchmarks.clock import Recorder
from benchmarks.pages import write_section
from benchmarks.problems import (
    Array,
    Case,
    dual_pcp,
    low_rank,
    paper_pca,
    phase,
    regression,
    trade_off,
)
from benchmarks.report import Row

import ipds
from ipds.experiments.datasets import DataMissing
from ipds.methods import IPDS, RADMM, SPGM, AcceleratedIPDS, Method, RiemannianALM

Run = Callable[[Case, Recorder], object]


@dataclass(frozen=True)
class Solver:
    """A row of the table; `kind` is "ours", "variant" (of ours), "specialist" or "package"."""

    label: str
    kind: str
    run: Run
    share: float = 1.0
    """Part of the seeds it runs on: less than one for slow rows."""
    cap: float = math.inf
    """Seconds at most."""


@dataclass(frozen=True)
class Plan:
    """One problem, its seeds and its solvers. `allowed`: ratio to the fastest specialist that we aim for."""

    family: str
    make: Callable[[int], Case]
    solvers: tuple[Solver, ...]
    seeds: int
    budget: float
    patience: float
    allowed: float
    targets: tuple[float, ...] = (1e-3,)


def engine(choose: Callable[[Case], str | Method] = lambda case: "auto") -> Run:
    """ipds.solve with default options and the method chosen."""

    def run(case: Case, record: Recorder) -> Array:
        problem, x0 = case.pose()
        result = ipds.solve(
            problem,
            x0,
            method=choose(case),
            tol=1e-7,
            max_iter=10**7,
            check_every=5,
            callback=lambda shown: record(shown.x[case.block]),
        )
        return result.x[case.block]

    return run


def stepping(make: Callable[[], Method]) -> Run:
    """A baseline of this package stepped by hand: no certificate, nothing on the clock but its own iterations."""

    def run(case: Case, record: Recorder) -> None:
        problem, x0 = case.pose()
        for state in ipds.iterate(problem, x0, method=make()):
            record(state.x[case.block])

    return run


WARM_UP = 0.05
"""Seconds, unmeasured, of every solver on the first instance."""
OURS = Solver("ipds", "ours", engine())
UNACCELERATED = (
    Solver("IPDS practical", "variant", engine(lambda case: IPDS("practical")), 0.2, 3.0),
    Solver("IPDS sound", "variant", engine(lambda case: IPDS("sound")), 0.2, 3.0),
)


def _from(multiple: float) -> Solver:
    method = engine(lambda case: AcceleratedIPDS(beta0=multiple * case.data["rho"]))
    return Solver(f"ipds beta0={multiple}rho", "variant", method)


def _effort(effort: str, case: Case) -> Method:
    return AcceleratedIPDS(effort)


PAPER: tuple[Solver, ...] = (
    OURS,
    *(_from(multiple) for multiple in (10, 50, 100, 500)),
    Solver("smoothing homotopy", "specialist", specialists.smoothing_homotopy(100)),
    Solver("Riemannian ALM", "specialist", stepping(RiemannianALM)),
    Solver("RADMM tuned", "specialist", stepping(lambda: RADMM("tuned")), 0.4),
    Solver("SPGM tuned", "specialist", stepping(lambda: SPGM("tuned")), 0.2),
    *UNACCELERATED,
)
TRADE: tuple[Solver, ...] = (
    OURS,
    Solver("smoothing homotopy", "specialist", specialists.smoothing_homotopy(200)),
    Solver("slow homotopy", "specialist", specialists.smoothing_homotopy(30, 0.9, 1.0)),
    Solver("slower homotopy", "specialist", specialists.smoothing_homotopy(200, 0.7, 0.3)),
    Solver("Riemannian ALM", "specialist", stepping(RiemannianALM)),
    Solver("RADMM tuned", "specialist", stepping(lambda: RADMM("tuned")), 0.3),
    Solver("SPGM tuned", "specialist", stepping(lambda: SPGM("tuned")), 0.3),
    *UNACCELERATED,
)
if importlib.util.find_spec("pymanopt"):
    TRADE += (Solver("pymanopt", "package", packages.conjugate_gradients, 0.3),)
EFFORTS = tuple(
    Solver(
        f"effort={effort}", "ours" if effort == "balanced" else "variant", engine(partial(_effort, effort))
    )
    for effort in ("fast", "balanced", "thorough")
)
REGRESSION = (
    OURS,
    Solver("trimmed pursuit", "specialist", specialists.trimmed_pursuit),
    Solver("ADMM thresholding", "specialist", specialists.admm_thresholding, 0.5),
    *UNACCELERATED,
)
QUANTILE = Solver("scikit-learn quantile", "package", packages.quantile_regression, 0.5)
PURSUIT = (OURS, Solver("IRLS", "specialist", specialists.reweighted_eigenvectors), *UNACCELERATED)
LOW_RANK = (
    OURS,
    Solver("alternating projections", "specialist", specialists.alternating_projections),
    Solver("IRLS on factors", "specialist", specialists.reweighted_factors),
    *UNACCELERATED,
)
PHASE = (
    OURS,
    Solver("Wirtinger flow + prox", "specialist", specialists.wirtinger_then_prox),
    Solver("SciPy SLSQP", "package", packages.quadratic_programming, 0.5),
    *UNACCELERATED,
)


def plans(folder: Path | None, quick: bool) -> list[Plan]:
    """Everything measured; with `quick` only what needs no data and little time."""
    found = []

    def add(family: str, make: Callable[[int], Case], *settings: Any, **targets: Any) -> None:
        found.append(Plan(family, make, *settings, **targets))

    for source, n in [("randn", 500)] if quick else [("randn", 500), ("mnist", 780), ("TDT2", 500)]:
        for rho in (1.0, 100.0):
            case = partial(paper_pca, source, rho, folder=folder, m=1500, n=n)
            add("paper", case, PAPER, 5, 3.0, 0.5, 2.0)
    kinds = [("randn", 500, 0.6), ("randn", 1000, 0.8)]
    kinds += [] if quick else [(gene, 0, 0.6) for gene in ("Leukemia", "Arabidopsis", "Lymph")]
    both = (1e-2, 1e-3)
    for source, n, weight in kinds:
        case = partial(trade_off, source, folder=folder, n=n, weight=weight)
        add("trade-off", case, TRADE, 3, 5.0, 1.5, 1.0, targets=both)
    effort = partial(trade_off, "randn", folder=None, n=500, weight=0.6)
    add("effort", effort, EFFORTS, 2, 8.0, math.inf, math.inf, targets=both)
    add("regression", partial(regression, 200, 100, 8, 0.2), (*REGRESSION, QUANTILE), 20, 1.0, 0.5, 3.0)
    add("regression", partial(regression, 1000, 2000, 20, 0.1), REGRESSION, 20, 2.0, 1.0, 3.0)
    add("dual PCP", partial(dual_pcp, 30, 3, 300, 300), PURSUIT, 20, 1.0, 0.5, 3.0)
    for missing in (0.0, 0.3):
        add("low rank", partial(low_rank, 150, 5, 0.2, missing), LOW_RANK, 20, 2.0, 1.0, 3.0)
    if not quick:
        add("low rank", partial(low_rank, 1000, 10, 0.1, 0.0), LOW_RANK, 1, 8.0, 4.0, 3.0)
    add("phase", partial(phase, 40, 120, 5, 10), PHASE, 20, 1.0, 0.5, 3.0)
    return found


def measure(plan: Plan, solver: Solver, case: Case, seed: int, budget: float) -> Row:
    """One solver on one instance."""
    ours = solver.kind in ("ours", "variant")
    record = Recorder(case.score, min(budget, solver.cap), math.inf if ours else plan.patience)
    status, last = "finished", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record.start()
        try:
            last = solver.run(case, record)
        except Exception as error:  # a failure is a result; a stop by the recorder is none
            status = f"{type(error).__name__}: {error}"
        seconds = record.seconds()
        if record.over:
            status, last = "stopped", None  # wherever the stop caught it, the best point seen stands
        if last is not None:
            record(last, final=True)
    scored = case.score(last) if last is not None else record.best
    objective, point = scored if scored is not None else (math.inf, None)
    return Row(
        family=plan.family,
        problem=case.name,
        key=repr(case.key),
        seed=seed,
        solver=solver.label,
        kind=solver.kind,
        status=status,
        seconds=seconds,
        objective=objective,
        error=case.error(point) if point is not None else math.inf,
        good=None if case.good is None or point is None else bool(case.good(point)),
        known=case.known,
        curve=record.curve,
        targets=plan.targets,
        allowed=plan.allowed,
    )


def run(plan: Plan, seeds: int | None = None, budget: float | None = None) -> list[Row]:
    """All solvers of a plan, instance by instance; the first instance warms every solver up, unmeasured."""
    rows = []
    count = plan.seeds if seeds is None else min(seeds, plan.seeds)
    for seed in range(count):
        case = plan.make(seed)
        for solver in plan.solvers:
            if seed >= max(1, math.ceil(solver.share * count)):
                continue
            if seed == 0:
                measure(plan, solver, case, seed, WARM_UP)
            rows.append(measure(plan, solver, case, seed, plan.budget if budget is None else budget))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one seed, no data files, under two minutes")
    parser.add_argument("--data", type=Path, help="folder of TDT2.mat, t10k-images-idx3-ubyte.gz, gene/*.mat")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="FAMILY", help="paper, trade-off, effort, ..."
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page, e.g. docs/performance_log.md"
    )
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep the measurements as JSON")
    parser.add_argument(
        "--read", type=Path, metavar="FILE", help="show measurements kept by --rows; measure nothing"
    )
    options = parser.parse_args()
    folder = options.data or (Path(os.environ["IPDS_DATA"]) if os.environ.get("IPDS_DATA") else None)
    if options.read:
        kept = json.loads(options.read.read_text())
        facts, rows = kept["facts"], [Row(**row) for row in kept["rows"]]
    else:
        began, rows, skipped = time.time(), [], []
        for plan in plans(folder, options.quick):
            if options.only and plan.family not in options.only:
                continue
            try:
                new = run(plan, *((1, 1.5) if options.quick else ()))
            except DataMissing as reason:
                skipped.append(str(reason))
                print(f"skipped: {reason}\n", flush=True)
                continue
            rows += new
            print(report.problem_table(new, report.references(rows)), flush=True)
        facts = report.facts(time.time() - began, skipped, options.quick)
        if options.rows:
            options.rows.write_text(json.dumps({"facts": facts, "rows": [asdict(row) for row in rows]}))
    print(report.summary(rows))
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        write_section(options.write, "engine", report.page(facts, rows))
        print(f"written: {options.write}")


if __name__ == "__main__":
    main()
