"""The reduced problem: one block eliminated in closed form.

Where A_j = c·I, f_j = 0 and h_j is convex, the minimiser of the smoothed augmented Lagrangian over x_j is explicit.
With u = (b - z/β - Σ_{i≠j} A_i x_i)/c and s = 1/(βc²) + μ,

    x̆ = prox_{h_j}(u, s),   d = (u - x̆)/s ∈ ∂h_j(x̆),
    Φ(x) = Σ f_i(x_i) + h_j(x̆) + s‖d‖²/2,   ∇_iΦ = ∇f_i - A_iᵀd/c,

and z⁺ = -d/c is the multiplier after a dual step with σ = 1. The same holds for any bijective A_j with A_jᵀA_j = c²·I
(a cosine transform, say): its inverse A_jᵀ/c² takes the place of 1/c.

Where f_j ≠ 0, it moves to the blocks that remain, as f_j(y(x)) with y(x) = A_j⁻¹(b - Σ A_i x_i): on the constraint the
objective is the same, and the multiplier of the problem as it was stated is z⁺ - A_j⁻ᵀ∇f_j(y).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..._arrays import (
    Array,
    add_in_place,
    add_scaled,
    divide_in_place,
    dot,
    scaled_difference,
    subtract_in_place,
)
from ...functions import Box, Nonsmooth, Smooth, Zero
from ...operators import Identity, Operator
from ...operators.absolute import absolute
from ...problem import Block, Problem, sum_products
from ...theory.state import State
from ..base import product_unless_identity

Arrays = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The eliminated block j and the blocks that remain."""

    j: int
    c: float
    b: Any
    h: Nonsmooth
    """h_j."""
    f: Smooth | None
    """f_j."""
    A: Operator
    """A_j."""
    blocks: tuple[Block, ...]
    """The others."""
    operators: tuple[Operator, ...]
    moved: Smooth | None = None
    """An f_j that was counted to the other block before: the multiplier of the problem as stated has its force."""
    soft: bool = False
    """Whether h_j is smoothed by its own `soften` instead of its Moreau envelope."""
    steepest: bool = False
    """Whether steps on manifolds follow `h.steepest` instead of tangent parts."""
    single: bool = False
    """Whether it is computed in single precision."""

    @cached_property
    def is_free(self) -> bool:
        """Whether nothing acts on block j: Φ is Σ f_i then, whatever the multiplier."""
        return isinstance(self.h, Zero) and self.f is None and not self.soft

    @cached_property
    def bounding(self) -> tuple[bool, ...]:
        """Whether f_i is bounded from above near a point where it is known, because its values cost extra."""
        return tuple([block.f is not None and block.f.bounds_values for block in self.blocks])

    @cached_property
    def softened(self) -> ReducedProblem:
        """The same with h_j softened; one object, so that what was compiled for it serves again."""
        return replace(self, soft=True)

    @cached_property
    def annealed(self) -> ReducedProblem:
        """The same while an annealing cools."""
        return replace(self, soft=True, steepest=True)

    @cached_property
    def cancelling(self) -> tuple[Operator, ...] | None:
        """The |A_i| where the equation is Σ_{i≠j} A_i x_i = 0, of which any residual is the whole; else None."""
        point = isinstance(self.h, Box) and [self.h.lo, self.h.hi, self.b]
        if not point or any(type(a) is not np.ndarray and not isinstance(a, float) for a in point):
            return None
        return None if any(map(np.any, point)) else tuple(absolute(op) for op in self.operators)

    def invert(self, y: Array) -> Array:
        """A_j⁻¹ y."""
        if isinstance(self.A, Identity):
            return y if self.c == 1.0 else y * (1 / self.c)
        return self.A.adjoint(y) * (1 / self.c**2)

    def multiplier(self, x_breve: Array, u: Array, s: float) -> Array:
        """z⁺ = -A_j⁻ᵀd with d = (u - x̆)/s; may take the place of u."""
        if isinstance(self.A, Identity):
            return scaled_difference(x_breve, u, 1 / (self.c * s), into_second=True)
        return self.A.apply(scaled_difference(x_breve, u, 1 / (self.c**2 * s)))

    def force(self, slope: Array) -> Array:
        """-A_j⁻ᵀ slope, in the place of slope where it can be."""
        if isinstance(self.A, Identity):
            return divide_in_place(slope, -self.c)
        return self.A.apply(divide_in_place(slope, -(self.c**2)))

    def target(self, z: Array, beta: float) -> Array:
        """b - z/β, of the shape of the constraint even where b is a number."""
        return add_scaled(self.b, -1 / beta, z)


