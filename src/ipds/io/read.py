"""Data files for `ipds solve`: samples, and a target where the model wants one.

Nothing is unpickled or run. What is damaged, too large or of the wrong kind ends in a `ValueError` that names the file
and the remedy; `OSError` where a file cannot be opened.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..experiments.datasets import DataError, names_in_mat, read_libsvm, read_mat, read_mtx, read_npz
from .bounded import LIMIT, check_size, opened
from .npz import check_member

DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
"""What a damaged archive raises."""
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm")
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
TARGETS = ("y", "z", "target", "label", "labels", "gnd")
"""Names under which NPZ and MAT files keep a target."""


@dataclass(frozen=True)
class Data:
    """Samples X (a matrix, dense or sparse, or frames of a video), a target where asked for, names of the columns."""

    X: Any
    y: np.ndarray | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What to take from a file: the array `key`, the column, array or file `target`, without the columns `drop`."""

    wants_target: bool = False
    target: str | None = None
    key: str | None = None
    drop: tuple[str, ...] = ()


def read(path: Path, request: Request, kind: str | None = None) -> Data:
    """The data in a file or folder; `kind` (a suffix without the dot) where the name does not tell."""
    if not path.exists():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 1, 0.75)
        hint = f"; did you mean {path.parent / near[0]}?" if near else ""
        raise DataError(f"{path} does not exist{hint}")
    if path.is_dir():
        return Data(_frames(path))
    reader = READERS.get(kind or _suffix(path))
    if reader is None:
        known = ", ".join(sorted(READERS))
        raise DataError(
            f"{path}: unknown format {_suffix(path) or 'without suffix'!r}; pass --format, one of {known}"
        )
    data = reader(path, request)
    own_target = request.wants_target and request.target is not None and Path(request.target).is_file()
    if own_target and data.y is None:
        return Data(data.X, read_array(Path(str(request.target))).ravel(), data.names)
    return data


def read_array(path: Path) -> Any:
    """One array alone: a target, edges, a constraint matrix."""
    return read(path, Request()).X


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
    return _columns(path, _numbers(path, X), (), request)


def _npz(path: Path, request: Request) -> Data:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
    except DAMAGE:
        raise DataError(f"{path}: damaged, or no .npz file") from None
    if {"format", "shape", "data"} <= set(names):
        return _columns(path, _sparse_npz(path), (), request)
    return _by_key(path, names, lambda name: read_npz(path, name), request)


