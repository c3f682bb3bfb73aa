"""A modern peer: |x| as √(x² + ε²), spectral descent on the Stiefel manifold, ε smaller in every stage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
import scipy.linalg

from ..functions import PCAVariance

Smooth = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Seen(Protocol):
    """Told X and ε after every step; True ends the run."""

    def __call__(self, X: np.ndarray, width: float) -> bool: ...


ARMIJO, SHORTEN, TRIES, MEMORY = 1e-4, 0.2, 4, 0.85
FINEST = 1e-8


def smoothing_homotopy(
    f: PCAVariance,
    weight: float,
    X: np.ndarray,
    seen: Seen,
    *,
    inner: int,
    shrink: float,
    first: float,
) -> tuple[np.ndarray, int]:
    """(last X, steps). `inner` steps per stage, ε from `first` down by the factor `shrink`.

    Reference for the descent: Wen & Yin, *A feasible method for optimization with orthogonality constraints*,
    Math. Prog. 142 (2013).
    """
    step, width, steps, over = 1e-3, first, 0, False
    while width > FINEST and not over:

        def smooth(X: np.ndarray, width: float = width) -> tuple[float, np.ndarray]:
            value, G = f.value_and_grad(X)
            root = np.sqrt(X * X + width * width)
            return value + weight * float(root.sum()), G + weight * (X / root)

        X, step, taken, over = _descend(smooth, X, step, inner, partial(seen, width=width))
        width, step, steps = shrink * width, shrink * step, steps + taken
    return X, steps


def _descend(
    smooth: Smooth, X: np.ndarray, step: float, inner: int, seen: Callable[[np.ndarray], bool]
) -> tuple[np.ndarray, float, int, bool]:
    """Riemannian steps of Barzilai-Borwein length under a nonmonotone search: (X, last step, steps, told to end)."""
    value, G = smooth(X)
    G = _tangential(X, G)
    reference, weight = value, 1.0
    for k in range(inner):
        slope = float(np.vdot(G, G))
        if slope < 1e-12:
            return X, step, k, False
        for _ in range(TRIES):
            new = _orthonormal(X - step * G)
            value, H = smooth(new)
            if value <= reference - ARMIJO * step * slope:
                break
            step *= SHORTEN
        H = _tangential(new, H)
        move, change = new - X, H - G
        crossed = abs(float(np.vdot(move, change)))
        if crossed > 0:
            longer, shorter = float(np.vdot(move, move)) / crossed, crossed / float(np.vdot(change, change))
            step = min(max(longer if k % 2 else shorter, 1e-12), 1e12)
        X, G = new, H
        heavier = MEMORY * weight + 1
        reference, weight = (MEMORY * weight * reference + value) / heavier, heavier
        if seen(X):
            return X, step, k + 1, True
    return X, step, inner, False


def _tangential(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    S = X.T @ G
    return G - X @ ((S + S.T) / 2)


def _orthonormal(X: np.ndarray) -> np.ndarray:
    """X R⁻¹ with the Cholesky factor RᵀR = XᵀX; QR where that fails."""
    R, failed = scipy.linalg.lapack.dpotrf(X.T @ X, clean=1)
    if failed:
        return np.linalg.qr(X)[0]
    return X @ scipy.linalg.lapack.dtrtri(R)[0]