class Place(NamedTuple):
    """What is known at x whatever the smoothing."""

    x: Arrays
    products: tuple[Array | None, ...]
    """A_i x_i; None where A_i = c·I: such a product takes less time than its memory is worth."""
    f: tuple[Any, ...]
    """f_i(x_i), or a bound from above: see `Known`."""
    gradients: tuple[Array | None, ...]
    """∇f_i(x_i), None where f_i = 0."""
    h: tuple[Any, ...]
    """h_i(x_i), 0 of sets."""
    f_j: Any
    """f_j(y(x))."""
    force: Array | None
    """-A_j⁻ᵀ∇f_j(y(x)), None where f_j = 0."""


class Known(NamedTuple):
    """What is known of the f_i at x: where their values cost extra, those nearby are bounded by `f.bound_and_grad`."""

    x: Arrays
    f: tuple[Any, ...]
    """f_i(x_i), or bounds from above."""
    slopes: tuple[Array | None, ...]
    """∇f_i(x_i); None where the value of f_i comes with its gradient."""


class Point(NamedTuple):
    """Φ at a place: all that depends on the smoothing. x̆ and the multipliers are None where h_j is softened."""

    place: Place
    value: Any
    """Φ(x) + Σ ω_i h_i(x_i)."""
    x_breve: Any
    reduced_multiplier: Any
    """z⁺ = -A_j⁻ᵀd, the multiplier of the reduced problem."""
    z: Any
    """The multiplier of the problem as stated: the same unless f_j has moved."""
    adjoints_z: tuple[Array | None, ...]
    """A_iᵀz; None where A_i = c·I, unless it is the gradient itself, and where h_j is softened."""
    gradient: Arrays
    """∇_iΦ; on manifolds its tangent part, or `h.steepest`."""

    @property
    def x(self) -> Arrays:
        """The blocks that remain."""
        return self.place.x


_reduced: WeakKeyDictionary[Problem, dict[int, ReducedProblem]] = WeakKeyDictionary()


def eliminate(problem: Problem, j: int) -> ReducedProblem:
    """`problem` reduced by its block j: always the same object, so that what was compiled for it serves again."""
    known = _reduced.setdefault(problem, {})
    if j not in known:
        A, block = problem.operators[j], problem.blocks[j]
        assert A.gram is not None
        c = A.scale if isinstance(A, Identity) else math.sqrt(A.gram)
        others = without(problem.blocks, j), without(problem.operators, j)
        known[j] = ReducedProblem(j, c, problem.b, block.h, block.f, A, *others)
    return known[j]


def evaluate(
    R: ReducedProblem,
    x: Arrays,
    target: Array,
    s: float,
    weights: tuple[float, ...] = (),
    near: Known | None = None,
) -> Point:
    """Φ and its gradient at x: each A_i, A_iᵀ and f_i once; `target` is b - z/β, `weights` as in `smooth_at`."""
    return resmooth(R, locate(R, x, near), target, s, weights)


def locate(R: ReducedProblem, x: Arrays, near: Known | None = None) -> Place:
    """All A_i x_i, f_i(x_i) and ∇f_i(x_i); bounds of those f_i whose slopes are known at a point nearby."""
    near = near or Known(x, (0.0,) * len(x), (None,) * len(x))
    products, values, gradients, h = [], [], [], []
    for block, op, xi, at, value, slope in zip(R.blocks, R.operators, x, *near, strict=True):
        products.append(product_unless_identity(op, xi))
        f, df = (
            value_and_gradient(block.f, xi) if slope is None else block.f.bound_and_grad(xi, at, value, slope)
        )
        values.append(f)
        gradients.append(df)
        h.append(0.0 if block.h.is_set else block.h(xi))
    place = Place(x, tuple(products), tuple(values), tuple(gradients), tuple(h), 0.0, None)
    if R.f is None:
        return place
    f_j, slope = R.f.value_and_grad(block_from_equation(R, place))
    return place._replace(f_j=f_j, force=R.force(1.0 * slope))  # of a copy: the slope is f_j's own


