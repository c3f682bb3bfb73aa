"""Data files into arrays."""

from .errors import DataError, DataMissing
from .idx import read_idx
from .libsvm import read_libsvm
from .mat import names_in_mat, read_mat
from .mtx import read_mtx
from .npz import read_npz

__all__ = [
    "DataError",
    "DataMissing",
    "names_in_mat",
    "read_idx",
    "read_libsvm",
    "read_mat",
    "read_mtx",
    "read_npz",
]
