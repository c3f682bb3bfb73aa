"""What the examples share: where data may be found, and where figures go."""

from __future__ import annotations

import argparse
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np


def arguments(description: str | None) -> argparse.Namespace:
    """--data FOLDER (or the environment variable IPDS_DATA) and --out FILE of the figure."""
    parser = argparse.ArgumentParser(description=(description or "").strip().partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("IPDS_DATA"), help="folder with data files"
    )
    parser.add_argument("--out", type=Path, default=None, help="figure to write (default: out/<example>.png)")
    return parser.parse_args()


def find(folder: Any, name: str, instead: str) -> Path | None:
    """The file in the data folder, or None with a word on what happens instead."""
    path = Path(folder) / name if folder else None
    if path is not None and path.exists():
        return path
    print(f"no {name} in a data folder (--data, IPDS_DATA): {instead}")
    return None


def mnist(folder: Any, count: int) -> tuple[np.ndarray, tuple[int, int]]:
    """(images as rows in 0..1, shape of an image): MNIST, or scikit-learn's small digits."""
    path = find(folder, "t10k-images-idx3-ubyte.gz", "8x8 digits instead")
    if path is None:
        from sklearn.datasets import load_digits

        return load_digits().data[:count] / 16, (8, 8)
    with gzip.open(path) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16)
    return pixels.reshape(-1, 784)[:count] / 255, (28, 28)


def save(figure: Any, args: argparse.Namespace, name: str) -> None:
    """Write the figure; say where, unless the caller named the place."""
    path = args.out or Path("out") / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, bbox_inches="tight")
    if args.out is None:
        print(f"figure: {path}")


def verdict(model: Any) -> str:
    """How the fit of a model ended, in brief."""
    return "certified" if model.result_.success else f"not certified: {model.result_.message}"
