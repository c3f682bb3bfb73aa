"""Data sets of the paper and around it, by name: files in a folder, in the cache, or inside scikit-learn."""

from __future__ import annotations

from .cache import cache_folder
from .embedded import embedded
from .errors import DataError, DataMissing
from .gene import GENES, gene
from .idx import read_idx
from .libsvm import read_libsvm
from .mat import names_in_mat, read_mat
from .mtx import read_mtx
from .npz import read_npz
from .paper import PAPER, load
from .tradeoff import trade_off
from .video import escalator

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
    "names_in_mat",
    "read_idx",
    "read_libsvm",
    "read_mat",
    "read_mtx",
    "read_npz",
    "trade_off",
]
