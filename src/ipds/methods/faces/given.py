"""GivenFace: from a start near the solution of a convex problem, the solution on its face, or on one next to it.

Along a path of weights most zeros and signs stay, and what changes is found in a few steps of linear algebra:

    Σ f_j + h_j, h_j a sum over entries with a kink at 0 (L1, say), S the nonzeros of x:
        x_S ← x_S - (∇²f_SS + h''_S)⁻¹ (∇f_S + h'_S),   entries that lose their sign become 0,
        zeros on which |∇f| exceeds h'(0+) join S with the sign of -∇f,
        until nothing changes and the step is rounding; where the objective rises, back, and one change at a time
    Σ of kinks of u = M v + c without an f (least absolute deviations, quantiles, with L1 or not):
        exchanges from vertex to vertex (`pivots`)

Where this does not get there, or the problem is another one, the method declines, and others begin from the same start.
Hintermüller, Ito & Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIOPT 13 (2002).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import Array
from ...deadline import raise_if_late
from ...errors import AssumptionError
from ...functions import Smooth, SmoothSum, Weighted, Zero
from ...functions.losses import LinearModel
from ...functions.scalar import ScalarPenalty
from ...operators import Matrix
from ...problem import Block, Problem
from ...theory.certificate import subgradients
from ...theory.state import State
from ...theory.structure import is_convex_canonical
from ..base import Method
from ..newton.factors import dense_cholesky
from .restricted import Restricted, assembled

STEPS = 40
"""Newton steps at most."""
ENOUGH = 1e-12
"""A step of this share of x, or a force of this share of ∇f, is rounding."""
ROUNDING = 1e-12
"""A rise of the objective, or an entry that is left of one, relative to it, that is rounding."""
SLACK = 1e-10
"""By how much a force may exceed h'(0+), relative to it, by rounding."""
SEED = 1e-9
"""Size of an entry that joins, in units of the largest: only its sign counts."""
COLUMNS = 300
"""Variables up to which exchanges from vertex to vertex are cheap."""


class Carry(NamedTuple):
    """The answer."""

    t: int
    x: tuple[Array, ...]
    slopes: tuple[Array, ...]
    """s_i ∈ ∂h_i(x_i)."""
    z: Array


class GivenFace(Method):
    """The solution on the face of the start, or near it; raises AssumptionError where that is not found."""

    name = "GivenFace"
    presolves = True

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Problem, Carry]:
        """All of the work."""
        plain = all(type(x) is np.ndarray and x.dtype == np.float64 for x in (*x0, z0))
        if not (plain and is_convex_canonical(problem)):
            raise AssumptionError("GivenFace: a convex problem in canonical form, in NumPy, is asked for")
        *blocks, last = problem.blocks
        if last.f is None and isinstance(last.h, Zero) and all(map(_has_signs, blocks)):
            return problem, _by_signs(problem, x0, z0)
        return problem, _by_exchanges(problem, x0)

    def step(self, setup: Problem, carry: Carry) -> tuple[Carry, State]:
        """The answer; there is no second step."""
        state = assembled(setup, carry.t + 1, carry.x, carry.slopes, carry.z) if carry.t == 0 else None
        if state is None:
            raise AssumptionError("GivenFace: its answer was not accepted")
        return carry._replace(t=1), state


def _by_exchanges(problem: Problem, x0: tuple[Array, ...]) -> Carry:
    if sum(x.size for x in x0[:-1]) > COLUMNS:
        raise AssumptionError("GivenFace: too many variables for exchanges")
    found = Restricted(problem, {}).exactly(x0)
    if found is None:
        raise AssumptionError("GivenFace: no problem of least deviations, or its exchanges do not end")
    return Carry(0, found.q, subgradients(problem, found), found.z)


def _has_signs(block: Block) -> bool:
    return block.f is not None and isinstance(block.h, ScalarPenalty) and block.h.has_faces


