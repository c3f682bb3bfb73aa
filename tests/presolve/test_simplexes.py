"""Simplexes become equations where steps factorise, and the answer is the one that projections find."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
    CappedSimplex,
    ColumnSimplex,
    Entropy,
    L1Ball,
    LeastSquares,
    Linf,
    Quadratic,
    RowSimplex,
    Simplex,
)
from ipds.presolve import presolve, rules

M, N = 30, 12
rng = np.random.default_rng(0)
G = rng.standard_normal((M, N))
Y = G @ (rng.standard_normal(N) * (rng.random(N) < 0.4)) + 0.1 * rng.standard_normal(M)
FIT = LeastSquares(G, Y)
COVARIANCE = Quadratic(G[:, :8].T @ G[:, :8], -rng.random(8))
SIMPLEXES = {
    "alone": Problem([Block(f=COVARIANCE, h=Simplex(), shape=8)]),
    "split": Problem([Block(f=COVARIANCE, A=-1.0, shape=8), Block(h=Simplex(2.0), shape=8)]),
    "other units": Problem([Block(f=COVARIANCE, A=2.0, shape=8), Block(h=Simplex(), A=-3.0, shape=8)]),
    "with a penalty": Problem([Block(f=FIT, h=L1(0.1), A=-1.0, shape=N), Block(h=Simplex(), shape=N)]),
    "capped": Problem([Block(f=COVARIANCE, h=CappedSimplex(1.0, 0.3), shape=8)]),
    "table": Problem([Block(f=LeastSquares(G, G[:, :3]), h=Simplex(3.0), shape=(N, 3))]),
    "game": Problem([Block(h=Simplex(), A=-G, shape=N), Block(h=Linf(1.0), shape=M)]),
}


@pytest.mark.parametrize("name", SIMPLEXES)
def test_the_sum_of_a_simplex_becomes_an_equation(name, monkeypatch):
    problem = SIMPLEXES[name]
    result = solve(problem, tol=1e-8)
    monkeypatch.setattr(rules, "LARGEST", 0)
    projected = solve(problem, tol=1e-8)
    assert "became an equation" in result.presolve
    assert "became an equation" not in projected.presolve
    assert result.success
    assert result.fun == pytest.approx(projected.fun, rel=1e-6)
    for x, block in zip(result.x, problem.blocks, strict=True):
        assert np.isfinite(block.h(x))


@pytest.mark.parametrize("h", [RowSimplex(2.0), ColumnSimplex(np.array([1.0, 2.0, 3.0]))], ids=repr)
def test_the_sums_of_rows_and_columns_become_equations(h, monkeypatch):
    for f in (LeastSquares(G, G[:, :3]), None):
        blocks = [Block(f=f, h=h, A=-1.0, shape=(N, 3)), Block(h=L1(0.2), shape=(N, 3))]
        problem = Problem(blocks if f is not None else [blocks[0], Block(h=Entropy(), shape=(N, 3))])
        result = solve(problem, tol=1e-8)
        with monkeypatch.context() as patch:
            patch.setattr(rules, "MANY", 0)
            projected = solve(problem, tol=1e-8)
        assert "the sums of block 'x1' became equations" in result.presolve
        assert "equations" not in projected.presolve
        assert result.success
        assert result.fun == pytest.approx(projected.fun, rel=1e-6)
        assert np.isfinite(h(result.x[0]))


def test_a_simplex_stays_where_no_step_factorises():
    hidden = LeastSquares(sp.linalg.aslinearoperator(G), Y)
    curved = Problem([Block(h=Simplex(), A=-1.0, shape=N), Block(h=L1Ball(0.9), shape=N)])
    for problem in (Problem([Block(f=hidden, h=Simplex(), shape=N)]), curved):
        assert "the sum" not in presolve(problem).report
