"""The command line: `ipds demo`, `ipds check FILE.py`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import __version__
from .methods import IPDS, Method
from .problem import Block, Problem
from .result import Result
from .solve import solve

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Certified nonconvex optimisation by IPDS-ADMM."
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ipds {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
def demo(
    components: Annotated[int, typer.Option(min=1, max=32, help="Number of sparse components.")] = 5,
    rho: Annotated[float, typer.Option(min=0.0, help="Weight of the ℓ1 norm.")] = 0.02,
    max_iter: Annotated[int, typer.Option(min=1, help="Iterations per method at most.")] = 5000,
) -> None:
    """Sparse PCA of scikit-learn's handwritten digits: the default method beside Algorithm 1."""
    problem = digits_problem(components, rho)
    console = Console()
    console.print(
        "Sparse PCA of 1797 handwritten digits\nmin -‖DY‖²/(2m) + ρ‖V‖₁  over  Y = V, YᵀY = I\n",
        highlight=False,
    )
    console.print(f"{problem}\n\n{problem.check().summary()}\n", highlight=False, markup=False)
    methods: list[str | Method] = ["auto", IPDS("practical"), IPDS("sound")]
    results = [solve(problem, method=method, max_iter=max_iter, tol=1e-4, seed=0) for method in methods]
    console.print(_table(results))


def digits_problem(components: int, rho: float) -> Problem:
    """min -‖DY‖²/(2m) + ρ‖V‖₁ subject to Y = V, YᵀY = I, for the centred 64-pixel digits D."""
    from sklearn.datasets import load_digits

    from .functions import L1, PCAVariance, Stiefel

    data = load_digits().data / 16.0
    shape = (data.shape[1], components)
    return Problem(
        [
            Block(f=PCAVariance(data, center=True), h=Stiefel(), A=-1.0, shape=shape, name="Y"),
            Block(h=L1(rho), shape=shape, name="V"),
        ]
    )


def _table(results: list[Result]) -> Table:
    table = Table("method", "objective", "certificate", "steps", "s", "status")
    for i, column in enumerate(table.columns):
        column.overflow = "fold"
        column.no_wrap = i > 0
        column.justify = "right" if 1 <= i <= 4 else "left"
    for result in results:
        table.add_row(
            result.method,
            f"{result.fun:.6g}",
            f"{result.certificate.relative:.1e}",
            str(result.nit),
            f"{result.seconds:.2f}",
            result.status.name.replace("_", " ").lower(),
        )
    return table


@app.command()
def check(file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Python file.")]) -> None:
    """Report which assumptions hold for the `problem` that FILE defines (the file is executed)."""
    problem = runpy.run_path(str(file)).get("problem")
    if not isinstance(problem, Problem):
        typer.echo(f"{file}: defines no `problem` that is an ipds.Problem", err=True)
        raise typer.Exit(2)
    report = problem.check()
    typer.echo(f"{problem}\n\n{report}")
    raise typer.Exit(0 if report.holds else 1)
