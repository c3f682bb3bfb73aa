"""Step lengths and searches that gradient methods share, and the reduced step of accelerated IPDS, found by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..._arrays import Array, add_scaled, dot, fetch, greatest, norm, products_of_differences
from ..._arrays.compiling import pure
from ...deadline import raise_if_late
from ..base import is_lipschitz
from .reduced import Arrays, Known, Point, ReducedProblem, evaluate, exact
from .single import SINGLE, rounded

if TYPE_CHECKING:
    from .method import Carry, Setup

DECREASE = 1e-4
"""A step is accepted where the value falls by this fraction of ‖Δx‖²/α below the reference."""
ROUNDING = 50
"""Relative differences up to this many units of the dtype's precision count as none."""
TRIES = 20
"""Lengths that a search tries at most."""
SHORTER = 0.25
"""Factor from one length to the next."""
SHORTEST = 1e-307
"""No step is shorter; anything above the range of denormals may be what the units of the data ask for."""
LONGEST, LEAST = 1e4, 1e-4
"""Factors between which a length lies of the one before."""
SPAN = 1e20
"""Factor by which the first length of a search differs from the first of all at most: some bound, for a theorem."""

Outcome = TypeVar("Outcome")


FAR = 1e12
"""A step so long that a prox leads to where h is least."""


class Reference(NamedTuple):
    """The value a nonmonotone search compares with: a weighted mean of those so far (Zhang & Hager, SIOPT 2004).

    >>> round(Reference(2.0).after(1.0).value, 4)
    1.4595
    """

    value: float
    weight: float = 1.0

    def after(self, value: float, memory: float = 0.85) -> Reference:
        """The reference after one more value."""
        weight = memory * self.weight + 1
        return Reference((memory * self.weight * self.value + value) / weight, weight)


class Search(NamedTuple):
    """Where the search for the next step starts; anew with every stage."""

    alpha: float
    """The length it tries first."""
    usual: float
    """The same, or where searches are being refused, and go on with ever shorter lengths, that of the first of them."""
    reference: Reference
    inner: int
    """Steps since the stage began."""

    @property
    def refused(self) -> bool:
        """Whether the last search has found no decrease, and this one goes on from the same point."""
        return self.alpha < self.usual


def barzilai_borwein(dx_dx: float, dx_dg: float, dg_dg: float, *, long: bool) -> float:
    """⟨Δx,Δx⟩/|⟨Δx,Δg⟩| (long) or |⟨Δx,Δg⟩|/⟨Δg,Δg⟩ (short); 0 where the gradient did not change along Δx.

    Barzilai & Borwein, Two-point step size gradient methods, IMA J. Numer. Anal. 8 (1988).

    >>> barzilai_borwein(4.0, -2.0, 2.0, long=True), barzilai_borwein(4.0, -2.0, 2.0, long=False)
    (2.0, 1.0)
    """
    if dx_dg == 0 or dg_dg == 0:
        return 0.0
    return dx_dx / abs(dx_dg) if long else abs(dx_dg) / dg_dg


def next_length(alpha: float, proposed: float) -> float:
    """The first length of the next search: the proposed one, between `LEAST` and `LONGEST` times α; α where that is 0.

    >>> next_length(2.0, 3.0), next_length(2.0, 0.0), next_length(1.0, 1e9)
    (3.0, 2.0, 10000.0)
    """
    return max(min(proposed or alpha, LONGEST * alpha), LEAST * alpha, SHORTEST)


def shorter(alpha: float) -> float:
    """The length that a search tries after α.

    >>> shorter(2.0)
    0.5
    """
    return max(SHORTER * alpha, SHORTEST)


def span(alpha: float) -> tuple[float, float]:
    """The lengths with which searches may begin, where α is that of the first of all.

    >>> span(1.0)
    (1e-20, 1e+20)
    """
    return max(alpha / SPAN, SHORTEST), alpha * SPAN


