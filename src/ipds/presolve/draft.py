"""A problem on its way to canonical form: variables v_j and groups of rows u_k.

    min Σ_j f_j(v_j) + h_j(v_j) + Σ_k f_k(u_k) + h_k(u_k)   where   u_k + Σ_j N_kj v_j = c_k,  h_k convex.

`read` makes a draft of a problem as stated, rules simplify it (`rules.py`), `Draft.problem` writes it down again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Shape, is_array
from ..functions import Box, Composed, Nonsmooth, Smooth, Stacked, Zero
from ..functions.composed import total
from ..operators import FlatStack, Identity, Operator, Segment, ZeroMap
from ..problem import Block, Problem
from ..theory.bending import SMALL, seems_convex
from ..theory.facts import convex_smooth
from ..theory.structure import may_be_convex_canonical
from .recovery import FromGroup, FromVariable, Recovery
from .slack import Slack, is_nothing, slacks, stacked_right, taken, thin


@dataclass(eq=False)
class Variable:
    """v_j: its shape, one nonsmooth h_j, and smooth terms."""

    shape: Shape
    h: Nonsmooth
    smooth: list[Smooth]
    name: str

    @property
    def f(self) -> Smooth | None:
        """Σ of the smooth terms."""
        return total(self.smooth)


@dataclass(eq=False)
class Group:
    """Rows u_k = c_k - Σ_j N_kj v_j with a convex h_k(u_k), and f_k(u_k) where it has not moved."""

    shape: Shape
    h: Nonsmooth
    f: Smooth | None
    terms: dict[Variable, Operator]
    """N_kj by variable; what is absent is zero."""
    c: Any
    """A number, or an array of `shape`."""


@dataclass(eq=False)
class Draft:
    """What has become of a problem so far, and how each of its blocks is found again."""

    stated: Problem
    variables: list[Variable]
    groups: list[Group]
    slacks: list[Slack]
    slack_groups: list[Group]
    """The group that each slack is, whatever has become of it."""
    blocks: list[Recovery]
    """How block i is found from the variables and groups."""
    rest: tuple[Group, np.ndarray | None] | None
    """The rows that no slack reaches, as a group with h = {0}, and which of the equation's rows they are."""
    fixed: dict[Variable, Array] = field(default_factory=dict)
    """Variables that are left out, and where they stay."""
    levels: dict[Variable, tuple[int, slice]] = field(default_factory=dict)
    """Variables that are the largest entry of a block, in a part of it."""
    notes: list[str] = field(default_factory=list)
    """What was done, in words."""

    @cached_property
    def convex(self) -> bool:
        """Whether every function is convex, as far as is known.

        A smooth one that does not say so is looked at (`bending`), where the form hangs on it: rewritings hold for any
        function, and Newton steps, which only convex ones are rewritten for, find out where it is not.
        """
        blocks = self.stated.blocks
        bent = any(block.f is not None and block.f.is_convex is False for block in blocks)
        if bent or not all(block.h.is_convex for block in blocks):
            return False
        if all(convex_smooth(block.f) for block in blocks):
            return True
        small = sum(math.prod(block.shape) for block in blocks) <= SMALL
        return small and not may_be_convex_canonical(self.stated) and seems_convex(self.stated)

    @property
    def is_numpy(self) -> bool:
        """Whether right-hand sides are numbers or arrays of NumPy."""
        return all(not is_array(g.c) or isinstance(g.c, np.ndarray) for g in self.groups)

    def problem(self) -> Problem:
        """The draft as a problem whose last block U has A = I; U is free where no group is left."""
        groups = self.groups
        if not groups:
            groups = [Group(self.variables[0].shape, Zero(), None, {self.variables[0]: Identity(-1.0)}, 0.0)]
        blocks = [
            Block(f=v.f, h=v.h, A=_column(groups, v), shape=v.shape, name=v.name) for v in self.variables
        ]
        name = next(n for n in ("U", *(f"U{k}" for k in range(len(blocks) + 1))) if n not in self.names)
        if len(groups) == 1:
            only = groups[0]
            return Problem([*blocks, Block(f=only.f, h=only.h, shape=only.shape, name=name)], only.c)
        h = Stacked([(g.h, g.shape) for g in groups])
        right = stacked_right([(g.c, g.shape) for g in groups])
        return Problem(
            [*blocks, Block(f=_stacked_smooth(groups, h.size), h=h, shape=h.size, name=name)], right
        )

    @property
    def names(self) -> list[str]:
        """Of the variables."""
        return [v.name for v in self.variables]


