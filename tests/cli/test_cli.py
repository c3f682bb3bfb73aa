"""The command line, run as a user would: demo, check, bench, errors."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ipds
from ipds.cli import app
from ipds.cli.later import later


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "140"})


def test_demo_solves_names_what_it_found_and_draws(tmp_path):
    picture = tmp_path / "demo.png"
    picture.write_text("mine")
    refused = run("demo", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "demo.png exists; pass --force to replace it" in refused.stderr
    assert picture.read_text() == "mine"
    result = run("demo", "--out", tmp_path, "--force")
    assert result.exit_code == 0, result.output
    for part in (
        "Cardinality(4)",
        "worst area",
        "96.8% of 569 tumours told right",
        "component 2: alcohol, ash, color_intensity, proline\ncertified: ",
        "What to try next",
    ):
        assert part in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_works_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "--out", tmp_path / "figures")
    assert result.exit_code == 0, result.output
    assert "ipds-admm[plot]" in result.output
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(("h", "code"), [("L1(0.1)", 0), ("L0(0.1)", 1)])
def test_check_reports_and_its_exit_code_says_whether_the_theorem_applies(tmp_path, h, code):
    file = tmp_path / "mine.py"
    file.write_text(
        "from ipds import Block, Problem\nfrom ipds.functions import *\n"
        f"problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3, name='u'), Block(h={h}, shape=3, name='v')])\n"
    )
    result = run("check", file)
    assert result.exit_code == code
    assert "last block" in result.output
    assert ("move block 'u' last" in result.output) == bool(code)
    assert "AcceleratedIPDS(effort='balanced')" in result.output  # tried in any case


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("problem = 3\n", "`problem` must be an ipds.Problem, got int"),
        ("x = 3\n", "write problem = ipds.minimize(...)"),
        (
            "from ipds import *\nmine = Problem([Block(shape=2)])\n",
            "pass --name mine",
        ),
        ("import no_such_module\n", "No module named 'no_such_module'"),
        ("x = 3\n1/0\n", "file.py, line 2: ZeroDivisionError: division by zero"),
        ("import json\njson.loads('{')\n", "file.py, line 2: JSONDecodeError: Expecting property name"),
        ("import sys; sys.exit(0)\n", "leaves Python"),
    ],
)
def test_check_says_in_one_line_what_is_wrong_with_the_file(tmp_path, text, words):
    file = tmp_path / "file.py"
    file.write_text(text)
    result = run("check", file)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_check_does_not_run_data(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n")
    result = run("check", file)
    assert result.exit_code == 2
    assert "no Python file" in result.stderr
    assert "ipds solve MODEL" in result.stderr


def test_check_finds_modules_beside_the_file(tmp_path):
    (tmp_path / "beside_mine.py").write_text("from ipds.functions import L1\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "from ipds import Block, Problem\nfrom beside_mine import L1\n"
        "problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])\n"
    )
    assert run("check", file).exit_code == 0
    assert "to a criticality of 0.01" in run("check", file, "--epsilon", "0.01").output
    assert str(tmp_path) not in sys.path


def test_debug_shows_the_traceback_wherever_it_stands(tmp_path):
    file = tmp_path / "file.py"
    file.write_text("1/0\n")
    for arguments, kind in (
        (["check", str(file), "--debug"], "ZeroDivisionError"),
        (["--debug", "check", str(file)], "ZeroDivisionError"),
        (["solve", "sparse-pca", "nowhere.csv", "--debug"], "DataError"),
    ):
        shown = subprocess.run([sys.executable, "-m", "ipds", *arguments], capture_output=True, text=True)
        assert "Traceback" in shown.stderr
        assert kind in shown.stderr


def test_bench_in_json_has_every_method_on_every_problem():
    result = run("bench", "--time-limit", "0.02", "--repeat", "1", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert len(record) == 3
    for methods in record.values():
        assert len(methods) == 6
        assert methods["auto (the default)"]["iterations"] >= 1
        assert methods["RADMM"] is None or methods["RADMM"]["status"] in ipds.Status.__members__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sovle"], "Did you mean 'solve'?"),
        (["solve", "sparse-pac", "x.csv"], "Did you mean 'sparse-pca'?"),
        (["solve", "sparse-pca"], "Missing argument"),
        (["solve", "sparse-pca", "x.csv", "--alhpa", "3"], "--alpha"),
        (["check", "missing.py"], "does not exist"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.startswith("ipds: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_the_module_runs():
    shown = subprocess.run(
        [sys.executable, "-m", "ipds", "--version"], capture_output=True, text=True, check=True
    )
    lines = shown.stdout.splitlines()
    assert lines[0] == f"ipds {ipds.__version__}"
    assert lines[1].startswith("Python 3")
    assert f"numpy {np.__version__}" in lines
    assert not any("missing" in line for line in lines)


def test_help_imports_neither_scikit_learn_nor_matplotlib():
    code = (
        "import sys\nfrom ipds.cli import app\n"
        "try:\n    app(['solve', 'sparse-pca', '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(bool({'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, sys.stderr
    assert "--n-components" in shown.stdout


def test_a_solve_leaves_out_what_scikit_learn_loads_for_others(tmp_path):
    np.savetxt(tmp_path / "data.csv", np.random.default_rng(0).standard_normal((12, 3)), delimiter=",")
    code = (
        "import sys\nfrom ipds.cli import app\n"
        f"try:\n    app(['solve', 'robust-regression', {str(tmp_path / 'data.csv')!r}, '--target', '0', '-q'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert 'sklearn' in sys.modules and not {'pandas', 'scipy.stats'} & set(sys.modules)\n"
        "from sklearn.utils import fixes\n"
        "assert fixes._mode([1, 2, 2]).mode[0] == 2 and sys.modules['scipy.stats'].norm.cdf(0) == 0.5\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_module_for_later_is_loaded_by_its_first_attribute(tmp_path, monkeypatch):
    (tmp_path / "heavy_module.py").write_text("weight = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    with later("heavy_module", "a_module_that_is_not_there", "json"):
        import heavy_module as kept

        assert "a_module_that_is_not_there" not in sys.modules
        assert sys.modules["json"] is json  # loaded already: as it is
    assert "heavy_module" not in sys.modules
    assert kept.weight == 7
    assert sys.modules["heavy_module"] is not kept  # the module itself, for whoever imports it now
    with pytest.raises(AttributeError, match="length"):
        kept.length  # noqa: B018
    del sys.modules["heavy_module"]


def test_a_closed_pipe_has_an_exit_code_of_its_own():
    """Not 1, which says that an answer is not certified."""
    code = f"{sys.executable} -m ipds bench --json --repeat 1 --time-limit 0.05"
    done = subprocess.run(
        ["bash", "-c", f"{code} | true; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "141", done.stderr
    assert "Traceback" not in done.stderr


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"\033]0;owned\007a,c,y\n1,2,3\n2,3,5\n4,1,3\n")
    options = ["robust-regression", str(tmp_path / "e.csv"), "--target", "zz", "--sparsity", "1"]
    ended = CliRunner().invoke(app, ["solve", *options])
    assert ended.exit_code == 2
    assert "\033" not in ended.output
    assert "there are" in ended.output


def test_help_lists_the_commands_in_the_order_of_the_page_and_the_page_has_all_models():
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
    lines = run("--help").output.splitlines()
    commands = [line.split()[1] for line in lines if line.startswith("│ ") and line[2].isalpha()]
    assert commands == list(dict.fromkeys(re.findall(r"^\| `ipds (\w+)", page, re.M)))
    models = [
        line.split()[1] for line in run("solve", "--help").output.splitlines() if re.match("│ [a-z]", line)
    ]
    assert set(models) - {"file"} == set(re.findall(r"^\| `([a-z-]+)` \| ", page, re.M))
