"""`ipds check FILE.py`: how a model was split, and which assumptions of the theory a problem meets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .errors import OK, UNCERTIFIED
from .programs import problem_in


def check(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Python file; it is executed.")],
    name: Annotated[str, typer.Option(help="Variable that holds the problem.")] = "problem",
    epsilon: Annotated[
        float,
        typer.Option(help="Criticality to which the report counts the iterations that the theorem promises."),
    ] = 1e-3,
) -> None:
    """Report how the `problem` that FILE defines was split, and which assumptions of the theory hold for it.

    Exit codes: 0 the theorem applies, 1 some assumption fails (the report says which, and the remedy), 2 FILE fails
    or defines no such problem.
    """
    problem = problem_in(file, name)
    report = problem.check(epsilon)
    splitting = getattr(problem, "splitting", None)  # of a problem made by `minimize`
    typer.echo("\n\n".join(str(part) for part in (problem, splitting, report) if part is not None))
    raise typer.Exit(OK if report.holds else UNCERTIFIED)