def _column(groups: list[Group], v: Variable) -> Operator:
    """The part of a variable in the rows of all groups."""
    parts = [g.terms.get(v, ZeroMap(v.shape, g.shape)) for g in groups]
    return parts[0] if len(parts) == 1 else FlatStack(parts, v.shape)


def _stacked_smooth(groups: list[Group], size: int) -> Smooth | None:
    """Σ f_k(u_k) as a function of the stacked vector."""
    terms: list[Smooth] = []
    start = 0
    for g in groups:
        if g.f is not None:
            terms.append(Composed(g.f, Segment(size, start, g.shape)))
        start += math.prod(g.shape)
    return total(terms)


def owner_of(found: Recovery) -> Variable | Group | None:
    """What a block is, and whose h was its own; None where something was rewritten already."""
    if isinstance(found, FromVariable):
        return found.variable
    return found.group if isinstance(found, FromGroup) else None


def read(problem: Problem) -> Draft:
    """The draft that says what `problem` says."""
    chosen = slacks(problem)
    solved = {slack.block: slack for slack in chosen}
    names, blocks, operators = problem.names, problem.blocks, [thin(A) for A in problem.operators]
    variables = {
        i: Variable(block.shape, block.h, [] if block.f is None else [block.f], names[i])
        for i, block in enumerate(blocks)
        if i not in solved
    }
    found: dict[int, Recovery] = {i: FromVariable(v) for i, v in variables.items()}
    groups = []
    for i, slack in solved.items():
        block = blocks[i]
        terms = {
            v: slack.divide(operators[k], v.shape)
            for k, v in variables.items()
            if not is_nothing(operators[k])
        }
        groups.append(
            Group(block.shape, block.h, block.f, _present(terms), _right(slack.divide_right(problem.b)))
        )
        found[i] = FromGroup(groups[-1])
    own = list(groups)
    rest = _rest(problem, chosen, {v: operators[k] for k, v in variables.items()})
    if rest is not None:
        groups.append(rest[0])
    recoveries = [found[i] for i in range(len(blocks))]
    draft = Draft(problem, list(variables.values()), groups, chosen, own, recoveries, rest)
    thinned = sum(A is not B for A, B in zip(operators, problem.operators, strict=True))
    if thinned:
        draft.notes.append(
            f"{thinned} dense matri{'ces' if thinned > 1 else 'x'} with few entries taken as sparse"
        )
    return draft


def _right(c: Any) -> Any:
    """A right-hand side; the number 0 where it is an array of zeros."""
    return 0.0 if isinstance(c, np.ndarray) and not (c != 0).any() else c


def _present(terms: dict[Variable, Operator]) -> dict[Variable, Operator]:
    return {v: N for v, N in terms.items() if not is_nothing(N)}


def _rest(
    problem: Problem, chosen: list[Slack], operators: dict[Variable, Operator]
) -> tuple[Group, np.ndarray | None] | None:
    """The rows that no slack reaches: u + Σ A_j v_j = b with u = 0."""
    if any(slack.rows is None for slack in chosen):
        return None
    if not chosen:
        return Group(problem.shape, Box(0.0, 0.0), None, _present(operators), _right(problem.b)), None
    free = np.ones(math.prod(problem.shape), dtype=bool)
    for slack in chosen:
        free[slack.rows] = False
    rows = np.flatnonzero(free)
    if not rows.size:
        return None
    terms = {
        v: taken(A, v.shape, problem.shape, rows, 1.0, (rows.size,)) for v, A in _present(operators).items()
    }
    right = np.broadcast_to(problem.b, problem.shape).reshape(-1)[rows]
    return Group((rows.size,), Box(0.0, 0.0), None, _present(terms), _right(right)), rows
