"""From Dask arrays to long arrays and back."""

from __future__ import annotations

import hashlib
import math
import weakref
from typing import Any

import numpy as np

from .cluster import SHARE, Cluster, Local, current, logger
from .layout import Layout
from .lazy import Rows
from .nodes import Node
from .plan import Recipe, force, held, require_dense

ADVICE = "rechunk by rows first, e.g. X.rechunk({0: 'auto', 1: -1})"
_digests: weakref.WeakKeyDictionary[Node, bytes] = weakref.WeakKeyDictionary()


def rows(array: Any, name: str = "X", persist: bool | None = None) -> Rows:
    """A Dask array cut by rows as a long array that stays where it is.

    persist : whether the chunks are kept in the workers' memory, or read anew in every pass; None keeps them where
        they take at most 40% of that memory.

    >>> import dask.array as da
    >>> x = rows(da.ones((6, 2), chunks=(3, 2)))
    >>> x, float(np.sum(x * x))
    (Rows(shape=(6, 2), dtype=float64, 2 chunks in ... groups), 12.0)
    """
    import dask

    require_dense(name, array._meta)
    _require_rows(name, array)
    if not np.issubdtype(array.dtype, np.floating):
        if np.issubdtype(array.dtype, np.complexfloating):
            raise TypeError(f"{name} must be real; stack its real and imaginary parts instead")
        array = array.astype(float)
    layout = _layout(current(), tuple(int(n) for n in array.chunks[0]))
    chunks = array.to_delayed().reshape(-1)
    if persist is None:
        persist = array.nbytes <= SHARE * layout.cluster.memory()
        if not persist:
            logger.info("%s takes %.3g GB: it is read anew in every pass", name, array.nbytes / 1e9)
    like = np.ones((1, *array.shape[1:]), dtype=array.dtype)
    if persist:
        lists = [dask.delayed(list)([chunks[i] for i in group]) for group in layout.groups]
        return Rows(held(layout, layout.cluster.hold(lists), like))
    recipes = [[Recipe(dask.optimize(chunks[i])[0]) for i in group] for group in layout.groups]
    return Rows(held(layout, layout.cluster.here(recipes), like))


def cut_like(array: np.ndarray, like: Rows) -> Rows:
    """An array at hand, its rows sent where those of `like` are."""
    array = np.asarray(array, dtype=like.dtype)
    groups = like.layout.cluster.here(like.layout.cut(array))
    return Rows(held(like.layout, groups, np.ones((1, *array.shape[1:]), dtype=array.dtype)))


def to_dask(x: Rows) -> Any:
    """A long array as a Dask array, its chunks where they are."""
    import dask
    import dask.array as da

    force(x.node)
    layout, ref = x.layout, x.node.value
    pieces = []
    for group, place in zip(layout.groups, ref.held, strict=True):
        kept = place[ref.index] if isinstance(layout.cluster, Local) else dask.delayed(place)[ref.index]
        for c, i in enumerate(group):
            shape = (layout.chunks[i], *x.shape[1:])
            pieces.append(da.from_delayed(dask.delayed(kept[c]), shape, dtype=x.dtype))
    return da.concatenate(pieces)


def content_digest(x: Rows) -> bytes:
    """A fingerprint of a long array, however its chunks are grouped; they are read once, where they are."""
    if x.node not in _digests:
        _digests[x.node] = np.asarray(x.reduce(_digest, _one_after_the_other)).tobytes()
    return _digests[x.node]


def _digest(chunk: np.ndarray) -> np.ndarray:
    mark = hashlib.blake2b(np.ascontiguousarray(chunk).view(np.uint8).data, digest_size=16)
    return np.frombuffer(mark.digest(), dtype=np.uint8)[None]


def _one_after_the_other(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a, b])


def _layout(cluster: Cluster, chunks: tuple[int, ...]) -> Layout:
    """One layout for all arrays that are cut alike, so that their chunks meet."""
    layout = cluster.layouts.get(chunks)
    if layout is None:
        layout = cluster.layouts[chunks] = Layout(chunks, cluster)
    return layout


def _require_rows(name: str, array: Any) -> None:
    if any(math.isnan(n) for axis in array.chunks for n in axis):
        raise ValueError(
            f"{name}: the sizes of its chunks are unknown; find them once, e.g. by X.compute_chunk_sizes() or "
            "df.to_dask_array(lengths=True)"
        )
    for axis, sizes in enumerate(array.chunks[1:], start=1):
        if len(sizes) > 1:
            raise ValueError(
                f"{name}: a Dask array must be cut by rows only, but axis {axis} is cut into {len(sizes)} chunks of "
                f"sizes {sizes[:3]}…; {ADVICE}"
            )
    if not array.ndim or 0 in array.shape:
        raise ValueError(f"{name}: a Dask array needs rows and columns, got shape {tuple(array.shape)}")
    if 0 in array.chunks[0]:
        raise ValueError(f"{name}: some chunks have no rows; {ADVICE}")
