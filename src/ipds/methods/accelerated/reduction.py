"""The reduced problem: one block eliminated in closed form.

Where A_j = c·I, f_j = 0 and h_j is convex, the minimiser of the smoothed augmented Lagrangian over x_j is explicit.
With r = b - Σ_{i≠j} A_i x_i, u = (r - z/β)/c and s = 1/(βc²) + μ,

    x̆ = prox_{h_j}(u, s),   d = (u - x̆)/s ∈ ∂h_j(x̆),
    Φ(x) = Σ f_i(x_i) + h_j(x̆) + s‖d‖²/2,   ∇_iΦ = ∇f_i - A_iᵀd/c,

and z⁺ = -d/c is the multiplier after a dual step with σ = 1. The same holds for any bijective A_j with A_jᵀA_j = c²·I
(a cosine transform, say): its inverse A_jᵀ/c² takes the place of 1/c.

Where f_j ≠ 0, it moves to the blocks that remain, as f_j(y(x)) with y(x) = A_j⁻¹r: on the constraint the objective is
the same, and the multiplier of the problem as it was stated is z⁺ - A_j⁻ᵀ∇f_j(y).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..._arrays import (
    Array,
    add_scaled,
    divided,
    dot,
    fetch,
    increased,
    magnitude,
    norm,
    precision,
    products_of_differences,
    scaled_difference,
)
from ...functions import Nonsmooth, Smooth
from ...operators import Identity, Operator
from ...problem import Block, Problem, sum_products

Arrays = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Reduction:
    """What stays fixed during a run: the eliminated block and those that remain."""

    j: int
    c: float
    h: Nonsmooth
    b: Any
    own: Operator
    """A_j."""
    blocks: tuple[Block, ...]
    operators: tuple[Operator, ...]
    smooth: tuple[Callable[[Array], tuple[float, Array | None]], ...]
    """x_i ↦ (f_i(x_i), ∇f_i(x_i))."""
    own_smooth: Callable[[Array], tuple[float, Array | None]] | None
    """The same for f_j, None where f_j = 0."""
    soft: bool = False
    """Whether h_j is smoothed by its own `soften` instead of its Moreau envelope."""

    @cached_property
    def softened(self) -> Reduction:
        """The same with h_j softened; one object, so that what was compiled for it serves again."""
        return replace(self, soft=True)

    def invert(self, y: Array) -> Array:
        """A_j⁻¹ y."""
        if isinstance(self.own, Identity):
            return y if self.c == 1.0 else y * (1 / self.c)
        return self.own.adjoint(y) * (1 / self.c**2)

    def invert_adjoint(self, x: Array) -> Array:
        """A_j⁻ᵀ x."""
        return x * (1 / self.c) if isinstance(self.own, Identity) else self.own.apply(x) * (1 / self.c**2)

    def multiplier(self, x_breve: Array, u: Array, s: float) -> Array:
        """z = -A_j⁻ᵀd with d = (u - x̆)/s; may take the place of u."""
        if isinstance(self.own, Identity):
            return scaled_difference(x_breve, u, 1 / (self.c * s), into_second=True)
        return self.own.apply(scaled_difference(x_breve, u, 1 / (self.c**2 * s)))

    def pushed(self, slope: Array) -> Array:
        """-A_j⁻ᵀ slope, in the place of slope where it can be."""
        if isinstance(self.own, Identity):
            return divided(slope, -self.c)
        return self.own.apply(divided(slope, -(self.c**2)))


class Place(NamedTuple):
    """What is known at x before any smoothing."""

    x: Arrays
    products: tuple[Array | None, ...]
    """A_i x_i; None where A_i = c·I: such a product takes less time than its memory is worth."""
    f: tuple[Any, ...]
    df: tuple[Array | None, ...]
    own_f: Any = 0.0
    push: Array | None = None
    """f_j(y) and -A_j⁻ᵀ∇f_j(y), where f_j has moved."""


class Point(NamedTuple):
    """The reduced function at x: a `Place`, and what depends on the smoothing."""

    x: Arrays
    products: tuple[Array | None, ...]
    f: tuple[Any, ...]
    df: tuple[Array | None, ...]
    own_f: Any = 0.0
    push: Array | None = None
    value: Any = 0.0
    """Φ(x) + Σ h_i(x_i)."""
    x_breve: Array = None
    split: Array = None
    """The multiplier -A_j⁻ᵀd of the reduced problem."""
    z: Array = None
    """The multiplier of the problem as stated: the same unless f_j has moved."""
    pulls: tuple[Array | None, ...] = ()
    """A_iᵀz; None where A_i = c·I, unless it is the gradient itself, and where h_j is softened."""
    g: Arrays = ()
    """∇_iΦ; its tangent part on manifolds."""

    def place(self) -> Point:
        """What does not depend on the smoothing."""
        return Point(*self[:6])

    def bare(self) -> Point:
        """What a next step starts from: x, the gradient, and the values of the f_i."""
        nothing = (None,) * len(self.x)
        return Point(self.x, nothing, self.f, nothing, self.own_f, value=self.value, g=self.g)


def eliminable(problem: Problem) -> int | None:
    """Index of the block to eliminate: convex h, A = c·I (or bijective with AᵀA = c²·I); best without f, then last."""
    fit = []
    for j, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        isometric = bool(op.gram) and math.prod(block.shape) == math.prod(problem.shape)
        if isometric and block.h.is_convex and len(problem.blocks) > 1:
            fit.append((block.f is None, j))
    return max(fit)[1] if fit else None


def eliminate(problem: Problem, j: int, x0: Arrays) -> Reduction:
    """The reduction of `problem` by its block j; `x0` serves to see which f_i are quadratic."""
    op, block = problem.operators[j], problem.blocks[j]
    assert op.gram is not None
    c = op.scale if isinstance(op, Identity) else math.sqrt(op.gram)
    blocks = without(problem.blocks, j)
    smooth = tuple(value_and_gradient(b, xi) for b, xi in zip(blocks, without(x0, j), strict=True))
    own_smooth = None if block.f is None else value_and_gradient(block, x0[j])
    operators = without(problem.operators, j)
    # the same object as in an earlier solve, where it would be the same: what was compiled for it serves again
    known = problem.__dict__.setdefault("_reductions", {})
    shortcuts = tuple(isinstance(one, OneCall) for one in (*smooth, own_smooth))
    made = Reduction(j, c, block.h, problem.b, op, blocks, operators, smooth, own_smooth)
    return known.setdefault((j, shortcuts, type(x0[j]), str(x0[j].dtype)), made)


def evaluate(R: Reduction, x: Arrays, target: Any, s: float, weights: tuple[Any, ...] = ()) -> Point:
    """Φ and its gradient at x: each A_i, A_iᵀ and f_i once; `target` is b - z/β, `weights` as in `resmooth`."""
    products = tuple([placed(op, xi) for op, xi in zip(R.operators, x, strict=True)])
    pairs = [smooth(xi) for smooth, xi in zip(R.smooth, x, strict=True)]
    f, df = tuple([value for value, _ in pairs]), tuple([gradient for _, gradient in pairs])
    p = Place(x, products, f, df)
    if R.own_smooth is not None:
        own_f, own_df = R.own_smooth(solved(R, p))
        p = p._replace(own_f=own_f, push=R.invert_adjoint(-own_df))  # type: ignore[operator]
    return resmooth(R, p, target, s, weights)


def placed(op: Operator, x: Array) -> Array | None:
    """A x, unless A = c·I."""
    return None if isinstance(op, Identity) else op.apply(x)


def total(R: Reduction, p: Place | Point) -> Array:
    """Σ A_i x_i over the remaining blocks."""
    terms = zip(R.operators, p.x, p.products, strict=True)
    return sum_products([op.apply(xi) if product is None else product for op, xi, product in terms], 0.0)


def solved(R: Reduction, p: Place | Point) -> Array:
    """y(x) = A_j⁻¹(b - Σ A_i x_i)."""
    return R.invert(R.b - total(R, p))


def adjoints(R: Reduction, p: Point) -> Arrays:
    """A_iᵀz."""
    known = zip(R.operators, p.pulls, strict=True)
    return tuple([op.adjoint(p.z) if pull is None else pull for op, pull in known])


def smoothed(R: Reduction, p: Place | Point, target: Any, s: float) -> tuple[Array, Array, Any, Array | None]:
    """x̆ = prox_{h_j}(u, s), split = -A_j⁻ᵀ(u - x̆)/s, the value of the smoothed h_j; the gradient of a softened one."""
    u = R.invert(target - total(R, p))
    value, slope = R.h.soften(u, s) if R.soft else (0.0, None)
    x_breve = R.h.prox(u, s)
    split = R.multiplier(x_breve, u, s)
    if slope is None:
        value = (s * R.c * R.c / 2) * dot(split, split) + (0.0 if R.h.is_set else R.h(x_breve))
    return x_breve, split, value, slope


def resmooth(R: Reduction, p: Place | Point, target: Any, s: float, weights: tuple[Any, ...] = ()) -> Point:
    """Φ at a place, for a (new) target b - z/β and smoothing s; its value counts h_i with the weight ω_i, or once."""
    x_breve, split, smooth, slope = smoothed(R, p, target, s)
    z = split if p.push is None else split + p.push
    behind = z  # the multiplier behind the gradient; z is the one that x̆ certifies
    if slope is not None:
        behind = R.pushed(slope) if p.push is None else R.pushed(slope) + p.push
    value = sum(p.f) + p.own_f + smooth
    pulls = tuple([pulled(*given, behind) for given in zip(R.blocks, R.operators, p.df, strict=True)])
    g = []
    weights = weights or (1.0,) * len(R.blocks)
    for block, op, xi, dfi, pull, weight in zip(
        R.blocks, R.operators, p.x, p.df, pulls, weights, strict=True
    ):
        g.append(tangent(block, xi, gradient(op, behind, pull, dfi)))
        if not block.h.is_set:
            value = value + weight * block.h(xi)
    pulls = pulls if slope is None else (None,) * len(g)
    return Point(*p[:6], value, x_breve, split, z, pulls, tuple(g))


def pulled(block: Block, op: Operator, df: Array | None, z: Array) -> Array | None:
    """A_iᵀz, unless A = c·I and that is not yet the gradient."""
    more = df is not None or block.h.is_manifold
    return None if more and isinstance(op, Identity) else op.adjoint(z)


def gradient(op: Operator, z: Array, pull: Array | None, df: Array | None) -> Array:
    """∇f_i + A_iᵀz."""
    made = op.adjoint(z) if pull is None else pull
    if df is None:
        return made
    return df + made if made is z or made is pull else increased(made, df)


class Trial(NamedTuple):
    """A step that was tried, and the numbers that judge it; those of the blocks are tuples."""

    point: Point
    v: tuple[Array | None, ...]
    """Prox points: x_i = prox_{h_i}(v_i, α_i); None on manifolds, whose normal vectors are known without."""
    value: Any
    moved: tuple[Any, ...]
    """‖Δx_i‖²."""
    crossed: tuple[Any, ...]
    """⟨Δx_i, Δg_i⟩."""
    bent: tuple[Any, ...]
    """‖Δg_i‖²."""
    slopes: tuple[Any, ...]
    """‖g_i‖² of the manifolds, 0 elsewhere."""
    warm: tuple[Any, ...]
    """What the next prox of each block may start from."""


def attempt(
    R: Reduction,
    old: Arrays,
    g: Arrays,
    target: Any,
    s: Any,
    steps: tuple[Any, ...],
    weights: tuple[Any, ...],
    warm: tuple[Any, ...],
) -> Trial:
    """x_i ← prox_{ω_i h_i}(x_i - α_i g_i, α_i), and all there is to know of it: pure, without a look at a number."""
    v = tuple([add_scaled(xi, -step, gi) for xi, gi, step in zip(old, g, steps, strict=True)])
    scaled = [step * weight for step, weight in zip(steps, weights, strict=True)]
    found = [block.h.prox_warm(*given) for block, *given in zip(R.blocks, v, scaled, warm, strict=True)]
    x, warm = zip(*found, strict=True)
    v = tuple([None if block.h.is_manifold else vi for block, vi in zip(R.blocks, v, strict=True)])
    q = evaluate(R, x, target, s, weights)
    changes = [products_of_differences(*four) for four in zip(x, old, q.g, g, strict=True)]
    slopes = [dot(gi, gi) if block.h.is_manifold else 0.0 for block, gi in zip(R.blocks, q.g, strict=True)]
    moved, crossed, bent = zip(*changes, strict=True)
    return Trial(q, v, q.value, moved, crossed, bent, tuple(slopes), warm)


def fetched(tried: Trial) -> Trial:
    """The trial with its numbers as floats: one transfer."""
    n = len(tried.v)
    flat = (tried.value, *tried.moved, *tried.crossed, *tried.bent, *tried.slopes)
    (value, *rest), point, v, warm = fetch(flat, tried.point, tried.v, tried.warm)
    moved, crossed, bent, slopes = [tuple(rest[k * n : (k + 1) * n]) for k in range(4)]
    return Trial(point, v, value, moved, crossed, bent, slopes, warm)


def tangent(block: Block, x: Array, g: Array) -> Array:
    """The Riemannian gradient on a manifold, g itself elsewhere."""
    return block.h.tangent(x, g) if block.h.is_manifold else g


def restored_value(R: Reduction, p: Point) -> Any:
    """The objective at the feasible point with x_j = (b - Σ A_i x_i)/c."""
    others = [block.h(xi) for block, xi in zip(R.blocks, p.x, strict=True) if not block.h.is_set]
    return sum(p.f) + p.own_f + sum(others) + R.h(solved(R, p))


def constraint_and_pulls(R: Reduction, p: Point) -> tuple[Any, ...]:
    """‖Ax - b‖, ‖Σ_{i≠j} A_i x_i‖, ‖A_j x̆_j‖, and all ‖A_iᵀz‖."""
    rest, own = total(R, p), R.own.apply(p.x_breve)
    constraint = magnitude(sum_products((rest, own), R.b)), magnitude(rest), magnitude(own)
    return (*constraint, *map(magnitude, adjoints(R, p)))


def curvatures(R: Reduction, point: Point, s: float, own_bend: float = 0.0) -> list[float]:
    """Curvature of Φ in every block along its own gradient; the envelope counts with its largest, 1/s, f_j as told.

    A block whose gradient vanishes is probed along its own x_i, or along ones.
    """
    found = []
    for block, op, smooth, xi, gi, dfi in zip(
        R.blocks, R.operators, R.smooth, point.x, point.g, point.df, strict=True
    ):
        size = norm(xi)
        d = gi if norm(gi) > 0 else xi if size > 0 else xi + 1.0
        length = norm(d)
        gain = (norm(op.apply(d)) / length) ** 2 / R.c**2
        curvature = gain * (1 / s + own_bend)
        if block.f is not None and block.f.lipschitz is not None:
            curvature += block.f.lipschitz
        elif dfi is not None:
            step = 1e-6 * (size or 1.0) / length
            curvature += norm(smooth(xi - step * d)[1] - dfi) / (step * length)
        found.append(curvature)
    return found


class OneCall:
    """x ↦ (f(x), ∇f(x)) at the price of the gradient alone: for a quadratic, f(x) = f(0) + ½⟨x, ∇f(x) + ∇f(0)⟩."""

    def __init__(self, f: Smooth, zero: Array):
        self.f, self.at_zero, self.slope = f, float(f(zero)), f.grad(zero)
        self.flat = norm(self.slope) == 0
        self.tolerance = max(1e-12, 100 * precision(zero))

    def __call__(self, x: Array) -> tuple[float, Array]:
        gradient = self.f.grad(x)
        return self.at_zero + 0.5 * dot(x, gradient if self.flat else gradient + self.slope), gradient

    def holds(self, x: Array, value: Any) -> bool:
        """Whether `value`, found by the formula, is f(x)."""
        value, actual = fetch((value, self.f(x)))
        return abs(value - actual) <= self.tolerance * (abs(actual) + abs(self.at_zero))


def value_and_gradient(block: Block, x: Array) -> Callable[[Array], tuple[float, Array | None]]:
    """x ↦ (f(x), ∇f(x)), by `OneCall` where f, given as two separate callables, looks quadratic.

    That is tried here at one point off the start; a piecewise quadratic may pass, so `verified` tries again later.
    """
    f = block.f
    if f is None:
        return nothing
    if type(f).value_and_grad is not Smooth.value_and_grad:
        return f.value_and_grad
    shortcut = OneCall(f, 0.0 * x)
    probe = 0.7 * x if norm(x) > 0 else -shortcut.slope
    value = shortcut(probe)[0]
    return shortcut if norm(probe) > 0 and shortcut.holds(probe, value) else f.value_and_grad


def nothing(x: Array) -> tuple[float, None]:
    """The value and gradient of no f."""
    return 0.0, None


def verified(R: Reduction, p: Point) -> Reduction:
    """R itself, or, where a function taken for a quadratic is none at p, R with that function evaluated in full."""

    def tried(smooth: Any, x: Array, value: Any) -> Any:
        fails = isinstance(smooth, OneCall) and not smooth.holds(x, value)
        return smooth.f.value_and_grad if fails else smooth

    smooth = tuple([tried(one, xi, fi) for one, xi, fi in zip(R.smooth, p.x, p.f, strict=True)])
    own = tried(R.own_smooth, solved(R, p), p.own_f) if isinstance(R.own_smooth, OneCall) else R.own_smooth
    same = own is R.own_smooth and all(new is old for new, old in zip(smooth, R.smooth, strict=True))
    return R if same else replace(R, smooth=smooth, own_smooth=own)


def without(items: tuple[Any, ...], j: int) -> tuple[Any, ...]:
    """`items` less the j-th."""
    return (*items[:j], *items[j + 1 :])


def insert(items: tuple[Any, ...], j: int, item: Any) -> tuple[Any, ...]:
    """`items` with `item` in place j."""
    return (*items[:j], item, *items[j:])
