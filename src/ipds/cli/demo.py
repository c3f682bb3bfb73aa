"""`ipds demo`: sparse PCA of handwritten digits by several methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..problem import Problem
    from ..result import Result


def demo(
    components: Annotated[int, typer.Option(min=1, max=32, help="Number of sparse components.")] = 5,
    rho: Annotated[float, typer.Option(min=0.0, help="Weight of the ℓ1 norm.")] = 0.02,
    max_iter: Annotated[int, typer.Option(min=1, help="Iterations per method at most.")] = 5000,
) -> None:
    """Sparse PCA of scikit-learn's handwritten digits: the default method beside Algorithm 1."""
    from rich.console import Console

    from ..methods import IPDS, Method
    from ..solve import solve

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

    from ..functions import L1, PCAVariance, Stiefel
    from ..problem import Block, Problem

    data = load_digits().data / 16.0
    shape = (data.shape[1], components)
    return Problem(
        [
            Block(f=PCAVariance(data, center=True), h=Stiefel(), A=-1.0, shape=shape, name="Y"),
            Block(h=L1(rho), shape=shape, name="V"),
        ]
    )


def _table(results: list[Result]) -> Table:
    from rich.table import Table

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
