"""The benchmark of the engine runs: every family at a toy size, through the functions that measure and report."""

import importlib
import itertools
import json
import math
import os
import re
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import ablation, beside_peers, chart, engine, problems, report, zoo
from benchmarks.clock import Recorder
from benchmarks.statements import regression

from ipds import solve
from ipds.experiments.datasets import DataMissing

TOYS = {
    "paper": lambda seed: problems.paper_pca("randn", 1.0, seed, None, 60, 20, r=3),
    "trade-off": lambda seed: problems.trade_off("randn", seed, None, 30, 0.3, r=3, m=10),
    "effort": lambda seed: problems.trade_off("randn", seed, None, 30, 0.3, r=3, m=10),
    "regression": lambda seed: problems.regression(120, 30, 3, 0.1, seed),
    "dual PCP": lambda seed: problems.dual_pcp(8, 2, 60, 30, seed),
    "low rank": lambda seed: problems.low_rank(40, 2, 0.1, 0.1, seed),
    "phase": lambda seed: problems.phase(12, 60, 2, 3, seed),
}
PLANS = {plan.family: plan for plan in engine.plans(None, quick=True)}


@pytest.fixture(scope="module")
def rows():
    return {
        family: engine.run(replace(PLANS[family], make=make), seeds=1, budget=0.1)
        for family, make in TOYS.items()
    }


def test_every_family_has_a_toy():
    assert set(TOYS) == set(PLANS)


@pytest.mark.parametrize("family", TOYS)
def test_every_solver_runs_and_is_scored(rows, family):
    for row in rows[family]:
        assert row.status in ("finished", "stopped"), row
        assert math.isfinite(row.objective)
        assert row.seconds < 2
        assert [f for _, f in row.curve] == sorted((f for _, f in row.curve), reverse=True)


@pytest.mark.parametrize("family", ["regression", "dual PCP", "low rank", "phase"])
def test_the_engine_and_a_specialist_find_the_truth(rows, family):
    right = {row.kind for row in rows[family] if row.good}
    assert {"ours", "specialist"} <= right


def test_the_page_names_every_problem_and_survives_json(rows):
    together = [row for family in rows.values() for row in family]
    again = [report.Row(**row) for row in json.loads(json.dumps([asdict(row) for row in together]))]
    page = report.page(report.facts(1.0, [], True), together)
    assert page.splitlines()[20:] == report.page(report.facts(1.0, [], True), again).splitlines()[20:]
    for row in together:
        assert row.problem in page


