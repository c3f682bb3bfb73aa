"""What is shown of a point of the reduced problem: the State with block j put back, and the point that x̆ asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._arrays import Array, add_scaled
from ...operators import Identity
from ...theory.state import State
from .reduced import Point, ReducedProblem, block_from_equation, full_multiplier, insert, locate


def snapshot(
    t: int,
    R: ReducedProblem,
    point: Point,
    prox_points: Sequence[tuple[Array | None, Any]],
    s: float,
    beta: float,
    mu: float,
    settled: bool = True,
    transient: bool = False,
    exhausted: bool = False,
    due: bool = False,
    bounded: bool = False,
) -> State:
    """The State of a point of the reduced problem, block j put back; x̆ is a prox with step `s`.

    `bounded` says that the f_i of the place may be bounds, which no State has.
    """
    place, values = point.place, point.place.f
    if bounded:
        pairs = zip(R.blocks, place.f, strict=True)
        values = tuple([None if block.f is not None and block.f.bounds_values else fi for block, fi in pairs])
    if R.moved is not None:
        return _with_force(t, R, point, prox_points, s, beta, mu)
    # z was made from x̆ and its prox point, which can be made from them again, unless f_j has moved
    u = None
    if place.force is not None:
        u = add_scaled(point.x_breve, -s, R.A.adjoint(point.reduced_multiplier))
    return State(
        t,
        insert(place.x, R.j, point.x_breve),
        point.x_breve,
        point.z,
        beta,
        mu,
        insert(place.products, R.j, None),
        insert(tuple(prox_points), R.j, (u, s)),
        last=R.j,
        gradients=insert(place.gradients, R.j, None),
        adjoints=insert(point.adjoints_z, R.j, None),
        values=insert(values, R.j, 0.0 if R.f is None else None),
        settled=settled,
        transient=transient,
        exhausted=exhausted,
        due=due,
    )


def _with_force(
    t: int, R: ReducedProblem, point: Point, prox_points: Sequence[Any], s: float, beta: float, mu: float
) -> State:
    """The State where f_j was counted to the other block: z = z⁺ - A_j⁻ᵀ∇f_j(y), and no gradient is that of an f_i."""
    assert R.moved is not None
    y = block_from_equation(R, point.place)
    z = point.z + R.force(1.0 * R.moved.grad(y))  # of a copy: the gradient is f_j's own
    u = add_scaled(point.x_breve, -s, R.A.adjoint(point.reduced_multiplier))
    blocks, points = insert(point.x, R.j, point.x_breve), insert(tuple(prox_points), R.j, (u, s))
    products = insert(point.place.products, R.j, None)
    return State(t, blocks, point.x_breve, z, beta, mu, products, points, last=R.j)


def restored(R: ReducedProblem, point: Point) -> Point:
    """The point with the x_i that x̆ asks for: on a manifold, nearest to A_i⁻¹(b - A_j x̆); as it was elsewhere.

    Where h_j is smoothed, x_i has many small entries in place of zeros; this one has those of x̆, nearly.
    """
    (block, *more), (op, *_) = R.blocks, R.operators
    if more or not block.h.is_manifold or not isinstance(op, Identity) or op.scale == 0:
        return point
    x = block.h.prox((R.b - R.A.apply(point.x_breve)) * (1 / op.scale), 1.0)
    place = locate(R, (x,))
    return point._replace(place=place, z=full_multiplier(point.reduced_multiplier, place.force))
