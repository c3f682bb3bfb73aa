"""One matrix for all steps of the method: K = ∇²f + εI + MᵀWM.

M has general rows G and rows that pick one entry of v; ∇²f = Q + RᵀDR + (what changes from point to point). Picked
rows and diagonal Q only touch the diagonal of K. What is left decides, once per problem, how K is factorised
(`strategies.choose`); where M or ∇²f is known by its products only, conjugate gradients take the place of a factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ..._arrays import norm, products_with, transposed
from .factors import Solve, conjugate_gradients
from .saddle import Saddle
from .strategies import Augmented, Strategy, choose
from .weights import Weights

ROUNDING = 4e-16
"""Relative to the parts of a sum: two units of the last place."""
SLOW = 0.1
"""Part of the residuals that a refinement may leave, so that another one follows."""


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
    Q : the constant part of ∇²f: None, its diagonal, or a matrix.
    R : rows of ∇²f = RᵀDR with D of the point, or None.
    M : the rows.
    W : a sample of the weights: which rows are in groups and blocks, with directions that do not vanish.
    rest : a sample of the part of ∇²f that changes from point to point, or None.
    """

    def __init__(self, Q: Any, R: Any, M: Rows, W: Weights, rest: Any = None, has_saddle: bool = False):
        self.M = M
        self.R = None if R is None else Rows(R, np.empty(0, int), M.n)
        self.Q: Any = None if is_diagonal(Q) else Q
        self.diagonal = Q if is_diagonal(Q) else np.zeros(M.n)
        self.curved = 0 if R is None else R.shape[0]
        self._rest, self._sample = None if is_diagonal(rest) else rest, W
        self._given = [A for A in (R, M.G) if A is not None]
        self.saddle = Saddle(M.n, self.Q, self._given) if has_saddle and self._is_explicit else None

    @property
    def _is_explicit(self) -> bool:
        return not any(map(is_product, (self.Q, self._rest, *self._given)))

    @cached_property
    def strategy(self) -> Strategy | None:
        """How K is factorised where W has no inverses; None where only its products are known."""
        if not self._is_explicit:
            return None
        has_own = self.diagonal > 0
        has_own[self.M.index] = True
        return choose(self.M.n, self.Q, self._given, self._sample, self._rest, bool(has_own.all()))

    def factor(self, D: np.ndarray, rest: Any, W: Weights, eps: float) -> Factor:
        """Factorise K at a point: D the weights of the rows R, `rest` of ∇²f there, W of the rows of M.

        Raises LinAlgError where W has inverses, and some of K is known by its products only.
        """
        own = eps + self.diagonal
        if is_diagonal(rest):
            own, rest = own + rest, None
        if rest is not None and self._rest is None:  # entries are tied here that were not in the sample
            self._rest = rest
            self.saddle = self.saddle if self._is_explicit else None
            vars(self).pop("strategy", None)
        diagonal = own + self.M.gather(W.diagonal[W.general :]) if self.M.index.size else own
        solve, augmented = None, None
        is_saddle = bool(W.inverses) or (self.saddle is not None and self.saddle.serves(rest, W))
        if W.inverses and self.saddle is None:
            raise np.linalg.LinAlgError("rows with inverse weights need the entries of K")
        strategy = self.saddle if is_saddle else self.strategy
        if strategy is not None and not any(callable(block) for _, block in W.blocks):
            w = W.diagonal[: W.general]
            solve, augmented = strategy.factorise(np.concatenate([D, w]) if D.size else w, diagonal, rest, W)
        return Factor(self, D, rest, W, own, diagonal, solve, augmented)


