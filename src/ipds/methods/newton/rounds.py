"""Rounds of ADMM, each with one factorisation of K = ∇²f + εI + βMᵀM: they bring any start near, and β to its size.

v ← v - K⁻¹(∇f(v) + Mᵀ(y + β(M v + c - u)))
u ← prox_H(M v + c + y/β, 1/β),  y ← y + β(M v + c - u)     (s = y/β in the code)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...deadline import raise_if_late
from . import semismooth
from .algebra import Factor
from .form import Form
from .passage import Pair
from .weights import Weights

SWEEPS, FIRST = 30, (10, 20)
"""Sweeps of a round; of the first rounds of linear programs, which more of them do not bring much nearer."""
ALIKE = 1.25
"""Change of β that is not worth another factorisation."""
LEAP, SETTLING = 30.0, 100.0
"""Largest change of β after a round; where rounds go on to the end, less than SETTLING/k² of it after the k-th: ADMM
converges where the changes can be summed (He, Yang & Wang, JOTA 106, 2000)."""
PROXIMAL = 1e-6
"""ε of the rounds, in units of β."""


def sweeps(taken: int, brief: bool) -> int:
    """Sweeps of the round after so many; of linear programs and problems with barriers, or others."""
    return FIRST[taken] if brief and taken < len(FIRST) else SWEEPS


def swept(form: Form, factor: Factor, start: Pair, count: int) -> Pair:
    """So many sweeps with the β of the start and its K."""
    (v, u, y, beta), is_quadratic = start, form.smooth.is_quadratic
    eps = PROXIMAL * beta
    slope = form.smooth.gradient(np.zeros(form.n)) if is_quadratic else np.zeros(form.n)
    M, c = form.M, form.c
    product, s = M.apply(v) + c, y / beta
    for _ in range(count):
        if is_quadratic:  # the same v, as ∇f(v) = ∇f(0) + ∇²f v: no product with ∇²f
            v = factor.solve(eps * v - slope + beta * M.adjoint(u - c - s))
        else:
            force = beta * (product - u + s)
            v = _searched(form, factor, v, force, beta)
        product = M.apply(v) + c
        w = product + s
        u = form.terms.prox(w, beta)
        s = w - u
    return Pair(v, u, beta * s, beta)


def _searched(form: Form, factor: Factor, v: np.ndarray, force: np.ndarray, beta: float) -> np.ndarray:
    """v after a step as long as the augmented Lagrangian falls along it, `force` being its slope in M v."""
    raise_if_late()  # thirty sweeps take a hundred gradients, which may be the caller's
    slope_here = form.smooth.gradient(v) + form.adjoint(force)
    d = factor.solve(-slope_here)
    along, tried = form.apply(d), {0.0: v}

    def slope(length: float) -> float:
        tried[length] = v + length * d
        return float(form.smooth.gradient(tried[length]) @ d + (force + beta * length * along) @ along)

    return tried[semismooth.searched(slope, float(slope_here @ d))]


def balanced(beta: float, equation: float, stationarity: float) -> float:
    """β where the residuals of both are equally far, unless it is there nearly."""
    change = _change(equation, stationarity, LEAP)
    return beta * change if max(change, 1 / change) > ALIKE else beta


def settling(beta: float, equation: float, stationarity: float, taken: int) -> float:
    """The same, moved ever less as rounds are taken."""
    return beta * _change(equation, stationarity, min(LEAP, 1 + SETTLING / (taken + 1) ** 2))


def _change(equation: float, stationarity: float, most: float) -> float:
    if not (equation > 0 and stationarity > 0):
        return 1.0
    return min(max(math.sqrt(equation / stationarity), 1 / most), most)


def uniform(form: Form, beta: float) -> Weights:
    """W = βI."""
    terms = form.terms
    along, direction = np.full(len(terms.radius), beta), np.ones(len(terms.label))
    return Weights(np.full(form.m, beta), form.general, terms.members, terms.label, direction, along)


def first_weight(form: Form, v: np.ndarray, curvature: float) -> float:
    """β, objective per unit of u²: the curvature of f, or slopes against sizes where f has none."""
    if curvature > 0:
        return curvature
    terms, e = form.terms, form.terms.entries
    steepest = [p.h.lipschitz(p.shape) / p.scale for p in terms.pieces]
    slopes: list[Any] = [
        np.linalg.norm(form.smooth.gradient(v)),
        np.linalg.norm(np.maximum(np.abs(e.left), np.abs(e.right))),
        np.linalg.norm(terms.radius),
        *filter(math.isfinite, steepest),
    ]
    sizes = [np.linalg.norm(form.c), np.linalg.norm(e.place)]
    sizes += [np.linalg.norm(bound[np.isfinite(bound)]) for bound in (e.lower, e.upper)]
    slope, size = float(np.linalg.norm(slopes)), float(np.linalg.norm(sizes))
    return slope / size if slope > 0 and size > 0 else 1.0
