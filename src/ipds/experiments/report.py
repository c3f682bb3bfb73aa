"""The report: one HTML page that opens offline, a short Markdown page, figures and tables."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import page
from .entrants import BY_LABEL, ENTRANTS
from .figures import opening_figure, paper_figure, pdf, png, trade_off_figure
from .findings import Study, facts, finding, opening, verdict
from .grid import MULTIPLES, RHOS
from .tables import CLOSE, Panel, curves_csv, panels_csv, results_csv
from .theory import theory_figure

OPENING = "opening"
"""File name of the picture that the report opens with."""
HEADING = "# Results of `ipds reproduce`"
"""The first line of a report."""


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
    if multiple not in MULTIPLES or rho not in RHOS:
        return ""
    number = 2 + len(RHOS) * MULTIPLES.index(multiple) + RHOS.index(rho)
    return f"{number}, and 1" if number == 8 else str(number)


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
