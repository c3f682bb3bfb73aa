"""What the residual of the equation costs where a block takes it: a user's variables are x, and never u = Mx - y.

A penalty 100·|u| holds at u = 0 with a multiplier that is far below 100. A residual r is worth |z|ᵀ|r| at (x, u), but
the objective that was written, with Mx - y in the place of u, is higher by 100·|r|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._arrays import Array, is_array, namespace
from ..functions import Nonsmooth
from ..functions.separable import OnPieces
from ..operators import Identity
from ..problem import Problem
from .entries import has_price


def taker(problem: Problem) -> int | None:
    """The last block with A = c·I that costs something, as all terms of a model's expressions do; None without one."""
    for i in reversed(range(len(problem.blocks))):
        op = problem.operators[i]
        if isinstance(op, Identity) and op.scale != 0 and has_price(problem.blocks[i]):
            return i
    return None


def toll(problem: Problem, i: int | None, q: Sequence[Array], known: Sequence[Array | None]) -> Any:
    """Σ_k |h_k(u') - h_k(u)| over the parts of block i, where the equation holds with u' in the place of u.

    `known` are the A_i q_i at hand, None where they are not.
    """
    if i is None:
        return 0.0
    restored = problem.restore(q, known, at=i)
    assert restored is not None
    h, u, moved = problem.blocks[i].h, q[i], restored[i]
    if isinstance(h, OnPieces):
        return sum(dearer for _, dearer in h.on_pieces(_dearer, u, moved, 1.0))
    return _dearer(h, u, moved, 1.0)


def _dearer(h: Nonsmooth, u: Array, moved: Array, _: Any) -> Any:
    """|h(u') - h(u)|, 0 where h jumps, or is infinite at u'."""
    if h.is_set or not (h.is_convex or math.isfinite(h.lipschitz(tuple(u.shape)))):
        return 0.0
    change = abs(h(moved) - h(u))
    if not is_array(change):
        return change if math.isfinite(change) else 0.0
    xp = namespace(change)
    return xp.where(xp.isfinite(change), change, xp.zeros_like(change))
