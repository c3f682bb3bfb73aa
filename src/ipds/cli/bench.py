"""`ipds bench`: how fast this machine certifies three problems, method by method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..methods import Method
    from ..problem import Problem
    from ..result import Result


def bench(
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds per solve at most.")] = 5.0,
    repeat: Annotated[int, typer.Option(min=1, help="Solves of each; the fastest counts.")] = 3,
    tol: Annotated[float, typer.Option(min=0.0, help="Of the relative certificate.")] = 1e-4,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")] = False,
) -> None:
    """Time the methods on three built-in problems: sparse PCA, robust regression, robust low rank.

    In a source checkout `make bench` and `make bench-engine` measure far more; docs/performance.md has figures.
    """
    from rich.console import Console

    from .builtin import comparison, contenders, robust_low_rank, robust_regression, sparse_pca
    from .write import as_json

    problems = {
        "sparse PCA of the digits, 64 x 8": sparse_pca(),
        "robust regression, 300 x 150, 10 nonzeros": robust_regression(),
        "robust low rank, 100 x 100 of rank 3": robust_low_rank(),
    }
    console, record = Console(), {}
    for title, problem in problems.items():
        results = {n: _fastest(problem, m, time_limit, repeat, tol) for n, m in contenders().items()}
        record[title] = {name: _plain(result) for name, result in results.items()}
        if not json:
            console.print(f"\n{title}", highlight=False)
            console.print(comparison(results))
    if json:
        typer.echo(as_json(record))


def _fastest(
    problem: Problem, method: str | Method, time_limit: float, repeat: int, tol: float
) -> Result | None:
    """The fastest of several solves; None where the method does not apply."""
    from ..errors import AssumptionError
    from ..solving.solve import solve

    runs: list[Result] = []
    for _ in range(repeat):
        try:
            runs.append(solve(problem, method=method, tol=tol, time_limit=time_limit, seed=0, progress=True))
        except AssumptionError:
            return None
        if runs[-1].seconds > 1.0:  # long enough to be a measurement
            break
    return min(runs, key=lambda result: result.seconds)


def _plain(result: Result | None) -> dict[str, Any] | None:
    from .report import outcome

    return None if result is None else outcome(result)
