"""Multiples c·h and h(a·x) that are functions of the same kind as h: all that is known of h is known of them."""

from __future__ import annotations

from .base import Nonsmooth
from .calculus import Precomposed, Scaled
from .folded import MCP, SCAD
from .groups import L2, L21
from .isotropic import IsotropicTotalVariation
from .jumps import Jumps
from .matrix_sets import Rank, Stiefel
from .penalties import L1, Huber
from .rescaling import Powers, in_units
from .sets import L1Ball, L2Ball, LinfBall, Sphere
from .sparse_sets import Cardinality
from .structured import Linf, Nuclear, TotalVariation1D
from .thresholding import L0, CappedL1, LHalf, LogSum, LTwoThirds

_POWERS: dict[type, Powers] = {
    **dict.fromkeys((L0, LHalf, LTwoThirds, CappedL1, LogSum, Jumps, L1, L2, L21), (("lam", 1),)),
    **dict.fromkeys((Linf, Nuclear, TotalVariation1D, IsotropicTotalVariation), (("lam", 1),)),
    MCP: (("lam", 1), ("gamma", -1)),
}
"""The powers of c that the parameters of a multiple are multiplied by."""
_EVEN = {*_POWERS, Cardinality, Huber, L1Ball, L2Ball, LinfBall, Rank, SCAD, Sphere, Stiefel}
"""Functions with h(-x) = h(x)."""


def times(h: Nonsmooth, c: float) -> Nonsmooth:
    """c·h, of the same kind as h where there is one; c > 0.

    >>> times(LHalf(1.5), 2.0), times(MCP(1.0, 3.0), 2.0)
    (LHalf(lam=3.0), MCP(lam=2.0, gamma=1.5))
    """
    if c == 1.0 or h.is_set:
        return h
    powers = _POWERS.get(type(h))
    return Scaled(h, c) if powers is None else in_units(h, c, powers)


def simplified(h: Nonsmooth) -> Nonsmooth:
    """h itself, or where it is a multiple, or h of a multiple of x, the function of that kind.

    >>> simplified(Precomposed(Linf(2.0), -3.0))
    Linf(lam=6.0)
    """
    if type(h) is Scaled:
        return times(h.h, h.c)
    if type(h) is not Precomposed or type(h.a) is not float or type(h.shift) is not float or h.shift != 0.0:
        return h
    if h.a < 0 and type(h.h) not in _EVEN:
        return h
    found = h.h if abs(h.a) == 1.0 else h.h.rescaled(abs(h.a))
    return h if found is None else found
