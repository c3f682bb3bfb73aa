"""Prox-gradient steps on the reduced problem: one at a time, or, for JAX, as a compiled loop from stage to stage."""

from __future__ import annotations

import importlib
import math
from functools import partial
from typing import Any, NamedTuple

from ..._arrays import choose, either, greatest, is_traced, least, namespace
from ..._arrays.compiling import pure
from .reduction import Arrays, Reduction, Trial, attempt, constraint_and_pulls, fetched
from .spectral import SHORTEST, Reference, barzilai_borwein, blank, first_accepted

ROUNDING = 50
"""Relative differences up to this many units of the dtype's precision count as none."""


class Descent(NamedTuple):
    """A step that was taken, and where the next one starts."""

    trial: Trial
    steps: tuple[float, ...]
    """ατ_i of this step."""
    alpha: float
    """The length that the next one tries first."""
    reference: Reference
    rest: float
    """What is left of the gradient: the distance of -∇Φ from ∂h."""
    inner: int
    t: int
    signs: tuple[float, ...] = ()
    """`constraint_and_pulls` where a stage is due, in compiled code: it would take a call of its own later."""


class Terms(NamedTuple):
    """What a descent keeps to until the next stage."""

    target: Any
    s: float
    tau: tuple[float, ...]
    weights: tuple[float, ...]
    """ω_i ≥ 1, by which the h_i count."""
    eps: float


def descend(
    R: Reduction,
    terms: Terms,
    x: Arrays,
    g: Arrays,
    warm: tuple[Any, ...],
    alpha: float,
    reference: Reference,
    inner: int,
    t: int,
    before: Any = None,
) -> Descent:
    """One step of Barzilai-Borwein length by a nonmonotone search."""
    target, s, tau, weights, eps = terms
    level = reference.value + ROUNDING * eps * abs(reference.value)

    def tried(alpha: float) -> tuple[Any, Any]:
        steps = tuple([alpha * ti for ti in tau])
        trial = fetched(pure(attempt, R, x, g, target, s, steps, weights, warm, like=x[0]))
        moved = sum([square / ti for square, ti in zip(trial.moved, tau, strict=True)])
        return trial.value <= level - 1e-4 * moved / alpha, (trial, steps, moved)

    alpha, (trial, steps, moved) = first_accepted(tried, alpha, before)
    bent = sum([bend * ti for bend, ti in zip(trial.bent, tau, strict=True)])
    following = barzilai_borwein(moved, sum(trial.crossed), bent, long=t % 2 == 1)
    following = choose(following == 0, alpha, following)
    following = greatest(greatest(least(following, 1e4 * alpha), 1e-4 * alpha), SHORTEST)
    # with s_i ∈ ∂h_i from the prox, ∇_iΦ + s_i = change of the gradient - move/step: its norm needs no new array
    rest: Any = 0.0
    for block, step, mm, mc, cc, gg in zip(R.blocks, steps, *trial[3:7], strict=True):
        pushed = mm / step / step
        apart = greatest(cc - 2 * mc / step + pushed, 4 * eps * (cc + pushed))  # at least its own rounding
        rest += gg if block.h.is_manifold else apart
    rest = math.sqrt(rest) if type(rest) is float else namespace(rest).sqrt(rest)
    return Descent(trial, steps, following, reference.seen(trial.value), rest, inner + 1, t + 1)


def descend_far(R: Reduction, terms: Terms, tolerance: float, limit: int, until: int, *start: Any) -> Descent:
    """Steps until a stage is due or iteration `until` is reached, as a loop JAX can compile; elsewhere one step."""
    x, g, warm, alpha, reference, inner, t = start
    if not is_traced(alpha):
        return descend(R, terms, *start)

    def onward(last: Descent) -> Descent:
        trial, steps, alpha, reference, rest, inner, t, _ = last
        start = trial.point.x, trial.point.g, trial.warm, alpha, reference, inner, t
        return descend(R, terms, *start, before=(trial, steps, rest))

    def goes_on(last: Descent) -> Any:
        return ~is_due(last, tolerance, limit) & (last.t < until)

    trial, steps, _, _, rest, *_ = blank(partial(descend, R, terms), *start)
    trial = trial._replace(point=trial.point._replace(x=x, g=g), warm=warm)
    first = Descent(trial, steps, alpha, reference, rest + math.inf, inner, t)
    last = importlib.import_module("jax").lax.while_loop(goes_on, onward, first)
    asked = partial(constraint_and_pulls, R)
    signs = either(is_due(last, tolerance, limit), asked, partial(blank, asked), last.trial.point)
    return last._replace(signs=signs)


def is_due(last: Descent, tolerance: float, limit: int) -> Any:
    """Whether a stage has come to its end: little is left of the gradient, or enough steps were taken."""
    return (last.rest <= tolerance) | (last.inner >= limit)
