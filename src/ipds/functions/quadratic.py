"""The plain quadratic and linear functions."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import scipy

from .._arrays import Array, asarray, dot, is_array, is_traced, namespace, scalar
from ..operators import Compose, Diagonal, Identity, Matrix, Operator
from ._arguments import linear_map
from .base import Smooth
from .far import vanishes
from .hessians import semidefinite
from .losses import data
from .rescaling import after_units, units, with_parts


class Quadratic(Smooth):
    """f(x) = ½⟨x, Q x⟩ + ⟨c, x⟩ with symmetric Q, possibly indefinite; ∇f(x) = Q x + c, Lipschitz with ‖Q‖.

    >>> import numpy as np
    >>> f = Quadratic(np.diag([2.0, -1.0]), np.ones(2))
    >>> f.value_and_grad(np.ones(2))
    (2.5, array([3., 0.]))
    """

    is_quadratic = True

    def __init__(self, Q: Any, c: Any = 0.0):
        _require_symmetric(Q)
        self.Q = linear_map("Quadratic", "Q", Q)
        self.c = data("Quadratic", "c", c, self.Q)
        self._no_linear_term = not is_array(self.c) and self.c == 0.0

    def __call__(self, x: Array) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        product = self.Q.apply(x)
        return product if self._no_linear_term else product + self.c

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        product = self.Q.apply(x)
        if self._no_linear_term:
            return 0.5 * dot(x, product), product
        # ½⟨x, Qx⟩ + ⟨c, x⟩ = ½⟨x, (Qx + c) + c⟩
        gradient = product + self.c
        return 0.5 * dot(x, gradient + self.c), gradient

    @cached_property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """Whether Q ≽ 0, by a factorisation when first asked for; None where Q is known by its products only."""
        return semidefinite(self.Q)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.Q.apply(d)

    def recession(self, d: Array) -> float:
        """⟨c, d⟩ where Q d = 0 and Q ≽ 0, else ∞."""
        flat = self.is_convex and vanishes(self.Q.apply(d), self.Q.norm(), d)
        return scalar(namespace(d).sum(self.c * d)) if flat else math.inf

    def hessian(self, x: Array) -> Any:
        if isinstance(self.Q, Identity):
            return self.Q.scale * namespace(x).ones_like(namespace(x).reshape(x, (-1,)))
        if isinstance(self.Q, Diagonal):
            return namespace(x).reshape(self.Q.diagonal, (-1,))
        matrix = self.Q.as_matrix(x.shape) if x.ndim == 1 else None
        return self.Q if matrix is None else matrix

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """‖Q‖, computed when first asked for."""
        return self.Q.norm()

    def rescaled(self, d: float | Array) -> Quadratic | None:
        """½⟨x, DQD x⟩ + ⟨d·c, x⟩."""
        found = units(d)
        shape = tuple(self.c.shape) if is_array(self.c) else None
        right = after_units(self.Q, found, shape)
        if right is None:
            return None
        if isinstance(found, float):
            Q: Operator | None = after_units(right, found)
        elif isinstance(right, Matrix):
            Q = after_units(right.T, found)  # (QD)ᵀD = DQD
        elif isinstance(right, Diagonal):
            Q = Diagonal(right.diagonal * found)
        else:
            Q = right.right @ right if isinstance(right, Compose) else None
        if Q is None:
            return None
        c = self.c if self._no_linear_term else asarray(found, self.c) * self.c if shape else self.c * found
        same = {"is_convex": self.is_convex} if "is_convex" in vars(self) else {}  # as D is positive
        return with_parts(self, Q=Q, c=c, **same)


class Linear(Smooth):
    """f(x) = ⟨c, x⟩, ∇f(x) = c, Lipschitz with 0."""

    lipschitz = 0.0
    is_convex = is_quadratic = True

    def __init__(self, c: Any):
        self.c = data("Linear", "c", c, None)

    def __call__(self, x: Array) -> float:
        return scalar(namespace(x).sum(self.c * x))

    def grad(self, x: Array) -> Array:
        # + 0·x broadcasts a scalar c and never hands out our own array
        return self.c + 0 * x

    def curvature(self, x: Array, d: Array) -> Array:
        return namespace(x).zeros_like(x)

    def recession(self, d: Array) -> float:
        """⟨c, d⟩."""
        return self(d)

    def hessian(self, x: Array) -> Any:
        return namespace(x).zeros_like(namespace(x).reshape(x, (-1,)))

    def rescaled(self, d: float | Array) -> Linear:
        """c times d."""
        found = units(d)
        return Linear((asarray(found, self.c) if is_array(self.c) else found) * self.c)


def _require_symmetric(Q: Any) -> None:
    if not (scipy.sparse.issparse(Q) or is_array(Q)) or Q.ndim != 2:
        return
    if Q.shape[0] != Q.shape[1]:
        raise ValueError(f"Quadratic: Q must be square, got shape {tuple(Q.shape)}")
    Q = Q.tocsr() if scipy.sparse.issparse(Q) else Q  # matrices of diagonals have no largest entry
    gap, size = abs(Q - Q.T), abs(Q)
    largest = gap.max() if scipy.sparse.issparse(Q) else namespace(Q).max(gap)
    scale = size.max() if scipy.sparse.issparse(Q) else namespace(Q).max(size)
    if not is_traced(largest) and float(largest) > 1e-6 * float(scale):
        raise ValueError("Quadratic: Q must be symmetric; pass (Q + Q.T) / 2, which gives the same function")