def _by_signs(problem: Problem, x0: tuple[Array, ...], z0: Array) -> Carry:
    """Block by block, as no equation joins them."""
    found = [_settled(block, xi) for block, xi in zip(problem.blocks[:-1], x0, strict=False)]
    x = [xi for xi, _ in found]
    whole = problem.restore((*x, x0[-1]), at=len(x))
    assert whole is not None
    slopes = (*(s for _, s in found), np.zeros(x0[-1].shape))
    return Carry(0, whole, slopes, np.zeros(z0.shape))


def _settled(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x, s) with s = -∇f(x) ∈ ∂h(x)."""
    f, h = block.f, block.h
    assert f is not None
    assert isinstance(h, ScalarPenalty)
    x, most, arrived, careful = np.array(x), h.slope_at_zero(x.shape), False, False
    best, lowest = x.copy(), np.inf
    for _ in range(STEPS):
        raise_if_late()
        value, g = f.value_and_grad(x)
        value, own = value + float(h(x)), h.subgradient(x)
        rises = value > lowest + ROUNDING * abs(lowest)
        if rises and not careful:  # too many changes at once: one by one from now on
            x, careful, arrived = best.copy(), True, False
            continue
        best, lowest = x.copy(), value
        joining = (x == 0) & (np.abs(g) > most * (1 + SLACK))
        force = np.where(x == 0, 0.0, g + own)
        arrived = arrived or float(np.linalg.norm(force)) <= ENOUGH * float(np.linalg.norm(g))
        if arrived and not joining.any():
            return x, np.where(x == 0, -g, own)
        if careful:  # the one that is pulled the most, once the others have settled
            strongest = np.where(joining, np.abs(g) - most, 0.0).argmax()
            joining = joining & arrived & (np.arange(x.size).reshape(x.shape) == strongest)
        if joining.any():
            x[joining] = -np.sign(g[joining]) * SEED * (float(np.max(np.abs(x))) or 1.0)
            force = np.where(x == 0, 0.0, g + h.subgradient(x))
        free = np.flatnonzero(x)
        if not free.size:
            break
        y, H = x.flat[free], _hessian(f, x, free)
        if h.second_derivative(x).any():
            H = H + np.diag(h.second_derivative(x).flat[free])
        d = -dense_cholesky(H)(force.flat[free])
        crossed = (y + d) * y < 0
        if careful and crossed.any():  # as far as the first that loses its sign
            d *= np.min(-y[crossed] / d[crossed])
            crossed = np.abs(y + d) <= ROUNDING * np.abs(y)
        moved = np.where(crossed, 0.0, y + d)
        arrived = bool(np.all(moved) and np.linalg.norm(d) <= ENOUGH * np.linalg.norm(moved))
        x.flat[free] = moved
    raise AssumptionError("GivenFace: the steps do not settle")


def _hessian(f: Smooth, x: np.ndarray, free: np.ndarray) -> np.ndarray:
    """∇²f of the free entries, from their columns alone where f is a linear model."""
    if isinstance(f, SmoothSum):
        return np.add.reduce([_hessian(term, x, free) for term in f.terms])
    if isinstance(f, Weighted):
        return f.weight * _hessian(f.f, x, free)
    if isinstance(f, LinearModel) and isinstance(f.G, Matrix) and x.ndim == 1:
        columns, weights = f.G.matrix[:, free], f.row_curvature(f.G.apply(x))
        if scipy.sparse.issparse(columns):
            return (columns.T @ scipy.sparse.diags_array(weights) @ columns).toarray()
        return columns.T @ (weights[:, None] * columns)
    H: Any = f.hessian(x)
    if scipy.sparse.issparse(H):
        return H.tocsr()[free][:, free].toarray()
    if not isinstance(H, np.ndarray):
        raise AssumptionError("GivenFace: ∇²f is known by its products only")
    return np.diag(H.ravel()[free]) if H.ndim == 1 else H[np.ix_(free, free)]
