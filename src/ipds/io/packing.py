"""Arrays from process to process: .npy files in a folder, and a list of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SPARSE = ("data", "indices", "indptr")


def pack(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the arrays of `found` into `folder`; what `unpack` needs to give it back.

    Values are arrays, sparse matrices, lists of arrays, or plain data.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     told = pack({"X": np.eye(2), "names": ["a", "b"]}, Path(name))
    ...     back = unpack(told, Path(name))
    >>> back["X"][0].tolist(), back["names"]
    ([1.0, 0.0], ['a', 'b'])
    """
    return {key: _packed(key, value, folder) for key, value in found.items()}


def unpack(told: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What was packed."""
    return {key: _unpacked(key, value, folder) for key, value in told.items()}


def _packed(name: str, value: Any, folder: Path) -> Any:
    if isinstance(value, np.ndarray):
        np.save(folder / f"{name}.npy", value, allow_pickle=False)
        return {"kind": "array"}
    if isinstance(value, list) and value and all(isinstance(one, np.ndarray) for one in value):
        return {"kind": "list", "of": [_packed(f"{name}.{k}", one, folder) for k, one in enumerate(value)]}
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        for part in SPARSE:
            np.save(folder / f"{name}.{part}.npy", getattr(matrix, part), allow_pickle=False)
        return {"kind": "sparse", "shape": list(matrix.shape)}
    return {"kind": "plain", "value": value}


def _unpacked(name: str, told: Any, folder: Path) -> Any:
    if told["kind"] == "array":
        return np.load(folder / f"{name}.npy", allow_pickle=False)
    if told["kind"] == "list":
        return [_unpacked(f"{name}.{k}", one, folder) for k, one in enumerate(told["of"])]
    if told["kind"] == "sparse":
        import scipy.sparse

        parts = [np.load(folder / f"{name}.{part}.npy", allow_pickle=False) for part in SPARSE]
        return scipy.sparse.csr_array(tuple(parts), shape=tuple(told["shape"]))
    return told["value"]
