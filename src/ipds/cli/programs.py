"""Problems that a Python file defines: how they are found, for `ipds check` and `ipds solve`. The file is run."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..problem import Problem


def problem_in(file: Path, name: str) -> Problem:
    """The problem that FILE calls `name`; errors say where the file fails, or what it defines instead."""
    from ..problem import Problem

    if file.suffix not in (".py", ""):
        raise ValueError(
            f"{file} is no Python file (.py); `ipds solve MODEL {file}` fits a model to a file of data"
        )
    found = _run(file)
    if name not in found:
        others = [key for key, value in found.items() if isinstance(value, Problem)]
        hint = f"; pass --name {others[0]}" if others else f"; write {name} = ipds.minimize(...)"
        raise ValueError(f"{file} defines no `{name}`{hint}")
    problem = found[name]
    if not isinstance(problem, Problem):
        raise TypeError(f"{file}: `{name}` must be an ipds.Problem, got {type(problem).__name__}")
    return problem


def _run(file: Path) -> dict[str, Any]:
    """What FILE defines. Modules beside it can be imported, as they can where Python runs it."""
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(file))
    except SystemExit as end:
        raise ValueError(
            f"{file} leaves Python (exit code {end.code}) before its problem is defined"
        ) from None
    except Exception as error:  # of the file, which is not ours: say where
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
        ]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
