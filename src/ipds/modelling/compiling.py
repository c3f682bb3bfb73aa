"""From an objective and constraints to the canonical form: what goes to which block, and why.

    min Σ_j f_j(v_j) + h_j(v_j) + H(u)   subject to   u - Σ_j M_j v_j = c

Every variable v_j keeps its smooth terms and at most one nonsmooth function: the one that is not convex, or the set
it must stay in. All other convex terms H_k(M_k v + c_k), the equations and the inequalities are rows of one last block
u with A = I, which has a closed form. A term that fits neither, because it is not convex (or has no prox) and its
argument is not a variable, gets a variable w of its own and the equation M v + c - w = 0.

Where one variable has all there is, f(v) + h(v), there is no equation and no other block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy

from .._arrays import Shape, to_numpy
from ..functions import (
    L1,
    L2,
    L21,
    Box,
    Linear,
    Linf,
    Nonsmooth,
    Nuclear,
    Precomposed,
    Scaled,
    Smooth,
    Stacked,
    Sum,
    TotalVariation1D,
    Weighted,
    Zero,
)
from ..functions.composed import total
from ..operators import FlatStack, Operator, ZeroMap
from ..problem import Block
from . import refusals
from .bounds import box_of, multiple_of_variable
from .consistency import require_solvable
from .constraints import Constraint
from .expressions import Expression, Variable
from .faces import as_smooth_of, is_smooth
from .maps import Map
from .terms import Objective, Term, plain, unfolded

_PROPORTIONAL = (L1, L2, L21, Linf, Nuclear, TotalVariation1D)
"""Functions λ·g with λ in `lam`: their multiples are of the same kind."""


@dataclass
class Holding:
    """What the block of a variable holds."""

    smooth: list[tuple[float, Smooth]] = field(default_factory=list)
    h: Nonsmooth | None = None
    smooth_notes: list[str] = field(default_factory=list)
    h_notes: list[str] = field(default_factory=list)
    bounds: list[Constraint] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """Rows u = expression of the last block, and their function."""

    function: Nonsmooth
    expression: Expression
    note: str
    constraint: Constraint | None = None


@dataclass(frozen=True)
class Place:
    """Where the multiplier of a constraint is found: in rows of u, or at a bound of a variable's block."""

    kind: Literal["rows", "bound", "merged"]
    rows: slice | None = None
    variable: Variable | None = None


@dataclass(frozen=True)
class Compiled:
    """The blocks and all that leads back to the model."""

    blocks: list[Block]
    b: Any
    variables: tuple[Variable, ...]
    auxiliary: dict[Variable, Expression]
    holdings: dict[Variable, Holding]
    rows: list[Row]
    places: dict[Constraint, Place]
    constant: float


def compile_model(objective: Objective, constraints: Sequence[Constraint]) -> Compiled:
    """The canonical form of a model."""
    constraints = tuple(dict.fromkeys(constraints))  # one that is listed twice counts once
    draft = _Draft(objective, constraints)
    draft.place_terms(objective.terms)
    draft.place_affine(objective.affine)
    draft.place_constraints(constraints)
    draft.place_bounds()
    draft.require_rows()
    return draft.finished(constraints)


