"""Sums and products of matrices: what cancels is 0, what is merely small stays."""

import numpy as np
import pytest
import scipy.sparse as sp

from ipds._arrays import matrix_product, matrix_sum, number_sum
from ipds.operators import Matrix


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


KINDS = [np.asarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_products_that_cancel_are_zero(left, right):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 4)))[0]
    away = np.eye(30) - Q @ Q.T
    assert np.abs(Q.T @ away).max() > 0
    assert np.all(dense(matrix_product(left(Q.T), right(away))) == 0)
    M = np.random.default_rng(1).standard_normal((3, 30))
    assert np.allclose(dense(matrix_product(left(M), right(away))), M @ away, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_cancel_are_zero(kind):
    A, B, C = np.full((2, 2), 0.1), np.full((2, 2), 0.2), np.full((2, 2), -0.3)
    C[0, 0] = 1e-30
    found = dense(matrix_sum([kind(A), kind(B), kind(C)]))
    assert np.array_equal(found, [[A[0, 0] + B[0, 0] + 1e-30, 0], [0, 0]])
    assert number_sum(0.1 + 0.2, -0.3) == 0.0 != 0.1 + 0.2 - 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_small_entries_stay(kind):
    """Units of 1e-20 beside 1 are no rounding: nothing cancels."""
    L, R = np.diag([1.0, 1e-20]), np.array([[1.0, 2.0], [3.0, 4e-9]])
    assert np.array_equal(dense(matrix_product(kind(L), kind(R))), L @ R)
    assert np.array_equal(dense(matrix_sum([kind(L), kind(1e-25 * R)])), L + 1e-25 * R)


def test_compositions_and_sums_of_maps():
    """What their matrices are made by."""
    centring = Matrix(np.eye(7)) + Matrix(np.full((7, 7), -1 / 7))
    assert np.all(centring.as_matrix((7,)) == np.eye(7) - 1 / 7)
    assert np.all((Matrix(np.ones((1, 7))) @ centring).as_matrix((7,)) == 0)
    assert np.all((Matrix(np.float32([[0.1]])) + Matrix(np.float32([[-0.1]]))).as_matrix((1,)) == 0)
