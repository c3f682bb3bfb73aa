"""Starting points: the caller's, checked, or one made for the problem."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    adopted,
    all_finite,
    asarray,
    held_arrays,
    is_array,
    namespace,
    norm,
    on_device,
    require_real,
    zeros,
)
from ..distributed import Rows
from ..operators import Matrix
from ..problem import Block, Problem

POWER_STEPS = 10
"""Products with the second derivative at zero that turn a start downhill."""
DOUBLINGS = 40
"""Doublings or halvings of its length at most."""


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


def _fitting(problem: Problem, x: tuple[Array, ...]) -> tuple[Array, ...]:
    """x itself, after every f, h and A was tried on it."""
    for name, block, op, xi in zip(problem.names, problem.blocks, problem.operators, x, strict=True):
        _prox(name, block, xi)
        _gradient(name, block, xi)
        if not all_finite(op.apply(xi)):
            raise ValueError(f"block {name!r}: A x0 is not finite, so A contains NaN or infinity")
    return x


def _invented_inside(problem: Problem, like: Array, seed: int | None) -> tuple[Array, ...]:
    """A start near zero; where some f is not finite there (-log x, say), near ones, or near the identity."""
    try:
        return _fitting(problem, invented(problem, like, seed))
    except ValueError as error:
        for centre in (np.ones, _identity):
            try:
                return _fitting(problem, invented(problem, like, seed, centre))
            except ValueError:
                continue
        raise error


def _identity(shape: tuple[int, ...]) -> np.ndarray:
    return np.eye(*shape) if len(shape) == 2 else np.full(shape, 1e-3)


def prototype(problem: Problem, x0: Sequence[Any] | None = None, z0: Any = None) -> Array:
    """An array whose library, dtype and device the solve uses: of x0, else of b or of a dense A, else float64.

    What f holds counts last, and only where it is of PyTorch, JAX or CuPy: no other start would fit it.
    """
    candidates = [*(x0 if x0 is not None else []), z0, problem.b]
    candidates += [op.matrix for op in problem.operators if isinstance(op, Matrix)]
    candidates += [op.rows for op in problem.operators]
    candidates += [x for block in problem.blocks for x in held_arrays(block.f) if on_device(x)]
    for candidate in [c for c in candidates if isinstance(c, Rows)] or candidates:
        if is_array(candidate) and namespace(candidate).isdtype(candidate.dtype, "real floating"):
            return candidate
    return np.zeros(0)


def require_room(problem: Problem) -> None:
    """Refuse blocks that do not fit into the memory of this machine even once, before any of it is taken."""
    like = prototype(problem)
    if isinstance(like, Rows) or on_device(like):
        return
    shapes = [
        (math.prod(block.shape), name, block.shape)
        for name, block in zip(problem.names, problem.blocks, strict=True)
    ]
    wanted, there = 8 * sum(size for size, _, _ in shapes), _memory()
    if wanted > there:
        _, name, shape = max(shapes)
        raise ValueError(
            f"the blocks take {wanted / 2**30:.3g} GiB, and this machine has {there / 2**30:.3g} GiB of memory; the "
            f"largest is {name!r} of shape {shape}. Dask arrays as A and b keep long blocks on a cluster"
        )


def _memory() -> float:
    """Bytes of memory of this machine, infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


def block_prototype(problem: Problem, i: int, like: Array) -> Array:
    """The prototype of block i: NumPy where A_i maps a short block to a distributed constraint."""
    if problem.operators[i].rows is not None:
        return np.zeros(0, dtype=like.dtype)
    shape = problem.blocks[i].shape
    if isinstance(like, Rows) and shape[:1] != like.shape[:1]:
        raise ValueError(
            f"block {problem.names[i]!r} of shape {shape}: the constraint is distributed by rows, so A must be a Dask "
            "array cut like it, e.g. da.from_array(A, chunks=(b.chunks[0], -1))"
        )
    return like


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


def invented(
    problem: Problem, like: Array, seed: int | None, centre: Callable[..., np.ndarray] = np.zeros
) -> tuple[Array, ...]:
    """A feasible start where one is at hand: every block in its domain, the restorable one solved for.

    Blocks start at the prox of zero, or of another `centre`; on a manifold, or where the gradient of f vanishes at
    zero (a saddle of phase retrieval, say), at the prox of a seeded Gaussian of unit norm, turned `downhill`. Where f
    is not finite everywhere, that point is moved into its domain before the prox.
    """

    def at_random(block: Block, zero: Array) -> bool:
        if block.h.is_manifold:
            return True
        return _flat(block, zero) and (not block.h.is_convex or _goes_down(block, zero))

    return drawn(problem, like, np.random.default_rng(seed), at_random, centre, downhill)