class _Draft:
    """The canonical form while it is being filled."""

    def __init__(self, objective: Objective, constraints: Sequence[Constraint]):
        expressions = [term.expression for term in objective.terms]
        expressions += [] if objective.affine is None else [objective.affine]
        expressions += [constraint.difference for constraint in constraints]
        self.holdings = {v: Holding() for e in expressions for v in e.variables}
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
        nonsmooth = []
        for term in terms:
            if term.is_concave and term.weight > 0:
                raise ValueError(refusals.concave(term))
            if term.coefficient == 0.0:
                continue
            if not term.expression.variables:
                self.constant += _value(term)
            elif is_smooth(term.function):
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
                made = as_smooth_of(term.function, at_least_1d(e.maps[variables[0]]), unfolded(e.constant))
                term.made["smooth"] = made
            holding = self.holdings[variables[0]]
            holding.smooth.append((term.coefficient * made[0], made[1]))
            holding.smooth_notes.append(f"`{term}`")
            return
        if term.coefficient > 0 and isinstance(term.function, Nonsmooth):
            self.rows.append(Row(_times(term.function, term.coefficient), e, f"`{term}`"))
            return
        w = self._split_off(term)
        weight, f = as_smooth_of(term.function, at_least_1d(w.maps[w]), 0.0)
        self.holdings[w].smooth.append((term.coefficient * weight, f))

    def _place_nonsmooth(self, term: Term) -> None:
        assert isinstance(term.function, Nonsmooth)
        h, e = _times(term.function, term.coefficient), term.expression
        on = multiple_of_variable(e)
        if on is not None and (h.is_set or not h.is_convex or self._holds_nonconvex(on[0])):
            holding = self.holdings[on[0]]
            joint = _joint(holding.h, _precomposed(h, on[1], unfolded(e.constant)))
            if joint is not None:
                holding.h = joint
                holding.h_notes.append(f"`{term}`")
                return
        if h.is_convex:
            self.rows.append(Row(h, e, f"`{term}`"))
            return
        self.holdings[self._split_off(term)].h = h

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
        self.holdings[w] = Holding(h_notes=[f"`{term}`, its argument being no variable"])
        self.equations.append(Row(_zero_set(), e - w, f"{name} = {e}"))
        return w

    def place_affine(self, affine: Expression | None) -> None:
        """⟨c_j, v_j⟩ for every variable of the affine part of the objective."""
        if affine is None:
            return
        self.constant += float(np.sum(to_numpy(np.asarray(affine.constant))))
        for variable, map_ in affine.maps.items():
            slope = at_least_1d(map_).operator.adjoint(np.ones(1))
            self.holdings[variable].smooth.append((1.0, Linear(slope)))
            self.holdings[variable].smooth_notes.append(f"`{affine}`")

    # ------------------------------------------------------------------ constraints

    def place_constraints(self, constraints: Sequence[Constraint]) -> None:
        """Bounds of a variable are set aside; everything else becomes rows."""
        for constraint in constraints:
            e = constraint.difference
            require_solvable(constraint)
            on = multiple_of_variable(e)
            if on is not None and constraint.sense != "==":
                self.holdings[on[0]].bounds.append(constraint)
            else:
                self.equations.append(Row(_rows_set(constraint), e, f"`{constraint}`", constraint))

    def place_bounds(self) -> None:
        """Bounds of a variable become the set of its block where that is free, else rows."""
        for variable, holding in self.holdings.items():
            if not holding.bounds:
                continue
            free = holding.h is None and (self.rows or self.equations or len(self.holdings) == 1)
            box = box_of(holding.bounds, variable.shape or (1,))
            joint = _joint(holding.h, box) if free or self._holds_nonconvex(variable) else None
            kind: Literal["bound", "merged"] = "bound" if holding.h is None else "merged"
            for constraint in holding.bounds:
                if joint is None:
                    row = Row(_rows_set(constraint), constraint.difference, f"`{constraint}`", constraint)
                    self.equations.append(row)
                else:
                    self.places[constraint] = Place(kind, variable=variable)
                    holding.h_notes.append(f"`{constraint}`")
            holding.h = holding.h if joint is None else joint

    def require_rows(self) -> None:
        """The last block is never empty: convex sets of the variables move there, else it is free.

        A single variable with one function needs no last block.
        """
        if len(self.holdings) == 1 and not self.equations and len(self.rows) <= 1:
            ((variable, holding),) = self.holdings.items()
            on = multiple_of_variable(self.rows[0].expression) if self.rows else None
            if on is not None and holding.h is None:
                row = self.rows.pop()
                holding.h = _precomposed(row.function, on[1], unfolded(row.expression.constant))
                holding.h_notes.append(row.note)
        if self.rows or self.equations or len(self.holdings) == 1:
            return
        for variable, holding in self.holdings.items():
            if holding.h is not None and holding.h.is_convex:
                self.rows.append(Row(holding.h, variable, holding.h_notes[0]))
                holding.h, holding.h_notes = None, []
        if not self.rows:
            variable = self.variables[0]
            self.rows.append(Row(Zero(), variable, "nothing: a copy of the variable, free"))

    # ------------------------------------------------------------------ blocks

    def finished(self, constraints: Sequence[Constraint]) -> Compiled:
        """Blocks, operators and right-hand side."""
        rows = self.rows + self.equations
        if not rows:
            return self._without_equation()
        _require_together(rows)
        starts = np.cumsum([0] + [row.expression.size for row in rows])
        for row, start in zip(rows, starts[:-1].tolist(), strict=True):
            if row.constraint is not None:
                self.places[row.constraint] = Place("rows", slice(start, start + row.expression.size))
        shape: Shape = _unfolded_shape(rows[0].expression.shape) if len(rows) == 1 else (int(starts[-1]),)
        h = rows[0].function if len(rows) == 1 else Stacked(_merged(self.rows, self.equations))
        blocks = []
        for variable, holding in self.holdings.items():
            A = _operator(variable, [row.expression for row in rows])
            f = _smooth(holding, self._constant_here(variable))
            blocks.append(
                Block(f=f, h=holding.h or Zero(), A=A, shape=variable.shape or (1,), name=variable.name)
            )
        taken = {v.name for v in self.holdings}
        name = next(n for n in ("u", *(f"u{k}" for k in range(1, len(taken) + 2))) if n not in taken)
        blocks.append(Block(h=h, A=1.0, shape=shape, name=name))
        return Compiled(
            blocks,
            _constants(rows, shape),
            self.variables,
            self.auxiliary,
            self.holdings,
            rows,
            self.places,
            self.constant,
        )

    def _without_equation(self) -> Compiled:
        """One variable, one block, nothing else."""
        ((variable, holding),) = self.holdings.items()
        f, shape = _smooth(holding, self.constant), variable.shape or (1,)
        block = Block(f=f, h=holding.h or Zero(), shape=shape, name=variable.name)
        return Compiled([block], None, self.variables, {}, self.holdings, [], self.places, self.constant)

    def _constant_here(self, variable: Variable) -> float:
        """The objective's constant, for the first variable with a smooth term, or the first of all."""
        owner = next((v for v, holding in self.holdings.items() if holding.smooth), self.variables[0])
        return self.constant if variable is owner else 0.0


