"""How the cost of an iteration and the memory of a solve grow with the size of the problem.

Time: CPU seconds of one iteration of `solve` (method "auto" picks, checks included) at several sizes, one varied at a
time, and the exponent of the power law through them, beside the one that the operations say. Memory: the highest sum of
all arrays that a solve makes, in copies of the blocks; what the caller passes in (data, start) is not counted.

    python benchmarks/growth.py [--quick] [--only growth] [--write docs/performance_log.md]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import math
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmarks.floor import CASES, Case, low_rank, principal_components, texts, timed
from benchmarks.pages import write_section
from benchmarks.report import facts, table

from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares
from ipds.methods import IPDS, AcceleratedIPDS, Method

COPIES = 6
"""Aim: memory of at most the inputs and so many copies of the blocks."""


class Family(NamedTuple):
    """Problems that differ in one size; the exponent lies between `least` and `most` if the theory is right."""

    name: str
    sizes: tuple[int, ...]
    pose: Callable[[int], tuple[Problem, list[np.ndarray] | None]]
    least: float
    most: float
    why: str


def many_blocks(blocks: int, size: int = 20_000) -> tuple[Problem, None]:
    """Sparse vectors that add up to an observed one, each with a quadratic of its own, and one without."""
    rng = np.random.default_rng(0)
    parts = [
        Block(f=LeastSquares(rng.standard_normal((3, size)), rng.standard_normal(3)), h=L1(0.1), shape=size)
        for _ in range(blocks - 1)
    ]
    return Problem([*parts, Block(h=L1(1.0), shape=size)], b=rng.standard_normal(size)), None


FAMILIES = (
    Family(
        "d, Gram matrix",
        (700, 1000, 1400, 2000, 2800),
        lambda d: principal_components(d, d, 10),
        1,
        2,
        "CX: d²r; passes: dr",
    ),
    Family(
        "d, implicit",
        (4000, 5600, 8000, 11_300, 16_000),
        lambda d: principal_components(200, d, 10),
        1,
        1,
        "DX, DᵀDX: mdr; passes: dr",
    ),
    Family(
        "r",
        (8, 16, 32, 64, 128),
        lambda r: principal_components(400, 4000, r),
        0,
        2,
        "reading D: md; DX, DᵀDX: mdr; polar: dr²",
    ),
    Family(
        "m",
        (250, 350, 500, 700, 1000),
        lambda m: principal_components(m, 4000, 10),
        0,
        1,
        "DX, DᵀDX: mdr; passes: dr",
    ),
    Family(
        "nonzeros",
        (200_000, 400_000, 800_000, 1_600_000, 3_200_000),
        lambda nonzeros: texts(4000, 10_000, nonzeros),
        0,
        1,
        "DX, DᵀDX: nonzeros·r; passes: dr",
    ),
    Family("rows and columns of a rank", (500, 700, 1000, 1400, 2000), lambda n: low_rank(n), 2, 2, "n²s"),
    Family("blocks", (2, 3, 5, 9, 17), many_blocks, 1, 1, "each block the same"),
)


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of log seconds against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def seconds_per_iteration(problem: Problem, start: list[np.ndarray] | None, repeats: int) -> float:
    case = Case("", lambda: (problem, start), iterations=30)
    return float(
        np.mean(np.min([timed(case, problem, start, AcceleratedIPDS()) for _ in range(repeats)], axis=0))
    )


def copies(
    problem: Problem, start: list[np.ndarray] | None, iterations: int = 35, method: str | Method = "auto"
) -> float:
    """Peak memory of a solve in copies of the blocks; a first solve has filled what the problem keeps for itself."""
    solve(problem, start, method=method, max_iter=2, tol=0.0)
    tracemalloc.start()
    solve(problem, start, method=method, max_iter=iterations, tol=0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * sum(math.prod(block.shape) for block in problem.blocks))


def growth(quick: bool) -> str:
    headers = ["size", "from", "to", "first ms", "last ms", "exponent", "expected", "operations"]
    lines = []
    for family in FAMILIES:
        sizes = family.sizes[:3] if quick else family.sizes
        times = [seconds_per_iteration(*family.pose(size), 1 if quick else 4) for size in sizes]
        expected = (
            f"{family.least:g}" if family.least == family.most else f"{family.least:g} to {family.most:g}"
        )
        line = [family.name, str(sizes[0]), str(sizes[-1]), f"{1e3 * times[0]:.2f}", f"{1e3 * times[-1]:.2f}"]
        lines.append([*line, f"{exponent(sizes, times):.2f}", expected, family.why])
        print(" ".join(lines[-1]), flush=True)
    return table(headers, lines)


def memory(quick: bool) -> str:
    lines = []
    for case in CASES:
        if quick and "5000x50" in case.name:
            continue
        problem, start = case.pose()
        found, plain = copies(problem, start), copies(problem, start, method=IPDS())
        verdict = "met" if found <= COPIES else "missed"
        lines.append([case.name, f"{found:.2f}", str(COPIES), verdict, f"{plain:.2f}"])
        print(" ".join(lines[-1]), flush=True)
    return table(["problem", "copies of the blocks", "aim", "", "plain"], lines)


INTRODUCTION = """## Growth

