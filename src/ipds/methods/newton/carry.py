"""What is fixed for a run of NewtonALM, what continues from step to step, and where it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._arrays import Array
from ...problem import Problem
from ...theory.structure import is_piecewise_quadratic
from .algebra import System
from .form import Form
from .interior import Interior
from .layout import Point

WARM, INTERIOR, SEMISMOOTH, RETURNING = 0, 1, 2, 3
"""Phases, as a carry holds them."""


class Carry(NamedTuple):
    """All that continues from step to step."""

    t: int
    phase: int
    v: np.ndarray
    u: np.ndarray
    y: np.ndarray
    beta: float
    """The weight of the equation: objective per unit of u²."""
    eps: float
    point: Point
    """Of the interior-point steps."""
    centre: np.ndarray
    """v_k of the augmented Lagrangian; v of the interior point while its face is tried."""
    multiplier: np.ndarray
    """y_k of the augmented Lagrangian."""
    taken: int
    """Newton steps on the subproblem at hand, or rounds so far."""
    left: float
    """Smallest relative residual of stationarity in interior-point steps; the last one, or that of the equation, in
    others."""
    gap: float
    """Smallest relative gap in them."""
    stalled: int
    """Interior-point steps since the last that was the smallest in one of both."""
    trusted: float
    """Gap from which on the face that interior points predict is tried next."""
    shown: float
    """Residual and gap of the last interior point that was worth a check, at first the residual of the rounds."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What is fixed for a run."""

    problem: Problem
    form: Form
    system: System
    interior: Interior | None
    curvature: float
    """Mean of diag ∇²f at the start."""
    is_flat: bool
    """Whether f does not bend along some entry of v: there ε alone keeps K positive beside equations."""
    slope: np.ndarray
    """∇f at the start."""
    has_jacobian: bool
    like: tuple[Array, ...]

    @property
    def has_barriers(self) -> bool:
        """Whether interior-point steps take rows that are neither entries nor norms."""
        return self.interior is not None and bool(self.form.terms.pieces)

    @cached_property
    def has_curves(self) -> bool:
        """Whether faces of some of them bend: sweeps do not end on them."""
        return self.has_barriers and not all(is_piecewise_quadratic(p.h) for p in self.form.terms.pieces)

    @cached_property
    def is_alone(self) -> bool:
        """Whether there are but equations, and f is convex and bends: Newton steps need no start other than any."""
        convex = all(block.f is None or block.f.is_convex for block in self.problem.blocks)
        return convex and self.interior is not None and self.interior.pairs == 0 and self.curvature > 0

    @property
    def is_linear(self) -> bool:
        """Whether f is quadratic, too: then there is one face, and one Newton step."""
        return self.is_alone and self.form.smooth.is_quadratic


def first_carry(setup: Setup, v: np.ndarray, y: np.ndarray, beta: float, trusted: float) -> Carry:
    """The carry of a run from (v, y)."""
    form = setup.form
    u = form.terms.prox(form.apply(v) + form.c + y / beta, beta)  # at a solution that is u
    # sweeps move v freely, and would stop at the first bound that f may not cross
    inside = setup.interior is not None and bool(form.confined.any())
    phase = INTERIOR if inside and setup.has_jacobian else WARM
    if phase == INTERIOR:  # the forces that bounds will have to hold are of the size of ∇f
        y[form.general :] = np.where(
            form.confined[form.M.index], -form.smooth.gradient(v)[form.M.index], y[form.general :]
        )
    elif setup.has_jacobian and (y.any() or setup.is_linear):
        phase = RETURNING
    elif setup.has_jacobian and setup.is_alone:
        phase = INTERIOR
    point = Point(*[np.zeros(0)] * 6) if setup.interior is None else setup.interior.none
    return Carry(0, phase, v, u, y, beta, beta, point, v, y, 0, math.inf, math.inf, 0, trusted, math.inf)
