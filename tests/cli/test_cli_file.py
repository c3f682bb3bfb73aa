"""`ipds solve model.py` and what `ipds check` says of a model."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ipds.cli import app

MODEL = """
import numpy as np
from ipds import Variable, minimize
from ipds.modelling import norm1, sum_squares

x = Variable(3, name="x")
problem = minimize(0.5 * sum_squares(x - np.array([3.0, -0.5, 1.0])) + norm1(x), [x <= 1.5, x.sum() == 2])
"""
BLOCKS = """
from ipds import Block, Problem
from ipds.functions import L1, LeastSquares
mine = Problem([Block(f=LeastSquares(2.0, 3.0), A=-1.0, shape=2, name="x"), Block(h=L1(1.0), shape=2, name="v")])
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "140"})


def squeezed(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    return file


@pytest.mark.parametrize("command", [["solve"], ["solve", "file"]])
def test_solve_runs_the_file_and_reports_values_and_multipliers(model, command):
    result = run(*command, model, "--tol", "1e-8", "--quiet")
    assert result.exit_code == 0, result.output
    assert "certified" in result.output
    assert "norm1(x)" in result.output
    assert "\nx 1.5 " in squeezed(result.output)
    assert "dual_0" in result.output
    assert "dual_1" in result.output


def test_solve_writes_values(model, tmp_path):
    out = tmp_path / "values.npz"
    result = run("solve", model, "--tol", "1e-8", "--out", out, "--json", "--quiet")
    record = json.loads(result.output)
    assert record["certified"]
    with np.load(out) as saved:
        assert saved["x"] == pytest.approx([1.5, 0.0, 0.5], abs=1e-5)
        assert record["values"]["x"] == saved["x"].tolist()


def test_solve_takes_problems_of_blocks_by_name(tmp_path):
    file = tmp_path / "blocks.py"
    file.write_text(BLOCKS)
    wrong = run("solve", file)
    assert wrong.exit_code == 2
    assert "--name mine" in wrong.stderr
    right = run("solve", file, "--name", "mine", "--tol", "1e-8", "--quiet")
    assert "\nv 1.25 1.25" in squeezed(right.output)


def test_solve_says_where_a_file_fails(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text("from ipds import Variable\nx = Variable(3, name='x')\nx * x\n")
    result = run("solve", file)
    assert result.exit_code == 2
    assert "line 3" in result.stderr
    assert "product of variables" in result.stderr


def test_exit_code_without_a_certificate(model):
    slow = ("--method", "sound", "--max-iter", "1", "--tol", "1e-12")
    assert run("solve", model, *slow, "--quiet").exit_code == 1


def test_a_problem_without_an_answer_is_told_so(model):
    model.write_text(MODEL.replace("x <= 1.5", "x <= 0.5"))
    result = run("solve", model, "--quiet")
    assert result.exit_code == 1
    assert "\nno answer this is proved\nended infeasible: " in squeezed(result.output)


def test_check_prints_the_splitting(model):
    output = run("check", model).output
    assert "rows of the last block" in output
    assert "`x.sum() == 2`" in output
