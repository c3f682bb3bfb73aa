"""Random and hostile arguments for every command: `python tests/hostile/fuzz_arguments.py --cases 2000`.

Exit codes are the documented ones, errors are lines that begin with "ipds:", nothing ends in a traceback.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from typer.testing import CliRunner

from ipds.cli import app
from ipds.cli.errors import BAD_INPUT, IMPOSSIBLE, INTERRUPTED, OK, UNCERTIFIED
from ipds.cli.models import MODELS

EXIT_CODES = (OK, UNCERTIFIED, BAD_INPUT, IMPOSSIBLE, INTERRUPTED)
WORDS = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "2",
        "1.5",
        "1e308",
        "1e-308",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1_0",
        "²",
        "١",
    ),
    *(
        "99999999999999999999",
        "true",
        "null",
        "[1]",
        "a b",
        "--",
        "-",
        "--json",
        "ü",
        "\u202e",
        "\ud83d\ude00",
        "%s",
        "{}",
    ),
    *(
        "../away",
        "/dev/null",
        "/",
        ".",
        "nowhere/x.npz",
        "a" * 300,
        "\0",
        "\n",
        "*",
        "~",
        "$HOME",
        "auto",
        "sound",
        "y",
        "l1",
    ),
)
FILES = {
    "X.npy": None,
    "X.csv": b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * i % 7, 2 * i + i % 3) for i in range(12)),
    "empty.csv": b"",
    "words.csv": b"a,b\nx,y\n1,2\n",
    "noise.npz": bytes(range(256)),
    "good.py": b"from ipds import Block, Problem\nproblem = Problem([Block(A=-1.0, shape=2), Block(shape=2)])\n",
    "raises.py": b"1 / 0\n",
    "leaves.py": b"raise SystemExit(77)\n",
    "syntax.py": b"def\n",
    "other.py": b"problem = 3\n",
}
LIMITS = {
    "demo": ["--max-iter", "1", "--components", "1", "--time-limit", "0"],
    "bench": ["--time-limit", "0", "--repeat", "1"],
    "reproduce": ["--report-only", "--out", "runs"],
    "solve": ["--max-iter", "3", "--time-limit", "0.2"],
}
"""What ends a command soon; the last value of an option counts."""
LEFT_OUT = {"--download", "--install-completion", "--show-completion"}


def prepare(folder: Path) -> None:
    g = np.random.default_rng(0)
    for name, content in FILES.items():
        if content is None:
            np.save(folder / name, g.standard_normal((9, 4)))
        else:
            (folder / name).write_bytes(content)


def commands() -> dict[tuple[str, ...], list[Any]]:
    """Every command with its parameters, as the program itself lists them."""
    tree: Any = typer.main.get_command(app)
    solve = tree.commands["solve"].commands
    found = {(name,): command.params for name, command in tree.commands.items() if name != "solve"}
    return found | {("solve", name): command.params for name, command in solve.items()}


COMMANDS = commands()
assert {c[1] for c in COMMANDS if c[0] == "solve"} == {*MODELS, "file"}


def arguments(draw: random.Random) -> list[str]:
    """One command line."""
    command = draw.choice(sorted(COMMANDS))
    value = lambda: draw.choice((*WORDS, *FILES) if draw.random() < 0.5 else tuple(FILES))  # noqa: E731
    line = list(command)
    for parameter in COMMANDS[command]:
        if not parameter.opts[0].startswith("-"):
            if draw.random() < 0.95:
                line.append(draw.choice(sorted(FILES)) if draw.random() < 0.8 else value())
        elif draw.random() < 0.15 and not LEFT_OUT & set(parameter.opts):
            line.append(draw.choice([*parameter.opts, *parameter.secondary_opts]))
            if not parameter.is_flag or draw.random() < 0.05:
                line.append(draw.choice(WORDS) if draw.random() < 0.9 else value())
    if draw.random() < 0.1:
        line.insert(draw.randrange(len(line) + 1), draw.choice(WORDS))
    return [*line, *LIMITS.get(command[0], [])]


def fault(line: list[str]) -> tuple[int, str]:
    """(exit code, what is wrong about how the command ended)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ended = CliRunner().invoke(app, line)
    wrong = []
    if ended.exit_code not in EXIT_CODES:
        wrong.append(f"exit code {ended.exit_code}")
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        wrong.append(f"raised {ended.exception!r}")
    if "Traceback" in ended.output:
        wrong.append("a traceback")
    own = "check" not in line  # whose file may fail as it likes
    if own and "an error in ipds" in ended.output:
        wrong.append(next(text for text in ended.output.splitlines() if "an error in ipds" in text))
    if ended.exit_code in (BAD_INPUT, IMPOSSIBLE) and not any(
        text.startswith(("ipds:", "Usage:", " Usage:")) for text in ended.output.splitlines()
    ):
        wrong.append(f"no line of its own: {ended.output[-200:]!r}")
    return ended.exit_code, "; ".join(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, codes, faults = random.Random(options.seed), Counter[int](), []
    with tempfile.TemporaryDirectory() as name:
        inner = Path(name) / "inner"
        inner.mkdir()
        os.chdir(inner)
        for _ in range(options.cases):
            prepare(inner)
            line = arguments(draw)
            code, wrong = fault(line)
            codes[code] += 1
            if wrong:
                faults.append(f"{line}: {wrong}")
        os.chdir("/")
    print(f"{options.cases} command lines; exit codes {dict(codes)}; faults {len(faults)}")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
