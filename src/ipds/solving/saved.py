"""The file of a checkpoint: a manifest in JSON, and named arrays as raw bytes. Nothing in it is ever run.

A tree of tuples, dicts and dataclasses is saved by the names of its leaves, such as "carry/x/0"; a number is an array
without axes. It is read into a tree of the same build, so names, shapes and dtypes are known first.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, BinaryIO

import numpy as np

from .._arrays import asarray, is_array, to_numpy
from ..errors import CheckpointError

HEAD = b"ipds-checkpoint 3 "
"""How a file begins; 3 is its format."""
MANIFEST_LIMIT = 2**24
"""Bytes of the manifest at most."""
FOREIGN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that a file not written by this package leads to."""


def mapped(leaf: Callable[[str, Any], Any], tree: Any, name: str) -> Any:
    """A tree of the same build with leaf(name, value) for every array and number; None is no leaf.

    >>> mapped(lambda name, value: name, ((1.0, 2), None), "pair")
    (('pair/0/0', 'pair/0/1'), None)
    """
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        parts = [mapped(leaf, part, f"{name}/{field}") for field, part in zip(names, tree, strict=True)]
        return tuple(parts) if type(tree) is tuple else type(tree)(*parts)
    if isinstance(tree, dict):
        return {key: mapped(leaf, part, f"{name}/{key}") for key, part in tree.items()}
    if is_dataclass(tree) and not isinstance(tree, type):
        held = {field.name: getattr(tree, field.name) for field in fields(tree)}
        return type(tree)(**mapped(leaf, held, name))
    return None if tree is None else leaf(name, tree)


def leaves(tree: Any, name: str) -> dict[str, np.ndarray]:
    """The arrays and numbers of a tree by name; CheckpointError where a leaf is neither."""
    found: dict[str, Any] = {}
    mapped(found.setdefault, tree, name)
    for place, leaf in found.items():
        found[place] = to_numpy(leaf) if is_array(leaf) else np.asarray(leaf)
        if found[place].dtype.kind not in "biufc":
            what = f"{place} is a {type(leaf).__qualname__}, neither an array nor a number"
            raise CheckpointError(f"this method cannot be saved: {what}")
    return found


def write(out: BinaryIO, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """A line of text with the checksum of the rest, the manifest, the arrays one after the other."""
    table: dict[str, Any] = {}
    pieces: list[Any] = []
    for name, a in arrays.items():
        # axes from slow to fast: BLAS rounds differently for other layouts, and a resumed run must not
        order = np.argsort([-abs(n) for n in a.strides], kind="stable").tolist()
        table[name] = [a.dtype.str, a.shape, order]
        pieces.append(np.ascontiguousarray(a.transpose(order)).reshape(-1).view(np.uint8).data)
    pieces.insert(0, json.dumps({**manifest, "arrays": table}, separators=(",", ":")).encode() + b"\n")
    mark = hashlib.blake2b()
    for piece in pieces:
        mark.update(piece)
    out.write(HEAD + mark.hexdigest().encode() + b"\n")
    out.writelines(pieces)


class SavedFile:
    """What of a file was not asked for yet; one of `FOREIGN` where it is damaged, or none of ours."""

    def __init__(self, path: str | os.PathLike[str]):
        self._bytes = np.memmap(path, np.uint8, "r")
        line = self._bytes[:200].tobytes().partition(b"\n")[0]
        rest = self._bytes[len(line) + 1 :]
        if not line.startswith(HEAD):
            raise ValueError(f"it does not begin with {HEAD.decode().strip()!r}")
        if line != HEAD + hashlib.blake2b(rest.data).hexdigest().encode():
            raise ValueError("its checksum does not match")
        text = rest[:MANIFEST_LIMIT].tobytes().partition(b"\n")[0]
        place = len(line) + len(text) + 2
        self.arrays: dict[str, tuple[np.dtype, tuple[int, ...], list[int], slice]] = {}
        """(dtype, shape, axes from slow to fast, place in the file) by name."""
        self.manifest = json.loads(text)
        for name, (kind, shape, order) in self.manifest.pop("arrays").items():
            begin, place = place, place + np.dtype(kind).itemsize * math.prod(shape)
            self.arrays[name] = np.dtype(kind), tuple(shape), order, slice(begin, place)
        if place != len(self._bytes):
            raise ValueError("the sizes of its arrays do not add up")

    def leaf(self, name: str, like: Any) -> Any:
        """The array or number of that name, which must have the dtype and shape of `like`; once."""
        dtype, shape, order, place = self.arrays.pop(name)
        wanted = like if is_array(like) else np.asarray(like)
        same = str(wanted.dtype).rpartition(".")[2] in (dtype.name, dtype.str) and shape == wanted.shape
        if not same or sorted(order) != list(range(len(shape))):
            raise ValueError(f"{name} is not what this method makes of this problem")
        laid = self._bytes[place].view(dtype).reshape([shape[axis] for axis in order])
        array = np.array(laid.transpose(np.argsort(order)))  # a copy, laid out as the map is
        return asarray(array, like) if is_array(like) else array.item()
