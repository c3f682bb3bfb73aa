"""`ipds demo`: sparse PCA of handwritten digits by several methods."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..result import Result

TRY_NEXT = {
    "solve sparse-pca YOUR.csv --n-components 5": "the same for your own table",
    "solve --help": "six more models",
    "check YOUR.py": "a problem of your own: what the theory says about it",
    "bench": "the methods on three problems",
}


def demo(
    components: Annotated[int, typer.Option(min=1, max=32, help="Number of sparse components.")] = 8,
    rho: Annotated[float, typer.Option(min=0.0, help="Weight of the ℓ1 norm.")] = 0.03,
    max_iter: Annotated[int, typer.Option(min=1, help="Iterations per method at most.")] = 5000,
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds per method at most.")] = 10.0,
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("out"),
) -> None:
    """Sparse PCA of scikit-learn's handwritten digits: the default beside Algorithm 1 and the baselines."""
    from rich.console import Console

    from ..solving.solve import solve
    from .builtin import comparison, contenders, sparse_pca

    console = Console(highlight=False)
    console.print(
        "[bold]Sparse PCA of 1797 handwritten digits[/bold] of 8x8 pixels: components with few pixels"
    )
    console.print("  min -‖D Y‖²/(2m) + ρ‖V‖₁   over   Y = V,  YᵀY = I")
    problem = sparse_pca(components, rho)
    console.print(f"\n{problem.check().summary()}\n", markup=False)
    results = {}
    for name, method in contenders().items():
        results[name] = solve(
            problem, method=method, max_iter=max_iter, tol=1e-4, time_limit=time_limit, seed=0, progress=True
        )
        console.print(f"  {name:<20} {results[name].seconds:5.2f} s", markup=False)
    console.print(comparison(results))
    best = next(iter(results.values()))
    console.print(
        "The certificate bounds how far a point is from being critical, without units; certified: at most 1e-4.\n"
        f"Of {best.x[1].size} loadings the default left {int((best.x[1] != 0).sum())} nonzero.\n"
    )
    for line in _figures(results, components, out):
        console.print(line, markup=False, soft_wrap=True)
    program = (
        "ipds" if shutil.which("ipds") else sys.argv[0]
    )  # `make demo` runs the one of its own environment
    console.print("\nWhat to try next")
    for command, what in TRY_NEXT.items():
        console.print(f"  {program} {command:<44} {what}", markup=False, soft_wrap=True)


def _figures(results: dict[str, Result], components: int, folder: Path) -> list[str]:
    """Draw the figures and say where they are, or what they need."""
    try:
        import matplotlib
    except ImportError:
        return ["The figures need matplotlib: pip install 'ipds-admm[plot]'"]
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    from .. import plot
    from .builtin import digits

    folder.mkdir(parents=True, exist_ok=True)
    curves, pictures = folder / "demo_convergence.png", folder / "demo_components.png"
    figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    plot.convergence(results, ax=ax)
    figure.savefig(curves, dpi=150)
    data = digits()
    dense = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[2][:components]
    sparse = np.asarray(next(iter(results.values())).x[1]).T
    figure = plot.images(np.vstack([dense, sparse]), (8, 8), columns=components)
    figure.suptitle("PCA above, sparse PCA below", fontsize="medium")
    figure.savefig(pictures, dpi=150)
    return [f"Convergence of all methods: {curves}", f"The components as pictures: {pictures}"]
