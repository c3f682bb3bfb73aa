"""What takes two values, in other words: permutations, rows with one entry, and counts.

    XᵀX = I beside X ≥ 0, X square     X is a permutation: 0 or 1, and every row and column has the sum 1
    XᵀX = I beside X 0 or 1            every column has the sum 1, every row no more
    one nonzero in each row of sum r   beside other rows: 0 or r
    ‖e‖₀, where entries are 0 or ±w    ‖e‖₁/w: entries of a variable of the values 0 and w, or differences of values w
                                       apart

Discrete blocks are searched by branch and bound, walks and flips; what is said of them beside is linear.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import scipy

from .._arrays import row_counts, to_numpy
from ..functions import (
    L0,
    L1,
    Binary,
    Cardinality,
    Jumps,
    L1Ball,
    NonNegative,
    RowCardinality,
    RowSimplex,
    Stiefel,
)
from .bounds import multiple_of_variable
from .constants import plain
from .constraints import Constraint
from .expressions import Expression, Variable
from .joining import diff
from .maps import COPY
from .terms import Term

SAME = 1e-12
"""What is rounding of w, and of 0."""


def in_two_values(
    terms: Sequence[Term], constraints: Sequence[Constraint]
) -> tuple[list[Term], list[Constraint]]:
    """The terms, with such sets and counts in other words, and the constraints that these need besides."""
    if not any(type(t.function) in (Binary, Stiefel, RowCardinality) for t in terms):
        return list(terms), []
    own, more = list[Term](), list[Constraint]()
    among_others = {X for c in constraints for X in c.difference.maps}
    for term in terms:
        X, h = _itself(term.expression), term.function
        beside = [t.function for t in terms if X is not None and _itself(t.expression) is X]
        binary = any(type(h) is Binary and h.lo >= 0 for h in beside)
        if X is not None and type(h) is Stiefel:
            nonnegative = any(type(h) is NonNegative for h in beside) or any(
                c.sense == ">=" and _itself(c.difference) is X for c in constraints
            )
            square = X.shape[0] == X.shape[1]
            if (square and nonnegative) or any(type(h) is Binary and _is_zero_one(h) for h in beside):
                rows = X.sum(axis=1)
                more += [X.sum(axis=0) == 1.0, rows == 1.0 if square else rows <= 1.0]
                own += [] if binary else [Term(Binary(), X, term.name)]
                continue
        elif X in among_others and type(h) is RowCardinality and _is_one_hot(beside):
            assert X is not None
            radius = next(float(h.radius) for h in beside if type(h) is RowSimplex)
            own += [] if binary else [Term(Binary(0.0, radius), X, term.name)]
            continue
        elif X in among_others and type(h) is RowSimplex and (binary or _is_one_hot(beside)):
            assert X is not None
            more.append(X.sum(axis=1) == h.radius)
            continue
        own.append(term)
    return _without_counts(own), more


def _itself(e: Expression) -> Variable | None:
    """The variable that an expression is, if any."""
    on = multiple_of_variable(e)
    return on[0] if on is not None and on[1] == 1.0 and plain(e.constant) and e.constant == 0.0 else None


def _is_one_hot(functions: Sequence[object]) -> bool:
    """Whether every row has one nonzero and a sum, the same for all."""
    one = any(type(h) is RowCardinality and h.s == 1 for h in functions)
    return one and any(type(h) is RowSimplex and plain(h.radius) for h in functions)


def _is_zero_one(h: Binary) -> bool:
    return (h.lo, h.hi) == (0.0, 1.0)


def _without_counts(terms: list[Term]) -> list[Term]:
    """The terms, of which those that count nonzeros of what takes two values are ℓ1 norms and balls."""
    of: dict[Variable, tuple[float, float]] = {}
    for term in terms:
        h, on, shift = term.function, multiple_of_variable(term.expression), term.expression.constant
        if type(h) is Binary and on is not None and plain(shift):
            of[on[0]] = (h.lo - float(shift)) / on[1], (h.hi - float(shift)) / on[1]
    return [_without_count(term, of) for term in terms] if of else terms


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
    count = row_counts(M)
    if not count.size or count.min() < 1 or count.max() > 2:
        return None
    first, last = M.data[M.indptr[:-1]], M.data[M.indptr[1:] - 1]
    w = float(np.abs(first).max())
    # 0 and ±w: one entry that leads from or to 0, two that cancel from 0
    single = (count == 1) & ((np.abs(low) <= SAME * w) | (np.abs(low + first) <= SAME * w))
    double = (count == 2) & (np.abs(low) <= SAME * w) & (np.abs(first + last) <= SAME * w)
    same = np.abs(np.abs(first) - w) <= SAME * w
    return w if np.all((single | double) & same) else None
