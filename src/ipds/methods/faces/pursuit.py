"""Pursuit of a support: what is fitted on it tells by its forces which support is next, until they tell the same.

    z ← the slopes of r = M x + c,   τ = 2 SPREAD median|r| / mean(right - left)
    support ← that of prox_h(‖A_j‖ x_j - τ A_jᵀz/‖A_j‖)
    x ← near argmin_x Σ max(left_k r_k, right_k r_k) on the entries of that support

τ/‖A_j‖² is the inverse of the curvature of the sum along entry j where residuals are normally distributed, so that the
prox chooses among Newton steps of single entries, each in units in which all columns have one length. Ends where the
support stays, or the objective falls no more. A support takes one product Aᵀz, which its certificate needs as well.
Foucart, Hard thresholding pursuit, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._arrays import Array
from ...deadline import late
from ...functions.faces import Support
from ...functions.kinks import Kinks
from ...problem import Problem
from ...theory.state import State
from .restricted import FEW, Restricted

SUPPORTS = 8
"""Supports at most: two or three where columns are nearly orthogonal."""
ROUGHLY = 3
"""Reweighted least squares on the first of them, which is not the last as a rule; on the others as many as lead to
within 1e-4 of a solution."""
SPREAD = 1.86
"""1/(2 φ(0) Φ⁻¹(¾)): the density of normally distributed residuals at 0 is 1/(2 SPREAD) over the median of |r|."""


class Fit(NamedTuple):
    """What is near a solution on a support."""

    restricted: Restricted
    found: State
    """Of the restricted problem."""
    value: float


def may_pursue(problem: Problem, at: tuple[int, ...]) -> bool:
    """Whether one block has faces, in a set without prices, and all else is a sum of deviations."""
    last, smooth = problem.blocks[-1], any(block.f is not None for block in problem.blocks)
    sets = all(problem.blocks[i].h.is_set for i in at)
    return len(at) == 1 and sets and not smooth and last.h.kinks(last.shape) is not None


def pursued(problem: Problem, i: int, x: tuple[Array, ...], norms: np.ndarray) -> Fit | None:
    """The fit on the support of block i where the pursuit from x ends; None where no fit is lower than x.

    `norms` are the ‖A_i e_j‖. Where the time is over, it ends where it is.
    """
    block, last, op = problem.blocks[i], problem.blocks[-1], problem.operators[i]
    h, units = block.h, np.where(norms > 0, norms, 1.0)
    kinks, point = last.h.kinks(last.shape), problem.restore(x, at=len(x) - 1)
    assert kinks is not None
    assert point is not None
    u, c = point[-1], problem.operators[-1].scale  # type: ignore[attr-defined]
    lowest, best, label = float(last.h(u)), None, np.zeros(0)
    pull = op.adjoint((np.where(u > kinks.place, kinks.right, kinks.left) * (-1 / c)).reshape(problem.shape))
    for _ in range(SUPPORTS):
        face = h.face(h.prox(units * x[i] - spread(kinks, u) * pull / units, 1.0))
        if not isinstance(face, Support) or np.array_equal(face.label, label) or late():
            break
        restricted, label = Restricted(problem, {i: face}), face.label
        found = restricted.nearly(restricted.start(x), FEW if best else ROUGHLY)
        value = math.inf if found is None else restricted.reached(found)
        if found is None or not value < lowest:
            break
        u, pull, lowest = found.q[-1], restricted.adjoint(i, found.z), value
        best, x = Fit(restricted, found, value), (*x[:i], face.embed(found.q[i]), *x[i + 1 :])
    return best


def spread(kinks: Kinks, u: np.ndarray) -> float:
    """τ: by how much ‖A_j‖² the residuals of a fit by deviations bend the objective, inverted."""
    sizes, half = np.abs(np.ravel(u - kinks.place)), u.size // 2
    return float(2 * SPREAD * np.partition(sizes, half)[half] / np.mean(kinks.right - kinks.left))
