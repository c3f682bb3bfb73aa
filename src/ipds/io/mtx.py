"""Matrix Market files: a real matrix, dense or as triples.

Read here and not by SciPy, whose reader crashes the process on some damaged files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from .bounded import LIMIT, check_size, opened
from .errors import DataError

FIELDS = ("real", "double", "integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
TALLEST = 10**7
"""Rows of a sparse matrix at most: a compressed row format holds a number for every row, also for empty ones."""


def read_mtx(path: str | Path) -> Any:
    """The matrix in a Matrix Market file, plain, .gz or .bz2: a float array, or a `scipy.sparse.csr_array`.

    `DataError`: damaged, too large, or complex; `OSError`: it cannot be opened.

    Reference: Boisvert, Pozo & Remington, *The Matrix Market exchange formats*, NISTIR 5935 (1996).
    """
    with opened(path) as stream:
        content = stream.read(LIMIT + 1)
    check_size(len(content), 1, str(path))
    head, _, rest = content.partition(b"\n")
    words = head.decode("ascii", "replace").lower().split()
    if (
        len(words) != 5
        or words[:2] != ["%%matrixmarket", "matrix"]
        or words[2] not in ("coordinate", "array")
    ):
        raise DataError(f"{path}: not a Matrix Market matrix ({head[:60]!r})")
    layout, field, symmetry = words[2:]
    if field not in FIELDS or symmetry not in SYMMETRIES:
        raise DataError(f"{path}: {field} {symmetry} matrices are not read, only real ones")
    lines = [line for line in rest.splitlines() if line.strip() and not line.lstrip().startswith(b"%")]
    try:
        sizes = [int(word) for word in lines[0].split()]
        values = np.array(b" ".join(lines[1:]).split(), dtype=float)
    except (ValueError, IndexError) as error:
        raise DataError(f"{path}: damaged Matrix Market file ({error})") from None
    if min(sizes, default=0) < 1 or len(sizes) != (3 if layout == "coordinate" else 2):
        raise DataError(f"{path}: a {layout} matrix cannot have the sizes {sizes}")
    if not np.all(np.isfinite(values)):
        raise DataError(f"{path}: contains NaN or infinity")
    if layout == "array":
        return _dense(path, sizes[0], sizes[1], values, symmetry)
    return _triples(path, sizes, values, 2 if field == "pattern" else 3, symmetry)


def _dense(path: str | Path, rows: int, columns: int, values: np.ndarray, symmetry: str) -> np.ndarray:
    """Column by column; of a symmetric matrix the lower triangle, of a skew one without the diagonal."""
    if symmetry == "general":
        if values.size != rows * columns:
            raise DataError(f"{path}: {rows}x{columns} entries expected, found {values.size}")
        return values.reshape(columns, rows).T
    diagonal = 0 if symmetry == "symmetric" else 1
    check_size(rows * columns, 8, str(path))
    if rows != columns or values.size != rows * (rows + 1) // 2 - diagonal * rows:
        raise DataError(f"{path}: {values.size} entries do not make a {symmetry} {rows}x{columns} matrix")
    X = np.zeros((rows, rows))
    X.T[np.triu_indices(rows, diagonal)] = values  # its rows are the columns of X
    return X + (-X.T if diagonal else np.tril(X, -1).T)


def _triples(
    path: str | Path, sizes: list[int], values: np.ndarray, width: int, symmetry: str
) -> scipy.sparse.csr_array:
    """Row, column and (but for patterns) value of every entry; of a symmetric matrix the lower triangle."""
    rows, columns, count = sizes
    if values.size != width * count or max(rows, columns) > TALLEST:
        raise DataError(
            f"{path}: claims {count} entries of a {rows}x{columns} matrix, holds {values.size // width}"
        )
    table = values.reshape(count, width)
    i, j = table[:, 0], table[:, 1]
    if np.any((i < 1) | (i > rows) | (j < 1) | (j > columns) | (i != np.floor(i)) | (j != np.floor(j))):
        raise DataError(f"{path}: an entry lies outside of the {rows}x{columns} matrix")
    place = (i.astype(np.int64) - 1, j.astype(np.int64) - 1)
    matrix = scipy.sparse.csr_array(
        (table[:, 2] if width == 3 else np.ones(count), place), shape=(rows, columns)
    )
    if symmetry == "general":
        return matrix
    if rows != columns:
        raise DataError(f"{path}: a {symmetry} matrix cannot be {rows}x{columns}")
    off = scipy.sparse.csr_array(scipy.sparse.tril(matrix, -1))
    return scipy.sparse.csr_array(matrix + off.T if symmetry == "symmetric" else matrix - off.T)
