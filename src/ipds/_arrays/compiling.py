"""Pure functions of JAX arrays, compiled.

Arrays that a function holds (data, matrices) are handed to the compiled code as arguments: written into it as
constants, as `jax.jit` does, they would be copied, and large ones take long to compile.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .namespaces import is_jax, is_traced

Program = Callable[[list[Any]], Any]
_programs: WeakKeyDictionary[Any, dict[Any, Program | None]] = WeakKeyDictionary()


def programs_of(owner: Any) -> dict[Any, Program | None]:
    """What was compiled for `owner`, kept as long as it lives: later solves of the same problem need not compile."""
    return _programs.setdefault(owner, {})


def pure(function: Callable[..., Any], owner: Any, *arguments: Any, like: Any) -> Any:
    """function(owner, *arguments), compiled once per owner and arguments where `like` is a JAX array.

    Arrays and numbers among the arguments may change from call to call, floats in the dtype of `like`; whatever else
    they hold (bool, str, objects) is fixed in what is compiled. Numbers that come out of compiled code are Python's.
    A function that cannot be traced runs as it is.
    """
    if not is_jax(like) or is_traced(like):  # or a part of what is being compiled
        return function(owner, *arguments)
    jax = importlib.import_module("jax")
    leaves, tree = jax.tree.flatten(arguments)
    moving = [i for i, leaf in enumerate(leaves) if is_moving(leaf)]
    given = [leaves[i] for i in moving]
    shapes = tuple([np.shape(leaf) for leaf in given])
    # the owner among them would never be let go of
    fixed = tuple([None if leaf is owner or i in moving else leaf for i, leaf in enumerate(leaves)])
    if not all(isinstance(leaf, Hashable) for leaf in fixed):
        return function(owner, *arguments)
    programs, key = programs_of(owner), (function, tree, like.dtype, shapes, fixed)
    if key not in programs:

        def flat(*given: Any) -> Any:
            traced = dict(zip(moving, given, strict=True))
            return function(
                owner, *jax.tree.unflatten(tree, [traced.get(i, leaf) for i, leaf in enumerate(leaves)])
            )

        programs[key] = compiled(flat, given, like.dtype)
    program = programs[key]
    return function(owner, *arguments) if program is None else program(given)


def is_moving(leaf: Any) -> bool:
    """Whether a leaf may change while a compiled program is in use: an array, an int or a float, but no bool."""
    number = isinstance(leaf, float | int) and not isinstance(leaf, bool)
    return number or is_jax(leaf) or isinstance(leaf, np.ndarray)


def in_dtype(leaf: Any, dtype: Any) -> Any:
    """A float in the given precision; anything else as it is."""
    return np.asarray(leaf, dtype=dtype) if isinstance(leaf, float) else leaf


def compiled(function: Callable[..., Any], leaves: list[Any], dtype: Any) -> Program | None:
    """`leaves` ↦ function(*leaves) as compiled code, floats in `dtype`; None where the function cannot be traced."""
    jax = importlib.import_module("jax")
    try:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*[in_dtype(x, dtype) for x in leaves])
    except Exception:  # no matter what: run as it is, the function reports its own faults
        return None
    tree = jax.tree.structure(shapes)
    run = jax.jit(lambda constants, given: jax.core.eval_jaxpr(closed.jaxpr, constants, *given))

    def program(leaves: list[Any]) -> Any:
        found = run(closed.consts, [in_dtype(leaf, dtype) for leaf in leaves])
        places = [i for i, leaf in enumerate(found) if leaf.ndim == 0]
        for i, value in zip(places, jax.device_get([found[i] for i in places]), strict=True):
            found[i] = value.item()
        return jax.tree.unflatten(tree, found)

    return program


def repeated(step: Callable[[Any], Any], carry: Any, count: Any) -> Any:
    """`carry` after `count` applications of carry ↦ step(carry), as a loop that JAX compiles."""
    jax = importlib.import_module("jax")

    def body(_: Any, leaves: Any) -> Any:
        new, shape = jax.tree.flatten(step(jax.tree.unflatten(tree, leaves)))
        if shape != tree:
            raise TypeError("the step changes the structure of what it carries")
        return [jax.numpy.asarray(leaf, dtype=old.dtype) for leaf, old in zip(new, leaves, strict=True)]

    leaves, tree = jax.tree.flatten(carry)
    start = [jax.numpy.asarray(leaf) for leaf in leaves]
    return jax.tree.unflatten(tree, jax.lax.fori_loop(0, count, body, start))


def register_record(kind: type, fixed: Sequence[str]) -> None:
    """Make a dataclass known to JAX; its fields named in `fixed` are part of the structure, the others move."""
    moving = [name for name in kind.__dataclass_fields__ if name not in fixed]  # type: ignore[attr-defined]
    tree_util = importlib.import_module("jax").tree_util
    tree_util.register_dataclass(kind, data_fields=moving, meta_fields=list(fixed))
