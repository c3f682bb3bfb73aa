"""The report: one HTML page that opens offline, a short Markdown page, figures and tables."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import shutil
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._version import __version__
from . import page
from .entrants import BY_LABEL, ENTRANTS
from .figures import opening_figure, paper_figure, pdf, png, trade_off_figure
from .published import Published
from .tables import CLOSE, Panel, Row, curves_csv, lost, panels, panels_csv, results_csv
from .theory import theory_figure

OPENING = "opening"
"""File name of the picture that the report opens with."""
BLOWN_UP = 1e3
"""‖Y - V‖ at which a run counts as blown up: on the Stiefel manifold ‖Y‖ = √r."""


HEADING = "# Results of `ipds reproduce`"
"""The first line of a report."""


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


def write_report(study: Study, folder: Path) -> Path:
    """Write page, tables and figures into `folder`; the path of the page."""
    _clear(folder / "figures")
    images: list[tuple[str, str, bytes]] = []
    for name, title, figure in _figures(study):
        images.append((name, title, png(figure)))
        (folder / "figures" / f"{name}.png").write_bytes(images[-1][2])
        (folder / "figures" / f"{name}.pdf").write_bytes(pdf(figure))
    (folder / "results.csv").write_text(results_csv(study.rows), encoding="utf-8")
    (folder / "panels.csv").write_text(panels_csv([*study.paper, *study.trade_off]), encoding="utf-8")
    (folder / "curves.csv").write_text(curves_csv(study.rows), encoding="utf-8")
    (folder / "README.md").write_text(markdown(study, images), encoding="utf-8")
    path = folder / "report.html"
    path.write_text(html_page(study, images), encoding="utf-8")
    return path


def publish_report(folder: Path, target: Path) -> None:
    """Copy what is small enough for version control: the short report, tables of the runs, PNG figures."""
    _clear(target / "figures")
    chosen = [folder / name for name in ("README.md", "results.csv", "panels.csv")]
    for path in [*chosen, *sorted((folder / "figures").glob("*.png"))]:
        shutil.copyfile(path, target / path.relative_to(folder))


def is_free(folder: Path) -> bool:
    """Whether a report may be written there: the folder is new, empty, or holds a report or its runs."""
    page = folder / "README.md"
    if page.is_file():
        return page.read_text(encoding="utf-8", errors="replace").startswith(HEADING)
    return (
        not folder.exists() or (folder / "runs").is_dir() or (folder.is_dir() and not any(folder.iterdir()))
    )


def _clear(figures: Path) -> None:
    """A folder without figures of an earlier report, which may have had other panels."""
    figures.mkdir(parents=True, exist_ok=True)
    for old in [*figures.glob("*.png"), *figures.glob("*.pdf")]:
        old.unlink()


def _figures(study: Study) -> list[tuple[str, str, Any]]:
    """(file name, title, figure): the opening, the theory, the trade-off, then the paper's figures in its order."""
    found: list[tuple[str, str, Any]] = []
    if study.paper or study.trade_off:
        found.append((OPENING, "Who comes down how fast", opening_figure(study.paper, study.trade_off)))
    if study.theory is not None:
        found.append(("theory", "Theory, measured", theory_figure(study.theory)))
    if study.trade_off:
        found.append(
            (
                "trade-off",
                "Trade-off benchmark, first seed: best so far, and (thin) current",
                trade_off_figure(study.trade_off),
            )
        )
    first = [panel for panel in study.paper if panel.seed == 0]
    starts = sorted({(p.multiple, p.weight) for p in first if p.multiple is not None})
    for multiple, rho in starts:
        figure = paper_figure(first, study.datasets, study.published, study.skipped, rho, multiple)
        number = _figure_number(rho, multiple)
        title = f"ρ = {rho:g}, β⁰ = {multiple:g}ρ" + (
            f" (as in the paper's figure {number})" if number else ""
        )
        found.append((f"rho{rho:g}-beta{multiple:g}", title, figure))
    return found


def _figure_number(rho: float, multiple: float) -> str:
    """The number in the paper's appendix: by β⁰/ρ, then ρ."""
    multiples, rhos = (10.0, 50.0, 100.0, 500.0), (1.0, 10.0, 100.0, 1000.0)
    if multiple not in multiples or rho not in rhos:
        return ""
    number = 2 + 4 * multiples.index(multiple) + rhos.index(rho)
    return f"{number}, and 1" if number == 8 else str(number)


def verdict(study: Study) -> list[str]:
    """The outcome in sentences; losses are named."""
    said = []
    for name, found in (("the paper's grid", study.paper), ("the trade-off benchmark", study.trade_off)):
        judged = [panel for panel in found if "auto" in panel.rows]
        if not judged:
            continue
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


NOTES = (
    "Entrants that know no β⁰ (auto, SubGrad, SPGM, RADMM with its own penalty, ManPG, MIALM, homotopy) run once per "
    "data set, ρ and seed, and stand in all four panels. A run that stops at its certificate keeps its value from then "
    "on. The published curves are from another machine and another language: their time axis is theirs. F ≥ ρr on "
    "the Stiefel manifold, and r coordinate vectors come close to it at once, so look at F - ρr, and at the trade-off, "
    "where variance and sparsity compete."
)


