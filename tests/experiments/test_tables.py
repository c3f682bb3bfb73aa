"""Who wins a panel, the curves of the paper, and the figures of them."""

import csv
import io
import json

import numpy as np
import pytest

from ipds.experiments.datasets import DataError
from ipds.experiments.figures import trade_off_figure
from ipds.experiments.published import read_published
from ipds.experiments.tables import Panel, lost, panels, results_csv


def row(entrant, objective, lowest=None, **settings):
    base = {
        "family": "paper",
        "dataset": "d",
        "weight": 1.0,
        "multiple": None,
        "seed": 0,
        "components": 20,
        "seconds": 1.0,
        "status": "BUDGET",
        "used": 1.0,
        "cpu": 1.0,
        "version": "0",
        "data": "",
        "curve": [],
    }
    return {**base, "entrant": entrant, "objective": objective, "lowest": lowest or objective, **settings}


def test_who_wins():
    rows = [
        row("auto", 20.2, lowest=20.0),
        row("IPDS sound", 20.5, multiple=10.0),
        row("IPDS sound", 19.9, multiple=50.0),
        row("SPGM tuned", 30.0, lowest=20.199),
    ]
    first, second = panels(rows, "paper")
    assert (first.multiple, first.winner, first.best) == (10.0, "SPGM tuned", 20.199)
    assert "auto" in first.close  # 20.2 is within 1e-4 of 20.199; its best moment, 20.0, does not count
    assert (second.multiple, second.winner) == (50.0, "IPDS sound")
    assert lost([first, second]) == [second]
    assert second.behind("auto") == pytest.approx(0.3 / 19.9)
    table = list(csv.DictReader(io.StringIO(results_csv(rows))))
    assert [line["entrant"] for line in table] == [r["entrant"] for r in rows]
    assert float(table[0]["gap"]) == pytest.approx(0.2)


def test_a_run_without_any_objective_loses():
    (panel,) = panels([row("auto", None), row("SPGM tuned", 21.0)], "paper")
    assert panel.winner == "SPGM tuned"
    assert lost([panel]) == [panel]


def test_published_curves(tmp_path):
    path = tmp_path / "curves.json"
    panel = {"dataset": "d", "rho": 100, "beta0": 5000, "curves": {"SPGM": [[0.1, 5], [20, 2]]}}
    path.write_text(json.dumps({"panels": [panel]}))
    assert read_published(path) == {("d", 100.0, 50.0): {"SPGM": [(0.1, 5.0), (20.0, 2.0)]}}
    for content in (
        "{",
        "[]",
        '{"panels": [{}]}',
        '{"panels": [{"dataset": 1, "rho": 0, "beta0": 1}]}',
        "\xff",
    ):
        path.write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match="not a file of published curves"):
            read_published(path)


def test_the_trade_off_shows_the_best_so_far_beside_the_current_objective():
    curve = [(0.1, -1.0), (0.2, -3.0), (0.3, -2.0)]
    row = {"entrant": "auto", "objective": -2.0, "lowest": -3.0, "curve": curve, "components": 3}
    panel = Panel("trade-off", "tradeoff-10-12", 0.6, None, 0, {"auto": row})
    best, thin = (
        next(
            line
            for line in trade_off_figure([panel]).axes[0].lines
            if (line.get_alpha() is not None) == faint
        )
        for faint in (False, True)
    )
    assert best.get_label() == "auto"
    assert np.all(np.diff(best.get_ydata()) <= 0)
    assert thin.get_ydata()[-1] > thin.get_ydata()[1]
