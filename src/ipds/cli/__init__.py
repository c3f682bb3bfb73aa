"""The command line. Heavy modules are imported by the commands themselves, so help is quick.

One command per file: `demo`, `solve` (with `solve_file` for Python files), `predict`, `check`, `bench`, `reproduce`.
The others serve them: `models` (models and their options), `prepare` and `missing` (data as a model takes them),
`programs` (problems that a Python file defines), `builtin` (problems that need no file), `report` and `write` (what
was found, on the screen and in files), `errors` (messages and exit codes), `later` (imports that wait), `versions`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .bench import bench
from .check import check
from .demo import demo
from .errors import Commands
from .predict import predict
from .reproduce import reproduce
from .solve import CODES
from .solve import app as solve
from .solve_file import solve_file
from .versions import versions

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Optimisation with ranks, sparsity and orthogonality in it, with a certificate for every answer.",
)
app.command()(demo)
app.add_typer(solve, name="solve")
app.command()(predict)
app.command()(check)
app.command()(bench)
app.command()(reproduce)
solve.command("file", short_help="The problem of a Python file; the suffix .py is enough.", epilog=CODES)(
    solve_file
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(versions())
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show versions, for bug reports."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options before the command."""
