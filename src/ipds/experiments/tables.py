"""Rows, panels and who wins: tidy CSV files and the judgement."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .entrants import BY_LABEL, ENTRANTS

Row = dict[str, Any]
CLOSE = 1e-4
"""Relative distance to the best that counts as reaching it."""
COLUMNS = (
    "family",
    "dataset",
    "weight",
    "multiple",
    "entrant",
    "kind",
    "seed",
    "seconds",
    "components",
    "status",
    "objective",
    "lowest",
    "gap",
    "used",
    "cpu",
    "steps",
    "feasibility",
    "certificate",
    "version",
    "data",
)


@dataclass(frozen=True)
class Panel:
    """One plot of the paper, or one case of the trade-off, for one seed: the row of every entrant."""

    family: str
    dataset: str
    weight: float
    multiple: float | None
    seed: int
    rows: dict[str, Row]

    @property
    def floor(self) -> float:
        """ρr, below which no objective of the paper's problem falls; of the trade-off none is known."""
        row = next(iter(self.rows.values()))
        return self.weight * row["components"] if self.family == "paper" else 0.0

    def judged(self, label: str) -> float:
        """What an entrant is judged by: auto by the point it returns, all others by the best they have seen."""
        value = self.rows[label]["objective" if label == "auto" else "lowest"]
        return math.inf if value is None else value

    @property
    def best(self) -> float:
        """The lowest objective of any entrant."""
        return min(self.judged(label) for label in self.rows)

    @property
    def winner(self) -> str:
        """Who reached it."""
        return min(self.rows, key=self.judged)

    def behind(self, label: str) -> float:
        """Relative distance of an entrant to the best."""
        return (self.judged(label) - self.best) / abs(self.best)

    @property
    def close(self) -> list[str]:
        """The entrants within `CLOSE` of the best."""
        return [label for label in self.rows if self.behind(label) <= CLOSE]

    @property
    def title(self) -> str:
        """As in the report."""
        start = "" if self.multiple is None else f", β⁰ = {self.multiple:g}ρ"
        seed = f", seed {self.seed}" if self.seed else ""
        return f"{self.dataset}, {'ρ' if self.family == 'paper' else 'λ'} = {self.weight:g}{start}{seed}"


def panels(rows: Sequence[Row], family: str) -> list[Panel]:
    """All panels, in the order of the rows; an entrant without β⁰ stands in every panel of its instance."""
    mine = [row for row in rows if row["family"] == family]
    found = []
    for dataset, weight, seed in dict.fromkeys((r["dataset"], r["weight"], r["seed"]) for r in mine):
        group = [r for r in mine if (r["dataset"], r["weight"], r["seed"]) == (dataset, weight, seed)]
        starts = list(dict.fromkeys(r["multiple"] for r in group if r["multiple"] is not None)) or [None]
        for multiple in starts:
            here = {r["entrant"]: r for r in group if r["multiple"] in (None, multiple)}
            ordered = {e.label: here[e.label] for e in ENTRANTS if e.label in here}
            found.append(Panel(family, dataset, weight, multiple, seed, ordered))
    return found


def lost(found: Iterable[Panel]) -> list[Panel]:
    """The panels in which auto is not within `CLOSE` of the best."""
    return [panel for panel in found if "auto" in panel.rows and "auto" not in panel.close]


def results_csv(rows: Sequence[Row]) -> str:
    """One line per run."""
    lines = []
    for row in rows:
        floor = row["weight"] * row["components"] if row["family"] == "paper" else None
        gap = None if floor is None or row["objective"] is None else row["objective"] - floor
        whole = {**row, "kind": BY_LABEL[row["entrant"]].kind, "gap": gap}
        lines.append([whole.get(name) for name in COLUMNS])
    return _csv(COLUMNS, lines)


def curves_csv(rows: Sequence[Row]) -> str:
    """One line per point of a curve."""
    keys = ("family", "dataset", "weight", "multiple", "entrant", "seed")
    lines = [(*(row[key] for key in keys), t, F) for row in rows for t, F in row["curve"]]
    return _csv((*keys, "at", "objective"), lines)


def panels_csv(found: Sequence[Panel]) -> str:
    """One line per panel: the objective of every entrant, the winner, and whether auto is within `CLOSE`."""
    labels = [e.label for e in ENTRANTS if any(e.label in panel.rows for panel in found)]
    keys, lines = ("family", "dataset", "weight", "multiple", "seed"), []
    for panel in found:
        behind = panel.behind("auto") if "auto" in panel.rows else math.nan
        key = [getattr(panel, name) for name in keys]
        values = [panel.judged(label) if label in panel.rows else None for label in labels]
        lines.append((*key, panel.winner, panel.best, behind, behind <= CLOSE, *values))
    return _csv((*keys, "winner", "best", "auto behind", "auto within", *labels), lines)


def _csv(names: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([names, *lines])
    return out.getvalue()