def _sparse_npz(path: Path) -> sp.csr_array:
    """A matrix of `scipy.sparse.save_npz`, its indices checked before any product could follow them."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            check_member(path, member)
    for name in ("data", "indices", "indptr", "row", "col"):
        try:
            read_npz(path, name)
        except DataError as error:
            if "no array" not in str(error):
                raise
    try:
        matrix = sp.load_npz(path).tocsr()
        matrix.check_format(full_check=True)
    except (*DAMAGE, ValueError, KeyError, TypeError, AttributeError, OverflowError, TokenError) as error:
        raise DataError(f"{path}: damaged sparse matrix ({error})") from None
    return sp.csr_array(matrix)


def _mat(path: Path, request: Request) -> Data:
    return _by_key(path, names_in_mat(path), lambda name: read_mat(path, name), request)


def _by_key(path: Path, names: list[str], get: Callable[[str], Any], request: Request) -> Data:
    """X and the target as two arrays of one file, by their names."""
    usual = next((name for name in TARGETS if name in names), None)
    target = request.target if request.target in names else None
    if request.wants_target and request.target is None:
        target = usual
    others = [name for name in names if name != target and (name != usual or request.key == name)]
    key = request.key
    if key is None:
        key = "X" if "X" in others else others[0] if len(others) == 1 else None
    if key is None or key not in names:
        asked = f"no array {key!r}" if key else "several arrays"
        raise DataError(f"{path}: {asked}; pass --key, one of {', '.join(names) or 'none: it is empty'}")
    X = _numbers(path, get(key))
    if target is not None:
        return Data(X, np.asarray(get(target)).ravel())
    return _columns(path, X, (), request)


def _libsvm(path: Path, request: Request) -> Data:
    X, y = read_libsvm(path)
    return Data(X, y if request.wants_target and request.target is None else None)


def _mtx(path: Path, request: Request) -> Data:
    return _columns(path, read_mtx(path), (), request)


def _parquet(path: Path, request: Request) -> Data:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(f"{path}: Parquet needs pyarrow: pip install 'ipds-admm[files]'") from None
    try:
        with pq.ParquetFile(path) as file:
            check_size(file.metadata.num_rows * max(1, file.metadata.num_columns), 8, str(path))
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: no readable Parquet file ({str(error).splitlines()[0]})") from None
    columns = [np.asarray(column.to_numpy(zero_copy_only=False)) for column in table.columns]
    return _table(path, list(table.column_names), columns, request)


def _csv(path: Path, request: Request) -> Data:
    """Comma, semicolon, tab or space; a first line that is not all numbers is the header; empty cells are NaN."""
    with opened(path) as stream:
        content = stream.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise DataError(
            f"{path}: more than {LIMIT >> 20} MiB of text; convert it to .npy, which is memory-mapped"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no UTF-8 text ({error.reason} at byte {error.start})") from None
    lines = (line for line in text.splitlines() if line.strip())
    first, second = next(lines, None), next(lines, None)
    if first is None:
        raise DataError(f"{path}: empty file")
    delimiter = max(",;\t", key=first.count) if any(mark in first for mark in ",;\t") else " "
    head = next(csv.reader([first.strip()], delimiter=delimiter, skipinitialspace=True))
    has_header = any(_number(cell) is None for cell in head)
    if has_header and second is None:
        raise DataError(f"{path}: a header and no rows")
    try:  # NumPy's own reader is fast, but knows only numbers
        options: dict[str, Any] = {"delimiter": None if delimiter == " " else delimiter, "quotechar": '"'}
        values = np.loadtxt(io.StringIO(text), skiprows=int(has_header), ndmin=2, comments=None, **options)
    except ValueError:
        rows = [r for r in csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True) if r]
        columns = _cells(path, rows[int(has_header) :], len(head), int(has_header))
        return _table(path, head if has_header else [], columns, request)
    if has_header and values.shape[1] != len(head):
        raise DataError(f"{path}: the header has {len(head)} names, the rows have {values.shape[1]} cells")
    return _columns(path, values, tuple(name.strip() for name in head) if has_header else (), request)


def _cells(path: Path, rows: list[list[str]], width: int, before: int) -> list[np.ndarray]:
    """Columns of numbers, or of text where some cell is none."""
    for k, row in enumerate(rows):
        if len(row) != width:
            raise DataError(f"{path}, row {k + 1 + before}: {len(row)} cells where the first row has {width}")
    columns: list[np.ndarray] = []
    for cells in zip(*rows, strict=True):
        numbers = [_number(cell) for cell in cells]
        columns.append(
            np.array(cells if None in numbers else numbers, dtype=str if None in numbers else float)
        )
    return columns


def _number(cell: str) -> float | None:
    """The number in a cell; NaN where it is missing, None where it holds something else."""
    if cell.strip().lower() in MISSING:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def _table(path: Path, names: list[str], columns: list[np.ndarray], request: Request) -> Data:
    """Columns of any kind: those of the samples must be numbers, the target may be text."""
    if not columns or not len(columns[0]):
        raise DataError(f"{path}: no rows")
    names = [name.strip() for name in names]
    chosen, y = _kept(path, names, len(columns), request)
    for k in chosen:
        if columns[k].dtype.kind not in "buif":
            label = repr(names[k]) if names else str(k)
            text = next((str(cell) for cell in columns[k] if _number(str(cell)) is None), "")
            raise DataError(
                f"{path}: column {label} holds text ({text[:30]!r}); leave it out with --drop {label}"
            )
    X = np.column_stack([columns[k].astype(float) for k in chosen])
    return Data(X, None if y is None else columns[y], tuple(names[k] for k in chosen) if names else ())


def _columns(path: Path, X: Any, names: tuple[str, ...], request: Request) -> Data:
    """The matrix without its target and what is dropped; as it is, where nothing is taken out."""
    if X.ndim != 2:
        return Data(X)
    chosen, y = _kept(path, list(names), X.shape[1], request)
    if len(chosen) == X.shape[1]:
        return Data(X, None, names)
    target = None if y is None else X[:, [y]]
    if target is not None:
        target = (target.toarray() if sp.issparse(target) else np.asarray(target)).ravel()
    return Data(X[:, chosen], target, tuple(names[k] for k in chosen) if names else ())


def _kept(path: Path, names: list[str], width: int, request: Request) -> tuple[list[int], int | None]:
    """(columns of the samples, column of the target or None)."""
    dropped = {_place(path, name, names, width, "--drop") for name in request.drop}
    y = None
    if request.wants_target and request.target is not None and not Path(request.target).is_file():
        y = _place(path, request.target, names, width, "--target")
    chosen = [k for k in range(width) if k not in dropped and k != y]
    if not chosen:
        raise DataError(f"{path}: no column is left beside the target and what is dropped")
    return chosen, y


def _place(path: Path, column: str, names: Sequence[str], width: int, option: str) -> int:
    """Where a column is, by its name or number (from 0; negative from the end)."""
    if column in names:
        return names.index(column)
    if re.fullmatch(r"-?\d{1,9}", column) and -width <= int(column) < width:
        return int(column) % width
    near = difflib.get_close_matches(column, names, 1)
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    there = f"there are {shown}" if names else f"it has no header: columns are 0 to {width - 1}"
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise DataError(f"{path}: {option} names no column {column!r}{hint} ({there})")


def _numbers(path: Path, X: Any) -> Any:
    if X.dtype.kind not in "buifc" or X.ndim == 0 or 0 in X.shape:
        raise DataError(f"{path}: an array of numbers is wanted, got {X.dtype} of shape {X.shape}")
    return X


def _picture(path: Path, request: Request) -> Data:
    return Data(_grey(path))


def _frames(folder: Path) -> np.ndarray:
    """All pictures of a folder in the order of the numbers in their names, as (frames, height, width), 0 to 255."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in PICTURES]
    if not files:
        raise DataError(
            f"{folder}: no pictures ({', '.join(PICTURES)}); take a video apart into frames first"
        )
    files.sort(
        key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)]
    )
    first = _grey(files[0])
    check_size(len(files) * first.size, 8, str(folder))
    frames = np.empty((len(files), *first.shape))
    for k, file in enumerate(files):
        picture = _grey(file)
        if picture.shape != first.shape:
            raise DataError(
                f"{file} is {picture.shape}, but {files[0].name} is {first.shape}: frames share one size"
            )
        frames[k] = picture
    return frames


def _grey(file: Path) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{file}: pictures need Pillow: pip install 'ipds-admm[files]'") from None
    try:
        with Image.open(file) as picture:
            check_size(picture.width * picture.height, 8, str(file))
            return np.asarray(picture.convert("L"), dtype=float)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{file}: no readable picture ({error})") from None


Reader = Callable[[Path, Request], Data]
READERS: dict[str, Reader] = {
    "npy": _npy,
    "npz": _npz,
    "mat": _mat,
    "mtx": _mtx,
    "parquet": _parquet,
    **dict.fromkeys(("csv", "tsv", "txt"), _csv),
    **dict.fromkeys(("libsvm", "svm", "svmlight"), _libsvm),
    **dict.fromkeys((suffix[1:] for suffix in PICTURES), _picture),
}
"""Readers by suffix."""
