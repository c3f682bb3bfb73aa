"""Pursuit of a support: what is fitted on it tells by its forces which support is next, until they tell the same.

    y ← near argmin_y Σ max(left_k r_k, right_k r_k),   r = M y + c,   on the entries of a support
    z ← the slopes of r,   τ = 2 SPREAD median|r| / mean(right - left)
    support ← that of prox_h(‖A_j‖ x_j - τ A_jᵀz/‖A_j‖),   x = y on its support

τ/‖A_j‖² is the inverse of the curvature of the sum along entry j where residuals are normally distributed, so that the
prox chooses among Newton steps of single entries, each in units in which all columns have one length. Ends where the
support stays, or the objective falls no more. A support takes one product Aᵀz, which its certificate needs as well.
Foucart, Hard thresholding pursuit, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._arrays import Array
from ...deadline import late
from ...functions.faces import Support
from ...problem import Problem
from ...theory.state import State
from .restricted import FEW, Restricted

SUPPORTS = 8
"""Supports at most: two or three where columns are nearly orthogonal."""
ROUGHLY = 3
"""Reweighted least squares on the first of them, which is not the last as a rule; on the others as many as lead to
within 1e-4 of a solution."""


class Fit(NamedTuple):
    """What is near a solution on a support."""

    restricted: Restricted
    found: State
    """Of the restricted problem."""
    pull: np.ndarray
    """A_iᵀz."""
    value: float


def may_pursue(problem: Problem, at: tuple[int, ...]) -> bool:
    """Whether one block has faces, in a set without prices, and all else is a sum of deviations."""
    last, smooth = problem.blocks[-1], any(block.f is not None for block in problem.blocks)
    sets = all(problem.blocks[i].h.is_set for i in at)
    return len(at) == 1 and sets and not smooth and last.h.kinks(last.shape) is not None


def pursued(problem: Problem, i: int, face: Support, x: tuple[Array, ...], norms: np.ndarray) -> Fit | None:
    """The fit on the support where the pursuit ends, from that of block i at x; None where nothing can be fitted.

    `norms` are the ‖A_i e_j‖. Where the time is over, it ends where it is.
    """
    h, op, units, best = problem.blocks[i].h, problem.operators[i], np.where(norms > 0, norms, 1.0), None
    for _ in range(SUPPORTS):
        if late():
            break
        restricted = Restricted(problem, {i: face})
        found = restricted.nearly(restricted.start(x), FEW if best else ROUGHLY)
        if found is None:
            return best
        value = restricted.reached(found)
        if best is not None and not value < best.value:
            return best
        best = Fit(restricted, found, op.adjoint(found.z), value)
        x = (*x[:i], face.embed(found.q[i]), *x[i + 1 :])
        following = h.face(h.prox(units * x[i] - restricted.spread(found) * best.pull / units, 1.0))
        if not isinstance(following, Support) or np.array_equal(following.label, face.label):
            return best
        face = following
    return best
