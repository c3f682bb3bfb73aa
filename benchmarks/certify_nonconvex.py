"""Nonconvex problems: CPU seconds of `solve` to certificates of 1e-3 and 1e-7, one thread, medians over three draws.

Checks are 5 iterations apart. Where 1e-7 is not reached within the limit, the smallest certificate is shown.
`--quick` leaves the large ones out, `--write PAGE` puts the table into a page.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

from threadpoolctl import threadpool_limits

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import problems
from benchmarks.pages import where_and_when, write_section

from ipds import solve
from ipds.result import OptimizeResult

LOOSE, TIGHT, LIMIT, DRAWS = 1e-3, 1e-7, 10.0, 3

SMALL: list[Callable[[int], problems.Case]] = [
    lambda seed: problems.regression(200, 100, 8, 0.2, seed),
    lambda seed: problems.dual_pcp(30, 3, 300, 300, seed),
    lambda seed: problems.low_rank(150, 5, 0.2, 0.0, seed),
    lambda seed: problems.low_rank(150, 5, 0.2, 0.3, seed),
    lambda seed: problems.low_rank(150, 5, 0.2, 0.0, seed, noise=0.1),
    lambda seed: problems.phase(40, 120, 5, 10, seed),
    lambda seed: problems.paper_pca("randn", 1.0, seed, None, 1500, 500),
]
LARGE: list[Callable[[int], problems.Case]] = [
    lambda seed: problems.regression(1000, 2000, 20, 0.1, seed),
    lambda seed: problems.dual_pcp(100, 5, 5000, 5000, seed, noise=0.05),
    lambda seed: problems.low_rank(1000, 10, 0.1, 0.0, seed),
    lambda seed: problems.phase(1000, 1000, 20, 100, seed),
]


def measure(case: problems.Case) -> tuple[float, float, float, str]:
    """CPU seconds to both certificates (inf where not reached), the smallest certificate, and the method."""
    problem, start = case.pose()
    reached = {LOOSE: math.inf, TIGHT: math.inf}
    least, begin = math.inf, time.process_time()

    def look(intermediate_result: OptimizeResult) -> None:
        nonlocal least
        seconds, relative = time.process_time() - begin, intermediate_result.certificate.relative
        least = min(least, relative)
        for level in reached:
            if relative <= level:
                reached[level] = min(reached[level], seconds)

    result = solve(problem, start, tol=TIGHT, max_iter=10**6, time_limit=LIMIT, check_every=5, callback=look)
    return reached[LOOSE], reached[TIGHT], least, result.method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| problem | to 1e-3 | to 1e-7 | ratio | by |", "|---|---|---|---|---|"]
    with threadpool_limits(1):
        measure(SMALL[0](99))  # imports and first calls are not on the clock
        for make in SMALL if options.quick else SMALL + LARGE:
            rows = [measure(make(seed)) for seed in range(DRAWS)]
            loose, tight = median(row[0] for row in rows), median(row[1] for row in rows)
            end = f"{tight:.3f}" if math.isfinite(tight) else f"no: {median(row[2] for row in rows):.0e}"
            ratio = f"{tight / loose:.1f}" if math.isfinite(tight) else "-"
            by = rows[0][3].removeprefix("auto: ").replace("(effort='balanced')", "")
            lines.append(f"| {make(0).name} | {loose:.3f} | {end} | {ratio} | {by} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines)
    if options.write:
        write_section(
            options.write, "certify-nonconvex", f"{__doc__.splitlines()[0]}\n\n{text}\n\n{where_and_when()}"
        )


if __name__ == "__main__":
    main()
