"""Whether answers are wrong, which a success must never be. With tests/ in PYTHONPATH:

    python tests/properties/judge.py --cases 5000                       random convex problems against a reference
    python tests/properties/judge.py --kind known --cases 2000          the same with entries known beforehand
    python tests/properties/judge.py --kind parts --cases 500           two of them in one, in units far apart
    python tests/properties/judge.py --kind regression --cases 500      as users write them, and others (`STATED`)
    python tests/properties/judge.py --kind infeasible --cases 360      problems without a solution, by construction:
    python tests/properties/judge.py --kind unbounded --cases 250       none may succeed, nine of ten are named
    python tests/properties/judge.py --kind contradictory --cases 300   two values for an entry: likewise

Fails at the first count of a false success, of an error, or of too few names.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ipds import AssumptionError, DivergenceError, Status, solve
from ipds.theory.entries import has_price
from properties import blocks, curved, far, programs, tables
from properties.convex import Case, draw, solved
from properties.known import contradictory, known
from properties.parts import parts
from properties.stated import Stated, wrong
from properties.without_solution import infeasible, unbounded

PROVED = (Status.INFEASIBLE, Status.UNBOUNDED)
NAMED = 0.9
"""Share of the problems without a solution that are called by their name."""


def faults(case: Case, x: tuple[np.ndarray, ...]) -> list[str]:
    """What is wrong: a gap above 1% of the objective's terms, a block's own objective 10% off, rows 1% off."""
    answer, problem = case.answer, case.problem
    assert answer is not None
    terms = [
        (0.0 if b.f is None else float(b.f(xi))) + (float(b.h(xi)) if has_price(b) else 0.0)
        for b, xi in zip(problem.blocks, x, strict=True)
    ]
    found, size = [], max(answer.size, _rounding(problem))
    if abs(sum(terms) - answer.value) > 1e-2 * size:
        found.append(f"gap {abs(sum(terms) - answer.value) / size:.1e}")
    for i, (term, own, agreed) in enumerate(zip(terms, answer.terms, answer.known, strict=True)):
        content = float(np.abs(own).sum())
        if agreed and content > 1e-6 * size and abs(term - own.sum()) > 0.1 * content:
            found.append(f"block {i} off by {abs(term - own.sum()) / content:.1e}")
    rows = np.abs(problem.b) + 1e-2 * case.rows
    for op, xi, best in zip(problem.operators, x, answer.x, strict=True):
        dense = np.column_stack([op.apply(e) for e in np.eye(len(xi))])
        rows = rows + np.abs(dense) @ np.maximum(np.abs(xi), np.abs(best))
    off = np.sqrt(np.mean(np.square(problem.residual(x) / rows)))
    return [*found, *([f"rows off by {off:.1e}"] if off > 1e-2 else [])]


def _rounding(problem: Any) -> float:
    """What rounding leaves of an objective that is zero, as where a fit is perfect: (1e3 ε)² of that at zero."""
    at_zero = sum(abs(float(b.f(np.zeros(b.shape)))) for b in problem.blocks if b.f is not None)
    return (1e3 * np.finfo(float).eps) ** 2 * at_zero


def attempt(case: Case | Stated, seconds: float, method: Any = "auto", tol: float = 1e-4) -> Any:
    """The result within so many seconds of this process, whatever else the machine does; or the error."""
    begun = time.process_time()

    def stop(_: Any) -> None:
        if time.process_time() - begun > seconds:
            raise StopIteration

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return solve(case.problem, seed=0, callback=stop, method=method, tol=tol)
    except (AssumptionError, DivergenceError) as error:
        return error


WITH: dict[str, Callable[[int], Case]] = {"convex": draw, "known": known, "parts": parts}
"""Problems with a solution, as a rule."""
WITHOUT = {
    "infeasible": (infeasible, "INFEASIBLE"),
    "unbounded": (unbounded, "UNBOUNDED"),
    "contradictory": (contradictory, "INFEASIBLE"),
    "infeasible-known": (lambda seed: known(seed, infeasible), "INFEASIBLE"),
    "unbounded-known": (lambda seed: known(seed, unbounded), "UNBOUNDED"),
}
"""Problems without a solution, and how they are called."""
STATED: dict[str, Callable[[int], Stated]] = {
    "lp": programs.linear_program,
    "qp": programs.quadratic_program,
    "constrained": programs.constrained,
    "simplex": programs.simplex_program,
    "regression": tables.regression,
    "far": tables.far,
    "far-blocks": far.fits,
    "weighted": tables.weighted,
    "pair": tables.pair,
    "operators": blocks.operators,
    "matrices": blocks.matrices,
    "cardinality": curved.sparse_fit,
    "moved": curved.moved,
    "frames": curved.frames,
    "split": curved.split,
}
"""Problems as users write them, judged in the users' terms: `stated`."""


def judged(
    seed: int,
    seconds: float = 2.0,
    method: Any = "auto",
    build: Callable[[int], Case] = draw,
    tol: float = 1e-4,
) -> tuple[str, list[str]]:
    """(how the solve of a convex case ended, what is wrong with a success)."""
    case = build(seed)
    result = attempt(case, seconds, method, tol)
    if isinstance(result, Exception):
        return type(result).__name__, []
    if not (result.success or result.status in PROVED):
        return result.status.name, []
    reference = solved(case)
    if result.status in PROVED:
        return result.status.name, ["there is a solution"] if reference == "optimal" else []
    if reference == "optimal":
        return "CONVERGED", faults(case, result.x)
    return f"CONVERGED, reference {reference}", ["no solution"] if reference != "unknown" else []


def judged_as_stated(
    seed: int, seconds: float, method: Any, build: Callable[[int], Stated], tol: float = 1e-4
) -> tuple[str, list[str]]:
    """The same of a problem as users write it."""
    case = build(seed)
    result = attempt(case, seconds, method, tol)
    if isinstance(result, Exception):
        return type(result).__name__, []
    found = wrong(case, result) if result.success else []
    if result.status in PROVED and case.critical is None:
        best = case.best()
        found = ["there is a solution"] if best is not None and math.isfinite(best) else []
    return result.status.name, found


def named(case: Case, seconds: float = 2.0) -> str:
    """How the solve of a case without a solution ended."""
    result = attempt(case, seconds)
    return type(result).__name__ if isinstance(result, Exception) else result.status.name


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=[*WITH, *STATED, *WITHOUT], default="convex")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.0, help="of this process, for each problem")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tol", type=float, default=1e-4)
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.seed, options.seed + options.cases):
        found: list[str] = []
        try:
            given = seed, options.seconds, options.method
            if options.kind in STATED:
                end, found = judged_as_stated(*given, STATED[options.kind], options.tol)
            elif options.kind in WITH:
                end, found = judged(*given, WITH[options.kind], options.tol)
            else:
                end = named(WITHOUT[options.kind][0](seed), options.seconds)
                found = ["no solution"] if end == Status.CONVERGED.name else []
        except Exception as error:  # whatever it is, it is a fault, and the others are tried all the same
            end, found = type(error).__name__, [str(error)[:200]]
        ends[end] += 1
        if found:
            wrong += 1
            print(f"WRONG {options.kind} seed {seed}: {end}: {', '.join(found)}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in ends.most_common()), f"; wrong {wrong}", flush=True)
    few = options.kind in WITHOUT and ends[WITHOUT[options.kind][1]] < NAMED * options.cases
    return 1 if wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())
