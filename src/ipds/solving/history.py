"""What the loop records at every check: arrays by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

CHECK = (
    "iteration",
    "seconds",
    "objective",
    "feasibility",
    "stationarity",
    "critical",
    "relative",
    "beta",
    "mu",
)
"""What is recorded of a check."""
MOST = 10_000
"""Checks that a history holds; where there are more, half of them are left out, the first and the last never."""


def _best(history: Mapping[str, np.ndarray]) -> np.ndarray:
    """The smallest certificate up to each check: what the theorem bounds."""
    return np.minimum.accumulate(history["critical"])


def _mean(history: Mapping[str, np.ndarray]) -> np.ndarray:
    """The average certificate up to each check, which stands for the iterations since the one before."""
    iteration = history["iteration"]
    return np.cumsum(history["critical"] * np.diff(iteration, prepend=0)) / iteration


DERIVED = {"critical_best": _best, "critical_mean": _mean}
"""What follows from the recorded columns; the theorem of docs/theory.md speaks of these two."""


class History(Mapping[str, np.ndarray]):
    """Recorded quantities as arrays, one entry per check; none where a solve ended before the first one.

    Beside what is recorded, `critical_best` and `critical_mean`: the smallest and the average certificate so far.
    Where there are more than `MOST`, half of them go, evenly but for the smallest certificate, again and again: memory
    is bounded.

    >>> history = History(["iteration", "objective"])
    >>> history.record(iteration=1, objective=2.5)
    >>> history.record(iteration=2, objective=2.0)
    >>> history["objective"]
    array([2.5, 2. ])
    """

    def __init__(self, names: Iterable[str] = CHECK) -> None:
        self._columns: dict[str, list[float]] = {name: [] for name in names}

    @classmethod
    def of(cls, table: np.ndarray) -> History:
        """The history of a solve from its `table`."""
        history = cls()
        for name, column in zip(history._columns, table.T, strict=True):
            history._columns[name] = (column.astype(int) if name == "iteration" else column).tolist()
        return history

    def table(self) -> np.ndarray:
        """All recorded columns side by side, one row per check."""
        return np.column_stack([self[name] for name in self._columns]).astype(float)

    def record(self, **values: float) -> None:
        """Append one row; every row has the same names. Beyond `MOST` rows the earlier ones are thinned."""
        for name, column in self._columns.items():
            column.append(values[name])
        if len(self._columns["iteration"]) > MOST:
            self._thin(MOST // 2)

    def _thin(self, count: int) -> None:
        """Keep at most so many rows, spread evenly over the iterations, the first and the last among them."""
        t = self["iteration"]
        places = np.interp(np.linspace(t[0], t[-1], count), t, np.arange(len(t)))
        rows = np.unique(np.rint(places).astype(int))
        if "critical" in self._columns:  # `critical_best` must not rise
            rows = np.union1d(rows, np.argmin(self._columns["critical"]))
        for name, column in self._columns.items():
            self._columns[name] = [column[k] for k in rows]

    def first(self, name: str) -> float:
        """The oldest value of a column."""
        return self._columns[name][0]

    def last(self, name: str) -> float:
        """The newest value of a column."""
        return self._columns[name][-1]

    def __getitem__(self, name: str) -> np.ndarray:
        if name in DERIVED and "critical" in self._columns:
            return DERIVED[name](self)
        return np.asarray(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        yield from self._columns
        if "critical" in self._columns:
            yield from DERIVED

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()), []))
        return f"History({rows} checks of {', '.join(self)})"


def joined(parts: Sequence[History]) -> History:
    """Histories one after another, as one: iterations and seconds go on counting."""
    tables: list[np.ndarray] = []
    for part in parts:
        table = part.table()
        for k in (CHECK.index("iteration"), CHECK.index("seconds")):
            table[:, k] += tables[-1][-1, k] if tables else 0.0
        if len(table):
            tables.append(table)
    return History.of(np.vstack(tables)) if tables else History()
