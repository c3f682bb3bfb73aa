"""Newton steps on the face that a point and its multiplier predict: for points near a solution.

(v, y) solves the problem where F = 0, with a pair (u, y) ∈ ∂H made by the prox at w = M v + c + y/β:

    ∇f(v) + Mᵀy = 0,   M v + c - u = 0,   u = prox_H(w, 1/β)

J being the Jacobian of the prox at w, a Newton step on all three is

    (∇²f + εI) dv + Mᵀdy = -(∇f + Mᵀy),   M dv - W⁻¹dy = u - M v - c,   W = β(I - J)(J + δI)⁻¹

Rows with J = 0 are held at their kink or bound, as equations; rows with J = 1 keep their slope: where f is quadratic
and the face is the right one, a single step ends at the solution.
Hintermüller, Ito & Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIOPT 13 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..._arrays import norm, to_dense
from ...deadline import raise_if_late
from .algebra import System
from .form import Form
from .passage import Pair
from .weights import Weights

REGULAR = 1e8
"""1/δ, and the ratio of the curvature to ε: half of the digits, which refinement gives back."""
APART = 60
"""Rows of a block of W from which on it is worth a look whether it falls apart."""
REFINEMENTS = 3
"""Of the saddle-point system, at most: they take the effect of δ and ε away."""


class Trust(NamedTuple):
    """How far a prediction is followed."""

    near: float
    """The first step must end with residuals below this."""
    shrink: float
    """And every other one with this part of them, but for some."""
    tries: int
    """Steps that need not, where f is curved."""
    most: int
    """Steps at most."""


GIVEN = Trust(math.inf, 1.0, 4, 10)
"""For a multiplier that was given: the right face is not found by descent, and residuals may grow at first."""
ALONE = Trust(math.inf, 0.5, 0, 10)
"""Where there is but one face, and f is quadratic: every step is the last one, but for rounding."""
FOUND = Trust(0.1, 0.3, 0, 4)
"""For interior points, which predict the face ever better: a wrong one shows at once, by residuals near 1."""


def settle(
    form: Form,
    system: System,
    v: np.ndarray,
    y: np.ndarray,
    beta: float,
    curvature: float,
    goal: float,
    trust: Trust = GIVEN,
) -> tuple[Pair, float] | None:
    """A pair and its relative residuals, at most `goal`, after a few steps from (v, y); None where they lead away.

    With a large β, which tells rows apart, y = β(w - u) is rounded to β|w|: where that is too much, the pair is made
    anew with the β that ‖u‖, ‖c‖ and ‖y‖ say, which has the same rows on the right face.
    """
    last = trust.near
    u, y = pair(form, v, y, beta)
    for taken in range(1, trust.most + 1):
        raise_if_late()
        weights = form.terms.weights(u + y / beta, beta)
        if weights is None or ((weights.low or weights.blocks) and system.saddle is None):
            return None  # W would be a full matrix
        v, free = step(form, system, v, u, y, held(weights, beta), curvature or beta)
        u, y = pair(form, v, free, beta)
        left = max(residuals(form, v, u, y)[:2])
        found = Pair(v, u, y, beta), left
        gentle = norm(y) / (max(norm(u), form.c_norm) or math.inf)
        if left > goal and 0 < gentle < beta:
            other = Pair(v, *pair(form, v, free, gentle), gentle)
            found = min(found, (other, max(residuals(form, v, other.u, other.y)[:2])), key=itemgetter(1))
        if found[1] <= goal:
            return found
        if not (left < last or (left < 1 and taken <= trust.tries and curvature > 0)):
            return None
        last = trust.shrink * left
    return None


def may_be(form: Form, u: np.ndarray, y: np.ndarray, beta: float, equations: int, bends: bool) -> bool:
    """Whether as many rows are held at kinks and bounds as a solution has on the whole.

    At least n of them where f does not bend: a corner. At most n, and those equations that depend on others, where rows
    are dense and so in general position. Solutions that are many, or degenerate, have other numbers of them.
    """
    weights = form.terms.weights(u + y / beta, beta)
    if weights is None:
        return True
    most = form.n + equations if isinstance(form.M.G, np.ndarray) else form.m
    return (0 if bends else form.n) <= int(np.count_nonzero(weights.diagonal)) <= most


def step(
    form: Form, system: System, v: np.ndarray, u: np.ndarray, y: np.ndarray, W: Weights, curvature: float
) -> tuple[np.ndarray, np.ndarray]:
    """(v, y) after one step from v and a pair (u, y) of `pair`."""
    factor = system.factor(*form.smooth.hessian(v), W, curvature / REGULAR)
    left = -(form.smooth.gradient(v) + form.adjoint(y))
    dv, dy = factor.saddle(left, u - form.apply(v) - form.c, 1e-10, REFINEMENTS)
    return v + dv, y + dy


def pair(form: Form, v: np.ndarray, y: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """(u, y) with y ∈ ∂H(u), by the prox at M v + c + y/β."""
    w = form.apply(v) + form.c + y / beta
    u = form.terms.prox(w, beta)
    return u, beta * (w - u)


def held(jacobian: Weights, beta: float) -> Weights:
    """W of the step, from β(I - J)."""

    def ratio(share: np.ndarray) -> np.ndarray:
        return share / (1 - share / beta + 1 / REGULAR)

    along = np.where(jacobian.along > 0, beta * REGULAR, beta / REGULAR)
    low = [(rows, to_dense(V), c) for rows, V, c in jacobian.low]
    full = [(rows, np.diag(jacobian.diagonal[rows]) - (V * c) @ V.T) for rows, V, c in low]
    inverses = [
        (rows.start + own, _inverse(N[own[:, :, None], own[:, None, :]] / beta) / beta)
        for rows, N in (*full, *jacobian.blocks)
        for own in _blocks(N)
    ]
    diagonal = ratio(jacobian.diagonal)
    return jacobian._replace(diagonal=diagonal, along=along, low=(), blocks=(), inverses=tuple(inverses))


def _inverse(N: np.ndarray) -> np.ndarray:
    """(J + δI)(N + δI)⁻¹ of matrices N = I - J."""
    unit = np.eye(N.shape[-1])
    return (1 + 2 / REGULAR) * np.linalg.inv(N + unit / REGULAR) - unit


def _blocks(N: np.ndarray) -> Iterator[np.ndarray]:
    """The diagonal blocks of a symmetric matrix, as that of several cones has, those of one size together: rows of the
    matrix, block by block."""
    place = np.arange(len(N))
    if len(N) < APART or N[0, len(N) // 2 :].any():
        yield place[None]
        return
    last = np.where(N != 0, place, 0).max(axis=1, initial=0)
    ends = np.flatnonzero(np.maximum.accumulate(np.maximum(last, place)) == place) + 1
    sizes = np.diff(ends, prepend=0)
    for size in np.unique(sizes):
        yield (ends - size)[sizes == size][:, None] + place[:size]


def residuals(form: Form, v: np.ndarray, u: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Relative residuals of the equation and of stationarity, and the size that the latter is relative to.

    Where H has no force, ∇f vanishes at the solution, and is compared with what it has changed by since 0.
    """
    product, gradient, pulled, force = form.apply(v), form.smooth.gradient(v), form.adjoint(y), norm(y)
    size = max(norm(gradient), force)  # ‖M‖ = 1
    if force == 0.0:
        size = max(size, norm(gradient - form.slope))
    size = size or 1.0
    equation = norm(product + form.c - u) / (max(norm(product), norm(u), form.c_norm) or 1.0)
    return equation, norm(gradient + pulled) / size, size
