"""Which term became which block, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .parts import Compiled


@dataclass(frozen=True)
class Splitting:
    """The canonical form of a model; print it.

    `blocks` says of every block what it holds, and why; `rows` of every part of the last block where it comes from;
    `defined` what stands for variables that have no block.
    """

    blocks: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str], ...]
    eliminated: str
    defined: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        made = [f"  {name} is {text}" for name, text in self.defined]
        return "\n".join([self._of_blocks(), *(["without a block of its own:"] if made else []), *made])

    def _of_blocks(self) -> str:
        width = max(len(name) for name, _ in (*self.blocks, *self.rows))
        blocks, rows = (
            [f"  {name:<{width}}  {text}" for name, text in part] for part in (self.blocks, self.rows)
        )
        if not rows:
            return "\n".join(["min f(v) + h(v), without an equation", "blocks:", *blocks])
        if not self.eliminated:
            equations = [f"  {name} = {text}" for name, text in self.rows]
            return "\n".join(["min Σ f(v) + h(v)   subject to", *equations, "blocks:", *blocks])
        head = "min Σ f(v) + h(v) + H(u)   subject to   u = Σ M v + c"
        return "\n".join([head, "blocks:", *blocks, "rows of the last block:", *rows, self.eliminated])


def splitting_of(compiled: Compiled) -> Splitting:
    """The report on a compiled model."""
    blocks = []
    named = {
        v.name: " and ".join(w.name for w in e.variables) for v, e in compiled.definitions.defined.items()
    }
    defined = tuple((name, f"an expression of {text}") for name, text in named.items())
    for (variable, holding), block in zip(compiled.holdings.items(), compiled.blocks, strict=False):
        smooth = " + ".join(holding.smooth_notes) or "nothing"
        kept = ""
        if holding.h is not None:
            reason = "not convex" if not holding.h.is_convex else "a set" if holding.h.is_set else "alone"
            kept = f"; h: {' and '.join(holding.h_notes)} ({reason}: kept with its variable)"
        made = " (made for the equation below)" if variable in compiled.auxiliary else ""
        blocks.append((f"{variable.name} {block.shape}", f"f: {smooth}{kept}{made}"))
    if not compiled.rows:
        own = tuple((w.name, str(e)) for w, e in compiled.auxiliary.items())
        return Splitting(tuple(blocks), own, "", defined)
    last = compiled.blocks[-1]
    blocks.append(
        (f"{last.name} {last.shape}", "H: all other convex terms, the equations and the inequalities")
    )
    rows, start = [], 0
    for row in compiled.rows:
        end = start + row.expression.size
        rows.append((f"{last.name}[{start}:{end}]", f"{row.note}: {row.function!r}"))
        start = end
    eliminated = (
        f"{last.name} is eliminated: its coefficient is the identity and H is convex, so a prox minimises it."
    )
    return Splitting(tuple(blocks), tuple(rows), eliminated, defined)
