"""The whole of it: rewrite a problem, choose its units, and undo both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, held_arrays, is_array
from ..distributed import Rows
from ..operators import Matrix
from ..problem import Problem
from ..theory.state import State
from .canonical import Canonical
from .equilibrate import Equilibrated, equilibrated
from .recognise import Recognised
from .substitute import Substituted, substituted

Step = Recognised | Canonical | Substituted | Equilibrated


@dataclass(frozen=True, eq=False)
class Presolved:
    """A problem as it is solved, and the way back to the problem as stated."""

    stated: Problem
    problem: Problem
    """What a method is given: the stated one itself where there is nothing to do."""
    steps: tuple[Step, ...]
    report: str
    """What was done, in words."""

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
    return Presolved(problem, problem, (), f"as stated: {why}")


def presolve(problem: Problem) -> Presolved:
    """Canonical form and good units for a problem; always the same for the same problem.

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
    if _distributed(problem):
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
    units = None if foreign else equilibrated(canonical.problem if shorter is None else shorter.problem)
    if shorter is not None or units is not None or not canonical.is_trivial:
        steps.append(canonical)
        current = canonical.problem
    if shorter is not None:
        steps.append(shorter)
        current = shorter.problem
        notes.append(shorter.note)
    if units is not None:
        steps.append(units)
        current = units.problem
        notes.append(units.note)
    return Presolved(problem, current, tuple(steps), "; ".join(notes) or "as stated")


def _distributed(problem: Problem) -> bool:
    return isinstance(problem.b, Rows) or any(op.rows is not None for op in problem.operators)


def foreign_libraries(problem: Problem) -> Iterator[str]:
    """The libraries, other than NumPy, whose arrays the problem holds."""
    held: list[Any] = [problem.b, *(op.matrix for op in problem.operators if isinstance(op, Matrix))]
    for block in problem.blocks:
        held += [*held_arrays(block.f), *held_arrays(block.h)]
    for x in held:
        if is_array(x) and not isinstance(x, np.ndarray) and not scipy.sparse.issparse(x):
            yield type(x).__module__.split(".")[0]
