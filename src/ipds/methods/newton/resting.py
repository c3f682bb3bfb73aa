"""Points at which every term of the objective is at its own minimum: nothing pulls, and rows need no multiplier.

    0 ∈ ∂H(u) on the general rows,   -∇f(v) ∈ ∂H(v) on the entries that rows pick,   u = M v + c

A straight line between points on it, a fit without error, a machine that stays where it should: the objective is zero,
and multipliers that steps leave there are rounding, which is large beside forces that are rounding too. So y = 0 is
tried once steps have no more to do.
"""

from __future__ import annotations

import numpy as np

from ..._arrays import norm
from .form import Form
from .passage import Pair

SMALL = 1e-6
"""Part of the largest entry up to which others may be zero, where the equation then holds as well."""
ROUNDING = 1e-14
"""Part of the rows, and of the size of ∇f, that is nothing: with more, what is nearly at rest would pass for it."""


def at_rest(form: Form, v: np.ndarray, beta: float, size: float) -> Pair | None:
    """The pair at rest near v, with y = 0 on general rows; None where forces are left. `size` is that of ∇f."""
    entries = np.abs(v)
    rounded = np.where(entries <= SMALL * entries.max(initial=0.0), 0.0, v)
    found = _resting(form, rounded, beta, size)
    return _resting(form, v, beta, size) if found is None and not np.array_equal(v, rounded) else found


def _resting(form: Form, v: np.ndarray, beta: float, size: float) -> Pair | None:
    force, index, first = form.smooth.gradient(v), form.M.index, form.picks
    pulled = np.abs(force) > ROUNDING * size
    chosen = first[pulled[index[first]]]  # of the rows that pick an entry which ∇f pulls at
    if len(chosen) < np.count_nonzero(pulled):
        return None
    rows = form.apply(v) + form.c
    u = form.terms.prox(rows, beta)
    if norm(u - rows) > ROUNDING * (norm(rows) + norm(form.c) + norm(v)):  # ‖M‖ = 1
        return None
    y = np.zeros(form.m)
    y[form.general + chosen] = -force[index[chosen]]
    return Pair(v, u, y, beta) if np.array_equal(form.terms.prox(u + y / beta, beta), u) else None
