"""Starting points made for a problem: every block in its domain, at a place that a method can leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    Shape,
    all_finite,
    asarray,
    held_arrays,
    is_array,
    namespace,
    norm,
    on_device,
    zeros,
)
from ..distributed import Rows
from ..operators import Matrix
from ..problem import Block, Problem
from ..theory.centres import centre as mean_of_data

POWER_STEPS = 10
"""Products with the second derivative at zero that turn a start downhill."""
DOUBLINGS = 40
"""Doublings or halvings of its length at most."""
LENGTHS = 1e-3, 1.0, 1e3, 1e-6
"""How far from zero an f is looked at: entries may be in any unit."""
NEAR = 1e-12
"""A step so short that a prox only leads to where h is finite."""


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
        if block.f is None or (block.h.is_convex and block.f.is_convex):
            return False  # where it is flat, a convex f is least
        return _flat(block, zero) and (not block.h.is_convex or _goes_down(block, zero))

    return drawn(problem, like, _Gaussian(seed), at_random, centre, downhill)


class _Gaussian:
    """Random arrays of a seed: not the numbers that data are drawn from."""

    def __init__(self, seed: int | None):
        self._seed = seed

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(None if self._seed is None else [2, self._seed])

    def __call__(self, shape: Shape) -> np.ndarray:
        return self._rng.standard_normal(shape)


def drawn(
    problem: Problem,
    like: Array,
    gaussian: Callable[[Shape], np.ndarray],
    at_random: Callable[[Block, Array], bool],
    centre: Callable[..., np.ndarray] = np.zeros,
    turned: Callable[[Block, Array], Array] | None = None,
) -> tuple[Array, ...]:
    """Every block at the prox of its centre, or of a Gaussian, `turned`, where `at_random`; one is solved for.

    A centre is 0, or the mean of data far from there (`theory.centres`). Where the one solved for is at random, the
    others are what it is made of, and are drawn in its place.
    """
    x, solved = [], None if problem.unconstrained else problem.restorable
    made = solved is not None and at_random(problem.blocks[solved], zeros(problem.blocks[solved].shape, like))
    for i, (name, block) in enumerate(zip(problem.names, problem.blocks, strict=True)):
        own, step = block_prototype(problem, i, like), 1.0
        v = zeros(block.shape, own)
        if centre is not np.zeros:
            v = asarray(centre(block.shape), own)
        elif (mean := mean_of_data(block, v)) is not None:
            v = mean + v
        elif (made and block.f is None) or at_random(block, v):
            v = asarray(gaussian(block.shape) / math.sqrt(max(1, math.prod(block.shape))), own)
            v = v if turned is None else turned(block, v)
            bent = block.f is not None and not block.f.is_convex
            step = NEAR if bent and not block.h.is_set else 1.0  # a penalty may lead back to zero
        if block.f is not None and block.f.domain is not None:
            v = block.f.domain.inside(v)
        x.append(prox_of(name, block, v, step))
    restored = problem.restore(x)
    return tuple(x) if restored is None or _outside(problem, restored) else restored


def may_have_minima(block: Block, zero: Array) -> bool:
    """Whether points of a block are drawn where other minima are looked for."""
    return not block.h.is_convex or block.f is not None


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
    """Whether f is lower around zero although its gradient vanishes there: a start at zero would never leave."""
    assert block.f is not None
    probe, here = np.random.default_rng(0).standard_normal(block.shape), float(block.f(zero))
    with np.errstate(all="ignore"):
        return any(float(block.f(asarray(length * probe, zero))) < here for length in LENGTHS)


def prox_of(name: str, block: Block, v: Array, step: float = 1.0) -> Array:
    """prox_h(v, step), with an error that names the block where h does not fit it."""
    try:
        x = block.h.prox(v, step)
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
