"""One function for every format; each runs in a child process (`limits.isolated`) and leaves the parsing to a library.

Their `DataError`s begin with what follows the name of the file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Request, chosen_columns
from .errors import DataError
from .limits import check_size
from .text import csv, open_stream, table_of_cells

PICTURES = {
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".pgm", ".ppm"),
}
"""Formats of pictures, by the names of Pillow: a closed list, as others (EPS) start programs."""
TALLEST = 10**8
"""Rows of a sparse matrix at most: its format holds a number for every row, also for empty ones."""


def mat(path: Path, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Names of the variables, and those of them in `keys`; MATLAB 5 to 7.2, by SciPy."""
    import scipy.io

    with path.open("rb") as stream:
        if stream.read(10) == b"MATLAB 7.3":
            raise DataError(": a MAT file of version 7.3; save it with -v7 in MATLAB, or as .npz")
        stream.seek(0)
        try:
            names = [name for name, _, _ in scipy.io.whosmat(stream)]
        except ValueError as error:
            raise DataError(f": not a MAT file ({error})") from None
        stream.seek(0)
        found = scipy.io.loadmat(stream, variable_names=list(keys)) if keys else {}
    return {
        "names": names,
        **{f"array:{key}": _numeric(key, found[key]) for key in keys if key in found},
    }


def npz(path: Path, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Names of the arrays, and those of them in `keys`; or the matrix of `scipy.sparse.save_npz` as `sparse`."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            for member in members:
                check_size(member.file_size, 1, f": {member.filename}")
    except zipfile.BadZipFile:
        raise DataError(": damaged, or no .npz file") from None
    if {"format", "shape", "data"} <= set(names):
        import scipy.sparse

        matrix = scipy.sparse.load_npz(path).tocsr()
        matrix.check_format(full_check=True)
        return {"names": [], "sparse": _real(matrix)}
    with np.load(path, allow_pickle=False) as archive:
        found = {f"array:{key}": _numeric(key, _entry(archive, key)) for key in keys if key in names}
    return {"names": names, **found}


def _entry(archive: Any, key: str) -> Any:
    """An array of an .npz file; what would have to be unpickled is refused."""
    try:
        return archive[key]
    except ValueError as error:
        raise DataError(f": {key!r} is no array of numbers, and numbers are wanted ({error})") from None


def mtx(path: Path) -> dict[str, Any]:
    """The matrix of a Matrix Market file, by SciPy."""
    import scipy.io

    with open_stream(path) as stream:
        content = stream.read()
    rows, columns, entries, layout, field, _ = scipy.io.mminfo(io.BytesIO(content))
    if field == "complex":
        raise DataError(": complex matrices are not read, only real ones")
    if layout == "array":
        check_size(rows * columns, 8, f": a {rows}x{columns} matrix")
    elif rows > TALLEST or 2 * entries > len(content):
        raise DataError(f": claims {entries} entries of a {rows}x{columns} matrix, and is too short for them")
    matrix = scipy.io.mmread(io.BytesIO(content))
    return {"X": _real(matrix.tocsr()) if layout != "array" else _real(np.asarray(matrix, dtype=float))}


def libsvm(path: Path) -> dict[str, Any]:
    """Samples and labels, by scikit-learn; of several labels the first."""
    from sklearn.datasets import load_svmlight_file

    with open_stream(path) as stream:
        content = stream.read()
    try:
        X, y = load_svmlight_file(io.BytesIO(content), zero_based="auto")
    except ValueError:  # several labels, separated by commas, are none to it
        X, several = load_svmlight_file(io.BytesIO(content), zero_based="auto", multilabel=True)
        y = np.array([labels[0] if labels else np.nan for labels in several])
    if X.shape[0] == 0:
        raise DataError(": no samples")
    return {"X": _real(X), "y": _real(np.asarray(y, dtype=float))}


def parquet(path: Path, wants_target: bool, target: str | None, drop: Sequence[str]) -> dict[str, Any]:
    """The columns asked for: flat ones of numbers, the target may be text. The schema is read first."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'ipds-admm[files]'") from None
    with pq.ParquetFile(path) as file:
        rows, names = file.metadata.num_rows, file.schema_arrow.names
        chosen, y = chosen_columns("", names, len(names), Request(wants_target, target, None, tuple(drop)))
        wanted = [*chosen, *([] if y is None else [y])]
        for k in wanted:
            kind = file.schema_arrow.field(k).type
            number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
            if not number and not (text and k == y):
                name = names[k]
                raise DataError(
                    f": column {name!r} holds {kind}, not numbers; leave it out with --drop {name!r}"
                )
        check_size(rows * max(1, len(wanted)), 8, "")
        for group in range(file.metadata.num_row_groups):
            for k in wanted:
                check_size(
                    file.metadata.row_group(group).column(k).total_uncompressed_size,
                    1,
                    f": column {names[k]!r}",
                )
        columns = [_column(file.read([names[k]]).column(0)) for k in wanted]
    if not rows:
        raise DataError(": no rows")
    X = np.column_stack([column.astype(float, copy=False) for column in columns[: len(chosen)]])
    return {"X": X, "y": None if y is None else columns[-1], "names": [names[k] for k in chosen]}


def _column(column: Any) -> np.ndarray:
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    is_text = values.dtype.kind == "O" and isinstance(values[0], str)
    return values.astype(str if is_text else float)


def xlsx(path: Path) -> dict[str, Any]:
    """The first sheet of a workbook, as text of a table, by openpyxl."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or save it as CSV") from None
    book = load_workbook(path, read_only=True, data_only=True)
    rows = [
        ["" if cell is None else str(cell) for cell in row]
        for row in book.worksheets[0].iter_rows(values_only=True)
    ]
    return table_of_cells([row for row in rows if any(row)])


