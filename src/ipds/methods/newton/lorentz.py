"""Second-order cones and balls in interior-point steps.

Cones by the scaling of Nesterov and Todd, W λ = u and W⁻¹λ = s; balls as ‖u‖ ≤ r, y = t u with t (r² - ‖u‖²)/2 = μ.
Alizadeh & Goldfarb, Second-order cone programming, Math. Program. 95 (2003).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import norm
from .cone import INWARD, Cone, OnRows


class Cones(Cone):
    """Every row of k u + shift is in the second-order cone."""

    @property
    def degree(self) -> int:
        return math.prod(self.shape) // self.shape[-1]

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        own = weight / self.k**2
        U, S = self.primal(u), self.dual(y)
        sizes = norm(U) / math.sqrt(len(U)), norm(S) / math.sqrt(len(S))
        for A, size in ((U, max(sizes[0], sizes[1] / own)), (S, max(sizes[1], sizes[0] * own))):
            A[:, 0] = np.maximum(A[:, 0], np.sqrt((A[:, 1:] ** 2).sum(1)) + INWARD * push * (size or 1.0))
        return (U.ravel() - self.shift) / self.k, -self.k * S.ravel()

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Any:
        return ConeScaling(self, u, y)

    def primal(self, u: np.ndarray) -> np.ndarray:
        return (self.k * u + self.shift).reshape(-1, self.shape[-1])

    def dual(self, y: np.ndarray) -> np.ndarray:
        return y.reshape(-1, self.shape[-1]) / -self.k


def _determinants(x: np.ndarray) -> np.ndarray:
    """√(x_0² - ‖x_1‖²) of every row, not below what rounding leaves of it."""
    size = np.sqrt((x[:, 1:] ** 2).sum(1))
    return np.sqrt(np.maximum((x[:, 0] - size) * (x[:, 0] + size), 1e-30 * x[:, 0] ** 2 + 1e-300))


def _jordan(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x∘y = (⟨x, y⟩, x_0 y_1 + y_0 x_1), row by row."""
    out = x[:, :1] * y + y[:, :1] * x
    out[:, 0] = (x * y).sum(1)
    return out


