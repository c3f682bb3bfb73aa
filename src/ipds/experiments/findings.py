"""What came out of the runs, in sentences: who wins, who loses, what the printed parameters do, how it was run."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._version import __version__
from .published import Published
from .tables import CLOSE, Panel, Row, lost, panels

BLOWN_UP = 1e3
"""‖Y - V‖ at which a run counts as blown up: on the Stiefel manifold ‖Y‖ = √r."""


@dataclass
class Study:
    """All there is to report."""

    rows: Sequence[Row]
    datasets: Sequence[str]
    """Of the paper's grid, those skipped included."""
    skipped: dict[str, str]
    """Data set → why it was not run."""
    theory: dict[str, Any] | None
    """None where it was not measured."""
    published: Published = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    unfinished: int = 0
    """Cells that are still missing."""

    def __post_init__(self) -> None:
        self.paper = panels(self.rows, "paper")
        self.trade_off = panels(self.rows, "trade-off")


def opening(study: Study) -> str:
    """The outcome in one sentence."""
    parts = [
        f"{len(judged) - len(lost(judged))} of {len(judged)} panels of {name}"
        for name, judged in _judged(study).items()
    ]
    if not parts:
        return "No panel was run."
    where = " and ".join(parts)
    return f"solve(problem) with default options ends within {CLOSE:g} of the best objective of any method in {where}."


def verdict(study: Study) -> list[str]:
    """The outcome in sentences; losses are named."""
    said = []
    for name, judged in _judged(study).items():
        behind = lost(judged)
        said.append(
            f"On {name} auto ends within {CLOSE:g} (relative) of the lowest objective of any entrant in "
            f"{len(judged) - len(behind)} of {len(judged)} panels."
        )
        if behind:
            named = "; ".join(
                f"{p.title}: {p.behind('auto'):.1e} above {p.winner} ({p.judged('auto'):.6g} against {p.best:.6g})"
                for p in behind
            )
            said.append(f"Panels that auto loses: {named}.")
        said.append(_standings(judged))
    for number, name in ((len(study.paper), "the paper's grid"), (len(study.trade_off), "the trade-off")):
        if not number:
            said.append(f"No panel of {name} was run.")
    for dataset, reason in study.skipped.items():
        said.append(f"Skipped: {dataset}. {reason}.")
    failed = [row for row in study.rows if row["status"].startswith("FAILED")]
    if failed:
        names = ", ".join(sorted({f"{row['entrant']} ({row['status']})" for row in failed}))
        said.append(f"Failed: {len(failed)} runs, of {names}.")
    if study.unfinished:
        said.append(f"Not finished: {study.unfinished} runs are missing; the same command goes on with them.")
    return said


def _judged(study: Study) -> dict[str, list[Panel]]:
    """The panels in which auto took part, by the name of their collection, where there are any."""
    found = {"the paper's grid": study.paper, "the trade-off benchmark": study.trade_off}
    judged = {name: [p for p in panels if "auto" in p.rows] for name, panels in found.items()}
    return {name: panels for name, panels in judged.items() if panels}


def _standings(found: Sequence[Panel]) -> str:
    """Who is lowest, and who is close to it, in how many panels."""
    lowest = Counter(panel.winner for panel in found)
    close = Counter(label for panel in found for label in panel.close)
    won = ", ".join(f"{label} {count}" for label, count in lowest.most_common())
    near = ", ".join(f"{label} {count}" for label, count in close.most_common())
    return f"Strictly lowest, by whatever margin: {won}. Within {CLOSE:g} of the lowest: {near}."


def finding(study: Study) -> list[str]:
    """Where the printed parameters fail, and what the corrected ones do; on the grid, and in the paper's figures."""
    texts = [] if study.theory is None else _finding_on_one_run(study.theory)
    runs = [row for row in study.rows if row["family"] == "paper"]
    if runs:
        texts.append(_finding_on_the_grid(runs))
    if study.published:
        texts.append(_finding_in_the_figures(study.published))
    return texts


