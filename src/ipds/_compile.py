"""Pure functions of JAX arrays, compiled.

Arrays that a function holds (data, matrices) are handed to the compiled code as arguments: written into it as
constants, as `jax.jit` does, they would be copied, and large ones take long to compile.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ._array import is_jax

Program = Callable[[list[Any]], Any]
_programs: WeakKeyDictionary[Any, dict[Any, Program | None]] = WeakKeyDictionary()


def programs_of(owner: Any) -> dict[Any, Program | None]:
    """What was compiled for `owner`, kept as long as it lives: later solves of the same problem need not compile."""
    return _programs.setdefault(owner, {})


def pure(function: Callable[..., Any], owner: Any, *arguments: Any, like: Any) -> Any:
    """function(owner, *arguments), compiled once per owner and shapes of the arguments where `like` is a JAX array.

    Numbers among the arguments are taken in the dtype of `like`; those that come out are 0-d arrays.
    """
    if not is_jax(like):
        return function(owner, *arguments)
    jax = importlib.import_module("jax")
    leaves, tree = jax.tree.flatten(arguments)
    leaves = [in_dtype(leaf, like.dtype) for leaf in leaves]
    programs = programs_of(owner)
    key = (function, tree, like.dtype, tuple([np.shape(leaf) for leaf in leaves]))
    if key not in programs:
        programs[key] = compiled(lambda *flat: function(owner, *jax.tree.unflatten(tree, flat)), leaves)
    program = programs[key]
    return function(owner, *arguments) if program is None else program(leaves)


def in_dtype(leaf: Any, dtype: Any) -> Any:
    """A float in the given precision; anything else as it is."""
    return np.asarray(leaf, dtype=dtype) if isinstance(leaf, float) else leaf


def compiled(function: Callable[..., Any], leaves: list[Any]) -> Program | None:
    """`leaves` ↦ function(*leaves) as compiled code; None where the function cannot be traced."""
    jax = importlib.import_module("jax")
    try:
        closed, outcome = jax.make_jaxpr(function, return_shape=True)(*leaves)
    except Exception:  # no matter what: run as it is, the function reports its own faults
        return None
    tree = jax.tree.structure(outcome)
    run = jax.jit(lambda constants, flat: jax.core.eval_jaxpr(closed.jaxpr, constants, *flat))
    return lambda flat: jax.tree.unflatten(tree, run(closed.consts, flat))
