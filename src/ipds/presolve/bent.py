"""Squares in nonsmooth functions are smooth: λ|x| + μx²/2 becomes λ|x|, and μx²/2 a smooth term beside it.

    s ∈ ∂(λ‖·‖₁)(q)   ⟺   s + μq ∈ ∂h(q)

What is left of h is a kink, which interior-point steps can use and first-order ones know the prox of.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Shape, to_numpy
from ..functions import L1, ElasticNet, Nonsmooth, Quadratic, Stacked
from ..operators import Diagonal
from .draft import Draft, Variable, owner_of, total
from .recovery import FromBent


def squares_to_smooth(draft: Draft) -> None:
    """Split every elastic net, where all is convex."""
    if not draft.convex or not draft.is_numpy:
        return
    for i, found in enumerate(draft.blocks):
        owner = owner_of(found)
        if owner is None or not (bend := _bend(owner.h, owner.shape)).any():
            continue
        square = Quadratic(Diagonal(bend))
        if isinstance(owner, Variable):
            owner.smooth.append(square)
        else:
            owner.f = total([square] if owner.f is None else [owner.f, square])
        owner.h = _kinks(owner.h)
        draft.blocks[i] = FromBent(found, bend)
        draft.notes.append(f"the square in h of block {draft.stated.names[i]!r} became a smooth term")


def _bend(h: Nonsmooth, shape: Shape) -> np.ndarray:
    """μ of every entry; 0 where h is no elastic net."""
    if isinstance(h, Stacked):
        return np.concatenate([_bend(part, own).ravel() for part, own in h.parts])
    return np.array(np.broadcast_to(to_numpy(h.l2) if isinstance(h, ElasticNet) else 0.0, shape), float)


def _kinks(h: Nonsmooth) -> Nonsmooth:
    """λ‖x‖₁ in the place of elastic nets."""
    if isinstance(h, Stacked):
        return Stacked([(_kinks(part), own) for part, own in h.parts])
    return L1(h.lam) if isinstance(h, ElasticNet) else h
