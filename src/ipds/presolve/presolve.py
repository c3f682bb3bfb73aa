"""The whole of it: rewrite a problem, choose its units, and undo both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, held_arrays, is_array
from ..distributed import Rows
from ..operators import Matrix
from ..problem import Problem
from ..theory.state import State
from ..theory.structure import is_convex_canonical
from .canonical import Canonical
from .equilibrate import Equilibrated, equilibrated
from .recognise import Recognised
from .substitute import Substituted, substituted

Step = Recognised | Canonical | Substituted | Equilibrated

AS_STATED = "as stated"
"""The report where there is nothing to do."""


@dataclass(frozen=True, eq=False)
class Presolved:
    """A problem as it is solved, and the way back to the problem as stated."""

    stated: Problem
    problem: Problem
    """What a method is given: the stated one itself where there is nothing to do."""
    steps: tuple[Step, ...]
    report: str
    """What was done, in words."""
    form: tuple[Step, ...] = ()
    """The steps to a canonical form of which `in_units` may change the units; none where these are settled."""

    @property
    def in_units(self) -> Presolved:
        """The same with rows and columns of one size; itself where they are."""
        units = self._units
        if units is None:
            return self
        report = units.note if self.report == AS_STATED else f"{self.report}; {units.note}"
        return Presolved(self.stated, units.problem, (*self.form, units), report)

    @cached_property
    def _units(self) -> Equilibrated | None:
        return equilibrated(self.form[-1].problem) if self.form else None

    def start(self, x0: Sequence[Array], z0: Array, given: bool = True) -> tuple[tuple[Array, ...], Array]:
        """A starting point of the stated problem in the coordinates of `problem`; z0 is zero in both if not `given`."""
        x, z = tuple(x0), z0 if given else None
        for step in self.steps:
            x, z = step.start(x, z)
        return x, z0 if z is None else z  # None still: no step has changed what z looks like

    def undo(self, state: State) -> State:
        """The state of the stated problem that a state of `problem` stands for."""
        for step in reversed(self.steps):
            state = step.undo(state)
        return state


def as_stated(problem: Problem, why: str) -> Presolved:
    """The problem itself, with the reason."""
    return Presolved(problem, problem, (), f"{AS_STATED}: {why}")


def presolve(problem: Problem, units: bool = True) -> Presolved:
    """Canonical form and good units for a problem; always the same for the same problem.

    Without `units`, those of a convex problem are left to a method that chooses its own, or to `in_units`.

    >>> import numpy as np
    >>> from ipds import Block, Problem
    >>> from ipds.functions import L1, LeastSquares
    >>> G, y = np.array([[1.0, 3.0], [2.0, 4.0]]), np.ones(2)
    >>> stated = Problem([Block(f=LeastSquares(G, y), A=-1.0, shape=2, name="x"), Block(h=L1(1.0), shape=2, name="v")])
    >>> done = presolve(stated)
    >>> done.problem
    Problem(2 blocks: x (2,), U (2,); constraint (2,))
    >>> print(done.report)
    blocks 'v' and 'x' became one
    """
    if isinstance(problem.b, Rows) or any(op.rows is not None for op in problem.operators):
        return as_stated(problem, "the data are distributed")
    foreign = next(foreign_libraries(problem), None)
    own = None if foreign else Recognised(problem)
    steps: list[Step] = [own] if own is not None and own.at else []
    notes = [own.note] if own is not None and own.at else []
    current = problem if own is None else own.problem
    canonical = Canonical(current)
    notes += canonical.report
    if foreign:
        notes.append(f"units as stated: arrays of {foreign}")
    shorter = None if foreign else substituted(canonical.problem)
    form = (*steps, canonical)
    if shorter is not None:
        form = (*form, shorter)
        notes.append(shorter.note)
    if shorter is not None or not canonical.is_trivial:
        steps, current = list(form), form[-1].problem
    report = "; ".join(notes) or AS_STATED
    done = Presolved(problem, current, tuple(steps), report, () if foreign else form)
    return done if not units and is_convex_canonical(done.problem) else done.in_units


def foreign_libraries(problem: Problem) -> Iterator[str]:
    """The libraries, other than NumPy, whose arrays the problem holds."""
    held: list[Any] = [problem.b, *(op.matrix for op in problem.operators if isinstance(op, Matrix))]
    for block in problem.blocks:
        held += [*held_arrays(block.f), *held_arrays(block.h)]
    for x in held:
        if not isinstance(x, np.ndarray) and is_array(x) and not scipy.sparse.issparse(x):
            yield type(x).__module__.split(".")[0]
