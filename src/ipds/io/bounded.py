"""Reading with a bound: files are not to be trusted about their own size."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import DataError

LIMIT = 1 << 28
"""Bytes that one file may hold after decompression."""
CHUNK = 1 << 20


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """The file, decompressed on the fly if its name ends in .gz or .bz2; damage is a `DataError`."""
    path = Path(path)
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with path.open("rb") as raw:  # what the system says of a missing or forbidden file goes through
        try:
            with opener(raw, "rb") if opener is not open else raw as stream:  # type: ignore[operator]
                yield stream
        except DataError:
            raise
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: damaged compressed file ({error})") from error


def take(stream: IO[bytes], size: int, what: str) -> bytes:
    """Exactly `size` bytes, piece by piece, so that memory follows the data and not the claim."""
    pieces, missing = [], size
    while missing > 0:
        piece = stream.read(min(CHUNK, missing))
        if not piece:
            raise DataError(f"{what}: {size} bytes expected, the file ends after {size - missing}")
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def check_size(count: int, itemsize: int, what: str) -> int:
    """count·itemsize, refused beyond `LIMIT`."""
    size = count * itemsize
    if size > LIMIT:
        raise DataError(
            f"{what}: claims {size} bytes of data, more than the {LIMIT >> 20} MiB accepted; only .npy may be larger"
        )
    return size