def backtrack(attempt: Callable[[float], tuple[bool, Outcome]], alpha: float) -> tuple[float, Outcome]:
    """(α, outcome) of the first attempt(α) = (accepted, outcome) that is accepted, α a quarter as long every time.

    (α, outcome) of the last of `TRIES` where none is.

    >>> backtrack(lambda alpha: (alpha < 0.1, f"tried {alpha}"), 1.0)
    (0.0625, 'tried 0.0625')
    """
    accepted, outcome = attempt(alpha)
    for _ in range(TRIES - 1):
        if accepted:
            break
        raise_if_late()
        del outcome  # so that one that was refused is not kept while the next is made
        alpha = shorter(alpha)
        accepted, outcome = attempt(alpha)
    return alpha, outcome


class Measures(NamedTuple):
    """The numbers that judge a step: sums over the blocks, those of differences in units of τ_i."""

    value: Any
    """Φ(x) + Σ ω_i h_i(x_i) at its end."""
    dx_dx: Any
    dx_dg: Any
    dg_dg: Any
    stationarity_square: Any


def try_step(
    phi: ReducedProblem,
    steps: tuple[float, ...],
    tau: tuple[float, ...],
    eps: float,
    near: Known,
    gradient: Arrays,
    target: Array,
    s: float,
    weights: tuple[float, ...],
    warm: tuple[Any, ...],
) -> tuple[tuple[Any, ...], Point, tuple[Array | None, ...], tuple[Any, ...]]:
    """The step of the given lengths: its `Measures`, the point, the v_i and warm starts; without a look at a number."""
    x: list[Array] = []
    v: list[Array | None] = []
    following = []
    for block, xi, gi, step, weight, known in zip(
        phi.blocks, near.x, gradient, steps, weights, warm, strict=True
    ):
        vi = add_scaled(xi, -step, gi)
        xi, ahead = block.h.prox_warm(vi, step * weight, known)
        x.append(xi)
        v.append(None if block.h.is_manifold else vi)
        following.append(ahead)
    del vi  # of a manifold nobody else holds it
    point = evaluate(phi, tuple(x), target, s, weights, near)
    moved: Any = 0.0
    crossed: Any = 0.0
    bent: Any = 0.0
    rest: Any = 0.0
    for block, ti, step, *four in zip(
        phi.blocks, tau, steps, point.x, near.x, point.gradient, gradient, strict=True
    ):
        dx_dx, dx_dg, dg_dg = products_of_differences(*four)
        if block.h.is_manifold:
            left = dot(four[2], four[2])
        else:  # ∇_iΦ + ω_i s_i = Δg_i - Δx_i/step_i: its norm needs no new array, but is at least its own rounding
            own = dx_dx / step / step
            left = greatest(dg_dg - 2 * dx_dg / step + own, 4 * eps * (dg_dg + own))
        moved, crossed, bent, rest = moved + dx_dx / ti, crossed + dx_dg, bent + dg_dg * ti, rest + left
    return (point.value, moved, crossed, bent, rest), point, tuple(v), tuple(following)


class Move(NamedTuple):
    """A reduced step."""

    point: Point
    prox_points: tuple[tuple[Array | None, float], ...]
    """(v_i, step_i) with x_i = prox_{h_i}(v_i, step_i); no v_i on manifolds, whose normals are known without."""
    warm: tuple[Any, ...]
    search: Search
    """Where the next one starts."""
    stationarity_norm: float
    """‖∇Φ + Σ ω_i s_i‖ with the s_i ∈ ∂h_i of the proxes: what is left of the gradient."""


