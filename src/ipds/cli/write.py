"""What `ipds solve` leaves behind: NPZ, CSV or JSON files, pictures, and a record for scripts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..io.replacing import replacing

LARGEST = 100_000
"""Entries of an array up to which it stands in the record on standard output."""
MAIN = ("normals_", "components_", "coef_", "low_rank_")
"""The array that a CSV file holds: the first of these that the model has."""
Fitted = dict[str, Any]


def check_place(path: Path, suffixes: tuple[str, ...], option: str, force: bool) -> None:
    """Refuse a file that cannot be written, before any time is spent on solving."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{option} {path}: the suffix must be one of {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file")
    check_free(path, option, force)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there; choose another place")


def check_free(path: Path, option: str, force: bool) -> None:
    """Refuse to replace a file that nobody said may be replaced."""
    if path.exists() and not force:
        raise ValueError(f"{option} {path} exists; pass --force to replace it")


def fitted_arrays(model: Any) -> Fitted:
    """The fitted attributes of an estimator, without the result."""
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name != "result_"
    }


def record(fitted: Fitted, largest: float = math.inf) -> tuple[dict[str, Any], list[str]]:
    """(attributes as plain data, names of the arrays left out for being larger than `largest`)."""
    left_out = [name for name, value in fitted.items() if np.size(value) > largest]
    return {name: plain(value) for name, value in fitted.items() if name not in left_out}, left_out


def plain(value: Any) -> Any:
    """As JSON has it: lists, numbers, text; null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


def as_json(data: dict[str, Any]) -> str:
    """Strict JSON, one field per line."""
    fields = (f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in data.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def shown(summary: dict[str, Any], name: str, arrays: Fitted) -> str:
    """The record on standard output: the summary and the arrays, but for those that are too large."""
    kept, left_out = record(arrays, LARGEST)
    return as_json({**summary, name: kept, "left_out": left_out})


def save(path: Path, summary: dict[str, Any], fitted: Fitted, names: tuple[str, ...], result: Any) -> None:
    """Write what was found in the format of the suffix; the file appears only once it is complete."""
    kind = path.suffix.lower()
    if kind == ".json":
        everything = {**summary, "fitted": record(fitted)[0], "history": plain(dict(result.history))}
        with replacing(path) as file:
            file.write(as_json(everything).encode())
    elif kind == ".csv":
        with replacing(path) as file:
            _csv(file, fitted, names)
    else:
        arrays = {name: np.asarray(value) for name, value in fitted.items() if not isinstance(value, dict)}
        arrays |= {f"history_{name}": column for name, column in result.history.items()}
        arrays |= {"summary": np.array(as_json(summary))}
        kept: dict[str, Any] = {name: array for name, array in arrays.items() if array.dtype.kind != "O"}
        with replacing(path) as file:
            np.savez_compressed(file, **kept)


def save_figure(path: Path, figure: Any) -> None:
    """Write a figure in the format of the suffix."""
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


def table(rows: np.ndarray | list[list[Any]], head: Sequence[str]) -> str:
    """CSV text: a header, unless that is empty, and the rows."""
    lists = rows.tolist() if isinstance(rows, np.ndarray) else rows
    lines = [",".join(_cell(v) if isinstance(v, str) else repr(v) for v in row) for row in lists]
    return "\n".join([",".join(map(_cell, head)), *lines] if head else lines) + "\n"


def save_table(path: Path, rows: np.ndarray, head: Sequence[str]) -> None:
    """Write rows as CSV, or as an array where the suffix is .npy."""
    with replacing(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file, rows, allow_pickle=False)
        else:
            file.write(table(rows, head).encode())


def _csv(file: IO[bytes], fitted: Fitted, names: tuple[str, ...]) -> None:
    """The main array, a row per component; coefficients with names of features, a trend with its positions."""
    if "trend_" in fitted:
        rows = np.stack([fitted["positions_"], fitted["trend_"]], axis=1)
        text = table(rows, ["position", "trend"])
    else:
        main = np.asarray(fitted[next(name for name in MAIN if name in fitted)], dtype=float)
        if main.ndim == 1:
            labels = names if len(names) == len(main) else [str(k) for k in range(len(main))]
            terms = [[name, value] for name, value in zip(labels, main.tolist(), strict=True)]
            if "intercept_" in fitted:
                terms.append(["(intercept)", float(fitted["intercept_"])])
            text = table(terms, ["feature", "coefficient"])
        else:
            text = table(main, names if len(names) == main.shape[1] else ())
    file.write(text.encode())


def _cell(name: str) -> str:
    """Quoted where a comma, a quote or a line break asks for it."""
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n') else name
