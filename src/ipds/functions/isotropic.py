"""Isotropic total variation of an image: a prox without a formula, computed by Newton steps."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components

from .._arrays import Array, Shape, asarray, namespace, scalar, to_numpy
from ..operators import Gradient
from .norms import Norm
from .scalar import one_step

GAP = 1e-10
"""Duality gap at which multiplier steps end, in units of ½‖v - mean‖²; below 1e-11 it may be rounding."""
FIRST, LAST, FACTOR = 1.0, 1e5, 3.0
"""The penalty σ: of the first multiplier step, the largest, and by how much it grows."""
OUTER, NEWTON, HALVINGS = 40, 40, 20
"""Multiplier steps, Newton steps for one of them, and halvings of a Newton step, at most."""
LOOSE, INNER = 1e-1, 1e-12
"""‖∇φ‖ at which Newton steps end, in units of ‖v‖: of the first multiplier step and of the last, if it takes many."""
FINE = 1e-12
"""A fall of φ, relative to it, that may be rounding."""
POLISH, SETTLED = 12, 1e-15
"""Newton steps on the regions at most, and a step, in units of their values, that is rounding."""


class IsotropicTotalVariation(Norm):
    """h(X) = λ Σ_ij √((X_{i+1,j} - X_ij)² + (X_{i,j+1} - X_ij)²) of an image X, with differences 0 at the far ends.

    The prox has no formula. Newton steps on its augmented Lagrangian, from the same start every time, lead to a duality
    gap of at most 1e-10·½‖V - mean(V)‖², so that ‖X - prox‖ ≤ 1e-5·‖V - mean(V)‖ for certain; then the regions without
    change are known, as a rule, and Newton steps on their values leave rounding alone. All this takes some tens of
    sparse factorisations: 0.05 s for 12x10 pixels, 1 s for 80x80. `ipds.modelling` splits this function into `L21` of
    `ipds.operators.Gradient`, which needs no such prox; write that for larger images in blocks of your own.
    Rudin, Osher & Fatemi, Nonlinear total variation based noise removal algorithms, Physica D 60 (1992).
    Li, Sun & Toh, A highly efficient semismooth Newton augmented Lagrangian method for lasso, SIOPT 28 (2018).

    >>> IsotropicTotalVariation(1.0)(np.array([[0.0, 0.0], [3.0, 4.0]]))  # √(3² + 0²) + √(4²) + √(1²)
    8.0
    >>> IsotropicTotalVariation(1.0).prox(np.array([[0.0, 0.0], [8.0, 8.0]]), 1.0)
    array([[1., 1.],
           [7., 7.]])
    """

    def __call__(self, x: Array) -> float:
        xp = namespace(x)
        rows = _gradient(x).apply(x)
        return self.lam * scalar(xp.sum(xp.sqrt(xp.sum(rows * rows, axis=1))))

    def prox(self, v: Array, step: float) -> Array:
        _gradient(v)
        t = self.lam * float(one_step(self, step))
        return asarray(_denoised(np.asarray(to_numpy(v), float), t), v)

    def lipschitz(self, shape: Shape) -> float:
        """λ‖D‖√(pixels), an upper bound."""
        return self.lam * Gradient(shape).norm() * math.sqrt(math.prod(shape))

    def subgradient(self, x: Array) -> Array:
        """λ Dᵀ of the unit vectors along the differences, 0 where there are none."""
        xp, D = namespace(x), _gradient(x)
        rows = D.apply(x)
        sizes = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
        return self.lam * D.adjoint(rows / xp.where(sizes > 0, sizes, xp.ones_like(sizes)))


def _gradient(x: Array) -> Gradient:
    if x.ndim != 2:
        raise ValueError(
            f"IsotropicTotalVariation: acts on images, got shape {tuple(x.shape)}; TotalVariation1D acts on signals"
        )
    return Gradient(tuple(x.shape))


@lru_cache(maxsize=4)
def _differences(shape: Shape) -> Any:
    """D as a sparse matrix, two rows for each pixel."""
    return scipy.sparse.csr_array(Gradient(shape).as_matrix(shape))


class Smoothed(NamedTuple):
    """φ(x) = ½‖x - v‖² + Σ (Moreau envelope of t‖·‖ at w_i, times σ), w = D x + y/σ, at one x."""

    value: float
    y: np.ndarray
    """σ(w - prox(w)): t w/‖w‖, or σw where that is shorter."""
    gradient: np.ndarray
    """x - v + Dᵀy."""
    weights: np.ndarray
    """dy/dw/σ, a 2x2 matrix for each pixel."""


def _denoised(v: np.ndarray, t: float) -> np.ndarray:
    """argmin ½‖x - v‖² + t Σ‖(D x)_i‖, in units in which v has the mean 0 and the largest entry 1."""
    mean = float(np.mean(v)) if v.size else 0.0
    unit = float(np.max(np.abs(v - mean), initial=0.0))
    if unit == 0.0 or t == 0.0:
        return v.copy()
    D, b, t = _differences(v.shape), np.ravel(v - mean) / unit, t / unit
    y, x, sigma, goal = np.zeros((b.size, 2)), b, FIRST, LOOSE
    best, least = b, math.inf
    for _ in range(OUTER):
        x, y = _step(D, b, t, x, y, sigma, goal)
        answer = b - D.T @ y.ravel()  # of the multipliers, with ‖y_i‖ ≤ t: the gap bounds its distance
        rows = (D @ answer).reshape(-1, 2)
        gap = t * float(np.sum(np.hypot(*rows.T))) - float(np.vdot(rows, y))
        if gap < least:
            best, least = answer, gap
        if gap <= GAP * 0.5 * float(b @ b):
            break
        sigma, goal = min(FACTOR * sigma, LAST), max(goal / FACTOR, INNER)
    w = sigma * (D @ x).reshape(-1, 2) + y
    better = _on_regions(D, b, t, np.hypot(*w.T) <= t, best)
    return mean + unit * better.reshape(v.shape)


def _on_regions(D: Any, v: np.ndarray, t: float, flat: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The minimiser among images that do not change at `flat` pixels, to rounding; x itself where that is not lower.

    With Z the indicators of the regions that flat pixels make, c their values, and g the differences of the others:

        Zᵀ(Z c - v) + t Σ (D_i Z)ᵀ g_i/‖g_i‖ = 0
    """
    edges = D[np.repeat(flat, 2)]
    count, label = connected_components(abs(edges.T) @ abs(edges), directed=False)
    Z = scipy.sparse.csr_array((np.ones(x.size), (np.arange(x.size), label)), shape=(x.size, count))
    rows = scipy.sparse.csr_array(D @ Z)
    rows.eliminate_zeros()
    rows = rows[np.repeat(np.diff(rows.indptr).reshape(-1, 2).any(axis=1), 2)]
    sizes, sums = np.bincount(label), Z.T @ v

    def value(c: np.ndarray) -> float:
        return 0.5 * float(np.sum((Z @ c - v) ** 2)) + t * float(
            np.sum(np.hypot(*(rows @ c).reshape(-1, 2).T))
        )

    c, best = (Z.T @ x) / sizes, x
    lowest = 0.5 * float(np.sum((x - v) ** 2)) + t * float(np.sum(np.hypot(*(D @ x).reshape(-1, 2).T)))
    for _ in range(POLISH):
        if value(c) <= lowest * (1 + 1e-15):
            best, lowest = Z @ c, value(c)
        g = (rows @ c).reshape(-1, 2)
        lengths = np.hypot(*g.T)
        if not np.all(lengths > 0):
            break
        along, places = g / lengths[:, None], np.arange(len(g) + 1)
        bend = (np.eye(2) - along[:, :, None] * along[:, None]) / lengths[:, None, None]
        W = scipy.sparse.bsr_array((bend, places[:-1], places), shape=(2 * len(g), 2 * len(g)))
        K = scipy.sparse.diags_array(sizes.astype(float)) + t * (rows.T @ (W @ rows))
        d = -_factored(K).solve(sizes * c - sums + t * (rows.T @ along.ravel()))
        c = c + d
        if not np.linalg.norm(d) > SETTLED * np.linalg.norm(c):
            break
    return best


