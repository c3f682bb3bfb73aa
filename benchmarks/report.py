"""Tables of the measurements, for the terminal and for the documentation."""

from __future__ import annotations

import datetime
import importlib.metadata
import math
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ipds.experiments.findings import processor

TARGETS = (1e-2, 1e-3, 1e-4)


@dataclass(frozen=True)
class Row:
    """One run of one solver on one instance."""

    family: str
    problem: str
    key: str
    seed: int
    solver: str
    kind: str
    status: str
    seconds: float
    objective: float
    """At the returned point; where the budget ended the run, the best one seen."""
    error: float
    good: bool | None
    known: float
    curve: Sequence[Sequence[float]]
    targets: Sequence[float]
    allowed: float

    def best(self) -> float:
        return min([value for _, value in self.curve], default=math.inf)

    def reached(self, target: float) -> float:
        return next((t for t, value in self.curve if value <= target), math.inf)


def references(rows: Sequence[Row]) -> dict[str, float]:
    """The lowest objective any row found, by instance."""
    lowest: dict[str, float] = {}
    for row in rows:
        lowest[row.key] = min(lowest.get(row.key, math.inf), row.best(), row.known)
    return lowest


def problems(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows by problem, in the order measured; the same problem in two families counts as two."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.family, row.problem), []).append(row)
    return list(groups.values())


def by_solver(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.solver, []).append(row)
    return groups


def time_to(rows: Sequence[Row], relative: float, lowest: dict[str, float]) -> tuple[float, int]:
    """(median seconds, runs that got there) to within `relative` of the lowest objective."""
    times = [row.reached(lowest[row.key] + relative * abs(lowest[row.key])) for row in rows]
    return statistics.median(times), sum(map(math.isfinite, times))


def gap(row: Row, lowest: dict[str, float]) -> float:
    return (row.objective - lowest[row.key]) / abs(lowest[row.key])


def table(headers: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown whose columns line up in a terminal."""
    widths = [max(len(line[i]) for line in [headers, *lines]) for i in range(len(headers))]

    def shown(cells: Sequence[str]) -> str:
        first, *rest = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join([first, *rest]) + " |"

    aligned = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([shown(headers), aligned, *map(shown, lines)]) + "\n"


def seconds(value: float, reached: int | None = None, runs: int | None = None) -> str:
    text = f"{value:.2g}" if value < 1 else f"{value:.3g}"
    text = text if math.isfinite(value) else "-"
    return text if reached is None or reached == runs else f"{text} ({reached}/{runs})"


def problem_table(rows: Sequence[Row], lowest: dict[str, float]) -> str:
    """Every solver on one problem."""
    scored = any(row.good is not None for row in rows)
    headers = ["solver", "runs", *(["right", "error"] if scored else []), "to 1e-2", "to 1e-3", "to 1e-4"]
    headers += ["median gap", "worst gap", "CPU s"]
    lines = []
    for label, mine in by_solver(rows).items():
        line = [label, str(len(mine))]
        if scored:
            line += [f"{sum(bool(row.good) for row in mine)}/{len(mine)}"]
            line += [f"{statistics.median(row.error for row in mine):.1e}"]
        line += [seconds(*time_to(mine, relative, lowest), len(mine)) for relative in TARGETS]
        gaps = [gap(row, lowest) for row in mine]
        line += [f"{statistics.median(gaps):.0e}", f"{max(gaps):.0e}"]
        line += [seconds(statistics.median(row.seconds for row in mine))]
        lines.append(line)
    failed = [f"{row.solver}, seed {row.seed}: {row.status}" for row in rows if ":" in row.status]
    notes = "".join(f"\n- {note}" for note in failed)
    return f"### {title(rows[0])}\n\n" + table(headers, lines) + notes + ("\n" if notes else "")


def title(row: Row) -> str:
    return f"{row.problem}, effort" if row.family == "effort" else row.problem


def summary(rows: Sequence[Row]) -> str:
    """Ours against the fastest specialist, problem by problem."""
    headers = ["problem", "within", "ipds s", "reached", "fastest specialist", "its s", "ratio", "aim", ""]
    lines, lowest = [], references(rows)
    for group in problems(rows):
        rivals = {k: v for k, v in by_solver(group).items() if v[0].kind == "specialist"}
        ours = [row for row in group if row.kind == "ours"]
        if not rivals or not ours:
            continue
        for relative in ours[0].targets:
            mine, reached = time_to(ours, relative, lowest)
            theirs, name = min((time_to(v, relative, lowest)[0], k) for k, v in rivals.items())
            line = [title(ours[0]), f"{relative:.0e}", seconds(mine), f"{reached}/{len(ours)}"]
            if not math.isfinite(theirs):
                line += ["none gets there", "-", "-"]
            else:
                line += [name, seconds(theirs), f"{mine / theirs:.2f}" if math.isfinite(mine) else "-"]
            aim = ours[0].allowed
            verdict = "ahead" if mine < theirs else "within aim" if mine <= aim * theirs else "behind"
            verdict = "neither" if not math.isfinite(min(mine, theirs)) else verdict
            lines.append([*line, f"{aim:g}x", verdict])
    return "## ipds and the fastest specialist\n\n" + table(headers, lines)


def claims(rows: Sequence[Row]) -> list[list[str]]:
    """The claims about quality, counted: problem, claim, runs on which it held, worst figure."""
    lines, lowest = [], references(rows)
    paper = [row for row in rows if row.family == "paper" and row.solver.startswith("ipds")]
    if paper:
        for label, mine in [*by_solver(paper).items(), ("all five", paper)]:
            gaps = [gap(row, lowest) for row in mine]
            close = sum(g <= 1e-3 for g in gaps)
            lines.append(
                [f"paper's problem, {label}", "gap at most 1e-3", f"{close}/{len(gaps)}", f"{max(gaps):.1e}"]
            )
    for group in problems(rows):
        ours = [row for row in group if row.kind == "ours"]
        if group[0].family == "trade-off":
            gaps = [gap(row, lowest) for row in ours]
            close = sum(g <= 1e-3 for g in gaps)
            lines.append([title(group[0]), "gap at most 1e-3", f"{close}/{len(gaps)}", f"{max(gaps):.1e}"])
        elif ours and ours[0].good is not None:
            right = sum(bool(row.good) for row in ours)
            worst = max(row.error for row in ours)
            lines.append([title(group[0]), CLAIMS[group[0].family], f"{right}/{len(ours)}", f"{worst:.1e}"])
    return lines


def reliability(rows: Sequence[Row]) -> str:
    return "## Reliability with default options\n\n" + table(
        ["problem", "claim", "held", "worst"], claims(rows)
    )


CLAIMS = {
    "regression": "exact support, error at most 3 ideal",
    "dual PCP": "angle below 0.01 degrees",
    "low rank": "relative error below 1e-6",
    "phase": "basin of the truth (error below 0.1)",
}


def facts(elapsed: float, skipped: list[str], quick: bool) -> dict[str, str]:
    """Where and when."""
    folder = Path(__file__).resolve().parent
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=folder, capture_output=True, text=True
    )
    names = ("numpy", "scipy", "scikit-learn", "pymanopt")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    return {
        "Date": datetime.date.today().isoformat(),
        "Machine": f"{processor()}, one core, one thread",
        "Versions": f"ipds {git.stdout.strip() or 'unknown'}, Python {platform.python_version()}, "
        + ", ".join(versions),
        "Run": f"{'quick' if quick else 'full'}, {elapsed / 60:.1f} minutes",
        "Skipped": "; ".join(skipped) or "nothing",
    }


def losses(rows: Sequence[Row]) -> str:
    """What ipds does not win, in words: who is faster, and claims that did not hold on every run."""
    found, lowest = [], references(rows)
    for group in problems(rows):
        ours = [row for row in group if row.kind == "ours"]
        rivals = {k: v for k, v in by_solver(group).items() if v[0].kind in ("specialist", "package")}
        if not ours or not rivals:
            continue
        for relative in ours[0].targets:
            mine = time_to(ours, relative, lowest)[0]
            times = sorted((time_to(v, relative, lowest)[0], k) for k, v in rivals.items())
            faster = [f"{k} ({mine / t:.1f}x)" if mine < math.inf else k for t, k in times if t < mine]
            if faster:
                missed = "" if mine < math.inf else ", which ipds misses on half of the runs or more"
                found.append(
                    f"- {title(ours[0])}, to {relative:.0e}{missed}: faster are {', '.join(faster)}."
                )
    for problem, claim, held, worst in claims(rows):
        right, runs = held.split("/")
        if right != runs:
            found.append(f"- {problem}: {claim} only on {held} runs; worst {worst}.")
    return "## Where ipds loses\n\n" + ("\n".join(found) or "Nowhere in this run.") + "\n"


def page(facts: dict[str, str], rows: Sequence[Row]) -> str:
    """docs/performance_log.md."""
    parts = [INTRODUCTION, "\n".join(f"- {name}: {value}" for name, value in facts.items()) + "\n"]
    parts += [summary(rows), losses(rows), reliability(rows), "## All rows\n\n" + LEGEND]
    parts += [problem_table(group, references(rows)) for group in problems(rows)]
    return "\n".join(parts)


INTRODUCTION = """# Performance: the log

Made by `python benchmarks/engine.py --data DIR --write docs/performance_log.md` (`make bench-engine`).

`ipds.solve(problem, x0, tol=1e-7)` with default options beside short specialists written for one problem each
(`benchmarks/specialists.py`), beside general-purpose packages where installed, and beside the algorithm without
acceleration. CPU seconds on one thread; objectives are scored at feasible points, outside the solvers and off the
clock; ratios compare medians of one run. Specialists do not certify their answers, ipds does, on the clock.
Differences below 1.2x are within what a shared machine shows from run to run.
"""
LEGEND = """`to 1e-2`: median CPU seconds until the best objective seen is within that relative distance of the lowest
objective any solver found for the instance in this run (`k/n`: runs that got there, where not all). `gap`: of the
returned point, or of the best one where the budget ended the run. `right`: see the claims above. `error`: distance to
the truth (regression: in units of the ideal least-squares error; dual PCP: degrees). Slow rows run on fewer seeds.
"""
