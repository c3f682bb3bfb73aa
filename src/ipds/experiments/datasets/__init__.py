"""Data sets by name: files in a folder, in the cache, or inside scikit-learn.

`paper` has those of the paper, `tradeoff` those of the trade-off benchmark, `recorded` gene expressions and a video,
`embedded` what scikit-learn ships; `cache` finds files and downloads them.
"""

from __future__ import annotations

from ...io import (
    DataError,
    DataMissing,
    read_idx,
    read_libsvm,
    read_mat,
    read_mtx,
    read_npz,
)
from .cache import cache_folder
from .embedded import embedded
from .paper import PAPER, load
from .recorded import GENES, escalator, gene
from .tradeoff import trade_off

__all__ = [
    "GENES",
    "PAPER",
    "DataError",
    "DataMissing",
    "cache_folder",
    "embedded",
    "escalator",
    "gene",
    "load",
    "read_idx",
    "read_libsvm",
    "read_mat",
    "read_mtx",
    "read_npz",
    "trade_off",
]
