"""Constraints: an expression that must be 0, at most 0 or at least 0 in every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from . import refusals

if TYPE_CHECKING:
    from .expressions import Expression


class Constraint:
    """`left == right`, `left <= right` or `left >= right`, entry by entry; written, not made by hand.

    `difference` is left - right, `sense` one of "==", "<=", ">=".
    """

    __slots__ = ("difference", "left", "right", "sense")

    def __init__(self, left: Expression, sense: Literal["==", "<=", ">="], right: Expression):
        refusals.common_shape(left, right, sense)
        self.left, self.sense, self.right = left, sense, right
        self.difference: Expression = left - right

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.left.text} {self.sense} {self.right.text}"

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError(refusals.chained(self))
