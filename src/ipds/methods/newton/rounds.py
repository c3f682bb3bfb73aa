"""Rounds of ADMM, each with one factorisation of K = ∇²f + εI + βMᵀM: they bring any start near, and β to its size.

v ← v - K⁻¹(∇f(v) + Mᵀ(y + β(M v + c - u)))
u ← prox_H(M v + c + y/β, 1/β),  y ← y + β(M v + c - u)     (s = y/β in the code)
"""

from __future__ import annotations

import math

import numpy as np

from ..._arrays import norm
from ...deadline import raise_if_late
from . import semismooth
from .algebra import Factor
from .form import Form
from .passage import Pair
from .weights import Weights

SWEEPS, FIRST = (10, 10, 10), (10, 20)
"""Sweeps of the parts of a round; of the first rounds of linear programs, which more do not bring much nearer."""
ALIKE = 1.25
"""Change of β that is not worth another factorisation."""
LEAP, SETTLING = 30.0, 100.0
"""Largest change of β after a round; where rounds go on to the end, less than SETTLING/k² of it after the k-th: ADMM
converges where the changes can be summed (He, Yang & Wang, JOTA 106, 2000)."""
PROXIMAL = 1e-6
"""ε of the rounds, in units of β."""
LOOKS, FARTHEST = 4, 1e3
"""Steps towards the first β of losses that have neither a curvature nor a slope of their own; the longest of them."""
OPPOSED = 0.5
"""Part of the slopes of all other terms that such losses are taken to hold: not all of them act on their rows."""


def parts(taken: int, brief: bool) -> tuple[int, ...]:
    """Sweeps of the round after so many, part by part; of linear programs and problems with barriers, or others."""
    return FIRST[taken : taken + 1] if brief and taken < len(FIRST) else SWEEPS


def swept(form: Form, factor: Factor, start: Pair, count: int) -> Pair:
    """So many sweeps with the β of the start and its K."""
    (v, u, y, beta), is_quadratic = start, form.smooth.is_quadratic
    eps = PROXIMAL * beta
    slope = form.slope if is_quadratic else np.zeros(form.n)
    M, c, prox, solve = form.M, form.c, form.terms.prox_with(beta), factor.direct or factor.solve
    s = y / beta
    shift = c + s
    for _ in range(count):
        if is_quadratic:  # the same v, as ∇f(v) = ∇f(0) + ∇²f v: no product with ∇²f
            v = solve(eps * v - slope + beta * M.adjoint(u - shift))
        else:
            v = _searched(form, factor, v, beta * (M.apply(v) - u + shift), beta)
        w = M.apply(v) + shift
        u = prox(w)
        s = w - u
        shift = c + s
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
    """β, objective per unit of u²: the curvature of f, or slopes against sizes where f has none.

    Logarithms, entropies and the like have slopes of any size: theirs is that at points as large as u has to be, or
    points are where slopes are as large as those of other terms.
    """
    if curvature > 0:
        return curvature
    terms, e = form.terms, form.terms.entries
    steepest = [p.h.lipschitz(p.shape) / p.scale for p in terms.pieces]
    slopes = [
        norm(form.smooth.gradient(v)),
        norm(np.maximum(np.abs(e.left), np.abs(e.right))),
        norm(terms.radius),
    ]
    slope = math.hypot(*slopes, *filter(math.isfinite, steepest))
    bounds = [bound[np.isfinite(bound)] for bound in (e.lower, e.upper)]
    size = math.hypot(*map(norm, (form.c, e.place, *bounds)))
    if slope > 0 and size > 0:
        return slope / size
    return _weight_on_graph(form, _reach(form), slope)


def _reach(form: Form) -> float:
    """How large u is on the rows of pieces where v meets equations, or else bounds, by a step of steepest descent."""
    e, last = form.terms.entries, form.terms.last
    bound = np.where(np.isfinite(e.upper), e.upper, e.lower)
    for rows in (e.lower == e.upper, np.isfinite(bound)):
        right = np.zeros(form.m)
        right[last][rows] = (bound - form.c[last])[rows]
        v = form.adjoint(right)
        product = form.apply(v)
        square = float(np.sum(product[right != 0] ** 2))
        if square > 0:
            return float(v @ v) / square * norm(product[: last.start])
    return 0.0


def _weight_on_graph(form: Form, size: float, slope: float) -> float:
    """β with which the pieces of H have u of that `size`, or else y of that `slope`, at u = prox(0), y = -βu.

    1 where neither is known, or the pieces have no slope at 0. ‖u‖ falls as β grows, by a root of it for logarithms.
    """
    beta, origin, pieces = 1.0, np.zeros(form.m), form.terms.pieces
    for _ in range(LOOKS if pieces and (size > 0 or slope > 0) else 0):
        u = norm(np.concatenate([piece.prox(origin, beta) for piece in pieces]))
        if not (u > 0 and math.isfinite(u)):
            return 1.0
        ratio = u / size if size > 0 else OPPOSED * slope / (beta * u)
        beta *= min(max(ratio, 1 / FARTHEST), FARTHEST) ** (4 / 3)
    return beta
