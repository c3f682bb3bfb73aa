"""A start by reweighted eigenvectors, for sums of norms over orthonormal columns.

    min_V Σ_i λ‖g_iᵀV‖  subject to  VᵀV = I

With e_i = max(‖g_iᵀV‖, ε), the norms lie below ‖g_iᵀV'‖²/(2e_i) + e_i/2, and touch it at V where e_i = ‖g_iᵀV‖. The
bottom eigenvectors of Σ_i g_i g_iᵀ/e_i are the least of that over V', so that the objective falls but for ε. A few such
steps, ε smaller each time, cost no more than a few of first order, and end near a minimum, with the slopes
d_i = λ g_iᵀV/e_i that make V stationary.
Lerman & Maunu, Fast, robust and non-convex subspace recovery, Information and Inference 7 (2018).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from ..._arrays import Array
from ...functions import L21, Stiefel
from ...functions.groups import row_norms
from ...operators import Matrix
from .reduced import Arrays, ReducedProblem

STEPS, GAIN = 20, 1e-7
"""Steps at most; they end where one lowers the objective by less than this share of it."""
FLOOR, SHRINK = 0.5, 0.1
"""First ε in units of the largest norm, and its factor from step to step."""
SMALL = 200
"""Rows of V up to which eigenvectors are cheap."""
ROWS = 8192
"""Rows of G that are weighted at a time."""


def reweighted_start(R: ReducedProblem, x: Arrays, z: Array) -> tuple[Arrays, Array]:
    """(x, z) after reweighted eigenvectors from x, where the problem is the one above; else as given."""
    given = x, z
    if len(x) > 1 or not isinstance(R.h, L21) or type(R.h.lam) is not float or not isinstance(R.b, float):
        return given
    (block,), (op,), (V,) = R.blocks, R.operators, x
    known = isinstance(op, Matrix) and type(op.matrix) is np.ndarray and type(V) is np.ndarray
    if not known or type(block.h) is not Stiefel or R.b or R.f is not None or block.f is not None:
        return given
    G = op.matrix  # type: ignore[attr-defined]
    if not V.dtype == G.dtype == np.float64 or len(V) > SMALL:
        return given
    sizes, d = row_norms(G @ V), None
    value, floor = float(sizes.sum()), FLOOR * float(sizes.max())
    for _ in range(STEPS if floor > 0 else 0):
        inverse = 1 / np.maximum(sizes, floor)
        _, new, _, _, failed = scipy.linalg.lapack.dsyevr(weighted_gram(G, inverse), range="I", iu=V.shape[1])
        u = G @ new
        sizes = row_norms(u)
        last, value, floor = value, float(sizes.sum()), SHRINK * floor
        if failed or not value <= last:
            break
        V, d = new, u * inverse[:, None]
        if value > (1 - GAIN) * last:
            break
    if d is None:
        return given
    return (np.ascontiguousarray(V),), R.force(math.copysign(R.h.lam, -R.c) * d)  # A_j x_j = -G V


def weighted_gram(G: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_i w_i g_i g_iᵀ, without a weighted copy of G."""
    total = np.zeros((G.shape[1], G.shape[1]))
    for begin in range(0, len(G), ROWS):
        rows = G[begin : begin + ROWS]
        total += (rows.T * weights[begin : begin + ROWS]) @ rows
    return total
