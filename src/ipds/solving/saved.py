"""The file of a checkpoint: a manifest in JSON, and named arrays as raw bytes. Nothing in it is ever run.

A tree of records (NamedTuples, dataclasses, tuples) is saved by the names of its leaves, such as "carry/x/0": arrays as
arrays, numbers in the manifest. It is read into a tree of the same build, so names, shapes and dtypes are known first.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, BinaryIO

import numpy as np

from .._arrays import asarray, is_array, to_numpy

MAGIC, FORMAT = b"ipds-checkpoint", 2
MANIFEST_LIMIT = 2**24
"""Bytes of the manifest at most."""


def parts(tree: Any, name: str) -> list[tuple[str, Any]] | None:
    """(name, part) of a record or tuple; None where `tree` is a leaf."""
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        return [(f"{name}/{field}", part) for field, part in zip(names, tree, strict=True)]
    if is_dataclass(tree):
        return [(f"{name}/{field.name}", getattr(tree, field.name)) for field in fields(tree)]
    return None


def leaves(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(name, leaf) of every array and number; None is no leaf.

    >>> dict(leaves(((1.0, 2), None), "pair"))
    {'pair/0/0': 1.0, 'pair/0/1': 2}
    """
    inside = parts(tree, name)
    if inside is None and tree is not None:
        yield name, tree
    for place, part in inside or ():
        yield from leaves(part, place)


def split(tree: Any, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the numbers (or strings) of a tree, by name."""
    found = dict(leaves(tree, name))
    arrays = {place: to_numpy(leaf) for place, leaf in found.items() if is_array(leaf)}
    numbers = {place: leaf for place, leaf in found.items() if place not in arrays}
    for place, leaf in numbers.items():
        if not isinstance(leaf, bool | int | float | str):
            raise TypeError(f"{place} is a {type(leaf).__qualname__}, neither an array nor a number")
    return arrays, numbers


def filled(fresh: Any, name: str, file: SavedFile) -> Any:
    """A tree of the build of `fresh` with the leaves of a file; ValueError where one is of another kind."""
    inside = parts(fresh, name)
    if inside is not None:
        new = [filled(part, place, file) for place, part in inside]
        return tuple(new) if type(fresh) is tuple else type(fresh)(*new)
    if is_array(fresh):
        return file.array(name, fresh)
    return None if fresh is None else file.number(name, fresh)


def write(out: BinaryIO, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """A line of text with the checksum of the rest, the manifest, the arrays one after the other."""
    # axes from slow to fast: BLAS rounds differently for other layouts, and a resumed run must not
    orders = {
        name: np.argsort([-abs(n) for n in a.strides], kind="stable").tolist() for name, a in arrays.items()
    }
    table = {name: [a.dtype.str, a.shape, orders[name]] for name, a in arrays.items()}
    pieces: list[Any] = [json.dumps({**manifest, "arrays": table}, separators=(",", ":")).encode() + b"\n"]
    pieces += [
        np.ascontiguousarray(a.transpose(orders[n])).reshape(-1).view(np.uint8).data
        for n, a in arrays.items()
    ]
    mark = hashlib.blake2b()
    for piece in pieces:
        mark.update(piece)
    for piece in (b"%s %d %s\n" % (MAGIC, FORMAT, mark.hexdigest().encode()), *pieces):
        out.write(piece)


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
        try:
            self.manifest = json.loads(text)
            self.numbers = self.manifest["numbers"]
            self.arrays: dict[str, tuple[np.dtype, tuple[int, ...], list[int], int]] = {}
            for name, (kind, shape, order) in self.manifest.pop("arrays").items():
                dtype = np.dtype(kind)
                self.arrays[name] = dtype, tuple(shape), order, place
                place += dtype.itemsize * math.prod(shape)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ValueError(f"damaged: {error}") from None
        if place != end:
            raise ValueError("damaged: the sizes of its arrays do not add up")

    def array(self, name: str, like: Any) -> Any:
        """The array of that name, which must have the dtype and shape of `like`; once."""
        dtype, shape, order, place = self.arrays.pop(name)
        same = str(like.dtype).rpartition(".")[2] in (dtype.name, dtype.str) and shape == tuple(like.shape)
        if not same or sorted(order) != list(range(len(shape))):
            raise ValueError(f"{name} is not what this method makes of this problem")
        flat = np.empty(math.prod(shape), dtype)
        with open(self.path, "rb") as source:
            source.seek(place)
            source.readinto(flat.view(np.uint8).data)
        return asarray(flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order)), like)

    def number(self, name: str, like: Any, limit: int = 2**63) -> Any:
        """The number (or string) of that name, which must be of the kind of `like`, integers below `limit`; once."""
        kind = next(kind for kind in (bool, int, float, str) if isinstance(like, kind))
        value = self.numbers.pop(name)
        if type(value) is not kind or (isinstance(value, int) and abs(value) >= limit):
            raise ValueError(f"{name} is no {kind.__name__}")
        return value
