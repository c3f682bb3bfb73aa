"""Data files into arrays: `read`, and one function for every format that holds named arrays.

Files are not trusted: `formats` run in a child process (`child`) with `limits` on memory and time, and what they find
comes back by `packing`; what goes wrong is one of `errors`. `columns` and `text` deal with tables; `replacing` writes
files that appear once they are complete.
"""

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
