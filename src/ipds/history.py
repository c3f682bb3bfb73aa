"""What the loop records at every check: arrays by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


class History(Mapping[str, np.ndarray]):
    """Recorded quantities as arrays, one entry per check.

    >>> history = History()
    >>> history.record(iteration=1, objective=2.5)
    >>> history.record(iteration=2, objective=2.0)
    >>> history["objective"]
    array([2.5, 2. ])
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[float]] = {}

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> History:
        """The history with these columns, all of one length."""
        history = cls()
        history._columns = {name: column.tolist() for name, column in columns.items()}
        if len({column.shape for column in columns.values()}) > 1 or any(
            c.ndim != 1 for c in columns.values()
        ):
            raise ValueError("the columns of a history are vectors of one length")
        return history

    def record(self, **values: float) -> None:
        """Append one row; every row has the same names."""
        for name, value in values.items():
            self._columns.setdefault(name, []).append(value)

    def last(self, name: str) -> float:
        """The newest value of a column."""
        return self._columns[name][-1]

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()))) if self._columns else 0
        return f"History({rows} checks of {', '.join(self._columns)})"