def resmooth(
    R: ReducedProblem, place: Place, target: Array, s: float, weights: tuple[float, ...] = ()
) -> Point:
    """Φ and its gradient at a place, for a (new) target b - z/β and smoothing s: without any product A_i x_i."""
    return smooth_at(R, place, R.invert(target - total(R, place)), s, weights)


def smooth_at(R: ReducedProblem, place: Place, u: Array, s: float, weights: tuple[float, ...] = ()) -> Point:
    """Φ and its gradient where u = A_j⁻¹(b - z/β - Σ A_i x_i), whose memory is used again; h_i counts ω_i times."""
    if R.is_free:
        return _free(R, place, u, weights)
    if R.soft:
        envelope, slope = R.h.soften(u, s)
        x_breve = reduced_multiplier = z = None
        behind = full_multiplier(R.force(slope), place.force)
        del slope
    else:
        x_breve = R.h.prox(u, s)
        reduced_multiplier = R.multiplier(x_breve, u, s)
        curved = (s * R.c * R.c / 2) * dot(reduced_multiplier, reduced_multiplier)
        envelope = curved + (0.0 if R.h.is_set else R.h(x_breve))
        behind = z = full_multiplier(reduced_multiplier, place.force)
    value = counted(place, sum(place.f) + place.f_j + envelope, weights)
    adjoints_z: list[Array | None] = []
    slopes = []
    for block, op, df in zip(R.blocks, R.operators, place.gradients, strict=True):
        more = df is not None or block.h.is_manifold
        adjoint_z = None if more and isinstance(op, Identity) else op.adjoint(behind)
        slopes.append(_gradient(op, behind, adjoint_z, df))
        adjoints_z.append(None if R.soft else adjoint_z)
    del behind, adjoint_z  # not needed while the tangent parts are made
    for i, (block, xi) in enumerate(zip(R.blocks, place.x, strict=True)):
        slopes[i] = tangent(block, xi, slopes[i], R.steepest)
    return Point(place, value, x_breve, reduced_multiplier, z, tuple(adjoints_z), tuple(slopes))


def _free(R: ReducedProblem, place: Place, u: Array, weights: tuple[float, ...]) -> Point:
    """The same where nothing acts on block j: x̆ = u, z = 0."""
    z = 0.0 * u if isinstance(R.A, Identity) else R.A.apply(0.0 * u)
    adjoints_z, gradient = [], []
    for block, op, xi, df in zip(R.blocks, R.operators, place.x, place.gradients, strict=True):
        known = df is not None and isinstance(op, Identity)
        adjoints_z.append(None if known else op.adjoint(z))
        gradient.append(tangent(block, xi, adjoints_z[-1] if df is None else df))
    value = counted(place, sum(place.f), weights)
    return Point(place, value, u, z, z, tuple(adjoints_z), tuple(gradient))


def counted(place: Place, value: Any, weights: Sequence[float]) -> Any:
    """value + Σ ω_i h_i(x_i)."""
    for h, weight in zip(place.h, weights or (1.0,) * len(place.h), strict=True):
        value = value + weight * h
    return value


def value_at(
    R: ReducedProblem, place: Place, z: Array, beta: float, s: float, weights: tuple[float, ...]
) -> tuple[Any, Arrays]:
    """Φ and its gradient at a place, with the multiplier given."""
    point = smooth_at(R, place, R.invert(subtract_in_place(R.target(z, beta), total(R, place))), s, weights)
    return point.value, point.gradient


def full_multiplier(multiplier: Array, force: Array | None) -> Array:
    """That of the problem as stated: z⁺ with the force of an f_j that has moved."""
    return multiplier if force is None else multiplier + force


def _gradient(op: Operator, z: Array, adjoint_z: Array | None, df: Array | None) -> Array:
    """∇f_i + A_iᵀz."""
    made = op.adjoint(z) if adjoint_z is None else adjoint_z
    if df is None:
        return made
    return df + made if made is z or made is adjoint_z else add_in_place(made, df)