def _require_together(rows: Sequence[Row]) -> None:
    """Rows on workers cannot share a vector with others."""
    for row in rows if len(rows) > 1 else ():
        if any(map_.operator.rows is not None for map_ in row.expression.maps.values()):
            others = ", ".join(other.note for other in rows if other is not row)
            raise ValueError(refusals.distributed(row.note, row.expression.shape, others))


def _urgency(term: Term) -> int:
    """The order in which terms claim their variable's block."""
    h = term.function
    assert isinstance(h, Nonsmooth)
    return 0 if not h.is_convex else 1 if h.is_set else 2


def _value(term: Term) -> float:
    """The value of a term without variables."""
    e = term.expression
    value = term.coefficient * term.function(
        np.broadcast_to(to_numpy(np.asarray(e.constant)), e.shape or (1,)) + 0.0
    )
    if not math.isfinite(value):
        raise ValueError(f"`{term}` has no variable in it and the value {value}")
    return value


def _times(h: Nonsmooth, c: float) -> Nonsmooth:
    """c·h, of the same kind as h where there is one; c > 0."""
    if c == 1.0 or h.is_set:
        return h
    if type(h) in _PROPORTIONAL:
        return type(h)(c * h.lam)  # type: ignore[attr-defined,call-arg]
    return Scaled(h, c)


def _precomposed(h: Nonsmooth, a: float, c: Any) -> Nonsmooth:
    """x ↦ h(a x + c)."""
    return h if a == 1.0 and plain(c) and c == 0.0 else Precomposed(h, a, c)