def _step(
    D: Any, v: np.ndarray, t: float, x: np.ndarray, y: np.ndarray, sigma: float, goal: float
) -> tuple[np.ndarray, np.ndarray]:
    """(argmin φ, its y): one step of the multipliers y, by Newton steps with ∇²φ = I + σDᵀWD."""

    def at(x: np.ndarray) -> Smoothed:
        w = (D @ x).reshape(-1, 2) + y / sigma
        length, radius = np.hypot(*w.T), t / sigma
        ratio = np.minimum(1.0, radius / np.maximum(length, radius))
        inside = length <= radius
        envelope = np.where(inside, 0.5 * length**2, radius * (length - 0.5 * radius))
        value = 0.5 * float((x - v) @ (x - v)) + sigma * float(np.sum(envelope))
        along = w / np.where(length > 0, length, 1.0)[:, None]
        weights = ratio[:, None, None] * (
            np.eye(2) - np.where(inside, 0.0, 1.0)[:, None, None] * along[:, :, None] * along[:, None]
        )
        new = (sigma * ratio)[:, None] * w
        return Smoothed(value, new, x - v + D.T @ new.ravel(), weights)

    here, places = at(x), np.arange(x.size + 1)
    for _ in range(NEWTON):
        size = float(np.linalg.norm(here.gradient))
        if size <= goal * float(np.linalg.norm(v)):
            break
        W = scipy.sparse.bsr_array((here.weights, places[:-1], places))
        K = scipy.sparse.eye_array(x.size) + sigma * (D.T @ (W @ D))
        d = -_factored(K).solve(here.gradient)
        slope, length = float(here.gradient @ d), 1.0
        for _ in range(HALVINGS):
            there = at(x + length * d)
            rounded = -slope <= FINE * here.value  # then only the gradient can tell
            nearer = rounded and float(np.linalg.norm(there.gradient)) <= 0.5 * size
            if nearer or there.value <= here.value + 1e-4 * length * slope:
                break
            length /= 2
        else:  # φ is flat to rounding
            break
        x, here = x + length * d, there
    return x, here.y


def _factored(K: Any) -> Any:
    options = {"SymmetricMode": True}
    return scipy.sparse.linalg.splu(
        scipy.sparse.csc_array(K), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    )
