"""Functions of eigenvalues and singular values in interior-point steps, by the scaling of Nesterov and Todd.

Nesterov & Todd, Primal-dual interior-point methods for self-scaled cones, SIAM J. Optim. 8 (1998).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import Shape, norm
from .cone import INWARD, Cone


def two_sided(T: np.ndarray, cap: float) -> np.ndarray:
    """H ↦ T sym(H) T + skew(H)/cap on flattened matrices.

    Matrices of these sets are symmetric: their skew parts are held at 0, as equations are.
    """
    n = len(T)
    straight, turned = T[:, None, :, None] * T[None, :, None, :], T[:, None, None, :] * T[None, :, :, None]
    psi = (0.5 * (straight + turned)).reshape(n * n, n * n)
    place = np.arange(n * n)
    psi[place, place] += 0.5 / cap
    psi[place, place.reshape(n, n).T.ravel()] -= 0.5 / cap
    return psi


class Matrices(Cone):
    """k u + shift is positive semidefinite."""

    @property
    def degree(self) -> int:
        return self.shape[0]

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        own = weight / self.k**2
        U, S, Y = self.primal(u), self.dual(y), y.reshape(self.shape) / self.k
        sizes = norm(U) / math.sqrt(len(U)), norm(S) / math.sqrt(len(S))
        U, S = (
            _inside(U, max(sizes[0], sizes[1] / own), push),
            _inside(S, max(sizes[1], sizes[0] * own), push),
        )
        return (U.ravel() - self.shift) / self.k, self.k * (0.5 * (Y - Y.T) - S).ravel()

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Any:
        return MatrixScaling(self, u, y, cap)

    def primal(self, u: np.ndarray) -> np.ndarray:
        U = (self.k * u + self.shift).reshape(self.shape)
        return 0.5 * (U + U.T)

    def dual(self, y: np.ndarray) -> np.ndarray:
        Y = y.reshape(self.shape) / self.k
        return -0.5 * (Y + Y.T)


def _inside(A: np.ndarray, size: float, push: float) -> np.ndarray:
    """A with all eigenvalues at least a part of its size."""
    values, Q = np.linalg.eigh(A)
    values = np.maximum(values, INWARD * push * (size or 1.0))
    return (Q * values) @ Q.T


class Todd:
    """The scaling of X, Z ≻ 0: T Z T = X with T = G Gᵀ, G⁻¹X G⁻ᵀ = GᵀZ G = diag(λ)."""

    def __init__(self, X: np.ndarray, Z: np.ndarray):
        L, R = np.linalg.cholesky(X), np.linalg.cholesky(Z)
        left, self.values, right = np.linalg.svd(R.T @ L)
        root = np.sqrt(self.values)
        self.G, self.inverse = L @ (right.T / root), (left / root).T @ R.T
        self.T = self.G @ self.G.T
        self.product = float(self.values @ self.values)

    def _scaled(self, dX: np.ndarray, dZ: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(G⁻¹dX G⁻ᵀ, GᵀdZ G)."""
        a, b = self.inverse @ dX @ self.inverse.T, self.G.T @ dZ @ self.G
        return 0.5 * (a + a.T), 0.5 * (b + b.T)

    def shift(self, goal: float, dX: Any = None, dZ: Any = None) -> np.ndarray:
        """P of dX = P - T dZ T."""
        left = np.diag(goal - self.values**2)
        if dX is not None:
            a, b = self._scaled(dX, dZ)
            ab = a @ b
            left = left - 0.5 * (ab + ab.T)
        return self.G @ (2 * left / (self.values[:, None] + self.values)) @ self.G.T

    def inverse_length(self, dX: np.ndarray, dZ: np.ndarray) -> float:
        """1/t for the longest step t that keeps both positive."""
        root = np.sqrt(self.values)
        unit = root[:, None] * root
        return max(-float(np.linalg.eigvalsh(d / unit)[0]) for d in self._scaled(dX, dZ))


