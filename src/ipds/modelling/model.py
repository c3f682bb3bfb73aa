"""`minimize`, and the problem it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, Shape, to_numpy
from ..functions import Nonsmooth
from ..problem import Problem
from ..solving.solve import solve
from . import refusals
from .bounds import bound_of
from .compiling import compile_model
from .constants import block_shape
from .constraints import Constraint
from .defining import variables_of
from .expressions import Variable, as_expression
from .splitting import Splitting, splitting_of
from .terms import Objective, Term, as_objective

if TYPE_CHECKING:
    from ..result import Result

EXACT = 1e-9
"""A distance from a set, relative to the point, that is rounding."""


class Model(Problem):
    """A problem written as an objective and constraints, in canonical form; made by `minimize`.

    Attributes
    ----------
    variables : those of the model, in the order of their appearance; the blocks begin with them, but for those that
        equations define where something is not convex (`splitting` says which).
    constraints : as given.
    splitting : which term became which block, and why; print it.
    """

    def __init__(self, objective: Any, constraints: Iterable[Constraint] | None = ()):
        given = as_objective(objective)
        if given is None:
            raise TypeError(refusals.no_term(objective))
        if isinstance(constraints, Constraint):
            constraints = [constraints]
        if constraints is None:
            constraints = ()
        if isinstance(constraints, Term | Objective) or not isinstance(constraints, Iterable):
            raise TypeError(refusals.no_constraint(constraints))
        self.constraints: tuple[Constraint, ...] = tuple(constraints)
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint):
                raise TypeError(refusals.no_constraint(constraint))
        self._objective = given
        self._compiled = compile_model(given, self.constraints)
        self.variables: tuple[Variable, ...] = variables_of(given, self.constraints)
        super().__init__(self._compiled.blocks, self._compiled.b)

    @property
    def splitting(self) -> Splitting:
        """Which term became which block, what is eliminated, and why."""
        return splitting_of(self._compiled)

    def point(self, values: Mapping[Variable, Any]) -> tuple[Array, ...]:
        """The blocks where the variables have these values: the others follow from the equations.

        It is a start: `solve(problem, x0=problem.point({x: array}))`.
        """
        for v in self.variables:
            if v not in values or np.size(values[v]) != v.size:
                raise ValueError(refusals.no_point(v, values.get(v)))
        known = {v: np.reshape(to_numpy(values[v]), v.shape).astype(float) for v in self.variables}
        for w, expression in (self._compiled.definitions.parts | self._compiled.auxiliary).items():
            known[w] = expression.at(known)
        blocks = [known[v].reshape(block_shape(v.shape)) for v in self._compiled.holdings]
        rows = [row.expression for row in self._compiled.rows]
        if rows:
            u = [np.broadcast_to(e.at(known), e.shape).reshape(-1) for e in rows]
            blocks.append(np.concatenate(u).reshape(self.blocks[-1].shape))
        return tuple(blocks)

    def solve(self, warm_start: Result | None = None, **options: Any) -> Result:
        """`ipds.solve` of this problem; `warm_start` is the result of a like one, from whose point it starts.

        The variables may be the same or have the same names and shapes. The multiplier is taken over where its shape
        is the same. Other options are those of `ipds.solve`.
        """
        if warm_start is not None:
            x0, z0 = self._start(warm_start)
            options = {"x0": x0, "z0": z0, **options}
        return solve(self, **options)

    def _start(self, result: Result) -> tuple[tuple[Array, ...], Array | None]:
        blocks = {name: np.asarray(x) for name, (_, x) in _model_of(result)._known(result.x).items()}
        for v in self.variables:
            if v.name not in blocks or blocks[v.name].size != v.size:
                raise ValueError(
                    f"warm_start: that result has no value for {v.name!r} of shape {v.shape}; it has "
                    f"{[(name, x.shape) for name, x in blocks.items()]}"
                )
        x0 = self.point({v: blocks[v.name] for v in self.variables})
        return x0, result.z if tuple(result.z.shape) == self.shape else None

    def answer(self, result: Result) -> Result:
        """The result, which knows this problem: `result.value(x)`, `result.dual(constraint)`.

        Where a variable has two sets that are not convex, its value meets one of them; the message says how nearly the
        other.
        """
        result.problem = self
        if result.success:
            known = {v: np.asarray(x) for v, x in zip(self._compiled.variables, result.x, strict=False)}
            for w, e in self._compiled.auxiliary.items():
                h, notes = self._compiled.holdings[w].h, self._compiled.holdings[w].h_notes
                point = np.atleast_1d(e.at(known)) if h is not None and h.is_set else np.zeros(1)
                missed = 0.0 if h is None or not h.is_set else _distance(h, point)
                if missed > EXACT * float(np.linalg.norm(point)):
                    result.message += f"; {' and '.join(notes)} is met to {missed:.1e}, see result.violations"
        return result

    def violations(self, x: tuple[Array, ...]) -> dict[str, float]:
        """By how much the values of the variables miss each set of the objective and each constraint, ‖·‖₂."""
        terms = [t for t in self._objective.terms if isinstance(t.function, Nonsmooth) and t.function.is_set]
        found = {str(t): _distance(t.function, np.atleast_1d(self.value(t.expression, x))) for t in terms}
        for constraint in self.constraints:
            e = np.asarray(self.value(constraint.difference, x))
            left = e if constraint.sense == "==" else np.maximum(e if constraint.sense == "<=" else -e, 0.0)
            found[str(constraint)] = float(np.linalg.norm(left))
        return found

    def value(self, expression: Any, x: tuple[Array, ...]) -> Array:
        """The value of an expression at the blocks x."""
        e = as_expression(expression)
        if e is None:
            return self._value_of_terms(expression, x)
        blocks = self._known(x)
        for v in e.variables:  # by name: a result that was saved knows copies of the variables
            if v.name not in blocks or blocks[v.name][0] != v.shape:
                raise ValueError(
                    f"`{e}`: the variable {v.name!r} of shape {v.shape} is not in this problem, which has "
                    f"{[(w.name, w.shape) for w in self.variables]}"
                )
        return e.at({v: blocks[v.name][1] for v in e.variables})

    def _known(self, x: tuple[Array, ...]) -> dict[str, tuple[Shape, Array]]:
        """The shapes and values of the variables by name, at the blocks x."""
        own = dict(zip(self._compiled.variables, x, strict=False))
        own |= {v: e.at(own) for v, e in self._compiled.definitions.defined.items()}
        return {v.name: (v.shape, own[v]) for v in self.variables}

    def _value_of_terms(self, terms: Any, x: tuple[Array, ...]) -> float:
        objective = as_objective(terms)
        if objective is None:
            raise TypeError(
                f"value: expected a variable, an expression or a term, got {type(terms).__name__}; "
                f"the variables are {', '.join(v.name for v in self.variables)}"
            )
        total = objective.constant
        if objective.affine is not None:
            total += float(self.value(objective.affine, x))
        for term in objective.terms:
            total += term.coefficient * float(term.function(np.atleast_1d(self.value(term.expression, x))))
        return total

    def dual(self, constraint: Constraint, result: Result) -> Array:
        """The multiplier of a constraint: λ ≥ 0 for inequalities, and L = … + ⟨λ, left - right⟩ for == and <=.

        Signs are those of CVXPY: λ ≥ 0 for >= as well, where L = … - ⟨λ, left - right⟩.
        """
        if not isinstance(constraint, Constraint) or constraint not in self.constraints:
            raise ValueError(refusals.no_dual(constraint, self.constraints))
        stated = self._compiled.definitions.rewritten[constraint]
        if stated is None:
            raise ValueError(
                f"`{constraint}` has no multiplier: it defines a variable, beside a function that is not convex; see "
                "problem.splitting"
            )
        place = self._compiled.places[stated]
        e = constraint.difference
        sign = -1.0 if constraint.sense == ">=" else 1.0
        if place.kind == "rows":
            # stationarity of u: s + z = 0 with s ∈ ∂H(u)
            return -sign * np.reshape(np.asarray(result.z).reshape(-1)[place.rows], e.shape)
        assert place.variable is not None
        if place.kind == "merged":
            raise ValueError(
                f"`{constraint}` has no multiplier: it is projected on together with a set that is not convex; see "
                "problem.splitting"
            )
        index = self.names.index(place.variable.name)
        block, x = self.blocks[index], result.x[index]
        force = self.operators[index].adjoint(result.z)
        if block.f is not None:
            force = force + block.f.grad(x)
        # ∇f + Aᵀz + λ_high - λ_low = 0, of which at most one is not 0
        bounds = self._compiled.holdings[place.variable].bounds
        k, own = bounds.index(stated), bound_of(stated)
        pushed = np.maximum(-force if own.upper else force, 0.0) / abs(own.factor)
        decides = own.decides([*map(bound_of, bounds[:k])], [*map(bound_of, bounds[k + 1 :])], block.shape)
        return np.reshape(np.where(decides, pushed, 0.0), e.shape)

    def has_dual(self, constraint: Constraint) -> bool:
        """Whether `dual` has an answer: not where a constraint defines a variable, or was merged with a set that is not
        convex."""
        own = self._compiled.definitions.rewritten[constraint]
        return own is not None and self._compiled.places[own].kind != "merged"

    def __repr__(self) -> str:
        names = ", ".join(f"{v.name} {v.shape}" for v in self.variables)
        count = len(self.constraints)
        return f"minimize({self._objective}) over {names}, {count} constraint{'s' if count != 1 else ''}"


def minimize(objective: Any, constraints: Iterable[Constraint] | None = ()) -> Model:
    """The problem of minimising `objective` subject to `constraints`.

    Parameters
    ----------
    objective : a sum of terms (functions called on expressions) and of scalar expressions.
    constraints : comparisons ==, <=, >= of expressions.

    >>> from ipds import Variable
    >>> from ipds.modelling import norm1, sum_squares
    >>> x = Variable(3, name="x")
    >>> p = minimize(0.5 * sum_squares(x - np.array([3.0, -0.5, 1.0])) + norm1(x), [x >= 0])
    >>> print(p.splitting)
    min Σ f(v) + h(v) + H(u)   subject to   u = Σ M v + c
    blocks:
      x (3,)  f: `0.5 * sum_squares(x - array(3))`; h: `x >= 0` (a set: kept with its variable)
      u (3,)  H: all other convex terms, the equations and the inequalities
    rows of the last block:
      u[0:3]  `norm1(x)`: L1(lam=1.0)
    u is eliminated: its coefficient is the identity and H is convex, so a prox minimises it.
    """
    return Model(objective, constraints)


def _distance(h: Any, point: np.ndarray) -> float:
    """From a point to a set."""
    return float(np.linalg.norm(point - h.prox(point, 1.0)))


def _model_of(result: Result) -> Model:
    problem = getattr(result, "problem", None)
    if not isinstance(problem, Model):
        raise TypeError(
            "warm_start: needs the result of an earlier solve of a problem made by minimize, got "
            f"{type(result).__name__}; for others pass x0= and z0="
        )
    return problem
