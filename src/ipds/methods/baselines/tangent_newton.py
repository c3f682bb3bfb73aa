"""The subproblem of manifold proximal gradient, by a regularised semismooth Newton method on its small multiplier.

    min_D ⟨G, D⟩ + ‖D‖²/(2t) + h(X + D)  subject to  DᵀX + XᵀD = 0,   XᵀX = I,

has the solution X + D = Z(W) = prox_h(X - tG + XW, t), where the symmetric r×r matrix W solves
E(W) = Z(W)ᵀX + XᵀZ(W) - 2I = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..._arrays import Array, dot, namespace, norm
from ...deadline import late
from ...functions import L1, ElasticNet, Huber, Nonsmooth, Precomposed, Zero

STEPS, SOLVES, HALVINGS = 30, 60, 10
"""Newton steps, conjugate gradient steps in each, and halvings of a step, at most."""
PROBE = 1e-7


class Tangent(NamedTuple):
    """A solution of the subproblem."""

    Z: Array
    V: Array
    """Z = prox_h(V, t)."""
    W: Array
    error: float


def solve_tangent(h: Nonsmooth, X: Array, B: Array, t: float, W: Array, tol: float) -> Tangent:
    """Newton's method from W, B = X - tG, until ‖E(W)‖ ≤ tol or no step helps.

    1. J = derivative of the prox at V = B + XW, entrywise or along directions by differences
    2. (E'(W) + reg·I) P = -E(W) by conjugate gradients, E'(W)[P] = sym(Xᵀ J[XP])·2
    3. W ← W + sP, s halved until ‖E‖ falls
    """
    xp = namespace(X)
    double_identity = 2 * xp.eye(X.shape[1], dtype=X.dtype)

    def at(W: Array) -> tuple[Array, Array, Array, float]:
        V = B + X @ W
        Z = h.prox(V, t)
        cross = X.T @ Z
        E = cross + cross.T - double_identity
        return V, Z, E, norm(E)

    V, Z, E, error = at(W)
    for _ in range(STEPS):
        if error <= tol or late():  # any W gives a point and an honest certificate
            break
        derivative = prox_derivative(h, V, Z, t)
        regularisation = 0.2 * max(min(error, 0.1), 1e-11)

        def curved(P: Array, J: Callable[[Array], Array] = derivative, reg: float = regularisation) -> Array:
            cross = X.T @ J(X @ P)
            return cross + cross.T + reg * P

        P = conjugate_gradients(curved, -E, max(1e-14, min(1e-4, 1e-3 * error)))
        step = 1.0
        for _ in range(HALVINGS):
            tried = at(W + step * P)
            if tried[3] ** 2 < error**2 * (1 - 1e-3 * step):
                break
            step *= 0.5
        W = W + step * P
        V, Z, E, error = tried
    return Tangent(Z, V, W, error)


def prox_derivative(h: Nonsmooth, V: Array, Z: Array, t: float) -> Callable[[Array], Array]:
    """D ↦ J[D], J an element of the generalised Jacobian of prox_h(·, t) at V, where it is Z."""
    inner = h.h if isinstance(h, Precomposed) and isinstance(h.a, float) else h
    # entrywise: one difference gives the whole diagonal
    if isinstance(inner, L1 | Zero | Huber | ElasticNet):
        diagonal = (h.prox(V + PROBE, t) - Z) * (1 / PROBE)
        return lambda D: diagonal * D

    def along(D: Array) -> Array:
        size = norm(D)
        return D if size == 0 else (h.prox(V + (PROBE / size) * D, t) - Z) * (size / PROBE)

    return along


def conjugate_gradients(apply: Callable[[Array], Array], b: Array, tol: float) -> Array:
    """x with ‖apply(x) - b‖ ≤ tol, or after SOLVES steps."""
    x, residual, direction = 0.0 * b, b, b
    rho = float(dot(b, b))
    for _ in range(SOLVES):
        if rho <= tol**2 or late():
            break
        image = apply(direction)
        curvature = float(dot(direction, image))
        if not curvature > 0:
            break
        x, residual = x + (rho / curvature) * direction, residual - (rho / curvature) * image
        before, rho = rho, float(dot(residual, residual))
        direction = residual + (rho / before) * direction
    return x
