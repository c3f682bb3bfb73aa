"""The grid: what is run, that finished cells stay, that missing data are named, and that the report shows all of it."""

import csv
import html
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ipds.cli import app
from ipds.experiments import command, entrants, pool, run, theory
from ipds.experiments.command import Options, reproduce
from ipds.experiments.entrants import ENTRANTS, by_steps
from ipds.experiments.findings import facts
from ipds.experiments.grid import MULTIPLES, RHOS, Cell, paper_cells, trade_off_cells
from ipds.experiments.instance import instance
from ipds.experiments.record import Recorder

pytest.importorskip("matplotlib")
TINY = ("randn-40-12", "digits-60-12")


@pytest.fixture
def tiny(monkeypatch):
    """A grid of seconds: small data, few components, a short theory."""
    short = theory.measure(60, 20)
    monkeypatch.setattr(command.theory, "measure", lambda: short)
    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "QUICK_TRADE_OFFS", (("tradeoff-10-12", 0.6),))
    plan, cases = command.paper_cells, command.trade_off_cells
    monkeypatch.setattr(
        command, "paper_cells", lambda *a, **k: plan(*a, **k, multiples=(10.0,), components=3)
    )
    monkeypatch.setattr(command, "trade_off_cells", lambda *a: cases(*a, components=3))
    # in this process: a pool of processes is tested on its own
    monkeypatch.setattr(pool, "ProcessPoolExecutor", InThisProcess)


class InThisProcess:
    def __init__(self, *args, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def submit(self, function, *args):
        from concurrent.futures import Future

        future = Future()
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, **options):
        pass


def test_the_grid_is_the_papers():
    cells = paper_cells()
    assert len({cell.name for cell in cells}) == len(cells)
    found = {(c.dataset, c.weight, c.multiple) for c in cells if c.multiple is not None}
    assert len(found) == 8 * 4 * 4
    with_beta0 = [e for e in ENTRANTS if e.takes_beta0 and "paper" in e.families]
    without = [e for e in ENTRANTS if not e.takes_beta0 and "paper" in e.families]
    assert len(cells) == 8 * 4 * (4 * len(with_beta0) + len(without))
    kinds = {c.entrant for c in cells}
    assert {
        "auto",
        "IPDS printed",
        "IPDS sound",
        "IPDS practical",
        "IPDS accelerated",
        "ManPG",
        "MIALM",
    } <= kinds
    assert {
        f"{name} {rule}" for name in ("SubGrad", "SPGM", "RADMM") for rule in ("published", "tuned")
    } <= kinds
    assert all(c.multiple is None for c in trade_off_cells())


def test_the_score_is_the_objective_of_the_paper():
    case = instance("paper", "randn-40-12", 2.0, 3, 0, None)
    D, V = case.D, case.start
    expected = np.sum((D - D @ V @ V.T) ** 2) / (2 * len(D)) + 2.0 * np.abs(V).sum()
    assert case.score(V) == pytest.approx(expected)
    assert case.score(3.0 * V) == pytest.approx(expected)  # at the nearest feasible point
    assert case.score(math.nan * V) == math.inf
    for problem in (case.problem(), case.printed_problem()):
        total = sum((b.f(V) if b.f is not None else 0.0) + b.h(V) for b in problem.blocks)
        constant = case.constant if problem.blocks[0].f is not None else 0.0
        assert total + constant == pytest.approx(expected)
    trade = instance("trade-off", "tradeoff-10-12", 0.6, 3, 0, None)
    B = trade.D / math.sqrt(20)
    assert trade.score(trade.start) == pytest.approx(
        -np.sum((B @ trade.start) ** 2) + 0.6 * np.abs(trade.start).sum()
    )


def test_scoring_is_off_the_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ipds.experiments.record.time.perf_counter", lambda: now[0])

    def score(Y):
        now[0] += 100.0
        return 1.0

    record = Recorder(score, budget=3.0)
    record.start()
    for step in (1.0, 0.05, 1.0, 0.95):
        now[0] += step
        record(np.zeros(1))
    assert [t for t, _ in record.curve] == pytest.approx([1.0, 2.05, 3.0])  # at 1.05 none was due
    assert not record.over
    now[0] += 0.1
    record(np.zeros(1))
    assert record.over


@pytest.mark.parametrize("entrant", ENTRANTS, ids=lambda e: e.label)
def test_every_entrant_runs_and_is_scored_from_the_same_start(entrant):
    family = entrant.families[0]
    cell = Cell(
        family,
        "randn-40-12" if family == "paper" else "tradeoff-10-12",
        1.0,
        50.0 if entrant.takes_beta0 else None,
        entrant.label,
        0,
        0.05,
        3,
    )
    row = run.run_cell(cell, None)
    assert not row["status"].startswith("FAILED")
    assert row["objective"] == row["curve"][-1][1]
    assert row["lowest"] == min(F for _, F in row["curve"])
    if family == "paper":
        assert row["lowest"] >= 3.0  # ρr bounds F below
    json.dumps(row, allow_nan=False)


