"""MATLAB files of version 5 to 7.2: one real numeric variable, dense or sparse.

Read here and not by SciPy, whose reader crashes the process on some damaged files.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from .bounded import LIMIT, check_size
from .errors import DataError

MATRIX, COMPRESSED, SPARSE = 14, 15, 5
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of data elements that hold numbers."""
NUMERIC_CLASSES = range(5, 16)
COMPLEX = 0x08
TALLEST = 10**7
"""Rows of a sparse matrix at most: a compressed row format holds a number for every row, also for empty ones."""
PEEK = 1 << 12
"""Bytes of a compressed variable that are enough to read its name."""


def read_mat(path: str | Path, name: str) -> Any:
    """The numeric variable `name` of a MAT file: a float array, or a `scipy.sparse.csr_array`.

    `DataError`: damaged, too large once decompressed, complex, or without such a variable; `OSError`: it cannot be
    opened.

    Reference: The MathWorks, *MAT-File Format*, level 5.
    """
    there = []
    for found, get in _variables(Path(path)):
        there.append(found)
        if found == name:
            return get()
    raise DataError(f"{path}: no variable {name!r}; there are {sorted(there)}")


def names_in_mat(path: str | Path) -> list[str]:
    """The names of the variables of a MAT file, in their order; errors as those of `read_mat`."""
    return [name for name, _ in _variables(Path(path))]


def _variables(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, how to get it) of every variable; errors name the file."""
    check_size(path.stat().st_size, 1, str(path))
    content = path.read_bytes()
    if content.startswith(b"MATLAB 7.3"):
        raise DataError(f"{path}: a MAT file of version 7.3; save it with -v7 in MATLAB, or as .npz")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise DataError(f"{path}: not a MAT file of version 5 to 7.2")

    def whole(kind: int, payload: memoryview) -> Any:
        with _naming(path):
            body = _matrix(_inflate(payload, LIMIT), order) if kind == COMPRESSED else payload
            assert body is not None
            return _numeric(body, order)

    with _naming(path):
        for kind, payload in _elements(memoryview(content)[128:], order):
            if kind == COMPRESSED:
                body = _matrix(_inflate(payload, PEEK), order)
            else:
                body = payload if kind == MATRIX else None
            if body is not None:
                yield _header(body, order)[0], partial(whole, kind, payload)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """(type, payload) of every data element; a tag with its upper half filled has its payload inside."""
    position = 0
    while position < len(data):
        tag = data[position : position + 8]
        if len(tag) < 8:
            raise DataError("the file ends inside a tag")
        kind, size = (int(n) for n in np.frombuffer(tag, order + "u4"))
        if kind >> 16:
            kind, size, begin, end = kind & 0xFFFF, kind >> 16, position + 4, position + 8
            if size > 4:
                raise DataError(f"a short element of {size} bytes")
        else:
            begin = position + 8
            end = begin + size if kind == COMPRESSED else begin + (size + 7) // 8 * 8
        payload = data[begin : begin + size]
        if len(payload) < size:
            raise DataError(f"an element claims {size} bytes, {len(payload)} are left")
        yield kind, payload
        position = end


def _inflate(payload: memoryview, most: int) -> memoryview:
    """The first `most` bytes of a compressed element; with `LIMIT` there must be no more."""
    engine = zlib.decompressobj()
    try:
        body = engine.decompress(payload, most)
    except zlib.error as error:
        raise DataError(f"damaged compressed element ({error})") from error
    if most == LIMIT and not engine.eof:
        raise DataError(f"a compressed element is cut, or expands to more than {LIMIT} bytes")
    return memoryview(body)


def _matrix(body: memoryview, order: str) -> memoryview | None:
    """The payload of the matrix inside a compressed element, as far as it was decompressed; None for anything else."""
    if len(body) < 8:
        raise DataError("a compressed element without content")
    kind, size = (int(n) for n in np.frombuffer(body[:8], order + "u4"))
    return body[8 : 8 + size] if kind == MATRIX else None


def _header(body: memoryview, order: str) -> tuple[str, int, int, tuple[int, ...]]:
    """(name, class, flags, shape): the first three elements of a matrix."""
    parts = list(itertools.islice(_elements(body, order), 3))
    if len(parts) < 3 or len(parts[0][1]) != 8 or len(parts[1][1]) % 4:
        raise DataError("a matrix without flags, sizes and name")
    word = int(np.frombuffer(parts[0][1], order + "u4")[0])
    shape = tuple(int(n) for n in np.frombuffer(parts[1][1], order + "i4"))
    if len(shape) < 2 or min(shape) < 0:
        raise DataError(f"a matrix of shape {shape}")
    return bytes(parts[2][1]).decode("latin-1"), word & 0xFF, word >> 8 & 0xFF, shape


def _numeric(body: memoryview, order: str) -> Any:
    """The matrix itself; every size is compared with the bytes that are there before anything is made."""
    name, kind, flags, shape = _header(body, order)
    if kind not in NUMERIC_CLASSES or flags & COMPLEX:
        raise DataError(f"variable {name!r} is not a real numeric matrix")
    parts = [_numbers(*part, order) for part in itertools.islice(_elements(body, order), 3, 6)]
    if kind != SPARSE:
        if not parts or parts[0].size != math.prod(shape):
            raise DataError(f"variable {name!r} claims shape {shape}, and holds other than that")
        return np.array(parts[0], dtype=float).reshape(shape, order="F")
    if len(shape) != 2 or shape[0] > TALLEST or len(parts) < 3 or parts[1].size != shape[1] + 1:
        raise DataError(f"variable {name!r} is a damaged sparse matrix of shape {shape}")
    rows, starts, values = parts
    count = int(starts[-1])
    if not 0 <= count <= min(rows.size, values.size):
        raise DataError(f"variable {name!r} claims {count} entries, and holds {values.size}")
    try:
        columns = scipy.sparse.csc_array(
            (values[:count].astype(float), rows[:count].astype(np.int64), starts.astype(np.int64)),
            shape=shape,
        )
        columns.check_format(full_check=True)  # before any product could follow wrong indices
    except ValueError as error:
        raise DataError(f"variable {name!r} is a damaged sparse matrix ({error})") from error
    return scipy.sparse.csr_array(columns)


def _numbers(kind: int, payload: memoryview, order: str) -> np.ndarray:
    if kind not in NUMBERS or len(payload) % int(NUMBERS[kind][1]):
        raise DataError(f"an element of type {kind} and {len(payload)} bytes where numbers are expected")
    return np.frombuffer(payload, order + NUMBERS[kind])
