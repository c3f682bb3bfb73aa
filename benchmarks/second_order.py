"""First-order steps find, second-order steps certify: the certificate of one convex and one nonconvex problem.

    python benchmarks/second_order.py --write docs/img/second_order.png

convex       least absolute deviations, 442 patients in the units of their table: AcceleratedIPDS and NewtonALM
nonconvex    8 of 100 columns, a fifth of 200 rows gross errors: AcceleratedIPDS alone, and finished on its face

One thread; seconds are those of the history, a check after every iteration included.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_limits

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.problems import regression

from ipds import Block, Problem, solve
from ipds.functions import L1
from ipds.methods import AcceleratedIPDS, Method, NewtonALM
from ipds.methods.faces import OnFaces
from ipds.plot import COLOURS, STYLES, darkened

FLOOR = 1e-14
"""Certificates below are drawn there: rounding."""


class Curve(NamedTuple):
    """A run."""

    name: str
    iterations: np.ndarray
    seconds: np.ndarray
    relative: np.ndarray


def deviations() -> Problem:
    """min ‖G v - y‖₁ for the diabetes data, unscaled, with a column of ones."""
    G, y = load_diabetes(return_X_y=True, scaled=False)
    G = np.column_stack([G, np.ones(len(G))])
    return Problem([Block(A=-G, shape=G.shape[1]), Block(h=L1(1.0), shape=len(y))], b=-y)


def follow(name: str, problem: Problem, method: Method, most: int) -> Curve:
    """The certificate after every iteration, the smallest so far."""
    history = solve(problem, method=method, tol=1e-13, max_iter=most, time_limit=20.0, check_every=1).history
    relative = np.minimum.accumulate(np.maximum(history["relative"], FLOOR))
    return Curve(name, history["iteration"], history["seconds"], relative)


def main() -> None:
    """Follow all runs, print where they end, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=3000)
    parser.add_argument("--write", type=Path, help="file of the figure")
    args = parser.parse_args()
    first = AcceleratedIPDS()
    sparse, _ = regression(200, 100, 8, 0.2, 0).pose()
    cases = {
        "convex: least absolute deviations, raw units": (
            deviations(),
            {"first order": first, "Newton": NewtonALM()},
        ),
        "nonconvex: 8 of 100 columns, gross errors": (
            sparse,
            {"first order": first, "first order, finished on its face": OnFaces(first)},
        ),
    }
    drawn = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, (problem, methods) in cases.items():
            solve(problem, max_iter=3)  # imports and first calls are not on the clock
            drawn[title] = [
                follow(name, problem, method, args.iterations) for name, method in methods.items()
            ]
            for curve in drawn[title]:
                end = f"{curve.relative[-1]:.1e} after {curve.iterations[-1]} iterations"
                print(f"{title:46} {curve.name:34} {end}, {curve.seconds[-1]:.3f} s", flush=True)
    if args.write is not None:
        draw(drawn, args.write)


def draw(cases: dict[str, list[Curve]], path: Path) -> None:
    """A column for each problem: against iterations, against seconds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(
        2, len(cases), figsize=(10, 6.4), layout="constrained", sharey=True, squeeze=False
    )
    for column, (title, curves) in zip(grid.T, cases.items(), strict=True):
        column[0].set_title(title, fontsize=10)
        for axes, along in zip(column, ("iterations", "seconds"), strict=True):
            for k, curve in enumerate(curves):
                mark = "." if len(curve.iterations) < 60 else None
                x = getattr(curve, along)
                axes.loglog(x, curve.relative, STYLES[k], color=COLOURS[k], marker=mark, label=curve.name)
            axes.axhline(1e-7, color="0.8", linewidth=0.8, zorder=0)
            axes.set_xlabel(along)
    for axes in grid[:, 0]:
        axes.set_ylabel("smallest relative certificate")
    for axes in grid[0]:
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)
    darkened(figure).savefig(path.with_stem(path.stem + "-dark"), dpi=110)


if __name__ == "__main__":
    main()
