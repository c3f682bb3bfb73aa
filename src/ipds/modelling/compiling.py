"""From an objective and constraints to the canonical form: what goes to which block, and why.

    min Σ_j f_j(v_j) + h_j(v_j) + H(u)   subject to   u - Σ_j M_j v_j = c

Every variable v_j keeps its smooth terms and at most one nonsmooth function: the one that is not convex, or the set
it must stay in. All other convex terms H_k(M_k v + c_k), the equations and the inequalities are rows of one last block
u with A = I, which has a closed form. A term that fits neither, because it is not convex (or has no prox) and its
argument is not a variable, gets a variable w of its own and the equation M v + c - w = 0. Where that is all there is,
and only one of the h is not convex, w is the last block itself.

Where one variable has all there is, f(v) + h(v), there is no equation and no other block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from .._arrays import Shape, to_numpy
from ..functions import Huber, Linear, Nonsmooth, SquaredHinge, Stacked, Zero
from ..functions.multiples import times
from ..problem import Block
from . import refusals
from .assembling import (
    balls_as_cones,
    block_map,
    constants_of,
    merged,
    operator_of,
    require_together,
    smooth_of,
)
from .bounds import box_of, multiple_of_variable
from .combining import joint, parts_of, precomposed, rewritten, rows_set, zero_set
from .consistency import solvable
from .constants import block_constant, block_shape
from .constraints import Constraint
from .defining import definitions, variables_of
from .expressions import Expression, Variable
from .faces import as_smooth_of, is_smooth
from .parts import Compiled, Holding, Place, Row
from .terms import Objective, Term
from .two_values import in_two_values

ON_GRAPH = 100_000
"""Entries of a map up to which losses that are linear far out are rows: first-order steps on an f take less beyond."""


def compile_model(objective: Objective, constraints: Sequence[Constraint]) -> Compiled:
    """The canonical form of a model."""
    given = tuple(dict.fromkeys(constraints))  # one that is listed twice counts once
    found = definitions(objective, given)
    draft = _Draft(found.objective, found.constraints)
    terms, more = in_two_values(found.objective.terms, found.constraints)
    draft.place_terms(terms)
    draft.place_affine(found.objective.affine)
    draft.place_constraints((*found.constraints, *more))
    draft.place_bounds()
    draft.require_rows()
    return replace(draft.finished(), definitions=found)


class _Draft:
    """The canonical form while it is being filled."""

    def __init__(self, objective: Objective, constraints: Sequence[Constraint]):
        self.holdings = {v: Holding() for v in variables_of(objective, constraints)}
        if not self.holdings:
            raise ValueError("minimize: there is no variable in the objective or the constraints")
        _require_distinct_names(list(self.holdings))
        self.variables = tuple(self.holdings)
        self.auxiliary: dict[Variable, Expression] = {}
        self.rows: list[Row] = []
        self.equations: list[Row] = []
        self.places: dict[Constraint, Place] = {}
        self.constant = objective.constant

    # ------------------------------------------------------------------ terms

    def place_terms(self, terms: Sequence[Term]) -> None:
        """Smooth terms first, then what is not convex, then sets, then the other convex ones."""
        nonsmooth, convex = [], all(map(_is_convex, terms))
        parts = [part for term in terms for part in parts_of(term)]
        for term in parts if convex else terms:
            if term.is_concave and term.weight > 0:
                raise ValueError(refusals.concave(term))
            if term.coefficient == 0.0:
                continue
            if not term.expression.variables:
                self.constant += _value(term)
            elif is_smooth(term.function) and not (convex and _is_on_graph(term)):
                self._place_smooth(term)
            else:
                nonsmooth.append(term)
        for term in sorted(nonsmooth, key=_urgency):  # a stable sort: otherwise as written
            self._place_nonsmooth(term)

    def _place_smooth(self, term: Term) -> None:
        e, variables = term.expression, term.expression.variables
        if len(variables) == 1:
            made = term.made.get("smooth")
            if made is None:
                made = as_smooth_of(
                    term.function, block_map(e.maps[variables[0]]), block_constant(e.constant)
                )
                term.made["smooth"] = made
            holding = self.holdings[variables[0]]
            holding.smooth.append((term.coefficient * made[0], made[1]))
            holding.smooth_notes.append(f"`{term}`")
            return
        if term.coefficient > 0 and isinstance(term.function, Nonsmooth):
            self.rows.append(Row(times(term.function, term.coefficient), e, f"`{term}`"))
            return
        w = self._split_off(term)
        weight, f = as_smooth_of(term.function, block_map(w.maps[w]), 0.0)
        self.holdings[w].smooth.append((term.coefficient * weight, f))

    def _place_nonsmooth(self, term: Term) -> None:
        assert isinstance(term.function, Nonsmooth)
        own = times(term.function, term.coefficient)
        h, e = rewritten(own, term.expression)
        on = multiple_of_variable(e)
        if on is not None and (h.is_set or not h.is_convex or self._holds_nonconvex(on[0])):
            holding = self.holdings[on[0]]
            own_set = precomposed(h, on[1], block_constant(e.constant))
            both = joint(holding.h, own_set, block_shape(on[0].shape))
            if both is not None:
                holding.h = both
                holding.h_notes.append(f"`{term}`")
                return
        if h.is_convex:
            self.rows.append(Row(h, e, f"`{term}`"))
            return
        self.holdings[self._split_off(term)].h = own

    def _holds_nonconvex(self, variable: Variable) -> bool:
        h = self.holdings[variable].h
        return h is not None and not h.is_convex

    def _split_off(self, term: Term) -> Variable:
        """A variable w for the argument of a term, with the equation argument - w = 0."""
        e = term.expression
        taken = {v.name for v in self.holdings}
        name = next(n for n in (f"w{k}" for k in range(1, len(taken) + 2)) if n not in taken)
        w = Variable(e.shape, name=name)
        self.auxiliary[w] = e
        self.holdings[w] = Holding(h_notes=[f"`{term}`"])
        self.equations.append(Row(zero_set(), e - w, f"{name} = {e}"))
        return w

    def place_affine(self, affine: Expression | None) -> None:
        """⟨c_j, v_j⟩ for every variable of the affine part of the objective."""
        if affine is None:
            return
        self.constant += float(np.sum(to_numpy(np.asarray(affine.constant))))
        for variable, map_ in affine.maps.items():
            slope = block_map(map_).operator.adjoint(np.ones(1))
            self.holdings[variable].smooth.append((1.0, Linear(slope)))
            self.holdings[variable].smooth_notes.append(f"`{affine}`")

    # ------------------------------------------------------------------ constraints

    def place_constraints(self, constraints: Sequence[Constraint]) -> None:
        """Bounds of a variable are set aside; everything else becomes rows."""
        for constraint in constraints:
            e = solvable(constraint)
            on = multiple_of_variable(e)
            if on is not None and constraint.sense != "==":
                self.holdings[on[0]].bounds.append(constraint)
            else:
                self.equations.append(Row(rows_set(constraint), e, f"`{constraint}`", constraint))

    def place_bounds(self) -> None:
        """Bounds of a variable become the set of its block where that is free, else rows."""
        for variable, holding in self.holdings.items():
            if not holding.bounds:
                continue
            free = holding.h is None and (self.rows or self.equations or len(self.holdings) == 1)
            shape = block_shape(variable.shape)
            box = box_of(holding.bounds, shape)
            both = joint(holding.h, box, shape) if free or self._holds_nonconvex(variable) else None
            kind: Literal["bound", "merged"] = "bound" if holding.h is None else "merged"
            for constraint in holding.bounds:
                if both is None:
                    row = Row(rows_set(constraint), constraint.difference, f"`{constraint}`", constraint)
                    self.equations.append(row)
                else:
                    self.places[constraint] = Place(kind, variable=variable)
                    holding.h_notes.append(f"`{constraint}`")
            holding.h = holding.h if both is None else both

    def require_rows(self) -> None:
        """The last block is never empty: convex sets of the variables move there, else it is free.

        A single variable with one function needs no last block.
        """
        if len(self.holdings) == 1 and not self.equations and len(self.rows) <= 1:
            ((variable, holding),) = self.holdings.items()
            on = multiple_of_variable(self.rows[0].expression) if self.rows else None
            if on is not None and holding.h is None:
                row = self.rows.pop()
                holding.h = precomposed(row.function, on[1], block_constant(row.expression.constant))
                holding.h_notes.append(row.note)
        if self.rows or self.equations or len(self.holdings) == 1:
            return
        for variable, holding in self.holdings.items():
            if holding.h is not None and holding.h.is_convex:
                self.rows.append(Row(holding.h, variable, " and ".join(holding.h_notes)))
                holding.h, holding.h_notes = None, []
        if not self.rows:
            variable = self.variables[0]
            self.rows.append(Row(Zero(), variable, "nothing: a copy of the variable, free"))

    # ------------------------------------------------------------------ blocks

    def finished(self) -> Compiled:
        """Blocks, operators and right-hand side."""
        self.rows = balls_as_cones(self.rows)
        rows = self.rows + self.equations
        if not rows:
            return self._without_equation()
        if self._is_last():
            return Compiled(
                self._blocks(rows),
                constants_of(rows),
                self.variables,
                self.auxiliary,
                self.holdings,
                [],
                self.places,
            )
        require_together(rows)
        starts = np.cumsum([0] + [row.expression.size for row in rows])
        for row, start in zip(rows, starts[:-1].tolist(), strict=True):
            if row.constraint is not None:
                self.places[row.constraint] = Place("rows", slice(start, start + row.expression.size))
        shape: Shape = block_shape(rows[0].expression.shape) if len(rows) == 1 else (int(starts[-1]),)
        h = rows[0].function if len(rows) == 1 else Stacked(merged(self.rows, self.equations))
        blocks = self._blocks(rows)
        taken = {v.name for v in self.holdings}
        name = next(n for n in ("u", *(f"u{k}" for k in range(1, len(taken) + 2))) if n not in taken)
        blocks.append(Block(h=h, A=1.0, shape=shape, name=name))
        return Compiled(
            blocks,
            constants_of(rows),
            self.variables,
            self.auxiliary,
            self.holdings,
            rows,
            self.places,
        )

    def _is_last(self) -> bool:
        """Whether the only row is the equation of a variable that was split off, which may be the last block."""
        own = not self.rows and len(self.equations) == 1 and self.equations[0].constraint is None
        bent = [holding for holding in self.holdings.values() if holding.h and not holding.h.is_convex]
        return own and len(bent) <= 1

    def _blocks(self, rows: Sequence[Row]) -> list[Block]:
        """Those of the variables."""
        blocks = []
        for variable, holding in self.holdings.items():
            A = operator_of(variable, [row.expression for row in rows])
            f = smooth_of(holding, self._constant_here(variable))
            blocks.append(
                Block(f=f, h=holding.h or Zero(), A=A, shape=block_shape(variable.shape), name=variable.name)
            )
        return blocks

    def _without_equation(self) -> Compiled:
        """One variable, one block, nothing else."""
        ((variable, holding),) = self.holdings.items()
        f, shape = smooth_of(holding, self.constant), block_shape(variable.shape)
        block = Block(f=f, h=holding.h or Zero(), shape=shape, name=variable.name)
        return Compiled([block], None, self.variables, {}, self.holdings, [], self.places)

    def _constant_here(self, variable: Variable) -> float:
        """The objective's constant, for the first variable with a smooth term, or the first of all."""
        owner = next((v for v, holding in self.holdings.items() if holding.smooth), self.variables[0])
        return self.constant if variable is owner else 0.0


