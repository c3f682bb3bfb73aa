"""Step lengths and searches that gradient methods share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._arrays import choose, greatest, is_traced
from ..deadline import look

TRIES = 20
"""Lengths that a search tries at most."""
SHORTEST = 1e-307
"""No step is shorter; anything above the range of denormals may be what the units of the data ask for."""


class Reference(NamedTuple):
    """The value a nonmonotone search compares with: a weighted mean of those seen (Zhang & Hager, SIOPT 2004).

    >>> round(Reference(2.0).seen(1.0).value, 4)
    1.4595
    """

    value: float
    weight: float = 1.0

    def seen(self, value: float, memory: float = 0.85) -> Reference:
        """The reference after one more value."""
        weight = memory * self.weight + 1
        return Reference((memory * self.weight * self.value + value) / weight, weight)


def barzilai_borwein(moved: float, crossed: float, bent: float, *, long: bool) -> float:
    """⟨Δx,Δx⟩/|⟨Δx,Δg⟩| (long) or |⟨Δx,Δg⟩|/⟨Δg,Δg⟩ (short); 0 where the gradient did not change along Δx.

    Barzilai & Borwein, Two-point step size gradient methods, IMA J. Numer. Anal. 8 (1988).
    """
    flat, crossed = (crossed == 0) | (bent == 0), abs(crossed)
    return choose(flat, 0.0, choose(long, moved, crossed) / choose(flat, 1.0, choose(long, crossed, bent)))


def first_accepted(
    attempt: Callable[[Any], tuple[Any, Any]], alpha: Any, before: Any = None
) -> tuple[Any, Any]:
    """(α, outcome) of the first attempt(α) = (accepted, outcome) that is accepted, α a quarter as long every time.

    The last of `TRIES` is taken as it is. In what JAX is compiling, the search becomes a loop of the program, and may
    write over the outcome of the one `before`.

    >>> first_accepted(lambda alpha: (alpha < 0.1, f"tried {alpha}"), 1.0)
    (0.0625, 'tried 0.0625')
    """
    if type(alpha) is not float and is_traced(alpha):
        return _traced_search(attempt, alpha, before)
    for _ in range(TRIES):
        outcome: Any = None  # so that one that was refused is not kept while the next is made
        accepted, outcome = attempt(alpha)
        if accepted:
            break
        look()
        alpha = _shorter(alpha)
    return alpha, outcome


def _shorter(alpha: Any) -> Any:
    return greatest(0.25 * alpha, SHORTEST)


def _traced_search(attempt: Callable[[Any], tuple[Any, Any]], alpha: Any, before: Any) -> tuple[Any, Any]:
    def body(search: Any) -> Any:
        alpha, tries, *_ = search
        accepted, outcome = attempt(alpha)
        return choose(accepted, alpha, _shorter(alpha)), tries + 1, accepted, outcome

    def goes_on(search: Any) -> Any:
        return ~search[2] & (search[1] < TRIES)

    lax = importlib.import_module("jax").lax
    start = blank(attempt, alpha)[1] if before is None else before
    alpha, *_, outcome = lax.while_loop(goes_on, body, (alpha, 0, False, start))
    return alpha, outcome


def blank(function: Callable[..., Any], *arguments: Any) -> Any:
    """What stands in a JAX loop for the outcome of `function` until there is one: zeros of its shapes."""
    jax = importlib.import_module("jax")
    shapes = jax.eval_shape(function, *arguments)
    return jax.tree.map(lambda like: jax.numpy.zeros(like.shape, like.dtype), shapes)
