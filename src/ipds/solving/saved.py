"""The file of a checkpoint: a manifest in JSON and named arrays as raw bytes. Nothing in it is ever run.

Two lines of text (format, sizes), the manifest, the arrays one after the other, and a checksum of all that. A tree of
tuples and NamedTuples is saved by the names of its leaves ("x/0", "reference/value"): arrays as arrays, numbers in the
manifest. What is read is compared with a fresh tree (`restored`): the same names, shapes, dtypes and kinds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from .._arrays import asarray, is_array, to_numpy

MAGIC, FORMAT = b"ipds-checkpoint", 2
MANIFEST_LIMIT = 2**24
"""Bytes of the manifest at most."""
CHECKSUM = 32


def leaves(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(name, leaf) of every array and number in tuples of tuples; None is no leaf.

    >>> dict(leaves(((1.0, 2), None), "pair"))
    {'pair/0/0': 1.0, 'pair/0/1': 2}
    """
    if isinstance(tree, tuple):
        fields = getattr(tree, "_fields", range(len(tree)))
        for field, part in zip(fields, tree, strict=True):
            yield from leaves(part, f"{name}/{field}")
    elif tree is not None:
        yield name, tree


def parted(tree: Any, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the numbers of a tree, by name."""
    arrays, numbers = {}, {}
    for place, leaf in leaves(tree, name):
        if is_array(leaf):
            arrays[place] = to_numpy(leaf)
        elif isinstance(leaf, bool | int | float):
            numbers[place] = leaf
        else:
            raise TypeError(f"{place} is a {type(leaf).__qualname__}, neither an array nor a number")
    return arrays, numbers


def restored(fresh: Any, name: str, file: SavedFile, numbers: Mapping[str, Any]) -> Any:
    """A tree like `fresh` with the leaves of a file; ValueError where one is missing or of another kind."""
    if isinstance(fresh, tuple):
        fields = getattr(fresh, "_fields", range(len(fresh)))
        parts = [restored(part, f"{name}/{f}", file, numbers) for f, part in zip(fields, fresh, strict=True)]
        return type(fresh)(*parts) if hasattr(fresh, "_fields") else tuple(parts)
    if fresh is None:
        return None
    return file.array(name, fresh) if is_array(fresh) else number(type(fresh), numbers[name], name)


def number(kind: type, value: Any, name: str, limit: int = 2**63) -> Any:
    """`value` as the bool, int (of at most this size) or float it has to be."""
    kind = next(plain for plain in (bool, int, float) if issubclass(kind, plain))
    if type(value) is not kind or (kind is int and abs(value) >= limit):
        raise ValueError(f"{name} is not a {kind.__name__}")
    return value


def write(out: BinaryIO, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """The file."""
    # axes from slow to fast: BLAS rounds differently for other layouts, and a resumed run must not
    orders = {
        name: np.argsort([-abs(n) for n in a.strides], kind="stable").tolist() for name, a in arrays.items()
    }
    table = {name: [a.dtype.str, list(a.shape), orders[name]] for name, a in arrays.items()}
    text = json.dumps({**manifest, "arrays": table}, separators=(",", ":")).encode()
    size = sum(a.nbytes for a in arrays.values())
    pieces: list[Any] = [b"%s %d\n%d %d\n" % (MAGIC, FORMAT, len(text), size), text]
    for name, a in arrays.items():
        pieces.append(np.ascontiguousarray(a.transpose(orders[name])).reshape(-1).view(np.uint8).data)
    mark = hashlib.blake2b(digest_size=CHECKSUM)
    for piece in pieces:
        mark.update(piece)
        out.write(piece)
    out.write(mark.digest())


class SavedFile:
    """A file whose checksum is right; ValueError where it is damaged or foreign. Arrays are read when asked for."""

    def __init__(self, path: str | os.PathLike[str]):
        with open(path, "rb") as source:
            text, place, size = _checked_text(source)
        try:
            self.path, self.manifest = path, json.loads(text)
            self.table = _table(self.manifest.pop("arrays"), place, size)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ValueError(f"damaged: {error}") from None

    def array(self, name: str, like: Any) -> Any:
        """The array of that name, which must have the dtype and shape of `like`; once."""
        dtype, shape, order, place = self.table.pop(name)
        same = str(like.dtype).removeprefix("torch.") in (dtype.name, dtype.str) and shape == tuple(
            like.shape
        )
        if not same:
            raise ValueError(f"{name} is not what this method makes of this problem")
        flat = np.empty(math.prod(shape), dtype)
        with open(self.path, "rb") as source:
            source.seek(place)
            source.readinto(flat.view(np.uint8).data)
        return asarray(flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order)), like)


def _checked_text(source: BinaryIO) -> tuple[bytes, int, int]:
    """The manifest as text, where the arrays begin, and their size, once the checksum of all that was found right."""
    first, second = source.readline(80), source.readline(80)
    if not first.startswith(MAGIC + b" "):
        raise ValueError("this is no checkpoint of ipds")
    if first != b"%s %d\n" % (MAGIC, FORMAT):
        raise ValueError(f"its format is not {FORMAT}, the one this version of ipds knows")
    try:
        text_size, data_size = map(int, second.split())
    except ValueError:
        raise ValueError("damaged: it does not state its size") from None
    begin = source.tell()
    stated = begin + text_size + data_size + CHECKSUM
    if not 0 <= text_size <= MANIFEST_LIMIT or os.fstat(source.fileno()).st_size != stated:
        raise ValueError("damaged: its length is not the one it states")
    mark, left = hashlib.blake2b(first + second, digest_size=CHECKSUM), text_size + data_size
    while left:
        piece = source.read(min(left, 2**20))
        mark.update(piece)
        left -= len(piece)
    if source.read() != mark.digest():
        raise ValueError("damaged: its checksum does not match")
    source.seek(begin)
    return source.read(text_size), begin + text_size, data_size


def _table(
    entries: dict[str, Any], place: int, size: int
) -> dict[str, tuple[np.dtype, tuple[int, ...], Any, int]]:
    """(dtype, shape, order of the axes, place in the file) of every array, by name."""
    table = {}
    for name, (dtype, shape, order) in entries.items():
        dtype, shape = np.dtype(dtype), tuple(shape)
        if dtype.kind not in "fiub" or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("an array of a kind that no solve keeps")
        if sorted(order) != list(range(len(shape))):
            raise ValueError("an array whose axes are out of order")
        table[name] = (dtype, shape, order, place)
        nbytes = dtype.itemsize * math.prod(shape)
        place, size = place + nbytes, size - nbytes
    if size != 0:
        raise ValueError("the sizes of its arrays do not add up")
    return table
