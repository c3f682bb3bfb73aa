"""What a block would gain where its forces are hidden: small beside its others because of their units.

In a block no force counts as less than `VANISHING` of the largest one, as on some entries none acts. Whether those
below matter is not for their sizes to say (two fits in one vector, one in small units), but for what they would gain: a
move of these entries alone, by a Newton step along what is left of their forces, each in units of its own. What it
takes from f + h + ⟨Aᵀz, ·⟩ is a part of the duality gap.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import dot
from .entries import VANISHING, Forces, subgradient


def hidden_gain(forces: Forces, top: float, units: float) -> float:
    """By how much such a move lowers f + h + ⟨Aᵀz, ·⟩ of the block, up to second order of f, `top` being its largest
    force; 0 where f bends down, h is infinite there, and for arrays other than NumPy's.

    Along entries on which f does not act nothing bends, and any move would lead far. What is left of an entry's forces
    is rounding where it is no more than `units` of the largest force: a multiplier is no more exact than that.
    """
    q, g, f, h = forces.q, forces.gradient, forces.block.f, forces.block.h
    if f is None or g is None or type(q) is not np.ndarray or h.is_manifold:
        return 0.0
    pull = forces.pull.scale * forces.pull.array
    own = abs(g) if forces.at_zero is None else np.maximum(abs(g), abs(g - forces.at_zero))
    force = np.maximum(abs(pull), own)
    if force.size and force.item(force.argmin()) >= VANISHING * top:
        return 0.0
    hidden = (force < VANISHING * top) & (force > units * top) & (own > units * force)
    if not hidden.any():
        return 0.0
    unit = np.where(hidden, force, math.inf)  # to every entry its own
    left = subgradient(forces)[0] + g + pull
    share = np.where(hidden & (abs(left) > units * top), left, 0.0) / unit
    d = share * (top / unit)
    bent = f.curvature(q, d)
    length = top * float(dot(share, share)) / float(dot(d, bent) or math.inf)
    if not length > 0:
        return 0.0
    step = -length * d
    change = float(dot(g + pull, step) - 0.5 * length * dot(bent, step) + h(q + step) - h(q))
    return max(-change, 0.0) if math.isfinite(change) else 0.0
