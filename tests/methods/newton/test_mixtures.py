"""Whatever K = ε + Q + RᵀDR + rest + MᵀWM is made of, its factors solve with that matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ipds.methods.newton import patterns, strategies
from ipds.methods.newton.algebra import Rows, System
from ipds.methods.newton.weights import Weights

EPS = 1e-2


def rows(r: np.random.Generator, m: int, n: int, kind: str) -> Any:
    """Full ones, few entries in each, some of both, or with a slack column for each that is n/2 or earlier."""
    if kind == "full":
        return r.standard_normal((m, n))
    A = sp.random_array((m, n), density=3 / n, rng=r).toarray()
    if kind == "both":
        A[-1] = r.standard_normal(n)
    if kind == "slack":
        k = min(m, n // 2)
        A[:, n - k :] = 0.0
        A[np.arange(k), n - k + np.arange(k)] = r.uniform(0.5, 2.0, k)
    return sp.csr_array(A)


def square(r: np.random.Generator, n: int, kind: str) -> Any:
    """Nothing, a diagonal, or a positive semidefinite matrix."""
    if kind == "none":
        return None
    if kind == "diagonal":
        return r.uniform(0.1, 1.0, n)
    A = sp.random_array((n, n), density=2 / n, rng=r)
    found = sp.csr_array(A.T @ A + sp.diags_array(r.uniform(0.0, 1.0, n)))
    return found.toarray() if kind == "full" else found


def weights(r: np.random.Generator, general: int, picked: int, are_single: bool) -> tuple[Weights, Weights]:
    """Groups of the same size after rows with a low rank, unless rows are single; those of a first step, and others."""
    diagonal = r.uniform(0.1, 10.0, general + picked) * (r.random(general + picked) < r.choice([0.6, 1.0]))
    first = 8 if r.random() < 0.4 and not are_single else 0
    size = int(r.choice([2, 10]))
    count = 0 if are_single else int(r.choice([0, 1, (general - first) // size]))
    label = np.repeat(np.arange(count), size)
    across = r.uniform(1.0, 3.0, count)
    members = first + np.arange(len(label))
    diagonal[members] = across[label]
    direction = r.standard_normal(len(label))
    direction /= np.sqrt(np.bincount(label, direction**2, count))[label]
    V, low, none = np.linalg.qr(r.standard_normal((8, 2)))[0], (), ()
    if first:
        diagonal[:8] = 2.0
        low, none = (((slice(0, 8), V[:, :k], r.uniform(0.0, 1.9, k)),) for k in (2, 0))
    W = Weights(diagonal, general, members, label, direction, across * r.uniform(0.05, 1.0, count), low)
    return W._replace(low=none, direction=np.full(len(label), size**-0.5)), W


@pytest.mark.parametrize("seed", range(80))
def test_factors_of_mixtures(seed, monkeypatch):
    r = np.random.default_rng(seed)
    monkeypatch.setattr(strategies, "SMALL", r.choice([0, 200]))
    monkeypatch.setattr(strategies, "DENSE", r.choice([20, 3000]))
    monkeypatch.setattr(patterns, "BANDWIDTH", r.choice([0, 150]))
    monkeypatch.setattr(patterns, "FULL", r.choice([0.05, 10.0]))
    n, few, are_single = int(r.choice([40, 120])), seed % 2 == 0, seed % 4 == 0
    kinds = ["sparse", "slack"] if few else ["full", "sparse", "both", "slack"]
    squares = (
        ["none", "none", "none", "diagonal", "sparse"] if few else ["none", "diagonal", "sparse", "full"]
    )
    count = int(r.choice([0, n // 3, 2 * n]))
    R = rows(r, count, n, r.choice(kinds)) if count else None
    G = rows(r, int(r.choice([n // 2, n + 20])), n, r.choice(kinds))
    index = np.sort(r.choice(n, int(r.choice([0, n // 3])), replace=False))
    Q, rest = square(r, n, r.choice(squares)), square(r, n, r.choice(squares))
    first, W = weights(r, G.shape[0], len(index), are_single)
    system = System(Q, R, Rows(G, index, n), first, rest)
    H = EPS * np.eye(n) + sum(
        np.diag(A) if A.ndim == 1 else A + np.zeros((n, n)) for A in (Q, rest) if A is not None
    )
    D = r.uniform(0.1, 2.0, count) if count else np.ones(0)
    H = H if R is None else H + R.T @ sp.diags_array(D) @ R
    M = np.vstack([G if isinstance(G, np.ndarray) else G.toarray(), np.eye(n)[index]])
    a, b = r.standard_normal(n), r.standard_normal(len(M))
    for own in (first, W):
        factor = system.factor(D, rest, own, EPS)
        weight = np.stack([own.times(e) for e in np.eye(len(M))], axis=1)
        K = H + M.T @ weight @ M
        np.testing.assert_allclose(K @ factor.solve(a), a, atol=1e-7)
        dv, dy = factor.saddle(a, b, 1e-12, 5)
        expected = weight @ (M @ np.linalg.solve(K, a + M.T @ (weight @ b)) - b)
        np.testing.assert_allclose(H @ dv + M.T @ dy, a, atol=1e-7)
        np.testing.assert_allclose(dy, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
