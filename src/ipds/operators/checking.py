"""Check that an operator's adjoint is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Shape, norm
from .base import as_shape
from .wrapping import operator_on

_TINY = 1e-300


def check_adjoint(op: Any, shape: Shape | int, seed: int = 0, rtol: float = 1e-10) -> float:
    """Check ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ on random x, y, and that `output_shape` and linearity hold.

    Parameters
    ----------
    op : the operator, or what stands for one in a `Block`: an object with `apply` and `adjoint`, a matrix.
    shape : of x.
    seed : of the three draws, which are NumPy arrays.
    rtol : gap allowed, relative to ‖A x‖‖y‖; AssertionError above it.

    Returns
    -------
    float : the largest relative gap found.

    >>> from ipds.operators import FiniteDifference
    >>> check_adjoint(FiniteDifference(), 10) < 1e-10
    True
    """
    shape = as_shape(shape)
    op = op if hasattr(op, "output_shape") else operator_on(op, shape)
    rng = np.random.default_rng(seed)
    output = tuple(op.output_shape(shape))
    worst = 0.0
    for _ in range(3):
        x, other, y = rng.standard_normal(shape), rng.standard_normal(shape), rng.standard_normal(output)
        Ax, Aty = np.asarray(op.apply(x)), np.asarray(op.adjoint(y))
        if Ax.shape != output:
            raise AssertionError(f"{op!r}: output_shape says {output}, but A x has shape {Ax.shape}")
        if Aty.shape != shape:
            raise AssertionError(f"{op!r}: Aᵀ y has shape {Aty.shape}, not the input's {shape}")
        left, right = float(np.sum(Ax * y)), float(np.sum(x * Aty))
        # relative to the sizes, not to the inner product, which may vanish by chance
        scale = max(norm(Ax) * norm(y), norm(x) * norm(Aty), _TINY)
        worst = max(worst, abs(left - right) / scale)
        if worst > rtol:
            raise AssertionError(f"{op!r}: ⟨A x, y⟩ = {left} but ⟨x, Aᵀ y⟩ = {right}")
        combined = np.asarray(op.apply(2 * x - 3 * other))
        expected = 2 * Ax - 3 * np.asarray(op.apply(other))
        gap = norm(combined - expected) / max(norm(expected), _TINY)
        worst = max(worst, gap)
        if gap > rtol:
            raise AssertionError(f"{op!r}: not linear, A(2x - 3y) differs from 2Ax - 3Ay by {gap:.1e}")
    return worst
