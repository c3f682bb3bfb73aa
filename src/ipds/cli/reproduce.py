"""`ipds reproduce`: the paper's experiment, and a report of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder of the runs, tables, figures and the report.")] = Path(
        "out/reproduce"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data that need no files; a few minutes on two cores.")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of data files; default: IPDS_DATA, then the cache.")
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(help="The paper's curves; default: published_curves.json in the data folder."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.01, help="Wall-clock budget of a run (default: 5; the paper: 20).")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of data and start in the paper's grid.")] = 1,
    trade_off_seeds: Annotated[int, typer.Option(min=0, help="Draws in the trade-off benchmark.")] = 3,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only these data sets, e.g. mnist-1500-780; repeatable.")
    ] = None,
    rho: Annotated[list[float] | None, typer.Option(help="Only these ρ; repeatable.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes (default: one per core).")] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch missing public files into the cache first.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run and measure nothing; report what is there.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier runs in the folder.")] = False,
    publish: Annotated[
        Path | None, typer.Option(help="Also write a small version of the report into this folder.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into folders that hold other things than a report.")
    ] = False,
) -> None:
    """Run the paper's experiment and write a report. Interrupted, the same command goes on where it stopped.

    Exit codes: 0 a report was written (panels without data are skipped, the last line names them); 2 nothing could be
    run, or wrong usage; 130 interrupted.
    """
    from rich.console import Console

    from ..experiments.command import Options
    from ..experiments.command import reproduce as run
    from .errors import INTERRUPTED, say

    options = Options(
        out=out,
        quick=quick,
        data_dir=data_dir,
        curves=curves,
        seconds=seconds,
        seeds=seeds,
        trade_off_seeds=trade_off_seeds,
        datasets=tuple(dataset or ()),
        rhos=tuple(rho or ()),
        jobs=jobs or os.cpu_count() or 1,
        download=download,
        report_only=report_only,
        fresh=fresh,
        publish=publish,
        force=force,
    )
    try:
        run(options, Console())
    except KeyboardInterrupt:
        say("interrupted; finished runs are kept, and the same command goes on with the others")
        raise typer.Exit(INTERRUPTED) from None
