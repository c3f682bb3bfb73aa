"""What a fit says of itself in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SHOWN = 8
"""Terms of a row that are shown, the largest first."""


@dataclass(frozen=True, repr=False)
class Summary:
    """A fit in brief: `print(model.summary)`, or its parts by name; `as_dict()` for JSON.

    >>> terms = {"coefficients": {"age": 2.0}}
    >>> print(Summary("Lasso", {"alpha": 0.1}, {"R²": 0.9}, terms, ("two folds",), "certified"))
    Lasso         certified
    chosen        alpha 0.1
    quality       R² 0.9
    coefficients  age 2
    note          two folds
    """

    model: str
    """Name of the estimator."""
    choices: Mapping[str, Any]
    """Parameters in force that the data decided, by name."""
    quality: Mapping[str, float]
    """How well the fit describes the data it was fitted to: R², explained variance, number of outliers, ..."""
    terms: Mapping[str, Mapping[str, float]]
    """Nonzero coefficients or loadings by row and name of the feature."""
    notes: tuple[str, ...]
    """What was done to the data, and what to look at, a sentence each."""
    verdict: str
    """Whether the optimisation problem behind the fit is solved, and how well."""

    def as_dict(self) -> dict[str, Any]:
        """The parts as plain data."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """(title, text) line by line, the verdict first."""
        rows = [(self.model, self.verdict)]
        for title, values in (("chosen", self.choices), ("quality", self.quality)):
            if values:
                rows.append((title, ", ".join(f"{name} {_number(v)}" for name, v in values.items())))
        rows += [(row, _largest(terms)) for row, terms in self.terms.items()]
        return rows + [("note", text) for text in self.notes]

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _largest(terms: Mapping[str, float]) -> str:
    if not terms:
        return "none"
    order = sorted(terms, key=lambda name: -abs(terms[name]))
    more = f" and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    return ", ".join(f"{name} {terms[name]:.4g}" for name in order[:SHOWN]) + more