class ConeScaling:
    """W λ = u, W⁻¹λ = s with W = η(2vvᵀ - J), J = diag(1, -1, …); ψ = W² = η²(2wwᵀ - J)."""

    def __init__(self, cone: Cones, u: np.ndarray, y: np.ndarray):
        self.cone, self.u, self.y = cone, u, y
        U, S = cone.primal(u), cone.dual(y)
        first, second = _determinants(U), _determinants(S)
        a, b = U / first[:, None], S / second[:, None]
        sign = np.ones(U.shape[1])
        sign[1:] = -1
        self.sign = sign
        gamma = np.sqrt(0.5 * (1 + (a * b).sum(1)))
        self.w = (a + sign * b) / (2 * gamma)[:, None]
        self.eta = np.sqrt(first / second)
        v = self.w.copy()
        v[:, 0] += 1
        self.v = v / np.sqrt(2 * v[:, :1])
        self.values = self._up(S)
        self.root = _determinants(self.values)
        self.product = float(np.vdot(U, S))
        blocks = 2 * self.w[:, :, None] * self.w[:, None, :] - np.diag(sign)
        self.psi = ((self.eta / cone.k) ** 2)[:, None, None] * blocks

    def _up(self, x: np.ndarray) -> np.ndarray:
        """W x."""
        return self.eta[:, None] * (2 * self.v * (self.v * x).sum(1)[:, None] - self.sign * x)

    def _down(self, x: np.ndarray) -> np.ndarray:
        """W⁻¹x."""
        v = self.sign * self.v
        return (2 * v * (v * x).sum(1)[:, None] - self.sign * x) / self.eta[:, None]

    def _scaled(self, du: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k, shape = self.cone.k, self.w.shape
        return self._down(k * du.reshape(shape)), self._up(dy.reshape(shape) / -k)

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        lam = self.values
        left = -_jordan(lam, lam)
        left[:, 0] += goal
        if du is not None:
            left = left - _jordan(*self._scaled(du, dy))
        # λ∘x = left
        cross = (lam[:, 1:] * left[:, 1:]).sum(1)
        x = np.empty_like(left)
        x[:, 0] = (lam[:, 0] * left[:, 0] - cross) / self.root**2
        x[:, 1:] = (left[:, 1:] - x[:, :1] * lam[:, 1:]) / lam[:, :1]
        return self._up(x).ravel() / self.cone.k

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        return (self.psi @ dy.reshape(*self.w.shape, 1)).ravel() + rho

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        """From the eigenvalues of steps in the frame of λ."""
        unit, worst = self.values / self.root[:, None], 0.0
        for d in self._scaled(du, dy):
            along = (unit * self.sign * d).sum(1)
            rest = d[:, 1:] - ((along + d[:, 0]) / (unit[:, 0] + 1))[:, None] * unit[:, 1:]
            size = np.sqrt((rest**2).sum(1))
            worst = max(worst, float(((size - along) / self.root).max()))
        return worst

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        return self.u + length * du, self.y + length * dy


@dataclass(frozen=True, eq=False)
class Ball(OnRows):
    """‖k u + shift‖ ≤ r."""

    rows: slice
    radius: float
    k: float
    shift: np.ndarray
    degree = 1

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        own, U, Y = weight / self.k**2, self.k * u + self.shift, y / self.k
        size = norm(U)
        U = U * min(1.0, 0.7 * self.radius / size) if size > 0 else np.full(len(U), self.radius / len(U))
        stretch = push * max(norm(Y) / self.radius, 0.1 * own)
        return (U - self.shift) / self.k, self.k * stretch * U

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Any:
        return BallScaling(self, u, y)

    def product(self, u: np.ndarray, y: np.ndarray) -> float:
        return BallScaling(self, u, y).product


class BallScaling:
    """ψ⁻¹ = t(I + 2 u uᵀ/(r² - ‖u‖²)), for y = t u."""

    def __init__(self, ball: Ball, u: np.ndarray, y: np.ndarray):
        self.ball = ball
        self.U = U = ball.k * u + ball.shift
        self.square = float(U @ U)
        self.slack = max(ball.radius**2 - self.square, 1e-17 * ball.radius**2)
        self.stretch = max(float(U @ y) / ball.k / max(self.square, 1e-300), 1e-300)
        self.product = 0.5 * self.stretch * self.slack
        across = np.eye(len(U)) - (2 / (self.slack + 2 * self.square)) * np.outer(U, U)
        self.psi = across / (self.stretch * ball.k**2)

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        """-ψκ where dy = ψ⁻¹du + κ, κ = u(2 goal/(r² - ‖u‖²) - t)."""
        goal = 2 * goal
        if du is not None:
            dU = self.ball.k * du
            goal += 2 * self._change(dU, dy) * float(self.U @ dU) + self.stretch * float(dU @ dU)
        return -self.psi @ (self.ball.k * self.U * (goal / self.slack - self.stretch))

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        return self.psi @ dy + rho

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        dU = self.ball.k * du
        along, square = float(self.U @ dU), float(dU @ dU)
        dt = self._change(dU, dy)
        return max((along + math.sqrt(along * along + square * self.slack)) / self.slack, -dt / self.stretch)

    def _change(self, dU: np.ndarray, dy: np.ndarray) -> float:
        """dt, from dy = t du + u dt."""
        return float(self.U @ (dy / self.ball.k - self.stretch * dU)) / max(self.square, 1e-300)

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        dU = self.ball.k * du
        U, stretch = self.U + length * dU, self.stretch + length * self._change(dU, dy)
        return (U - self.ball.shift) / self.ball.k, self.ball.k * stretch * U
