"""Small problems over orthonormal columns have several minima, and a start at one of their saddles is no answer."""

from __future__ import annotations

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import Linear, PCAVariance, Stiefel
from ipds.modelling import norm1, sum_squares


def lowest(value, gradient, shape, count=20):
    """The least of descents from random frames, by steps along the tangent with a search."""
    best = np.inf
    for seed in range(count):
        V, _ = np.linalg.qr(np.random.default_rng([5, seed]).standard_normal(shape))
        t = 1.0
        for _ in range(400):
            g = gradient(V)
            while t > 1e-12:
                U, _, W = np.linalg.svd(V - t * g, full_matrices=False)
                if value(U @ W) <= value(V):
                    break
                t *= 0.5
            V, t = U @ W, 2 * t
        best = min(best, value(V))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_a_frame_from_its_products(seed):
    """½‖A V - Y‖² with fewer columns than rows: one descent in two ended 10% to 20% too high."""
    rng = np.random.default_rng(seed)
    A, Y, V = (
        1e3 * rng.standard_normal((20, 8)),
        1e3 * rng.standard_normal((20, 3)),
        Variable((8, 3), name="V"),
    )
    result = solve(minimize(0.5 * sum_squares(A @ V - Y) + Stiefel()(V)), seed=0)
    best = lowest(lambda V: 0.5 * np.sum((A @ V - Y) ** 2), lambda V: A.T @ (A @ V - Y), (8, 3))
    assert result.success
    assert result.starts > 1
    assert result.fun <= best * (1 + 1e-4)


@pytest.mark.parametrize("shape", [(6, 2), (60, 4)])
def test_data_and_starts_are_not_the_same_numbers(shape):
    """With one seed for both the start was the frame nearest to C, where ⟨C, V⟩ is largest, and certified."""
    C = np.random.default_rng(0).standard_normal(shape)
    result = solve(Problem([Block(f=Linear(C), h=Stiefel(), shape=shape)]), seed=0)
    assert result.success
    assert result.fun == pytest.approx(-np.linalg.svd(C, compute_uv=False).sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_sparse_components_of_few_columns(seed):
    rng = np.random.default_rng(seed)
    X, V = rng.standard_normal((30, 6)) @ np.diag(np.linspace(3, 1, 6)), Variable((6, 2), name="V")
    result = solve(minimize(PCAVariance(X)(V) + norm1(V) + Stiefel()(V)), seed=0)
    single = [
        -0.5 * (np.sum(X[:, i] ** 2) + np.sum(X[:, j] ** 2)) / 30 + 2.0 for i in range(6) for j in range(i)
    ]
    assert result.success
    assert result.fun <= min(single) + 1e-6  # two unit vectors are one of the frames