def _is_convex(term: Term) -> bool:
    """Whether a term is known to be convex."""
    return bool(term.function.is_convex) and term.coefficient >= 0


def _is_on_graph(term: Term) -> bool:
    """Whether Newton steps are to keep to the graph of a term's gradient: it is linear beyond some point, and as an f
    that bends nowhere it would send them far off."""
    e = term.expression
    here = all(map_.operator.rows is None for map_ in e.maps.values())  # and not on workers
    entries = e.size if multiple_of_variable(e) is not None else e.size * sum(v.size for v in e.variables)
    return isinstance(term.function, Huber | SquaredHinge) and here and entries <= ON_GRAPH


def _urgency(term: Term) -> int:
    """The order in which terms claim their variable's block."""
    h = term.function
    assert isinstance(h, Nonsmooth)
    return 0 if not h.is_convex else 1 if h.is_set else 2


def _value(term: Term) -> float:
    """The value of a term without variables."""
    e = term.expression
    value = term.coefficient * term.function(
        np.broadcast_to(to_numpy(np.asarray(e.constant)), block_shape(e.shape)) + 0.0
    )
    if not math.isfinite(value):
        raise ValueError(f"`{term}` has no variable in it and the value {value}")
    return value


def _require_distinct_names(variables: Sequence[Variable]) -> None:
    names = [v.name for v in variables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"minimize: two variables are called {twice[0]!r}; give them different names")
