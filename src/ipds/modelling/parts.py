"""What a model is made of on its way to a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..functions import Nonsmooth, Smooth
from ..problem import Block
from .constraints import Constraint
from .defining import Definitions
from .expressions import Expression, Variable
from .terms import Objective


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
    definitions: Definitions = field(default_factory=lambda: Definitions(Objective(()), {}))
