"""Constants of the Newton method: the value, the reason, and what other values cost on problems of the zoo.

    python -m benchmarks.ablation [--only TEXT] [--write docs/engine_notes.md]

Steps, CPU seconds and unfinished problems of one draw of every small convex statement, at a tolerance of 1e-6. Reasons
are the docstrings of the constants; those that have no other value in `TRIED` are limits of size, or of rounding.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.pages import where_and_when, write_section
from benchmarks.statements import ALL

import ipds.methods.newton
from ipds import solve
from ipds.methods.newton.returning import Trust

ROOM = Path(ipds.methods.newton.__file__).parent
LARGE = (
    "300x1000",
    "2000",
    "5000",
    "64x64",
    "24x24",
    "transport 50",
    "150x400",
    "800x300",
    "completion",
    "robust",
)
"""Statements that would take most of the time."""
TRIED: dict[str, tuple[Any, ...]] = {
    "method.ROUNDS": (1, 3),
    "rounds.SWEEPS": ((10,), (30,), (20, 20, 20)),
    "rounds.PROXIMAL": (1e-4, 1e-8),
    "method.CENTRE": (1e-3, 0.1),
    "method.PATIENCE": (4,),
    "method.WORTH": (1e-3, 1e-7),
    "method.SETTLED": (0.0, 1e-2, 1e-5),
    "method.AGAIN": (0.3, 1e-3),
    "method.MIXED": (1e-3, np.inf),
    "method.ARRIVED": (1e-5, 1e-9),
    "returning.FOUND": (Trust(0.5, 0.3, 0, 4), Trust(0.01, 0.3, 0, 4), Trust(0.1, 1.0, 0, 10)),
    "returning.REGULAR": (1e6, 1e10),
    "interior.REGULAR": (1e6, 1e10),
    "interior.TO_BOUNDARY": (0.9, 0.9999),
    "interior.CENTRE": (0.0, 1e-2),
    "interior.DAMPED": (0.1, 0.9),
    "semismooth.ENOUGH": (0.05, 0.8),
    "semismooth.SLOPE": (0.01, 0.5),
    "semismooth.MOST": (10, 100),
    "semismooth.BALANCE": (2.0, 100.0),
    "semismooth.LESS": (3.0, 100.0),
    "units.PASSES": (0, 3),
    "units.EVEN": (1.01, 2.0),
    "units.POWERS": (2, 30),
    "units.ORTHONORMAL": (0,),
    "strategies.SMALL": (0, 1000),
}


class Constant(NamedTuple):
    """One of the module's, with the docstring below it."""

    module: str
    name: str
    reason: str

    @property
    def label(self) -> str:
        """As in `TRIED`."""
        return f"{self.module}.{self.name}"


def constants() -> Iterator[Constant]:
    """Those in capitals, file by file; names that are set together share a docstring."""
    for path in sorted(ROOM.glob("*.py")):
        body = ast.parse(path.read_text()).body
        for node, following in pairwise(body):
            if isinstance(node, ast.Assign) and isinstance(following, ast.Expr):
                assert isinstance(following.value, ast.Constant)
                names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
                reason = " ".join(str(following.value.value).split())
                yield from (Constant(path.stem, name, reason) for name in names if name.isupper())


def cost() -> tuple[int, float, int]:
    """(steps, CPU seconds, unfinished) over the statements."""
    steps, seconds, unfinished = 0, 0.0, 0
    for statement in ALL:
        if statement.convex and not any(text in statement.name for text in LARGE):
            problem = statement.problem(statement.data(0))
            begin = time.process_time()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = solve(problem, tol=1e-6, max_iter=300, seed=0, method="newton")
            seconds += time.process_time() - begin
            steps += result.nit
            unfinished += not result.success
    return steps, seconds, unfinished


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="constants whose name holds this text")
    parser.add_argument("--write", type=Path, help="the page whose table is written again")
    options = parser.parse_args()
    cost()  # imports and first calls are not on the clock
    steps, seconds, unfinished = cost()
    lines = [
        f"As they are: {steps} steps, {seconds:.2f} CPU s, {unfinished} unfinished. {where_and_when()}",
        "",
        "| constant | value | why | other values: steps, CPU s, unfinished |",
        "|---|---|---|---|",
    ]
    for constant in constants():
        if constant.label not in TRIED or options.only not in constant.label:
            continue
        module = importlib.import_module(f"ipds.methods.newton.{constant.module}")
        value, found = getattr(module, constant.name), []
        for other in TRIED[constant.label]:
            setattr(module, constant.name, other)
            own = cost()
            setattr(module, constant.name, value)
            found.append(f"{_shown(other)}: {own[0]}, {own[1]:.2f}, {own[2]}")
        why = constant.reason.replace("|", "\\|")
        lines.append(f"| `{constant.label}` | {_shown(value)} | {why} | {'; '.join(found)} |")
        print(lines[-1], flush=True)
    if options.write:
        write_section(options.write, "ablation", "\n".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return str(tuple(value))
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "tolist", lambda: value)())


if __name__ == "__main__":
    main()
