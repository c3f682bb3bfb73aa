"""Rescaling the objective, the constraint or the variables must not change the iterates beyond rounding."""

from __future__ import annotations

import numpy as np
import pytest

from ipds import Block, Problem, iterate
from ipds.functions import L1, Cardinality, LeastSquares, Stiefel, smooth
from ipds.methods import IPDS, AcceleratedIPDS

METHODS = [
    IPDS("practical"),
    AcceleratedIPDS("fast"),
    AcceleratedIPDS("balanced"),
    AcceleratedIPDS("thorough"),
]
RNG = np.random.default_rng(5)
G, Y = RNG.standard_normal((30, 12)), RNG.standard_normal(30)
B = RNG.standard_normal((8, 10))


def regression(objective: float, constraint: float, unit: float) -> tuple[Problem, list[np.ndarray]]:
    """min objective·‖y‖₁ over sparse v, with rows scaled by `constraint` and v measured in `unit`s."""
    blocks = [
        Block(h=Cardinality(4), A=-constraint * G / unit, shape=12, name="v"),
        Block(h=L1(objective), A=constraint, shape=30, name="y"),
    ]
    return Problem(blocks, b=-constraint * Y), [np.zeros(12), -Y]


def lasso(objective: float, constraint: float, unit: float) -> tuple[Problem, list[np.ndarray]]:
    """½‖Gx - y‖² + ‖v‖₁, x = v, both measured in `unit`s."""
    root = np.sqrt(objective)
    blocks = [
        Block(f=LeastSquares(root * G / unit, root * Y), A=-constraint, shape=12, name="x"),
        Block(h=L1(objective / unit), A=constraint, shape=12, name="v"),
    ]
    start = unit * np.linspace(-1, 1, 12)
    return Problem(blocks), [start, start]


def sparse_pca(objective: float, constraint: float, unit: float) -> tuple[Problem, list[np.ndarray]]:
    """-½‖BV‖² + 0.6‖V‖₁ on the Stiefel manifold (whose unit is fixed)."""
    gram = B.T @ B
    f = smooth(
        lambda V: -0.5 * objective * float(np.vdot(V, gram @ V)),
        lambda V: -objective * (gram @ V),
        lipschitz=objective * float(np.linalg.eigvalsh(gram)[-1]),
    )
    blocks = [
        Block(f=f, h=Stiefel(), A=-constraint, shape=(10, 3), name="Y"),
        Block(h=L1(0.6 * objective), A=constraint, shape=(10, 3), name="V"),
    ]
    start = np.linalg.qr(np.random.default_rng(1).standard_normal((10, 3)))[0]
    return Problem(blocks), [start, start]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("make", [regression, lasso, sparse_pca])
@pytest.mark.parametrize(
    ("objective", "constraint", "unit"), [(1e4, 1, 1), (1, 1e-3, 1), (1, 1, 1e3), (2.0**-20, 2.0**9, 2.0**-6)]
)
def test_iterates_do_not_depend_on_units(method, make, objective, constraint, unit):
    if make is sparse_pca:
        unit = 1.0
    reference, start = make(1.0, 1.0, 1.0)
    scaled, start_scaled = make(objective, constraint, unit)
    runs = zip(
        iterate(reference, start, method=method), iterate(scaled, start_scaled, method=method), strict=False
    )
    for plain, other in runs:
        lengths = (unit, 1.0) if make is regression else (unit, unit)
        for a, b, length in zip(plain.q, other.q, lengths, strict=True):
            np.testing.assert_allclose(b / length, a, rtol=1e-6, atol=1e-7 * np.abs(a).max())
        np.testing.assert_allclose(
            other.beta, plain.beta * objective / constraint**2 / lengths[1] ** 2, rtol=1e-6
        )
        if plain.t == 25:
            break
