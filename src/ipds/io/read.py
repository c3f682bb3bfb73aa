"""Data files: samples, and a target where a model wants one.

Nothing is unpickled or run. What is damaged, too large or of the wrong kind ends in a `DataError` that names the file
and the remedy; `OSError` where a file cannot be opened.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from .columns import Data, Request, chosen_keys, from_matrix, from_table
from .errors import DataError
from .formats import PICTURES
from .limits import isolated, require_regular

SUFFIXES = tuple(suffix for group in PICTURES.values() for suffix in group)


def read(path: str | Path, request: Request | None = None, kind: str | None = None) -> Data:
    """The data in a file or folder; `kind` (a suffix without the dot) where the name does not tell.

    Formats: .npy (memory-mapped), .npz, .mat, .mtx, .csv/.tsv/.txt, .libsvm/.svm, .parquet, .xlsx, pictures, a
    folder of pictures; text and LIBSVM also as .gz and .bz2.
    """
    path, request = Path(path), request or Request()
    if not path.exists():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 1, 0.75)
        hint = f"; did you mean {path.parent / near[0]}?" if near else ""
        raise DataError(f"{path} does not exist{hint}")
    if path.is_dir():
        return Data(_frames(path))
    kind = kind or _suffix(path)
    reader = READERS.get(kind)
    if reader is None:
        told = f"unknown format {kind!r}" if kind else "the name does not tell the format"
        raise DataError(f"{path}: {told}; pass --format, one of {', '.join(sorted(READERS))}")
    require_regular(path)
    data = reader(path, request)
    if request.target_is_file and data.y is None:
        return Data(data.X, np.asarray(read_array(Path(str(request.target)))).ravel(), data.names, data.notes)
    return data


def read_array(path: str | Path) -> Any:
    """One array alone: a target, edges, a constraint matrix."""
    return read(path).X


def read_mat(path: str | Path, name: str) -> Any:
    """The numeric variable `name` of a MAT file of version 5 to 7.2: an array, or a `scipy.sparse.csr_array`."""
    return _named("mat", path, name)


def read_npz(path: str | Path, name: str) -> np.ndarray:
    """The array `name` of an .npz file; nothing is unpickled."""
    return _named("npz", path, name)


def read_mtx(path: str | Path) -> Any:
    """The matrix in a Matrix Market file: a float array, or a `scipy.sparse.csr_array`."""
    return isolated("mtx", path)["X"]


def read_libsvm(path: str | Path) -> tuple[Any, np.ndarray]:
    """Samples (`scipy.sparse.csr_array`) and labels of a LIBSVM file, plain, .gz or .bz2."""
    found = isolated("libsvm", path)
    return found["X"], found["y"]


def read_idx(path: str | Path) -> np.ndarray:
    """The array in an IDX file, the format of MNIST, plain, .gz or .bz2."""
    return isolated("idx", path)["X"]


def _named(task: str, path: str | Path, name: str) -> Any:
    found = isolated(task, path, keys=[name])
    if f"array:{name}" not in found:
        raise DataError(f"{path}: no array {name!r}; there are {sorted(found['names'])}")
    return found[f"array:{name}"]


def _suffix(path: Path) -> str:
    """The suffix without its dot, .gz and .bz2 passed over."""
    names = [s.lower() for s in path.suffixes if s.lower() not in (".gz", ".bz2")]
    return names[-1][1:] if names else ""


def _npy(path: Path, request: Request) -> Data:
    """By memory map: only what is used is read."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, TypeError, OverflowError, TokenError) as error:
        raise DataError(f"{path}: no readable .npy array of numbers ({error})") from None
    return from_matrix(path, X, request)


def _by_key(task: str) -> Callable[[Path, Request], Data]:
    """X and the target as two arrays of one file, by their names."""

    def reader(path: Path, request: Request) -> Data:
        found = isolated(task, path)
        if "sparse" in found:
            return from_matrix(path, found["sparse"], request)
        key, target = chosen_keys(path, found["names"], request)
        arrays = isolated(task, path, keys=[key] if target is None else [key, target])
        data = from_matrix(path, arrays[f"array:{key}"], request if target is None else Request())
        return data if target is None else Data(data.X, np.asarray(arrays[f"array:{target}"]).ravel())

    return reader


def _libsvm(path: Path, request: Request) -> Data:
    X, y = read_libsvm(path)
    return Data(X, y if request.wants_target and request.target is None else None)


def _mtx(path: Path, request: Request) -> Data:
    return from_matrix(path, read_mtx(path), request)


def _parquet(path: Path, request: Request) -> Data:
    found = isolated(
        "parquet", path, wants_target=request.wants_target, target=request.target, drop=list(request.drop)
    )
    return Data(found["X"], found["y"], tuple(found["names"]))


def _table(task: str) -> Callable[[Path, Request], Data]:
    def reader(path: Path, request: Request) -> Data:
        found = isolated(task, path)
        data = from_table(path, found["names"], found["columns"], request)
        return Data(data.X, data.y, data.names, tuple(found["notes"]))

    return reader


def _picture(path: Path, request: Request) -> Data:
    return Data(isolated("picture", path)["X"])


def _frames(folder: Path) -> np.ndarray:
    """All pictures of a folder in the order of the numbers in their names, as (frames, height, width), 0 to 255."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES]
    if not files:
        raise DataError(
            f"{folder}: no pictures ({', '.join(SUFFIXES)}); take a video apart into frames first"
        )
    files.sort(
        key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)]
    )
    found = isolated("frames", files[0], others=[str(file.absolute()) for file in files])
    return found["X"]


Reader = Callable[[Path, Request], Data]
READERS: dict[str, Reader] = {
    "npy": _npy,
    "npz": _by_key("npz"),
    "mat": _by_key("mat"),
    "mtx": _mtx,
    "parquet": _parquet,
    "xlsx": _table("xlsx"),
    **dict.fromkeys(("csv", "tsv", "txt"), _table("csv")),
    **dict.fromkeys(("libsvm", "svm", "svmlight"), _libsvm),
    **dict.fromkeys((suffix[1:] for suffix in SUFFIXES), _picture),
}
"""Readers by suffix."""
