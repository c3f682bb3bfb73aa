"""The command line, run as a user would."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import ipds
from ipds.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "140"})


def test_demo_prints_a_row_per_method():
    result = run("demo", "--max-iter", "30", "--components", "2")
    assert result.exit_code == 0, result.output
    for part in ("auto: ", "IPDS(practical)", "IPDS(sound)", "objective", "certificate", "theorem applies"):
        assert part in result.output


@pytest.mark.parametrize(("h", "code"), [("L1(0.1)", 0), ("L0(0.1)", 1)])
def test_check_reports_and_its_exit_code_says_whether_the_theorem_applies(tmp_path, h, code):
    file = tmp_path / "mine.py"
    file.write_text(
        "from ipds import Block, Problem\nfrom ipds.functions import *\n"
        f"problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3, name='u'), Block(h={h}, shape=3, name='v')])\n"
    )
    result = run("check", str(file))
    assert result.exit_code == code
    assert "last block" in result.output
    assert ("move block 'u' last" in result.output) == bool(code)


def test_check_says_when_there_is_no_problem(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("problem = 3\n")
    result = run("check", str(file))
    assert result.exit_code == 2
    assert "`problem` must be an ipds.Problem, got int" in result.output


def test_the_module_runs():
    shown = subprocess.run(
        [sys.executable, "-m", "ipds", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == f"ipds {ipds.__version__}"
