"""How a long array is cut: into chunks of rows, and the chunks into groups, one group per worker thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .cluster import Cluster


class Layout:
    """Chunk sizes in groups. A task treats one group: the scheduler's cost is per task, so there are few."""

    def __init__(self, chunks: tuple[int, ...], cluster: Cluster):
        self.cluster = cluster
        self.chunks = chunks
        self.length = sum(chunks)
        count = max(1, min(len(chunks), cluster.threads))
        # cut where the running number of rows passes a multiple of the fair share
        share = np.cumsum([0, *chunks[:-1]]) * count // max(1, self.length)
        self.groups: tuple[tuple[int, ...], ...] = tuple(
            tuple(int(i) for i in np.flatnonzero(share == g)) for g in range(count) if np.any(share == g)
        )
        self.starts = [int(i) for i in np.cumsum([0, *chunks])]

    def require(self, other: Layout) -> None:
        """Refuse arrays that are cut differently: they would have to be moved between workers at every step."""
        if self is other:
            return
        if self.chunks != other.chunks or self.groups != other.groups:
            raise ValueError(
                f"two distributed arrays are cut into different chunks of rows: {_short(self.chunks)} and "
                f"{_short(other.chunks)}; rechunk one like the other, e.g. y.rechunk({{0: X.chunks[0]}})"
            )

    def cut(self, array: Any) -> list[list[Any]]:
        """The chunks of an array at hand, in groups."""
        return [[array[self.starts[i] : self.starts[i + 1]] for i in group] for group in self.groups]

    def __repr__(self) -> str:
        return f"{len(self.chunks)} chunks in {len(self.groups)} groups"


class Split:
    """An array at hand that goes along with a long one, row by row."""

    def __init__(self, array: np.ndarray):
        self.array = array


def _short(chunks: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, chunks[:4]))}{', …' if len(chunks) > 4 else ''})"
