"""The exponential cone: one in a vector of three entries, or one in every row of a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, asarray, to_numpy
from .cones import ConvexCone
from .jacobians import Jacobian

ROUNDING = 4 * float(np.finfo(float).eps)
"""Relative change of ρ below which it has all its digits."""
FARTHEST = 600.0
"""Beyond this |ρ| the projection is at its limit to all digits, and exp(ρ) would overflow."""


class ExponentialCone(ConvexCone):
    """{(x, y, z) : y exp(x/y) ≤ z, y > 0} and its limit {x ≤ 0, y = 0, z ≥ 0}; of a matrix every row is such a triple.

    prox(v, s): points of the boundary are σ·(ρ, 1, exp ρ) with ρ = x/y, and μ·(exp ρ, (1 - ρ) exp ρ, -1) is normal to
    it there. v is the sum of both where h(ρ) = σ exp ρ - μ - z vanishes, with σ and μ such that x and y are right. h
    rises on the interval in which both are positive; Newton's method in a bracket finds its root, to all digits.
    Friberg, Projection onto the exponential cone: a univariate root-finding problem, Optim. Methods Softw. 38 (2023).

    >>> import numpy as np
    >>> ExponentialCone().prox(np.array([1.0, 1.0, 1.0]), 1.0).round(6)
    array([0.426306, 0.751673, 1.325367])
    """

    def contains(self, x: Array) -> bool:
        rows = _rows(x)
        gap = np.max(np.abs(_project(rows) - rows), axis=1, initial=0.0)
        room = math.sqrt(float(np.finfo(to_numpy(x).dtype).eps)) * np.max(np.abs(rows), axis=1, initial=0.0)
        return bool(np.all(gap <= room))

    def project(self, v: Array) -> Array:
        return asarray(_project(_rows(v)).reshape(v.shape), like=v)

    def prox_jacobian(self, v: Array, step: float) -> Jacobian:
        """A symmetric 3x3 matrix for every row."""
        return RowMatrices(_derivatives(_rows(v)), v)


def _rows(x: Array) -> np.ndarray:
    """All triples as rows, in double precision."""
    if x.ndim not in (1, 2) or x.shape[-1] != 3:
        raise ValueError(
            f"ExponentialCone: needs three entries, or three columns, got shape {tuple(x.shape)}"
        )
    return to_numpy(x).astype(float).reshape(-1, 3)


def _exp_ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """exp(x/y) for y > 0, ∞ where it overflows and where y ≤ 0."""
    with np.errstate(over="ignore"):
        return np.where(y > 0, np.exp(x / np.where(y > 0, y, 1.0)), math.inf)


def _in_cone(v: np.ndarray) -> np.ndarray:
    x, y, z = v.T
    with np.errstate(over="ignore", invalid="ignore"):
        return ((y > 0) & (y * _exp_ratio(x, y) <= z)) | ((y == 0) & (x <= 0) & (z >= 0))


def _in_polar(v: np.ndarray) -> np.ndarray:
    """{x exp(y/x - 1) ≤ -z, x > 0} and its limit {x = 0, y ≤ 0, z ≤ 0}."""
    x, y, z = v.T
    with np.errstate(over="ignore", invalid="ignore"):
        return ((x > 0) & (x * _exp_ratio(y - x, x) <= -z)) | ((x == 0) & (y <= 0) & (z <= 0))


def _kinds(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in the cone, in its polar cone, and before the face {x ≤ 0, y = 0, z ≥ 0}."""
    inside = _in_cone(v)
    polar = ~inside & _in_polar(v)
    return inside, polar, ~inside & ~polar & (v[:, 0] <= 0) & (v[:, 1] <= 0)


def _project(v: np.ndarray) -> np.ndarray:
    inside, polar, face = _kinds(v)
    u = np.where(inside[:, None], v, 0.0)
    u[face] = v[face] * (1.0, 0.0, 1.0)
    u[face, 2] = np.maximum(u[face, 2], 0.0)
    rest = np.flatnonzero(~(inside | polar | face))
    if rest.size:
        size = np.linalg.norm(v[rest], axis=1)[:, None]
        u[rest] = size * _on_boundary(v[rest] / size)
    return u


def _on_boundary(v: np.ndarray) -> np.ndarray:
    """The nearest points of the curved boundary, for rows of length 1."""
    x, y, z = v.T
    rho = _root(v)
    # p = (ρ, 1, eᵖ) in units of its largest entry: u = p ⟨v, p⟩/‖p‖²
    unit = np.exp(-np.maximum(rho, 0.0))
    p = np.stack([rho * unit, unit, np.exp(np.minimum(rho, 0.0))], axis=1)
    u = p * (np.sum(v * p, axis=1) / np.sum(p * p, axis=1))[:, None]
    u[rho <= -FARTHEST] = np.stack([x, y, np.maximum(z, 0.0)], axis=1)[rho <= -FARTHEST]
    return np.maximum(u, (-math.inf, 0.0, 0.0))


