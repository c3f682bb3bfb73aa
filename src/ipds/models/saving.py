"""A fitted model in a file, and back, without pickle.

The file is an .npz archive: arrays under their paths, and `manifest`, JSON that says which class, parameters and
attributes they make up. Nothing in it is run: the class is one of `ipds.models`, by its name.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._version import __version__
from ..io.errors import DataError
from ..io.limits import check_size, require_regular
from ..io.replacing import replacing
from ..result import Result
from ..status import Status
from ..theory.certificate import Certificate
from ._base import Estimator

FORMAT = 1
LEFT_OUT = ("state", "parameters", "problem", "proof")
"""What a saved result does without: it serves to go on with a solve, not to use the fit."""
PARTS = ("data", "indices", "indptr")
DAMAGED_VALUES = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)
DAMAGED_FILES = (EOFError, OSError, SyntaxError, TokenError, NotImplementedError, struct.error, zlib.error)
DAMAGE = (*DAMAGED_VALUES, *DAMAGED_FILES, zipfile.BadZipFile)
"""What readers of archives and arrays raise on damaged files."""


def save_model(model: Estimator, path: str | Path) -> None:
    """Write a fitted model to a file; `load_model` gives it back with the same predictions.

    >>> import os, tempfile
    >>> from ipds.models import FusedLasso
    >>> X, y = np.eye(4), np.array([1.0, 1.0, 3.0, 3.0])
    >>> model = FusedLasso(alpha=0.01).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "steps.ipds")
    >>> save_model(model, path)
    >>> bool(np.array_equal(load_model(path).predict(X), model.predict(X)))
    True
    """
    if not hasattr(model, "result_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet; fit it before it is saved")
    arrays: dict[str, np.ndarray] = {}
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in vars(model).items() if name not in (*parameters, "_seen")}
    manifest = {
        "format": FORMAT,
        "ipds": __version__,
        "class": type(model).__name__,
        "parameters": _mapped(parameters, arrays, "parameters"),
        "fitted": _mapped(fitted, arrays, "fitted"),
    }
    entries: dict[str, Any] = {"manifest": np.array(json.dumps(manifest, allow_nan=False)), **arrays}
    with replacing(Path(path)) as file:
        np.savez_compressed(file, **entries)


def load_model(path: str | Path) -> Any:
    """The fitted model in a file of `save_model`; `DataError` where it is damaged, foreign or too large."""
    path = Path(path)
    require_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(sum(entry.file_size for entry in archive.infolist()), 1, str(path))
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        manifest = json.loads(str(arrays["manifest"]))
        if manifest["format"] != FORMAT:
            raise DataError(f"{path}: a model of ipds {manifest['ipds']}; fit and save it again")
        kind = _models(Estimator).get(manifest["class"])
        if kind is None:
            raise DataError(f"{path}: no model of ipds is called {manifest['class']!r}")
        model = kind(**{name: _decoded(value, arrays) for name, value in manifest["parameters"].items()})
        for name, value in manifest["fitted"].items():
            setattr(model, name, _decoded(value, arrays))
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(
            f"{path}: no model saved by ipds (`save_model`, `ipds solve ... --save`), or a damaged one ({error})"
        ) from None
    return model


def _models(base: type) -> dict[str, Any]:
    """The models of this package by name."""
    found = {base.__name__: base} if base.__module__.startswith("ipds.models.") else {}
    heirs: list[type] = base.__subclasses__()
    for heir in heirs:
        found |= _models(heir)
    return found


def _mapped(values: Any, arrays: dict[str, np.ndarray], where: str) -> dict[str, Any]:
    return {str(name): _encoded(value, arrays, f"{where}/{name}") for name, value in values.items()}


def _encoded(value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
    """JSON for a value; arrays are put aside under their path."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"texts": [str(item) for item in value.ravel()], "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        arrays[where] = value
        return {"array": where}
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        arrays |= {f"{where}/{part}": getattr(matrix, part) for part in PARTS}
        return {"sparse": where, "shape": list(matrix.shape)}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_encoded(item, arrays, f"{where}/{k}") for k, item in enumerate(value)]}
    if isinstance(value, Status):
        return {"status": value.name}
    if isinstance(value, Certificate):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"certificate": _mapped(fields, arrays, where)}
    if isinstance(value, Result):
        kept = {name: item for name, item in value.items() if name not in LEFT_OUT}
        return {"result": _mapped(kept | {"presolve": str(value.presolve)}, arrays, where)}
    if isinstance(value, Mapping):
        keys = [_encoded(key, arrays, where) for key in value]
        return {"dict": [keys, [_encoded(item, arrays, f"{where}/{k}") for k, item in value.items()]]}
    raise TypeError(
        f"{where.replace('/', ' ')}: an object of class {type(value).__name__} cannot be saved; "
        "numbers, texts, arrays and lists of them can (a method: by its name)"
    )


def _decoded(told: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, value), *more) = told.items()
    shape = tuple(more[0][1]) if more else ()

    def each(items: Any) -> list[Any]:
        return [_decoded(item, arrays) for item in items]

    if kind == "float":
        return float(value)
    if kind == "texts":
        return np.array(value, dtype=object).reshape(shape)
    if kind == "array":
        return arrays[value]
    if kind == "sparse":
        return sp.csr_array(tuple(arrays[f"{value}/{part}"] for part in PARTS), shape=shape)
    if kind == "list":
        return each(value)
    if kind == "tuple":
        return tuple(each(value))
    if kind == "status":
        return Status[value]
    if kind == "dict":
        return dict(zip(each(value[0]), each(value[1]), strict=True))
    fields = {name: _decoded(item, arrays) for name, item in value.items()}
    if kind == "certificate":
        return Certificate(**fields)
    if kind == "result":
        return Result(**dict.fromkeys(LEFT_OUT), **fields)
    raise ValueError(f"an entry of kind {kind!r}")