def markdown(study: Study, images: Sequence[tuple[str, str, bytes]]) -> str:
    """The short page beside the figures."""
    parts = [HEADING, opening(study)]
    parts += [f"![{title}](figures/{name}.png)" for name, title, _ in images if name == OPENING]
    parts += ["Made by the command; not edited by hand.", *verdict(study)]
    parts += ["## Finding", *finding(study), "## Runs"]
    parts += ["\n".join(f"- {name}: {value}" for name, value in facts(study).items()), NOTES]
    if study.trade_off:
        parts += ["## Trade-off", TRADE_OFF, _markdown_table(*_trade_off_table(study.trade_off))]
    if study.paper:
        parts += ["## The paper's panels", PANELS, _markdown_table(*_panel_table(study.paper))]
    shown = [(name, title) for name, title, _ in images if name != OPENING]
    parts += ["## Figures", *(f"### {title}\n\n![{title}](figures/{name}.png)" for name, title in shown)]
    return "\n\n".join(parts) + "\n"


TRADE_OFF = (
    "min -‖BX‖² + λ‖X‖₁, XᵀX = I. Relative distance to the best objective of any entrant, mean over the seeds "
    "(worst in brackets), at the end of the budget."
)
PANELS = (
    f"F - ρr at the end of the budget. *: within {CLOSE:g} (relative, in F) of the best of the panel. "
    "Column 'auto wins': yes where auto is within it."
)


def _trade_off_table(found: Sequence[Panel]) -> tuple[list[str], list[list[str]]]:
    cases = list(dict.fromkeys((p.dataset, p.weight) for p in found))
    lines = []
    for entrant in ENTRANTS:
        line = [entrant.label]
        for case in cases:
            here = [p for p in found if (p.dataset, p.weight) == case and entrant.label in p.rows]
            if not here:
                line.append("")
                continue
            behind = [p.behind(entrant.label) for p in here]
            line.append(f"{statistics.fmean(behind):.1e} ({max(behind):.1e})")
        if any(line[1:]):
            lines.append(line)
    return ["entrant", *(f"{dataset}, λ = {weight:g}" for dataset, weight in cases)], lines


def _panel_table(found: Sequence[Panel]) -> tuple[list[str], list[list[str]]]:
    labels = [e.label for e in ENTRANTS if any(e.label in p.rows for p in found)]
    lines = []
    for p in found:
        values = []
        for label in labels:
            star = "*" if label in p.rows and label in p.close else ""
            values.append(f"{p.judged(label) - p.floor:.4g}{star}" if label in p.rows else "")
        reached = "" if "auto" not in p.rows else "yes" if "auto" in p.close else "**no**"
        start = "" if p.multiple is None else f"{p.multiple:g}ρ"
        lines.append([p.dataset, f"{p.weight:g}", start, str(p.seed), p.winner, reached, *values])
    return ["data", "ρ", "β⁰", "seed", "lowest", "auto wins", *labels], lines


def _markdown_table(headers: list[str], lines: list[list[str]]) -> str:
    head, *rows = ("| " + " | ".join(cells) + " |" for cells in (headers, *lines))
    return "\n".join([head, "|" + "---|" * len(headers), *rows])


def opening(study: Study) -> str:
    """The outcome in one sentence."""
    parts = []
    for name, found in (("the paper's grid", study.paper), ("the trade-off benchmark", study.trade_off)):
        judged = [panel for panel in found if "auto" in panel.rows]
        if judged:
            parts.append(f"{len(judged) - len(lost(judged))} of {len(judged)} panels of {name}")
    if not parts:
        return "No panel was run."
    where = " and ".join(parts)
    return f"solve(problem) with default options ends within {CLOSE:g} of the best objective of any method in {where}."


def html_page(study: Study, images: Sequence[tuple[str, str, bytes]]) -> str:
    """The page with everything inside; it opens with the sentence and the picture that say most."""
    notes = [[e.label, e.kind, e.note] for e in BY_LABEL.values()]
    who = f"<details><summary>Entrants</summary>{page.table(['entrant', 'kind', ''], notes)}</details>"
    sections = [page.Section("outcome", "Outcome", page.paragraphs(verdict(study)))]
    if study.trade_off:
        body = page.paragraphs([TRADE_OFF]) + page.table(*_trade_off_table(study.trade_off))
        sections.append(page.Section("trade-off", "Trade-off benchmark", body))
    if study.paper:
        body = page.paragraphs([PANELS]) + page.table(*_panel_table(study.paper))
        sections.append(page.Section("panels", "Who wins each panel", body))
    pictures = "".join(page.image(title, image) for name, title, image in images if name != OPENING)
    run = page.definitions(facts(study)) + page.paragraphs([NOTES]) + who
    sections += [
        page.Section("finding", "The printed parameters", page.paragraphs(finding(study))),
        page.Section("figures", "Figures", pictures),
        page.Section("runs", "How it was run", run),
    ]
    first = next(((title, image) for name, title, image in images if name == OPENING), None)
    return page.page("IPDS-ADMM: the paper's experiment, reproduced", opening(study), first, sections)
