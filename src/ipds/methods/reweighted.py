"""Reweighted eigenvectors, for sums of norms over orthonormal columns.

    min_V Σ_i λ‖g_iᵀV‖  subject to  VᵀV = I

With e_i = max(‖g_iᵀV‖, ε), the norms lie below ‖g_iᵀV'‖²/(2e_i) + e_i/2, and touch it at V where e_i = ‖g_iᵀV‖. The
bottom eigenvectors of Σ_i g_i g_iᵀ/e_i are the least of that over V', so that the objective falls but for ε:

    V ← bottom eigenvectors of Σ_i g_i g_iᵀ/e_i,   u_i = g_iᵀV,   p_i = ‖u_i‖/e_i
    e_i ← max(‖u_i‖ min(1, p_i)³, ε),   ε ← ε/5, at first ε/2 for a single column

The cube is there for rows that vanish: p_i is the factor by which they do, and would do again; not after a first step
from anywhere, when all weights are those of ε. Once nothing moves, the d_i = λu_i/e_i, which make V stationary, are
slopes of the norms. At a check rows with p_i well below 1 are taken as 0 with the slope d_i, others as they are with
the slope λu_i/‖u_i‖.
Lerman & Maunu, Fast, robust and non-convex subspace recovery, Information and Inference 7 (2018).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from .._arrays import Array, add_scaled, divide_in_place
from ..deadline import late
from ..errors import AssumptionError
from ..functions import L21, Stiefel
from ..functions.groups import row_norms
from ..operators import Identity, Matrix
from ..problem import Problem
from ..theory.state import State, prox_step
from .base import Method

STEPS = 20
"""Steps after which others go on: where rows are nearly 0, these converge slowly."""
FLOOR, SHRINK, LOWEST = 0.5, 0.2, 1e-8
"""First ε in units of the largest norm, its factor from step to step, and its last: below, d_i would be rounding."""
SLOWLY, SLOW = 0.5, 6
"""Its factor for a single column, where many |u_i| are small by chance and would be held there, and steps with it."""
BETTER = 0.75
"""Where ‖G V0‖ is at most this part of what is usual for random ones, the start is good: the first ε is the third."""
VANISHES = 0.9
"""p_i up to which a row is taken as 0."""
NEAR, NEARER = 1e-3, 1e-11
"""A check is due where this part of the objective is left to gain, as far as two steps tell; the factor of the next."""
INVERSE, FAR = 3, 0.3
"""Inverse iterations for the eigenvectors of a step, and the sum of squared sines up to which they may turn."""
SMALL = 200
"""Rows of V up to which eigenvectors are cheap."""
SINGLE, RANGE, NARROW = 1e3, 1e12, 8
"""Before the first check products are in single precision while ε is more than so many times the last one; where sizes
lie between 1/RANGE and RANGE, so that no weighted square overflows, and points have more entries than so many."""
ROWS = 4096
"""Rows of G that are weighted at a time."""
FEW, HELD = 50, 500_000
"""Rows of V up to which products are along the rows of Aᵀ, of both halves of what is symmetric: they take less time
than those that spare one half. Entries up to which Aᵀ is held in one piece for them, 4 MB."""


class Setup(NamedTuple):
    """A V + c U = 0, and the weight of the norms."""

    columns: np.ndarray
    """Aᵀ: in one piece where V has few rows, else a view."""
    c: float
    lam: float
    length: float
    """‖A‖."""
    is_good: bool
    """Whether the start tells already which rows may vanish."""


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    V: np.ndarray
    e: np.ndarray
    """1/e_i are the weights of the next step."""
    floor: float
    """ε."""
    lowest: float
    """The last ε."""
    value: float
    """Σ‖u_i‖."""
    gain: float
    """By how much the last step has lowered it."""
    due: float
    """The next check is due where no more than this part of it is left to gain."""


class ReweightedEigenvectors(Method):
    """Steps to the bottom eigenvectors of reweighted points; see the module for them."""

    presolves = announces = True
    name = "ReweightedEigenvectors()"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """The norms of the rows at x0."""
        if not is_sum_of_norms(problem) or not all(
            type(x) is np.ndarray and x.dtype == np.float64 for x in x0
        ):
            raise AssumptionError(
                "ReweightedEigenvectors needs A V + c U = 0 with V in Stiefel() and L21 of U"
            )
        (A, last), V = problem.operators, x0[0]
        assert isinstance(A, Matrix)
        c: float = last.scale  # type: ignore[attr-defined]
        columns = A.matrix.T
        columns = np.ascontiguousarray(columns) if len(columns) <= FEW and columns.size <= HELD else columns
        sizes = row_norms(product_with(columns, V)) / abs(c)
        largest = float(sizes.max())
        if not 0 < largest < np.inf:
            raise AssumptionError("ReweightedEigenvectors: all of U is 0")
        length = math.sqrt(float(np.add.reduce(A.row_squares)))
        usual = length / abs(c) * math.sqrt(V.shape[1] / V.shape[0])
        is_good = bool(np.linalg.norm(sizes) <= BETTER * usual)
        floor = FLOOR * largest * (SHRINK**2 if is_good else 1.0)
        e, value = np.maximum(sizes, floor), float(sizes.sum())
        carry = Carry(0, V, e, floor, LOWEST * largest, value, 0.0, NEAR)
        return Setup(columns, c, problem.blocks[1].h.lam, length, is_good), carry  # type: ignore[attr-defined]

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One step."""
        return self.steps(setup, [carry], carry.t + 1)

    def steps(self, setup: Setup, held: list[Carry], until: int) -> tuple[Carry, State]:
        """Steps until a check is due, up to iteration `until`."""
        columns, c, carry = setup.columns, setup.c, held.pop()
        coarse = coarse_points(setup, carry)
        while True:
            t, weights = carry.t + 1, 1 / carry.e
            gram = weighted_gram(coarse if carry.floor > SINGLE * carry.lowest else columns, weights)
            V = bottom_eigenvectors(gram, carry.V)
            product = product_with(columns, V)
            sizes = row_norms(product) / abs(c)
            parts, value = sizes * weights, float(np.add.reduce(sizes))
            gain = carry.value - value
            # a geometric series, and about as much again once ε falls faster
            left = gain * gain / (carry.gain - gain) if 0 <= gain < carry.gain else np.inf
            is_slow = V.shape[1] == 1 and t <= SLOW
            is_due = (2 if is_slow else 1) * left <= carry.due * value
            floor = max((SLOWLY if is_slow else SHRINK) * carry.floor, carry.lowest)
            due = NEARER * carry.due if is_due else carry.due
            ahead = np.minimum(parts, 1.0) ** 3 if t > 1 or setup.is_good else 1.0
            e = np.maximum(sizes * ahead, floor)
            carry = Carry(t, V, e, floor, carry.lowest, value, gain, due)
            if is_due or t >= until or late():
                return carry, state_of(setup, t, V, product, sizes, parts, is_due)


