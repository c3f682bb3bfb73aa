"""The zoo: problems as modellers write them, solved with default options, judged by other solvers.

    python -m benchmarks.zoo [--only TEXT] [--draws N] [--limit SECONDS] [--write docs/zoo.md]

Every statement is drawn several times and solved at the default tolerance and at 1e-6. An answer is *right* if its
objective is within 1e-3 of the oracle's and constraints hold to 1e-3; a *false success* is certified and not right.
Times are CPU seconds on one core, the least of three where they are short: ours for the whole call of `solve`, the
oracle's for its solver alone. What a modeller waits for, statement and compilation included, is compared apart.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.pages import where_and_when, write_section
from benchmarks.statements import ALL, Answer, Data, Statement, least

from ipds import Result, solve

RIGHT = 1e-3
TOLERANCES = (1e-4, 1e-6)


@dataclass
class Outcome:
    """One draw at one tolerance."""

    statement: Statement
    tol: float
    gap: float
    violation: float
    success: bool
    status: str
    seconds: float
    waited: float
    oracle: Answer
    method: str

    @property
    def right(self) -> bool:
        """Whether the answer is as good as the oracle's; a nonconvex one may be better."""
        gap = abs(self.gap) if self.statement.convex else self.gap
        return gap <= RIGHT and self.violation <= RIGHT

    @property
    def ratio(self) -> float:
        """Our time over the oracle's."""
        return self.seconds / max(self.oracle.seconds, 1e-3)

    @property
    def waiting(self) -> float:
        """Our time over the oracle's, from the statement to the answer."""
        return self.waited / max(self.oracle.waited, 1e-3)


def outcome(statement: Statement, data: Data, oracle: Answer, tol: float, limit: float) -> Outcome:
    """One draw at one tolerance; an error is an answer that is not right."""
    stating = math.inf

    def solved() -> tuple[Result | Exception, float]:
        nonlocal stating
        begin = time.process_time()
        problem = statement.problem(data)
        stated = time.process_time()
        stating = min(stating, stated - begin)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return solve(problem, tol=tol, time_limit=limit, seed=0), time.process_time() - stated
        except Exception as error:
            return error, time.process_time() - stated

    result, seconds = least(solved)
    times = seconds, stating + seconds, oracle
    if isinstance(result, Exception):
        name, message = type(result).__name__, str(result)[:80]
        return Outcome(statement, tol, np.inf, np.inf, False, name, *times, message)
    gap = (statement.objective(data, result.x) - oracle.value) / max(abs(oracle.value), RIGHT)
    violation = statement.violation(data, result.x)
    return Outcome(
        statement, tol, gap, violation, bool(result.success), result.status.name, *times, result.method
    )


def outcomes(statement: Statement, draws: int, limit: float) -> list[Outcome]:
    """Every draw at every tolerance."""
    found = []
    for data in map(statement.data, range(draws)):
        oracle = statement.oracle(data)
        found += [outcome(statement, data, oracle, tol, limit) for tol in TOLERANCES]
    return found


def line(name: str, runs: list[Outcome]) -> str:
    """A row of the table."""
    loose, tight = ([r for r in runs if r.tol == tol] for tol in TOLERANCES)
    n = len(loose)
    gap = max((abs(r.gap) for r in runs), default=0.0)
    ours = float(np.median([r.seconds for r in loose]))
    theirs = float(np.median([r.oracle.seconds for r in loose]))
    return (
        f"| {name} | {sum(r.right for r in loose)}/{n} | {sum(r.success for r in loose)}/{n} "
        f"| {sum(r.success for r in tight)}/{n} | {sum(r.success and not r.right for r in runs)} "
        f"| {gap:.0e} | {ours:.3f} | {theirs:.3f} | {float(np.median([r.ratio for r in loose])):.1f} "
        f"| {float(np.median([r.waiting for r in loose])):.1f} |"
    )


HEAD = """| statement | right | certified | at 1e-6 | false | largest gap | s | oracle s | ratio | waiting |
|---|---|---|---|---|---|---|---|---|---|"""


def summary(kind: str, runs: list[Outcome]) -> str:
    """What the table comes to."""
    loose, tight = ([r for r in runs if r.tol == tol] for tol in TOLERANCES)
    if not loose:
        return ""
    ratios, waiting = [r.ratio for r in loose], [r.waiting for r in loose]
    return (
        f"{kind}: {len(loose)} problems; right {_share(loose, 'right')}, certified {_share(loose, 'success')}, at 1e-6 "
        f"{_share(tight, 'success')}; false successes {sum(r.success and not r.right for r in runs)}; our time over "
        f"the oracle's: median {np.median(ratios):.2f}, largest {max(ratios):.1f}; from the statement to the answer: "
        f"median {np.median(waiting):.2f}, largest {max(waiting):.1f}."
    )


def _share(runs: list[Outcome], field: str) -> str:
    return f"{100 * float(np.mean([getattr(r, field) for r in runs])):.0f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="statements whose name holds this text")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per solve")
    parser.add_argument("--write", type=Path, help="the page whose table is written again")
    options = parser.parse_args()
    everything: list[Outcome] = []
    rows = []
    print(HEAD)
    for statement in ALL:
        if options.only.lower() not in statement.name.lower():
            continue
        runs = outcomes(statement, options.draws, options.limit)
        rows.append(line(statement.name, runs))
        everything += runs
        print(
            rows[-1], "" if all(r.success for r in runs) else {(r.status, r.method) for r in runs}, flush=True
        )
    convex = summary("Convex", [r for r in everything if r.statement.convex])
    others = summary("Not convex", [r for r in everything if not r.statement.convex])
    print(convex, others, sep="\n")
    if options.write:
        write_section(
            options.write, "zoo", "\n".join([convex, "", others, "", where_and_when(), "", HEAD, *rows])
        )


if __name__ == "__main__":
    main()
