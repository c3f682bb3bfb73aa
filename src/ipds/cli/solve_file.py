"""`ipds solve model.py`: the problem that a Python file defines, solved and certified. The file is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .programs import problem_in
from .report import brief, exit_code, outcome, report
from .solve import (
    CheckpointFile,
    Force,
    Iterations,
    Json,
    MethodName,
    Quiet,
    Resume,
    Seconds,
    Seed,
    Tolerance,
    check_options,
    option,
    warnings_on_one_line,
)

if TYPE_CHECKING:
    from ..problem import Problem
    from ..result import Result

RESULTS = (".npz", ".json")


def solve_file(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="Python file; it is executed.", show_default=False),
    ],
    name: Annotated[str, option("Data", "Variable that holds the problem.")] = "problem",
    method: MethodName = "auto",
    tol: Tolerance = 1e-4,
    max_iter: Iterations = 10_000,
    time_limit: Seconds = None,
    seed: Seed = 0,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    out: Annotated[Path | None, option("Output", "Write the values: .npz or .json.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run FILE, solve the `problem` it defines, report the variables and the multipliers of the constraints."""
    from ..solving.solve import solve
    from . import write

    if out is not None:
        write.check_place(out, RESULTS, "--out", force)
    check_options(method, checkpoint, resume)
    problem = problem_in(file, name)
    with warnings_on_one_line(quiet):
        result = solve(
            problem,
            method=method,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            seed=seed,
            checkpoint=checkpoint,
            progress=not quiet,
        )
    values = _values(problem, result)
    summary = {"problem": str(problem), "file": str(file), "tol": tol, **outcome(result)}
    if out is not None:
        write.save(out, summary, values, (), result)
    if json:
        typer.echo(write.shown(summary, "values", values))
    else:
        found = [(name, brief(value)) for name, value in values.items()]
        report(("problem", summary["problem"]), result, tol, found, [] if out is None else [out])
    raise typer.Exit(exit_code(result))


def _values(problem: Problem, result: Result) -> dict[str, Any]:
    """What was found: of a model its variables and multipliers, of other problems the blocks."""
    from ..modelling import Model

    if not isinstance(problem, Model):
        return dict(zip(problem.names, result.x, strict=True))
    values = {v.name: result.value(v) for v in problem.variables}
    for k, constraint in enumerate(problem.constraints):
        if problem.has_dual(constraint):
            values[f"dual_{k}"] = result.dual(constraint)
    return values
