"""Starting points: the caller's, checked, or one made for the problem."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    adopted,
    all_finite,
    asarray,
    is_array,
    on_device,
    require_real,
    zeros,
)
from ..distributed import Rows
from ..operators import Identity, Matrix, Operator
from ..problem import Block, Problem
from .inventing import block_prototype, invented, prototype, prox_of


class Start:
    """The starting point (x0, z0) of a solve: let go once a method has taken it, made anew where a further one asks."""

    def __init__(self, problem: Problem, x0: Sequence[Any] | None, z0: Any, seed: int | None):
        self._given = problem, x0, z0, seed
        self._made: tuple[tuple[Array, ...], Array] | None = starting_point(*self._given)

    def take(self) -> tuple[tuple[Array, ...], Array]:
        """(x0, z0)."""
        made, self._made = self._made or starting_point(*self._given), None
        return made

    def moved(self, x: Sequence[Any], z: Any) -> Start:
        """The start at a point that another method has reached."""
        problem, _, _, seed = self._given
        return Start(problem, x, z, seed)

    @property
    def gives_multiplier(self) -> bool:
        """Whether the caller gave z0."""
        return self._given[2] is not None


def starting_point(
    problem: Problem, x0: Sequence[Any] | None, z0: Any, seed: int | None
) -> tuple[tuple[Array, ...], Array]:
    """(x0, z0) as arrays of one library and floating dtype, finite, of the right shapes, fit for f, h and A."""
    if x0 is not None:
        _require_blocks(problem, x0)
        x0 = [adopted(xi, f"x0 of block {name!r}") for name, xi in zip(problem.names, x0, strict=True)]
    z0 = adopted(z0, "z0")
    like = prototype(problem, x0, z0)
    x = _invented_inside(problem, like, seed) if x0 is None else _fitting(problem, _given(problem, x0, like))
    if z0 is None:
        z = zeros(problem.shape, like)
    else:
        z = _real("z0", z0, like)
        if tuple(z.shape) != problem.shape:
            raise ValueError(f"z0 has shape {tuple(z.shape)}, but the constraint has shape {problem.shape}")
        if not all_finite(z):
            raise ValueError("z0 contains NaN or infinity")
    return x, z


def _fitting(problem: Problem, x: tuple[Array, ...], made: bool = False) -> tuple[Array, ...]:
    """x itself, after every f and A was tried on it, and every h that may not take it: not of points `made` by it."""
    for name, block, op, xi in zip(problem.names, problem.blocks, problem.operators, x, strict=True):
        if not made and not block.h.takes(block.shape):
            prox_of(name, block, xi)
        _require_gradient(name, block, xi)
        if not is_known_to_be_finite(op) and not all_finite(op.apply(xi)):
            raise ValueError(f"block {name!r}: A x0 is not finite, so A contains NaN or infinity")
    return x


def is_known_to_be_finite(op: Operator) -> bool:
    """Whether A was looked at when it was made: a number, or a matrix of NumPy or SciPy."""
    return isinstance(op, Identity) or (isinstance(op, Matrix) and op.natural_shape() is not None)


def _invented_inside(problem: Problem, like: Array, seed: int | None) -> tuple[Array, ...]:
    """A start near zero; where some f is not finite there (-log x, say), near ones, or near the identity."""
    try:
        return _fitting(problem, invented(problem, like, seed), made=True)
    except ValueError as error:
        for centre in (np.ones, _identity):
            try:
                return _fitting(problem, invented(problem, like, seed, centre), made=True)
            except ValueError:
                continue
        raise error


def _identity(shape: tuple[int, ...]) -> np.ndarray:
    return np.eye(*shape) if len(shape) == 2 else np.full(shape, 1e-3)


def require_room(problem: Problem) -> None:
    """Refuse blocks that do not fit into the memory of this machine even once, before any of it is taken."""
    wanted, there = 8 * sum(math.prod(block.shape) for block in problem.blocks), _memory()
    if wanted <= there:
        return
    like = prototype(problem)
    if not (isinstance(like, Rows) or on_device(like)):
        _, name, shape = max(
            (math.prod(block.shape), name, block.shape)
            for name, block in zip(problem.names, problem.blocks, strict=True)
        )
        raise ValueError(
            f"the blocks take {wanted / 2**30:.3g} GiB, and this machine has {there / 2**30:.3g} GiB of memory; the "
            f"largest is {name!r} of shape {shape}. Dask arrays as A and b keep long blocks on a cluster"
        )


@cache
def _memory() -> float:
    """Bytes of memory of this machine, infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


def _require_gradient(name: str, block: Block, x: Array) -> None:
    """Refuse an f that does not fit its block at x, by the block's name."""
    if block.f is None:
        return
    try:
        value, gradient = block.f.value_and_grad(x)
        value = float(value)
        shape = tuple(gradient.shape)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"block {name!r} of shape {block.shape}: f cannot be evaluated there: {error}"
        ) from error
    if shape != block.shape:
        raise ValueError(
            f"block {name!r}: f.grad returns shape {shape}, but the block has shape {block.shape}"
        )
    if not math.isfinite(value) or not all_finite(gradient):
        where = "" if block.f.domain is None else f": {block.f.domain.text}; pass an x0 inside"
        raise ValueError(f"block {name!r}: f or its gradient is not finite at the starting point{where}")


def _require_blocks(problem: Problem, x0: Any) -> None:
    count = len(problem.blocks)
    if is_array(x0) or isinstance(x0, str) or not isinstance(x0, Sequence):
        raise TypeError(f"x0 must be a list of {count} arrays, one per block, got {type(x0).__name__}")
    if len(x0) != count:
        raise ValueError(
            f"x0 has {len(x0)} entries, but the problem has {count} blocks: {', '.join(problem.names)}"
        )


def _real(what: str, given: Any, like: Array) -> Array:
    """`given` as a real array like `like`; a complex or non-numeric one is refused."""
    require_real(what, given)
    try:
        return asarray(given, like)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what} cannot be read as an array of numbers: {error}") from None


def _given(problem: Problem, x0: Sequence[Any], like: Array) -> tuple[Array, ...]:
    arrays = []
    for i, (name, block, given) in enumerate(zip(problem.names, problem.blocks, x0, strict=True)):
        x = _real(f"x0 of block {name!r}", given, block_prototype(problem, i, like))
        if tuple(x.shape) != block.shape:
            raise ValueError(
                f"x0 of block {name!r} has shape {tuple(x.shape)}, but the block has shape {block.shape}"
            )
        if not all_finite(x):
            raise ValueError(f"x0 of block {name!r} contains NaN or infinity")
        arrays.append(x)
    return tuple(arrays)
