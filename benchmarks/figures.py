"""Figures of pages that examples draw, light and dark: `python benchmarks/figures.py [NAME ...]` writes docs/img."""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from ipds.plot import darkened

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("four_measurements", "limits", "modelling", "pictures")


def main() -> None:
    """Run the examples, each in a folder of its own: they write their figure where they are run."""
    for name in sys.argv[1:] or NAMES:
        plt.close("all")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            figure = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["figure"]
            os.chdir(ROOT)
        path = ROOT / "docs" / "img" / f"{name}.png"
        figure.savefig(path, dpi=90, bbox_inches="tight")
        darkened(figure).savefig(path.with_stem(f"{name}-dark"), dpi=90, bbox_inches="tight")


if __name__ == "__main__":
    main()
