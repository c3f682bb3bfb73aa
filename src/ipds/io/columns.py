"""Which columns of a table are samples, and which is the target."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError
from .text import as_written, number

TARGETS = ("y", "z", "target", "label", "labels", "gnd")
"""Names under which NPZ and MAT files keep a target."""
SHOWN = 12
"""Columns that a message names at most."""


@dataclass(frozen=True)
class Data:
    """Samples X (a matrix, dense or sparse, or frames of a video), a target where asked for, names of the columns."""

    X: Any
    y: np.ndarray | None = None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was recognised on the way (decimal commas, an index column)."""


@dataclass(frozen=True)
class Request:
    """What to take from a file: the array `key`, the column, array or file `target`, without the columns `drop`.

    An entry of `drop` is a name or a number, or several of them with commas between.
    """

    wants_target: bool = False
    target: str | None = None
    key: str | None = None
    drop: tuple[str, ...] = ()

    @property
    def target_is_file(self) -> bool:
        """Whether the target is a file of its own."""
        return self.wants_target and self.target is not None and Path(self.target).is_file()


def from_table(path: Path, names: Sequence[str], columns: Sequence[np.ndarray], request: Request) -> Data:
    """Columns of any kind: those of the samples must be numbers, the target may be text."""
    if not columns or not len(columns[0]):
        raise DataError(f"{path}: no rows")
    chosen, y = chosen_columns(path, list(names), len(columns), request)
    texts = [k for k in chosen if columns[k].dtype.kind not in "buif"]
    if texts:
        raise DataError(
            f"{path}: {_about_text([names[k] if names else k for k in texts], columns[texts[0]])}"
        )
    X = np.column_stack([columns[k].astype(float, copy=False) for k in chosen])
    return Data(X, None if y is None else columns[y], tuple(names[k] for k in chosen) if names else ())


def _about_text(labels: Sequence[str | int], cells: np.ndarray) -> str:
    """That these columns hold text, as the cells of the first of them show, and how to leave them out."""
    text = next((str(cell) for cell in cells if number(str(cell)) is None), "")
    others = f", and so do {', '.join(map(repr, labels[1:SHOWN]))}" if len(labels) > 1 else ""
    drop = " ".join(f"--drop {label!r}" for label in labels[:SHOWN]) + (" ..." if len(labels) > SHOWN else "")
    them = "them" if others else "it"
    return f"column {labels[0]!r} holds text ({text[:30]!r}){others}; leave {them} out with {drop}{as_written(text)}"


def from_matrix(path: Path, X: Any, request: Request) -> Data:
    """The matrix without its target and what is dropped; as it is, where nothing is taken out."""
    if X.dtype.kind not in "buifc" or X.ndim == 0 or 0 in X.shape:
        raise DataError(f"{path}: an array of numbers is wanted, got {X.dtype} of shape {X.shape}")
    if X.ndim != 2:
        return Data(X)
    chosen, y = chosen_columns(path, [], X.shape[1], request)
    if len(chosen) == X.shape[1]:
        return Data(X)
    target = None if y is None else X[:, [y]]
    if target is not None:
        target = (target.toarray() if hasattr(target, "toarray") else np.asarray(target)).ravel()
    return Data(X[:, chosen], target)


def chosen_keys(path: Path, names: Sequence[str], request: Request) -> tuple[str, str | None]:
    """(name of the samples, name of the target or None) among the arrays of one file."""
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
    return key, target


def chosen_columns(
    path: Path | str, names: list[str], width: int, request: Request
) -> tuple[list[int], int | None]:
    """(columns of the samples, column of the target or None)."""
    listed = [[given] if given in names else given.split(",") for given in request.drop]
    dropped = {_place(path, name.strip(), names, width, "--drop") for part in listed for name in part}
    y = None
    if request.wants_target and request.target is not None and not request.target_is_file:
        y = _place(path, request.target, names, width, "--target")
    chosen = [k for k in range(width) if k not in dropped and k != y]
    if not chosen:
        raise DataError(f"{path}: no column is left beside the target and what is dropped")
    return chosen, y


def _place(path: Path | str, column: str, names: Sequence[str], width: int, option: str) -> int:
    """Where a column is, by its name or number (from 0; negative from the end)."""
    if column in names:
        return list(names).index(column)
    if re.fullmatch(r"-?\d{1,9}", column) and -width <= int(column) < width:
        return int(column) % width
    near = difflib.get_close_matches(column, names, 1)
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    there = f"there are {shown}" if names else f"it has no header: columns are 0 to {width - 1}"
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise DataError(f"{path}: {option} names no column {column!r}{hint} ({there})")
