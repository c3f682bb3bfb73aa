"""The logarithmic barrier of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, choose, magnitude, namespace, scalar, truth
from ._arguments import number
from .base import Domain, Nonsmooth
from .jacobians import Conjugated
from .logarithmic import positive_root
from .matrix_sets import PSD, symmetric_part
from .rescaling import one_unit, side_units
from .scalar import one_step
from .sets import slack


class LogDet(Nonsmooth):
    """h(x) = -λ log det(x/m) for symmetric positive definite x, ∞ elsewhere; m > 0 is a unit of measure.

    prox(v, s) = Q diag((w + √(w² + 4sλ))/2) Qᵀ from the eigenvalues w of the symmetric part of v.
    Its domain: see `domain`. Banerjee, El Ghaoui & d'Aspremont, Model selection through sparse maximum likelihood
    estimation, JMLR 9 (2008).

    >>> import numpy as np
    >>> LogDet().prox(np.diag([0.0, 1.5]), 1.0)
    array([[1., 0.],
           [0., 2.]])
    """

    is_convex = True

    def __init__(self, lam: float = 1.0, unit: float = 1.0) -> None:
        self.lam = number("LogDet", "lam", lam, above=0.0)
        self.unit = number("LogDet", "unit", unit, above=0.0)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """Symmetric matrices with eigenvalues > 0."""

        def contains(x: Array) -> bool:
            lowest = namespace(x).min(_spectrum(x)[0])
            return truth((lowest > 0) & _is_symmetric(x))

        def inside(x: Array) -> Array:
            w, q = _spectrum(x)
            return (q * namespace(x).where(w > 0, w, self.unit)) @ q.T

        return Domain(contains, inside, "the matrix must be symmetric and positive definite")

    def __call__(self, x: Array) -> float:
        xp, (w, _) = namespace(x), _spectrum(x)
        inside = truth(_is_symmetric(x) & (xp.min(w) > 0))
        value = -self.lam * scalar(xp.sum(xp.log(xp.where(w > 0, w, 1.0) / self.unit)))
        return choose(inside, value, math.inf)

    def prox(self, v: Array, step: float) -> Array:
        xp, (w, q) = namespace(v), _spectrum(v)
        u, _ = positive_root(xp, w, self.lam * one_step(self, step))
        half = q * xp.sqrt(u)
        return half @ half.T

    def prox_jacobian(self, v: Array, step: float) -> Conjugated:
        """H ↦ Q (Ω ∘ Qᵀ H Q) Qᵀ, Ω_ij = (u_i + u_j)/(r_i + r_j) the divided differences of w ↦ u, r = √(w² + 4sλ)."""
        w, q = _spectrum(v)
        u, r = positive_root(namespace(v), w, self.lam * one_step(self, step))
        return Conjugated(q, (u[:, None] + u[None, :]) / (r[:, None] + r[None, :]))

    def subgradient(self, x: Array) -> Array:
        """-λ x⁻¹."""
        return -self.lam * namespace(x).linalg.inv(x)

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the domain: 0 where the symmetric part of y has no eigenvalue > 0, else ∞."""
        return PSD().support(y)

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain never ends: its positive semidefinite part."""
        return PSD().project(d)

    def recession(self, d: Array) -> float:
        """0 for positive semidefinite directions, else ∞."""
        return PSD()(d)

    def rescaled(self, d: float | Array) -> LogDet | None:
        """u ↦ h(d·u): the unit divided by d, or by the geometric mean of a² where d_ij = a_i a_j; None for others."""
        one, a = one_unit(d), side_units(d)
        if one is None and a is not None:
            one = math.exp(2 * float(np.log(a).mean()))
        return None if one is None else LogDet(self.lam, self.unit / one)


def _spectrum(x: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the symmetric part."""
    return namespace(x).linalg.eigh(symmetric_part("LogDet", x))


def _is_symmetric(x: Array) -> Any:
    return magnitude(x - x.T) <= slack(x) * magnitude(x)
