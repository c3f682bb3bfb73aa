"""MATLAB files of version 5 to 7.2: one numeric variable, dense or sparse."""

from __future__ import annotations

import io
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from .bounded import CHUNK, LIMIT, check_size
from .errors import DataError

COMPRESSED = 15
LONGEST = 10**8
"""Rows or columns of a matrix at most."""


def read_mat(path: str | Path, name: str) -> Any:
    """The numeric variable `name` of a MAT file: a float array, or a `scipy.sparse.csr_array`.

    `DataError`: damaged, too large once decompressed, or without such a variable; `OSError`: it cannot be opened.
    """
    path = Path(path)
    check_size(path.stat().st_size, 1, str(path))
    content = path.read_bytes()
    _check_expansion(content, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of SciPy, on variables nobody asked for
            found = {entry[0]: entry[1] for entry in scipy.io.whosmat(io.BytesIO(content))}
            if name in found:
                _check_shape(found[name], path, name)
                value = scipy.io.loadmat(io.BytesIO(content), variable_names=[name])[name]
    except DataError:
        raise
    except Exception as error:  # SciPy's reader fails on damaged files in a dozen ways
        raise DataError(f"{path}: not a readable MAT file of version 5 to 7.2 ({error})") from error
    if name not in found:
        raise DataError(f"{path}: no variable {name!r}; there are {sorted(found)}")
    return _numeric(value, path, name)


def _check_shape(shape: tuple[int, ...], path: Path, name: str) -> None:
    if min(shape, default=0) < 0 or max(shape, default=0) > LONGEST:
        raise DataError(f"{path}: variable {name!r} claims shape {shape}")


def _numeric(value: Any, path: Path, name: str) -> Any:
    """Checked and as float; sparse indices are looked at before any product could follow them."""
    sparse = scipy.sparse.issparse(value)
    if not sparse and not isinstance(value, np.ndarray):
        raise DataError(f"{path}: variable {name!r} is not a matrix")
    if value.dtype.kind not in "buif":
        raise DataError(f"{path}: variable {name!r} is not a real numeric matrix (dtype {value.dtype})")
    if not sparse:
        return value.astype(float)
    try:
        value.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{path}: variable {name!r} is a damaged sparse matrix ({error})") from error
    return scipy.sparse.csr_array(value).astype(float)


def _check_expansion(content: bytes, path: Path) -> None:
    """Refuse compressed elements that expand beyond `LIMIT`: walk over them without keeping what comes out."""
    order = "<" if content[126:128] == b"IM" else ">"
    position, total = 128, 0
    while position + 8 <= len(content):
        kind, size = (int(n) for n in np.frombuffer(content[position : position + 8], order + "u4"))
        position += 8
        if kind == COMPRESSED:
            engine, rest = zlib.decompressobj(), content[position : position + size]
            try:
                while rest and not engine.eof:
                    total += len(engine.decompress(rest, CHUNK))
                    if total > LIMIT:
                        raise DataError(f"{path}: expands to more than the {LIMIT} bytes accepted")
                    rest = engine.unconsumed_tail
            except zlib.error as error:
                raise DataError(f"{path}: damaged compressed element ({error})") from error
        position += size
