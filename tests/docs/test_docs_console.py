"""The console blocks of docs/command_line.md, run in order in one folder; `...` in their output stands for anything."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ipds.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def transcript():
    """(command, expected output) of every console block."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def test_the_transcript_of_the_command_line_page(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        Path(name).write_text(text)
    checker = doctest.OutputChecker()
    commands = list(transcript())
    assert len(commands) >= 10
    for command, expected in commands:
        program, *arguments = shlex.split(command)
        if program == "ipds":
            shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"}).output
        else:
            assert program == "python"
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
            shown = done.stdout
        assert checker.check_output(expected, shown, LOOSE), (
            f"$ {command}\nexpected\n{expected}\ngot\n{shown}"
        )
