"""Intersections of two sets with an exact projection: simplexes, cones with balls and spheres, matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, magnitude, namespace, scalar, to_numpy, truth
from .base import Nonsmooth
from .cones import SecondOrderCone
from .exponential_cone import ExponentialCone
from .faces import Support
from .jacobians import Conjugated, centring, masked
from .joint import pair
from .joint_entrywise import FewOf, bounds
from .matrix_sets import PSD, Rank, symmetric_part
from .sets import Box, Indicator, L2Ball, NonNegative, Simplex, Sphere
from .simplexes import CappedSimplex, RowSimplex
from .sparse_sets import Cardinality, NonzeroColumns, NonzeroRows, RowCardinality


@pair(Simplex, (Box, NonNegative))
def _capped(c: Any, box: Any) -> Nonsmooth | None:
    lo, hi = bounds(box)
    if not np.all(to_numpy(lo) <= 0):
        return None
    return c if np.all(to_numpy(hi) >= c.radius) else CappedSimplex(c.radius, hi)


@pair(CappedSimplex, (Box, NonNegative))
def _capped_twice(c: Any, box: Any) -> Nonsmooth | None:
    lo, hi = bounds(box)
    cap = np.minimum(c.cap, hi)
    if not np.all(to_numpy(lo) <= 0):
        return None
    return CappedSimplex(c.radius, float(cap) if np.ndim(cap) == 0 else cap)


class FewOnSimplex(Indicator):
    """A simplex (or one in every row) with at most s entries > 0 (in every row): project the s largest entries.

    Kyrillidis, Becker, Cevher & Koch, Sparse projections onto the simplex, ICML (2013).
    """

    def __init__(self, few: Cardinality | RowCardinality, simplex: Simplex | RowSimplex) -> None:
        if few.s == 0:
            raise ValueError(f"Sum: no point of {simplex!r} has 0 nonzero entries")
        self.few, self.simplex = few, simplex
        self.has_faces = isinstance(few, Cardinality)

    def contains(self, x: Array) -> bool:
        return self.few.contains(x) and self.simplex.contains(x)

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        axes = tuple(range(1, v.ndim)) if isinstance(self.few, RowCardinality) else None
        low, high = xp.min(v, axis=axes, keepdims=True), xp.max(v, axis=axes, keepdims=True)
        # whatever lies further below the largest entry than the radius is projected on 0
        out = high - 2.0 * float(np.max(to_numpy(self.simplex.radius))) - xp.abs(high)
        return self.simplex.project(xp.where(self.few.mask(v - low), v, out))

    def prox_jacobian(self, v: Array, step: float) -> Any:
        """d ↦ d - its mean over the entries > 0 (of the row), on these entries."""
        axes = tuple(range(1, v.ndim)) if isinstance(self.few, RowCardinality) else None
        return centring(namespace(v).astype(self.project(v) > 0, v.dtype), axes)

    def face(self, x: Array) -> Support | None:
        """The entries > 0, once there are s of them, on a simplex of their own."""
        face = self.few.face(x) if self.has_faces else None
        return None if face is None else Support(x, exchange=face.exchange, h=self)

    def inside(self, free: np.ndarray) -> Nonsmooth:
        """The simplex of these entries."""
        return self.simplex

    def pull(self, g: np.ndarray, free: np.ndarray) -> np.ndarray:
        """By how much g is below its mean over the entries that share the sum."""
        return np.maximum(np.mean(g.flat[free]) - g, 0.0)


@pair(Cardinality, Simplex)
def _few_on_simplex(few: Any, simplex: Any) -> Nonsmooth:
    return FewOnSimplex(few, simplex)


@pair(RowCardinality, RowSimplex)
def _few_on_rows(few: Any, simplex: Any) -> Nonsmooth | None:
    return FewOnSimplex(few, simplex) if type(simplex) is RowSimplex else None


class FewPositive(Indicator):
    """{x symmetric, positive semidefinite, of rank ≤ s}: the s largest eigenvalues, as far as they are positive.

    Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra Appl. 103 (1988).
    """

    def __init__(self, s: int) -> None:
        self.s = s

    def contains(self, x: Array) -> bool:
        return truth((PSD()(x) == 0.0) & Rank(self.s).contains(x))

    def project(self, v: Array) -> Array:
        xp = namespace(v)
        w, q = xp.linalg.eigh(symmetric_part("PSD", v))
        first = max(w.shape[0] - self.s, 0)
        half = q[:, first:] * xp.sqrt(xp.clip(w[first:], 0.0, None))
        return half @ half.T

    def prox_jacobian(self, v: Array, step: float) -> Conjugated:
        """H ↦ Q (Ω ∘ Qᵀ sym(H) Q) Qᵀ, Ω_ij the divided differences of w ↦ g: g_i = w_i where it stays, else 0."""
        xp = namespace(v)
        w, q = xp.linalg.eigh(symmetric_part("PSD", v))
        stays = (xp.arange(w.shape[0]) >= w.shape[0] - self.s) & (w > 0)
        g = xp.where(stays, w, 0.0)
        apart = w[:, None] - w[None, :]
        quotient = (g[:, None] - g[None, :]) / xp.where(apart == 0, 1.0, apart)
        both = stays[:, None] & stays[None, :]
        omega = xp.where(both | ((apart == 0) & (stays[:, None] | stays[None, :])), 1.0, quotient)
        J = Conjugated(q, omega)
        J.bound = float(xp.max(xp.abs(omega)))
        return J


@pair(PSD, Rank)
def _few_positive(psd: Any, rank: Any) -> Nonsmooth:
    return FewPositive(rank.s)


SPARSE = (Cardinality, RowCardinality, NonzeroRows, NonzeroColumns, Rank)
CONES = (NonNegative, PSD, FewPositive, SecondOrderCone, ExponentialCone, *SPARSE)


class InBall(Indicator):
    """K ∩ {‖x‖₂ ≤ radius}, K a cone, convex or not: project on K, then on the ball.

    Among the points of one length in K the nearest to v is along the projection of v on K.
    Bauschke, Bui & Wang, Projecting onto the intersection of a cone and a sphere, SIAM J. Optim. 28 (2018).
    """

    def __init__(self, cone: Any, ball: L2Ball) -> None:
        self.cone, self.ball = cone, ball
        self.is_convex = cone.is_convex

    def contains(self, x: Array) -> bool:
        return truth((self.cone(x) == 0.0) & self.ball.contains(x))

    def project(self, v: Array) -> Array:
        return self.ball.project(self.cone.prox(v, 1.0))

    def prox_jacobian(self, v: Array, step: float) -> Any:
        """Of K inside the ball; outside, where p is the projection on K, that of the ball at p after that of K."""
        return _after(self.ball, self.cone, v)


class OnSphere(Indicator):
    """K ∩ {‖x‖₂ = radius}, K a cone: project on K, then on the sphere.

    Where the projection on K is 0, the nearest point is the one of K on the sphere that least opposes v: all of it at
    the largest entry; for `PSD` along the eigenvector of the largest eigenvalue.
    Bauschke, Bui & Wang, Projecting onto the intersection of a cone and a sphere, SIAM J. Optim. 28 (2018).
    """

    def __init__(self, cone: Any, sphere: Sphere) -> None:
        if getattr(cone, "s", 1) == 0:
            raise ValueError(f"Sum: {cone!r} holds 0 only, which is not on {sphere!r}")
        self.cone, self.sphere = cone, sphere

    def contains(self, x: Array) -> bool:
        return truth((self.cone(x) == 0.0) & self.sphere.contains(x))

    def project(self, v: Array) -> Array:
        p = self.cone.prox(v, 1.0)
        return self.sphere.project(self._edge(v) if scalar(magnitude(p)) == 0 else p)

    def _edge(self, v: Array) -> Array:
        xp = namespace(v)
        if isinstance(self.cone, PSD | FewPositive):
            top = xp.linalg.eigh(symmetric_part("PSD", v))[1][:, -1:]
            return top @ top.T
        flat = xp.reshape(v, (-1,))
        place = xp.arange(flat.shape[0]) == xp.argmax(flat)
        return xp.reshape(xp.astype(place, v.dtype), v.shape)

    def prox_jacobian(self, v: Array, step: float) -> Any:
        return _after(self.sphere, self.cone, v)


def _after(outer: Indicator, cone: Any, v: Array) -> Any:
    """The derivative of outer ∘ cone at v: the product of both, which commute, as that of K keeps its projection p."""
    p = cone.prox(v, 1.0)
    if not scalar(magnitude(p)) > 0:
        return None
    inner, last = cone.prox_jacobian(v, 1.0), outer.prox_jacobian(p, 1.0)
    if inner is None or last is None:
        return None
    return masked(last, inner) if not hasattr(inner, "apply") else last @ inner


@pair(L2Ball, (*CONES, FewOf))
def _in_ball(ball: Any, cone: Any) -> Nonsmooth | None:
    return InBall(cone, ball) if not isinstance(cone, FewOf) or cone.is_cone else None


@pair(Sphere, (NonNegative, PSD, FewPositive, *SPARSE, FewOf))
def _on_sphere(sphere: Any, cone: Any) -> Nonsmooth | None:
    return OnSphere(cone, sphere) if not isinstance(cone, FewOf) or cone.is_cone else None
