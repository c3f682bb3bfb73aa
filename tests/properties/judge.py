"""Whether an answer is wrong, which a success must never be; `judge.py --cases 5000` tries many."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from ipds import AssumptionError, DivergenceError, solve
from ipds.theory.entries import has_price
from properties.convex import Case, draw, solved


def faults(case: Case, x: tuple[np.ndarray, ...]) -> list[str]:
    """What is wrong: a gap above 1% of the objective's terms, a block's own objective 10% off, rows 1% off."""
    answer, problem = case.answer, case.problem
    assert answer is not None
    terms = [
        (0.0 if b.f is None else float(b.f(xi))) + (float(b.h(xi)) if has_price(b) else 0.0)
        for b, xi in zip(problem.blocks, x, strict=True)
    ]
    found, size = [], answer.size
    if abs(sum(terms) - answer.value) > 1e-2 * size:
        found.append(f"gap {abs(sum(terms) - answer.value) / size:.1e}")
    for i, (term, own, known) in enumerate(zip(terms, answer.terms, answer.known, strict=True)):
        content = float(np.abs(own).sum())
        if known and content > 1e-6 * size and abs(term - own.sum()) > 0.1 * content:
            found.append(f"block {i} off by {abs(term - own.sum()) / content:.1e}")
    rows = np.abs(problem.b) + 1e-2 * case.rows
    for op, xi, best in zip(problem.operators, x, answer.x, strict=True):
        dense = np.column_stack([op.apply(e) for e in np.eye(len(xi))])
        rows = rows + np.abs(dense) @ np.maximum(np.abs(xi), np.abs(best))
    off = np.sqrt(np.mean(np.square(problem.residual(x) / rows)))
    return [*found, *([f"rows off by {off:.1e}"] if off > 1e-2 else [])]


def judged(seed: int) -> tuple[str, list[str]]:
    """(how the solve ended, what is wrong with a success)."""
    case = draw(seed)
    if solved(case) != "optimal":
        return "no reference", []
    try:
        result = solve(case.problem, seed=0, time_limit=5.0)
    except (AssumptionError, DivergenceError) as error:
        return type(error).__name__, []
    return result.status.name, faults(case, result.x) if result.success else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.seed, options.seed + options.cases):
        end, found = judged(seed)
        ends[end] += 1
        if found:
            wrong += 1
            print(f"FALSE SUCCESS {draw(seed).label}: {', '.join(found)}")
    print(", ".join(f"{name} {count}" for name, count in ends.most_common()), f"; false successes {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
