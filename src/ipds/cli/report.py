"""How a solve ended: for shells, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .errors import IMPOSSIBLE, INTERRUPTED, OK, UNCERTIFIED

if TYPE_CHECKING:
    from ..result import Result

SHOWN = 8
"""Entries up to which a vector is shown whole."""


def exit_code(result: Result) -> int:
    """What the status of a result means to a shell."""
    special = {"INTERRUPTED": INTERRUPTED, "DIVERGED": IMPOSSIBLE}
    return OK if result.success else special.get(result.status.name, UNCERTIFIED)


def outcome(result: Result) -> dict[str, Any]:
    """How a solve ended, as plain data."""
    from .write import plain

    certificate = result.certificate
    return plain(
        {
            "certified": bool(result.success),
            "status": result.status.name,
            "message": result.message,
            "method": result.method,
            "objective": float(result.fun),
            "certificate": {
                "relative": certificate.relative,
                "critical": certificate.critical,
                "feasibility": certificate.feasibility,
                "stationarity": certificate.stationarity,
            },
            "iterations": result.nit,
            "seconds": result.seconds,
        }
    )


def report(
    subject: tuple[str, str],
    result: Result,
    tol: float,
    found: Iterable[tuple[str, str]],
    written: list[Path],
) -> None:
    """For people: what was solved, the verdict, figures, what was found, and the files written."""
    hint = HINTS.get(result.status.name, "")
    verdict = "certified" if result.success else "NOT certified"
    figure = f"relative certificate {result.certificate.relative:.1e}, tolerance {tol:.0e}"
    if result.proof is not None:  # a certificate is one of an answer
        verdict, figure = "no answer", "this is proved"
    rows = [
        subject,
        (verdict, figure),
        ("ended", result.message + (f"; {hint}" if hint else "")),
        ("method", result.method),
        ("objective", f"{result.fun:.10g}"),
        ("iterations", f"{result.nit} in {result.seconds:.2f} s"),
        *found,
        *(("wrote", str(path)) for path in written),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}")


HINTS = {
    "MAX_ITER": "raise --max-iter or --tol",
    "TIME_LIMIT": "raise --time-limit or --tol",
    "STALLED": "raise --tol, or try another --method",
    "STALLED_FEASIBLE": "raise --tol, or try another --method",
    "PENALTY_CEILING": "the constraints may have no solution; or try another --method",
    "INTERRUPTED": "with --checkpoint FILE a solve can be taken up again by --resume",
}
"""What to do about a solve that ended so."""


def brief(value: Any) -> str:
    """A value in a few words."""
    import numpy as np

    if isinstance(value, dict):
        return f"{len(value)} entries"
    array = np.asarray(value)
    if array.size == 0:
        return "none"
    if array.ndim == 0:
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if array.ndim == 1 and len(array) <= SHOWN:
        return " ".join(f"{v:.4g}" if array.dtype.kind == "f" else str(v) for v in array)
    if array.dtype == bool:
        return f"{' x '.join(map(str, array.shape))}, {int(array.sum())} true"
    size = " x ".join(map(str, array.shape))
    if array.dtype.kind in "iu":
        return f"{size}, from {array.min()} to {array.max()}"
    return f"{size}, {np.count_nonzero(array)} nonzero" if array.dtype.kind == "f" else size
