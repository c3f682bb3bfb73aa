"""Sparse matrices of known pattern against the dense arrays that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp

from ipds._arrays import (
    as_csr,
    diagonal_matrix,
    multiple,
    of_arrays,
    picking,
    row_counts,
    scaled_matrix,
    sparse_of,
    sums_of_squares,
    transposed,
    without_zeros,
)
from ipds._arrays.sparse import SHORT
from ipds.operators import Matrix


def test_picking_and_diagonals():
    assert np.array_equal(
        picking(np.array([1, 1]), 3, np.array([2.0, -1.0])).toarray(), [[0, 2, 0], [0, -1, 0]]
    )
    assert picking(np.empty(0, int), 3).shape == (0, 3)
    assert np.array_equal(diagonal_matrix(np.array([2.0, 0.0])).toarray(), np.diag([2.0, 0.0]))


@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
def test_dense_matrices_of_few_entries(order):
    """Empty rows at both ends, a negative zero, and an entry that is not finite."""
    A = np.array([[0.0, 0.0, -0.0], [0.0, 2.0, np.nan], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found, wanted = sparse_of(order(A)), sp.csr_array(A)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))
    assert found.shape == A.shape
    assert sparse_of(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("right", [True, False])
def test_scaled_matrix(kind, left, right):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 3)) * (rng.random((4, 3)) < 0.6)
    e, d = rng.random(4), rng.random(3)
    found = scaled_matrix(e if left else None, kind(A), d if right else None)
    wanted = np.diag(e if left else np.ones(4)) @ A @ np.diag(d if right else np.ones(3))
    assert np.allclose(found.toarray() if sp.issparse(found) else found, wanted)
    assert np.array_equal(A, kind(A).toarray() if sp.issparse(kind(A)) else A)


def test_entries_out_of_order_are_put_in_order_in_copies():
    """SciPy sorts in place: a matrix that shared its columns with a scaled one would be another one from then on."""
    A = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    wanted, operator, scaled = A.toarray(), Matrix(A), scaled_matrix(np.array([2.0]), A, None)
    for sorted_first in (operator.matrix, scaled):
        sorted_first.sort_indices()
        assert np.array_equal(A.toarray(), wanted)
        assert np.array_equal(A.indices, [2, 0, 1])
        assert np.array_equal(scaled.toarray(), 2 * wanted)
        assert np.array_equal(operator.apply(np.eye(3)), wanted)
    twice = sp.csr_array((np.ones(2), np.zeros(2, int), np.array([0, 2])), shape=(1, 1))
    assert np.array_equal(scaled_matrix(np.array([3.0]), twice, None).data, [6.0])
    assert twice.nnz == 2


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_sums_of_squares(kind):
    A = np.array([[1.0, 0.0, -2.0], [0.0, 0.0, 3.0]])
    rows, columns = sums_of_squares(kind(A))
    assert np.array_equal(rows, [5, 9])
    assert np.array_equal(columns, [1, 0, 13])


@pytest.mark.parametrize("count", [SHORT, SHORT + 1])
def test_long_transposes_are_sorted_by_rows(count):
    A = sp.csr_array(np.ones((1, count)))
    found = transposed(A)
    assert found.format == ("csc" if count == SHORT else "csr")
    assert np.array_equal(found @ np.array([2.0]), np.full(count, 2.0))


@pytest.mark.parametrize("kind", ["csr_array", "csc_array"])
def test_a_matrix_of_arrays_is_the_one_that_scipy_makes(kind):
    """Nothing of one is left in the next: SciPy keeps on a matrix what it has seen of its entries."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 3)) * (rng.random((4, 3)) < 0.6)
    wanted = getattr(sp, kind)(A)
    found = of_arrays(kind, A.shape, wanted.data, wanted.indices.astype(np.int64), wanted.indptr)
    assert type(found) is type(wanted)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert found.has_canonical_format
    for product in (
        found @ np.ones(3),
        (found @ wanted.T).toarray(),
        found.toarray(),
        found.tocsr()[1:].toarray(),
    ):
        assert np.isfinite(product).all()
    assert np.array_equal((2.0 * found + wanted).toarray(), 3.0 * A)
    twice = of_arrays("csr_array", (1, 2), np.ones(2), np.array([1, 1]), np.array([0, 2]))
    assert not twice.has_canonical_format
    assert twice.toarray().tolist() == [[0.0, 2.0]]


def test_what_is_by_rows_already_is_not_made_again():
    A = sp.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    assert as_csr(A) is A
    assert type(as_csr(sp.csr_matrix(A))) is sp.csr_array
    assert row_counts(A).tolist() == row_counts(A.tocsc()).tolist() == [1, 2]
    assert transposed(A).format == "csc"
    assert np.shares_memory(transposed(A).data, A.data)
    assert np.array_equal(transposed(A).toarray(), A.toarray().T)


def test_multiples_and_matrices_without_zeros_leave_the_given_one_as_it_is():
    A = sp.csr_array(
        (np.array([1.0, 0.0, 2.0, 3.0]), np.array([1, 0, 0, 0]), np.array([0, 2, 4])), shape=(2, 2)
    )
    before = [part.copy() for part in (A.data, A.indices, A.indptr)]
    found = without_zeros(multiple(2.0, A))
    found.sort_indices()
    assert np.array_equal(found.toarray(), [[0.0, 2.0], [10.0, 0.0]])
    assert found.nnz == 2
    assert all(map(np.array_equal, before, (A.data, A.indices, A.indptr)))
    assert without_zeros(found) is found
    assert np.array_equal(multiple(2.0, np.eye(2)), 2 * np.eye(2))
