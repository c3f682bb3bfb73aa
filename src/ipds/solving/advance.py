"""From one check to the next: one step after another, or a compiled loop of them for JAX.

Steps are pure, so what JAX needs is there already: `method.step` is traced once, and the iterations before the next
check run in one call. A step that looks at numbers (a line search, a local Lipschitz constant) or leaves JAX (SciPy's
sparse products) cannot be traced; it runs as it is. A method may know better, and take strides of its own: accelerated
IPDS compiles the steps from one dual step to the next (`methods/descent.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from .._arrays import is_jax
from .._arrays.compiling import compiled, programs_of, pure
from ..methods.base import Method, State
from ..problem import Problem


class Advance:
    """`advance(state, until)`: the State after iteration `until`, or any earlier one.

    One stride of the method at a time, but where the arrays are JAX's and the step can be traced: then all at once. The
    first step is always taken by itself, as a start does not carry what later States do.
    """

    def __init__(self, problem: Problem, method: Method):
        self._step = partial(method.step, problem)
        self._stride = partial(method.stride, problem)
        self._compilable = type(method).stride is Method.stride
        self._programs = programs_of(problem)
        self._method = (type(method), repr(sorted(vars(method).items())))

    def __call__(self, state: State, until: int) -> State:
        if state.t == 0 or not self._compilable or not is_jax(state.z):
            return self._stride(state, until)
        jax = with_states()
        leaves, tree, moving = parts(state)
        carried = [until - state.t, *[leaves[i] for i in moving]]
        fixed = tuple([leaf for i, leaf in enumerate(leaves) if i not in set(moving)])
        key = (self._method, tree, state.z.dtype, fixed)
        hashable = all(isinstance(leaf, Hashable) for leaf in fixed)
        if hashable and key not in self._programs:
            loop = partial(repeated, self._step, tree, leaves, moving)
            self._programs[key] = compiled(loop, carried, state.z.dtype)
        program = self._programs[key] if hashable else None
        if program is None:
            self._compilable = False
            return self._stride(state, until)
        found = dict(zip(moving, program(carried), strict=True))
        return jax.tree.unflatten(tree, [found.get(i, leaf) for i, leaf in enumerate(leaves)])


def measured(function: Callable[[Problem, State], Any], problem: Problem, state: State) -> Any:
    """function(problem, state), compiled for JAX; `function` sees no memory, and branches on nothing else."""
    if not is_jax(state.z):
        return function(problem, state)
    with_states()
    plain = replace(state, memory=None, settled=True, transient=False)
    return pure(function, problem, plain, like=state.z)


def parts(state: State) -> tuple[list[Any], Any, list[int]]:
    """The leaves of a State, how they are put together, and the places of those that move: arrays and numbers."""
    leaves, tree = with_states().tree.flatten(state)
    moving = [i for i, leaf in enumerate(leaves) if type(leaf) in (float, int) or is_jax(leaf)]
    return leaves, tree, moving


def repeated(
    step: Callable[[State], State], tree: Any, leaves: list[Any], moving: list[int], count: Any, *start: Any
) -> Any:
    """`count` steps, as a function JAX can compile; `start` replaces what moves, and what it became is returned."""
    jax = with_states()
    fixed = set(range(len(leaves))) - set(moving)

    def body(_: Any, carried: Any) -> Any:
        given = dict(zip(moving, carried, strict=True))
        new = step(jax.tree.unflatten(tree, [given.get(i, leaf) for i, leaf in enumerate(leaves)]))
        fresh, shape = jax.tree.flatten(new)
        if shape != tree or any(fresh[i] is not leaves[i] for i in fixed):
            raise TypeError("the step changes more than arrays and numbers")
        return tuple([jax.numpy.asarray(fresh[i], dtype=old.dtype) for i, old in given.items()])

    return jax.lax.fori_loop(0, count, body, tuple([jax.numpy.asarray(leaf) for leaf in start]))


@lru_cache(maxsize=1)
def with_states() -> Any:
    """JAX, with States known to it."""
    jax = importlib.import_module("jax")
    fixed = ["last", "settled", "transient"]
    moving = [name for name in State.__dataclass_fields__ if name not in fixed]
    jax.tree_util.register_dataclass(State, data_fields=moving, meta_fields=fixed)
    return jax
