"""The IDX format of MNIST: magic number, big-endian sizes, then the entries."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from .bounded import check_size, opened, take
from .errors import DataError

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> np.ndarray:
    """The array in an IDX file, plain, .gz or .bz2, in the machine's byte order.

    The file is: two zero bytes, the type, the number of axes, the length of each axis as a big-endian 32-bit integer,
    the entries. `DataError`: not such a file, truncated, or with bytes left over; `OSError`: it cannot be opened.

    Reference: LeCun, Cortes & Burges, *The MNIST database of handwritten digits*.
    """
    with opened(path) as stream:
        first, second, kind, axes = take(stream, 4, f"{path}: magic number")
        if (first, second) != (0, 0) or kind not in TYPES or not 1 <= axes <= 8:
            raise DataError(
                f"{path}: not an IDX file (magic number {first:02x}{second:02x}{kind:02x}{axes:02x})"
            )
        shape = tuple(int(n) for n in np.frombuffer(take(stream, 4 * axes, f"{path}: sizes"), ">u4"))
        dtype = np.dtype(TYPES[kind])
        size = check_size(math.prod(shape), dtype.itemsize, str(path))
        data = take(stream, size, f"{path}: array of shape {shape}")
        if stream.read(1):
            raise DataError(f"{path}: bytes left over after an array of shape {shape}")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
