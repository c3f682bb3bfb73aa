"""Pure functions of JAX arrays, compiled.

Arrays that a function holds (data, matrices) are handed to the compiled code as arguments: written into it as
constants, as `jax.jit` does, they would be copied, and large ones take long to compile. Numbers travel together: an
array for each of them would take longer than many a step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from . import is_jax, is_traced

Program = Callable[[list[Any]], Any]
_programs: WeakKeyDictionary[Any, dict[Any, Program | None]] = WeakKeyDictionary()


def programs_of(owner: Any) -> dict[Any, Program | None]:
    """What was compiled for `owner`, kept as long as it lives: later solves of the same problem need not compile."""
    return _programs.setdefault(owner, {})


def pure(function: Callable[..., Any], owner: Any, *arguments: Any, like: Any) -> Any:
    """function(owner, *arguments), compiled once per owner and shapes of the arguments where `like` is a JAX array.

    Floats among the arguments are taken in the dtype of `like`. Numbers that come out of compiled code are Python's.
    """
    if not is_jax(like) or is_traced(like):  # or a part of what is being compiled
        return function(owner, *arguments)
    jax = importlib.import_module("jax")
    leaves, tree = jax.tree.flatten(arguments)
    programs = programs_of(owner)
    key = (function, tree, like.dtype, tuple([np.shape(leaf) for leaf in leaves]))
    if key not in programs:

        def flat(*leaves: Any) -> Any:
            return function(owner, *jax.tree.unflatten(tree, leaves))

        programs[key] = compiled(flat, leaves, like.dtype)
    program = programs[key]
    return function(owner, *arguments) if program is None else program(leaves)


def in_dtype(leaf: Any, dtype: Any) -> Any:
    """A float in the given precision; anything else as it is."""
    return np.asarray(leaf, dtype=dtype) if isinstance(leaf, float) else leaf


def compiled(function: Callable[..., Any], leaves: list[Any], dtype: Any = None) -> Program | None:
    """`leaves` ↦ function(*leaves) as compiled code, floats in `dtype`; None where the function cannot be traced."""
    jax = importlib.import_module("jax")
    outcome: list[Any] = []

    def packed(*parts: Any) -> list[Any]:
        found, tree = jax.tree.flatten(function(*given.unpacked(parts)))
        found = [jax.numpy.asarray(leaf) for leaf in found]
        outcome[:] = Parcel(found, dtype), tree
        return outcome[0].packed(found, jax.numpy.stack)

    try:
        given = Parcel(leaves, dtype)
        closed = jax.make_jaxpr(packed)(*given.packed(leaves, np.asarray))
    except Exception:  # no matter what: run as it is, the function reports its own faults
        return None
    taken, tree = outcome
    run = jax.jit(lambda constants, parts: jax.core.eval_jaxpr(closed.jaxpr, constants, *parts))

    def program(leaves: list[Any]) -> Any:
        parts = run(closed.consts, given.packed(leaves, np.asarray))
        return jax.tree.unflatten(tree, taken.unpacked(taken.fetched(parts)))

    return program


class Parcel:
    """A list of arrays and numbers, with the numbers of each kind packed into one array."""

    def __init__(self, leaves: list[Any], dtype: Any):
        self.arrays: list[int] = []
        self.numbers: dict[Any, list[int]] = {}
        for i, leaf in enumerate(leaves):
            if np.shape(leaf):
                self.arrays.append(i)
            else:
                kind = dtype if type(leaf) is float else np.dtype(int) if type(leaf) is int else leaf.dtype
                self.numbers.setdefault(kind, []).append(i)

    def packed(self, leaves: list[Any], join: Callable[..., Any]) -> list[Any]:
        """The arrays, and an array of numbers for each kind."""
        joined = [join([leaves[i] for i in places], dtype=kind) for kind, places in self.numbers.items()]
        return [*[leaves[i] for i in self.arrays], *joined]

    def fetched(self, parts: list[Any]) -> list[Any]:
        """The same with the numbers as Python's."""
        n = len(self.arrays)
        return [*parts[:n], *[np.asarray(part).tolist() for part in parts[n:]]]

    def unpacked(self, parts: Sequence[Any]) -> list[Any]:
        """The list."""
        n = len(self.arrays)
        found = dict(zip(self.arrays, parts[:n], strict=True))
        for places, part in zip(self.numbers.values(), parts[n:], strict=True):
            found |= zip(places, part, strict=True)
        return [found[i] for i in range(len(found))]
