"""Dense matrices with few entries become sparse ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, solve
from ipds.functions import L1, Cardinality, LeastSquares, Quadratic, SmoothSum, Weighted
from ipds.operators import FiniteDifference
from ipds.presolve import presolve

rng = np.random.default_rng(0)


def test_losses_with_few_entries_are_sparse():
    """½‖I x - y‖² written with a dense identity: the same problem as with a sparse one, at the same cost."""
    n = 200
    y = np.repeat([0.0, 3.0], n // 2) + 0.1 * np.sin(np.arange(n))

    def denoised(eye, h) -> Problem:
        return Problem(
            [Block(f=LeastSquares(eye, y), A=-FiniteDifference(), shape=n), Block(h=h, shape=n - 1)]
        )

    dense, sparse = (denoised(eye, L1(1.0)) for eye in (np.eye(n), sp.eye_array(n)))
    done = presolve(dense)
    assert sp.issparse(done.problem.blocks[0].f.G.matrix)
    assert "few entries" in done.report
    assert solve(dense).fun == pytest.approx(solve(sparse).fun, rel=1e-9)
    assert type(dense.blocks[0].f.G.matrix) is np.ndarray
    assert "few entries" not in presolve(denoised(np.eye(n), Cardinality(1))).report  # not convex: as stated


def test_dense_matrices_with_few_entries_in_smooth_terms_become_sparse():
    D = np.diff(np.eye(200), axis=0)
    terms = (
        LeastSquares(D, np.ones(199)),
        Weighted(LeastSquares(D, 0.0), 2.0),
        Quadratic(D.T @ D),
        SmoothSum([LeastSquares(D, 0.0), Quadratic(1.0)]),
    )
    x = rng.standard_normal(200)
    for f in terms:
        done = presolve(Problem([Block(f=f, h=L1(1.0), shape=200)]))
        assert "few entries" in done.report
        found = done.problem.blocks[0].f
        assert found(x) == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(found.grad(x), f.grad(x), atol=1e-12)
