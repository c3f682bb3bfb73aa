"""What a block would gain where its forces are hidden: small beside its others because of their units.

In a block no force counts as less than `VANISHING` of the largest one, as on some entries none acts. Whether those
below matter is not for their sizes to say (two fits in one vector, one in small units), but for what they would gain: a
move of these entries alone, by a Newton step along what is left of their forces, each in units of its own. What it
takes from f + h + ⟨Aᵀz, ·⟩ is a part of the duality gap.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import dot, precision
from .entries import VANISHING, Forces, subgradient


def hidden_gain(forces: Forces, top: float) -> float:
    """By how much such a move lowers f + h + ⟨Aᵀz, ·⟩ of the block, up to second order of f, `top` being its largest
    force; 0 where f bends down, h is infinite there, and for arrays other than NumPy's."""
    q, g, f, h = forces.q, forces.gradient, forces.block.f, forces.block.h
    if f is None or g is None or type(q) is not np.ndarray or h.is_manifold:
        return 0.0
    pull = forces.pull.scale * forces.pull.array
    force = np.maximum(abs(pull), abs(g))
    if forces.at_zero is not None:
        force = np.maximum(force, abs(g - forces.at_zero))
    hidden = (force < VANISHING * top) & (force > precision(q) ** 1.5 * top)
    if not hidden.any():
        return 0.0
    unit = np.where(hidden, force, math.inf)  # to every entry its own
    share = np.where(hidden, subgradient(forces)[0] + g + pull, 0.0) / unit
    d = share * (top / unit)
    bent = f.curvature(q, d)
    length = top * float(dot(share, share)) / float(dot(d, bent) or math.inf)
    if not length > 0:
        return 0.0
    step = -length * d
    change = float(dot(g + pull, step) - 0.5 * length * dot(bent, step) + h(q + step) - h(q))
    return max(-change, 0.0) if math.isfinite(change) else 0.0
