"""Fuzz for a while: `python tests/hostile/fuzz.py --minutes 15` prints what was tried, how it ended, every fault."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter

import fuzzing
from hypothesis import HealthCheck, Phase, given, seed, settings

from ipds.methods.baselines.fixed_penalty import OutsideTheoremWarning


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", OutsideTheoremWarning)
    end = time.monotonic() + 60 * options.minutes
    seen: Counter[str] = Counter()
    faults: dict[str, tuple[int, str]] = {}

    def one(case: fuzzing.Case) -> None:
        seen["cases"] += 1
        try:
            fuzzing.judge(case, seen)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}"
            message = str(error).strip().splitlines() or [""]
            key = f"{type(error).__name__} at {place}: {message[0][:100]}"
            count, first = faults.get(key.split(": ")[0], (0, f"{key}\n    {case.label}"))
            faults[key.split(": ")[0]] = (count + 1, first)

    turn = options.seed
    while time.monotonic() < end:
        run = settings(
            max_examples=200,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(fuzzing.cases())(one))
        seed(turn)(run)()
        turn += 1
    print(", ".join(f"{name} {count}" for name, count in seen.most_common()))
    for count, first in sorted(faults.values(), reverse=True):
        print(f"FAULT, {count} times: {first}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