def _height(rho: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """h(ρ) and h'(ρ) for σ = ((ρ - 1)x + y)/q, μ = (x - ρy)e⁻ᵖ/q, q = ρ² - ρ + 1."""
    x, y, z = v.T
    a, d, q, slope = (rho - 1.0) * x + y, x - rho * y, rho * (rho - 1.0) + 1.0, 2.0 * rho - 1.0
    up, down = np.exp(rho), np.exp(-rho)
    value = (a * up - d * down) / q - z
    return value, (up * ((a + x) * q - a * slope) + down * ((d + y) * q + d * slope)) / q**2


def _root(v: np.ndarray) -> np.ndarray:
    """ρ with h(ρ) = 0 for every row: Newton's method, with bisection where it leaves the bracket or is slow."""
    x, y, _ = v.T
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        low = np.clip(np.where(x > 0, 1.0 - y / x, -math.inf), -FARTHEST, FARTHEST)
        high = np.clip(np.where(y > 0, x / y, math.inf), -FARTHEST, FARTHEST)
    rho = np.clip(0.0, low, high)
    before = high - low
    for _ in range(200):
        (value, slope), room = _height(rho, v), ROUNDING * np.abs(rho)
        low, high = np.where(value <= 0, rho, low), np.where(value >= 0, rho, high)
        newton = rho - value / np.where(slope > 0, slope, 1.0)
        # Newton's step must stay in the bracket and be at most half of the last one, else the bracket is halved
        step = np.abs(newton - rho)
        fast = (slope > 0) & (newton >= low) & (newton <= high) & ((2.0 * step <= before) | (step <= room))
        following = np.where(fast, newton, 0.5 * (low + high))
        before, rho = np.abs(following - rho), following
        if (before <= room).all():
            break
    return rho


def _derivatives(v: np.ndarray) -> np.ndarray:
    """The derivative of the projection at every row.

    On the curved boundary u + μ∇g(u) = v with g(u) = y exp(x/y) - z = 0 and ∇²g = (eᵖ/y) wwᵀ, w = (1, -ρ, 0), so
    J = M - Mn nᵀM/(nᵀMn) with n = ∇g and M = (I + κ wwᵀ)⁻¹ = I - κ wwᵀ/(1 + κ‖w‖²), κ = μeᵖ/y.
    """
    inside, polar, face = _kinds(v)
    J = np.zeros((v.shape[0], 3, 3))
    J[inside] = np.eye(3)
    J[face, 0, 0] = 1.0
    J[face, 2, 2] = v[face, 2] > 0
    rest = np.flatnonzero(~(inside | polar | face))
    if rest.size == 0:
        return J
    size = np.linalg.norm(v[rest], axis=1)[:, None]
    w = v[rest] / size
    u = _on_boundary(w)
    curved = u[:, 1] > 0
    J[rest[~curved]] = np.diag([0.0, 0.0, 1.0])  # the edge (0, 0, 1), to all digits
    rest, w, u = rest[curved], w[curved], u[curved]
    rho = np.clip(u[:, 0] / u[:, 1], -FARTHEST, FARTHEST)
    scale = np.exp(-np.maximum(rho, 0.0))
    n = np.stack([np.exp(np.minimum(rho, 0.0)), (1.0 - rho) * np.exp(np.minimum(rho, 0.0)), -scale], axis=1)
    mu = np.maximum(np.sum((w - u) * n, axis=1) / np.sum(n * n, axis=1), 0.0)  # in units of 1/scale
    direction = np.stack([np.ones_like(rho), -rho, np.zeros_like(rho)], axis=1)
    kappa = mu * np.exp(np.minimum(rho, 0.0))
    theta = kappa / (u[:, 1] + kappa * (1.0 + rho * rho))
    M = np.eye(3) - theta[:, None, None] * direction[:, :, None] * direction[:, None, :]
    Mn = np.einsum("kij,kj->ki", M, n)
    J[rest] = M - Mn[:, :, None] * Mn[:, None, :] / np.sum(n * Mn, axis=1)[:, None, None]
    return J


class RowMatrices(Jacobian):
    """d ↦ J_i d_i for every row d_i of three entries."""

    def __init__(self, matrices: np.ndarray, like: Array) -> None:
        super().__init__(like.shape)
        self.matrices = matrices

    def apply(self, x: Array) -> Array:
        return asarray(np.einsum("kij,kj->ki", self.matrices, _rows(x)).reshape(x.shape), like=x)

    def as_matrix(self, shape: Any) -> Any:
        return scipy.sparse.block_diag(list(self.matrices), format="csr")