def _finding_on_one_run(measured: dict[str, Any]) -> list[str]:
    """What `theory.measure` found, in sentences."""
    s, sound, paper = measured["settings"], measured["sound"], measured["printed"]
    own = measured["printed, paper's statement"]
    case = f"{s['dataset']}, r = {s['components']}, ρ = {s['rho']:g}, β⁰ = {s['multiple']:g}ρ"
    end = (
        f"‖Y - V‖ passes 1e100 at iteration {paper['blown_up']}"
        if paper["blown_up"] is not None
        else f"‖Y - V‖ is {paper['residual'][-1]:.1e} after {paper['t'][-1]} iterations"
    )
    return [
        f"The parameters printed for condition BI, {s['printed']}, do not satisfy the paper's own decrease inequality. "
        "Its proof bounds the norm of θ₂LI - βAᵀA by its largest eigenvalue alone; with θ₂ = 0.60 the smallest one is "
        f"larger in size. The margin θ₂ - ½ - χ is {s['printed margin']:.1f} and not {s['printed claim']:.1f}. Where h "
        f"is linear, an iteration multiplies the error of the last block by up to {s['printed radius']:.2f}.",
        f"Measured on {case}, f on the first block: the inequality fails at {paper['failures']} of "
        f"{paper['checked']} iterations, and {end}. With the corrected parameters {s['sound']} (margin "
        f"{s['sound margin']:.3f}, factor {s['sound radius']:.2f}) it fails at {sound['failures']} of "
        f"{sound['checked']}, and after {sound['t'][-1]} iterations ‖Y - V‖ is {sound['residual'][-1]:.1e} and the "
        f"certificate {sound['critical'][-1]:.2g}.",
        "In the paper's statement of sparse PCA the quartic f sits on the last block and has no global Lipschitz "
        "constant. The printed parameters then do not overflow, because the local constant found by backtracking grows "
        f"with the iterates; they do not converge either: ‖Y - V‖ wanders, up to {max(own['residual']):.1e}, and the "
        f"smallest certificate in {own['t'][-1]} iterations is {min(own['critical']):.2g}.",
    ]


def _finding_on_the_grid(runs: Sequence[Row]) -> str:
    """What the grid says of the five variants, in gaps to the best of each panel."""
    parts = []
    found = panels(runs, "paper")
    for label in ("IPDS printed", "IPDS sound", "IPDS practical", "IPDS accelerated", "auto"):
        here = [p for p in found if label in p.rows]
        if here:
            ends = [p.rows[label]["objective"] for p in here]
            gaps = [
                (F - p.best) / abs(p.best) if F is not None else float("inf")
                for p, F in zip(here, ends, strict=True)
            ]
            loose = sum((p.rows[label].get("feasibility") or 0.0) > BLOWN_UP for p in here)
            text = f"{label}: median {statistics.median(gaps):.1e}, worst {max(gaps):.1e}"
            parts.append(text + (f", ‖Y - V‖ above {BLOWN_UP:g} in {loose}" if loose else ""))
    return (
        f"On the grid, the relative distance of the point returned to the best objective of its panel, over "
        f"{len(found)} panels: {'; '.join(parts)}."
    )


def _finding_in_the_figures(published: Published) -> str:
    """What the paper's own curves say at their ends."""
    wins, total, low_wins, low = 0, 0, 0, 0
    for (_, _, multiple), curves in published.items():
        if "IPDS-ADMM" not in curves:
            continue
        ends = {name: curve[-1][1] for name, curve in curves.items()}
        won = min(ends, key=lambda name: ends[name]) == "IPDS-ADMM"
        wins, total = wins + won, total + 1
        if multiple == 10:
            low_wins, low = low_wins + won, low + 1
    return (
        f"In the paper's own figures IPDS-ADMM ends lowest in {wins} of {total} panels, and in {low_wins} of the "
        f"{low} at β⁰ = 10ρ."
    )


def facts(study: Study) -> dict[str, str]:
    """Machine, versions, settings."""
    versions = [f"ipds {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "matplotlib")]
    mixed = sorted({row["version"] for row in study.rows} - {__version__})
    if mixed:
        versions.append(f"some rows by ipds {', '.join(mixed)}")
    shared = sum((row["used"] or 0.0) > 1.5 * row["cpu"] + 0.1 for row in study.rows)
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} cores; every run in a process of one thread",
        "versions": ", ".join(versions),
        **study.settings,
        "runs": f"{len(study.rows)}; in {shared} of them the wall clock ran 1.5 times as long as the processor, which "
        "is a sign of other work on the machine",
        "clock": "wall clock, the same budget for every run; scoring and data off the clock; baselines stepped without "
        "certificate, ours with it",
        "objective": "F at a point of the Stiefel manifold, evaluated outside the solvers; auto is judged by the point "
        "it returns, everybody else by the best point seen",
    }


def processor() -> str:
    """The name of the processor where the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