def value_and_gradient(f: Smooth | None, x: Array) -> tuple[Any, Array | None]:
    """(f(x), ∇f(x)); (0, None) for no f."""
    return (0.0, None) if f is None else f.value_and_grad(x)


def known_at(R: ReducedProblem, place: Place) -> Known:
    """What a place tells of values nearby."""
    slopes = tuple([df if bounds else None for bounds, df in zip(R.bounding, place.gradients, strict=True)])
    return Known(place.x, place.f, slopes)


def exact(R: ReducedProblem, point: Point) -> Point:
    """The point with the values of the f_i in place of their bounds."""
    place = point.place
    four = zip(R.bounding, R.blocks, place.x, place.f, strict=True)
    values = [block.f(xi) if bounds else fi for bounds, block, xi, fi in four]  # type: ignore[misc]
    value = point.value + sum(values) - sum(place.f)
    return point._replace(place=place._replace(f=tuple(values)), value=value)


def tangent(block: Block, x: Array, g: Array, steepest: bool = False) -> Array:
    """The Riemannian gradient on a manifold, in the metric in which to descend if `steepest`; g itself elsewhere."""
    h = block.h
    return g if not h.is_manifold else h.steepest(x, g) if steepest else h.tangent(x, g)


def total(R: ReducedProblem, place: Place) -> Array:
    """Σ A_i x_i over the blocks that remain."""
    three = zip(R.operators, place.x, place.products, strict=True)
    terms = [op.apply(xi) if product is None else product for op, xi, product in three]
    return terms[0] if len(terms) == 1 else sum_products(terms, 0.0)


def block_from_equation(R: ReducedProblem, place: Place) -> Array:
    """y(x) = A_j⁻¹(b - Σ A_i x_i), the block j that meets the constraint."""
    return R.invert(R.b - total(R, place))


def adjoints(R: ReducedProblem, z: Array, known: Sequence[Array | None]) -> Arrays:
    """A_iᵀz, where they are not known."""
    return tuple([op.adjoint(z) if own is None else own for op, own in zip(R.operators, known, strict=True)])


def snapshot(
    t: int,
    R: ReducedProblem,
    point: Point,
    prox_points: Sequence[tuple[Array | None, Any]],
    s: float,
    beta: float,
    mu: float,
    *,
    bounded: bool = False,
    **flags: Any,
) -> State:
    """The State of a point, block j put back, with its `flags`; x̆ is a prox with step s.

    `bounded` says that the f_i of the place may be bounds, which no State has.
    """
    place, j, z, u = point.place, R.j, point.z, None
    known: dict[str, Any] = {}
    if R.moved is None:
        pairs = zip(R.bounding, place.f, strict=True)
        values = tuple([None if bounded and bounds else fi for bounds, fi in pairs])
        known["values"] = insert(values, j, 0.0 if R.f is None else None)
        known["gradients"] = insert(place.gradients, j, None)
        known["adjoints"] = insert(point.adjoints_z, j, None)
    else:  # z = z⁺ - A_j⁻ᵀ∇f_j(y), and no gradient is that of an f_i alone
        slope = R.moved.grad(block_from_equation(R, place))
        z = z + R.force(1.0 * slope)  # of a copy: the slope is f_j's own
    if place.force is not None or R.moved is not None:  # else z tells the prox point of x̆
        u = add_scaled(point.x_breve, -s, R.A.adjoint(point.reduced_multiplier))
    x, products = insert(place.x, j, point.x_breve), insert(place.products, j, None)
    points = insert(tuple(prox_points), j, (u, s))
    return State(t, x, point.x_breve, z, beta, mu, products, points, last=j, **known, **flags)


def without(items: tuple[Any, ...], j: int) -> tuple[Any, ...]:
    """`items` less the j-th."""
    return (*items[:j], *items[j + 1 :])


def insert(items: tuple[Any, ...], j: int, item: Any) -> tuple[Any, ...]:
    """`items` with `item` in place j."""
    return (*items[:j], item, *items[j:])
