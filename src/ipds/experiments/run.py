"""One cell: run, score, keep. A failure is a result."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

from .._version import __version__
from ..io.replacing import replacing
from .entrants import BY_LABEL
from .grid import Cell
from .instance import instance
from .record import Recorder

WARM_UP = 0.02
"""Seconds, unmeasured, before the first cell of a process."""
_warm = False


def run_cell(cell: Cell, data_dir: Path | None) -> dict[str, Any]:
    """The row of a cell: its settings, how it ended, and the curve of (seconds, objective)."""
    case = instance(cell.family, cell.dataset, cell.weight, cell.components, cell.seed, data_dir)
    entrant = BY_LABEL[cell.entrant]
    beta0 = None if cell.multiple is None else cell.multiple * cell.weight
    global _warm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the printed parameters warn that they diverge: here they may
        if not _warm:
            entrant.run(case, beta0, Recorder(case.score, WARM_UP))
            _warm = True
        record = Recorder(case.score, cell.seconds)
        try:
            outcome = entrant.run(case, beta0, record)
        except Exception as error:
            return _row(cell, case.digest, record, f"FAILED: {type(error).__name__}: {error}")
        seconds = record.seconds()
    record.curve.append((seconds, case.score(outcome.point)))
    return _row(
        cell,
        case.digest,
        record,
        outcome.status,
        steps=outcome.steps,
        feasibility=outcome.feasibility,
        certificate=outcome.certificate,
    )


def _row(cell: Cell, digest: str, record: Recorder, status: str, **outcome: Any) -> dict[str, Any]:
    curve = [(t, F) for t, F in record.curve if math.isfinite(F)]
    return {
        **cell.as_row(),
        "status": status,
        "objective": curve[-1][1] if curve else None,
        "lowest": min((F for _, F in curve), default=None),
        "used": curve[-1][0] if curve else None,
        "cpu": record.cpu_seconds(),
        **{name: _finite(value) for name, value in outcome.items()},
        "version": __version__,
        "data": digest,
        "curve": [(round(t, 5), F) for t, F in curve],
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return 1e308 if isinstance(value, float) and not math.isfinite(value) else value


def keep(path: Path, row: dict[str, Any]) -> None:
    """Write a row as JSON, whole or not at all."""
    with replacing(path) as file:
        file.write(json.dumps(row, allow_nan=False).encode())
