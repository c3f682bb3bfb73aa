"""Counts of what takes two values: where every entry of e is 0 or ±w, the number of nonzeros of e is ‖e‖₁/w.

So it is for entries of a variable whose values are 0 and w, and for differences of entries of one whose values are w
apart. What was not convex, and wanted a block of its own, becomes a convex row beside the discrete set.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import scipy

from .._arrays import to_numpy
from ..functions import L0, L1, Binary, Cardinality, Jumps, L1Ball
from .bounds import multiple_of_variable
from .constants import plain
from .expressions import Expression, Variable
from .joining import diff
from .maps import COPY
from .terms import Term

SAME = 1e-12
"""What is rounding of w, and of 0."""


def without_counts(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms, of which those that count nonzeros of what takes two values are ℓ1 norms and balls."""
    of: dict[Variable, tuple[float, float]] = {}
    for term in terms:
        h, on, shift = term.function, multiple_of_variable(term.expression), term.expression.constant
        if type(h) is Binary and on is not None and plain(shift):
            of[on[0]] = (h.lo - float(shift)) / on[1], (h.hi - float(shift)) / on[1]
    return tuple([_without_count(term, of) for term in terms]) if of else tuple(terms)


def _without_count(term: Term, of: dict[Variable, tuple[float, float]]) -> Term:
    h, e = term.function, term.expression
    if type(h) is Jumps and e.ndim and e.shape[0] > 1:
        h, e = L0(h.lam), diff(e)
    w = _two_values(e, of) if type(h) in (L0, Cardinality) else None
    if w is None:
        return term
    own = copy.copy(term)
    own.expression, own.made = e, {}
    if isinstance(h, L0):
        own.function = L1(h.lam / w)
    else:
        assert isinstance(h, Cardinality)
        own.function = L1Ball(h.s * w)
    return own


def _two_values(e: Expression, of: dict[Variable, tuple[float, float]]) -> float | None:
    """w where every entry of e is 0 or ±w, if the variables `of` two values take them; else None."""
    if set(e.maps) - set(of) or not all(m.is_explicit for m in e.maps.values()):
        return None
    low = np.broadcast_to(to_numpy(np.asarray(e.constant)), e.shape).ravel()
    steps = []
    for x, map_ in e.maps.items():
        M = scipy.sparse.csr_array(map_.matrix)
        if M.nnz > COPY:
            return None
        lo, hi = of[x]
        low = low + lo * np.ravel(M.sum(axis=1))
        steps.append(M * (hi - lo))
    M = scipy.sparse.csr_array(scipy.sparse.hstack(steps))
    M.eliminate_zeros()
    count = np.diff(M.indptr)
    if not count.size or count.min() < 1 or count.max() > 2:
        return None
    first, last = M.data[M.indptr[:-1]], M.data[M.indptr[1:] - 1]
    w = float(np.abs(first).max())
    # 0 and ±w: one entry that leads from or to 0, two that cancel from 0
    single = (count == 1) & ((np.abs(low) <= SAME * w) | (np.abs(low + first) <= SAME * w))
    double = (count == 2) & (np.abs(low) <= SAME * w) & (np.abs(first + last) <= SAME * w)
    same = np.abs(np.abs(first) - w) <= SAME * w
    return w if np.all((single | double) & same) else None
