"""The order of the theorem, seen: the smallest certificate up to iteration T, for four choices of parameters.

    python benchmarks/rates.py --write docs/img/rates.png

printed          the paper's parameters and schedule (case BI: they diverge)
corrected        its own argument with the error mended, θ₂ - ½ > χ̂, with the printed schedule
mode by mode     the inequality (7) of docs/theory.md, with the printed schedule
sound            the same with the shifted schedule: Parameters.sound, as IPDS("sound") takes it

Slopes are fitted to the last decade, in double logarithmic axes; the theorem says -1/3 or steeper in the long run.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from ipds import Block, Parameters, Problem, iterate
from ipds.functions import L1, Box, LeastSquares, PCAVariance, Stiefel
from ipds.methods import IPDS
from ipds.plot import COLOURS, STYLES, darkened
from ipds.theory.certificate import certify

HUGE = 1e6
"""A certificate beyond which a run has diverged."""


def bijective() -> Problem:
    """Sparse PCA, 60 samples of 20 variables, 3 components: A_n = I."""
    D = np.random.default_rng(3).standard_normal((60, 20))
    Y = Block(f=PCAVariance(D), h=Stiefel(), A=-1.0, shape=(20, 3))
    return Problem([Y, Block(h=L1(0.3), shape=(20, 3))])


def surjective() -> Problem:
    """A box, and sparse least squares seen through a 10x25 matrix with κ = 4."""
    g = np.random.default_rng(3)
    U, _, Vt = np.linalg.svd(g.standard_normal((10, 25)), full_matrices=False)
    A = U @ np.diag(np.sqrt(np.linspace(1, 1 / 4, 10))) @ Vt
    f = LeastSquares(g.standard_normal((30, 25)) / 6, g.standard_normal(30))
    x = Block(h=Box(-1.0, 1.0), A=g.standard_normal((10, 12)) / 4, shape=12)
    return Problem([x, Block(f=f, h=L1(0.5), A=A, shape=25)], b=g.standard_normal(10))


def corrected(condition: str, kappa: float, sigma: float, xi: float) -> Parameters | None:
    """The largest δ at which some θ₂ has θ₂ - ½ > χ̂, the paper's own inequality with its error mended."""
    best = None
    for delta in np.geomspace(1e-5, 1, 400):
        for theta2 in np.linspace(0.5, 2.0, 301):
            p = Parameters(xi=xi, delta=float(delta), sigma=sigma, theta2=float(theta2))
            if theta2 - 0.5 > p.chi(condition, kappa):
                best = p
    return best


def choices(condition: str, kappa: float, smooth: bool) -> dict[str, Parameters]:
    """The four, by name."""
    sound = Parameters.sound(condition, kappa, smooth_last=smooth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed = Parameters.paper(condition, kappa)
    sigma = sound.sigma if condition == "BI" else printed.sigma
    return {
        "printed": printed,
        "corrected": corrected(condition, kappa, sigma, sound.xi if condition == "BI" else printed.xi),
        "mode by mode, printed schedule": replace(sound, schedule="printed"),
        "sound: mode by mode, shifted schedule": sound,
    }


def follow(problem: Problem, parameters: Parameters, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """(T, smallest certificate so far) at iterations 3% apart; ends where the run diverges."""
    g = np.random.default_rng(0)
    start = [block.h.prox(g.standard_normal(block.shape), 1.0) for block in problem.blocks]
    t, best, due = [], [], 1
    with np.errstate(all="ignore"):
        for state in itertools.islice(iterate(problem, start, method=IPDS(parameters)), iterations):
            if state.t >= due:
                critical = certify(problem, state).critical
                if not critical < HUGE:
                    break
                t.append(state.t)
                best.append(min(critical, best[-1] if best else math.inf))
                due = max(state.t + 1, int(1.03 * state.t))
    return np.array(t), np.array(best)


def slope(t: np.ndarray, best: np.ndarray) -> float:
    """Of the last decade, in double logarithmic axes."""
    last = t >= t[-1] / 10
    return float(np.polyfit(np.log(t[last]), np.log(best[last]), 1)[0])


def main() -> None:
    """Follow all runs, print slopes, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--write", type=Path, help="file of the figure")
    args = parser.parse_args()
    cases = (
        ("BI: sparse PCA, κ = 1", bijective(), "BI", 1.0),
        ("SU: box and sparse least squares, κ = 4", surjective(), "SU", 4.0),
    )
    drawn: list[tuple[str, list[tuple[str, np.ndarray, np.ndarray, float]]]] = []
    for title, problem, condition, kappa in cases:
        runs = []
        smooth = problem.blocks[-1].f is not None
        for name, parameters in choices(condition, kappa, smooth).items():
            t, best = follow(problem, parameters, args.iterations)
            diverged = t[-1] < args.iterations / 1.1
            runs.append((name, t, best, math.nan if diverged else slope(t, best)))
            print(
                f"{title:42} {name:40} δ {parameters.delta:<7.3g} σ {parameters.sigma:<7.3g} "
                f"smallest {best[-1]:.2e} at {t[-1]:6}  slope {runs[-1][3]:.2f}",
                flush=True,
            )
        drawn.append((title, runs))
    if args.write is not None:
        draw(drawn, args.write)


def draw(cases: list[tuple[str, list[tuple[str, np.ndarray, np.ndarray, float]]]], path: Path) -> None:
    """One panel for each problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(cases), figsize=(10.5, 5.2), layout="constrained", sharey=False)
    for axes, (title, runs) in zip(grid, cases, strict=True):
        for k, (name, t, best, order) in enumerate(runs):
            said = "diverges" if math.isnan(order) else f"slope {order:.2f}"
            style = {"ls": "-", "lw": 2.6} if k == len(runs) - 1 else {"ls": STYLES[k], "lw": 1.6}
            axes.loglog(t, best, color=COLOURS[k], **style, label=f"{name}: {said}")
            if math.isnan(order):
                axes.plot(t[-1], best[-1], "x", color=COLOURS[k], ms=8, mew=2)
        end = runs[-1]
        late = end[1] >= end[1][-1] / 100
        line = end[2][-1] * (end[1][late] / end[1][-1]) ** (-1 / 3) / 1.6
        axes.loglog(end[1][late], line, color="0.5", lw=1, label="$T^{-1/3}$")
        axes.set(title=title, xlabel="iterations T", ylabel="smallest certificate up to T")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.savefig(path, dpi=110)
    darkened(figure).savefig(path.with_stem(path.stem + "-dark"), dpi=110)


if __name__ == "__main__":
    main()