def test_a_failure_is_a_row_and_is_tried_again(tmp_path, monkeypatch):
    cell = Cell("paper", "randn-40-12", 1.0, None, "RADMM tuned", 0, 0.02, 3)

    def broken():
        raise ArithmeticError("no such step")

    working = entrants.BY_LABEL["RADMM tuned"]
    failing = entrants.Entrant("RADMM tuned", "baseline", by_steps(broken))
    monkeypatch.setattr(run, "_warm", True)
    monkeypatch.setitem(entrants.BY_LABEL, "RADMM tuned", failing)
    pool._work(cell, tmp_path, None)
    assert pool.missing([cell], tmp_path) == [cell]
    assert pool.finished([cell], tmp_path)[0]["status"] == "FAILED: ArithmeticError: no such step"
    monkeypatch.setitem(entrants.BY_LABEL, "RADMM tuned", working)
    pool._work(cell, tmp_path, None)
    assert pool.missing([cell], tmp_path) == []
    assert pool.finished([cell], tmp_path)[0]["status"] == "BUDGET"


def test_finished_cells_are_never_run_again_over_processes(tmp_path):
    cells = paper_cells(["randn-40-12"], [1.0], [10.0], seconds=0.02, components=3)
    seen = []

    def interrupt(cell):
        seen.append(cell.name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run_all(cells, tmp_path, None, 1, interrupt)
    kept = {path: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert len(seen) == 1
    assert 1 <= len(kept) < len(cells)  # what had not begun was not begun
    (tmp_path / ".half.json.1.part").write_text("{")  # what a kill leaves behind is not a result
    again = []
    pool.run_all(cells, tmp_path, None, 2, lambda cell: again.append(cell.name))
    assert len(again) == len(cells) - len(kept)
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert len(pool.finished(cells, tmp_path)) == len(cells)
    pool.run_all(cells, tmp_path, None, 2, lambda cell: pytest.fail("a finished cell was run again"))


def test_other_settings_are_other_cells():
    cells = {c.name for c in paper_cells(["randn-40-12"], seconds=1.0)}
    assert cells.isdisjoint(c.name for c in paper_cells(["randn-40-12"], seconds=2.0))


def test_the_theory_measured():
    measured = theory.measure(400, 200)
    sound, printed = measured["sound"], measured["printed"]
    assert sound["failures"] == 0
    assert sound["checked"] == 200
    assert np.all(np.diff(sound["potential"]) < 0)
    assert sound["blown_up"] is None
    assert printed["failures"] > 0.9 * printed["checked"]
    assert printed["blown_up"] < 400
    assert measured["settings"]["sound margin"] > 0 > measured["settings"]["printed margin"]
    assert theory.radius(theory.printed()) == pytest.approx(2.618, abs=1e-3)


def test_end_to_end(tmp_path, tiny, monkeypatch):
    monkeypatch.delenv("IPDS_DATA", raising=False)
    monkeypatch.setenv("IPDS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(command, "QUICK", (*TINY, "sector-1500-500"))
    curves = tmp_path / "curves.json"
    published = {
        "dataset": "sector-1500-500",
        "rho": 10,
        "beta0": 100,
        "curves": {"IPDS-ADMM": [[1, 300], [20, 201]]},
    }
    curves.write_text(json.dumps({"panels": [published]}))
    said = io.StringIO()
    options = Options(
        tmp_path / "out",
        quick=True,
        seconds=0.02,
        rhos=(1.0, 10.0),
        curves=curves,
        publish=tmp_path / "results",
    )
    study = reproduce(options, Console(file=said, width=200))
    assert "skipped: sector-1500-500: sector.scale.bz2 is not in" in said.getvalue()
    assert said.getvalue().rstrip().endswith("report.html; skipped: sector-1500-500")
    assert str(tmp_path) not in (tmp_path / "results" / "README.md").read_text()
    assert "at most about" in said.getvalue()
    assert len(study.paper) == 2 * 2
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1 + 1 + 2
    assert page.index("<img") < page.index("<h2>")  # a sentence and a picture come first
    assert "ends within 0.0001 of the best" in page[: page.index("<img")]
    assert page.count("<table>") == page.count(
        "<div class='wide tall' tabindex='0'><table>"
    )  # all of them scroll
    short = (tmp_path / "out" / "README.md").read_text()
    assert short.index("](figures/opening.png)") < short.index("## ")
    assert "http" not in page.replace("https://www.csie.ntu.edu.tw", "")  # nothing is fetched
    text = html.unescape(page)
    for panel in study.paper:
        assert f"<td class=''>{panel.dataset}</td><td class=''>{panel.weight:g}</td>" in page
    for wanted in (
        "Skipped: sector-1500-500",
        "The printed parameters",
        "fails at",
        "Strictly lowest",
        "ends within 0.0001",
    ):
        assert wanted in text
    assert {"machine", "versions", "seeds", "budget"} <= set(facts(study))
    out = tmp_path / "out"
    assert len(list((out / "figures").glob("*.pdf"))) == len(list((out / "figures").glob("*.png"))) == 4
    assert (out / "curves.csv").read_text().count("\n") == 1 + sum(len(r["curve"]) for r in study.rows)
    results = list(csv.DictReader(io.StringIO((tmp_path / "results" / "results.csv").read_text())))
    assert len(results) == len(study.rows)
    assert {line["dataset"] for line in results} == set(TINY)  # nothing stands in for what is missing
    assert not (tmp_path / "results" / "curves.csv").exists()
    assert "](figures/theory.png)" in (tmp_path / "results" / "README.md").read_text()

    def refuse(*args):
        raise AssertionError("a finished cell was run again")

    monkeypatch.setattr(pool, "run_cell", refuse)
    again = reproduce(options, Console(file=io.StringIO(), width=200))
    assert len(again.rows) == len(study.rows)
    part = Options(
        out, quick=True, seconds=0.02, rhos=(10.0,), publish=tmp_path / "results", report_only=True
    )
    reproduce(part, Console(file=io.StringIO(), width=200))
    for folder in (out, tmp_path / "results"):  # no figure of another grid is left
        assert [file.stem for file in sorted(folder.glob("figures/*.png"))] == [
            "opening",
            "rho10-beta10",
            "theory",
        ]


def test_the_trade_off_is_part_of_the_whole_grid(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(command, "QUICK_RHOS", (1.0,))
    options = Options(tmp_path, quick=True, seconds=0.02)
    study = reproduce(options, Console(file=io.StringIO(), width=200))
    assert [panel.dataset for panel in study.trade_off] == ["tradeoff-10-12"]
    assert (tmp_path / "figures" / "trade-off.png").exists()
    assert "Trade-off benchmark" in (tmp_path / "report.html").read_text()


def test_the_command_line(tmp_path):
    runner = CliRunner()
    for arguments, message in (
        (["--dataset", "imagenet-1-1"], "source-m-d"),
        (["--curves", str(tmp_path / "none.json")], "no such file"),
        (["--data-dir", str(tmp_path / "none")], "no such folder"),
        (["--rho", "0"], "ρ must be positive"),
        (["--quick", "--report-only"], "no finished run"),
    ):
        outcome = runner.invoke(app, ["reproduce", "--out", str(tmp_path / "out"), *arguments])
        assert outcome.exit_code == 2
        assert message in outcome.output
    assert not (tmp_path / "out").exists()


def test_nothing_to_run_is_no_success(tmp_path, monkeypatch):
    monkeypatch.delenv("IPDS_DATA", raising=False)
    monkeypatch.setenv("IPDS_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    outcome = CliRunner().invoke(app, ["reproduce", "--out", str(out), "--dataset", "sector-1500-500"])
    assert outcome.exit_code == 2
    *_, last = outcome.output.strip().splitlines()
    assert last.startswith(
        "ipds: nothing was run: no data set asked for is at hand (sector-1500-500); put the files"
    )
    assert not out.exists()  # no report of nothing


def test_report_only_measures_nothing(tmp_path, tiny, monkeypatch):
    options = Options(tmp_path, quick=True, seconds=0.02, rhos=(10.0,))
    reproduce(options, Console(file=io.StringIO(), width=200))
    measured = tmp_path / "theory.json"
    content = measured.read_text()

    def refuse():
        raise AssertionError("the theory was measured again")

    monkeypatch.setattr(command.theory, "measure", refuse)
    report = replace(options, report_only=True)
    assert reproduce(report, Console(file=io.StringIO())).theory == json.loads(content)
    measured.unlink()
    said = io.StringIO()
    assert reproduce(report, Console(file=said, width=200)).theory is None
    assert "the theory was not measured here, and is left out" in said.getvalue()
    assert not (tmp_path / "figures" / "theory.png").exists()
    assert "On the grid, the relative distance" in (tmp_path / "report.html").read_text()
    with pytest.raises(ValueError, match="--fresh forgets the runs that --report-only reports"):
        reproduce(replace(report, fresh=True), Console(file=io.StringIO()))
    assert list((tmp_path / "runs").iterdir())  # nothing was forgotten


def test_defaults_are_the_papers_grid():
    cells, settings = command._plan(Options(), ("randn-1500-500",))
    assert {c.weight for c in cells if c.family == "paper"} == set(RHOS)
    assert {c.multiple for c in cells if c.family == "paper"} - {None} == set(MULTIPLES)
    assert "5 s per run" in settings["budget"]


@pytest.mark.parametrize("which", ["out", "publish"])
def test_a_report_is_not_written_over_other_things(tmp_path, which):
    mine = tmp_path / "README.md"
    mine.write_text("# My project")
    options = Options(**({"out": tmp_path / "out"} | {which: tmp_path}), quick=True)
    with pytest.raises(ValueError, match=rf"--{which} .* holds other things than a report; pass --force"):
        reproduce(options, Console(file=io.StringIO()))
    assert mine.read_text() == "# My project"


def test_the_papers_own_budget():
    cells, settings = command._plan(Options(seconds=20.0), ("randn-1500-500",))
    assert {c.seconds for c in cells} == {20.0}
    assert {c.family for c in cells} == {"paper", "trade-off"}
    assert "20 s per run" in settings["budget"]
