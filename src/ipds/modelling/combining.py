"""Functions from functions: multiples, shifts, sums with an exact prox, and the sets of constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..functions import (
    L0,
    L1,
    L2,
    L21,
    Box,
    CappedSimplex,
    ElasticNet,
    IsotropicTotalVariation,
    Jumps,
    Linf,
    NonNegative,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Scaled,
    Simplex,
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

_PROPORTIONAL = (L0, Jumps, L1, L2, L21, Linf, Nuclear, TotalVariation1D, IsotropicTotalVariation)
"""Functions λ·g with λ in `lam`: their multiples are of the same kind."""


def times(h: Nonsmooth, c: float) -> Nonsmooth:
    """c·h, of the same kind as h where there is one; c > 0."""
    if c == 1.0 or h.is_set:
        return h
    if type(h) in _PROPORTIONAL:
        return type(h)(c * h.lam)  # type: ignore[attr-defined,call-arg]
    return Scaled(h, c)


def precomposed(h: Nonsmooth, a: float, c: Any) -> Nonsmooth:
    """x ↦ h(a x + c)."""
    return h if a == 1.0 and plain(c) and c == 0.0 else Precomposed(h, a, c)


def rewritten(h: Nonsmooth, e: Expression) -> tuple[Nonsmooth, Expression]:
    """The same term with a better prox, where there is one; else (h, e).

    (Jumps, x) for L0 of the differences of a variable x along its first axis: no equation is needed. The norms of the
    rows of a gradient for isotropic total variation, absolute differences for that of signals: these have a formula.
    """
    if type(h) is IsotropicTotalVariation and e.ndim == 2:
        return L21(h.lam), Gradient(e.shape) @ e
    if type(h) is TotalVariation1D and e.ndim and e.shape[0] > 1:
        return L1(h.lam), diff(e)
    if type(h) is not L0 or not plain(h.lam) or len(e.maps) != 1 or np.any(to_numpy(np.asarray(e.constant))):
        return h, e
    ((x, map_),) = e.maps.items()
    return (Jumps(h.lam), x) if map_.is_difference else (h, e)


def parts_of(term: Term) -> list[Term]:
    """A convex term as several, where each of them has kinks, bounds or squares and the whole has none to show: an
    elastic net, and the sum and the bounds of a simplex that is not a variable's."""
    h, e = term.function, term.expression
    made: list[tuple[Nonsmooth, Expression]]
    if isinstance(h, ElasticNet):
        made = [(L1(h.lam), e), (SumSquares(0.5 * h.l2), e)]
    elif isinstance(h, Simplex | CappedSimplex) and multiple_of_variable(e) is None:
        bounds = Box(0.0, h.cap) if isinstance(h, CappedSimplex) else NonNegative()
        made = [(bounds, e), (zero_set(), e.sum() - h.radius)]
    else:
        return [term]
    return [term.weight * Term(own, argument, term.name) for own, argument in made]


def joint(held: Nonsmooth | None, h: Nonsmooth) -> Nonsmooth | None:
    """held + h as one function with an exact prox, None where none is known."""
    if held is None:
        return h
    for penalty, constraint in ((held, h), (h, held)):
        try:
            return Sum(penalty, constraint)
        except TypeError:
            continue
    return None


def zero_set() -> Nonsmooth:
    """{0}."""
    return Box(0.0, 0.0)


def rows_set(constraint: Constraint) -> Nonsmooth:
    """Where left - right must lie."""
    return {"==": zero_set(), "<=": Box(-math.inf, 0.0), ">=": Box(0.0, math.inf)}[constraint.sense]
