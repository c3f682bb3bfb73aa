"""What makes two problems the same: a digest of everything that goes into a solve, stable from process to process.

Arrays count by dtype, shape and content, objects by class and attributes, plain functions by name, bytecode, defaults
and captured variables. What an object computes once and keeps (`cached_property`) does not count; one that changes
while it is used leaves that out of its `__getstate__`. Module-level variables that a function reads are not seen.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import array_api_compat
import numpy as np
import scipy

from .._arrays import is_array, to_numpy
from .._version import __version__
from ..distributed import Rows, content_digest
from ..methods import Method
from ..problem import Problem

Identity = dict[str, list[str]]
"""What goes into a solve by name: [digest, how to call it]."""


def identity(problem: Problem, x0: Any, z0: Any, method: Any, seed: Any, presolve: bool) -> Identity:
    """Everything that decides the iterates; limits, tolerance, callback and interval of checks do not."""
    parts: dict[str, Any] = {"version of ipds": __version__, "method": method}
    for name, block, op in zip(problem.names, problem.blocks, problem.operators, strict=True):
        held = {"shape": block.shape, "f": block.f, "h": block.h, "A": op}
        parts |= {f"{part} of block {name!r}": value for part, value in held.items()}
    parts |= {"b": problem.b, "x0": x0, "z0": z0, "seed": seed, "presolve": presolve}
    return {name: [digest(part), _called(part)] for name, part in parts.items()}


def differences(saved: Identity, now: Identity) -> list[str]:
    """Where two identities differ, in words."""
    nothing = ["", "nothing"]
    pairs = {name: (saved.get(name, nothing), now.get(name, nothing)) for name in {**saved, **now}}
    return [
        f"{name}: " + (f"{before} in the file, {called} now" if before != called else "its data")
        for name, ((was, before), (mark, called)) in pairs.items()
        if was != mark
    ]


def digest(value: Any, above: tuple[int, ...] = ()) -> str:
    """A fingerprint of a value, the same in every process.

    `above` are the objects we are inside of: they may refer to each other in circles.

    >>> digest([1.0, "a"]) == digest([1.0, "a"]), digest([1.0]) == digest([1])
    (True, False)
    """
    mark = hashlib.blake2b(digest_size=16)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | slice | range):
        mark.update(f"{type(value).__name__} {value!r}".encode())
    elif isinstance(value, memoryview):
        mark.update(value)
    elif id(value) in above:
        mark.update(f"circle {above.index(id(value))}".encode())
    else:
        for part in _parts(value):
            mark.update(digest(part, (*above, id(value))).encode())
    return mark.hexdigest()


INSIDE: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__name__", "__self__"),
    types.FunctionType: ("__qualname__", "__code__", "__defaults__", "__kwdefaults__", "__closure__"),
    types.CodeType: ("co_code", "co_consts", "co_names"),
    types.CellType: ("cell_contents",),
    functools.partial: ("func", "args", "keywords"),
}
"""What counts of a callable."""
NAMED = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype, Enum, PurePath)


def _parts(value: Any) -> Iterator[Any]:
    """What a value consists of: simpler values, and raw bytes of arrays."""
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}"
    if array_api_compat.is_dask_array(value):  # named by its content or its source; never pulled here
        yield from (value.name, tuple(value.shape), str(value.dtype))
    elif isinstance(value, Rows):  # its chunks are read where they are
        yield from (content_digest(value), value.layout.chunks, str(value.dtype))
    elif is_array(value) or isinstance(value, np.generic):
        plain = np.ascontiguousarray(to_numpy(value))
        yield from (plain.dtype.str, tuple(value.shape))
        yield plain.tolist() if plain.dtype.hasobject else plain.reshape(-1).view(np.uint8).data
    elif scipy.sparse.issparse(value):
        rows = scipy.sparse.csr_array(value, copy=True)
        rows.sum_duplicates()
        yield from (value.shape, rows.data, rows.indices, rows.indptr)
    elif isinstance(value, tuple | list | Mapping):
        yield from value.items() if isinstance(value, Mapping) else value
    elif isinstance(value, set | frozenset):
        yield from sorted(map(digest, value))
    elif isinstance(value, NAMED):
        yield getattr(value, "__qualname__", None) or str(value)
    elif kind in INSIDE:
        for name in INSIDE[kind]:
            with contextlib.suppress(ValueError):  # a variable that is not bound yet
                yield getattr(value, name)
    elif isinstance(state := value.__getstate__(), dict):  # less what the object has computed once and kept
        kept = {name for name in state if isinstance(getattr(kind, name, None), functools.cached_property)}
        yield sorted((name, state[name]) for name in state.keys() - kept)
    else:
        yield state


def _called(part: Any) -> str:
    """How a message calls a part: numbers and names in full, other things by their kind and shape."""
    if is_array(part):
        return f"array of shape {tuple(part.shape)}"
    if isinstance(part, list | tuple):
        return f"({', '.join(map(_called, part))})"
    text = part.name if isinstance(part, Method) else repr(part)
    if " at 0x" in text:  # an address says nothing
        text = type(part).__qualname__
    return text if len(text) <= 80 else text[:77] + "..."