def drawn(
    problem: Problem,
    like: Array,
    rng: np.random.Generator,
    at_random: Callable[[Block, Array], bool],
    centre: Callable[..., np.ndarray] = np.zeros,
    turned: Callable[[Block, Array], Array] | None = None,
) -> tuple[Array, ...]:
    """Every block at the prox of its centre, or of a Gaussian, `turned`, where `at_random`; one is solved for."""
    x = []
    for i, (name, block) in enumerate(zip(problem.names, problem.blocks, strict=True)):
        own = block_prototype(problem, i, like)
        v = zeros(block.shape, own)
        if centre is not np.zeros:
            v = asarray(centre(block.shape), own)
        elif at_random(block, v):
            v = asarray(rng.standard_normal(block.shape) / math.sqrt(max(1, math.prod(block.shape))), own)
            v = v if turned is None else turned(block, v)
        if block.f is not None and block.f.domain is not None:
            v = block.f.domain.inside(v)
        x.append(_prox(name, block, v))
    restored = problem.restore(x)
    return tuple(x) if restored is None or _outside(problem, restored) else restored


def downhill(block: Block, v: Array) -> Array:
    """v turned to where f falls fastest from its saddle at zero, and as long as f falls that way; else v itself.

    A few power steps v ← -∇²f(0) v from v: for phase retrieval this is the spectral start, Σ z_i g_i g_iᵀ, from which
    far fewer runs end in poor minima. For vectors of NumPy, where the gradient of f vanishes at zero.
    """
    f, zero = block.f, zeros(block.shape, v)
    if (
        block.h.is_manifold
        or f is None
        or f.is_convex
        or type(v) is not np.ndarray
        or v.ndim != 1
        or not _flat(block, zero)
    ):
        return v
    d = v
    with np.errstate(all="ignore"):
        for _ in range(POWER_STEPS):
            d = -np.asarray(f.curvature(zero, d))
            size = float(np.linalg.norm(d))
            if not (math.isfinite(size) and size > 0):
                return v
            d = d / size
        length, value = 1.0, float(f(d))
        for factor in (2.0, 0.5):
            for _ in range(DOUBLINGS):
                further = float(f(factor * length * d))
                if not further < value:
                    break
                length, value = factor * length, further
            else:
                return v  # falls for ever, or only at zero
    return length * d if value < float(f(zero)) else v


def _outside(problem: Problem, x: Sequence[Array]) -> bool:
    """Whether a block lies outside the domain of its f."""
    domains = [None if block.f is None else block.f.domain for block in problem.blocks]
    return any(own is not None and not own.contains(xi) for own, xi in zip(domains, x, strict=True))


def _flat(block: Block, zero: Array) -> bool:
    """Whether the gradient of f vanishes at zero; zero need not lie where f is defined."""
    if block.f is None:
        return False
    try:
        with np.errstate(all="ignore"):
            return norm(block.f.grad(zero)) == 0
    except (TypeError, ValueError, ArithmeticError):  # said with the block's name once the start is known
        return False


def _goes_down(block: Block, zero: Array) -> bool:
    """Whether f falls from zero although its gradient vanishes there: a start at zero would never leave."""
    assert block.f is not None
    probe = asarray(1e-3 * np.random.default_rng(0).standard_normal(block.shape), zero)
    return float(block.f(probe)) < float(block.f(zero))


def _gradient(name: str, block: Block, x: Array) -> Array | None:
    """∇f(x), with an error that names the block where f does not fit it."""
    if block.f is None:
        return None
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
    return gradient


def _prox(name: str, block: Block, v: Array) -> Array:
    """prox_h(v, 1), with an error that names the block where h does not fit it."""
    try:
        x = block.h.prox(v, 1.0)
        shape = tuple(x.shape)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"block {name!r} of shape {block.shape}: h.prox cannot be evaluated there: {error}"
        ) from error
    if shape != block.shape:
        raise ValueError(
            f"block {name!r}: h.prox returns shape {shape}, but the block has shape {block.shape}"
        )
    if not all_finite(x):
        raise ValueError(f"block {name!r}: h.prox is not finite at the starting point")
    return x
