"""The table of methods: which assumptions of each theorem a problem meets."""

from __future__ import annotations

from typing import NamedTuple

from ..problem import Problem
from .facts import Facts
from .theorems import THEOREMS


class MethodReport(NamedTuple):
    """One row of the table."""

    name: str
    guarantee: bool
    """Whether a result of this method carries a convergence guarantee on this problem."""
    complexity: str
    needs: tuple[str, ...]
    meets: tuple[str, ...]
    lacks: tuple[str, ...]
    reference: str
    note: str = ""

    def __str__(self) -> str:
        verdict = "yes" if self.guarantee else "no"
        why = f"lacks: {'; '.join(self.lacks)}" if self.lacks else f"meets: {'; '.join(self.meets)}"
        if not self.lacks and not self.guarantee:
            why = "no theorem; the certificate alone"
        return f"{verdict:<4}{self.complexity:<8}{why}{f' ({self.note})' if self.note and not self.lacks else ''}"


class MethodTable(tuple[MethodReport, ...]):
    """The rows, by position or by name; true where the paper's theorem covers a variant of IPDS."""

    @property
    def guaranteed(self) -> tuple[str, ...]:
        """Names of the methods whose result carries a guarantee."""
        return tuple(row.name for row in self if row.guarantee)

    def named(self, name: str) -> MethodReport:
        """The row of a method."""
        return next(row for row in self if row.name == name)

    def __bool__(self) -> bool:
        return any(row.guarantee for row in self if row.name.startswith("IPDS"))

    def __str__(self) -> str:
        width = max(len(row.name) for row in self)
        head = f"{'method':<{width}}  ok  steps   assumptions of its theorem"
        return "\n".join([head, *(f"{row.name:<{width}}  {row}" for row in self)])


def method_table(problem: Problem) -> MethodTable:
    """Every method, with the assumptions of its theorem that this problem meets and lacks."""
    facts = Facts(problem)
    rows = []
    for theorem in THEOREMS:
        lacks = theorem.missing(facts)
        needs = tuple(need.text for need in theorem.needs)
        meets = tuple(text for text in needs if text not in lacks)
        guarantee = theorem.proved and not lacks
        rows.append(
            MethodReport(
                theorem.name,
                guarantee,
                theorem.complexity,
                needs,
                meets,
                lacks,
                theorem.reference,
                theorem.note,
            )
        )
    return MethodTable(rows)
