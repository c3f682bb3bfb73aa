"""Tables in text: comma, semicolon, tab or space; large ones by pyarrow where it is there, else by NumPy's reader.

A first line that is not all numbers is the header. Empty cells are NaN. UTF-8 or UTF-16. Where cells are separated by
semicolons or tabs, a comma may be the decimal point. A first column without a name that counts or names the rows is an
index, and is left out.
"""

from __future__ import annotations

import bz2
import csv as cells
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
PEEK = 1 << 16
"""Bytes that are looked at to see how a file is written."""
SMALL = 1 << 18
"""Bytes up to which cells are read faster than pyarrow is loaded (half a second, as it loads pandas)."""


def open_stream(path: Path) -> Any:
    """The file, decompressed on the fly if its name ends in .gz or .bz2."""
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix.lower(), open)
    return opener(path, "rb")


def csv(path: Path) -> dict[str, Any]:
    """`names` (empty without a header), `columns` (numbers, or text), `notes` on what was recognised."""
    with open_stream(path) as stream:
        content = stream.read()
    encoding = _utf16(content)
    try:
        if encoding is not None:
            content = content.decode(encoding).encode()
        peek = content[:PEEK].decode("utf-8-sig", "strict" if len(content) <= PEEK else "ignore")
    except UnicodeDecodeError as error:
        raise DataError(f": no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    lines = [line for line in peek.splitlines() if line.strip()]
    if not lines:
        raise DataError(": empty file")
    delimiter = max(",;\t", key=lines[0].count) if any(mark in lines[0] for mark in ",;\t") else " "
    head = next(cells.reader([lines[0].strip()], delimiter=delimiter, skipinitialspace=True))
    comma = delimiter in ";\t" and _decimal_comma(lines[1:50], delimiter)
    counted = [cell.strip() for cell in head] == ["", *map(str, range(len(head) - 1))]  # as pandas does
    has_header = (counted and len(head) > 1) or any(number(cell, comma) is None for cell in head)
    if has_header and len(lines) < 2:
        raise DataError(": a header and no rows")
    names = [name.strip() for name in head] if has_header else []
    if delimiter == " ":
        return _by_numpy(content, names)
    shape = len(head), int(has_header)
    columns = None if len(content) <= SMALL else _by_pyarrow(content, delimiter, comma, *shape)
    if columns is None:
        columns = _by_cells(content, delimiter, comma, *shape)
    return _table(names, columns, ["decimal commas"] if comma else [])


def table_of_cells(rows: list[list[str]]) -> dict[str, Any]:
    """The same of rows of cells."""
    if not rows:
        raise DataError(": empty file")
    has_header = any(number(cell) is None for cell in rows[0])
    body = rows[1:] if has_header else rows
    if not body:
        raise DataError(": a header and no rows")
    return _table(rows[0] if has_header else [], _columns(body, len(rows[0]), False, int(has_header)), [])


def number(cell: str, comma: bool = False) -> float | None:
    """The number in a cell; NaN where it is missing, None where it holds something else.

    >>> number("1e3"), number("1_000"), number("2,5", comma=True)
    (1000.0, None, 2.5)
    """
    text = cell.strip()
    if text.lower() in MISSING:
        return np.nan
    try:
        return None if "_" in text else float(text.replace(",", ".") if comma else text)
    except ValueError:
        return None


def _utf16(content: bytes) -> str | None:
    """The kind of UTF-16 that a text is in: by its mark, or by the zeros that every other byte of Latin text is."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") and len(content) > 4:
        return "utf-16"
    for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        half = content[:PEEK][first::2]
        if len(half) > 2 and 2 * half.count(0) > len(half):
            return name
    return None


def _decimal_comma(lines: list[str], delimiter: str) -> bool:
    """Whether some cells are numbers only with a comma for the point.

    Between tabs the comma may part thousands: there one of them must be followed by other than three digits.
    """
    found = [cell.strip() for line in lines for cell in line.split(delimiter) if "," in cell]
    if not found or any(number(cell, comma=True) is None for cell in found):
        return False
    return delimiter == ";" or any(len(cell) - cell.index(",") != 4 for cell in found)


def _by_numpy(content: bytes, names: list[str]) -> dict[str, Any]:
    """Runs of spaces between numbers."""
    try:
        values = np.loadtxt(
            io.BytesIO(content), skiprows=int(bool(names)), ndmin=2, comments=None, encoding="utf-8-sig"
        )
    except ValueError as error:
        raise DataError(
            f": no table of numbers ({error}); separate cells by commas, tabs or semicolons"
        ) from None
    if names and len(names) != values.shape[1]:
        raise DataError(f": the header has {len(names)} names, the rows have {values.shape[1]} cells")
    return _table(names, list(values.T), [])


def _by_pyarrow(
    content: bytes, delimiter: str, comma: bool, width: int, before: int
) -> list[np.ndarray] | None:
    """Columns at full speed; None where pyarrow is not there."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    null = [spelt for word in MISSING for spelt in (word, word.upper(), word.title())]
    try:
        table = arrow.read_csv(
            pa.BufferReader(content),
            read_options=arrow.ReadOptions(
                column_names=[str(k) for k in range(width)], skip_rows=before, use_threads=False
            ),
            parse_options=arrow.ParseOptions(
                delimiter=delimiter, invalid_row_handler=refuse, newlines_in_values=True
            ),
            convert_options=arrow.ConvertOptions(
                null_values=[*dict.fromkeys(null), "NaN", "N/A"],
                strings_can_be_null=False,
                true_values=[],
                false_values=[],
                decimal_point="," if comma else ".",
                timestamp_parsers=[],
            ),
        )
    except pa.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            at = "" if row.number is None else f", row {row.number}"
            raise DataError(f"{at}: {row.actual_columns} cells where the first row has {width}") from None
        if "UTF8" in str(error):
            raise DataError(f": no UTF-8 text ({error}); save it as UTF-8") from None
        raise
    return [_values(column, comma) for column in table.columns]


def _values(column: Any, comma: bool) -> np.ndarray:
    """A column of pyarrow's; one that it takes for text may still hold numbers, as other readers see them."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return _numbers_or_text(
        ["" if text is None else str(text) for text in column.cast(pa.string()).to_pylist()], comma
    )


def _by_cells(content: bytes, delimiter: str, comma: bool, width: int, before: int) -> list[np.ndarray]:
    """Columns cell by cell, where all are numbers by NumPy's reader."""
    text = content.decode("utf-8-sig")
    if not comma:
        try:
            options: dict[str, Any] = {"delimiter": delimiter, "quotechar": '"', "comments": None, "ndmin": 2}
            values = np.loadtxt(io.StringIO(text), skiprows=before, **options)
            if values.shape[1] == width:
                return list(values.T)
        except ValueError:
            pass
    rows = [row for row in cells.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True) if row]
    return _columns(rows[before:], width, comma, before)