def state_of(
    setup: Setup,
    t: int,
    V: np.ndarray,
    product: np.ndarray,
    sizes: np.ndarray,
    parts: np.ndarray,
    is_due: bool,
) -> State:
    """The State at V: U = -A V/c but for the rows that vanish, and z = -s/c with s in the slopes of the norms there."""
    c, lam = setup.c, setup.lam
    product = np.ascontiguousarray(product)
    U, vanish = product / -c, parts <= VANISHES
    s = U * (lam * np.where(vanish, parts, 1.0) / np.where(sizes > 0, sizes, 1.0))[:, None]
    U[vanish] = 0.0
    step = prox_step(U, s)
    points = (None, 1.0), (add_scaled(U, step, s), step)
    return State(t, (V, U), U, divide_in_place(s, -c), 0.0, 0.0, (product, None), points, due=is_due)


def is_sum_of_norms(problem: Problem) -> bool:
    """Whether a problem is the one above, written as A V + c U = 0, with a matrix A in memory and a V of few rows."""
    if len(problem.blocks) != 2 or any(block.f is not None for block in problem.blocks):
        return False
    (frame, rows), (A, last) = problem.blocks, problem.operators
    known = isinstance(A, Matrix) and type(A.matrix) is np.ndarray and A.matrix.dtype == np.float64
    scaled = isinstance(last, Identity) and last.scale != 0
    norms = isinstance(rows.h, L21) and type(rows.h.lam) is float and rows.h.lam > 0 and len(rows.shape) == 2
    orthonormal = type(frame.h) is Stiefel and frame.shape[0] <= SMALL
    return known and scaled and norms and orthonormal and problem.b_norm == 0


def bottom_eigenvectors(gram: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Nearly the eigenvectors of as many smallest eigenvalues as V has columns, by `INVERSE` iterations from V.

    V ← Q of the QR factors of gram⁻¹V, but for the first, whose columns the second may still tell apart; as long as
    these do not lead far from V: then by LAPACK.
    """
    lapack = scipy.linalg.lapack
    factor, failed = lapack.dpotrf(gram)
    found = V if failed else lapack.dpotrs(factor, V)[0]
    for _ in range(0 if failed else INVERSE - 1):
        factored, tau, *_ = lapack.dgeqrf(lapack.dpotrs(factor, found)[0])
        found = lapack.dorgqr(factored, tau)[0]
    overlap = V.T @ found
    if failed or not np.vdot(overlap, overlap) >= V.shape[1] - FAR:
        return lowest_eigenvectors(gram, V.shape[1])
    return np.ascontiguousarray(found)


def lowest_eigenvectors(gram: np.ndarray, count: int) -> np.ndarray:
    """Eigenvectors of the smallest eigenvalues."""
    _, V, _, _, failed = scipy.linalg.lapack.dsyevr(gram, range="I", iu=count)
    if failed or not np.all(np.isfinite(V)):
        raise np.linalg.LinAlgError("the reweighted points have no eigenvectors")
    return np.ascontiguousarray(V)


def coarse_points(setup: Setup, carry: Carry) -> np.ndarray:
    """Aᵀ, before the first check in single precision: that asks for less than eigenvectors to 1e-6."""
    columns = setup.columns
    if carry.due < NEAR or len(columns) <= NARROW:
        return columns
    is_usual = min(setup.length, carry.lowest) > 1 / RANGE and max(setup.length, carry.value) < RANGE
    return columns.astype(np.float32) if is_usual else columns


def product_with(columns: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A V."""
    return (V.T @ columns).T


def weighted_gram(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_i w_i a_i a_iᵀ, without a weighted copy of A; products in the precision of Aᵀ."""
    total, is_narrow = np.zeros((len(columns), len(columns))), len(columns) <= FEW
    factors = (weights if is_narrow else np.sqrt(weights)).astype(columns.dtype, copy=False)
    for begin in range(0, columns.shape[1], ROWS):
        points = columns[:, begin : begin + ROWS]
        weighted = points * factors[begin : begin + ROWS]
        total += weighted @ (points if is_narrow else weighted).T
    return total