def test_missing_data_are_said_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("IPDS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataMissing, match=r"TDT2\.mat"):
        problems.paper_pca("TDT2", 1.0, 0, tmp_path, 10, 5)
    with pytest.raises(DataMissing, match=r"Lymph\.mat"):
        problems.trade_off("Lymph", 0, None, 0, 0.6)


def test_scores_are_taken_at_feasible_points():
    case = problems.phase(12, 60, 2, 3, 0)
    infeasible = -case.start
    _, point = case.score(infeasible)
    assert (case.data["D"] @ point).min() >= -1e-12
    assert case.score(np.full(12, np.nan)) is None


def test_the_recorder_keeps_the_best_and_stops():
    record = Recorder(lambda x: (x, x), budget=0.01)
    record.start()

    def run():
        for value in itertools.cycle([3.0, 0.0, 2.0]):
            record(value)

    with pytest.raises(StopIteration):
        run()
    assert record.over
    assert record.best[0] == 0
    assert record.reached(0.0) < math.inf
    assert record.reached(-1.0) == math.inf


def test_the_zoo_has_its_animals():
    assert len(zoo.ALL) >= 60
    assert len({statement.name for statement in zoo.ALL}) == len(zoo.ALL)
    for statement in zoo.ALL:
        again = [statement.data(1) for _ in range(2)]
        assert repr(vars(again[0])) == repr(vars(again[1]))


@pytest.mark.parametrize("name", ["LAD, raw wine", "LP 40x100, stacked", "best subset, units 1e±3"])
def test_a_statement_of_the_zoo_is_judged(name):
    (statement,) = (s for s in zoo.ALL if s.name == name)
    runs = zoo.outcomes(statement, draws=1, limit=10.0)
    assert all(run.right and run.success for run in runs)
    assert zoo.line(name, runs).count("|") == zoo.HEAD.splitlines()[0].count("|")
    assert "false successes 0" in zoo.summary("Convex", runs)
    wrong = replace(runs[0], gap=0.5)
    assert not wrong.right
    assert "false successes 1" in zoo.summary("Convex", [wrong, *runs[1:]])


FORMS = ["alone", "split", "residual", "fit last", "stacked"]


def test_five_forms_of_a_problem_are_one():
    """The same objective in every form; `make bench-zoo` has their times."""
    data = regression.planted(0, 400, 200, 20)
    forms = regression.lasso_forms(data)
    values = {}
    for name in FORMS:
        problem, block = forms[name]
        result = solve(problem, seed=0)
        assert result.success
        values[name] = regression.lasso_value(data, result.x[block])
    assert sorted(forms) == sorted(FORMS)
    assert max(values.values()) - min(values.values()) <= 1e-4 * min(values.values())


def test_peers_are_scored_and_failures_shown():
    plans = {plan.family: plan for plan in beside_peers.plans(quick=True)}

    def broken(case, record):
        raise RuntimeError("no | point")

    plan = plans["lasso"]
    solvers = (engine.OURS, plan.solvers[3], replace(engine.OURS, label="broken", kind="package", run=broken))
    rows = beside_peers.rows_of(replace(plan, solvers=solvers))
    assert plan.solvers[3].label == "scikit-learn"
    ours, peer, failed = beside_peers.table(rows)
    assert ours.startswith("| lasso 60x100 | ipds |")
    assert "never" not in ours + peer
    assert failed == "| | broken | | | | fails: RuntimeError: no / point |"
    assert "numpy" in beside_peers.page([ours])


def test_a_peer_without_an_answer_is_ended_and_its_other_seeds_are_run(monkeypatch):
    monkeypatch.setattr(beside_peers, "COMPILING", 0.0)

    def hangs(case, record):
        if record.budget == engine.WARM_UP or case.key != plan.make(1).key:
            return case.start
        time.sleep(60)

    def dies(case, record):
        os._exit(3)

    toy = next(plan for plan in beside_peers.plans(quick=True) if plan.family == "lasso")
    peers = tuple(engine.Solver(run.__name__, "package", run) for run in (hangs, dies))
    plan = replace(toy, solvers=peers, seeds=3, budget=0.5)
    began = time.monotonic()
    rows = beside_peers.rows_of(plan)
    assert time.monotonic() - began < 15
    assert [row.seed for row in rows] == [0, 1, 2] * 2
    assert [row.status for row in rows[:3]] == ["finished", "TimeoutError: no answer in 1 s", "finished"]
    assert all("ended with code 3" in row.status for row in rows[3:])
    hanging, dying = beside_peers.table(rows)
    assert "(2 of 3)" in hanging
    assert "no answer in 1 s" in hanging
    assert dying == "| | dies | | | | fails: its process ended with code 3 |"


def test_convex_cases_are_stated_as_they_are_scored():
    for case in (problems.lasso(30, 40, 0.1, 0), problems.total_variation(60, 2.0, 0)):
        problem, _ = case.pose()
        result = solve(problem, tol=1e-8)
        assert case.score(result.x[0])[0] == pytest.approx(result.fun, rel=1e-6)


def test_every_constant_of_the_newton_method_has_a_reason():
    """Those in capitals are followed by a docstring, which the table of engine_notes.md shows beside other values."""
    found = {constant.label for constant in ablation.constants()}
    for path in ablation.ROOM.glob("*.py"):
        module = importlib.import_module(f"ipds.methods.newton.{path.stem}")
        text = path.read_text()
        names = (name for name in vars(module) if name.isupper())
        capitals = {name for name in names if re.search(rf"^(\w+, )*{name}\b[^(\n]* = ", text, re.MULTILINE)}
        assert {f"{path.stem}.{name}" for name in capitals} <= found
    assert set(ablation.TRIED) <= found


def test_the_page_on_performance_says_what_the_log_says():
    """`python -m benchmarks.chart` draws the chart and writes the table; both are of the log's figures and dates."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    log, page = ((docs / name).read_text() for name in ("performance_log.md", "performance.md"))
    assert chart.table(chart.ratios(log)) in page
    assert chart.dates(log) in page
