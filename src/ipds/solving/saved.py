"""The file of a checkpoint: a manifest in JSON, and named arrays as raw bytes. Nothing in it is ever run.

A tree of records (NamedTuples, dataclasses, tuples) is saved by the names of its leaves, such as "carry/x/0"; a number
is an array without axes. It is read into a tree of the same build, so names, shapes and dtypes are known first.
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

MAGIC, FORMAT = b"ipds-checkpoint", 3
MANIFEST_LIMIT = 2**24
"""Bytes of the manifest at most."""


def mapped(leaf: Callable[[str, Any], Any], tree: Any, name: str) -> Any:
    """A tree of the same build with leaf(name, value) for every array and number; None is no leaf.

    >>> mapped(lambda name, value: name, ((1.0, 2), None), "pair")
    (('pair/0/0', 'pair/0/1'), None)
    """
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        parts = [mapped(leaf, part, f"{name}/{field}") for field, part in zip(names, tree, strict=True)]
        return tuple(parts) if type(tree) is tuple else type(tree)(*parts)
    if is_dataclass(tree) and not isinstance(tree, type):
        held = {field.name: getattr(tree, field.name) for field in fields(tree)}
        return type(tree)(**{field: mapped(leaf, part, f"{name}/{field}") for field, part in held.items()})
    return None if tree is None else leaf(name, tree)


def leaves(tree: Any, name: str) -> dict[str, np.ndarray]:
    """The arrays and numbers of a tree by name; TypeError where a leaf is neither."""
    found: dict[str, np.ndarray] = {}

    def keep(place: str, leaf: Any) -> Any:
        found[place] = to_numpy(leaf) if is_array(leaf) else np.asarray(leaf)
        if found[place].dtype.kind not in "biufc":
            raise TypeError(f"{place} is a {type(leaf).__qualname__}, neither an array nor a number")
        return leaf

    mapped(keep, tree, name)
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
    text = json.dumps({**manifest, "arrays": table}, separators=(",", ":")).encode() + b"\n"
    mark = hashlib.blake2b(text)
    for piece in pieces:
        mark.update(piece)
    out.write(b"%s %d %s\n" % (MAGIC, FORMAT, mark.hexdigest().encode()) + text)
    out.writelines(pieces)


class SavedFile:
    """What of a file was not asked for yet; ValueError where its checksum is wrong, or it is none of ours."""

    def __init__(self, path: str | os.PathLike[str]):
        with open(path, "rb") as source:
            magic, _, stated = source.readline(200).strip().partition(b" ")
            if magic != MAGIC:
                raise ValueError("this is no checkpoint of ipds")
            if not stated.startswith(b"%d " % FORMAT):
                raise ValueError(f"its format is not {FORMAT}, the one this version of ipds knows")
            begin = source.tell()
            if hashlib.file_digest(source, "blake2b").hexdigest().encode() != stated.partition(b" ")[2]:
                raise ValueError("damaged: its checksum does not match")
            end = source.tell()
            source.seek(begin)
            text, place = source.readline(MANIFEST_LIMIT), source.tell()
        self.path = path
        self.arrays: dict[str, tuple[np.dtype, tuple[int, ...], list[int], int]] = {}
        """(dtype, shape, axes from slow to fast, place in the file) by name."""
        try:
            self.manifest = json.loads(text)
            for name, (kind, shape, order) in self.manifest.pop("arrays").items():
                dtype = np.dtype(kind)
                self.arrays[name] = dtype, tuple(shape), order, place
                place += dtype.itemsize * math.prod(shape)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ValueError(f"damaged: {error}") from None
        if place != end:
            raise ValueError("damaged: the sizes of its arrays do not add up")

    def leaf(self, name: str, like: Any) -> Any:
        """The array or number of that name, which must have the dtype and shape of `like`; once."""
        dtype, shape, order, place = self.arrays.pop(name)
        wanted = like if is_array(like) else np.asarray(like)
        same = str(wanted.dtype).rpartition(".")[2] in (dtype.name, dtype.str) and shape == tuple(
            wanted.shape
        )
        if not same or sorted(order) != list(range(len(shape))):
            raise ValueError(f"{name} is not what this method makes of this problem")
        flat = np.empty(math.prod(shape), dtype)
        with open(self.path, "rb") as source:
            source.seek(place)
            source.readinto(flat.view(np.uint8).data)
        array = flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
        return asarray(array, like) if is_array(like) else array.item()
