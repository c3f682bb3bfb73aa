"""`ipds check FILE.py`: which assumptions of the theory a problem meets."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import OK, UNCERTIFIED


def check(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Python file; it is executed.")],
    name: Annotated[str, typer.Option(help="Variable that holds the problem.")] = "problem",
) -> None:
    """Report which assumptions of the theory hold for the `problem` that FILE defines.

    Exit codes: 0 the theorem applies, 1 some assumption fails (the report says which, and the remedy), 2 FILE fails
    or defines no such problem.
    """
    from ..problem import Problem

    found = _executed(file)
    if name not in found:
        others = [key for key, value in found.items() if isinstance(value, Problem)]
        hint = f"; pass --name {others[0]}" if others else f"; write {name} = ipds.Problem(...)"
        raise ValueError(f"{file} defines no `{name}`{hint}")
    problem = found[name]
    if not isinstance(problem, Problem):
        raise TypeError(f"{file}: `{name}` must be an ipds.Problem, got {type(problem).__name__}")
    report = problem.check()
    typer.echo(f"{problem}\n\n{report}")
    raise typer.Exit(OK if report.holds else UNCERTIFIED)


def _executed(file: Path) -> dict[str, Any]:
    """What FILE defines. Modules beside it can be imported, as they can where Python runs it."""
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(file))
    except SystemExit as end:
        raise ValueError(
            f"{file} leaves Python (exit code {end.code}) before its problem is checked"
        ) from None
    except Exception as error:  # of the file, which is not ours: say where
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
        ]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
