"""Variables of models that are not convex which other variables define: copies, differences, and entries apart.

    u == x, X + E == T     beside h(u), h(X) not convex: x and E are expressions of u and X
    d == diff(x)           beside L0(d): the jumps of x, which have a prox of their own
    h(w[1:])               h not convex: w[1:] and w[0] are variables, of which w is made

So a block holds all that is said of it, and no equation keeps apart what h and the fit must decide together.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..functions import L0, LeastSquares, Linear, Nonsmooth, Smooth, SumSquares
from ..functions.multiples import times
from .bounds import multiple_of_variable
from .combining import rewritten
from .constraints import Constraint
from .expressions import Expression, Variable
from .maps import choice, placement
from .terms import Objective, Term
from .writing import WHOLE, Text


@dataclass(frozen=True)
class Definitions:
    """An objective and constraints without the variables that are `defined`.

    `rewritten` has what became of each constraint: None of those that define a variable. `parts` are the entries of
    variables that were cut.
    """

    objective: Objective
    rewritten: dict[Constraint, Constraint | None]
    defined: dict[Variable, Expression] = field(default_factory=dict)
    parts: dict[Variable, Expression] = field(default_factory=dict)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Those that are left."""
        return tuple([c for c in self.rewritten.values() if c is not None])

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Those that are left and those that are defined."""
        return variables_of(self.objective, self.constraints) + tuple(self.defined)

    def without(self, w: Variable, by: Expression) -> Definitions:
        """The same with `by` in the place of w."""
        return replace(
            self,
            objective=_objective(self.objective, w, by),
            rewritten={
                c: None if own is None else _constraint(own, w, by) for c, own in self.rewritten.items()
            },
            defined={v: substituted(e, w, by) for v, e in self.defined.items()} | {w: by},
        )


def definitions(objective: Objective, constraints: Sequence[Constraint]) -> Definitions:
    """The model without what its equations define, and with a variable for each part that has its own function."""
    found = Definitions(objective, dict(zip(constraints, constraints, strict=True)))
    if not _bent(objective.terms):
        return found
    while (cut := next(_cuts(found), None)) is not None:
        found = _apart(found, *cut)
    while (equation := next(_equations(found), None)) is not None:
        stated, w, by = equation
        found = replace(found, rewritten=found.rewritten | {stated: None}).without(w, by)
    return found


def variables_of(objective: Objective, constraints: Sequence[Constraint]) -> tuple[Variable, ...]:
    """The variables of a model, in the order of their appearance."""
    expressions = [term.expression for term in objective.terms]
    expressions += [] if objective.affine is None else [objective.affine]
    expressions += [constraint.difference for constraint in constraints]
    return tuple(dict.fromkeys(v for e in expressions for v in e.variables))


def substituted(e: Expression, w: Variable, by: Expression) -> Expression:
    """e with `by` in the place of w, called what it was."""
    if w not in e.maps:
        return e
    others = Expression(e.shape, {v: m for v, m in e.maps.items() if v is not w}, e.constant, e.text)
    own = by._then(e.maps[w].body, e.shape, e.text)
    own = Expression(
        e.shape, {v: m.plain for v, m in own.maps.items() if not m.is_zero}, own.constant, e.text
    )
    return (others._add(own, "+") if others.maps or np.any(e.constant) else own)._named(e.text)


def _objective(objective: Objective, w: Variable, by: Expression) -> Objective:
    affine = None if objective.affine is None else substituted(objective.affine, w, by)
    return Objective(tuple([_term(t, w, by) for t in objective.terms]), affine, objective.constant)


def _term(term: Term, w: Variable, by: Expression) -> Term:
    if w not in term.expression.maps:
        return term
    own = copy.copy(term)
    own.expression, own.made = substituted(term.expression, w, by), {}
    f = own.function
    if isinstance(f, LeastSquares) and term.weight > 0 and len(own.expression.maps) > 1:  # residuals are rows
        own.function, own.expression = SumSquares(0.5), f.G @ own.expression - f.y
    return own


def _constraint(c: Constraint, w: Variable, by: Expression) -> Constraint:
    if w not in c.difference.maps:
        return c
    return Constraint(substituted(c.left, w, by), c.sense, substituted(c.right, w, by))


# ---------------------------------------------------------------- parts


def _cuts(found: Definitions) -> Iterator[tuple[Variable, np.ndarray]]:
    """Variables with a function that is not convex of some of their entries, and nothing of all: where these are, in
    the shape of its argument."""
    terms = found.objective.terms
    whole = {x for t in terms if isinstance(t.function, Nonsmooth) for x in _alone(t.expression)}
    whole |= {x for c in found.constraints for x in _alone(c.difference)}
    whole |= {x for t in terms if _keeps_together(t) for x in t.expression.variables}
    for term in _bent(terms):
        if (
            len(term.expression.maps) == 1 and type(term.function) is not L0
        ):  # that of some entries is one of all
            ((w, map_),) = term.expression.maps.items()
            if map_.chosen is not None and w not in whole:
                yield w, map_.chosen.reshape(map_.outputs)


def _keeps_together(term: Term) -> bool:
    """Whether a smooth term of several variables would need one that is all of them."""
    f = term.function
    return isinstance(f, Smooth) and not isinstance(f, Linear | LeastSquares)


def _apart(found: Definitions, w: Variable, chosen: np.ndarray) -> Definitions:
    """With those entries of w as a variable, and the others as another."""
    places = chosen, np.setdiff1d(np.arange(w.size), chosen)
    taken = {v.name for v in found.variables}
    names = (name for k in itertools.count(1) if (name := f"{w.name}{k}") not in taken)
    parts = {Variable(p.shape, name=name): p for p, name in zip(places, names, strict=False)}
    pieces = [v._then(placement(p, w.size), w.shape, w.text) for v, p in parts.items()]
    cut = found.without(w, pieces[0]._add(pieces[1], "+")._named(w.text))
    read = {v: w._then(choice(p, w.size), p.shape, Text(v.name, WHOLE)) for v, p in parts.items()}
    known = {p: substituted(e, w, found.parts[w]) if w in found.parts else e for p, e in read.items()}
    return replace(cut, parts=cut.parts | known)


# ---------------------------------------------------------------- equations


def _equations(found: Definitions) -> Iterator[tuple[Constraint, Variable, Expression]]:
    """Those that define a variable: which, and what it is."""
    for stated, own in found.rewritten.items():
        defined = None if own is None or own.sense != "==" else _defined(found, own.difference)
        if defined is not None:
            yield stated, *defined


def _defined(found: Definitions, e: Expression) -> tuple[Variable, Expression] | None:
    """(w, what it is) where the equation e = 0 defines a variable whose block it is better without.

    Such are those beside a variable whose h is not convex, and one that has nothing but such an h where the h of what
    defines it is that of a variable.
    """
    multiples = {v: a for v, m in e.maps.items() if (a := m.multiple)}
    if len(e.maps) < 2 or any(m.operator.rows is not None for m in e.maps.values()):
        return None
    terms = found.objective.terms
    carriers = {v for t in _bent(terms) for v in _alone(t.expression)}
    copies = len(e.maps) == 2 == len(multiples)
    if carriers & set(multiples):
        for w in multiples:
            if (w not in carriers or copies) and carriers & (set(multiples) - {w}):
                return w, _solved(e, w)
    for w in carriers & set(multiples):
        own = [t for t in terms if w in t.expression.maps]
        elsewhere = any(w in c.difference.maps and c.difference is not e for c in found.constraints)
        if len(own) == 1 and not elsewhere and isinstance(own[0].function, Nonsmooth):
            h = times(own[0].function, own[0].coefficient)
            if rewritten(h, substituted(own[0].expression, w, _solved(e, w)))[0] is not h:
                return w, _solved(e, w)
    return None


def _solved(e: Expression, w: Variable) -> Expression:
    """What w is where e = 0."""
    a = e.maps[w].multiple
    assert a
    others = Expression(e.shape, {v: m for v, m in e.maps.items() if v is not w}, e.constant, e.text)
    return others._then(-1.0 / a, e.shape, w.text)


def _bent(terms: Sequence[Term]) -> list[Term]:
    """Those with an h that is not convex."""
    own = [t for t in terms if isinstance(t.function, Nonsmooth) and t.coefficient > 0]
    return [t for t in own if not t.function.is_convex]


def _alone(e: Expression) -> set[Variable]:
    """The variable that an expression is a multiple of, if any."""
    on = multiple_of_variable(e)
    return set() if on is None else {on[0]}
