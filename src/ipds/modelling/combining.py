"""Functions from functions: shifts, sums with an exact prox, and the sets of constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Shape, to_numpy
from ..functions import (
    L0,
    L1,
    L21,
    Affine,
    Box,
    CappedSimplex,
    ElasticNet,
    HalfSpace,
    IsotropicTotalVariation,
    Jumps,
    NonNegative,
    Nonsmooth,
    Precomposed,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    SumSquares,
    TotalVariation1D,
)
from ..operators import Gradient
from .bounds import multiple_of_variable
from .constants import plain
from .constraints import Constraint
from .expressions import Expression
from .joining import diff
from .terms import Term


def precomposed(h: Nonsmooth, a: float, c: Any) -> Nonsmooth:
    """x ↦ h(a x + c); of the kind of an h that is not convex where there is one, as the kind says where minima are."""
    if not (plain(c) and c == 0.0):
        return Precomposed(h, a, c)
    same = h if a == 1.0 else h.rescaled(a) if a > 0 and not h.is_convex else None
    return Precomposed(h, a, c) if same is None else same


def rewritten(h: Nonsmooth, e: Expression) -> tuple[Nonsmooth, Expression]:
    """The same term with a better prox, where there is one; else (h, e).

    (Jumps, x) for L0 of the differences of a variable x along its first axis: no equation is needed. The norms of the
    rows of a gradient for isotropic total variation, absolute differences for that of signals: these have a formula.
    (x ↦ h(d·x), x) for an h that is not convex of the entries of x in units d > 0; L0 of some entries with weights 0
    for the others.
    """
    if type(h) is IsotropicTotalVariation and e.ndim == 2:
        return L21(h.lam), Gradient(e.shape) @ e
    if type(h) is TotalVariation1D and e.ndim and e.shape[0] > 1:
        return L1(h.lam), diff(e)
    if h.is_convex or len(e.maps) != 1 or np.any(to_numpy(np.asarray(e.constant))):
        return h, e
    ((x, map_),) = e.maps.items()
    if type(h) is L0 and plain(h.lam) and map_.is_difference:
        return Jumps(h.lam), x
    if type(h) is L0 and (chosen := map_.chosen) is not None:
        lam = np.zeros(x.size)
        lam[chosen] = np.broadcast_to(h.lam, e.shape).reshape(-1)
        return L0(lam.reshape(x.shape)), x
    units = map_.weights
    own = None if units is None or np.any(units < 0) else h.rescaled(units)
    return (h, e) if own is None else (own, x)


def parts_of(term: Term) -> list[Term]:
    """A convex term as several, where each of them has kinks, bounds or squares and the whole has none to show: an
    elastic net; the sum and the bounds of a simplex, a half space and a plane that are not a variable's own."""
    h, e = term.function, term.expression
    made: list[tuple[Nonsmooth, Expression]]
    if isinstance(h, ElasticNet):
        made = [(L1(h.lam), e), (SumSquares(0.5 * h.l2), e)]
    elif isinstance(h, Simplex | CappedSimplex) and multiple_of_variable(e) is None:
        bounds = Box(0.0, h.cap) if isinstance(h, CappedSimplex) else NonNegative()
        made = [(bounds, e), (zero_set(), e.sum() - h.radius)]
    elif isinstance(h, HalfSpace) and multiple_of_variable(e) is None:
        made = [(Box(-math.inf, 0.0), (h.a * e).sum() - h.b)]
    elif isinstance(h, Affine) and h.b.shape[1:] == e.shape[1:] and multiple_of_variable(e) is None:
        made = [(zero_set(), h.A @ e - h.b)]
    else:
        return [term]
    return [term.weight * Term(own, argument, term.name) for own, argument in made]


def joint(held: Nonsmooth | None, h: Nonsmooth, shape: Shape = ()) -> Nonsmooth | None:
    """held + h as one function of blocks of `shape` with an exact prox, None where none is known."""
    if held is None:
        return h
    for penalty, constraint in ((held, h), (h, held)):
        try:
            return Sum(penalty, constraint)
        except TypeError:
            continue
    if Stiefel in (type(held), type(h)) and len(shape) == 2 and shape[1] == 1:  # one column: a sphere
        held, h = (Sphere(1.0) if type(one) is Stiefel else one for one in (held, h))
        return joint(held, h)
    return None


def zero_set() -> Nonsmooth:
    """{0}."""
    return Box(0.0, 0.0)


def rows_set(constraint: Constraint) -> Nonsmooth:
    """Where left - right must lie."""
    return {"==": zero_set(), "<=": Box(-math.inf, 0.0), ">=": Box(0.0, math.inf)}[constraint.sense]
