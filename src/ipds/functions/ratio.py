"""The ratio of two norms: a measure of sparsity that no change of units moves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, absolute_sum, asarray, magnitude, to_numpy
from ._arguments import number
from .base import Nonsmooth
from .jacobians import Jacobian
from .scalar import one_step


class L1OverL2(Nonsmooth):
    """h(x) = λ‖x‖₁/‖x‖₂, and 0 at 0: between λ for one nonzero entry and λ√N for equal ones.

    prox(v, s): u has the signs and the order of v, so that its support holds the k largest |v_i|. With c = sλ, ρ = ‖u‖₂
    and the sums V₁ = Σ|v_i|, V₂ = Σv_i² over the support, it is u = (|v| - c/ρ)/m, m = (V₂ρ - cV₁)/ρ³ > 0, ρ a root of

        V₂ρ⁴ - 2cV₁ρ³ + (kc² - V₂²)ρ² + 2cV₁V₂ρ - c²V₁² = 0.

    All roots of all k are compared with 0, by the cost -ρ²/(2s) + λ‖u‖₁/ρ: the best one is the minimiser.
    Tao, Minimization of L1 over L2 for sparse signal recovery with convergence guarantee, SIAM J. Sci. Comput. 44
    (2022), for fixed supports.

    >>> import numpy as np
    >>> L1OverL2(1.0).prox(np.array([3.0, 0.1, 0.0]), 1.0)
    array([3., 0., 0.])
    """

    unit_powers = ()

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = number("L1OverL2", "lam", lam, above=0.0, or_equal=True)

    def __call__(self, x: Array) -> float:
        size = float(magnitude(x))
        return self.lam * float(absolute_sum(x)) / size if size else 0.0

    def prox(self, v: Array, step: float) -> Array:
        plain = to_numpy(v)
        a = np.abs(plain.astype(float)).reshape(-1)
        order = np.argsort(-a, kind="stable")
        u = np.zeros_like(a)
        if not np.all(np.isfinite(a)):
            # a diverged iterate: let the solver see it
            return asarray(np.full(plain.shape, math.nan), like=v)
        unit = float(a[order[0]]) if a.size else 0.0
        if unit > 0:  # in units of the largest entry: h does not notice, and no power overflows
            u[order] = unit * _shrunk(a[order] / unit, self.lam * float(one_step(self, step)) / unit**2)
        return asarray(np.copysign(u.reshape(plain.shape), plain), like=v)

    def prox_jacobian(self, v: Array, step: float) -> Jacobian:
        """(I + sλ∇²(‖u‖₁/‖u‖₂))⁻¹ on the support of u = prox(v, s), 0 elsewhere."""
        return RatioJacobian(self.prox(v, step), self.lam * float(one_step(self, step)))

    def subgradient(self, x: Array) -> Array:
        """λ(sign(x)/‖x‖₂ - ‖x‖₁ x/‖x‖₂³), and 0 at 0."""
        plain, size = to_numpy(x), float(magnitude(x))
        if size == 0.0:
            return asarray(np.zeros_like(plain), like=x)
        unit = plain / size
        return asarray(self.lam / size * (np.sign(plain) - np.abs(unit).sum() * unit), like=x)


class RatioJacobian(Jacobian):
    """(M - W S Wᵀ)/m, M the support of u, W = (sign u, u), S a symmetric 2x2 matrix.

    With a = ‖u‖₁, ρ = ‖u‖₂, m = 1 - ca/ρ³ and c = sλ, I + c∇²(a/ρ) = m I + W K Wᵀ on the support,
    K = (c/ρ³) [[0, -1], [-1, 3a/ρ²]], and S = (m I + K WᵀW)⁻¹ K.
    """

    def __init__(self, u: Array, c: float) -> None:
        super().__init__(u.shape)
        plain = to_numpy(u).astype(float).reshape(-1)
        rho = float(magnitude(plain))
        self.on, self.m = (plain != 0).astype(float) if c else np.ones(plain.size), 1.0
        self.W, self.weights = np.zeros((plain.size, 2)), np.zeros(2)
        if rho == 0.0 or c == 0.0:
            return
        unit, c = plain / rho, c / rho**2  # in units of ρ
        a = float(np.abs(unit).sum())
        W = np.stack([np.sign(unit), unit], axis=1)
        K = c * np.array([[0.0, -1.0], [-1.0, 3.0 * a]])
        self.m = 1.0 - c * a
        S = np.linalg.solve(self.m * np.eye(2) + K @ (W.T @ W), K)
        self.weights, basis = np.linalg.eigh(0.5 * (S + S.T))
        self.W = W @ basis
        inner = np.linalg.eigvals(np.eye(2) - S @ (W.T @ W)) / self.m
        self.bound = max(1.0 / self.m, float(np.abs(inner).max()))

    def apply(self, x: Array) -> Array:
        flat = to_numpy(x).reshape(-1)
        out = (self.on * flat - self.W @ (self.weights * (self.W.T @ flat))) / self.m
        return asarray(out.reshape(x.shape), like=x)

    def low_rank(self) -> tuple[np.ndarray, Any, np.ndarray]:
        return self.on / self.m, self.W, -self.weights / self.m


def _shrunk(a: np.ndarray, c: float) -> np.ndarray:
    """The prox of a sorted a = (1 ≥ a_2 ≥ … ≥ 0), c = sλ: from the candidates of every support 1..k."""
    if c == 0.0:
        return a.copy()
    k, first, second = _supports(a[a > 0], c)
    rho = _roots(k, first, second, c)
    with np.errstate(all="ignore"):
        m = (second[:, None] * rho - c * first[:, None]) / rho**3
        valid = (rho > 0) & (m > 0) & (a[k - 1, None] * rho > c)
        # ‖u‖₁ = ρ³(1 - m)/c, times 1/ρ; the costs are relative to the one of 0, times s
        cost = np.where(valid, rho**2 * (1.0 - m) - 0.5 * rho**2, math.inf)
    if not np.min(cost, initial=0.0) < 0.0:
        return np.zeros_like(a)
    best = np.unravel_index(int(np.argmin(cost)), cost.shape)
    size = int(k[best[0]])
    u = np.zeros_like(a)
    u[:size] = (a[:size] - c / rho[best]) / m[best]
    return u


def _supports(a: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k, V₁, V₂) of the supports that can hold a minimiser.

    For a given ρ the best u is ρw with w the direction of (a - t)₊, t = c/ρ; it is stationary where ρ = ⟨a, w⟩. That
    product rises with ρ, so a root with support k, for which a_(k+1) ≤ t < a_k, lies between its values at both ends.
    """
    k, first, second = np.arange(1, a.size + 1), np.cumsum(a), np.cumsum(a * a)
    following = np.append(a[1:], 0.0)

    def product(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        square = second - 2.0 * t * first + k * t * t
        known = square > 1e-8 * second  # else too few digits are left of it
        return (second - t * first) / np.sqrt(np.where(known, square, 1.0)), known

    (low, sure), (high, certain) = product(a), product(following)
    begins = (c <= (1.0 + 1e-6) * high * a) | ~certain
    ends = (c >= (1.0 - 1e-6) * low * following) | ~sure
    kept = (a > following) & begins & ends
    return k[kept], first[kept], second[kept]


def _roots(k: np.ndarray, first: np.ndarray, second: np.ndarray, c: float) -> np.ndarray:
    """The four roots of every quartic, real ones polished by Newton's method; complex ones become NaN."""
    monic = (
        np.stack([-2 * c * first, k * c * c - second**2, 2 * c * first * second, -((c * first) ** 2)], axis=1)
        / second[:, None]
    )
    companion = np.zeros((k.size, 4, 4))
    companion[:, 0, :] = -monic
    companion[:, [1, 2, 3], [0, 1, 2]] = 1.0
    found = np.linalg.eigvals(companion)
    rho = np.where(np.abs(found.imag) <= 1e-6 * np.abs(found), found.real, math.nan)
    b3, b2, b1, b0 = (monic[:, j, None] for j in range(4))
    with np.errstate(all="ignore"):
        for _ in range(3):
            value = (((rho + b3) * rho + b2) * rho + b1) * rho + b0
            slope = ((4 * rho + 3 * b3) * rho + 2 * b2) * rho + b1
            step = value / slope
            rho = np.where(np.abs(step) < 0.1 * np.abs(rho), rho - step, rho)
    return rho