def _joint(held: Nonsmooth | None, h: Nonsmooth) -> Nonsmooth | None:
    """held + h as one function with an exact prox, None where none is known."""
    if held is None:
        return h
    for penalty, constraint in ((held, h), (h, held)):
        try:
            return Sum(penalty, constraint)
        except TypeError:
            continue
    return None


def _zero_set() -> Nonsmooth:
    return Box(0.0, 0.0)


def _rows_set(constraint: Constraint) -> Nonsmooth:
    """Where left - right must lie."""
    return {"==": _zero_set(), "<=": Box(-math.inf, 0.0), ">=": Box(0.0, math.inf)}[constraint.sense]


def _merged(rows: Sequence[Row], equations: Sequence[Row]) -> list[tuple[Nonsmooth, Shape]]:
    """The functions of u by parts; all equations and inequalities are one box."""
    parts = [(row.function, _unfolded_shape(row.expression.shape)) for row in rows]
    if equations:
        sizes = [row.expression.size for row in equations]
        ends = [(row.function.lo, row.function.hi) for row in equations]  # type: ignore[attr-defined]
        low, high = (
            float(side[0]) if len(set(side)) == 1 else np.repeat(side, sizes)
            for side in zip(*ends, strict=True)
        )
        parts.append((Box(low, high), (sum(sizes),)))
    return parts


def _smooth(holding: Holding, constant: float) -> Smooth | None:
    f = total([f if weight == 1.0 else Weighted(f, weight) for weight, f in holding.smooth])
    return f if constant == 0.0 else Weighted(Linear(0.0) if f is None else f, 1.0, constant)


def _operator(variable: Variable, expressions: Sequence[Expression]) -> Operator:
    """-M_j for the rows of u, one matrix where all rows are sparse."""
    maps = [at_least_1d(e.maps[variable]) if variable in e.maps else None for e in expressions]
    outputs = [_unfolded_shape(e.shape) for e in expressions]
    shape = variable.shape or (1,)
    if len(maps) == 1:
        return ZeroMap(shape, outputs[0]) if maps[0] is None else maps[0].negative
    if all(m is None or isinstance(m.body, float) or scipy.sparse.issparse(m.body) for m in maps):
        pieces = [
            scipy.sparse.csr_array((math.prod(out), math.prod(shape))) if m is None else m.matrix
            for m, out in zip(maps, outputs, strict=True)
        ]
        matrix = scipy.sparse.vstack(pieces, format="csr")
        return Map(shape, (matrix.shape[0],), matrix).negative
    return FlatStack(
        [ZeroMap(shape, out) if m is None else m.negative for m, out in zip(maps, outputs, strict=True)],
        shape,
    )


def _constants(rows: Sequence[Row], shape: Shape) -> Any:
    """c: a number where it is the same for all rows."""
    constants = [unfolded(row.expression.constant) for row in rows]
    if len(rows) == 1:
        return constants[0]
    if all(plain(c) and c == 0.0 for c in constants):
        return 0.0
    return np.concatenate(
        [
            np.broadcast_to(to_numpy(np.asarray(c)), row.expression.shape).reshape(-1)
            for row, c in zip(rows, constants, strict=True)
        ]
    )


def at_least_1d(map_: Map) -> Map:
    """The map between blocks, which have at least one axis."""
    if map_.inputs and map_.outputs:
        return map_
    inputs, outputs = map_.inputs or (1,), map_.outputs or (1,)
    if map_.is_explicit:
        return Map(inputs, outputs, map_.body)
    before, after = Map(inputs, map_.inputs, 1.0), Map(map_.outputs, outputs, 1.0)
    return Map(inputs, outputs, after.operator @ map_.operator @ before.operator)


def _unfolded_shape(shape: Shape) -> Shape:
    return shape or (1,)


def _require_distinct_names(variables: Sequence[Variable]) -> None:
    names = [v.name for v in variables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"minimize: two variables are called {twice[0]!r}; give them different names")