def picture(path: Path) -> dict[str, Any]:
    """Grey values from 0 to 255, by Pillow."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("pictures need Pillow: pip install 'ipds-admm[files]'") from None
    try:
        with Image.open(path, formats=tuple(PICTURES)) as image:
            check_size(image.width * image.height, 8, "")
            return {"X": np.asarray(image.convert("L"), dtype=float)}
    except DataError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f": no readable picture ({str(error).replace(str(path), path.name)})") from None


def frames(path: Path, others: Sequence[str]) -> dict[str, Any]:
    """Pictures of one size, one after the other; `path` is the first of them."""
    first = picture(path)["X"]
    check_size(len(others) * first.size, 8, f": {len(others)} pictures of {first.shape}")
    found = np.empty((len(others), *first.shape))
    for k, other in enumerate(others):
        each = picture(Path(other))["X"]
        if each.shape != first.shape:
            raise DataError(
                f" is {first.shape}, but {Path(other).name} is {each.shape}: frames share one size"
            )
        found[k] = each
    return {"X": found}


def idx(path: Path) -> dict[str, Any]:
    """The IDX format of MNIST: magic number, big-endian sizes, entries (LeCun, Cortes & Burges)."""
    types = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
    with open_stream(path) as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in types or not 1 <= head[3] <= 8:
            raise DataError(f": not an IDX file (magic number {head.hex()})")
        sizes = stream.read(4 * head[3])
        shape = tuple(int(n) for n in np.frombuffer(sizes, ">u4")) if len(sizes) == 4 * head[3] else ()
        dtype = np.dtype(types[head[2]])
        count = int(np.prod(shape, dtype=object)) if shape else 0
        size = check_size(count, dtype.itemsize, f": an array of shape {shape}")
        data = stream.read(size + 1)
    if not shape or len(data) != size:
        raise DataError(f": an array of shape {shape} takes {size} bytes, the file holds {len(data)} or more")
    return {"X": np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))}


def _numeric(name: str, X: Any) -> Any:
    """X where it holds real or complex numbers; a complex sparse or an object array is refused."""
    if hasattr(X, "tocsr"):
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)  # indices, before any product could follow them
        return _real(X.tocsr())
    X = np.asarray(X)
    if X.dtype.kind not in "buifc":
        raise DataError(f": {name!r} is an array of {X.dtype}, and numbers are wanted")
    return X


def _real(X: Any) -> Any:
    if X.dtype.kind == "c":
        raise DataError(": complex numbers; put real and imaginary parts side by side, as real columns")
    values = X.data if hasattr(X, "tocsr") else X
    if not np.all(np.isfinite(values)):
        raise DataError(": contains NaN or infinity")
    return X.astype(float)


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "mat": mat,
    "npz": npz,
    "mtx": mtx,
    "libsvm": libsvm,
    "parquet": parquet,
    "xlsx": xlsx,
    "picture": picture,
    "frames": frames,
    "idx": idx,
    "csv": csv,
}
"""What a child process can be asked for."""

LABELS = {
    "mat": "MAT",
    "npz": ".npz",
    "mtx": "Matrix Market",
    "libsvm": "LIBSVM",
    "parquet": "Parquet",
    "csv": "text",
    "xlsx": "Excel",
}
"""What the formats are called in messages."""
