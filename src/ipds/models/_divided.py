"""Divided differences on unequally spaced positions, and the piecewise polynomials that have few of them.

With D¹ the first differences and gaps t_{i+j} - t_i,

    v_0 = x,   v_j = diag(j/(t_{i+j} - t_i)) D¹ v_{j-1},   D^{k+1} x = D¹ v_k

so that v_j is j! times the j-th divided difference, a j-th derivative, and ‖D^{k+1}x‖₁ the total variation of the k-th.
Written as one matrix D^{k+1} has a condition number of order n^{k+1}; as a chain of equations every step is tame.

Reference: Tibshirani, *Adaptive piecewise polynomial estimation via trend filtering*, Ann. Statist. 2014, section 6;
Tibshirani, *Divided differences, falling factorials, and discrete splines*, Found. Trends Mach. Learn. 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def slopes(t: np.ndarray, j: int) -> np.ndarray:
    """j/(t_{i+j} - t_i)."""
    return np.asarray(j / (t[j:] - t[:-j]))


def chain(t: np.ndarray, order: int) -> Any:
    """(x, v_1, …, v_k) ↦ (diag(1/gap) D¹x - v_1, …, D¹v_k) as a sparse matrix: zeros, then D^{k+1}x, at a solution.

    >>> t = np.array([0.0, 1.0, 3.0, 4.0])
    >>> chain(t, 1).toarray()[-2:]
    array([[ 0.,  0.,  0.,  0., -1.,  1.,  0.],
           [ 0.,  0.,  0.,  0.,  0., -1.,  1.]])
    """
    n = len(t)
    rows: list[list[Any]] = [[None] * (order + 1) for _ in range(order + 1)]
    for j in range(order + 1):
        size = n - j
        first = sp.diags_array(
            [-np.ones(size - 1), np.ones(size - 1)], offsets=[0, 1], shape=(size - 1, size)
        )
        rows[j][j] = first if j == order else sp.diags_array(slopes(t, j + 1)) @ first
        if j < order:
            rows[j][j + 1] = -sp.eye_array(size - 1)
    return sp.csr_array(sp.block_array(rows))


def integrate(t: np.ndarray, jumps: np.ndarray, first: np.ndarray) -> list[np.ndarray]:
    """[x, v_1, …, v_k] with D¹v_k = jumps and v_j[0] = first[j]: k + 1 running sums.

    >>> t = np.array([0.0, 1.0, 3.0, 4.0])
    >>> integrate(t, np.array([3.0, 3.0]), np.array([0.0, 1.0]))[0].tolist()
    [0.0, 1.0, 9.0, 16.0]
    """
    found = [first[-1] + np.append(0.0, np.cumsum(jumps))]
    for j in range(len(first) - 1, 0, -1):
        found.insert(0, first[j - 1] + np.append(0.0, np.cumsum(found[0] / slopes(t, j))))
    return found


def nearest(
    t: np.ndarray, y: np.ndarray, weights: np.ndarray, jumps: np.ndarray, order: int
) -> list[np.ndarray]:
    """[x, v_1, …, v_k] with these jumps, and the polynomial beneath them that brings x nearest to y."""
    start = integrate(t, jumps, np.zeros(order + 1))[0]
    basis = np.stack([integrate(t, np.zeros_like(jumps), e)[0] for e in np.eye(order + 1)], axis=1)
    root = np.sqrt(weights)
    first = np.linalg.lstsq(basis * root[:, None], (y - start) * root, rcond=None)[0]
    return integrate(t, jumps, first)


def dual(t: np.ndarray, slope: np.ndarray, order: int) -> np.ndarray:
    """ν with (D^{k+1})ᵀν = slope, for a slope that is orthogonal to polynomials of degree k: k + 1 running sums."""
    nu = -np.cumsum(slope)[:-1]
    for j in range(1, order + 1):
        nu = -np.cumsum(nu / slopes(t, j))[:-1]
    return np.asarray(nu)


def interpolate(t: np.ndarray, values: list[np.ndarray], at: np.ndarray) -> np.ndarray:
    """The piecewise polynomial with these [x, v_1, …, v_k] at t, by Newton's formula on k + 1 positions.

        p(s) = Σ_j v_j[i-j]/j! Π_{l<j} (s - t_{i-l}),   t_{i-1} < s ≤ t_i;

    before t_k and beyond the last position the nearest polynomial goes on.

    >>> t = np.array([0.0, 1.0, 3.0, 4.0])
    >>> v = [t**2, np.array([1.0, 4.0, 7.0]), np.array([2.0, 2.0])]
    >>> interpolate(t, v, np.array([2.0, 3.0, 5.0])).tolist()
    [4.0, 9.0, 25.0]
    """
    order = len(values) - 1
    i = np.clip(np.searchsorted(t, at), order, len(t) - 1)
    total, product = np.zeros(len(at)), np.ones(len(at))
    for j, v in enumerate(values):
        total += v[i - j] * product
        product = product * (at - t[i - j]) / (j + 1)
    return total
