"""Sums of functions of one block, most often a penalty and the indicator of a set, where the joint prox is exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Shape, choose, magnitude, namespace, to_numpy
from . import joint_sets  # noqa: F401, registers its rules
from .adapters import require_nonsmooth
from .base import Domain, Nonsmooth
from .entrywise import Entrywise
from .faces import Face
from .groups import L2, L21, GroupL2
from .jacobians import RankOnePerGroup, Spectral, jacobian_map, masked
from .joint import joint, pair, remedy
from .joint_entrywise import FewOf, bounds, holds_zero
from .kinks import Kinks
from .matrix_sets import PSD, Rank
from .penalties import L1, Zero
from .scalar import ScalarPenalty, fit, own_step, soft
from .sets import Box, Indicator, L1Ball, L2Ball, NonNegative, Simplex
from .sparse_sets import Binary, Cardinality, RowCardinality
from .structured import Linf, Nuclear, TotalVariation1D
from .thresholding import L0

Rule = Callable[[Array, float], Any]


class Sum(Nonsmooth):
    """h(x) = penalty(x) + indicator of a set, or any two functions; refused where the joint prox has no exact formula.

    `Sum(first, second)`, or `Sum([first, second, …])`, in any order. The prox, for each pair that is accepted:

    - convex entrywise penalty + `Box`, `LinfBall`, `NonNegative`: the prox, clipped;
    - nonconvex entrywise penalty + the same: the best of all stationary points and bounds;
    - entrywise penalty + `Cardinality`, `RowCardinality`: the prox of those that gain most by it;
    - entrywise penalty + `Binary`: the cheaper of both values;
    - a norm (`L1`, `L2`, `L21`, `GroupL2`, `Linf`, `Nuclear`, `TotalVariation1D`) + `L2Ball`: project
      the prox;
    - `L2`, `L21`, `GroupL2` + `NonNegative`: the prox of the projection;
    - `L1` + `L1Ball`: project the prox; `L1` + `Simplex`: project, the penalty being constant there;
    - `TotalVariation1D` + `NonNegative` or a `Box` with number bounds: the prox, clipped;
    - `Nuclear` + `PSD`: project v - sλI; `Nuclear` + `Rank`: project the prox; `Zero` + anything;
    - `SumSquares` + anything: the prox of the other, nearer to the target and with a shorter step;
    - `Cardinality` + `NonNegative`, a `Box` or `Binary` with 0: the projections that gain most;
    - `Cardinality` + `Simplex`, `RowCardinality` + `RowSimplex`: project the largest entries;
    - `Simplex` + `Box`: `CappedSimplex`; `Box` + `NonNegative`: a `Box`; `Rank` + `PSD`: the largest eigenvalues > 0;
    - a cone (`NonNegative`, `PSD`, `SecondOrderCone`, `ExponentialCone`, `Rank`, `Cardinality`, …) + `L2Ball`: project
      on the cone, then on the ball; the same with `Sphere`, for all of these but the two named cones.

    Yu, On decomposing the proximal map, NeurIPS (2013), for the compositions.

    >>> import numpy as np
    >>> from ipds.functions import L1, Cardinality, NonNegative
    >>> Sum(L1(1.0), NonNegative()).prox(np.array([3.0, -2.0]), 1.0)
    array([2., 0.])
    >>> Sum([Cardinality(1), NonNegative(), L1(1.0)]).prox(np.array([3.0, -9.0, 4.0]), 1.0)
    array([0., 0., 3.])
    """

    def __init__(self, penalty: Nonsmooth | Sequence[Nonsmooth], constraint: Nonsmooth | None = None) -> None:
        first, second = _last_pair(penalty) if constraint is None else (penalty, constraint)
        first, second = require_nonsmooth(first, "Sum"), require_nonsmooth(second, "Sum")
        rule = _joint_prox(first, second)
        if rule is None:
            raise TypeError(
                f"Sum: no exact joint prox is known for {first!r} + {second!r}; {remedy(first, second)}"
            )
        self.penalty, self.constraint = (
            (first, second) if second.is_set or not first.is_set else (second, first)
        )
        self.is_convex = first.is_convex and second.is_convex
        self.is_set = first.is_set and second.is_set
        self.is_entrywise = first.is_entrywise and second.is_entrywise
        self._prox, self._jacobian, self._made = rule
        self.has_faces = self._made is not None and self._made.has_faces

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        """That of the one which has one."""
        return self.penalty.domain if self.penalty.domain is not None else self.constraint.domain

    def __call__(self, x: Array) -> float:
        return self.penalty(x) + self.constraint(x)

    def prox(self, v: Array, step: float) -> Array:
        return self._prox(v, own_step(step, v))

    def prox_jacobian(self, v: Array, step: float) -> Any:
        return self._jacobian(v, own_step(step, v))

    def face(self, x: Array) -> Face | None:
        """That of the function which the sum amounts to."""
        return None if self._made is None else self._made.face(x)

    def prox_size(self, v: Array) -> Any:
        """‖v‖, and what the constants of both add to it."""
        return self.penalty.prox_size(v) + self.constraint.prox_size(v) - magnitude(v)

    def kinks(self, shape: Shape) -> Kinks | None:
        penalty, constraint = self.penalty.kinks(shape), self.constraint.kinks(shape)
        if penalty is None or constraint is None:
            return None
        if self.constraint.is_set:
            return penalty.within(constraint)
        return constraint if isinstance(self.penalty, Zero) else None

    def support(self, y: Array) -> float:
        """That over the domain of one of the two alone is an upper bound."""
        return min(super().support(y), self.penalty.support(y), self.constraint.support(y))

    def recession(self, d: Array) -> float:
        return self.penalty.recession(d) + self.constraint.recession(d)

    def receding(self, d: Array) -> Array:
        """That of the constraint, where the penalty is finite everywhere."""
        if math.isfinite(self.penalty.lipschitz(tuple(d.shape))):
            return self.constraint.receding(d)
        return super().receding(d)

    def width(self, shape: Shape) -> float | Array:
        return np.minimum(to_numpy(self.penalty.width(shape)), to_numpy(self.constraint.width(shape)))

    def subgradient(self, x: Array) -> Array:
        """The sum of both: 0 is normal to every set."""
        if not self.is_convex:
            raise NotImplementedError("Sum offers a subgradient for convex sums only")
        return self.penalty.subgradient(x) + self.constraint.subgradient(x)

    def rescaled(self, d: float | Array) -> Sum | None:
        """Of both; None where one offers none, or no joint prox is known of what they become."""
        penalty, constraint = self.penalty.rescaled(d), self.constraint.rescaled(d)
        if penalty is None or constraint is None or _joint_prox(penalty, constraint) is None:
            return None
        return Sum(penalty, constraint)


def _last_pair(parts: Any) -> tuple[Any, Any]:
    """The parts as two, the first of them the sum of all but one: in an order in which all sums are known."""
    if not isinstance(parts, Sequence) or len(parts) < 2:
        raise TypeError("Sum: pass two functions, or a list of at least two")
    if len(parts) == 2:
        return parts[0], parts[1]
    for order in itertools.permutations(parts):
        try:
            inner, last = Sum(order[:-1]), order[-1]
        except TypeError:
            continue
        if _joint_prox(inner, require_nonsmooth(last, "Sum")) is not None:
            return inner, last
    raise TypeError(
        f"Sum: no exact joint prox is known for {' + '.join(map(repr, parts))}; put one of them on a further block y "
        "with the constraint x - y = 0 instead"
    )


def _joint_prox(h: Nonsmooth, c: Nonsmooth) -> tuple[Rule, Rule, Nonsmooth | None] | None:
    """Prox, Jacobian and, where there is one, the function that the sum amounts to."""
    h, c = (part._made or part if isinstance(part, Sum) else part for part in (h, c))
    made = joint(h, c) if isinstance(h, L0) or isinstance(c, L0) else None
    if made is not None:
        return made.prox, made.prox_jacobian, made
    rule = _rule(h, c) or _rule(c, h)
    if rule is not None:
        return (*rule, None)
    made = joint(h, c)
    return None if made is None else (made.prox, made.prox_jacobian, made)


@pair((Cardinality, RowCardinality), Sum)
def _few_of_a_sum(few: Any, inner: Any) -> Nonsmooth | None:
    """An entrywise penalty in an interval around 0, with few nonzero entries."""
    penalty, box = inner.penalty, inner.constraint
    if isinstance(box, ScalarPenalty):
        penalty, box = box, penalty
    if not (isinstance(penalty, ScalarPenalty) and isinstance(box, (Box, NonNegative))):
        return None
    return FewOf(few, inner, penalty) if holds_zero(box) else None


def _rule(h: Any, c: Any) -> tuple[Rule, Rule] | None:
    """The joint prox and an element of its Jacobian as functions of (v, step), None where there is none."""
    if isinstance(h, Zero):
        return c.prox, c.prox_jacobian
    if not isinstance(c, Indicator):
        return None
    flat_l1 = isinstance(h, L1) and type(h.lam) is float
    if flat_l1 and isinstance(c, Simplex):
        return c.prox, c.prox_jacobian
    if isinstance(h, Nuclear) and isinstance(c, PSD):

        def shifted(v: Array, step: float) -> Array:
            return v - h.lam * step * namespace(v).eye(v.shape[0], dtype=v.dtype)

        return lambda v, step: c.project(shifted(v, step)), lambda v, step: c.prox_jacobian(
            shifted(v, step), step
        )
    if isinstance(h, (L2, L21, GroupL2)) and isinstance(c, NonNegative):
        return (
            lambda v, step: h.prox(c.project(v), step),
            # the shrinkage of v₊ moves along v₊, which is 0 where v is cut
            lambda v, step: masked(h.prox_jacobian(c.project(v), step), c.prox_jacobian(v, step)),
        )
    jacobian = _after_prox(h, c, flat_l1)
    if jacobian is not None:
        return lambda v, step: c.project(h.prox(v, step)), jacobian
    if isinstance(h, Entrywise) and isinstance(c, Binary) and h.domain is None:
        return lambda v, step: _cheaper(h, c, v, step), c.prox_jacobian
    return _entrywise(h, c) if isinstance(h, ScalarPenalty) else None


def _after_prox(h: Any, c: Indicator, flat_l1: bool) -> Rule | None:
    """The Jacobian where the joint prox is the projection on c of p = prox_h(v), None where it is not.

    It is the product of both, which commute where that is so.
    """
    norm_like = (L1, L2, L21, GroupL2, Linf, Nuclear, TotalVariation1D)
    even_box = isinstance(c, NonNegative) or (
        isinstance(c, Box) and type(c.lo) is float and type(c.hi) is float
    )
    if (isinstance(h, ScalarPenalty) and h.is_convex and isinstance(c, (Box, NonNegative))) or (
        isinstance(h, TotalVariation1D) and even_box
    ):
        return lambda v, step: masked(h.prox_jacobian(v, step), c.prox_jacobian(h.prox(v, step), step))
    if flat_l1 and isinstance(c, L1Ball):
        return lambda v, step: masked(c.prox_jacobian(h.prox(v, step), step), h.prox_jacobian(v, step))
    if isinstance(h, norm_like) and isinstance(c, L2Ball):
        return lambda v, step: _in_ball(h, c, v, step)
    if isinstance(h, Nuclear) and isinstance(c, Rank):
        return lambda v, step: _few_singular_values(h, c, v, step)
    return None


def _in_ball(h: Nonsmooth, c: L2Ball, v: Array, step: float) -> Any:
    """J of the prox inside the ball; outside r/‖p‖ (J - p̂p̂ᵀ) with p̂ = p/‖p‖, as J p = p for norms h."""
    p = h.prox(v, step)
    size = magnitude(p)
    outside = size > c.radius
    shrink = choose(outside, c.radius / choose(outside, size, 1.0), 1.0)
    along = RankOnePerGroup(0.0, p / choose(outside, size, 1.0), choose(outside, -1.0, 0.0))
    return float(shrink) * (jacobian_map(h.prox_jacobian(v, step)) + along)


def _few_singular_values(h: Nuclear, c: Rank, v: Array, step: float) -> Spectral:
    xp = namespace(v)
    u, sigma, wt = xp.linalg.svd(v, full_matrices=False)
    g = soft(xp, sigma, h.lam * step)
    return Spectral(u, sigma, wt, xp.where(xp.arange(g.shape[0]) < c.s, g, xp.zeros_like(g)), 1.0)


def _entrywise(h: ScalarPenalty, c: Indicator) -> tuple[Rule, Rule] | None:
    """Rules for entrywise penalties that are not a projection after or before a prox."""
    if isinstance(c, (Box, NonNegative)):
        lo, hi = bounds(c)

        def best(v: Array, step: float) -> Array:
            return _best_in_box(h, v, step, lo, hi)

        def within(v: Array, step: float) -> Array:
            u = best(v, step)  # a u strictly inside moves as without the box
            return h._derivative(u, step) * namespace(v).astype((u > fit(lo, v)) & (u < fit(hi, v)), v.dtype)

        return best, within
    if isinstance(c, Binary):
        return lambda v, step: _cheaper(h, c, v, step), c.prox_jacobian
    return None


def _cheaper(h: ScalarPenalty | Entrywise, c: Binary, v: Array, step: float) -> Array:
    """lo or hi, whichever has the smaller objective."""
    xp = namespace(v)
    low, high = xp.full_like(v, c.lo), xp.full_like(v, c.hi)
    # difference of the squares, without squaring v
    rise = h.terms(high) - h.terms(low) + (c.hi - c.lo) * (0.5 * (c.hi + c.lo) - v) / step
    return xp.where(rise < 0, high, low)


def _best_in_box(h: ScalarPenalty, v: Array, step: float, lo: float | Array, hi: float | Array) -> Array:
    """Minimise over [lo, hi] one sign at a time: stationary points of φ, clipped, and the end nearer to 0.

    φ does not decrease with |u|, so nothing beyond |v| needs a look but the end nearer to 0.
    """
    xp, zero = namespace(v), namespace(v).zeros_like(v)
    lo, hi, lam = fit(lo, v) + zero, fit(hi, v) + zero, fit(h.lam, v)
    best, best_cost = xp.clip(v, lo, hi), xp.full_like(v, math.inf)
    for sign, low, high in ((1.0, lo, hi), (-1.0, -hi, -lo)):
        low, x = xp.maximum(low, zero), sign * v
        for candidate in (*h._candidates(xp, x, lam, step), x, low):
            u = xp.clip(candidate, low, xp.maximum(high, low))
            cost = h._phi(xp, u, lam) + u * (0.5 * u - x) / step  # v²/(2 step) left out
            better = (cost < best_cost) & (high >= low)
            best, best_cost = xp.where(better, sign * u, best), xp.where(better, cost, best_cost)
    return xp.asarray(best)
