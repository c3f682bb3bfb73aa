"""Seeded instances of the problems the engine is measured on, each with its own scoring.

A `Case` holds what a solver may see (`data`, `start`), the statement of the problem for ipds (`pose`), and, for the
scoring alone, the objective, the nearest feasible point and the distance to the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from ipds import Block, Problem
from ipds.experiments import datasets
from ipds.functions import (
    L1,
    L21,
    Cardinality,
    LeastSquares,
    NonNegative,
    PCAVariance,
    PhaseRetrieval,
    Rank,
    Stiefel,
)
from ipds.operators import Sampling

Array = np.ndarray


@dataclass
class Case:
    """One instance. `key` names instances with a common optimum; `good` judges the returned point."""

    name: str
    key: tuple[Any, ...]
    data: dict[str, Any]
    start: Array
    pose: Callable[[], tuple[Problem, list[Array] | None]]
    objective: Callable[[Any], float]
    feasible: Callable[[Any], Any]
    error: Callable[[Any], float] = lambda x: math.nan
    good: Callable[[Any], bool] | None = None
    block: int = 0
    """The block of the Problem that is the answer."""
    known: float = math.inf
    """An objective known without solving, of the truth or of an obvious point, where solvers may end above it."""

    def score(self, x: Any) -> tuple[float, Any] | None:
        """(objective, point) at the nearest feasible point."""
        if not all(np.isfinite(part).all() for part in (x if isinstance(x, tuple) else (x,))):
            return None
        x = self.feasible(x)
        return float(self.objective(x)), x


# ---------------------------------------------------------------- sparse principal components


def polar(X: Array) -> Array:
    U, _, W = np.linalg.svd(X, full_matrices=False)
    return U @ W


def _components(name: str, key: tuple, data: Array, weight: float, constant: float, start: Array) -> Case:
    """min constant - ‖DY‖²/(2m) + weight·‖V‖₁ over Y = V, YᵀY = I. Gram matrix and L are made before the clock."""
    f = PCAVariance(data)
    lipschitz = float(f.lipschitz)
    shape = start.shape

    def pose() -> tuple[Problem, list[Array]]:
        blocks = [
            Block(f=f, h=Stiefel(), A=-1.0, shape=shape, name="Y"),
            Block(h=L1(weight), shape=shape, name="V"),
        ]
        return Problem(blocks), [start, start]

    return Case(
        name,
        key,
        {"f": f, "D": data, "lipschitz": lipschitz, "weight": weight},
        start,
        pose,
        lambda V: constant + f(V) + weight * float(np.abs(V).sum()),
        polar,
    )


def paper_pca(source: str, rho: float, seed: int, folder: Path | None, m: int, n: int, r: int = 20) -> Case:
    """‖D - DVVᵀ‖²/(2m) + ρ‖V‖₁; columns scaled to unit norm, then centred. `known`: r coordinate vectors."""
    D = datasets.load(f"{source}-{m}-{n}", seed, folder)
    start = polar(np.random.default_rng([3, seed]).standard_normal((n, r)))
    name = f"{source}-{m}-{n} rho={rho:g}"
    case = _components(name, (name, seed), D, rho, float(np.sum(D * D)) / (2 * m), start)
    case.data["rho"] = rho
    chosen = np.zeros((n, r))
    chosen[np.argsort(-np.sum(D * D, axis=0))[:r], np.arange(r)] = 1.0
    case.known = case.objective(chosen)
    return case


def trade_off(
    source: str, seed: int, folder: Path | None, n: int, weight: float, r: int = 20, m: int = 50
) -> Case:
    """-‖BX‖² + weight·‖X‖₁, XᵀX = I; columns of B centred, then of unit norm. Gene data do not depend on the seed."""
    key: tuple[Any, ...]
    if source == "randn":
        B, key = datasets.trade_off(f"tradeoff-{m}-{n}", seed), (source, n, weight, seed)
        name = f"randn {m}x{n} lambda={weight:g}"
    else:
        B, key = datasets.trade_off(source, data_dir=folder), (source, weight)
        name = f"{source} {B.shape[0]}x{B.shape[1]} lambda={weight:g}"
    start = polar(np.random.default_rng([4, seed]).standard_normal((B.shape[1], r)))
    return _components(name, key, math.sqrt(2 * len(B)) * B, weight, 0.0, start)


# ---------------------------------------------------------------- robust sparse regression


def regression(m: int, n: int, s: int, outliers: float, seed: int, noise: float = 0.01) -> Case:
    """min ‖Gv - y‖₁, ‖v‖₀ ≤ s. Good: the exact support, and an error of at most three times the ideal one."""
    rng = np.random.default_rng([3, m, n, seed])
    G = rng.standard_normal((m, n))
    truth = np.zeros(n)
    truth[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
    y = G @ truth + noise * rng.standard_normal(m)
    hit = rng.choice(m, round(outliers * m), replace=False)
    y[hit] += 10 * np.linalg.norm(truth) * rng.standard_normal(len(hit))
    ideal = noise * math.sqrt(s / (m - len(hit)))  # of least squares that knows support and outliers

    def error(v: Array) -> float:
        return float(np.linalg.norm(v - truth)) / ideal

    def pose() -> tuple[Problem, None]:
        return Problem([Block(h=Cardinality(s), A=G, shape=n), Block(h=L1(1.0), shape=m)], b=y), None

    name = f"regression {m}x{n} s={s} {outliers:.0%} outliers"
    return Case(
        name,
        (name, seed),
        {"G": G, "y": y, "s": s},
        np.zeros(n),
        pose,
        lambda v: float(np.abs(G @ v - y).sum()),
        lambda v: largest(v, s),
        error,
        lambda v: np.array_equal(v != 0, truth != 0) and error(v) <= 3,
    )


def largest(v: Array, s: int) -> Array:
    """v with all but its s largest entries set to zero."""
    if np.count_nonzero(v) <= s:
        return v
    kept = np.argpartition(np.abs(v), -s)[-s:]
    out = np.zeros_like(v)
    out[kept] = v[kept]
    return out


# ---------------------------------------------------------------- dual principal component pursuit


def dual_pcp(
    dimension: int, codimension: int, inliers: int, outliers: int, seed: int, noise: float = 0.0
) -> Case:
    """min Σ‖g_iᵀV‖₂, VᵀV = I, for points of a subspace and of the whole sphere. Good: angle below 0.01°."""
    rng = np.random.default_rng([4, dimension, codimension, seed])
    Q = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    normal, plane = Q[:, :codimension], Q[:, codimension:]
    near = rng.standard_normal((inliers, plane.shape[1])) @ plane.T
    if noise:
        near = near / np.linalg.norm(near, axis=1, keepdims=True)
        near = near + noise * rng.standard_normal(near.shape) / math.sqrt(dimension)
    G = np.vstack([near, rng.standard_normal((outliers, dimension))])
    G = rng.permutation(G / np.linalg.norm(G, axis=1, keepdims=True))
    start = np.linalg.eigh(G.T @ G)[1][:, :codimension]

    def angle(V: Array) -> float:
        sine = np.linalg.norm(V - normal @ (normal.T @ V), 2)
        return math.degrees(math.asin(min(1.0, float(sine))))

    def pose() -> tuple[Problem, list[Array]]:
        shape = (len(G), codimension)
        V, U = Block(h=Stiefel(), A=G, shape=start.shape), Block(h=L21(1.0), shape=shape)
        return Problem([V, U]), [start, -(G @ start)]

    name = f"dual PCP {dimension}/{codimension} {inliers}+{outliers}" + (" noisy" if noise else "")
    return Case(
        name,
        (name, seed),
        {"G": G},
        start,
        pose,
        lambda V: float(np.linalg.norm(G @ V, axis=1).sum()),
        polar,
        angle,
        lambda V: angle(V) < 0.01,
    )


# ---------------------------------------------------------------- robust low-rank approximation


def low_rank(n: int, r: int, gross: float, missing: float, seed: int, noise: float = 0.0) -> Case:
    """min ‖(V - M)_Ω‖₁, rank V ≤ r; a point may be a matrix or its factors. Good: relative error below 1e-6."""
    rng = np.random.default_rng([5, n, r, seed])
    truth = rng.standard_normal((n, r)) @ rng.standard_normal((r, n))
    wrong = rng.random((n, n)) < gross
    M = truth + np.where(wrong, math.sqrt(r) * rng.uniform(-10, 10, (n, n)), 0.0)
    mask = rng.random((n, n)) >= missing if missing else None
    if noise:
        M = M + noise * rng.standard_normal((n, n))
    if mask is not None:
        M = np.where(mask, M, 0.0)

    def feasible(x: Any) -> tuple[Array, Array]:
        if isinstance(x, tuple):
            return x
        Q = np.linalg.eigh(x @ x.T)[1][:, -r:]
        return Q, x.T @ Q

    def objective(x: tuple[Array, Array]) -> float:
        difference = np.abs(x[0] @ x[1].T - M)
        return float(difference.sum() if mask is None else difference[mask].sum())

    def error(x: tuple[Array, Array]) -> float:
        return float(np.linalg.norm(x[0] @ x[1].T - truth) / np.linalg.norm(truth))

    def pose() -> tuple[Problem, None]:
        V = Block(h=Rank(r), A=-1.0 if mask is None else Sampling(mask), shape=(n, n))
        if mask is None:
            return Problem([V, Block(h=L1(1.0), shape=(n, n))], b=-M), None
        return Problem([V, Block(h=L1(1.0), A=-1.0, shape=int(mask.sum()))], b=M[mask]), None

    name = f"low rank {n}/{r} {gross:.0%} gross" + (f" {missing:.0%} missing" if missing else "")
    name += " noisy" if noise else ""
    data = {"M": M, "mask": mask, "r": r}
    return Case(name, (name, seed), data, M, pose, objective, feasible, error, lambda x: error(x) < 1e-6)


# ---------------------------------------------------------------- convex ones that have specialists of their own


def lasso(m: int, n: int, share: float, seed: int) -> Case:
    """min ½‖Gv - y‖² + λ‖v‖₁ with λ a share of the one that makes v = 0; columns correlated."""
    rng = np.random.default_rng([7, m, n, seed])
    G = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((m, 1))
    truth = np.where(rng.random(n) < 20 / n, rng.standard_normal(n), 0.0)
    y = G @ truth + rng.standard_normal(m)
    lam = share * float(np.abs(G.T @ y).max())

    def pose() -> tuple[Problem, None]:
        return Problem([Block(f=LeastSquares(G, y), h=L1(lam), shape=n)]), None

    name = f"lasso {m}x{n}"
    return Case(
        name,
        (name, seed),
        {"G": G, "y": y, "lam": lam},
        np.zeros(n),
        pose,
        lambda v: 0.5 * float(np.sum((G @ v - y) ** 2)) + lam * float(np.abs(v).sum()),
        lambda v: v,
    )


def total_variation(n: int, weight: float, seed: int) -> Case:
    """min ½‖v - y‖² + λΣ|v_{i+1} - v_i| of a noisy step function."""
    rng = np.random.default_rng([8, n, seed])
    y = np.cumsum(np.where(rng.random(n) < 10 / n, 3 * rng.standard_normal(n), 0.0)) + rng.standard_normal(n)

    def pose() -> tuple[Problem, None]:
        D = sparse.diags_array(
            [-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n), format="csr"
        )
        fit = LeastSquares(sparse.eye_array(n, format="csr"), y)
        return Problem([Block(f=fit, A=-D, shape=n), Block(h=L1(weight), shape=n - 1)]), None

    name = f"total variation {n}"
    return Case(
        name,
        (name, seed),
        {"y": y, "tv": weight},
        y,
        pose,
        lambda v: 0.5 * float(np.sum((v - y) ** 2)) + weight * float(np.abs(np.diff(v)).sum()),
        lambda v: v,
    )


# ---------------------------------------------------------------- structured sparse phase retrieval


def phase(n: int, m: int, s: int, rows: int, seed: int, noise: float = 0.01, weight: float = 0.01) -> Case:
    """min ½‖(Gv)² - z‖² + ρ‖v‖₁, Dv ≥ 0, half of the rows active at the truth. Start: sparse spectral.

    Good: relative error below 0.1, which is far from every other stationary point seen.
    """
    rng = np.random.default_rng([6, n, m, seed])
    G = rng.standard_normal((m, n))
    truth = np.zeros(n)
    truth[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
    truth /= np.linalg.norm(truth)
    z = (G @ truth) ** 2 + noise * rng.standard_normal(m)
    D = rng.standard_normal((rows, n)) / math.sqrt(n)
    active = rows // 2
    D[:active] -= np.outer(D[:active] @ truth, truth)
    D[active:] *= np.sign(D[active:] @ truth)[:, None]
    rho = weight * m
    start = _spectral(G, z, s, D)

    def objective(v: Array) -> float:
        return 0.5 * float(np.sum(((G @ v) ** 2 - z) ** 2)) + rho * float(np.abs(v).sum())

    def feasible(v: Array) -> Array:
        """The projection onto Dv ≥ 0: v + Dᵀλ with λ ≥ 0 of least squares."""
        return v if (D @ v).min() >= 0 else v + D.T @ nnls(D.T, -v, maxiter=50 * rows)[0]

    def error(v: Array) -> float:
        return float(np.linalg.norm(v - truth))

    def pose() -> tuple[Problem, list[Array]]:
        y = Block(h=NonNegative(), shape=rows)
        v = Block(f=PhaseRetrieval(G, z), h=L1(rho), A=-D, shape=n)
        return Problem([y, v]), [np.maximum(D @ start, 0), start]

    name = f"phase {n}/{m} s={s}"
    return Case(
        name,
        (name, seed),
        {"G": G, "z": z, "D": D, "rho": rho, "s": s},
        start,
        pose,
        objective,
        feasible,
        error,
        lambda v: error(v) < 0.1,
        block=1,
        known=objective(feasible(truth)),
    )


def _spectral(G: Array, z: Array, s: int, D: Array) -> Array:
    """Leading eigenvector of Σ z_i g_i g_iᵀ on the s coordinates of largest marginal, of the sign D prefers."""
    S = np.sort(np.argsort(-(z @ G**2))[:s])
    v = np.zeros(G.shape[1])
    v[S] = np.linalg.eigh((G[:, S].T * z) @ G[:, S])[1][:, -1] * math.sqrt(max(float(z.mean()), 0.0))
    return v if np.minimum(D @ v, 0).sum() >= np.minimum(-D @ v, 0).sum() else -v
