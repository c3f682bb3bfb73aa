"""All cells, over processes: finished ones are never run again."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from .datasets import DataError
from .datasets.cache import data_folders
from .grid import Cell
from .instance import instance
from .run import keep, run_cell

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
OVERHEAD = 0.3
"""Seconds per cell off the clock (scoring, data), for the estimate."""


def available(cells: Sequence[Cell], data_dir: Path | None) -> tuple[list[Cell], dict[str, str]]:
    """The cells whose data are at hand, and for every other data set the reason why it is skipped."""
    reasons: dict[str, str] = {}
    for family, dataset in dict.fromkeys((cell.family, cell.dataset) for cell in cells):
        first = next(cell for cell in cells if (cell.family, cell.dataset) == (family, dataset))
        try:
            instance(family, dataset, first.weight, first.components, first.seed, data_dir)
        except DataError as error:
            reasons[dataset] = _without_folders(str(error), data_dir).removeprefix(f"{dataset}: ")
    return [cell for cell in cells if cell.dataset not in reasons], reasons


def _without_folders(text: str, data_dir: Path | None) -> str:
    """A report is read elsewhere: where the folders are on this machine means nothing there."""
    for folder in data_folders(data_dir):
        text = text.replace(str(folder), "the data folder")
    return text


def finished(cells: Sequence[Cell], folder: Path) -> list[dict[str, Any]]:
    """The rows of the cells that have been run, read from their files; those that failed too."""
    rows = []
    for cell in cells:
        for path in (_path(folder, cell), _path(folder, cell, failed=True)):
            if path.is_file():
                rows.append(json.loads(path.read_text(encoding="utf-8")))
                break
    return rows


def missing(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    """The cells still to be run, those that failed included."""
    return [cell for cell in cells if not _path(folder, cell).is_file()]


def at_most(cells: Sequence[Cell], jobs: int) -> float:
    """An upper estimate of the seconds that the cells take: methods may stop early, at their certificates."""
    return sum(cell.seconds + OVERHEAD for cell in cells) / jobs


def run_all(
    cells: Sequence[Cell],
    folder: Path,
    data_dir: Path | None,
    jobs: int,
    done: Callable[[Cell], None] = lambda cell: None,
) -> None:
    """Run what is missing, each process on one thread; every finished cell is a file at once."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = missing(cells, folder)
    if not todo:
        return
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the libraries when a worker loads them
    try:
        # spawned, not forked: a fork would inherit the libraries with as many threads as this process has
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(jobs, len(todo)), mp_context=context, initializer=_prepare) as pool:
            futures = {pool.submit(_work, cell, folder, data_dir): cell for cell in todo}
            try:
                for future in as_completed(futures):
                    future.result()  # raises what was raised there
                    done(futures[future])
            except BrokenProcessPool as error:
                raise OSError("a process of the pool died; finished runs are kept, try again") from error
            except BaseException:
                for future in futures:
                    future.cancel()
                raise  # once the runs under way have ended
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _prepare() -> None:
    """In a worker, first: an interrupt is for the parent alone, and without the parent there is nothing to do."""
    # else `solve` would return, and half a run count as finished
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()


def _leave_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _work(cell: Cell, folder: Path, data_dir: Path | None) -> None:
    """In a worker: one cell, kept."""
    began = time.perf_counter()
    row = run_cell(cell, data_dir)
    row["elapsed"] = time.perf_counter() - began
    keep(_path(folder, cell, failed=row["status"].startswith("FAILED")), row)


def _path(folder: Path, cell: Cell, failed: bool = False) -> Path:
    return folder / f"{cell.name}{'.failed' if failed else ''}.json"
