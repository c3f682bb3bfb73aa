"""The paper's own curves, read off its figures, from a file the user names."""

from __future__ import annotations

import json
from pathlib import Path

from .datasets import DataError

Curve = list[tuple[float, float]]
Published = dict[tuple[str, float, float], dict[str, Curve]]
"""(data set, ρ, β⁰/ρ) → method → curve."""


def read_published(path: Path) -> Published:
    """{"panels": [{"dataset", "rho", "beta0", "curves": {method: [[seconds, objective], ...]}}, ...]}."""
    found: Published = {}
    try:
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            key = (str(panel["dataset"]), float(panel["rho"]), round(panel["beta0"] / panel["rho"], 6))
            curves = {
                str(name): [(float(t), float(F)) for t, F in curve] for name, curve in panel["curves"].items()
            }
            found[key] = curves  # figure 1 repeats one of the others
    except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
        raise DataError(
            f"{path}: not a file of published curves ({type(error).__name__}: {error})"
        ) from error
    return found
