"""Smooth losses in interior-point steps: points on the graph of ∇h, which steps never leave.

y = ∇h(u) at every point; with w = u + y/β that is u = prox_h(w, 1/β), y = β(w - u), for any β. A step moves w by
du + dy/β: so it stays on the graph, and inside the domain of h, without a bound on its length. With β = ∇²h(u), row by
row, it moves u and y alike. With one β for all a step of rows that bend more goes by y alone, and u = exp(y) leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cone import OnRows
from .spectra import two_sided
from .terms import Piece

FLAT, STEEP = 1e-4, 1e10
"""Least and largest β of a row, in units of the weight: u = w - y/β and y = β(w - u) keep their digits."""


@dataclass(frozen=True, eq=False)
class Graph(OnRows):
    """Rows of a function that is differentiable where it is finite: no pairs, and no product to leave."""

    piece: Piece
    rows: slice
    degree = 0

    def start(
        self, u: np.ndarray, y: np.ndarray, weight: float, push: float
    ) -> tuple[np.ndarray, np.ndarray]:
        w = u + y / weight
        q = self.piece.prox(w, weight)
        return q, weight * (w - q)

    def product(self, u: np.ndarray, y: np.ndarray) -> float:
        return 0.0


class Loss(Graph):
    """A sum over entries."""

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Any:
        rest = self.piece.rest(u + y / weight, weight)  # I - J, and ψ = J/(I - J)/β
        ratio = np.maximum(rest, 1e-300) / np.maximum(1 - rest, 1e-300)
        beta = weight * np.minimum(np.maximum(ratio, FLAT), STEEP)
        return OnGraph(self.piece, u + y / beta, beta, 1 / (weight * ratio))


@dataclass(frozen=True, eq=False)
class OnGraph:
    """A loss at u = prox_h(w, 1/β), y = β(w - u)."""

    piece: Piece
    w: np.ndarray
    beta: float | np.ndarray
    psi: np.ndarray
    product = 0.0

    def shift(self, goal: float, du: Any = None, dy: Any = None) -> np.ndarray:
        return np.zeros_like(self.w)

    def change(self, dy: np.ndarray, rho: np.ndarray) -> np.ndarray:
        return (self.psi * dy if self.psi.ndim == 1 else self.psi @ dy) + rho

    def inverse_length(self, du: np.ndarray, dy: np.ndarray) -> float:
        return 0.0

    def moved(self, du: np.ndarray, dy: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        w = self.w + length * (du + dy / self.beta)
        q = self.piece.prox(w, self.beta)
        return q, self.beta * (w - q)


@dataclass(frozen=True, eq=False)
class Determinant(Graph):
    """-λ log det, as a function of k u + shift."""

    lam: float
    k: float
    shift: np.ndarray

    def at(self, u: np.ndarray, y: np.ndarray, weight: float, cap: float) -> Any:
        U = (self.k * u + self.shift).reshape(self.piece.shape)
        T = 0.5 * (U + U.T) / (math.sqrt(self.lam) * abs(self.k))
        return OnGraph(self.piece, u + y / weight, weight, two_sided(T, cap))