@dataclass(eq=False)
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

    def curved(self, v: np.ndarray) -> np.ndarray:
        """(∇²f + ε) v."""
        out, R = self.own * v, self.system.R
        for A in (self.system.Q, self.rest):
            out = out if A is None else out + A @ v
        return out if R is None else out + R.adjoint(self.D * R.apply(v))

    def product(self, v: np.ndarray) -> np.ndarray:
        """K v."""
        M = self.system.M
        return self.curved(v) + M.adjoint(self.W.times(M.apply(v)))

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
            if norm(r) <= tol * norm(g):
                break
            x = x + self.solve(r)
        return x

    def saddle(self, a: np.ndarray, b: np.ndarray, tol: float, times: int) -> tuple[np.ndarray, np.ndarray]:
        """(dv, dy) with (∇²f + ε) dv + Mᵀdy = a, M dv - W⁻¹dy = b, refined as one system; dy = 0 where W = 0.

        To relative residuals `tol`, or as long as that gains a digit, and more is left than rounding.
        """
        M, left = self.system.M, math.inf
        dv, dy = self._saddle(a, b)
        for _ in range(times):
            bent, rb = self.curved(dv), None
            ra = a - bent - M.adjoint(dy)
            before, left = left, _beyond_rounding(ra, tol, a, bent, dy)  # ‖M‖ = 1
            if self.augmented is not None:  # else dy = W(M dv - b) was made so
                softened = self.W.divide(dy)
                rb = b - M.apply(dv) + softened
                rb = rb if self.has_all_rows else np.where(self.W.diagonal > 0, rb, 0.0)
                left = max(left, _beyond_rounding(rb, tol, b, dv, softened))
            if left <= tol or left > SLOW * before:
                break
            x, y = self._saddle(ra, rb)
            dv, dy = dv + x, dy + y
        return dv, dy

    @cached_property
    def has_all_rows(self) -> bool:
        """Whether W > 0."""
        return bool(self.W.diagonal.all())

    def _saddle(self, a: np.ndarray, b: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The same as the factorisation gives it; b = None stands for 0."""
        M, curved = self.system.M, self.system.curved
        if b is None:
            x = self.solve(a)
            return x, self.W.times(M.apply(x))
        if self.augmented is None:
            x = self.solve(a + M.adjoint(self.W.times(b)))
            return x, self.W.times(M.apply(x) - b)
        w, picked = self.W.diagonal[M.general :], b[M.general :]
        right = np.concatenate([np.zeros(curved), b[: M.general]])
        x, t = self.augmented(a + M.gather(w * picked), right)
        return x, np.concatenate([t[curved:], w * (x[M.index] - picked)])


def _beyond_rounding(left: np.ndarray, tol: float, given: np.ndarray, *parts: np.ndarray) -> float:
    """What is left of a sum, relative to what was given; 0 where that is more than `tol`, but rounding of its parts."""
    size = norm(left)
    relative = size / (norm(given) or 1.0)
    return 0.0 if relative > tol and size <= ROUNDING * sum(map(norm, parts)) else relative


class Rows:
    """M: general rows G (a matrix, a LinearOperator, or None), then rows that pick the entries `index` of v."""

    def __init__(self, G: Any, index: np.ndarray, n: int):
        self.G, self.index, self.n = G, index, n
        self.general = 0 if G is None else G.shape[0]
        if G is not None:
            self._product, self._adjoint = products_with(G), products_with(transposed(G))
        self._is_identity = index.size == n and bool((index == np.arange(n)).all())
        """Whether all of v is picked, in its order."""
        self._at: np.ndarray | None = None
        self._there = np.zeros(0)

    def apply(self, v: np.ndarray) -> np.ndarray:
        """M v; that of the array v asked for last is kept."""
        if self._at is not v:
            self._at, self._there = v, self._applied(v)
        return self._there

    def _applied(self, v: np.ndarray) -> np.ndarray:
        if self.G is None:
            return self._picked(v)
        return np.concatenate([self._product(v), self._picked(v)]) if self.index.size else self._product(v)

    def _picked(self, v: np.ndarray) -> np.ndarray:
        return v if self._is_identity else v[self.index]

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """Mᵀ y."""
        if self.G is None:
            return self.gather(y)
        out = self._adjoint(y[: self.general])
        return out + self.gather(y[self.general :]) if self.index.size else out

    def gather(self, y: np.ndarray) -> np.ndarray:
        """The part of Mᵀ y that rows which pick entries make."""
        return y if self._is_identity else np.bincount(self.index, y, self.n)
