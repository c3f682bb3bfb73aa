"""What `ipds reproduce` does: the grid, then the report."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from . import theory
from .datasets import PAPER, DataError, DataMissing
from .datasets.cache import data_folders, locate
from .datasets.paper import FILES, parse
from .findings import Study, verdict
from .grid import QUICK, QUICK_RHOS, QUICK_TRADE_OFFS, RHOS, TRADE_OFFS, Cell, paper_cells, trade_off_cells
from .pool import at_most, available, finished, missing, run_all
from .published import Published, read_published
from .report import is_free, publish_report, write_report
from .run import keep

SECONDS, QUICK_SECONDS, QUICK_TRADE_OFF_SECONDS = 5.0, 0.5, 4.0
THEORY_SECONDS = 15.0
CURVES = "published_curves.json"


@dataclass(frozen=True)
class Options:
    """What to run and where; see `ipds reproduce --help`."""

    out: Path = Path("out/reproduce")
    quick: bool = False
    data_dir: Path | None = None
    curves: Path | None = None
    seconds: float | None = None
    seeds: int = 1
    trade_off_seeds: int = 3
    datasets: tuple[str, ...] = ()
    """Only these; empty: all of the grid, and the trade-off."""
    rhos: tuple[float, ...] = ()
    jobs: int = 1
    download: bool = False
    report_only: bool = False
    fresh: bool = False
    publish: Path | None = None
    force: bool = False
    """Whether folders that hold other things than a report are written into."""


def reproduce(options: Options, console: Console) -> Study:
    """Run what is missing, write the report, say what came out."""
    _check(options)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    began, data_dir = time.time(), options.data_dir
    datasets = options.datasets or (QUICK if options.quick else PAPER)
    published = _published(options.curves, data_dir)
    if options.download:
        _fetch(datasets, data_dir, say)
    cells, settings = _plan(options, datasets)
    runnable, skipped = available(cells, data_dir)
    for name, reason in skipped.items():
        say(f"skipped: {name}: {reason}")
    if not runnable:
        raise DataMissing(
            f"nothing was run: no data set asked for is at hand ({', '.join(skipped)}); put the files named above "
            "into a folder and pass --data-dir, pass --download, or choose --quick, which needs no files"
        )
    folder = options.out / "runs"
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    if not options.report_only:
        _run(runnable, folder, data_dir, options.jobs, console, say)
    elif not finished(runnable, folder):
        raise DataError(f"{folder}: no finished run of these settings to report; leave out --report-only")
    measured = _theory(options, say)
    left = len(missing(runnable, folder))
    study = Study(finished(runnable, folder), datasets, skipped, measured, published, settings, left)
    page = write_report(study, options.out)
    if options.publish is not None:
        publish_report(options.out, options.publish)
    for text in verdict(study):
        say(text)
    left_out = f"; skipped: {', '.join(skipped)}" if skipped else ""
    say(f"{time.time() - began:.0f} s; report: {page}{left_out}")
    return study


def _check(options: Options) -> None:
    """Refuse what cannot be run or written before any time is spent."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ModuleNotFoundError("the report needs matplotlib: pip install 'ipds-admm[experiments]'")
    if options.data_dir is not None and not options.data_dir.is_dir():
        raise DataError(f"{options.data_dir}: no such folder")
    if options.fresh and options.report_only:
        raise ValueError("--fresh forgets the runs that --report-only reports; pass one of them")
    for option, place in (("--out", options.out), ("--publish", options.publish)):
        if place is not None and not options.force and not is_free(place):
            raise ValueError(
                f"{option} {place} holds other things than a report; pass --force to write there"
            )


def _plan(options: Options, datasets: Sequence[str]) -> tuple[list[Cell], dict[str, str]]:
    """The cells, and the settings in words."""
    budget = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    longer = options.seconds or (QUICK_TRADE_OFF_SECONDS if options.quick else SECONDS)
    seeds = 1 if options.quick else options.trade_off_seeds
    for name in datasets:
        parse(name)
    for rho in options.rhos:
        if not 0 < rho < math.inf:
            raise ValueError(f"--rho: ρ must be positive and finite, got {rho:g}")
    rhos = options.rhos or (QUICK_RHOS if options.quick else RHOS)
    cells = paper_cells(datasets, rhos, seeds=options.seeds, seconds=budget)
    if not options.datasets and not options.rhos:
        cells += trade_off_cells(QUICK_TRADE_OFFS if options.quick else TRADE_OFFS, seeds, longer)
    return cells, {
        "grid": _extent(options, datasets, rhos),
        "budget": f"{budget:g} s per run on the paper's grid, {longer:g} s on the trade-off; the paper ran 20 s",
        "seeds": f"{options.seeds} on the paper's grid, {seeds} on the trade-off, counted from 0",
        "processes": str(options.jobs),
    }


def _extent(options: Options, datasets: Sequence[str], rhos: Sequence[float]) -> str:
    """Which part of the paper's grid was asked for."""
    if options.quick:
        return "quick: small data that need no files"
    if not options.datasets and not options.rhos:
        return "the paper's"
    return f"a part of the paper's: {', '.join(datasets)}; ρ = {', '.join(f'{rho:g}' for rho in rhos)}"


def _run(
    cells: Sequence[Cell],
    folder: Path,
    data_dir: Path | None,
    jobs: int,
    console: Console,
    say: Callable[[str], None],
) -> None:
    """All missing cells, with a bar in a terminal and a line now and then elsewhere."""
    todo = missing(cells, folder)
    minutes = (at_most(todo, jobs) + THEORY_SECONDS) / 60
    say(
        f"{len(cells)} runs, {len(cells) - len(todo)} finished before; {jobs} processes; "
        f"at most about {minutes:.1f} minutes where nothing else runs"
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("runs", total=len(todo))
        began = told = time.time()
        count = 0

        def done(cell: Cell) -> None:
            nonlocal count, told
            count += 1
            bar.update(task, advance=1, description=cell.dataset)
            if not console.is_terminal and time.time() - told > 30:
                told = time.time()
                left = (told - began) / count * (len(todo) - count) / 60
                say(f"{count} of {len(todo)} runs; about {left:.1f} minutes left")

        run_all(cells, folder, data_dir, jobs, done)


def _theory(options: Options, say: Callable[[str], None]) -> dict[str, Any] | None:
    """Measured once, kept beside the runs; None where it was not measured and nothing is to be run."""
    path = options.out / "theory.json"
    if options.fresh or not path.is_file():
        if options.report_only:
            say("the theory was not measured here, and is left out; without --report-only it is measured")
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        keep(path, theory.measure())
    measured: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return measured


def _published(curves: Path | None, data_dir: Path | None) -> Published:
    """The paper's curves where there are any; a file asked for by name must be there."""
    if curves is not None:
        if not curves.is_file():
            raise DataError(f"{curves}: no such file")
        return read_published(curves)
    for folder in data_folders(data_dir):
        if (folder / CURVES).is_file():
            return read_published(folder / CURVES)
    return {}


def _fetch(names: Sequence[str], data_dir: Path | None, say: Callable[[str], None]) -> None:
    """Download the public files that are missing; what cannot be had is reported, and its panels are skipped."""
    for source in dict.fromkeys(parse(name)[0] for name in names):
        if source in FILES:
            try:
                locate(FILES[source], data_dir, download=True)
            except DataError as error:
                say(str(error))
