"""One array of a NumPy .npz archive, its size checked before it is read."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.lib import format as npy

from .bounded import check_size
from .errors import DataError


def check_member(path: str | Path, member: zipfile.ZipInfo) -> None:
    """Refuse a member that is too large, or packed as NumPy never does: LZMA takes the memory that a file asks for."""
    check_size(member.file_size, 1, f"{path}: {member.filename}")
    if member.compress_size > Path(path).stat().st_size:
        raise DataError(
            f"{path}: {member.filename} claims {member.compress_size} bytes, more than the file has"
        )
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(
            f"{path}: {member.filename} is packed by method {member.compress_type}, not as in .npz files"
        )


def read_npz(path: str | Path, name: str) -> np.ndarray:
    """The array `name` of an .npz file; nothing is unpickled.

    `DataError`: damaged, too large, of objects, or without such an array; `OSError`: it cannot be opened.
    """
    with Path(path).open("rb") as raw:
        try:
            with zipfile.ZipFile(raw) as archive:
                members = {info.filename: info for info in archive.infolist()}
                member = members.get(f"{name}.npy")
                if member is None:
                    raise DataError(f"{path}: no array {name!r}; there are {sorted(members)}")
                check_member(path, member)
                content = archive.read(member)
        except DataError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise DataError(f"{path}: damaged .npz file ({error})") from error
    stream = io.BytesIO(content)
    try:
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[
            npy.read_magic(stream)
        ]
        shape, fortran, dtype = reader(stream)
    except (ValueError, KeyError, TypeError, TokenError) as error:  # NumPy parses the header as Python text
        raise DataError(f"{path}: {name!r} is not an array ({error})") from error
    if dtype.kind not in "buifc":
        raise DataError(f"{path}: {name!r} is an array of {dtype}, and numbers are wanted")
    left = len(content) - stream.tell()
    if math.prod(shape) * dtype.itemsize != left:
        raise DataError(f"{path}: {name!r} claims shape {shape} of {dtype}, the file holds {left} bytes")
    return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape, order="F" if fortran else "C")
