"""Data files into arrays: `read`, and one function for every format that holds named arrays."""

from .columns import Data, Request
from .errors import DataError, DataMissing
from .read import read, read_array, read_idx, read_libsvm, read_mat, read_mtx, read_npz

__all__ = [
    "Data",
    "DataError",
    "DataMissing",
    "Request",
    "read",
    "read_array",
    "read_idx",
    "read_libsvm",
    "read_mat",
    "read_mtx",
    "read_npz",
]
