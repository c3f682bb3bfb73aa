"""One matrix for all steps of the method: K = ∇²f + εI + MᵀWM.

M has general rows G and rows that pick one entry of v; ∇²f = Q + RᵀDR + (what changes from point to point). Picked
rows and diagonal Q only touch the diagonal of K. What is left decides, once per problem, how K is factorised
(`strategies.choose`); where M or ∇²f is known by its products only, conjugate gradients take the place of a factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .factors import Solve, conjugate_gradients
from .strategies import Augmented, Strategy, choose
from .weights import Weights


def is_product(A: Any) -> bool:
    """Whether a matrix is known by its products only."""
    return isinstance(A, scipy.sparse.linalg.LinearOperator)


def is_diagonal(A: Any) -> bool:
    """Whether a matrix is given by its diagonal."""
    return isinstance(A, np.ndarray) and A.ndim == 1


class System:
    """K for one problem; `factor` gives its solver at a point.

    Parameters
    ----------
    n : number of columns.
    Q : the constant part of ∇²f: None, its diagonal, or a matrix.
    R : rows of ∇²f = RᵀDR with D of the point, or None.
    G : the general rows of M, or None.
    index : the entries of v that the other rows pick.
    W : a sample of the weights: which rows are in groups and blocks, with directions that do not vanish.
    rest : a sample of the part of ∇²f that changes from point to point, or None.
    """

    def __init__(self, n: int, Q: Any, R: Any, G: Any, index: np.ndarray, W: Weights, rest: Any = None):
        self.n, self.R, self.G, self.index = n, R, G, index
        self.Q: Any = None if is_diagonal(Q) else Q
        self.diagonal: Any = Q if is_diagonal(Q) else 0.0
        self.general = 0 if G is None else G.shape[0]
        self.curved = 0 if R is None else R.shape[0]
        rows = [A for A in (R, G) if A is not None]
        sample = None if is_diagonal(rest) else rest
        self.strategy: Strategy | None = None
        if not any(map(is_product, (self.Q, sample, *rows))):
            self.strategy = choose(n, self.Q, rows, W, sample)

    def factor(self, D: np.ndarray, rest: Any, W: Weights, eps: float) -> Factor:
        """Factorise K at a point: D the weights of the rows R, `rest` of ∇²f there, W of the rows of M."""
        own = eps + self.diagonal + np.zeros(self.n)
        if is_diagonal(rest):
            own, rest = own + rest, None
        diagonal = own + np.bincount(self.index, W.diagonal[self.general :], self.n)
        solve, augmented = None, None
        if self.strategy is not None and not any(callable(block) for _, block in W.blocks):
            w = np.concatenate([D, W.diagonal[: self.general]])
            solve, augmented = self.strategy.factorise(w, diagonal, rest, W)
        return Factor(self, D, rest, W, own, diagonal, solve, augmented)


@dataclass(frozen=True, eq=False)
class Factor:
    """K at a point, ready to solve with."""

    system: System
    D: np.ndarray
    rest: Any
    W: Weights
    own: np.ndarray
    """ε and the diagonal part of ∇²f."""
    diagonal: np.ndarray
    """The same with the rows that pick entries."""
    direct: Solve | None
    augmented: Augmented | None

    def apply(self, v: np.ndarray) -> np.ndarray:
        """M v."""
        return apply(self.system.G, self.system.index, v)

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """Mᵀ y."""
        return adjoint(self.system.G, self.system.index, y, self.system.n)

    def curved(self, v: np.ndarray) -> np.ndarray:
        """(∇²f + ε) v."""
        out, R = self.own * v, self.system.R
        for A in (self.system.Q, self.rest):
            out = out if A is None else out + A @ v
        return out if R is None else out + R.T @ (self.D * (R @ v))

    def product(self, v: np.ndarray) -> np.ndarray:
        """K v."""
        return self.curved(v) + self.adjoint(self.W.times(self.apply(v)))

    def solve(self, g: np.ndarray) -> np.ndarray:
        """K⁻¹ g, as the factorisation gives it."""
        if self.direct is not None:
            return self.direct(g)
        return conjugate_gradients(self.product, 1 / self.diagonal)(g)

    def refined(self, g: np.ndarray, tol: float = 1e-10, times: int = 3) -> np.ndarray:
        """K⁻¹ g to a relative residual `tol`, where `times` refinements reach it."""
        x = self.solve(g)
        for _ in range(times):
            r = g - self.product(x)
            if np.linalg.norm(r) <= tol * np.linalg.norm(g):
                break
            x = x + self.solve(r)
        return x

    def saddle(self, a: np.ndarray, b: np.ndarray, tol: float, times: int) -> tuple[np.ndarray, np.ndarray]:
        """(dv, dy) with (∇²f + ε) dv + Mᵀdy = a, M dv - W⁻¹dy = b, refined as one system; dy = 0 where W = 0."""
        dv, dy, ra, rb = np.zeros_like(a), np.zeros_like(b), a, b
        goal_a, goal_b = tol * np.linalg.norm(a), tol * np.linalg.norm(b)
        for k in range(times + 1):
            x, y = self._saddle(ra, rb)
            dv, dy = dv + x, dy + y
            if k == times:
                break
            ra, rb = a - self.curved(dv) - self.adjoint(dy), b - self.apply(dv) + self.W.divide(dy)
            rb = np.where(self.W.diagonal > 0, rb, 0.0)
            if np.linalg.norm(ra) <= goal_a and np.linalg.norm(rb) <= goal_b:
                break
        return dv, dy

    def _saddle(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = self.system
        if self.augmented is None:
            x = self.solve(a + self.adjoint(self.W.times(b)))
            return x, self.W.times(self.apply(x) - b)
        w, picked = self.W.diagonal[s.general :], b[s.general :]
        pulled = a + np.bincount(s.index, w * picked, s.n)
        x, t = self.augmented(pulled, np.concatenate([np.zeros(s.curved), b[: s.general]]))
        return x, np.concatenate([t[s.curved :], w * (x[s.index] - picked)])


def apply(G: Any, index: np.ndarray, v: np.ndarray) -> np.ndarray:
    """M v."""
    return v[index] if G is None else np.concatenate([G @ v, v[index]])


def adjoint(G: Any, index: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Mᵀ y."""
    if G is None:
        return np.bincount(index, y, n)
    out = G.T @ y[: G.shape[0]]
    return out + np.bincount(index, y[G.shape[0] :], n) if index.size else out