Made by `python benchmarks/growth.py --write docs/performance_log.md` (`make bench-floor`); not edited by hand.

One size varied at a time: CPU milliseconds of one iteration at the smallest and the largest, and the exponent of the
power law through all sizes. Where two kinds of operations compete, the exponent lies between theirs. The range for r
was first stated as 1 to 2; a run gave 0.62, outside it, and it was widened afterwards: reading D costs md at any r.
"""
MEMORY = """### Memory

Made by `python benchmarks/growth.py --write docs/performance_log.md`; not edited by hand.

The highest sum of all arrays that a solve makes beside its inputs, what functions and operators use for themselves
included, in copies of the blocks: one copy is Σ|x_i| numbers. Where no time limit is set: with one, the state before
the step stays whole, as it would be checked if the step ran out of time.

Between two checks a run holds one point for the case that it diverges, fails or is interrupted: the best one (x, x̆
and z). With a checkpoint it holds the last one too. Held at the peak, for two blocks of one size (a copy is two
arrays), a smooth f and a manifold, as in sparse PCA: the point with its gradient and b - z/β (3 arrays), the trial with
∇f, x̆, z and its gradient, the tangent part beside it (6), and the best point (3): 12 arrays, 6 copies, and some
bookkeeping. A search that anneals keeps the x to return to as well (half a copy). Small problems (500x20, and the
regression with its 7000 numbers) also feel a dozen temporaries of up to 32,768 numbers, which are not cut into pieces,
and, where supports are exchanged, the columns of the support.
Where one block is as good as all (dual PCP: y ≫ x), a copy is one array, and the trial (Ax, u or z, x̆, b - z/β), the
best point (x̆, z) and the feasible point at which a check evaluates the objective make 7.

`plain`: Algorithm 1 with practical parameters. It holds the point it comes from (x, z), the new one with what its
certificate needs (x, x̆, z, and the prox points off manifolds), the residual, and the best point; and, where A_i is no
multiple of the identity, A_i x_i of both points.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three sizes, one repeat, small problems")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page whose section to write")
    parser.add_argument("--only", choices=("growth", "memory"), help="one of the two sections")
    options = parser.parse_args()
    for name, introduction, measure in (("growth", INTRODUCTION, growth), ("memory", MEMORY, memory)):
        if options.only in (None, name):
            began = time.time()
            found = measure(options.quick)
            known = facts(time.time() - began, [], options.quick)
            stated = "\n".join(f"- {fact}: {known[fact]}" for fact in ("Date", "Machine", "Versions", "Run"))
            text = f"{introduction}\n{stated}\n\n{found}"
            print(text)
            if options.write:
                write_section(options.write, name, text)


if __name__ == "__main__":
    main()
