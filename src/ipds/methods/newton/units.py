"""Units of rows and columns: v = C v', u' = E u, so that those of M have norm one and ∇²f is of one size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ..._arrays import norm

PASSES = 10
"""Passes of Ruiz' scaling at most: each takes the square root of what is left to do."""
EVEN = 1.1
"""Largest factor of a pass that is the last: the units are rounded to powers of two."""
POWERS = 8
"""Power iterations for ‖M‖, a unit: within a factor of two it does not matter."""
ORTHONORMAL = 1000
"""Columns up to which rows without anything else are made orthonormal where it helps."""
SLANTED = 0.01
"""Smallest pivot, relative to the largest, of columns that are left as they are."""
DEPENDENT = 1e-13
"""Smallest pivot of columns that are not dependent."""


def equilibrated(
    G: Any, n: int, curvature: np.ndarray, together: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(E, C): rows of diag(E) G diag(C) near norm one, its columns and those of √diag(∇²f) near a common norm."""
    C, rows = np.ones(n), 0 if G is None else G.shape[0]
    E, root = np.ones(rows), np.maximum(curvature, 0.0)
    if isinstance(G, scipy.sparse.linalg.LinearOperator):
        return E, C
    square: Any = None if G is None else G.power(2) if scipy.sparse.issparse(G) else G * G
    transposed = None if square is None else square.T.tocsr() if scipy.sparse.issparse(square) else square.T
    members = np.concatenate(together) if together else np.empty(0, int)
    counts = np.array([len(t) for t in together], dtype=int)
    shared = np.repeat(np.arange(len(together)), counts)
    f, change = 1.0, np.ones(0)  # the unit of f's rows √(∇²f)_jj, one for all: they stand for column norms
    is_curved = bool(root.any())
    for _ in range(PASSES if square is not None or is_curved else 0):
        if square is not None:
            size = E * np.sqrt(square @ (C * C))
            if members.size:  # rows that share a unit: the root of their mean square
                size[members] = np.sqrt(np.bincount(shared, size[members] ** 2) / counts)[shared]
            change = np.sqrt(np.where(size > 0, size, 1.0))
            E /= change
        if is_curved:
            f /= math.sqrt(f * math.sqrt(float(root @ (C * C)) / n) or 1.0)
        size = C * np.sqrt((0.0 if transposed is None else transposed @ (E * E)) + f * f * root)
        used = size > 0
        if used.any():
            logs = np.log(size[used])
            middle = math.exp(float(logs.sum()) / len(logs))
            factor = np.sqrt(np.where(used, size / middle, 1.0))
            C /= factor
            if _is_even(factor) and _is_even(change):
                break
    return powers_of_two(E), powers_of_two(C)


def _is_even(factors: np.ndarray) -> bool:
    """Whether none of them changes much."""
    return not factors.size or bool(factors.max() <= EVEN and factors.min() * EVEN >= 1)


def orthonormal(G: Any) -> tuple[Any, np.ndarray | None]:
    """(Q, T) with G = Q T, Q orthonormal columns, for dense rows that are far from it; (G, None) for others.

    Where f = 0 and h = 0 nothing holds v to its entries, and ε would weigh directions in which G hardly moves: with
    columns of one size but condition 1e6, interior-point steps then take hundreds instead of tens.
    """
    if not isinstance(G, np.ndarray) or not 0 < G.shape[1] <= min(G.shape[0], ORTHONORMAL):
        return G, None
    factor, info = scipy.linalg.lapack.dpotrf(G.T @ G)
    diagonal = np.abs(factor.diagonal())
    if info == 0 and diagonal.min() > SLANTED * diagonal.max():
        return G, None
    Q, T = scipy.linalg.qr(G, mode="economic", check_finite=False)
    diagonal = np.abs(T.diagonal())
    return (Q, T) if diagonal.min() > DEPENDENT * diagonal.max() else (G, None)


def powers_of_two(units: np.ndarray) -> np.ndarray:
    """The nearest powers of two: changes of units are then free of rounding, and bounds stay what they are."""
    return np.exp2(np.round(np.log2(units)))


def rough_norm(G: Any, n: int) -> float:
    """‖G‖ by a few power iterations: a unit, so that a rough value will do."""
    x, transposed = np.sin(1.0 + np.arange(n)), G.T  # as good as random, and made at once
    for _ in range(POWERS):
        size = norm(x)
        if size == 0:
            return 0.0
        x = transposed @ (G @ (x / size))
    return math.sqrt(norm(x))
