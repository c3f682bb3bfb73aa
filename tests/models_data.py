"""Generators of data with a known answer for the estimators, at the sizes the project promises to solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Regression(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    v: np.ndarray
    outliers: np.ndarray


def regression(seed: int, m: int = 200, d: int = 100, s: int = 8, share: float = 0.2) -> Regression:
    """s coefficients of size at least ½, noise 0.01, a share of gross errors."""
    rng = np.random.default_rng([1, seed])
    X, v = rng.standard_normal((m, d)), np.zeros(d)
    v[rng.choice(d, s, False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
    y = X @ v + 0.01 * rng.standard_normal(m)
    outliers = np.sort(rng.choice(m, int(share * m), False))
    y[outliers] += 10 * np.linalg.norm(v) * rng.standard_normal(len(outliers))
    return Regression(X, y, v, outliers)


class Subspace(NamedTuple):
    X: np.ndarray
    normals: np.ndarray
    inlier: np.ndarray


def subspace(seed: int, d: int = 30, c: int = 3, inliers: int = 300, outliers: int = 300) -> Subspace:
    """Inliers on a subspace of codimension c, outliers anywhere, rows shuffled."""
    rng = np.random.default_rng([2, seed])
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = np.vstack([rng.standard_normal((inliers, d - c)) @ Q[:, c:].T, rng.standard_normal((outliers, d))])
    order = rng.permutation(len(X))
    return Subspace(X[order], Q[:, :c], (np.arange(len(X)) < inliers)[order])


class LowRank(NamedTuple):
    M: np.ndarray
    L: np.ndarray


def low_rank(seed: int, n: int = 150, r: int = 5, errors: float = 0.2, observed: float = 1.0) -> LowRank:
    """Rank r with a share of gross errors; what is not observed is NaN."""
    rng = np.random.default_rng([3, seed])
    L = rng.standard_normal((n, r)) @ rng.standard_normal((r, n))
    M = L + (rng.random((n, n)) < errors) * rng.uniform(-10, 10, (n, n)) * np.sqrt(r)
    return LowRank(np.where(rng.random((n, n)) < observed, M, np.nan), L)


class Phase(NamedTuple):
    G: np.ndarray
    z: np.ndarray
    D: np.ndarray
    v: np.ndarray


def phase(seed: int, d: int = 40, m: int = 120, k: int = 5, rows: int = 10, complex_: bool = False) -> Phase:
    """A unit signal with k nonzeros; half of the constraints D v ≥ 0 are active, half are slack."""
    rng = np.random.default_rng([4, seed])
    G = rng.standard_normal((m, d))
    if complex_:
        G = (G + 1j * rng.standard_normal((m, d))) / np.sqrt(2)
    v = np.zeros(d)
    v[rng.choice(d, k, False)] = rng.choice([-1, 1], k) * (0.5 + np.abs(rng.standard_normal(k)))
    v /= np.linalg.norm(v)
    z = np.abs(G @ v) ** 2 + 0.01 * rng.standard_normal(m)
    D = rng.standard_normal((rows, d)) / np.sqrt(d)
    half = rows // 2
    D[:half] -= np.outer(D[:half] @ v, v)
    D[half:] *= np.sign(D[half:] @ v)[:, None]
    return Phase(G, z, D, v)
