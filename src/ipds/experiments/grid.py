"""What is run, as data: a cell is one run, a panel one plot of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .datasets import GENES, PAPER
from .entrants import ENTRANTS

RHOS = (1.0, 10.0, 100.0, 1000.0)
MULTIPLES = (10.0, 50.0, 100.0, 500.0)
"""β⁰ in units of ρ."""
COMPONENTS = 20
TRADE_OFFS = (("tradeoff-50-500", 0.6), ("tradeoff-50-1000", 0.8), *((name, 0.6) for name in GENES))
QUICK = ("randn-300-100", "randn-600-100", "digits-800-60", "digits-1500-60")
QUICK_RHOS = (1.0, 100.0)
QUICK_TRADE_OFFS = (("tradeoff-50-200", 0.6), ("tradeoff-50-300", 0.6))


@dataclass(frozen=True)
class Cell:
    """One run: who, on which instance, from which β⁰ (None: not used), for how many seconds."""

    family: str
    """"paper" or "trade-off"."""
    dataset: str
    weight: float
    """ρ, or λ of the trade-off."""
    multiple: float | None
    """β⁰/ρ for entrants that start there."""
    entrant: str
    seed: int
    seconds: float
    components: int = COMPONENTS

    @property
    def name(self) -> str:
        """All settings in one file name, so that a finished cell is found again only by the same settings."""
        start = "any" if self.multiple is None else f"{self.multiple:g}"
        who = "".join(c if c.isalnum() else "-" for c in self.entrant)
        return f"{self.dataset}_w{self.weight:g}_b{start}_{who}_r{self.components}_seed{self.seed}_{self.seconds:g}s"

    def as_row(self) -> dict[str, Any]:
        """The fields, for the tables."""
        return asdict(self)


def paper_cells(
    datasets: Sequence[str] = PAPER,
    rhos: Sequence[float] = RHOS,
    multiples: Sequence[float] = MULTIPLES,
    seeds: int = 1,
    seconds: float = 5.0,
    components: int = COMPONENTS,
) -> list[Cell]:
    """The paper's grid. Entrants that know no β⁰ run once per (data set, ρ, seed) and stand in all panels of these.

    The order puts the entrants of a panel side by side, so that noise of the machine hits all alike.
    """
    cells = []
    for dataset in datasets:
        for seed in range(seeds):
            for rho in rhos:
                for i, multiple in enumerate(multiples):
                    for entrant in ENTRANTS:
                        if "paper" in entrant.families and (entrant.takes_beta0 or i == 0):
                            start = multiple if entrant.takes_beta0 else None
                            cell = ("paper", dataset, rho, start, entrant.label, seed, seconds, components)
                            cells.append(Cell(*cell))
    return cells


def trade_off_cells(
    cases: Sequence[tuple[str, float]] = TRADE_OFFS,
    seeds: int = 3,
    seconds: float = 5.0,
    components: int = COMPONENTS,
) -> list[Cell]:
    """The benchmark with a real trade-off; every entrant starts from its own defaults."""
    return [
        Cell("trade-off", dataset, weight, None, entrant.label, seed, seconds, components)
        for dataset, weight in cases
        for seed in range(seeds)
        for entrant in ENTRANTS
        if "trade-off" in entrant.families
    ]