def _columns(rows: list[list[str]], width: int, comma: bool, before: int) -> list[np.ndarray]:
    for k, row in enumerate(rows):
        if len(row) != width:
            raise DataError(f", row {k + 1 + before}: {len(row)} cells where the first row has {width}")
    return [_numbers_or_text(texts, comma) for texts in zip(*rows, strict=True)]


def _numbers_or_text(texts: Sequence[str], comma: bool) -> np.ndarray:
    """The cells of a column as numbers, where all of them are; else as they are."""
    numbers = [number(text, comma) for text in texts]
    return np.array(texts) if None in numbers else np.array(numbers, dtype=float)


def as_written(text: str) -> str:
    """What to do about a cell that only people read as a number; nothing for other texts.

    >>> as_written("$1,200.50")
    '; numbers are written like 1234.5: take marks of thousands, currencies and percent out'
    >>> as_written("Smith")
    ''
    """
    bare = text.strip(" $€£¥%").replace("\u00a0", " ")
    digits = sum(c.isdigit() for c in bare)
    if not digits or any(c not in "0123456789.,' +-" for c in bare) or bare.count("-") > 1:
        return ""
    return "; numbers are written like 1234.5: take marks of thousands, currencies and percent out"


def _clean(name: str) -> str:
    """A name without control characters: it may be printed to a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name.strip())


def _table(names: list[str], columns: list[np.ndarray], notes: list[str]) -> dict[str, Any]:
    first = columns[0]
    unnamed = bool(names) and names[0] == "" and len(columns) > 1
    counts = first.dtype.kind == "f" and np.array_equal(first, np.arange(len(first)) + first[0])
    if unnamed and (counts or (first.dtype.kind == "U" and len(np.unique(first)) == len(first))):
        names, columns, notes = names[1:], columns[1:], [*notes, "an index column left out"]
    return {"names": [_clean(name) for name in names], "columns": columns, "notes": notes}
