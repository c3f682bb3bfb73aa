"""Functions that users wrote themselves, replaced by what their prox says they are.

The answer is held against the user's own prox: with s ∈ ∂h(q) as found, q' = prox_h(q + t s, t) by the user's function
stands for q. Where both functions are the same, q' = q up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._arrays import Array, Shape
from ..functions import Nonsmooth, Stacked
from ..functions.recognising import is_said_not_convex, own_of_user, recognised, sloped
from ..problem import Block, Problem
from ..theory.state import State, prox_step


class Recognised:
    """A problem with known functions in the place of users' own, and the way back."""

    def __init__(self, stated: Problem):
        self.stated = stated
        found = [known(block.h, block.shape) for block in stated.blocks]
        self.at = [i for i, h in enumerate(found) if h is not None]
        self.problem = self._with(found) if self.at else stated

    def _with(self, found: Sequence[Nonsmooth | None]) -> Problem:
        blocks = [
            block if h is None else Block(f=block.f, h=h, A=block.A, shape=block.shape, name=block.name)
            for block, h in zip(self.stated.blocks, found, strict=True)
        ]
        return Problem(blocks, None if self.stated.unconstrained else self.stated.b)

    @property
    def note(self) -> str:
        """What was done, in words."""
        names = ", ".join(repr(self.stated.names[i]) for i in self.at)
        return f"h of {names} recognised by its prox: a convex function of every entry"

    def start(self, x0: Sequence[Array], z0: Array | None) -> tuple[tuple[Array, ...], Array | None]:
        """The same point."""
        return tuple(x0), z0

    def undo(self, state: State) -> State:
        """The state with the users' own prox behind it."""
        q, points, products = list(state.q), list(state.prox_points), list(state.products)
        for i in self.at:
            v, step = points[i]
            if v is None:
                continue
            s = (v - q[i]) / step
            t = prox_step(q[i], s)
            point = q[i] + t * s
            q[i], points[i], products[i] = self.stated.blocks[i].h.prox(point, t), (point, t), None
        j = state.last % len(q)
        return replace(
            state,
            x=tuple(q),
            x_breve=q[j],
            prox_points=tuple(points),
            products=tuple(products),
            gradients=None,
            values=None,
        )


def known(h: Nonsmooth, shape: Shape) -> Nonsmooth | None:
    """What h is by its prox, piece by piece where it is stacked; None where that says nothing new.

    A few points show that a function is not convex, never that it is: what its author says counts more.
    """
    if isinstance(h, Stacked):
        parts = [(known(part, own), part, own) for part, own in h.parts]
        if all(found is None for found, _, _ in parts):
            return None
        return Stacked([(part if found is None else found, own) for found, part, own in parts])
    if (
        not own_of_user(h)
        or is_said_not_convex(h)
        or h.kinks(shape) is not None
        or h.groups(shape) is not None
    ):
        return None
    return recognised(h, shape) or sloped(h, shape)