def reduced_step(setup: Setup, carry: Carry) -> Move:
    """x_i ← prox_{ω_i h_i}(x_i - ατ_i∇_iΦ, ατ_i), α by a nonmonotone search from the Barzilai-Borwein length.

    Where no length that was tried brings decrease, the move is that of the last one, and the search is to be continued.
    """
    phi, tau, weights = setup.phi(carry.stage), setup.tau, carry.stage.weights
    s, (first, usual, reference, inner) = setup.schedule.smoothing(carry.stage), carry.search
    bounded = any(phi.bounding)
    (known, gradient), target, eps = (carry.known, carry.gradient), carry.target, setup.eps
    if phi.single:
        (known, gradient), target, eps = rounded((known, gradient)), rounded(target), SINGLE
    start = known, gradient, target, s, weights, carry.warm
    level = reference.value + ROUNDING * eps * abs(reference.value)

    def attempt(alpha: float) -> tuple[bool, Any]:
        steps = tuple([alpha * ti for ti in tau])
        numbers, point, *arrays = fetch(*pure(try_step, phi, steps, tau, eps, *start, like=target))
        measures = Measures(*numbers)
        enough = level - DECREASE * measures.dx_dx / alpha
        if not measures.value <= enough and bounded:  # a bound that does not tell
            point = exact(phi, point)
            measures = measures._replace(value=float(point.value))
        falls = measures.value <= enough
        return falls, (falls, measures, steps, point, *arrays)

    alpha, (falls, measures, steps, point, v, warm) = backtrack(attempt, first)
    if falls and (measures.dx_dx > 0 or first == usual):
        spectral = barzilai_borwein(measures.dx_dx, measures.dx_dg, measures.dg_dg, long=carry.t % 2 == 1)
        least, most = setup.lengths
        following = min(max(next_length(alpha, spectral), least), most)
        search = Search(following, following, reference.after(measures.value), inner + 1)
    else:  # nor is one that rounding has made none a decrease
        search = Search(shorter(alpha), usual, reference, inner + 1)
    prox_points = tuple([(vi, step * weight) for vi, step, weight in zip(v, steps, weights, strict=True)])
    return Move(point, prox_points, warm, search, math.sqrt(measures.stationarity_square))


def curvatures(R: ReducedProblem, point: Point, s: float, bend: float, bends: Sequence[float]) -> list[float]:
    """Curvature of Φ in every block along its own gradient; the envelope counts with its largest, 1/s, f_j with `bend`.

    The f_i count with their `bends`, where these are known everywhere. A block whose gradient vanishes is probed along
    its own x_i, or along ones.
    """
    found = []
    for block, op, xi, gi, df, own in zip(
        R.blocks, R.operators, point.x, point.gradient, point.place.gradients, bends, strict=True
    ):
        size = norm(xi)
        d = gi if norm(gi) > 0 else xi if size > 0 else xi + 1.0
        length = norm(d)
        gain = (norm(op.apply(d)) / length) ** 2 / R.c**2
        curvature = gain * (1 / s + bend)
        if block.f is None or is_lipschitz(block.f):
            curvature += own
        else:
            step = 1e-6 * (size or 1.0) / length
            curvature += norm(block.f.grad(xi - step * d) - df) / (step * length)
        found.append(curvature)
    return found


def steepness(R: ReducedProblem, x: Arrays) -> float:
    """The largest 2(h_i(v) - h_i(p))/‖A_i(v - p)‖², what h_i costs in units of the equation; 0 where none costs.

    p is where h_i is least, v the start, or, where that is p, what the equation asks of the block alone.
    """
    found = [0.0]
    for block, op, xi in zip(R.blocks, R.operators, x, strict=True):
        if block.h.is_set:
            continue
        least = block.h.prox(xi, FAR)
        pull = op.adjoint(R.b - op.apply(least))
        length = norm(op.apply(pull))
        asked = least + (norm(pull) / length) ** 2 * pull if length > 0 else least
        for v in (xi, asked):
            fall, reach = float(block.h(v)) - float(block.h(least)), norm(op.apply(v - least))
            if reach > 0 and 0 < fall < math.inf:
                found.append(2 * fall / reach**2)
                break
    return max(found)
