"""The estimators with default arguments on real data, beside what users would otherwise take. One thread.

    python benchmarks/real_data.py [--only TEXT] [--again] [--write docs/models.md]

Data of scikit-learn, and of statsmodels where that is installed; ruptures, celer, skglm and CVXPY take part where they
are. Seconds of processor time; quality as the column says (`real_cases`). Every case runs in a process of its own with
a time limit, and its rows are kept in out/real_data.json as they come: started again, only what is missing runs
(`--again`: everything). `--write` puts the table between its markers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from real_cases import Row, cases, first_use

LIMIT = 1800
"""Seconds of a case."""
KEPT = Path("out/real_data.json")


def run(name: str) -> list[Row]:
    """The rows of a case, from a process of its own; one row with the reason where it gives none."""
    command = [sys.executable, __file__, "--case", name]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True).stdout
        return [tuple(row) for row in json.loads(told.splitlines()[-1])]
    except subprocess.TimeoutExpired:
        why = f"not done in {LIMIT} s"
    except (subprocess.CalledProcessError, ValueError) as error:
        why = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1][:80]
    model, data = name.split(", ", 1)
    return [(model, data, "-", why, float("nan"))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--again", action="store_true", help="run those that are kept, too")
    parser.add_argument("--write", type=Path, default=None)
    parser.add_argument("--case", default=None, help="one case, here, its rows as JSON")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.case is not None:
        first_use()
        print(json.dumps(cases()[args.case]()))
        return
    KEPT.parent.mkdir(exist_ok=True)
    kept: dict[str, list[Row]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in cases():
        if args.only in name and (args.again or name not in kept):
            kept[name] = run(name)
            KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False))
            print(*(" | ".join(map(str, row)) for row in kept[name]), sep="\n", flush=True)
    lines = ["| model | data | by | quality | seconds |", "|---|---|---|---|---|"]
    lines += [
        f"| {m} | {d} | {who} | {quality} | {s:.3g} |"
        for name in cases()
        for m, d, who, quality, s in kept.get(name, [])
    ]
    text = "\n".join(lines) + "\n"
    if args.write is not None:
        page = args.write.read_text(encoding="utf-8")
        head, rest = page.split("<!-- real data -->\n", 1)
        tail = rest.split("<!-- /real data -->\n", 1)[1]
        args.write.write_text(
            f"{head}<!-- real data -->\n{text}<!-- /real data -->\n{tail}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