class MatrixScaling:
    """X = U, Z = S."""

    def __init__(self, cone: Matrices, u: np.ndarray, y: np.ndarray, cap: float):
        self.cone, self.u, self.y = cone, u, y
        self.todd = Todd(cone.primal(u), cone.dual(y))
        self.product = self.todd.product
        self.psi = two_sided(self.todd.T / abs(cone.k), cap)

    def _changes(self, du: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k, shape = self.cone.k, self.cone.shape
        return k * du.reshape(shape), dy.reshape(shape) / -k

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        changes = () if du is None else self._changes(du, dy)
        return self.todd.shift(goal, *changes).ravel() / self.cone.k

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        return self.psi @ dy + rho

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        return self.todd.inverse_length(*self._changes(du, dy))

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        dU = du.reshape(self.cone.shape)
        return self.u + length * 0.5 * (dU + dU.T).ravel(), self.y + length * dy


@dataclass(frozen=True, eq=False)
class SingularValues:
    """λ‖k u + shift‖, the sum of the singular values: ‖Y‖₂ ≤ λ, and U = -2 X₁₂ with

        X = [X₁, X₁₂; X₁₂ᵀ, X₂] ≽ 0,   Z = [λI, Y; Yᵀ, λI] ≽ 0,   X∘Z = μI

    The point holds u, then X₁ and X₂.
    """

    rows: slice
    shape: Shape
    lam: float
    k: float
    shift: np.ndarray

    @property
    def degree(self) -> int:
        return sum(self.shape)

    @property
    def size(self) -> int:
        m, n = self.shape
        return m * n + m * m + n * n

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        U, Y = (self.k * u + self.shift).reshape(self.shape), y.reshape(self.shape) / self.k
        left, values, right = np.linalg.svd(Y, full_matrices=False)
        Y = (left * np.minimum(values, 0.7 * self.lam)) @ right
        left, values, right = np.linalg.svd(U, full_matrices=False)
        typical = max(float(values.mean()), self.lam * self.k**2 / weight)
        least = INWARD * push * typical
        X1, X2 = ((0.5 * Q * values) @ Q.T + least * np.eye(len(Q)) for Q in (left, right.T))
        return np.concatenate([u, X1.ravel(), X2.ravel()]), self.k * Y.ravel()

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> SingularScaling:
        return SingularScaling(self, u, y)

    def product(self, u: np.ndarray, y: np.ndarray) -> float:
        return float(np.vdot(self.primal(u), self.dual(y)))

    def primal(self, u: np.ndarray) -> np.ndarray:
        """X."""
        m, n = self.shape
        return self.joined(-0.5 * (self.k * u[: m * n] + self.shift), u[m * n :])

    def joined(self, corner: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """[X₁, C; Cᵀ, X₂] from the flattened C, and X₁ and X₂."""
        m, n = self.shape
        C = corner.reshape(m, n)
        X1, X2 = diagonal[: m * m].reshape(m, m), diagonal[m * m :].reshape(n, n)
        return np.block([[X1, C], [C.T, X2]])

    def dual(self, y: np.ndarray) -> np.ndarray:
        """Z."""
        m, n = self.shape
        return self.joined(y / self.k, self.lam * np.concatenate([np.eye(m).ravel(), np.eye(n).ravel()]))

    def parts(self, X: np.ndarray) -> np.ndarray:
        """U, X₁ and X₂ of X, as changes of the point."""
        m = self.shape[0]
        return np.concatenate([-2 / self.k * X[:m, m:].ravel(), X[:m, :m].ravel(), X[m:, m:].ravel()])


class SingularScaling:
    """ψ Y = 2(T₁₁ Y T₂₂ + T₁₂ Yᵀ T₁₂)."""

    def __init__(self, cone: SingularValues, u: np.ndarray, y: np.ndarray):
        self.cone, self.u, self.y = cone, u, y
        self.todd = Todd(cone.primal(u), cone.dual(y))
        self.product = self.todd.product
        m, n = cone.shape
        T, size = self.todd.T, m * n
        corner = T[:m, m:]
        straight = T[:m, :m][:, None, :, None] * T[m:, m:][None, :, None, :]
        turned = corner[:, None, None, :] * corner.T[None, :, :, None]
        self.psi = (2 / cone.k**2) * (straight + turned).reshape(size, size)

    def _changes(self, du: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = len(dy)
        return (
            self.cone.joined(-0.5 * self.cone.k * du[:size], du[size:]),
            self.cone.joined(dy / self.cone.k, np.zeros(len(du) - size)),
        )

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        changes = () if du is None else self._changes(du, dy)
        return self.cone.parts(self.todd.shift(goal, *changes))

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        dZ, T = self.cone.joined(dy / self.cone.k, np.zeros(len(rho) - len(dy))), self.todd.T
        return rho - self.cone.parts(T @ dZ @ T)

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        return self.todd.inverse_length(*self._changes(du, dy))

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        return self.u + length * du, self.y + length * dy
